//! A protocol that does nothing but keep, whatever is to be kept: through it tests come by erased writes and disks.

use proptest::prelude::{Strategy, prop_oneof};
use proptest::strategy::Just;
use quorate_core::{Durable, Effect, Effects, Incarnation, Input, Never, Note, Protocol, Sink, Time};
use quorate_erased::{AnyCodec, AnyDurable, AnyWrite, ErasableDurable, ErasableWrite, Erased};
use std::fmt;
use std::marker::PhantomData;

/// Saves what it is told to, and tells what it finds when it starts.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Keeper<D>(PhantomData<D>);

pub(crate) trait Kept: Durable<Write: ErasableWrite> + ErasableDurable {}

impl<D: Durable<Write: ErasableWrite> + ErasableDurable> Kept for D {}

impl<D: Kept> Protocol for Keeper<D> {
    type Command = D::Write;
    type Message = Never;
    type Timer = Never;
    type Event = D;
    type Durable = D;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, .. } => out.emit_ahead(durable),
            Input::Command(write) => out.save(write),
            Input::Message { message: never, .. } | Input::Timer(never) => match never {},
            Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

#[derive(PartialEq)]
struct Heard<D> {
    saved: Vec<AnyWrite>,
    found: Vec<D>,
}

impl<D: Kept> Sink<Erased<D::Write, D>> for Heard<D> {
    fn effect(&mut self, effect: Effect<Erased<D::Write, D>>) {
        match effect {
            Effect::Save(write) => self.saved.push(write),
            Effect::Emit { event, .. } => self.found.push(event),
            Effect::Send { .. } | Effect::Multicast { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}

/// Whether a node can be copied or not, its disk is the same.
fn hear<D: Kept>(input: impl Fn() -> Input<Erased<D::Write, D>>) -> Heard<D> {
    let keeper = Keeper::<D>(PhantomData);
    let [heard, other] = [Erased::new(keeper.clone()), Erased::opaque(keeper)].map(|mut node| {
        let mut heard = Heard { saved: Vec::new(), found: Vec::new() };
        node.step(Time::ZERO, input(), &mut Effects::new(&mut heard));
        heard
    });
    assert!(heard == other);
    heard
}

/// The write as a node of the family saves it.
pub(crate) fn erase<D: Kept>(write: D::Write) -> AnyWrite {
    hear::<D>(|| Input::Command(write.clone())).saved.remove(0)
}

pub(crate) fn found<D: Kept>(durable: AnyDurable) -> D {
    hear::<D>(|| Input::Start { durable: durable.clone(), incarnation: Incarnation::FIRST }).found.remove(0)
}

pub(crate) fn codec<D: Kept>() -> AnyCodec {
    AnyCodec::of::<Keeper<D>>()
}

pub(crate) fn read_back(durable: &AnyDurable) -> AnyDurable {
    postcard::from_bytes(&postcard::to_allocvec(durable).unwrap()).unwrap()
}

pub(crate) fn sealed(write: &AnyWrite) -> AnyWrite {
    postcard::from_bytes(&postcard::to_allocvec(write).unwrap()).unwrap()
}

#[derive(Clone, Debug)]
pub(crate) enum Step<W> {
    Write(W),
    ReadWrite(W),
    ReadBack,
    Unseal,
    Copy,
}

pub(crate) fn step<W: Clone + fmt::Debug>(write: impl Strategy<Value = W> + Clone) -> impl Strategy<Value = Step<W>> {
    prop_oneof![
        4 => write.clone().prop_map(Step::Write),
        4 => write.prop_map(Step::ReadWrite),
        1 => Just(Step::ReadBack),
        1 => Just(Step::Unseal),
        1 => Just(Step::Copy),
    ]
}

/// Whatever befalls a disk, it holds the fold of its writes, and a typed fold is what a node finds.
pub(crate) fn check<D: Kept + fmt::Debug>(was_lost: bool, steps: Vec<Step<D::Write>>) {
    let (mut typed, mut disk) =
        if was_lost { (D::wiped(), AnyDurable::wiped()) } else { (D::default(), AnyDurable::default()) };
    for step in steps {
        match step {
            Step::Write(write) => {
                typed.apply(write.clone());
                disk.apply(erase::<D>(write));
            }
            Step::ReadWrite(write) => {
                typed.apply(write.clone());
                disk.apply(sealed(&erase::<D>(write)));
            }
            Step::ReadBack => disk = read_back(&disk),
            Step::Unseal => disk = codec::<D>().unseal(disk).unwrap(),
            Step::Copy => disk = disk.clone(),
        }
        assert_eq!(found::<D>(disk.clone()), typed);
    }
    let unsealed = codec::<D>().unseal(read_back(&disk)).unwrap();
    assert_eq!(found::<D>(unsealed.clone()), typed);
    assert!(unsealed == codec::<D>().unseal(disk).unwrap());
}
