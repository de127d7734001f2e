//! What carries out the effects of one step of a node.

use crate::content::content;
use crate::local::{Armed, Checked, Local};
use crate::past;
use crate::stage::{Content, Envelope, timer_obligation};
use crate::tables::{Beat, Deadline};
use crate::users::{News, Story, Users};
use quorate_core::{Effect, Effects, Input, NodeId, Note, Sink, Time};

pub(crate) struct Step<P: Checked, U: Users<Command = P::Command, Event = P::Event>> {
    pub(crate) local: Local<P, U::User>,
    pub(crate) sends: Vec<Envelope<P::Message>>,
    pub(crate) beats: Vec<Beat>,
    pub(crate) sets: Vec<u64>,
    pub(crate) story: Story,
}

/// Carries out the effects of a step.
pub(crate) struct Hands<'a, P: Checked, U: Users<Command = P::Command, Event = P::Event>> {
    pub(crate) users: &'a U,
    pub(crate) nodes: usize,
    pub(crate) timed: bool,
    pub(crate) now: Time,
    /// When that which it sends may and must arrive, where that is bounded.
    pub(crate) due: Option<Deadline>,
    pub(crate) step: Step<P, U>,
}

impl<P, U> Sink<P> for Hands<'_, P, U>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event>,
{
    fn effect(&mut self, effect: Effect<P>) {
        if let Some(effect) = self.step.local.disk.admit(effect) {
            self.carry_out(effect);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Handed { from, parcel } = note {
            let to = self.step.local.node;
            self.step.beats.push(Beat::Handed(past::packed(from, to, parcel)));
        }
    }
}

impl<P, U> Hands<'_, P, U>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event>,
{
    /// Gives the node an input, after all that waited for what the disk has done.
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
        let Step { local, sends, beats, sets, story } = &mut self.step;
        let (from, due) = (local.node, self.due);
        let mut send = |to: NodeId, message| {
            // What goes to nobody is never under way.
            if to.index() < self.nodes {
                beats.push(Beat::Sent(sends.len() as u32));
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
                // What is due at the end of time never comes.
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
                let told = story.past.len();
                self.users.hear(&mut local.user, News::Told(&event), story);
                beats.extend(story.past[told..].iter().copied().map(Beat::Past));
            }
        }
    }
}
