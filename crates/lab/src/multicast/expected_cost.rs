//! The expected cost of a multicast in an experiment, as a formula and as numbers.

use super::{Multicast, MulticastEntry, MulticastMedium, groups, plans};
use crate::spec::Spec;
use quorate_core::multicast::{ExpectedCost, Facts, Plan, Sequencing};

/// The expected cost of one multicast in a group, without other multicasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The formula for messages per multicast, in terms of the number n of members.
    pub formula: &'static str,
    /// The formula for the sequencer's own multicasts; `None` if `formula` covers them.
    pub formula_of_sequencer: Option<&'static str>,
    pub expected: ExpectedCost,
}

impl Cost {
    /// Returns the expected cost of an experiment; `None` if it has several groups.
    pub fn of_experiment(entry: &MulticastEntry, spec: &Spec<Multicast>) -> Option<Self> {
        let [plan] = &plans(spec, entry)[..] else { return None };
        Some(Self::in_group(entry.facts, plan, spec.settings.medium))
    }

    /// Returns the expected cost in one group.
    pub fn in_group(facts: &Facts, plan: &Plan, medium: MulticastMedium) -> Self {
        let (formula, formula_of_sequencer) = formulas(facts, plan, medium);
        let unicast = (facts.expected_cost)(plan);
        let expected = match medium {
            MulticastMedium::Unicast => unicast,
            MulticastMedium::Multicast | MulticastMedium::Broadcast => {
                let (messages, messages_of_sequencer) = messages_on_shared_medium(facts, plan);
                ExpectedCost { messages, messages_of_sequencer, ..unicast }
            }
        };
        Self { formula, formula_of_sequencer, expected }
    }

    /// Returns the formula for messages per multicast. With several groups, it is the one of the
    /// first group.
    pub fn formula_of(entry: &MulticastEntry, spec: &Spec<Multicast>) -> &'static str {
        plans(spec, entry).first().map_or("", |plan| formulas(entry.facts, plan, spec.settings.medium).0)
    }
}

/// How an algorithm orders messages.
enum OrderingMethod {
    /// There are no ordering messages. Receivers may hold messages back.
    Local,
    Sequencer(Sequencing),
    /// Each other member proposes a position to the sender, which sends the agreed one to all.
    Agreement,
}

fn ordering_method(facts: &Facts, plan: &Plan) -> OrderingMethod {
    if facts.has_sequencer {
        OrderingMethod::Sequencer(plan.sequencing)
    } else if facts.order.total {
        OrderingMethod::Agreement
    } else {
        OrderingMethod::Local
    }
}

/// The formula for messages per multicast, and one for the sequencer's own multicasts if messages
/// of other senders go through the sequencer.
fn formulas(facts: &Facts, plan: &Plan, medium: MulticastMedium) -> (&'static str, Option<&'static str>) {
    let is_unicast = medium == MulticastMedium::Unicast;
    // By ordering method, whether members relay, and whether the medium is unicast.
    match (ordering_method(facts, plan), plan.relays, is_unicast) {
        (OrderingMethod::Local, false, true) => ("n−1", None),
        (OrderingMethod::Local, true, true) => ("n(n−1)", None),
        (OrderingMethod::Sequencer(Sequencing::ToAll), false, true) => ("2(n−1)", None),
        (OrderingMethod::Sequencer(Sequencing::ToAll), true, true) => ("(n+1)(n−1)", None),
        (OrderingMethod::Sequencer(Sequencing::ThroughSequencer), false, true) => ("n", Some("n−1")),
        (OrderingMethod::Sequencer(Sequencing::ThroughSequencer), true, true) => ("(n−1)²+1", Some("n(n−1)")),
        (OrderingMethod::Agreement, false, true) => ("3(n−1)", None),
        (OrderingMethod::Agreement, true, true) => ("(n+2)(n−1)", None),
        (OrderingMethod::Local, false, false) => ("1", None),
        (OrderingMethod::Local, true, false) => ("n", None),
        (OrderingMethod::Sequencer(Sequencing::ToAll), false, false) => ("2", None),
        (OrderingMethod::Sequencer(Sequencing::ToAll), true, false) => ("n+1", None),
        (OrderingMethod::Sequencer(Sequencing::ThroughSequencer), false, false) => ("2", Some("1")),
        (OrderingMethod::Sequencer(Sequencing::ThroughSequencer), true, false) => ("n", Some("n")),
        (OrderingMethod::Agreement, false, false) => ("n+1", None),
        (OrderingMethod::Agreement, true, false) => ("2n", None),
    }
}

/// The number of messages of a multicast, and of one by the sequencer, on a medium where one
/// message reaches all receivers: a relay sends one message, and a proposal goes to the sender
/// only.
fn messages_on_shared_medium(facts: &Facts, plan: &Plan) -> (u64, u64) {
    let members = plan.members.len() as u64;
    if members < 2 {
        return (0, 0);
    }
    let dissemination = if plan.relays { members } else { 1 };
    let for_all_senders = |messages| (messages, messages);
    match ordering_method(facts, plan) {
        OrderingMethod::Local => for_all_senders(dissemination),
        OrderingMethod::Sequencer(Sequencing::ToAll) => for_all_senders(dissemination + 1),
        // One message to the sequencer and one from it to all. The sender already has its message,
        // and does not relay it.
        OrderingMethod::Sequencer(Sequencing::ThroughSequencer) => {
            (if plan.relays { members } else { 2 }, dissemination)
        }
        // A proposal from each other member, and the agreed position from the sender to all.
        OrderingMethod::Agreement => for_all_senders(dissemination + members),
    }
}

/// The node that numbers the messages, if the caller knows that the algorithm has a sequencer and
/// that the groups never change: the first member of the group, or of the first of several groups.
pub fn sequencer(spec: &Spec<Multicast>) -> Option<quorate_core::NodeId> {
    groups(spec).first().and_then(|(_, members)| members.iter().next())
}
