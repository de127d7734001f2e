//! A protocol that only saves, for any durable type. Tests use it to obtain erased writes and
//! disks.

use proptest::prelude::{Strategy, prop_oneof};
use proptest::strategy::Just;
use quorate_core::{Durable, Effect, Effects, Incarnation, Input, Never, Note, Protocol, Sink, Time};
use quorate_erased::{AnyCodec, AnyDurable, AnyWrite, ErasableDurable, ErasableWrite, Erased};
use std::fmt;
use std::marker::PhantomData;

/// Saves each write that it gets as a command, and emits its durable state when it starts.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SavingProtocol<D>(PhantomData<D>);

pub(crate) trait Savable: Durable<Write: ErasableWrite> + ErasableDurable {}

impl<D: Durable<Write: ErasableWrite> + ErasableDurable> Savable for D {}

impl<D: Savable> Protocol for SavingProtocol<D> {
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
struct Recorder<D> {
    saved: Vec<AnyWrite>,
    found: Vec<D>,
}

impl<D: Savable> Sink<Erased<D::Write, D>> for Recorder<D> {
    fn effect(&mut self, effect: Effect<Erased<D::Write, D>>) {
        match effect {
            Effect::Save(write) => self.saved.push(write),
            Effect::Emit { event, .. } => self.found.push(event),
            Effect::Send { .. } | Effect::Multicast { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}

/// Steps a cloneable and an opaque node, and asserts that their effects are the same.
fn step_both<D: Savable>(input: impl Fn() -> Input<Erased<D::Write, D>>) -> Recorder<D> {
    let saving = SavingProtocol::<D>(PhantomData);
    let [recorded, other] = [Erased::new(saving.clone()), Erased::opaque(saving)].map(|mut node| {
        let mut recorded = Recorder { saved: Vec::new(), found: Vec::new() };
        node.step(Time::ZERO, input(), &mut Effects::new(&mut recorded));
        recorded
    });
    assert!(recorded == other);
    recorded
}

/// Returns the erased write, as a node of the family saves it.
pub(crate) fn erase<D: Savable>(write: D::Write) -> AnyWrite {
    step_both::<D>(|| Input::Command(write.clone())).saved.remove(0)
}

pub(crate) fn state_at_start<D: Savable>(durable: AnyDurable) -> D {
    step_both::<D>(|| Input::Start { durable: durable.clone(), incarnation: Incarnation::FIRST }).found.remove(0)
}

pub(crate) fn codec<D: Savable>() -> AnyCodec {
    AnyCodec::for_protocol::<SavingProtocol<D>>()
}

pub(crate) fn read_back(durable: &AnyDurable) -> AnyDurable {
    postcard::from_bytes(&postcard::to_allocvec(durable).unwrap()).unwrap()
}

pub(crate) fn read_write(write: &AnyWrite) -> AnyWrite {
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

/// Asserts that after each step a node finds the same state as a typed fold of the writes.
pub(crate) fn check<D: Savable + fmt::Debug>(was_lost: bool, steps: Vec<Step<D::Write>>) {
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
                disk.apply(read_write(&erase::<D>(write)));
            }
            Step::ReadBack => disk = read_back(&disk),
            Step::Unseal => disk = codec::<D>().unseal(disk).unwrap(),
            Step::Copy => disk = disk.clone(),
        }
        assert_eq!(state_at_start::<D>(disk.clone()), typed);
    }
    let unsealed = codec::<D>().unseal(read_back(&disk)).unwrap();
    assert_eq!(state_at_start::<D>(unsealed.clone()), typed);
    assert!(unsealed == codec::<D>().unseal(disk).unwrap());
}
