//! Tales told by hand to the properties and measures.

use super::{Tale, node};
use quorate_core::election::{Command, Event, Overlay, Refusal};
use quorate_core::{Class, Duration, Epoch, Group, NodeId};
use quorate_journal::moment::{Done, MessageId, Observer, Sent, Taken};
use quorate_journal::property::Verdict;
use quorate_lab::election::run::{Expectation, Measures, Properties};

impl<O: Observer<Command, Event>> Tale<O> {
    fn campaigns(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, Taken::Command(&Command::Campaign))
    }

    fn begins(self, millis: i64, number: u32, epoch: u64) -> Self {
        self.tells(millis, number, Event::Began { epoch: Epoch(epoch) })
    }

    fn learns(self, millis: i64, number: u32, leader: u32, epoch: u64) -> Self {
        self.tells(millis, number, Event::elected(node(leader), Epoch(epoch)))
    }
}

fn sent(class: Class) -> Sent<'static> {
    let id = MessageId { sender: node(1), number: 1 };
    Sent { id, kind: "vote", label: None, class, on_behalf_of: None, bytes: 1, parcel: None, again: false, body: &() }
}

fn properties() -> Tale<Properties> {
    Tale(Properties::new(3, true))
}

/// What fails, with what it says; and whether a contest was seen.
fn judged(tale: &Tale<Properties>) -> (Vec<(&'static str, String)>, bool) {
    let verdicts = tale.0.verdicts();
    let told = |verdict: &Verdict| verdict.violation.as_ref().map(|violation| (verdict.name, violation.text.clone()));
    let contested = verdicts.iter().any(|verdict| verdict.name == "contested" && verdict.holds == Some(true));
    (verdicts.iter().filter_map(told).collect(), contested)
}

#[track_caller]
fn fails(tale: &Tale<Properties>, name: &str, text: &str) {
    let (breaches, _) = judged(tale);
    assert_eq!(breaches, [(name, text.to_owned())]);
}

#[test]
fn all_is_well_when_everyone_learns_of_one_leader() {
    let tale = properties().campaigns(0, 2).begins(0, 2, 1).begins(1, 1, 1).begins(1, 3, 1);
    let tale = tale.learns(2, 2, 2, 1).learns(3, 1, 2, 1).learns(4, 3, 2, 1);
    assert_eq!(judged(&tale), (vec![], false));
    // A false alarm brings a new run, and perhaps another leader.
    let tale = tale.campaigns(5, 1).begins(5, 1, 2).learns(6, 1, 1, 2).learns(7, 2, 1, 2).learns(7, 3, 1, 2);
    assert_eq!(judged(&tale), (vec![], false));
}

#[test]
fn two_leaders_of_one_epoch_are_one_too_many() {
    let tale = properties().learns(1, 1, 1, 1).learns(2, 3, 3, 2).learns(3, 2, 2, 1).learns(4, 1, 2, 3);
    let tale = tale.learns(5, 2, 2, 3).learns(5, 3, 2, 3);
    fails(&tale, "one-leader-an-epoch", "node 2 takes 2 for the leader of epoch 1, and node 1 1");
    let told_by_others = properties().learns(1, 1, 1, 1).learns(2, 2, 3, 1).learns(3, 2, 1, 2).learns(3, 1, 1, 2);
    let told_by_others = told_by_others.learns(4, 3, 1, 2);
    fails(&told_by_others, "one-leader-an-epoch", "node 2 takes 3 for the leader of epoch 1, and node 1 1");
}

#[test]
fn one_node_may_not_change_its_mind_within_an_epoch() {
    let tale = properties().learns(1, 1, 1, 1).learns(2, 1, 2, 1).learns(2, 2, 2, 1).learns(2, 3, 2, 1);
    fails(&tale, "one-leader-an-epoch", "node 1 takes 2 for the leader of epoch 1, and node 1 1");
}

#[test]
fn a_result_never_goes_back_not_even_in_another_life() {
    let known = || properties().learns(1, 1, 2, 5).learns(1, 2, 2, 5).learns(1, 3, 2, 5);
    let tale = known().learns(2, 1, 3, 4).learns(3, 1, 2, 5);
    fails(&tale, "epochs-grow", "node 1 knows the winner of epoch 4, but was at 5 before");
    let tale = known().dies(2, 1).boots(3, 1).learns(4, 1, 3, 4).learns(5, 1, 2, 5);
    fails(&tale, "epochs-grow", "node 1 knows the winner of epoch 4, but was at 5 before");
    let tale = known().begins(2, 1, 4).learns(3, 1, 2, 5);
    fails(&tale, "epochs-grow", "node 1 takes part in epoch 4, but was at 5 before");
}

#[test]
fn a_node_without_a_disk_begins_with_small_numbers_again() {
    let tale = properties().learns(1, 1, 2, 5).learns(1, 2, 2, 5).learns(1, 3, 2, 5);
    let tale = tale.dies(2, 1).boots(3, 1).begins(4, 1, 1).learns(5, 1, 2, 5);
    assert_eq!(judged(&tale).0, []);
}

#[test]
fn whoever_knows_no_leader_at_the_end_is_named() {
    let two = || properties().learns(1, 1, 1, 1).learns(1, 2, 1, 1);
    fails(&two(), "agreed", "node 3 knows no leader at the end");
    assert_eq!(judged(&two().dies(2, 3)).0, []);
    fails(&two().dies(2, 3).boots(3, 3), "agreed", "node 3 knows no leader at the end");
    fails(&two().learns(2, 3, 1, 1).begins(3, 2, 2), "agreed", "node 2 knows no leader at the end");
    let torn = two().learns(2, 3, 3, 2);
    let text = "node 1 knows leader 1 (epoch 1), and node 3 knows leader 3 (epoch 2) at the end";
    fails(&torn, "agreed", text);
    let same_leader_of_another_run = two().learns(2, 3, 1, 2);
    assert_eq!(judged(&same_leader_of_another_run).0.len(), 1);
}

#[test]
fn a_leader_that_is_down_leads_nobody() {
    let tale = || properties().learns(1, 1, 1, 1).learns(1, 2, 1, 1).learns(1, 3, 1, 1).dies(2, 1);
    fails(&tale(), "agreed", "everyone knows leader 1 (epoch 1), which is down at the end");
    fails(&tale().boots(3, 1), "agreed", "node 1 knows no leader at the end");
    assert_eq!(judged(&tale().dies(3, 2).dies(3, 3)).0, [], "where nobody lives, nobody disagrees");
}

/// Nodes 1 and 2 lead, and 3 follows one of them.
#[test]
fn where_there_are_several_on_purpose_each_must_know_one_who_leads() {
    let split = || {
        let tale = Tale(Properties::new(3, false).expecting(Expectation::OneForEach));
        tale.learns(1, 1, 1, 4).learns(1, 2, 2, 5)
    };
    fails(&split(), "agreed", "node 3 knows no leader at the end");
    assert_eq!(judged(&split().learns(2, 3, 2, 8)).0, [], "the run does not matter");
    let text = "node 3 knows leader 2 (epoch 5), which takes itself for none at the end";
    fails(&split().learns(2, 3, 2, 5).learns(3, 2, 1, 7), "agreed", text);
    let text = "node 3 knows leader 2 (epoch 5), which is down at the end";
    fails(&split().learns(2, 3, 2, 5).dies(3, 2), "agreed", text);
    fails(&split().learns(2, 3, 1, 5), "one-leader-an-epoch", "node 3 takes 1 for the leader of epoch 5, and node 2 2");
}

/// Where ids have one bit, all of which is reserved, nodes of a region share one id, and the lowest number leads it.
#[test]
fn moves_are_counted_with_those_that_had_to_be() {
    let overlay = Overlay::new(6, 3, 1, 0);
    let tale = Tale(Measures::new(6).expecting(Expectation::OneForEach).among(overlay.clone()));
    let everyone = Group::of_size(6);
    let first = overlay.super_peer(node(6), |_| false);
    let next = overlay.super_peer(node(6), |other| other == first);
    let others: Vec<_> = everyone.others(first).map(NodeId::number).collect();
    let tale = (1..=6).fold(tale, |tale, number| tale.boots(0, number).learns(1, number, first.number(), 6));
    let told = |tale: &Tale<Measures>| {
        let summary = tale.0.summary(Duration::from_millis(1), "T");
        let peers = summary.super_peers.expect("super-peers");
        (peers.count, peers.largest_load, peers.moved, peers.must_move, summary.time.is_some())
    };
    assert_eq!(told(&tale), (1, 5, 0, 0, false), "nobody has begun anything");
    let tale = tale.dies(2, first.number());
    assert_eq!(told(&tale), (0, 0, 0, 5, false));
    let tale = others.iter().fold(tale, |tale, number| tale.learns(3, *number, next.number(), 12));
    assert_eq!(told(&tale), (1, 4, 5, 5, false));
    let tale = tale.boots(4, first.number()).learns(4, first.number(), first.number(), 18);
    assert_eq!(told(&tale), (2, 4, 5, 10, false), "whoever comes does not move");
    let last = others.iter().copied().find(|number| *number != next.number()).expect("one that leads nobody");
    assert_eq!(told(&tale.dies(5, last)), (2, 3, 5, 10, false), "and moves nobody when it goes unless it leads");
}

#[test]
fn several_who_start_before_anybody_has_won_are_a_contest() {
    assert!(!judged(&properties().campaigns(0, 1).campaigns(1, 1)).1);
    assert!(judged(&properties().campaigns(0, 1).campaigns(1, 2)).1);
    let over = properties().campaigns(0, 1).learns(1, 1, 1, 1).learns(1, 2, 1, 1).learns(1, 3, 1, 1);
    assert!(!judged(&over.campaigns(2, 2)).1);
}

#[test]
fn a_group_watched_for_no_contest_has_no_verdict_on_it() {
    let names: Vec<_> = Properties::new(3, false).verdicts().iter().map(|verdict| verdict.name).collect();
    assert_eq!(names, ["one-leader-an-epoch", "epochs-grow", "agreed"]);
}

#[test]
fn messages_are_counted_by_class_and_never_to_oneself() {
    let everyone = Group::of_size(3);
    let tale = Tale(Measures::new(3)).effect(0, 1, Done::Send { to: node(2), sent: sent(Class::Algorithm) });
    let tale = tale.effect(0, 1, Done::Send { to: node(1), sent: sent(Class::Algorithm) });
    let tale = tale.effect(0, 1, Done::Multicast { to: &everyone, sent: sent(Class::Announcement) });
    let tale = tale.effect(0, 1, Done::Multicast { to: &everyone, sent: sent(Class::Control) });
    let summary = tale.0.summary(Duration::from_millis(1), "T");
    assert_eq!((summary.election_messages, summary.announcement_messages), (1, 2));
    assert_eq!((summary.leader, summary.epoch, summary.rounds, summary.time), (None, None, 0, None));
}

#[test]
fn time_runs_from_the_first_start_until_the_last_one_knows_for_good() {
    let refused = Event::Refused(Refusal::AlreadyRunning);
    let tale = Tale(Measures::new(2)).campaigns(3, 1).begins(4, 1, 1).begins(5, 2, 1);
    let tale = tale.learns(6, 1, 1, 1).learns(9, 2, 1, 1).effect(20, 2, Done::Emit(&refused));
    let measured = |tale: &Tale<Measures>| {
        let summary = tale.0.summary(Duration::from_millis(2), "T");
        (summary.leader, summary.epoch, summary.rounds, summary.time)
    };
    assert_eq!(measured(&tale), (Some(node(1)), Some(Epoch(1)), 1, Some(3.0)));
    let again = tale.learns(21, 2, 1, 1);
    assert_eq!(measured(&again).3, Some(3.0), "whoever knows learns nothing new");
    let anew = again.begins(23, 2, 4);
    assert_eq!(measured(&anew), (None, None, 2, None));
    let anew = anew.learns(24, 2, 2, 4).learns(25, 1, 2, 4);
    assert_eq!(measured(&anew), (Some(node(2)), Some(Epoch(4)), 2, Some(11.0)));
}
