//! Tests that the bug of every faulty variant of an algorithm is found: by the property checks, or
//! by a script that has different deliveries without the bug.
//!
//! In scripts, `1 send` lets node 1 multicast, `1 > 2` lets node 2 receive the oldest message from
//! 1, `1 > 2 overtakes 1` the second oldest, which overtakes one message, `lose 1 > 3` loses the
//! oldest from 1 to 3, and `rest` lets all messages arrive. `1#2` is the second message of node 1.

use super::properties::check;
use super::random_faults::{FAULT_BUDGETS, run_seed};
use super::simulation::World;
use crate::fixtures::multicast::{
    BASIC_DEAF, BasicDeaf, CAUSAL_BLIND, CausalBlind, FIFO_HASTY, FifoHasty, ISIS_HASTY, IsisHasty, SEQUENCER_HASTY,
    SequencerHasty, UNIFORM_HASTY, hasty_uniform, unrelayed,
};
use crate::multicast::support::{default_plan, delivered_by, run_script};
use crate::multicast::{Delivery, Facts, Fifo, MakeOrdering, Ordering, Plan, Unordered};
use crate::testing::ScriptGroup;
use std::string::String;

/// Tries seeds, with crashes, joins, a leave and an eviction, until one violates a property.
/// Returns a description of the violation.
fn find_violation(make_ordering: MakeOrdering, facts: &Facts) -> String {
    let violation =
        (0..200).find_map(|seed| run_seed(make_ordering, &default_plan(3), facts, &FAULT_BUDGETS[1], seed).err());
    violation.unwrap_or_else(|| panic!("no seed finds the bug of {}", facts.profile.name))
}

#[test]
fn a_sender_that_does_not_deliver_its_own_messages_is_found() {
    let violation = find_violation(BasicDeaf::boxed, &BASIC_DEAF);
    assert!(
        violation.contains("and never delivered it") || violation.contains("after all messages have arrived"),
        "{violation}"
    );
}

#[test]
fn a_reply_that_is_delivered_before_its_original_is_found() {
    let violation = find_violation(CausalBlind::boxed, &CAUSAL_BLIND);
    assert!(violation.contains(" before it"), "{violation}");
}

#[test]
fn members_that_deliver_in_different_orders_are_found() {
    for violation in
        [find_violation(SequencerHasty::boxed, &SEQUENCER_HASTY), find_violation(IsisHasty::boxed, &ISIS_HASTY)]
    {
        assert!(
            violation.contains("delivered different messages or orders") || violation.contains("in different states"),
            "{violation}"
        );
    }
}

#[test]
fn a_fifo_order_that_does_not_wait_breaks_on_links_that_reorder() {
    let script = "1 send\n1 send\n1 > 2 overtakes 1\n1 > 2";
    assert_eq!(
        delivered_by(&run_script::<FifoHasty>(&default_plan(2), script), 2),
        ["1#2", "1#1"],
        "{}",
        FIFO_HASTY.profile.name
    );
    assert_eq!(delivered_by(&run_script::<Fifo>(&default_plan(2), script), 2), ["1#1", "1#2"]);
}

#[test]
fn without_relaying_members_disagree_if_a_copy_of_a_message_is_lost() {
    let plan = Plan { relays: true, ..default_plan(3) };
    let script = "1 send\n1 > 2\nlose 1 > 3\nrest";
    let trace = run_script::<Unordered>(&plan, script);
    assert_eq!(delivered_by(&trace, 3), ["1#1"], "{trace}");
    let mut script_group = ScriptGroup::new(3, |me, _| unrelayed::<()>(me, &plan));
    script_group.run(script);
    assert_eq!(
        (delivered_by(&script_group.trace, 2).len(), delivered_by(&script_group.trace, 3).len()),
        (1, 0),
        "{}",
        script_group.trace
    );
}

#[test]
fn uniform_delivery_that_does_not_wait_is_found() {
    let uniform = Plan { delivery: Delivery::Uniform, ..default_plan(3) };
    let prompt = Plan { delivery: Delivery::Prompt, ..uniform.clone() };
    // The faulty variant delivers as a group with prompt delivery does, so such a group must
    // violate the property of uniform delivery. The first budget has crashes and a leave.
    let found = (0..200).find_map(|seed| {
        let mut world = World::new(prompt.clone(), seed, Fifo::boxed);
        world.run_faults(&FAULT_BUDGETS[0]);
        world.finish();
        check(&world, &uniform, UNIFORM_HASTY.order).err()
    });
    assert!(found.is_some_and(|violation| {
        violation.contains("did not deliver all messages of") || violation.contains("after all messages have arrived")
    }));
    let mut script_group = ScriptGroup::new(3, |me, _| hasty_uniform::<()>(me, &uniform));
    script_group.run("1 send");
    assert_eq!(
        delivered_by(&script_group.trace, 1),
        ["1#1"],
        "a hasty member delivers before other members have received the message: {}",
        script_group.trace
    );
}
