//! The judge finds what is wrong: every fixture is caught.

use super::judge::judge;
use super::storms::{CLIMATES, weather};
use super::world::World;
use crate::fixtures::multicast::{
    BASIC_DEAF, BasicDeaf, CAUSAL_BLIND, CausalBlind, FIFO_HASTY, FifoHasty, ISIS_HASTY, IsisHasty, SEQUENCER_HASTY,
    SequencerHasty, UNIFORM_HASTY, hasty_uniform, unrelayed,
};
use crate::multicast::drill::{group, heard, play};
use crate::multicast::{Begin, Delivery, Facts, Fifo, Ordering, Plan, Unordered};
use crate::testing::ScriptGroup;
use std::string::String;

/// What the first seed broke that broke something.
fn finding(begin: Begin, facts: &Facts) -> String {
    let found = (0..200).find_map(|seed| weather(begin, &group(3), facts, &CLIMATES[1], seed).err());
    found.unwrap_or_else(|| panic!("nobody finds what is wrong with {}", facts.profile.name))
}

#[test]
fn who_never_hears_itself_is_found() {
    let finding = finding(BasicDeaf::boxed, &BASIC_DEAF);
    assert!(finding.contains("never heard it") || finding.contains("all is quiet"), "{finding}");
}

#[test]
fn a_reply_before_its_original_is_found() {
    let finding = finding(CausalBlind::boxed, &CAUSAL_BLIND);
    assert!(finding.contains("without"), "{finding}");
}

#[test]
fn two_orders_are_found() {
    for finding in [finding(SequencerHasty::boxed, &SEQUENCER_HASTY), finding(IsisHasty::boxed, &ISIS_HASTY)] {
        assert!(finding.contains("in view"), "{finding}");
    }
}

#[test]
fn fifo_that_does_not_wait_breaks_on_links_that_reorder() {
    let script = "1 send\n1 send\n1 > 2 overtakes 1\n1 > 2";
    assert_eq!(heard(&play::<FifoHasty>(&group(2), script), 2), ["1#2", "1#1"], "{}", FIFO_HASTY.profile.name);
    assert_eq!(heard(&play::<Fifo>(&group(2), script), 2), ["1#1", "1#2"]);
}

#[test]
fn without_passing_on_a_sender_that_dies_midway_leaves_members_that_disagree() {
    let plan = Plan { relay: true, ..group(3) };
    let script = "1 send\n1 > 2\nlose 1 > 3\nrest";
    let trace = play::<Unordered>(&plan, script);
    assert_eq!(heard(&trace, 3), ["1#1"], "{trace}");
    let mut stage = ScriptGroup::new(3, |me, _| unrelayed::<()>(me, &plan));
    stage.run(script);
    assert_eq!((heard(&stage.trace, 2).len(), heard(&stage.trace, 3).len()), (1, 0), "{}", stage.trace);
}

#[test]
fn uniform_delivery_that_does_not_wait_is_found() {
    let right = Plan { delivery: Delivery::Uniform, ..group(3) };
    let wrong = Plan { delivery: Delivery::Prompt, ..right.clone() };
    let found = (0..200).find_map(|seed| {
        let mut world = World::new(wrong.clone(), seed, Fifo::boxed);
        world.storm(&CLIMATES[0]);
        world.peace();
        judge(&world, &Plan { window: wrong.window, ..right.clone() }, UNIFORM_HASTY.order).err()
    });
    assert!(found.is_some_and(|finding| finding.contains("did not") || finding.contains("quiet")));
    let mut stage = ScriptGroup::new(3, |me, _| hasty_uniform::<()>(me, &right));
    stage.run("1 send");
    assert_eq!(heard(&stage.trace, 1), ["1#1"], "nobody else holds it yet: {}", stage.trace);
}
