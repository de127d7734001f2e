//! Executes the effects of one step of a node.

use crate::clients::{ClientStep, Clients, StepRecord};
use crate::content::content_fingerprint;
use crate::local::{ArmedTimer, Checkable, LocalState};
use crate::memory_of_past;
use crate::step_table::{Content, Envelope, timer_obligation};
use crate::tables::{StepEvent, TimeWindow};
use quorate_core::{Effect, Effects, Input, NodeId, Note, Sink, Time};

/// A step of a node: its local state, and what the step has sent, set and recorded so far.
pub(crate) struct NodeStep<P: Checkable, C: Clients<Command = P::Command, Event = P::Event>> {
    pub(crate) local: LocalState<P, C::Client>,
    pub(crate) sends: Vec<Envelope<P::Message>>,
    pub(crate) events: Vec<StepEvent>,
    /// For each timer that the step sets, the fingerprint of the obligation of a fair run to let it
    /// fire.
    pub(crate) timer_obligations: Vec<u64>,
    pub(crate) record: StepRecord,
}

/// Receives the effects of a step and applies them to the local state.
pub(crate) struct Executor<'a, P: Checkable, C: Clients<Command = P::Command, Event = P::Event>> {
    pub(crate) clients: &'a C,
    pub(crate) nodes: usize,
    /// Whether time is modelled.
    pub(crate) is_timed: bool,
    /// The time of the step by the node's clock.
    pub(crate) now: Time,
    /// When the messages that the step sends may and must arrive, if delays are bounded.
    pub(crate) arrival: Option<TimeWindow>,
    pub(crate) step: NodeStep<P, C>,
}

impl<P, C> Sink<P> for Executor<'_, P, C>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event>,
{
    fn effect(&mut self, effect: Effect<P>) {
        // The disk keeps an effect that must wait until earlier saves are durable.
        if let Some(effect) = self.step.local.disk.admit(effect) {
            self.carry_out(effect);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Delivered { from, payload } = note {
            let to = self.step.local.node;
            self.step.events.push(StepEvent::PayloadDelivered(memory_of_past::pack_payload(from, to, payload)));
        }
    }
}

impl<P, C> Executor<'_, P, C>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event>,
{
    /// Gives the node an input. If the input reports that saves are durable, first carries out the
    /// effects that waited for them.
    pub(crate) fn give_input(&mut self, protocol: &mut P, input: Input<P>) {
        if matches!(input, Input::Saved(_)) {
            while let Some(effect) = self.step.local.disk.release() {
                self.carry_out(effect);
            }
        }
        let now = self.now;
        protocol.step(now, input, &mut Effects::new(self));
    }

    fn carry_out(&mut self, effect: Effect<P>) {
        let NodeStep { local, sends, events, timer_obligations, record } = &mut self.step;
        let (from, arrival) = (local.node, self.arrival);
        let mut send = |to: NodeId, message| {
            // A message to a node outside the group is dropped.
            if to.index() < self.nodes {
                events.push(StepEvent::Sent(sends.len() as u32));
                sends.push(Envelope { from, to, content: Content::Message(message), arrival });
            }
        };
        match effect {
            Effect::Send { to, message, .. } => send(to, message),
            Effect::Multicast { to, message, .. } => to.others(from).for_each(|to| send(to, message.clone())),
            Effect::Save(write) => local.disk.write(write),
            Effect::SetTimer { timer, span } => {
                let fingerprint = content_fingerprint(&timer);
                local.timers.retain(|armed| armed.timer != timer);
                // A timer set for the end of time never fires.
                if self.now + span.earliest == Time::NEVER {
                    return;
                }
                timer_obligations.push(timer_obligation(from.index(), fingerprint));
                let fire_time = |length| if self.is_timed { self.now + length } else { Time::ZERO };
                let (earliest, latest) = (fire_time(span.earliest), fire_time(span.latest));
                local.timers.push(ArmedTimer { fingerprint, timer, earliest, latest });
            }
            Effect::CancelTimer(timer) => local.timers.retain(|armed| armed.timer != timer),
            Effect::Emit { event, .. } => {
                let first_new = record.past.len();
                self.clients.observe(&mut local.client, ClientStep::Emitted(&event), record);
                events.extend(record.past[first_new..].iter().copied().map(StepEvent::Past));
            }
        }
    }
}
