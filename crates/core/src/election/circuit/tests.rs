//! Tests of the rules that ring elections share, with Chang and Roberts' contest: only the greatest
//! rank, that of the node with the highest number, comes all the way around. The agreed leader
//! `(4, 2)` is node 4 in epoch 2.

use super::test_ring::{TestRing, default_plan, node};
use super::{Body, Claim, Envelope, Run, Side, Timer, about};
use crate::election::chang_roberts::Candidacy;
use crate::election::{AnnouncementMode, Command, Event, Plan, Ranking, Refusal, Repair};
use crate::group::{Epoch, Group};
use crate::protocol::Input;
use alloc::vec;
use alloc::vec::Vec;

type Ring = TestRing<Candidacy>;

fn ring_with(repair: Repair, size: usize) -> Ring {
    TestRing::new(Plan { repair, ..default_plan(size) })
}

/// Returns the claim of node `claimant`, which carries its rank, in a run without the nodes
/// `left_out`.
fn claim(epoch: u64, left_out: &[u32], claimant: u32) -> Envelope<Claim> {
    let left_out: Vec<_> = left_out.iter().map(|number| node(*number)).collect();
    let message = Claim(Ranking::default().rank_of(node(claimant)));
    Envelope {
        run: Run { epoch: Epoch(epoch), left_out },
        number: None,
        body: Body::Contest { from: Side::Before, message },
    }
}

#[test]
fn ci_1_a_campaign_begins_the_next_epoch() {
    let mut ring = ring_with(Repair::Detector, 4);
    ring.campaign(2);
    assert_eq!(ring.events[1], [Event::Began { epoch: Epoch(1) }]);
    assert_eq!(ring.nodes_that_applied("CI-1"), [2]);
}

#[test]
fn ci_2_a_message_of_a_later_epoch_makes_a_node_take_part_and_forget_its_leader() {
    let mut ring = ring_with(Repair::Detector, 3);
    ring.elect(1);
    assert_eq!(ring.nodes_that_applied("CI-2"), [2, 3]);
    ring.campaign(3);
    ring.deliver();
    assert_eq!(ring.events[0].last(), Some(&Event::Began { epoch: Epoch(2) }));
}

#[test]
fn ci_5_the_node_that_finds_the_winner_announces_it() {
    let mut ring = ring_with(Repair::Detector, 3);
    ring.elect(1);
    assert_eq!(ring.nodes_that_applied("CI-5"), [3]);
}

#[test]
fn ci_6_all_learn_the_winner_and_pass_it_on() {
    let mut ring = ring_with(Repair::Detector, 4);
    ring.elect(2);
    assert_eq!(ring.nodes_that_applied("CI-6"), [1, 2, 3, 4]);
    assert_eq!(ring.agreed_leader(), Some((4, 1)));
    // Ranks 2 and 3 take one hop each, rank 4 and the announcement four hops each.
    assert_eq!(ring.counts, [6, 4, 0], "algorithm, announcement and control messages");
    ring.elect(3);
    assert_eq!(ring.agreed_leader(), Some((4, 2)));
    assert!(
        ring.events.iter().all(|events| events.len() == 4),
        "each node has two elections of two events: {:?}",
        ring.events
    );
}

#[test]
fn ci_1_a_node_has_one_run_at_a_time_and_cannot_resign() {
    let mut ring = ring_with(Repair::Detector, 3);
    ring.campaign(1);
    ring.campaign(1);
    assert_eq!(ring.events[0].last(), Some(&Event::Refused(Refusal::AlreadyRunning)));
    ring.settle();
    for (number, refusal) in [(3, Refusal::CannotResign), (1, Refusal::NotLeading)] {
        ring.step(node(number), Input::Command(Command::Resign));
        assert_eq!(ring.events[node(number).index()].last(), Some(&Event::Refused(refusal)));
    }
    assert_eq!(ring.agreed_leader(), Some((3, 1)));
}

#[test]
fn ci_11_a_node_that_restarts_in_an_epoch_already_used_agrees_on_a_later_one() {
    let mut ring = ring_with(Repair::Detector, 3);
    for _ in 0..5 {
        ring.elect(1);
    }
    ring.crash(2);
    ring.all_suspect(2);
    ring.elect(1);
    assert_eq!(ring.agreed_leader(), Some((3, 6)));
    // Node 2 missed the sixth epoch.
    ring.restart(2);
    assert_eq!(ring.events[1].last(), Some(&Event::Began { epoch: Epoch(6) }));
    ring.all_trust(2);
    ring.settle();
    let (leader, epoch) = ring.agreed_leader().unwrap_or_default();
    assert!(leader == 3 && epoch > 6, "leader {leader} in epoch {epoch}");
}

#[test]
fn ci_3_without_repair_a_late_message_is_dropped_without_an_answer() {
    let mut ring = ring_with(Repair::None, 3);
    ring.elect(1);
    ring.elect(1);
    let counts_before = ring.counts;
    ring.step(node(2), Input::Message { from: node(1), message: claim(1, &[], 1) });
    assert!(ring.in_flight.is_empty());
    assert_eq!(ring.counts, counts_before);
}

#[test]
fn ci_4_two_conflicting_runs_of_one_epoch_elect_no_leader_until_the_next_epoch() {
    let mut ring = ring_with(Repair::Detector, 4);
    ring.suspect(1, 4);
    ring.campaign(1);
    ring.elect(3);
    assert_eq!(ring.agreed_leader(), None, "neither run can pass a node that takes part in the other one");
    // Node 1 suspected node 4 wrongly. It trusts node 4 again, and begins the next epoch (CI-8).
    ring.step(node(1), Input::Trust(node(4)));
    ring.settle();
    let (leader, epoch) = ring.agreed_leader().unwrap_or_default();
    assert!(leader == 4 && epoch > 1, "leader {leader} in epoch {epoch}");
}

#[test]
fn ci_4_a_run_with_a_crashed_member_is_repeated_after_a_timeout() {
    let mut ring = ring_with(Repair::Detector, 3);
    ring.crash(3);
    ring.suspect(2, 3);
    ring.elect(1);
    assert_eq!(ring.agreed_leader(), None);
    ring.fire_timer(2, Timer::Dispute);
    ring.settle();
    assert_eq!(ring.agreed_leader(), Some((2, 2)));
}

#[test]
fn ci_7_a_member_that_crashes_in_a_run_is_left_out_of_the_next() {
    let mut ring = ring_with(Repair::Detector, 5);
    (1..=5).for_each(|number| ring.campaign(number));
    ring.deliver();
    ring.crash(5);
    ring.settle();
    assert_eq!(ring.agreed_leader(), None, "the claim of node 5 is lost, because it crashed");
    ring.all_suspect(5);
    ring.settle();
    assert_eq!(ring.agreed_leader(), Some((4, 2)));
}

#[test]
fn ci_7_a_crashed_leader_is_replaced_without_a_campaign() {
    let mut ring = ring_with(Repair::Detector, 4);
    ring.elect(1);
    ring.crash(4);
    ring.suspect(2, 4);
    ring.settle();
    ring.all_suspect(4);
    ring.settle();
    assert_eq!(ring.agreed_leader().map(|(leader, _)| leader), Some(3));
}

#[test]
fn ci_7_without_repair_suspicions_are_ignored() {
    let mut ring = ring_with(Repair::None, 3);
    ring.elect(1);
    ring.crash(3);
    ring.all_suspect(3);
    assert!(ring.in_flight.is_empty());
}

#[test]
fn ci_11_a_restarted_node_takes_part_and_wins_by_its_rank() {
    let mut ring = ring_with(Repair::Detector, 4);
    ring.elect(1);
    ring.crash(4);
    ring.all_suspect(4);
    ring.settle();
    assert_eq!(ring.agreed_leader().map(|(leader, _)| leader), Some(3));
    ring.restart(4);
    ring.settle();
    ring.all_trust(4);
    ring.settle();
    assert_eq!(ring.agreed_leader().map(|(leader, _)| leader), Some(4));
}

#[test]
fn ci_8_a_run_recovers_from_a_quick_restart_of_a_member() {
    let mut ring = ring_with(Repair::Detector, 3);
    ring.campaign(1);
    ring.crash(2);
    ring.deliver();
    ring.restart(2);
    // Two claims arrive before the other nodes learn of the restart: that of node 2 at node 3, and
    // that of node 3 at node 1.
    (0..2).for_each(|_| ring.deliver());
    ring.all_trust(2);
    assert_eq!(ring.nodes_that_applied("CI-8"), [1, 3]);
    ring.settle();
    assert_eq!(ring.agreed_leader().map(|(leader, _)| leader), Some(3));
}

#[test]
fn ci_9_a_neighbour_that_does_not_acknowledge_is_left_out_and_notified() {
    let mut ring = ring_with(Repair::Timeout, 4);
    ring.crash(4);
    ring.elect(3);
    ring.fire_timer(3, Timer::Hop(1));
    let notice_count = ring
        .in_flight
        .iter()
        .filter(|(_, to, envelope)| *to == node(4) && envelope.body == Body::Behind { is_over: false })
        .count();
    assert_eq!(notice_count, 1, "node 4 is notified");
    ring.settle();
    assert_eq!(ring.agreed_leader(), Some((3, 2)));
    assert!(ring.timers.iter().all(Vec::is_empty), "timers are still set: {:?}", ring.timers);
}

#[test]
fn ci_12_a_live_node_that_was_left_out_is_included_again() {
    let mut ring = ring_with(Repair::Timeout, 4);
    ring.crash(4);
    ring.elect(3);
    // Node 4 was only unreachable: it comes back without a restart.
    ring.is_down[3] = false;
    ring.fire_timer(3, Timer::Hop(1));
    ring.settle();
    assert_eq!(ring.agreed_leader().map(|(leader, _)| leader), Some(4));
}

#[test]
fn ci_10_a_run_that_takes_too_long_is_repeated() {
    let mut ring = ring_with(Repair::Timeout, 3);
    ring.campaign(1);
    // Node 2 receives the claim and acknowledges it, but its own claim is lost.
    ring.deliver();
    ring.in_flight.retain(|(_, to, _)| *to == node(1));
    ring.settle();
    ring.fire_timer(1, Timer::Run);
    ring.settle();
    assert_eq!(ring.agreed_leader(), Some((3, 2)));
}

#[test]
fn a_run_whose_list_of_left_out_nodes_is_invalid_or_names_the_receiver_changes_nothing() {
    // In turn: a node outside the group, the receiver, not sorted, and one node twice.
    for left_out in [&[9][..], &[2], &[3, 1], &[1, 1]] {
        let mut ring = ring_with(Repair::Detector, 3);
        ring.step(node(2), Input::Message { from: node(1), message: claim(1, left_out, 1) });
        assert!(ring.events[1].is_empty() && ring.in_flight.is_empty(), "{left_out:?}");
    }
}

#[test]
fn a_message_with_an_epoch_beyond_the_maximum_is_ignored() {
    let mut ring = ring_with(Repair::Detector, 3);
    ring.step(node(2), Input::Message { from: node(1), message: claim(u64::MAX, &[], 1) });
    ring.step(node(2), Input::Suspect(node(3)));
    ring.campaign(2);
    assert_eq!(ring.events[1], [Event::Began { epoch: Epoch(1) }], "node 2 has not joined the invalid run");
}

#[test]
fn nodes_that_are_down_at_start_up_are_skipped() {
    for repair in [Repair::None, Repair::Timeout, Repair::Detector] {
        for announcement in [AnnouncementMode::Ring, AnnouncementMode::Multicast] {
            let absent: Group = vec![node(2), node(5)].into();
            let mut ring: Ring = TestRing::new(Plan { repair, announcement, absent, ..default_plan(5) });
            ring.elect(1);
            assert_eq!(ring.agreed_leader(), Some((4, 1)));
            // Nodes 1, 3 and 4 are on the ring. Ranks 1 and 3 take one hop each, and rank 4 three.
            assert_eq!(ring.counts[0], 5, "messages of the contest, {repair:?}");
            let announcements = if announcement == AnnouncementMode::Ring { 3 } else { 2 };
            assert_eq!(ring.counts[1], announcements);
        }
    }
}

/// Nodes 4 and 5 are down at start-up. Later, runs {1, 2} and {3, 4, 5} of one epoch are disjoint,
/// so only the one with a majority of nodes 1 to 3 may elect a leader.
#[test]
fn ci_5_nodes_that_were_down_at_start_up_do_not_count_for_the_majority() {
    let absent: Group = vec![node(4), node(5)].into();
    let ring_without = |crashed: &[u32]| {
        let plan = Plan { repair: Repair::Detector, absent: absent.clone(), ..default_plan(5) };
        let mut ring: Ring = TestRing::new(plan);
        for number in [4, 5] {
            ring.restart(number);
            ring.all_trust(number);
        }
        // Only what the nodes send after the crashes arrives.
        ring.in_flight.clear();
        crashed.iter().for_each(|number| ring.crash(*number));
        crashed.iter().for_each(|number| ring.all_suspect(*number));
        ring.settle();
        ring
    };
    let mut ring = ring_without(&[3, 4, 5]);
    ring.elect(1);
    assert_eq!(ring.agreed_leader(), Some((2, 1)), "two of the three nodes that were up are a majority");
    let ring = ring_without(&[1, 2]);
    assert_eq!(ring.nodes_that_applied("CI-5"), [5], "node 5 wins, but announces nothing");
    assert_eq!(ring.agreed_leader(), None, "one of the three nodes that were up is no majority");
}

#[test]
fn a_single_node_elects_itself() {
    for repair in [Repair::None, Repair::Timeout, Repair::Detector] {
        let mut ring = ring_with(repair, 1);
        ring.elect(1);
        assert_eq!(ring.agreed_leader(), Some((1, 1)));
    }
}

#[test]
fn the_documentation_lists_all_rules() {
    let ids: Vec<_> = about().rules.iter().map(|rule| rule.id.clone()).collect();
    assert_eq!(ids.first().map(|id| &**id), Some("CI-1"));
    assert_eq!(ids.len(), 12, "{ids:?}");
}
