//! A member with an extra command that makes it suspect a peer. Between real processes, the network
//! layer reports the suspicion when the kernel of the peer's machine refuses a connection. The
//! simulated network has no connections, so a test gives the command instead.

use quorate_core::mutex;
use quorate_core::wrap::InViews;
use quorate_core::{Effect, Effects, Input, NodeId, Note, Protocol, Sink, Time};
use quorate_replica::membership::Member;
use serde::Serialize;

/// A command from the client, or a report that a peer's process has ended.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum ExtendedCommand {
    Client(mutex::Command),
    Suspect(NodeId),
}

pub(crate) struct WithSuspicions<P: InViews>(pub(crate) Member<P>);

impl<P: InViews<Command = mutex::Command>> Protocol for WithSuspicions<P> {
    type Command = ExtendedCommand;
    type Message = <Member<P> as Protocol>::Message;
    type Timer = <Member<P> as Protocol>::Timer;
    type Event = P::Event;
    type Durable = <Member<P> as Protocol>::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let input = match input {
            Input::Start { durable, incarnation } => Input::Start { durable, incarnation },
            Input::Command(ExtendedCommand::Client(command)) => Input::Command(command),
            Input::Command(ExtendedCommand::Suspect(node)) => Input::Suspect(node),
            Input::Message { from, message } => Input::Message { from, message },
            Input::Timer(timer) => Input::Timer(timer),
            Input::Saved(count) => Input::Saved(count),
            Input::Suspect(node) => Input::Suspect(node),
            Input::Trust(node) => Input::Trust(node),
            Input::DiskFull => Input::DiskFull,
            Input::DiskFree => Input::DiskFree,
            Input::View(view) => Input::View(view),
            Input::Lease(until) => Input::Lease(until),
            Input::EndOfTurn => Input::EndOfTurn,
        };
        self.0.step(now, input, &mut Effects::new(&mut PassThrough(out)));
    }

    fn uses_end_of_turn(&self) -> bool {
        self.0.uses_end_of_turn()
    }
}

struct PassThrough<'a, 'b, P: InViews<Command = mutex::Command>>(&'a mut Effects<'b, WithSuspicions<P>>);

impl<P: InViews<Command = mutex::Command>> Sink<Member<P>> for PassThrough<'_, '_, P> {
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
