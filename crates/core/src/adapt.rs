//! Helpers for an adapter around an inner protocol: the adapter passes inputs in and effects out,
//! and intercepts the inner protocol's events.

use crate::effects::{Effect, Effects, Note, Sink};
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::vec::Vec;

/// Steps the inner protocol with an input. Passes its notes and effects to `out`, with messages
/// wrapped by `wrap`, except its events: these are returned without their [`Order`](crate::Order),
/// because the adapter decides how it emits its own events.
pub(crate) fn step_inner<I, O>(
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
    step_inner_with(inner, now, input, (wrap, |timer| timer), out)
}

/// Like [`step_inner`], but `wrap` has a function for messages and one for timers: for adapters
/// around several protocols.
pub(crate) fn step_inner_with<I, O>(
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
    let mut events = Vec::new();
    inner.step(now, input, &mut Effects::new(&mut Passthrough { wrap, events: &mut events, out }));
    events
}

struct Passthrough<'a, 'b, I: Protocol, O: Protocol, W> {
    wrap: W,
    events: &'a mut Vec<I::Event>,
    out: &'a mut Effects<'b, O>,
}

impl<I, O, M, T> Sink<I> for Passthrough<'_, '_, I, O, (M, T)>
where
    I: Protocol,
    M: Fn(I::Message) -> O::Message,
    T: Fn(I::Timer) -> O::Timer,
    O: Protocol<Durable = I::Durable>,
{
    fn effect(&mut self, effect: Effect<I>) {
        let (wrap_message, wrap_timer) = &self.wrap;
        self.out.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: wrap_message(message), order },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message: wrap_message(message), order },
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: wrap_timer(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(wrap_timer(timer)),
            Effect::Emit { event, .. } => return self.events.push(event),
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
