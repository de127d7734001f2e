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
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

#[derive(PartialEq)]
struct EffectRecorder<D> {
    writes: Vec<AnyWrite>,
    start_states: Vec<D>,
}

impl<D: Savable> Sink<Erased<D::Write, D>> for EffectRecorder<D> {
    fn effect(&mut self, effect: Effect<Erased<D::Write, D>>) {
        match effect {
            Effect::Save(write) => self.writes.push(write),
            Effect::Emit { event, .. } => self.start_states.push(event),
            Effect::Send { .. } | Effect::Multicast { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}

/// Steps a node that can be cloned and an opaque one, asserts that their effects are the same, and
/// returns these.
fn step_both<D: Savable>(input: impl Fn() -> Input<Erased<D::Write, D>>) -> EffectRecorder<D> {
    let saving = SavingProtocol::<D>(PhantomData);
    let [of_cloneable, of_opaque] = [Erased::new(saving.clone()), Erased::new_opaque(saving)].map(|mut node| {
        let mut recorded = EffectRecorder { writes: Vec::new(), start_states: Vec::new() };
        node.step(Time::ZERO, input(), &mut Effects::new(&mut recorded));
        recorded
    });
    assert!(of_cloneable == of_opaque);
    of_cloneable
}

/// Returns the erased write that a node saves for this one.
pub(crate) fn erase<D: Savable>(write: D::Write) -> AnyWrite {
    step_both::<D>(|| Input::Command(write.clone())).writes.remove(0)
}

/// Returns the state that a node finds on this disk when it starts.
pub(crate) fn state_at_start<D: Savable>(durable: AnyDurable) -> D {
    step_both::<D>(|| Input::Start { durable: durable.clone(), incarnation: Incarnation::FIRST }).start_states.remove(0)
}

pub(crate) fn codec_for<D: Savable>() -> AnyCodec {
    AnyCodec::for_protocol::<SavingProtocol<D>>()
}

/// Converts a disk to bytes and back, which seals it.
pub(crate) fn disk_through_bytes(durable: &AnyDurable) -> AnyDurable {
    postcard::from_bytes(&postcard::to_allocvec(durable).unwrap()).unwrap()
}

/// Converts a write to bytes and back, which seals it.
pub(crate) fn write_through_bytes(write: &AnyWrite) -> AnyWrite {
    postcard::from_bytes(&postcard::to_allocvec(write).unwrap()).unwrap()
}

#[derive(Clone, Debug)]
pub(crate) enum Step<W> {
    /// Applies a typed write.
    Write(W),
    /// Applies a sealed write.
    WriteThroughBytes(W),
    /// Seals the disk.
    DiskThroughBytes,
    /// Opens the disk as the protocol's durable state.
    Unseal,
    /// Replaces the disk by its clone.
    Clone,
}

pub(crate) fn any_step<W: Clone + fmt::Debug>(
    write: impl Strategy<Value = W> + Clone,
) -> impl Strategy<Value = Step<W>> {
    prop_oneof![
        4 => write.clone().prop_map(Step::Write),
        4 => write.prop_map(Step::WriteThroughBytes),
        1 => Just(Step::DiskThroughBytes),
        1 => Just(Step::Unseal),
        1 => Just(Step::Clone),
    ]
}

/// Asserts that after each step a node finds the state that results if the writes are applied to
/// typed durable state.
pub(crate) fn assert_states_match<D: Savable + fmt::Debug>(was_lost: bool, steps: Vec<Step<D::Write>>) {
    let (mut typed, mut disk) =
        if was_lost { (D::wiped(), AnyDurable::wiped()) } else { (D::default(), AnyDurable::default()) };
    for step in steps {
        match step {
            Step::Write(write) => {
                typed.apply(write.clone());
                disk.apply(erase::<D>(write));
            }
            Step::WriteThroughBytes(write) => {
                typed.apply(write.clone());
                disk.apply(write_through_bytes(&erase::<D>(write)));
            }
            Step::DiskThroughBytes => disk = disk_through_bytes(&disk),
            Step::Unseal => disk = codec_for::<D>().unseal(disk).unwrap(),
            Step::Clone => disk = disk.clone(),
        }
        assert_eq!(state_at_start::<D>(disk.clone()), typed);
    }
    let unsealed = codec_for::<D>().unseal(disk_through_bytes(&disk)).unwrap();
    assert_eq!(state_at_start::<D>(unsealed.clone()), typed);
    assert!(unsealed == codec_for::<D>().unseal(disk).unwrap());
}
