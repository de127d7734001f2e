//! One test a rule of the member.

use super::fleet::millis;
use super::stage::{Loses, Stage, everyone};
use crate::node;
use quorate_core::membership::{Request, Terms};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Incarnation, Input, NodeId, Time};
use quorate_replica::membership::{Ask, Message};

impl Stage {
    fn count(&self, rule: &str) -> usize {
        self.notes.iter().filter(|(_, _, noted)| *noted == rule).count()
    }

    fn followers(&self) -> [NodeId; 2] {
        let leader = self.leader().unwrap();
        let others: Vec<_> = everyone().filter(|node| *node != leader).collect();
        [others[0], others[1]]
    }

    fn mute(&mut self, mute: NodeId) {
        self.loses = Box::new(move |from, _, letter| from == mute && letter.kind() == "ask");
    }
}

fn everyone_but(absent: NodeId) -> Vec<u32> {
    everyone().filter(|node| *node != absent).map(|node| node.number()).collect()
}

fn loses_nothing() -> Loses {
    Box::new(|_, _, _| false)
}

#[test]
fn me_1_the_first_leader_founds_the_group_and_no_other_does() {
    let mut stage = Stage::settled();
    assert_eq!(stage.count("ME-1"), 1);
    assert!(everyone().all(|node| stage.view(node) == (1, vec![1, 2, 3])));
    let (leader, [one, _]) = (stage.leader().unwrap(), stage.followers());
    stage.kill(leader);
    stage.until("another leader", |stage| stage.leader().is_some());
    stage.run_for(5_000);
    assert_eq!((stage.count("ME-1"), stage.view(one).0), (1, 2));
}

#[test]
fn me_2_who_is_out_is_let_in_again_and_a_new_life_in_the_place_of_the_old() {
    let mut stage = Stage::settled();
    let [silent, other] = stage.followers();
    stage.mute(silent);
    stage.until("removal", |stage| stage.view(other).0 == 2);
    assert!(!stage.view(other).1.contains(&silent.number()));
    stage.loses = loses_nothing();
    stage.until("return", |stage| stage.view(silent) == (3, vec![1, 2, 3]));
    stage.kill(silent);
    stage.boot(silent);
    stage.until("new life", |stage| stage.node(silent).viewed().acts(stage.now));
    let view = stage.node(silent).viewed().view().unwrap();
    assert_eq!(view.stay(silent).map(|stay| stay.incarnation), Some(Incarnation(1)));
}

#[test]
fn me_2_who_lost_its_disk_asks_for_nothing_and_nobody_waits_for_it() {
    let mut stage = Stage::settled();
    let [blank, other] = stage.followers();
    stage.kill(blank);
    stage.until("removal", |stage| stage.view(other).0 == 2);
    stage.wipe(blank);
    stage.boot(blank);
    stage.run_for(10_000);
    assert!(stage.view(other).0 == 2 && stage.node(other).viewed().acts(stage.now), "{:?}", stage.view(other));
}

#[test]
fn me_2_whose_replica_cannot_follow_keeps_silent_and_is_removed_until_it_can() {
    let mut stage = Stage::settled();
    let [deaf, other] = stage.followers();
    // Heartbeats arrive, so that it knows who leads; what is in the log does not.
    stage.loses = Box::new(move |_, to, letter| to == deaf && letter.kind() == "append");
    stage.until("removal", |stage| stage.view(other) == (2, everyone_but(deaf)));
    stage.run_for(10_000);
    assert_eq!(stage.view(other).0, 2, "it asked to be let in");
    stage.loses = loses_nothing();
    stage.until("return", |stage| stage.view(deaf) == (3, vec![1, 2, 3]));
    stage.until("acts", |stage| stage.node(deaf).viewed().acts(stage.now));
}

#[test]
fn me_2_after_a_silence_of_all_everyone_acts_again() {
    let mut stage = Stage::settled();
    stage.loses = Box::new(|_, _, _| true);
    stage.run_for(15_000);
    assert!(everyone().all(|node| !stage.node(node).viewed().acts(stage.now)));
    stage.loses = loses_nothing();
    stage.until("leases", |stage| everyone().all(|node| stage.node(node).viewed().acts(stage.now)));
}

#[test]
fn me_3_nobody_asks_for_another_and_who_does_not_lead_is_asked_in_vain() {
    let mut stage = Stage::settled();
    let leader = stage.leader().unwrap();
    let [one, other] = stage.followers();
    let stay = stage.node(one).viewed().view().unwrap().stay(one).unwrap();
    let leave = Ask { request: Request::Leave { node: one, stay }, asked: Time::ZERO };
    for (at, from) in [(leader, other), (other, one)] {
        stage.input(at, Input::Message { from, message: Message::Ask(leave) });
        stage.run_for(1_000);
        assert_eq!(stage.view(leader).0, 1);
    }
    stage.input(leader, Input::Message { from: one, message: Message::Ask(leave) });
    stage.until("removal", |stage| stage.view(leader).0 == 2);
}

#[test]
fn me_4_a_replica_that_was_behind_tells_the_latest_view() {
    let mut stage = Stage::settled();
    let [cut_off, other] = stage.followers();
    stage.loses = Box::new(move |from, to, _| from == cut_off || to == cut_off);
    stage.until("removal", |stage| stage.view(other).0 == 2);
    stage.kill(other);
    stage.boot(other);
    assert_eq!(stage.view(cut_off).0, 1);
    // With one of three cut off and one that starts anew, only now is there a majority again.
    stage.until("new life", |stage| stage.leader().is_some() && stage.view(other).0 >= 3);
    let latest = stage.view(other).0;
    stage.notes.clear();
    stage.loses = loses_nothing();
    stage.until("news", |stage| stage.view(cut_off).0 >= latest);
    assert_eq!(stage.notes.iter().filter(|(_, who, rule)| *who == cut_off && *rule == "ME-4").count(), 1);
}

#[test]
fn me_4_who_learns_that_it_is_out_asks_at_once() {
    let mut stage = Stage::settled();
    let ([alive, _], mistaken) = (stage.followers(), stage.leader().unwrap());
    stage.input(mistaken, Input::Suspect(alive));
    stage.until("removal", |stage| stage.view(alive).0 == 2);
    let length = stage.until("return", |stage| stage.node(alive).viewed().acts(stage.now));
    assert!(length < millis(50), "{length}");
}

#[test]
fn me_5_a_lease_counts_from_the_instant_of_asking() {
    let mut stage = Stage::settled();
    let [one, _] = stage.followers();
    stage.run_for(1_000);
    let asked = stage.asked[one.index()].unwrap();
    stage.mute(one);
    let end = asked + Terms::default().trusted();
    stage.run_for(1_000);
    assert!(stage.node(one).viewed().acts(Time::from_nanos(end.nanos() - 1)));
    assert!(!stage.node(one).viewed().acts(end));
}

#[test]
fn me_6_the_leader_lets_time_pass_when_a_lease_is_overdue() {
    let mut stage = Stage::settled();
    let leader = stage.leader().unwrap();
    let [one, _] = stage.followers();
    stage.run_for(1_000);
    assert_eq!(stage.count("ME-6"), 0, "no lease is overdue while all are renewed");
    // The leader renews its own lease all the same, but always just before the others' run out.
    stage.loses = Box::new(|_, _, letter| letter.kind() == "ask");
    let last = stage.asked[one.index()].unwrap();
    stage.until("removal", |stage| stage.view(leader) == (2, vec![leader.number()]));
    let late = stage.now.since(last + Terms::default().lease);
    assert!(late < millis(250), "{late}");
    assert_eq!(stage.count("ME-6"), 1);
}

#[test]
fn me_7_a_life_that_was_met_is_suspected_and_one_that_was_not_is_left_in_peace() {
    let mut stage = Stage::settled();
    let ([victim, _], witness) = (stage.followers(), stage.leader().unwrap());
    stage.kill(victim);
    stage.input(witness, Input::Suspect(victim));
    let length = stage.until("removal", |stage| stage.view(witness).0 == 2);
    assert!(length < millis(50), "{length}");
    // The next life asks to be let in and says nothing else to the witness, who hears of the old connection only now.
    stage.loses = Box::new(move |from, to, letter| from == victim && to == witness && letter.kind() != "ask");
    stage.boot(victim);
    stage.until("new life", |stage| stage.view(witness) == (3, vec![1, 2, 3]));
    stage.input(witness, Input::Suspect(victim));
    stage.run_for(1_000);
    assert_eq!(stage.view(witness).0, 3);
    stage.loses = loses_nothing();
    stage.run_for(1_000);
    stage.input(witness, Input::Suspect(victim));
    stage.until("removal", |stage| stage.view(witness).0 == 4);
}

#[test]
fn me_7_who_has_not_begun_yet_is_not_taken_for_gone() {
    let mut stage = Stage::new();
    let late = node(3);
    stage.kill(late);
    stage.until("founding", |stage| stage.leader().is_some_and(|leader| stage.node(leader).viewed().view().is_some()));
    let witness = stage.leader().unwrap();
    stage.input(witness, Input::Suspect(late));
    stage.run_for(1_000);
    assert_eq!(stage.view(witness), (1, vec![1, 2, 3]));
}

#[test]
fn me_8_when_the_leader_is_gone_the_others_elect_another_at_once() {
    let mut stage = Stage::settled();
    let leader = stage.leader().unwrap();
    let witnesses = stage.followers();
    stage.kill(leader);
    witnesses.into_iter().for_each(|witness| stage.input(witness, Input::Suspect(leader)));
    let length = stage.until("view", |stage| witnesses.iter().all(|witness| stage.view(*witness).0 == 2));
    assert!(length < millis(250), "{length}");
    assert!(stage.count("ME-8") > 0);
}

#[test]
fn me_9_the_protocol_inside_waits_for_no_disk() {
    let mut stage = Stage::settled();
    stage.disks_wait = true;
    stage.run_for(100);
    let [one, _] = stage.followers();
    stage.command(one, Command::Acquire);
    let entered = |stage: &Stage| stage.events.iter().any(|(_, _, event)| matches!(event, Event::Entered { .. }));
    let length = stage.until("entry", entered);
    assert!(length <= millis(2), "{length}");
    // But without disks no lease is renewed.
    stage.run_for(2_000);
    assert!(everyone().all(|node| !stage.node(node).viewed().acts(stage.now)));
}
