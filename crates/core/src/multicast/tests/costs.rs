//! Measured costs of one multicast against the expected figures; every message takes one message
//! time.

use crate::describe::{Class, Describe};
use crate::effects::{Effect, Effects};
use crate::group::Group;
use crate::multicast::support::{delivered_by, group, run_script};
use crate::multicast::{
    Causal, Command, Delivery, Event, Facts, Fifo, Isis, MakeOrdering, Member, Ordering, Plan, Sequencer, Sequencing,
    Unordered, causal, fifo, isis, sequencer, unordered,
};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::sync::Arc;
use std::vec;
use std::vec::Vec;

/// Returns the number of messages, and the number of message times until the last member delivered.
fn measure(make_ordering: MakeOrdering, plan: &Plan, sender: NodeId) -> (u64, u64) {
    let plan = Arc::new(plan.clone());
    let mut nodes: Vec<_> =
        plan.members.iter().map(|me| Member::<()>::new(me, Arc::clone(&plan), make_ordering)).collect();
    let start = |incarnation| Input::Start { durable: (), incarnation };
    for node in &mut nodes {
        node.step(Time::ZERO, start(Incarnation::FIRST), &mut Effects::new(&mut Vec::new()));
    }
    let (mut messages, mut slowest, mut delivered) = (0, 0, 0);
    let mut inputs = vec![(sender, Input::Command(Command::send("x")))];
    for time in 0.. {
        let mut next = Vec::new();
        for (node, input) in inputs {
            let mut effects: Vec<Effect<Member<()>>> = Vec::new();
            nodes[node.index()].step(Time::ZERO, input, &mut Effects::new(&mut effects));
            for effect in effects {
                let (to, message): (Vec<_>, _) = match effect {
                    Effect::Send { to, message, .. } => (vec![to], message),
                    Effect::Multicast { to, message, .. } => (to.others(node).collect(), message),
                    Effect::Emit { event: Event::Delivered { .. }, .. } => {
                        (slowest, delivered) = (time, delivered + 1);
                        continue;
                    }
                    Effect::Emit { .. } | Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {
                        continue;
                    }
                };
                if message.class() == Class::Algorithm {
                    messages += to.len() as u64;
                }
                next.extend(to.into_iter().map(|to| (to, Input::Message { from: node, message: message.clone() })));
            }
        }
        if next.is_empty() {
            break;
        }
        inputs = next;
    }
    assert_eq!(delivered, plan.members.len(), "every member delivers");
    (messages, slowest)
}

/// Asserts the cost for many plans: of a message of the first member, which is the sequencer if
/// there is one, and of the last member.
fn check(make_ordering: MakeOrdering, facts: &Facts) {
    let routes: &[Sequencing] =
        if facts.sequences { &[Sequencing::ToAll, Sequencing::ThroughSequencer] } else { &[Sequencing::ToAll] };
    for (delivery, sequencing) in [Delivery::Prompt, Delivery::Uniform]
        .into_iter()
        .flat_map(|delivery| routes.iter().map(move |route| (delivery, *route)))
    {
        for (size, relay) in [1, 2, 3, 5, 8].into_iter().flat_map(|size| [(size, false), (size, true)]) {
            let plan = Plan { delivery, sequencing, relay, ..Plan::new(Group::of_size(size)) };
            let expected = (facts.expected)(&plan);
            let case = std::format!("{} with {plan:?}", facts.profile.name);
            let first = measure(make_ordering, &plan, NodeId::from_index(0));
            assert_eq!(
                first,
                (expected.messages_of_sequencer, expected.slowest_of_sequencer),
                "{case}, the first sends"
            );
            if size > 1 {
                let last = measure(make_ordering, &plan, NodeId::from_index(size - 1));
                assert_eq!(last, (expected.messages, expected.slowest), "{case}, the last sends");
            }
        }
    }
}

#[test]
fn every_order_costs_what_is_expected() {
    check(Unordered::boxed, &unordered::FACTS);
    check(Fifo::boxed, &fifo::FACTS);
    check(Causal::boxed, &causal::FACTS);
    check(Sequencer::<Unordered>::boxed, &sequencer::FACTS);
    check(Sequencer::<Fifo>::boxed, &sequencer::FIFO_FACTS);
    check(Sequencer::<Causal>::boxed, &sequencer::CAUSAL_FACTS);
    check(Isis::<Unordered>::boxed, &isis::FACTS);
    check(Isis::<Fifo>::boxed, &isis::FIFO_FACTS);
    check(Isis::<Causal>::boxed, &isis::CAUSAL_FACTS);
}

fn check_alone<O: Ordering>(plan: &Plan) {
    let trace = run_script::<O>(plan, "1 send; 1 send");
    assert_eq!(delivered_by(&trace, 1), ["1#1", "1#2"], "{trace}");
    assert!(!trace.contains('→'), "{trace}");
}

#[test]
fn a_group_of_one_delivers_at_once_and_sends_nothing() {
    check_alone::<Unordered>(&group(1));
    check_alone::<Fifo>(&group(1));
    check_alone::<Causal>(&group(1));
    check_alone::<Sequencer<Unordered>>(&group(1));
    check_alone::<Sequencer<Unordered>>(&Plan { sequencing: Sequencing::ThroughSequencer, ..group(1) });
    check_alone::<Isis<Unordered>>(&group(1));
}

#[test]
fn the_expected_figures_are_those_of_the_textbook() {
    let plan = Plan::new(Group::of_size(5));
    let relayed = Plan { relay: true, ..plan.clone() };
    let through_sequencer = Plan { sequencing: Sequencing::ThroughSequencer, ..plan.clone() };
    let figures = |facts: &Facts, plan: &Plan| ((facts.expected)(plan).messages, (facts.expected)(plan).slowest);
    assert_eq!(figures(&unordered::FACTS, &plan), (4, 1));
    assert_eq!(figures(&unordered::RELIABLE_FACTS, &relayed), (20, 1));
    assert_eq!(figures(&sequencer::FACTS, &plan), (8, 2));
    assert_eq!(figures(&sequencer::FACTS, &through_sequencer), (5, 2));
    assert_eq!((sequencer::FACTS.expected)(&through_sequencer).messages_of_sequencer, 4);
    assert_eq!(figures(&isis::FACTS, &plan), (12, 3));
}
