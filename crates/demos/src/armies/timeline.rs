//! A run of the two armies, which try to attack at the same time, as a timeline in true time.

use super::{ARMIES, Command, Event};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer};
use quorate_journal::settings::Length;
use std::collections::BTreeMap;
use std::fmt;

/// The orders, receipts, applied rules, decisions and attacks of a run, in true time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    pub occurrences: Vec<Occurrence>,
    /// When each message in transit was sent.
    send_times: BTreeMap<MessageId, Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub time: Time,
    pub army: NodeId,
    pub kind: OccurrenceKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OccurrenceKind {
    OrderedToAttack,
    Received { message_kind: String, sent_at: Time },
    AppliedRule { rule: String, text: String },
    LearnedLeader(NodeId),
    Attacks,
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OccurrenceKind::OrderedToAttack => f.write_str("is ordered to attack"),
            OccurrenceKind::Received { message_kind, sent_at } => {
                write!(f, "receives '{message_kind}' after {}", Length(self.time.since(*sent_at)))
            }
            OccurrenceKind::AppliedRule { rule, text } => write!(f, "{rule} {text}"),
            OccurrenceKind::LearnedLeader(leader) => write!(f, "knows that army {leader} leads"),
            OccurrenceKind::Attacks => f.write_str("attacks"),
        }
    }
}

impl Timeline {
    /// When each of [`ARMIES`] attacked; `None` if it did not.
    pub fn attack_times(&self) -> [Option<Time>; 2] {
        let attack = |army: NodeId| {
            let mut attacks = self
                .occurrences
                .iter()
                .filter(|occurrence| occurrence.kind == OccurrenceKind::Attacks && occurrence.army == army);
            attacks.next().map(|occurrence| occurrence.time)
        };
        ARMIES.map(attack)
    }

    /// The time between the two attacks; `None` unless both armies attacked.
    pub fn attack_gap(&self) -> Option<Duration> {
        let [Some(attack_of_1), Some(attack_of_2)] = self.attack_times() else { return None };
        Some(attack_of_1.max(attack_of_2).since(attack_of_1.min(attack_of_2)))
    }

    /// The leader that each of [`ARMIES`] learned, which never changes; `None` if it learned none.
    pub fn leaders(&self) -> [Option<NodeId>; 2] {
        let leader_of = |army: NodeId| {
            self.occurrences.iter().find_map(|occurrence| match occurrence.kind {
                OccurrenceKind::LearnedLeader(leader) if occurrence.army == army => Some(leader),
                _ => None,
            })
        };
        ARMIES.map(leader_of)
    }

    fn add(&mut self, time: Time, army: NodeId, kind: OccurrenceKind) {
        self.occurrences.push(Occurrence { time, army, kind });
    }
}

impl Observer<Command, Event> for Timeline {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { time, node, input, .. } => match input {
                ObservedInput::Command(Command::Attack) => self.add(*time, *node, OccurrenceKind::OrderedToAttack),
                ObservedInput::Message { id, kind, .. } => {
                    // Always known, since no message is duplicated.
                    let sent_at = self.send_times.remove(id).unwrap_or(*time);
                    self.add(*time, *node, OccurrenceKind::Received { message_kind: (*kind).to_owned(), sent_at });
                }
                _ => {}
            },
            Moment::Effect { time, node, effect } => match effect {
                ObservedEffect::Send { sent, .. } => {
                    self.send_times.insert(sent.id, *time);
                }
                ObservedEffect::Rule { rule, text } => {
                    let (rule, text) = ((*rule).to_owned(), text.to_string());
                    self.add(*time, *node, OccurrenceKind::AppliedRule { rule, text });
                }
                ObservedEffect::Emit(Event::Leads { army }) => {
                    self.add(*time, *node, OccurrenceKind::LearnedLeader(*army));
                }
                ObservedEffect::Emit(Event::Attacks { .. }) => self.add(*time, *node, OccurrenceKind::Attacks),
                _ => {}
            },
            Moment::World { .. } => {}
        }
    }
}
