//! A member whose driver can be told that a peer's process is gone, as a kernel would tell it.

use quorate_core::mutex;
use quorate_core::wrap::InViews;
use quorate_core::{Effect, Effects, Input, NodeId, Note, Protocol, Sink, Time};
use quorate_replica::membership::Member;
use serde::Serialize;

/// What happens to a node from outside: its user asks something, or its kernel tells it of a peer.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum Told {
    User(mutex::Command),
    Gone(NodeId),
}

pub(crate) struct Informed<P: InViews>(pub(crate) Member<P>);

impl<P: InViews<Command = mutex::Command>> Protocol for Informed<P> {
    type Command = Told;
    type Message = <Member<P> as Protocol>::Message;
    type Timer = <Member<P> as Protocol>::Timer;
    type Event = P::Event;
    type Durable = <Member<P> as Protocol>::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let input = match input {
            Input::Start { durable, incarnation } => Input::Start { durable, incarnation },
            Input::Command(Told::User(command)) => Input::Command(command),
            Input::Command(Told::Gone(node)) => Input::Suspect(node),
            Input::Message { from, message } => Input::Message { from, message },
            Input::Timer(timer) => Input::Timer(timer),
            Input::Saved(count) => Input::Saved(count),
            Input::Suspect(node) => Input::Suspect(node),
            Input::Trust(node) => Input::Trust(node),
            Input::DiskFull => Input::DiskFull,
            Input::DiskFree => Input::DiskFree,
            Input::View(view) => Input::View(view),
            Input::Lease(until) => Input::Lease(until),
        };
        self.0.step(now, input, &mut Effects::new(&mut Passage(out)));
    }
}

struct Passage<'a, 'b, P: InViews<Command = mutex::Command>>(&'a mut Effects<'b, Informed<P>>);

impl<P: InViews<Command = mutex::Command>> Sink<Member<P>> for Passage<'_, '_, P> {
    fn effect(&mut self, effect: Effect<Member<P>>) {
        self.0.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message, order },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message, order },
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer, span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(timer),
            Effect::Emit { event, order } => Effect::Emit { event, order },
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.0.pass_note(note);
    }
}
