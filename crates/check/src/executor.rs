//! Executes the effects of one step of a node.

use crate::clients::{ClientStep, Clients, StepRecord};
use crate::content::content;
use crate::local::{Armed, Checked, Local};
use crate::memory_of_past;
use crate::step_table::{Content, Envelope, timer_obligation};
use crate::tables::{Deadline, StepEvent};
use quorate_core::{Effect, Effects, Input, NodeId, Note, Sink, Time};

pub(crate) struct Step<P: Checked, U: Clients<Command = P::Command, Event = P::Event>> {
    pub(crate) local: Local<P, U::Client>,
    pub(crate) sends: Vec<Envelope<P::Message>>,
    pub(crate) events: Vec<StepEvent>,
    pub(crate) sets: Vec<u64>,
    pub(crate) record: StepRecord,
}

/// Receives the effects of a step and applies them to the local state.
pub(crate) struct Executor<'a, P: Checked, U: Clients<Command = P::Command, Event = P::Event>> {
    pub(crate) clients: &'a U,
    pub(crate) nodes: usize,
    pub(crate) timed: bool,
    pub(crate) now: Time,
    /// When the messages that the step sends may and must arrive, if delays are bounded.
    pub(crate) due: Option<Deadline>,
    pub(crate) step: Step<P, U>,
}

impl<P, U> Sink<P> for Executor<'_, P, U>
where
    P: Checked,
    U: Clients<Command = P::Command, Event = P::Event>,
{
    fn effect(&mut self, effect: Effect<P>) {
        if let Some(effect) = self.step.local.disk.admit(effect) {
            self.carry_out(effect);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Delivered { from, parcel } = note {
            let to = self.step.local.node;
            self.step.events.push(StepEvent::Handed(memory_of_past::pack_parcel(from, to, parcel)));
        }
    }
}

impl<P, U> Executor<'_, P, U>
where
    P: Checked,
    U: Clients<Command = P::Command, Event = P::Event>,
{
    /// Gives the node an input. After a sync, it first executes the effects that waited for the
    /// disk.
    pub(crate) fn give(&mut self, protocol: &mut P, input: Input<P>) {
        if matches!(input, Input::Saved(_)) {
            while let Some(effect) = self.step.local.disk.release() {
                self.carry_out(effect);
            }
        }
        let now = self.now;
        protocol.step(now, input, &mut Effects::new(self));
    }

    fn carry_out(&mut self, effect: Effect<P>) {
        let Step { local, sends, events, sets, record } = &mut self.step;
        let (from, due) = (local.node, self.due);
        let mut send = |to: NodeId, message| {
            // A message to a node outside the group is dropped.
            if to.index() < self.nodes {
                events.push(StepEvent::Sent(sends.len() as u32));
                sends.push(Envelope { from, to, content: Content::Message(message), due });
            }
        };
        match effect {
            Effect::Send { to, message, .. } => send(to, message),
            Effect::Multicast { to, message, .. } => to.others(from).for_each(|to| send(to, message.clone())),
            Effect::Save(write) => local.disk.write(write),
            Effect::SetTimer { timer, span } => {
                let fingerprint = content(&timer);
                local.timers.retain(|armed| armed.timer != timer);
                // A timer due at the end of time never fires.
                if self.now + span.earliest == Time::NEVER {
                    return;
                }
                sets.push(timer_obligation(from.index(), fingerprint));
                let due = |length| if self.timed { self.now + length } else { Time::ZERO };
                let (earliest, latest) = (due(span.earliest), due(span.latest));
                local.timers.push(Armed { fingerprint, timer, earliest, latest });
            }
            Effect::CancelTimer(timer) => local.timers.retain(|armed| armed.timer != timer),
            Effect::Emit { event, .. } => {
                let before = record.past.len();
                self.clients.observe(&mut local.client, ClientStep::Emitted(&event), record);
                events.extend(record.past[before..].iter().copied().map(StepEvent::Past));
            }
        }
    }
}
