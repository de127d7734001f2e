//! Tests of the rules of a member (`ME-…`, at the head of `member.rs`).

use super::group::millis;
use super::harness::{DropRule, Harness, all_nodes};
use crate::node;
use quorate_core::membership::{LeaseTerms, Request};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Incarnation, Input, NodeId, Time};
use quorate_replica::Message as ReplicaMessage;
use quorate_replica::membership::{Message, TimedRequest};
use std::cell::Cell;
use std::rc::Rc;

impl Harness {
    /// Number of times that any node noted this rule.
    fn count_notes(&self, rule: &str) -> usize {
        self.notes.iter().filter(|(_, _, noted)| *noted == rule).count()
    }

    fn followers(&self) -> [NodeId; 2] {
        let leader = self.leader().unwrap();
        let others: Vec<_> = all_nodes().filter(|node| *node != leader).collect();
        [others[0], others[1]]
    }

    /// Drops every later request of a node to the leader: a message of the kind
    /// `membership-request`.
    fn drop_requests_of(&mut self, node: NodeId) {
        self.drop_rule = Box::new(move |from, _, message| from == node && message.kind() == "membership-request");
    }
}

fn all_nodes_but(absent: NodeId) -> Vec<u32> {
    all_nodes().filter(|node| *node != absent).map(|node| node.number()).collect()
}

fn drop_nothing() -> DropRule {
    Box::new(|_, _, _| false)
}

#[test]
fn me_1_the_first_leader_founds_the_group_and_no_other_does() {
    let mut harness = Harness::settled();
    assert_eq!(harness.count_notes("ME-1"), 1);
    assert!(all_nodes().all(|node| harness.view(node) == (1, vec![1, 2, 3])));
    let (leader, [one, _]) = (harness.leader().unwrap(), harness.followers());
    harness.kill(leader);
    harness.run_until("another leader", |harness| harness.leader().is_some());
    harness.run_for(5_000);
    assert_eq!((harness.count_notes("ME-1"), harness.view(one).0), (1, 2));
}

#[test]
fn me_2_a_removed_member_is_admitted_again_and_a_new_incarnation_replaces_the_old_one() {
    let mut harness = Harness::settled();
    let [silent, other] = harness.followers();
    harness.drop_requests_of(silent);
    harness.run_until("removal", |harness| harness.view(other).0 == 2);
    assert!(!harness.view(other).1.contains(&silent.number()));
    harness.drop_rule = drop_nothing();
    harness.run_until("return", |harness| harness.view(silent) == (3, vec![1, 2, 3]));
    harness.kill(silent);
    harness.boot(silent);
    harness.run_until("new incarnation", |harness| harness.node(silent).viewed().acts(harness.now));
    let view = harness.node(silent).viewed().view().unwrap();
    assert_eq!(view.stay(silent).map(|stay| stay.incarnation), Some(Incarnation(1)));
}

#[test]
fn me_2_a_node_that_lost_its_disk_makes_no_request_and_the_others_do_not_wait_for_it() {
    let mut harness = Harness::settled();
    let [replaced, other] = harness.followers();
    harness.kill(replaced);
    harness.run_until("removal", |harness| harness.view(other).0 == 2);
    harness.wipe(replaced);
    let wiped_at = harness.now;
    harness.boot(replaced);
    harness.run_for(10_000);
    assert!(harness.last_request[replaced.index()] < Some(wiped_at), "a node that lost its disk made a request");
    assert!(harness.view(other).0 == 2 && harness.node(other).viewed().acts(harness.now), "{:?}", harness.view(other));
}

#[test]
fn me_2_a_node_whose_replica_cannot_follow_is_removed_until_it_can() {
    let mut harness = Harness::settled();
    let [lagging, other] = harness.followers();
    // It receives heartbeats and knows the leader, but it receives no entries.
    harness.drop_rule = Box::new(move |_, to, message| to == lagging && message.kind() == "append");
    harness.run_until("removal", |harness| harness.view(other) == (2, all_nodes_but(lagging)));
    harness.run_for(10_000);
    assert_eq!(harness.view(other).0, 2, "a node that cannot follow must not ask for admission");
    harness.drop_rule = drop_nothing();
    harness.run_until("return", |harness| harness.view(lagging) == (3, vec![1, 2, 3]));
    harness.run_until("lease", |harness| harness.node(lagging).viewed().acts(harness.now));
}

#[test]
fn me_2_after_a_total_outage_all_nodes_act_again() {
    let mut harness = Harness::settled();
    harness.drop_rule = Box::new(|_, _, _| true);
    harness.run_for(15_000);
    assert!(all_nodes().all(|node| !harness.node(node).viewed().acts(harness.now)));
    harness.drop_rule = drop_nothing();
    harness.run_until("leases", |harness| all_nodes().all(|node| harness.node(node).viewed().acts(harness.now)));
}

#[test]
fn me_3_requests_for_other_nodes_and_requests_to_followers_have_no_effect() {
    let mut harness = Harness::settled();
    let leader = harness.leader().unwrap();
    let [one, other] = harness.followers();
    let stay = harness.node(one).viewed().view().unwrap().stay(one).unwrap();
    let leave = TimedRequest { request: Request::Leave { node: one, stay }, requested_at: Time::ZERO };
    for (receiver, from) in [(leader, other), (other, one)] {
        harness.input(receiver, Input::Message { from, message: Message::Request(leave) });
        harness.run_for(1_000);
        assert_eq!(harness.view(leader).0, 1);
    }
    harness.input(leader, Input::Message { from: one, message: Message::Request(leave) });
    harness.run_until("removal", |harness| harness.view(leader).0 == 2);
}

#[test]
fn me_4_a_replica_that_was_behind_passes_on_only_the_latest_view() {
    let mut harness = Harness::settled();
    let [partitioned, other] = harness.followers();
    harness.drop_rule = Box::new(move |from, to, _| from == partitioned || to == partitioned);
    harness.run_until("removal", |harness| harness.view(other).0 == 2);
    harness.kill(other);
    harness.boot(other);
    assert_eq!(harness.view(partitioned).0, 1);
    // The leader and the restarted node are a majority, so views continue without the third node.
    harness.run_until("new incarnation", |harness| harness.leader().is_some() && harness.view(other).0 >= 3);
    let latest = harness.view(other).0;
    harness.notes.clear();
    harness.drop_rule = drop_nothing();
    harness.run_until("latest view", |harness| harness.view(partitioned).0 >= latest);
    assert_eq!(
        harness.notes.iter().filter(|(_, noted_by, rule)| *noted_by == partitioned && *rule == "ME-4").count(),
        1
    );
}

#[test]
fn me_4_a_node_that_learns_of_its_removal_asks_at_once() {
    let mut harness = Harness::settled();
    let ([alive, _], leader) = (harness.followers(), harness.leader().unwrap());
    // A wrong suspicion, which removes a member that is up.
    harness.input(leader, Input::Suspect(alive));
    harness.run_until("removal", |harness| harness.view(alive).0 == 2);
    // A request and its commit take a few messages of 1 ms each; keepalives are 400 ms apart.
    let return_time = harness.run_until("return", |harness| harness.node(alive).viewed().acts(harness.now));
    assert!(return_time < millis(50), "{return_time}");
}

#[test]
fn me_5_a_lease_counts_from_the_time_of_the_request() {
    let mut harness = Harness::settled();
    let [one, _] = harness.followers();
    harness.run_for(1_000);
    let requested_at = harness.last_request[one.index()].unwrap();
    harness.drop_requests_of(one);
    let end = requested_at + LeaseTerms::default().trusted_for();
    harness.run_for(1_000);
    assert!(harness.node(one).viewed().acts(Time::from_nanos(end.nanos() - 1)));
    assert!(!harness.node(one).viewed().acts(end));
}

#[test]
fn me_6_a_lease_expires_although_no_request_comes() {
    let mut harness = Harness::settled();
    let leader = harness.leader().unwrap();
    let [one, _] = harness.followers();
    harness.run_for(1_000);
    assert_eq!(harness.count_notes("RP-16"), 0, "no lease is overdue while all are renewed");
    // The leader still renews its own lease. But the renewal that could expire the others' leases
    // comes a few milliseconds too early, so it takes an empty entry to expire them.
    harness.drop_rule = Box::new(|_, _, message| message.kind() == "membership-request");
    let last_request = harness.last_request[one.index()].unwrap();
    harness.run_until("removal", |harness| harness.view(leader) == (2, vec![leader.number()]));
    let delay = harness.now.since(last_request + LeaseTerms::default().lease);
    // The leader looks for overdue leases at every tick of 40 ms.
    assert!(delay < millis(100), "{delay}");
    assert_eq!(harness.count_notes("RP-16"), 1);
}

#[test]
fn me_7_an_incarnation_that_sent_only_requests_is_not_suspected() {
    let mut harness = Harness::settled();
    let ([victim, _], witness) = (harness.followers(), harness.leader().unwrap());
    harness.kill(victim);
    harness.input(witness, Input::Suspect(victim));
    let removal_time = harness.run_until("removal", |harness| harness.view(witness).0 == 2);
    assert!(removal_time < millis(50), "{removal_time}");
    // The next incarnation asks for admission and sends the witness nothing else. Then a late
    // report that the previous process has ended reaches the witness.
    harness.drop_rule =
        Box::new(move |from, to, message| from == victim && to == witness && message.kind() != "membership-request");
    harness.boot(victim);
    harness.run_until("new incarnation", |harness| harness.view(witness) == (3, vec![1, 2, 3]));
    harness.input(witness, Input::Suspect(victim));
    harness.run_for(1_000);
    assert_eq!(harness.view(witness).0, 3);
    harness.drop_rule = drop_nothing();
    harness.run_for(1_000);
    harness.input(witness, Input::Suspect(victim));
    harness.run_until("removal", |harness| harness.view(witness).0 == 4);
}

#[test]
fn me_7_a_node_that_has_not_started_yet_is_not_suspected() {
    let mut harness = Harness::new();
    let unstarted = node(3);
    harness.kill(unstarted);
    harness.run_until("founding", |harness| {
        harness.leader().is_some_and(|leader| harness.node(leader).viewed().view().is_some())
    });
    let witness = harness.leader().unwrap();
    harness.input(witness, Input::Suspect(unstarted));
    harness.run_for(1_000);
    assert_eq!(harness.view(witness), (1, vec![1, 2, 3]));
}

#[test]
fn me_8_when_the_leaders_process_ends_the_others_elect_another_at_once() {
    let mut harness = Harness::settled();
    let leader = harness.leader().unwrap();
    let witnesses = harness.followers();
    harness.kill(leader);
    witnesses.into_iter().for_each(|witness| harness.input(witness, Input::Suspect(leader)));
    let election_time = harness
        .run_until("view of the survivors", |harness| witnesses.iter().all(|witness| harness.view(*witness).0 == 2));
    assert!(election_time < millis(250), "{election_time}");
    assert!(harness.count_notes("RP-13") > 0);
}

#[test]
fn me_9_the_inner_protocol_does_not_wait_for_the_disk() {
    let mut harness = Harness::settled();
    harness.are_disks_blocked = true;
    harness.run_for(100);
    let [one, _] = harness.followers();
    harness.command(one, Command::Acquire);
    let has_entered =
        |harness: &Harness| harness.events.iter().any(|(_, _, event)| matches!(event, Event::Entered { .. }));
    // A request to the coordinator and its grant take 1 ms each.
    let entry_time = harness.run_until("entry", has_entered);
    assert!(entry_time <= millis(2), "{entry_time}");
    // But without disks no lease is renewed, and leases last for 2 s.
    harness.run_for(2_000);
    assert!(all_nodes().all(|node| !harness.node(node).viewed().acts(harness.now)));
}

#[test]
fn me_1_a_new_leader_founds_the_group_at_once() {
    let mut harness = Harness::new();
    harness.run_until("leader", |harness| harness.leader().is_some());
    let leader = harness.leader().unwrap();
    // Reports are repeated every 200 ms.
    let founding_time = harness.run_until("founding", |harness| harness.node(leader).viewed().view().is_some());
    assert!(founding_time < millis(20), "{founding_time}");
}

#[test]
fn me_2_a_new_leader_is_asked_at_once() {
    let mut harness = Harness::settled();
    let (old_leader, followers) = (harness.leader().unwrap(), harness.followers());
    harness.kill(old_leader);
    harness.run_until("leader", |harness| harness.leader().is_some());
    let elected_at = harness.now;
    let leader = harness.leader().unwrap();
    let follower = followers.into_iter().find(|node| *node != leader).unwrap();
    // The first message of the leader takes 1 ms; keepalives are 400 ms apart.
    harness.run_for(5);
    assert!(harness.last_request[follower.index()] >= Some(elected_at));
}

#[test]
fn me_3_a_node_that_is_no_founder_is_not_admitted() {
    let mut harness = Harness::settled();
    let (leader, stranger) = (harness.leader().unwrap(), node(4));
    let join = Request::Join { node: stranger, incarnation: Incarnation::FIRST };
    let request = TimedRequest { request: join, requested_at: Time::ZERO };
    harness.drop_rule = Box::new(move |_, to, _| to == stranger);
    harness.input(leader, Input::Message { from: stranger, message: Message::Request(request) });
    harness.run_for(1_000);
    assert_eq!(harness.view(leader), (1, vec![1, 2, 3]));
}

#[test]
fn me_4_a_node_with_a_lease_does_not_ask_when_the_view_changes() {
    let mut harness = Harness::settled();
    let ([removed, other], leader) = (harness.followers(), harness.leader().unwrap());
    let last_request = harness.last_request[other.index()];
    harness.input(leader, Input::Suspect(removed));
    harness.run_until("removal", |harness| harness.view(other).0 == 2);
    assert_eq!(harness.last_request[other.index()], last_request);
}

/// Number of requests that a node sends from now on.
fn count_requests(harness: &mut Harness, of: NodeId) -> Rc<Cell<usize>> {
    let count = Rc::new(Cell::new(0));
    let counter = Rc::clone(&count);
    harness.drop_rule = Box::new(move |from, _, message| {
        counter.set(counter.get() + usize::from(from == of && message.kind() == "membership-request"));
        false
    });
    count
}

/// A node receives a message from a peer.
fn meet(harness: &mut Harness, node: NodeId, peer: NodeId) {
    let message = Message::Replica { sender_incarnation: Incarnation::FIRST, message: ReplicaMessage::ReportRequest };
    harness.input(node, Input::Message { from: peer, message });
}

#[test]
fn me_7_a_lost_report_is_repeated_until_the_member_is_removed() {
    let mut harness = Harness::settled();
    let [victim, witness] = harness.followers();
    meet(&mut harness, witness, victim);
    harness.kill(victim);
    harness.drop_requests_of(witness);
    harness.input(witness, Input::Suspect(victim));
    harness.drop_rule = drop_nothing();
    let removal_time = harness.run_until("removal", |harness| harness.view(witness).0 == 2);
    // A lease lasts for 2 s.
    assert!(removal_time < millis(400), "{removal_time}");
    let count = count_requests(&mut harness, witness);
    harness.run_for(2_000);
    let keepalives = 5;
    assert_eq!(count.get(), keepalives);
}

#[test]
fn me_7_a_member_that_is_trusted_again_stays() {
    let mut harness = Harness::settled();
    let [trusted, witness] = harness.followers();
    meet(&mut harness, witness, trusted);
    harness.drop_requests_of(witness);
    harness.input(witness, Input::Suspect(trusted));
    harness.input(witness, Input::Trust(trusted));
    harness.drop_rule = drop_nothing();
    harness.run_for(1_000);
    assert_eq!(harness.view(witness), (1, vec![1, 2, 3]));
}

#[test]
fn me_7_a_new_leader_learns_of_a_suspicion_at_once() {
    let mut harness = Harness::settled();
    let leader = harness.leader().unwrap();
    let witnesses = harness.followers();
    harness.kill(leader);
    witnesses.into_iter().for_each(|witness| harness.input(witness, Input::Suspect(leader)));
    harness.run_until("leader", |harness| harness.leader().is_some());
    let removal_time = harness.run_until("removal", |harness| harness.view(harness.leader().unwrap()).0 == 2);
    assert!(removal_time < millis(20), "{removal_time}");
}
