//! Hand-written runs for the properties and measures.
//!
//! In each action, the time in milliseconds comes first and the node second: `learns(3, 2, 1, 5)`
//! says that at 3 ms node 2 learns that node 1 leads epoch 5.

use super::{HandWrittenRun, ONE_STARTER, SEVERAL_STARTERS, node};
use quorate_core::election::{Command, Event, Overlay, Refusal};
use quorate_core::{Class, Duration, Epoch, Group, NodeId};
use quorate_journal::moment::{MessageId, ObservedEffect, ObservedInput, Observer, Sent};
use quorate_journal::property::Verdict;
use quorate_lab::election::run::{Expectation, Measures, Properties};

impl<O: Observer<Command, Event>> HandWrittenRun<O> {
    fn campaigns(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, ObservedInput::Command(&Command::Campaign))
    }

    /// The node begins an election in this epoch.
    fn begins(self, millis: i64, number: u32, epoch: u64) -> Self {
        self.emits(millis, number, Event::Began { epoch: Epoch(epoch) })
    }

    /// The node learns the leader of an epoch.
    fn learns(self, millis: i64, number: u32, leader: u32, epoch: u64) -> Self {
        self.emits(millis, number, Event::elected(node(leader), Epoch(epoch)))
    }
}

fn sent(class: Class) -> Sent<'static> {
    let id = MessageId { sender: node(1), number: 1 };
    Sent {
        id,
        kind: "vote",
        label: None,
        class,
        on_behalf_of: None,
        bytes: 1,
        payload_id: None,
        is_retransmission: false,
        body: &(),
    }
}

fn run_with_properties() -> HandWrittenRun<Properties> {
    HandWrittenRun(Properties::new(3, SEVERAL_STARTERS))
}

/// Returns the violated properties with their texts, and whether several nodes contended.
fn judge(run: &HandWrittenRun<Properties>) -> (Vec<(&'static str, String)>, bool) {
    let verdicts = run.0.verdicts();
    let violation =
        |verdict: &Verdict| verdict.violation.as_ref().map(|violation| (verdict.name, violation.text.clone()));
    let is_contested = verdicts.iter().any(|verdict| verdict.name == "contested" && verdict.holds == Some(true));
    (verdicts.iter().filter_map(violation).collect(), is_contested)
}

#[track_caller]
fn assert_only_violation(run: &HandWrittenRun<Properties>, name: &str, text: &str) {
    let (violations, _) = judge(run);
    assert_eq!(violations, [(name, text.to_owned())]);
}

#[test]
fn no_violation_when_every_node_learns_of_one_leader() {
    let run = run_with_properties().campaigns(0, 2).begins(0, 2, 1).begins(1, 1, 1).begins(1, 3, 1);
    let run = run.learns(2, 2, 2, 1).learns(3, 1, 2, 1).learns(4, 3, 2, 1);
    assert_eq!(judge(&run), (vec![], false));
    // A false suspicion starts a new election, perhaps with another leader.
    let run = run.campaigns(5, 1).begins(5, 1, 2).learns(6, 1, 1, 2).learns(7, 2, 1, 2).learns(7, 3, 1, 2);
    assert_eq!(judge(&run), (vec![], false));
}

#[test]
fn two_leaders_in_one_epoch_are_caught() {
    let run = run_with_properties().learns(1, 1, 1, 1).learns(2, 3, 3, 2).learns(3, 2, 2, 1).learns(4, 1, 2, 3);
    let run = run.learns(5, 2, 2, 3).learns(5, 3, 2, 3);
    assert_only_violation(
        &run,
        "one-leader-per-epoch",
        "node 2 considers 2 the leader of epoch 1, but node 1 considers 1 the leader",
    );
    let learnt_from_others =
        run_with_properties().learns(1, 1, 1, 1).learns(2, 2, 3, 1).learns(3, 2, 1, 2).learns(3, 1, 1, 2);
    let learnt_from_others = learnt_from_others.learns(4, 3, 1, 2);
    assert_only_violation(
        &learnt_from_others,
        "one-leader-per-epoch",
        "node 2 considers 3 the leader of epoch 1, but node 1 considers 1 the leader",
    );
}

#[test]
fn one_node_may_not_know_two_leaders_of_an_epoch() {
    let run = run_with_properties().learns(1, 1, 1, 1).learns(2, 1, 2, 1).learns(2, 2, 2, 1).learns(2, 3, 2, 1);
    assert_only_violation(
        &run,
        "one-leader-per-epoch",
        "node 1 considers 2 the leader of epoch 1, but node 1 considers 1 the leader",
    );
}

#[test]
fn epochs_never_decrease_not_even_after_a_restart() {
    let known = || run_with_properties().learns(1, 1, 2, 5).learns(1, 2, 2, 5).learns(1, 3, 2, 5);
    let run = known().learns(2, 1, 3, 4).learns(3, 1, 2, 5);
    assert_only_violation(&run, "epochs-grow", "node 1 knows the winner of epoch 4, but was in epoch 5 before");
    let run = known().crashes(2, 1).starts(3, 1).learns(4, 1, 3, 4).learns(5, 1, 2, 5);
    assert_only_violation(&run, "epochs-grow", "node 1 knows the winner of epoch 4, but was in epoch 5 before");
    let run = known().begins(2, 1, 4).learns(3, 1, 2, 5);
    assert_only_violation(&run, "epochs-grow", "node 1 takes part in epoch 4, but was in epoch 5 before");
}

#[test]
fn a_node_without_a_disk_may_start_elections_with_small_epochs() {
    let run = run_with_properties().learns(1, 1, 2, 5).learns(1, 2, 2, 5).learns(1, 3, 2, 5);
    let run = run.crashes(2, 1).starts(3, 1).begins(4, 1, 1).learns(5, 1, 2, 5);
    assert_eq!(judge(&run).0, []);
}

#[test]
fn a_node_without_a_leader_at_the_end_is_named() {
    let two_know_node_1 = || run_with_properties().learns(1, 1, 1, 1).learns(1, 2, 1, 1);
    assert_only_violation(&two_know_node_1(), "agreed", "node 3 knows no leader at the end");
    assert_eq!(judge(&two_know_node_1().crashes(2, 3)).0, []);
    assert_only_violation(&two_know_node_1().crashes(2, 3).starts(3, 3), "agreed", "node 3 knows no leader at the end");
    assert_only_violation(
        &two_know_node_1().learns(2, 3, 1, 1).begins(3, 2, 2),
        "agreed",
        "node 2 knows no leader at the end",
    );
    let split_vote = two_know_node_1().learns(2, 3, 3, 2);
    let text = "node 1 knows leader 1 (epoch 1), and node 3 knows leader 3 (epoch 2) at the end";
    assert_only_violation(&split_vote, "agreed", text);
    let same_leader_of_another_epoch = two_know_node_1().learns(2, 3, 1, 2);
    assert_eq!(judge(&same_leader_of_another_epoch).0.len(), 1);
}

#[test]
fn a_crashed_leader_does_not_count() {
    let run = || run_with_properties().learns(1, 1, 1, 1).learns(1, 2, 1, 1).learns(1, 3, 1, 1).crashes(2, 1);
    assert_only_violation(&run(), "agreed", "all nodes know leader 1 (epoch 1), which is down at the end");
    assert_only_violation(&run().starts(3, 1), "agreed", "node 1 knows no leader at the end");
    assert_eq!(judge(&run().crashes(3, 2).crashes(3, 3)).0, [], "without live nodes there is no disagreement");
}

/// Nodes 1 and 2 lead, and node 3 must follow one of them.
#[test]
fn with_several_leaders_on_purpose_each_node_must_know_one() {
    let split = || {
        let run = HandWrittenRun(Properties::new(3, ONE_STARTER).expecting(Expectation::SomeLeader));
        run.learns(1, 1, 1, 4).learns(1, 2, 2, 5)
    };
    assert_only_violation(&split(), "agreed", "node 3 knows no leader at the end");
    assert_eq!(judge(&split().learns(2, 3, 2, 8)).0, [], "the epochs of different leaders may differ");
    let text = "node 3 knows leader 2 (epoch 5), which does not consider itself a leader at the end";
    assert_only_violation(&split().learns(2, 3, 2, 5).learns(3, 2, 1, 7), "agreed", text);
    let text = "node 3 knows leader 2 (epoch 5), which is down at the end";
    assert_only_violation(&split().learns(2, 3, 2, 5).crashes(3, 2), "agreed", text);
    assert_only_violation(
        &split().learns(2, 3, 1, 5),
        "one-leader-per-epoch",
        "node 3 considers 1 the leader of epoch 5, but node 2 considers 2 the leader",
    );
}

/// A super-peer leads a region of the overlay; here there is one region, and nodes share ids of one
/// bit. A move is a node's change to another super-peer; it is necessary if a node that joined or
/// left causes it.
#[test]
fn moves_and_necessary_moves_are_counted() {
    let (nodes, seed, id_bits, region_bits) = (6, 3, 1, 0);
    let overlay = Overlay::new(nodes, seed, id_bits, region_bits);
    let run = HandWrittenRun(Measures::new(6).expecting(Expectation::SomeLeader).with_overlay(overlay.clone()));
    let all_nodes = Group::of_size(6);
    let first = overlay.super_peer(node(6), |_| false);
    let next = overlay.super_peer(node(6), |other| other == first);
    let others: Vec<_> = all_nodes.others(first).map(NodeId::number).collect();
    let run = (1..=6).fold(run, |run, number| run.starts(0, number).learns(1, number, first.number(), 6));
    // Super-peers, largest load, moves, necessary moves, and whether a time was measured.
    let measures = |run: &HandWrittenRun<Measures>| {
        let summary = run.0.summary(Duration::from_millis(1), "T");
        let peers = summary.super_peers.expect("super-peers");
        (peers.count, peers.largest_load, peers.moved, peers.must_move, summary.time.is_some())
    };
    assert_eq!(measures(&run), (1, 5, 0, 0, false), "no election has started");
    let run = run.crashes(2, first.number());
    assert_eq!(measures(&run), (0, 0, 0, 5, false));
    let run = others.iter().fold(run, |run, number| run.learns(3, *number, next.number(), 12));
    assert_eq!(measures(&run), (1, 4, 5, 5, false));
    let run = run.starts(4, first.number()).learns(4, first.number(), first.number(), 18);
    // The other five nodes would have to move back.
    assert_eq!(measures(&run), (2, 4, 5, 10, false), "a joining node does not move");
    let leaving = others.iter().copied().find(|number| *number != next.number()).expect("a node without followers");
    assert_eq!(
        measures(&run.crashes(5, leaving)),
        (2, 3, 5, 10, false),
        "a leaving node moves others only if it leads"
    );
}

#[test]
fn several_starters_before_a_win_are_contention() {
    assert!(!judge(&run_with_properties().campaigns(0, 1).campaigns(1, 1)).1);
    assert!(judge(&run_with_properties().campaigns(0, 1).campaigns(1, 2)).1);
    let after_election = run_with_properties().campaigns(0, 1).learns(1, 1, 1, 1).learns(1, 2, 1, 1).learns(1, 3, 1, 1);
    assert!(!judge(&after_election.campaigns(2, 2)).1);
}

#[test]
fn contention_is_judged_only_if_several_starters_are_expected() {
    let names: Vec<_> = Properties::new(3, ONE_STARTER).verdicts().iter().map(|verdict| verdict.name).collect();
    assert_eq!(names, ["one-leader-per-epoch", "epochs-grow", "agreed"]);
}

#[test]
fn messages_are_counted_by_class_without_those_to_the_sender_itself() {
    let everyone = Group::of_size(3);
    let run = HandWrittenRun(Measures::new(3)).effect(
        0,
        1,
        ObservedEffect::Send { to: node(2), sent: sent(Class::Algorithm) },
    );
    let run = run.effect(0, 1, ObservedEffect::Send { to: node(1), sent: sent(Class::Algorithm) });
    let run = run.effect(0, 1, ObservedEffect::Multicast { to: &everyone, sent: sent(Class::Announcement) });
    let run = run.effect(0, 1, ObservedEffect::Multicast { to: &everyone, sent: sent(Class::Control) });
    let summary = run.0.summary(Duration::from_millis(1), "T");
    assert_eq!((summary.election_messages, summary.announcement_messages), (1, 2));
    assert_eq!((summary.leader, summary.epoch, summary.rounds, summary.time), (None, None, 0, None));
}

#[test]
fn time_runs_from_the_first_start_until_the_last_node_knows_the_leader() {
    let refusal = Event::Refused(Refusal::AlreadyRunning);
    let run = HandWrittenRun(Measures::new(2)).campaigns(3, 1).begins(4, 1, 1).begins(5, 2, 1);
    let run = run.learns(6, 1, 1, 1).learns(9, 2, 1, 1).effect(20, 2, ObservedEffect::Emit(&refusal));
    let measured = |run: &HandWrittenRun<Measures>| {
        let summary = run.0.summary(Duration::from_millis(2), "T");
        (summary.leader, summary.epoch, summary.rounds, summary.time)
    };
    assert_eq!(measured(&run), (Some(node(1)), Some(Epoch(1)), 1, Some(3.0)));
    let learnt_again = run.learns(21, 2, 1, 1);
    assert_eq!(measured(&learnt_again).3, Some(3.0), "learning the same leader again changes nothing");
    let next_election = learnt_again.begins(23, 2, 4);
    assert_eq!(measured(&next_election), (None, None, 2, None));
    let next_election = next_election.learns(24, 2, 2, 4).learns(25, 1, 2, 4);
    assert_eq!(measured(&next_election), (Some(node(2)), Some(Epoch(4)), 2, Some(11.0)));
}
