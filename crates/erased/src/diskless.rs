//! Adapts erased nodes that save nothing to wrappers that require `Durable = ()`, since the durable
//! state of every erased node is an `AnyDurable`.

use crate::disk::AnyDurable;
use crate::erased::{Erased, Node};
use crate::message::{AnyMessage, AnyTimer};
use quorate_core::{Effect, Effects, Input, Note, Protocol, Sink, Time};

/// A protocol with the types of an erased node that saves nothing.
pub(crate) trait Diskless:
    Protocol<Command: 'static, Event: 'static, Message = AnyMessage, Timer = AnyTimer, Durable = ()>
{
}

impl<P> Diskless for P where
    P: Protocol<Command: 'static, Event: 'static, Message = AnyMessage, Timer = AnyTimer, Durable = ()>
{
}

/// Steps an erased node that saves nothing with an input of a protocol without durable state.
pub(crate) fn step_node<P: Diskless>(
    node: &mut dyn Node<P::Command, P::Event>,
    now: Time,
    input: Input<P>,
    out: &mut Effects<'_, P>,
) {
    let input = match input {
        Input::Start { durable: (), incarnation } => Input::Start { durable: AnyDurable::default(), incarnation },
        Input::Command(command) => Input::Command(command),
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
    node.step(now, input, &mut Effects::new(&mut DisklessSink(out)));
}

/// Passes on the effects of a node that saves nothing.
pub(crate) struct DisklessSink<'a, 'b, P: Protocol>(pub(crate) &'a mut Effects<'b, P>);

impl<P: Diskless> Sink<Erased<P::Command, P::Event>> for DisklessSink<'_, '_, P> {
    fn effect(&mut self, effect: Effect<Erased<P::Command, P::Event>>) {
        self.0.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message, order },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message, order },
            // The type that was erased has no writes.
            Effect::Save(_) => return,
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer, span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(timer),
            Effect::Emit { event, order } => Effect::Emit { event, order },
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.0.pass_note(note);
    }
}
