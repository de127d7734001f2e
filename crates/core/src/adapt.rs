//! How an adapter has to do with the protocol inside it: it passes inputs in, effects out, and hears what that one tells its user.

use crate::effects::{Effect, Effects, Note, Sink};
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::vec::Vec;

/// Lets the protocol inside take an input. What it does goes out, its messages wrapped; what it tells its user is returned.
pub(crate) fn pass<I, O>(
    inner: &mut I,
    now: Time,
    input: Input<I>,
    wrap: impl Fn(I::Message) -> O::Message,
    out: &mut Effects<'_, O>,
) -> Vec<I::Event>
where
    I: Protocol,
    O: Protocol<Timer = I::Timer, Durable = I::Durable>,
{
    pass_with(inner, now, input, (wrap, |timer| timer), out)
}

/// The same with its timers wrapped too, where there is more than one protocol inside.
pub(crate) fn pass_with<I, O>(
    inner: &mut I,
    now: Time,
    input: Input<I>,
    wrap: (impl Fn(I::Message) -> O::Message, impl Fn(I::Timer) -> O::Timer),
    out: &mut Effects<'_, O>,
) -> Vec<I::Event>
where
    I: Protocol,
    O: Protocol<Durable = I::Durable>,
{
    let mut told = Vec::new();
    inner.step(now, input, &mut Effects::new(&mut Passage { wrap, told: &mut told, out }));
    told
}

struct Passage<'a, 'b, I: Protocol, O: Protocol, W> {
    wrap: W,
    told: &'a mut Vec<I::Event>,
    out: &'a mut Effects<'b, O>,
}

impl<I, O, M, T> Sink<I> for Passage<'_, '_, I, O, (M, T)>
where
    I: Protocol,
    M: Fn(I::Message) -> O::Message,
    T: Fn(I::Timer) -> O::Timer,
    O: Protocol<Durable = I::Durable>,
{
    fn effect(&mut self, effect: Effect<I>) {
        let (message_of, timer_of) = &self.wrap;
        self.out.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: message_of(message), order },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message: message_of(message), order },
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: timer_of(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(timer_of(timer)),
            Effect::Emit { event, .. } => return self.told.push(event),
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
