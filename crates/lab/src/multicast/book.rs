//! What the book says of a multicast in an experiment: as a formula and as numbers.

use super::{Carrier, Multicast, MulticastEntry, groups, plans};
use crate::spec::Spec;
use quorate_core::multicast::{Book, Facts, Plan, Sequencing};

/// What one multicast costs in a group that is set up like this, if nobody else sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub formula: &'static str,
    /// The formula for messages of the sequencer itself, where they are cheaper.
    pub formula_of_sequencer: Option<&'static str>,
    pub book: Book,
}

impl Cost {
    /// What the book says of an experiment, unless its groups are of several sizes.
    pub fn of(entry: &MulticastEntry, spec: &Spec<Multicast>) -> Option<Self> {
        let [plan] = &plans(spec, entry)[..] else { return None };
        Some(Self::in_group(entry.facts, plan, spec.settings.medium))
    }

    pub fn in_group(facts: &Facts, plan: &Plan, medium: Carrier) -> Self {
        let (formula, formula_of_sequencer) = formula(facts, plan, medium);
        let unicast = (facts.book)(plan);
        let book = match medium {
            Carrier::Unicast => unicast,
            Carrier::Multicast | Carrier::Broadcast => {
                let (messages, messages_of_sequencer) = on_the_air(facts, plan);
                Book { messages, messages_of_sequencer, ..unicast }
            }
        };
        Self { formula, formula_of_sequencer, book }
    }

    pub fn formula_of(entry: &MulticastEntry, spec: &Spec<Multicast>) -> &'static str {
        plans(spec, entry).first().map_or("", |plan| formula(entry.facts, plan, spec.settings.medium).0)
    }
}

enum Way {
    /// Messages wait for each other, and nothing else is sent.
    Local,
    Sequencer(Sequencing),
    Agreement,
}

fn way(facts: &Facts, plan: &Plan) -> Way {
    if facts.sequences {
        Way::Sequencer(plan.sequencing)
    } else if facts.order.total {
        Way::Agreement
    } else {
        Way::Local
    }
}

/// Messages a multicast, and the sequencer's own where they cost less.
fn formula(facts: &Facts, plan: &Plan, medium: Carrier) -> (&'static str, Option<&'static str>) {
    let is_unicast = medium == Carrier::Unicast;
    match (way(facts, plan), plan.relay, is_unicast) {
        (Way::Local, false, true) => ("n−1", None),
        (Way::Local, true, true) => ("n(n−1)", None),
        (Way::Sequencer(Sequencing::ToAll), false, true) => ("2(n−1)", None),
        (Way::Sequencer(Sequencing::ToAll), true, true) => ("(n+1)(n−1)", None),
        (Way::Sequencer(Sequencing::Via), false, true) => ("n", Some("n−1")),
        (Way::Sequencer(Sequencing::Via), true, true) => ("(n−1)²+1", Some("n(n−1)")),
        (Way::Agreement, false, true) => ("3(n−1)", None),
        (Way::Agreement, true, true) => ("(n+2)(n−1)", None),
        (Way::Local, false, false) => ("1", None),
        (Way::Local, true, false) => ("n", None),
        (Way::Sequencer(Sequencing::ToAll), false, false) => ("2", None),
        (Way::Sequencer(Sequencing::ToAll), true, false) => ("n+1", None),
        (Way::Sequencer(Sequencing::Via), false, false) => ("2", Some("1")),
        (Way::Sequencer(Sequencing::Via), true, false) => ("n", Some("n")),
        (Way::Agreement, false, false) => ("n+1", None),
        (Way::Agreement, true, false) => ("2n", None),
    }
}

/// The same as numbers where one message reaches all: who passes a message on sends one, and a proposal is for its sender alone.
fn on_the_air(facts: &Facts, plan: &Plan) -> (u64, u64) {
    let members = plan.members.len() as u64;
    if members < 2 {
        return (0, 0);
    }
    let spread = if plan.relay { members } else { 1 };
    let every = |messages| (messages, messages);
    match way(facts, plan) {
        Way::Local => every(spread),
        Way::Sequencer(Sequencing::ToAll) => every(spread + 1),
        // To the sequencer and from it to all; the sender has its message already, and does not pass it on.
        Way::Sequencer(Sequencing::Via) => (if plan.relay { members } else { 2 }, spread),
        Way::Agreement => every(spread + members),
    }
}

/// Who numbers the messages of a group that never changes: its first member.
pub fn sequencer(spec: &Spec<Multicast>) -> Option<quorate_core::NodeId> {
    groups(spec).first().and_then(|(_, members)| members.iter().next())
}
