//! A run of the armies, as a timeline in true time.

use super::{ARMIES, Command, Event};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer};
use quorate_journal::settings::Length;
use std::collections::BTreeMap;
use std::fmt;

/// The events of a run, in true time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    pub entries: Vec<Entry>,
    sent: BTreeMap<MessageId, Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub time: Time,
    pub army: NodeId,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Ordered,
    Received { kind: String, sent: Time },
    Did { rule: String, text: String },
    Leads(NodeId),
    Attacks,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Ordered => f.write_str("is ordered to attack"),
            What::Received { kind, sent } => write!(f, "receives '{kind}' after {}", Length(self.time.since(*sent))),
            What::Did { rule, text } => write!(f, "{rule} {text}"),
            What::Leads(army) => write!(f, "knows that army {army} leads"),
            What::Attacks => f.write_str("attacks"),
        }
    }
}

impl Timeline {
    pub fn attacks(&self) -> [Option<Time>; 2] {
        let attack = |army: NodeId| {
            let mut attacks = self.entries.iter().filter(|entry| entry.what == What::Attacks && entry.army == army);
            attacks.next().map(|entry| entry.time)
        };
        ARMIES.map(attack)
    }

    /// The time between the two attacks; `None` unless both armies attacked.
    pub fn gap(&self) -> Option<Duration> {
        let [Some(one), Some(other)] = self.attacks() else { return None };
        Some(one.max(other).since(one.min(other)))
    }

    pub fn leaders(&self) -> [Option<NodeId>; 2] {
        let leader_of = |army: NodeId| {
            self.entries.iter().find_map(|entry| match entry.what {
                What::Leads(leader) if entry.army == army => Some(leader),
                _ => None,
            })
        };
        ARMIES.map(leader_of)
    }

    fn add(&mut self, time: Time, army: NodeId, what: What) {
        self.entries.push(Entry { time, army, what });
    }
}

impl Observer<Command, Event> for Timeline {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { time, node, input, .. } => match input {
                ObservedInput::Command(Command::Attack) => self.add(*time, *node, What::Ordered),
                ObservedInput::Message { id, kind, .. } => {
                    let sent = self.sent.remove(id).unwrap_or(*time);
                    self.add(*time, *node, What::Received { kind: (*kind).to_owned(), sent });
                }
                _ => {}
            },
            Moment::Effect { time, node, effect } => match effect {
                ObservedEffect::Send { sent, .. } => {
                    self.sent.insert(sent.id, *time);
                }
                ObservedEffect::Rule { rule, text } => {
                    let (rule, text) = ((*rule).to_owned(), text.to_string());
                    self.add(*time, *node, What::Did { rule, text });
                }
                ObservedEffect::Emit(Event::Leads { army }) => self.add(*time, *node, What::Leads(*army)),
                ObservedEffect::Emit(Event::Attacks { .. }) => self.add(*time, *node, What::Attacks),
                _ => {}
            },
            Moment::World { .. } => {}
        }
    }
}
