//! Measured costs of one multicast against the expected figures; every message takes one message
//! time.

use crate::describe::{Class, Describe};
use crate::effects::{Effect, Effects};
use crate::group::Group;
use crate::multicast::support::{default_plan, delivered_by, run_script};
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

/// Runs one multicast. Returns the number of messages of the algorithm, and the number of message
/// times until the last member has delivered.
fn measure(make_ordering: MakeOrdering, plan: &Plan, sender: NodeId) -> (u64, u64) {
    let plan = Arc::new(plan.clone());
    let mut nodes: Vec<_> =
        plan.members.iter().map(|me| Member::<()>::new(me, Arc::clone(&plan), make_ordering)).collect();
    let start = |incarnation| Input::Start { durable: (), incarnation };
    for node in &mut nodes {
        node.step(Time::ZERO, start(Incarnation::FIRST), &mut Effects::new(&mut Vec::new()));
    }
    let (mut message_count, mut last_delivery, mut delivery_count) = (0, 0, 0);
    let mut inputs = vec![(sender, Input::Command(Command::send("x")))];
    for time in 0.. {
        let mut next_inputs = Vec::new();
        for (node, input) in inputs {
            let mut effects: Vec<Effect<Member<()>>> = Vec::new();
            nodes[node.index()].step(Time::ZERO, input, &mut Effects::new(&mut effects));
            for effect in effects {
                let (to, message): (Vec<_>, _) = match effect {
                    Effect::Send { to, message, .. } => (vec![to], message),
                    Effect::Multicast { to, message, .. } => (to.others(node).collect(), message),
                    Effect::Emit { event: Event::Delivered { .. }, .. } => {
                        (last_delivery, delivery_count) = (time, delivery_count + 1);
                        continue;
                    }
                    Effect::Emit { .. } | Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {
                        continue;
                    }
                };
                if message.class() == Class::Algorithm {
                    message_count += to.len() as u64;
                }
                next_inputs
                    .extend(to.into_iter().map(|to| (to, Input::Message { from: node, message: message.clone() })));
            }
        }
        if next_inputs.is_empty() {
            break;
        }
        inputs = next_inputs;
    }
    assert_eq!(delivery_count, plan.members.len(), "every member delivers");
    (message_count, last_delivery)
}

/// Asserts for many plans that one multicast costs as many messages and message times as expected,
/// both if the first member sends, which is the sequencer if there is one, and if the last member
/// sends.
fn assert_expected_cost(make_ordering: MakeOrdering, facts: &Facts) {
    let routes: &[Sequencing] =
        if facts.has_sequencer { &[Sequencing::ToAll, Sequencing::ThroughSequencer] } else { &[Sequencing::ToAll] };
    for (delivery, sequencing) in [Delivery::Prompt, Delivery::Uniform]
        .into_iter()
        .flat_map(|delivery| routes.iter().map(move |route| (delivery, *route)))
    {
        for (size, relays) in [1, 2, 3, 5, 8].into_iter().flat_map(|size| [(size, false), (size, true)]) {
            let plan = Plan { delivery, sequencing, relays, ..Plan::new(Group::of_size(size)) };
            let expected = (facts.expected_cost)(&plan);
            let case = std::format!("{} with {plan:?}", facts.profile.name);
            let first = measure(make_ordering, &plan, NodeId::from_index(0));
            assert_eq!(
                first,
                (expected.messages_of_sequencer, expected.message_times_of_sequencer),
                "{case}, the first member sends"
            );
            if size > 1 {
                let last = measure(make_ordering, &plan, NodeId::from_index(size - 1));
                assert_eq!(last, (expected.messages, expected.message_times), "{case}, the last member sends");
            }
        }
    }
}

#[test]
fn every_order_costs_what_is_expected() {
    assert_expected_cost(Unordered::boxed, &unordered::FACTS);
    assert_expected_cost(Fifo::boxed, &fifo::FACTS);
    assert_expected_cost(Causal::boxed, &causal::FACTS);
    assert_expected_cost(Sequencer::<Unordered>::boxed, &sequencer::FACTS);
    assert_expected_cost(Sequencer::<Fifo>::boxed, &sequencer::FIFO_FACTS);
    assert_expected_cost(Sequencer::<Causal>::boxed, &sequencer::CAUSAL_FACTS);
    assert_expected_cost(Isis::<Unordered>::boxed, &isis::FACTS);
    assert_expected_cost(Isis::<Fifo>::boxed, &isis::FIFO_FACTS);
    assert_expected_cost(Isis::<Causal>::boxed, &isis::CAUSAL_FACTS);
}

fn assert_group_of_one_sends_nothing<O: Ordering>(plan: &Plan) {
    let trace = run_script::<O>(plan, "1 send; 1 send");
    assert_eq!(delivered_by(&trace, 1), ["1#1", "1#2"], "{trace}");
    assert!(!trace.contains('→'), "{trace}");
}

#[test]
fn a_group_of_one_delivers_at_once_and_sends_nothing() {
    assert_group_of_one_sends_nothing::<Unordered>(&default_plan(1));
    assert_group_of_one_sends_nothing::<Fifo>(&default_plan(1));
    assert_group_of_one_sends_nothing::<Causal>(&default_plan(1));
    assert_group_of_one_sends_nothing::<Sequencer<Unordered>>(&default_plan(1));
    assert_group_of_one_sends_nothing::<Sequencer<Unordered>>(&Plan {
        sequencing: Sequencing::ThroughSequencer,
        ..default_plan(1)
    });
    assert_group_of_one_sends_nothing::<Isis<Unordered>>(&default_plan(1));
}

/// With n = 5 members, textbooks give n−1 messages without relaying, n(n−1) with relaying, and
/// 3(n−1) by agreement. With a sequencer they give 2(n−1) if the sender sends to all; n if messages
/// go through the sequencer, n−1 for the sequencer's own.
#[test]
fn the_expected_figures_are_those_of_the_textbook() {
    let plan = Plan::new(Group::of_size(5));
    let with_relaying = Plan { relays: true, ..plan.clone() };
    let through_sequencer = Plan { sequencing: Sequencing::ThroughSequencer, ..plan.clone() };
    // The number of messages, and of message times.
    let figures =
        |facts: &Facts, plan: &Plan| ((facts.expected_cost)(plan).messages, (facts.expected_cost)(plan).message_times);
    assert_eq!(figures(&unordered::FACTS, &plan), (4, 1));
    assert_eq!(figures(&unordered::RELIABLE_FACTS, &with_relaying), (20, 1));
    assert_eq!(figures(&sequencer::FACTS, &plan), (8, 2));
    assert_eq!(figures(&sequencer::FACTS, &through_sequencer), (5, 2));
    assert_eq!((sequencer::FACTS.expected_cost)(&through_sequencer).messages_of_sequencer, 4);
    assert_eq!(figures(&isis::FACTS, &plan), (12, 3));
}
