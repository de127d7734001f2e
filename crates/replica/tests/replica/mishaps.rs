//! Mishaps told step by step: lost disks, late copies, leaders of old, full disks, edited settings.

use crate::{members, node, settled};
use quorate_core::{Durable as _, Effect, Effects, Incarnation, Input, Protocol, Time};
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Command, Durable, Event, Message, Proposal, Reads, Refusal, Replica, Settings, Ticket, Timer};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Node = Replica<Registers>;
type Told = Event<Registers>;

struct Actor {
    node: Node,
    durable: Durable,
    saves: u64,
}

/// Replicas whose messages pass at once, unless they are cut off from each other, and whose disks confirm at once.
struct Stage {
    settings: Settings,
    now: i64,
    actors: BTreeMap<u32, Actor>,
    letters: VecDeque<(u32, u32, Message)>,
    cut_off: BTreeSet<u32>,
    /// Every piece of a snapshot that ever went out: the network may bring a copy at any time.
    pieces: Vec<(u32, u32, Message)>,
    loses_offers: bool,
    told: Vec<Told>,
    ticket: u64,
}

impl Stage {
    fn new(actors: u32, founders: &[u32]) -> Self {
        Self::with(actors, Settings::new(members(founders, &[])))
    }

    fn with(actors: u32, settings: Settings) -> Self {
        let mut stage = Self {
            settings,
            now: 0,
            actors: BTreeMap::new(),
            letters: VecDeque::new(),
            cut_off: BTreeSet::new(),
            pieces: Vec::new(),
            loses_offers: false,
            told: Vec::new(),
            ticket: 0,
        };
        (1..=actors).for_each(|number| stage.boot(number, Durable::default(), 0));
        stage
    }

    fn boot(&mut self, number: u32, durable: Durable, life: u64) {
        let node = Replica::new(node(number), self.settings.clone());
        self.actors.insert(number, Actor { node, durable: durable.clone(), saves: 0 });
        self.take(number, Input::Start { durable, incarnation: Incarnation(life) });
    }

    fn restart(&mut self, number: u32, life: u64) {
        let durable = self.actors[&number].durable.clone();
        self.boot(number, durable, life);
    }

    fn take(&mut self, number: u32, input: Input<Node>) {
        let Some(actor) = self.actors.get_mut(&number) else { return };
        let mut effects: Vec<Effect<Node>> = Vec::new();
        actor.node.step(Time::from_nanos(self.now), input, &mut Effects::new(&mut effects));
        let before = actor.saves;
        for effect in effects {
            match effect {
                Effect::Save(write) => {
                    actor.durable.apply(write);
                    actor.saves += 1;
                }
                Effect::Send { to, message, .. } => {
                    if matches!(message, Message::Piece(_)) {
                        self.pieces.push((number, to.number(), message.clone()));
                    }
                    if !(self.loses_offers && matches!(message, Message::TimeoutNow { .. })) {
                        self.letters.push_back((number, to.number(), message));
                    }
                }
                Effect::Emit { event, .. } => self.told.push(event),
                Effect::Multicast { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
        let saves = actor.saves;
        if saves > before {
            self.take(number, Input::Saved(saves));
        }
    }

    fn deliver(&mut self) {
        while let Some((from, to, message)) = self.letters.pop_front() {
            if !self.cut_off.contains(&from) && !self.cut_off.contains(&to) {
                self.take(to, Input::Message { from: node(from), message });
            }
        }
    }

    fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            self.now += i64::try_from(self.settings.tick.nanos()).unwrap();
            for number in self.actors.keys().copied().collect::<Vec<_>>() {
                self.take(number, Input::Timer(Timer::Tick));
                self.deliver();
            }
        }
    }

    /// Asks, and tells what came of it within so many ticks.
    fn ask(&mut self, at: u32, ticks: usize, command: impl FnOnce(Ticket) -> Command<Registers>) -> Option<Told> {
        self.ticket += 1;
        let wanted = Ticket(self.ticket);
        self.take(at, Input::Command(command(wanted)));
        self.deliver();
        self.ticks(ticks);
        self.told.iter().find(|event| settled(event) == Some(wanted)).cloned()
    }

    fn write(&mut self, at: u32, value: u64) -> bool {
        let command = Change::Write { key: 1, value };
        let told = self.ask(at, 6, |ticket| Command::Propose(vec![Proposal { ticket, command }]));
        matches!(told, Some(Event::Answered { .. }))
    }

    fn read(&mut self, at: u32) -> Result<Option<u64>, Option<Refusal>> {
        match self.ask(at, 6, |ticket| Command::Query { ticket, query: Read { key: 1 } }) {
            Some(Event::Answered { answer: Answer::Value(value), .. }) => Ok(value),
            Some(Event::Refused { why, .. }) => Err(Some(why)),
            Some(other) => panic!("{other:?}"),
            None => Err(None),
        }
    }

    fn change(&mut self, at: u32, voters: &[u32], learners: &[u32]) -> Option<Refusal> {
        let members = members(voters, learners);
        match self.ask(at, 20, |ticket| Command::Change { ticket, members }) {
            Some(Event::Changed { .. }) => None,
            Some(Event::Refused { why, .. }) => Some(why),
            other => panic!("{other:?}"),
        }
    }

    fn campaign(&mut self, at: u32) {
        self.ask(at, 3, |_| Command::Campaign);
    }

    fn elect(&mut self, at: u32) {
        self.campaign(at);
        assert_eq!(self.leaders(), [at]);
    }

    fn leaders(&self) -> Vec<u32> {
        self.actors.iter().filter(|(_, actor)| actor.node.leads()).map(|(number, _)| *number).collect()
    }

    fn applied(&self, number: u32) -> u64 {
        self.actors[&number].node.applied()
    }
}

/// The copy names the node a learner, but not the life of it that came after.
#[test]
fn rp_10_a_late_copy_of_a_snapshot_does_not_let_a_lost_disk_in() {
    let mut stage = Stage::new(3, &[1, 2]);
    stage.elect(1);
    assert!(stage.write(1, 5));
    assert_eq!(stage.change(1, &[1, 2], &[3]), None);
    let (from, _, copy) = stage.pieces.last().cloned().expect("a snapshot went out");
    assert_eq!(stage.change(1, &[1, 2, 3], &[]), None);
    stage.cut_off.insert(2);
    assert!(stage.write(1, 777));
    stage.boot(3, Durable::wiped(), 1);
    stage.take(3, Input::Message { from: node(from), message: copy });
    stage.letters.clear();
    stage.cut_off = [1].into();
    stage.ticks(100);
    assert_eq!(stage.applied(3), 0);
    assert!(!stage.leaders().contains(&2), "two that forgot must not decide");
    stage.cut_off.clear();
    stage.ticks(100);
    let leader = stage.leaders()[0];
    assert_eq!(stage.read(leader), Ok(Some(777)));
}

#[test]
fn rp_10_a_leader_of_old_does_not_let_a_lost_disk_in() {
    let mut stage = Stage::new(4, &[1, 2, 3]);
    stage.elect(1);
    assert_eq!(stage.change(1, &[1, 2, 3], &[4]), None);
    let paused = stage.actors.remove(&1).unwrap();
    stage.ticks(60);
    let leader = stage.leaders()[0];
    let other = 5 - leader;
    assert_eq!(stage.change(leader, &[1, 2, 3, 4], &[]), None);
    assert_eq!(stage.change(leader, &[2, 3, 4], &[]), None);
    stage.cut_off.insert(other);
    assert!(stage.write(leader, 777));
    stage.boot(4, Durable::wiped(), 1);
    stage.cut_off.insert(leader);
    stage.actors.insert(1, paused);
    stage.write(1, 9);
    stage.ticks(20);
    stage.cut_off = [leader].into();
    stage.ticks(100);
    assert_eq!(stage.applied(4), 0);
    assert!(!stage.leaders().contains(&other), "two that forgot must not decide");
}

#[test]
fn rp_10_a_lost_disk_is_let_in_as_a_learner_under_its_new_name() {
    let mut stage = Stage::new(3, &[1, 2, 3]);
    stage.elect(1);
    (0..5).for_each(|value| assert!(stage.write(1, value)));
    stage.boot(3, Durable::wiped(), 1);
    stage.ticks(20);
    assert_eq!(stage.applied(3), 0);
    assert_eq!(stage.change(1, &[1, 2], &[]), None);
    assert_eq!(stage.change(1, &[1, 2], &[3]), None);
    stage.ticks(20);
    assert_eq!(stage.read(3), Ok(Some(4)));
    assert_eq!(stage.change(1, &[1, 2, 3], &[]), None);
}

#[test]
fn rp_9_a_learner_that_lost_its_disk_is_not_made_a_voter() {
    let mut stage = Stage::new(2, &[1]);
    stage.elect(1);
    assert_eq!(stage.change(1, &[1], &[2]), None);
    stage.boot(2, Durable::wiped(), 1);
    stage.ticks(2);
    // Its leader hears that it holds nothing. It is let in again by itself; only a voter would have to be taken out first.
    assert_eq!(stage.change(1, &[1, 2], &[]), Some(Refusal::LearnerFirst(node(2))));
    stage.ticks(40);
    assert_eq!(stage.change(1, &[1, 2], &[]), None);
    assert!(stage.write(1, 1));
}

#[test]
fn only_voters_stand_for_election() {
    let mut stage = Stage::new(2, &[1]);
    stage.elect(1);
    assert_eq!(stage.change(1, &[1], &[2]), None);
    stage.restart(1, 1);
    stage.ticks(12);
    stage.campaign(2);
    assert!(!stage.leaders().contains(&2), "a learner leads");

    let mut stage = Stage::new(2, &[1, 2]);
    stage.elect(1);
    assert_eq!(stage.change(1, &[1], &[]), None);
    stage.restart(1, 1);
    stage.ticks(12);
    stage.campaign(2);
    assert!(!stage.leaders().contains(&2), "one that was taken out leads");
}

#[test]
fn rp_11_a_full_leader_offers_its_place_until_somebody_takes_it() {
    let mut stage = Stage::new(3, &[1, 2, 3]);
    stage.elect(1);
    stage.loses_offers = true;
    stage.take(1, Input::DiskFull);
    stage.ticks(50);
    assert_eq!(stage.leaders(), [1]);
    stage.loses_offers = false;
    stage.ticks(50);
    assert!(!stage.leaders().contains(&1), "{:?}", stage.leaders());
}

#[test]
fn rp_11_a_full_replica_takes_no_leadership_and_refuses_what_it_cannot_answer() {
    let mut stage = Stage::new(3, &[1, 2, 3]);
    stage.elect(1);
    stage.take(2, Input::DiskFull);
    stage.ask(1, 40, |_| Command::Transfer(node(2)));
    assert_eq!(stage.leaders(), [1]);
    assert_eq!(stage.read(2), Ok(None));
    assert!(stage.write(1, 1));
    assert_eq!(stage.read(2), Err(Some(Refusal::DiskFull)));
    stage.take(2, Input::DiskFree);
    stage.ticks(20);
    assert_eq!(stage.read(2), Ok(Some(1)));
}

/// Who leads two ticks after the leader's process is gone and another stands for election at once.
fn leaders_after_a_kill(reads: Reads, is_told: bool) -> Vec<u32> {
    let settings = Settings { reads, ..Settings::new(members(&[1, 2, 3], &[])) };
    let mut stage = Stage::with(3, settings);
    stage.elect(1);
    stage.ticks(4);
    stage.actors.remove(&1);
    for survivor in [2, 3].into_iter().filter(|_| is_told) {
        stage.take(survivor, Input::Suspect(node(1)));
    }
    stage.campaign(2);
    stage.leaders()
}

#[test]
fn rp_13_who_is_seen_to_be_gone_is_owed_no_vote_but_under_leases() {
    assert_eq!(leaders_after_a_kill(Reads::Quorum, true), [2]);
    assert_eq!(leaders_after_a_kill(Reads::Quorum, false), [0; 0]);
    assert_eq!(leaders_after_a_kill(Reads::Lease, true), [0; 0]);
}

#[test]
fn rp_13_a_leader_that_is_said_to_be_gone_and_is_not_is_followed_again() {
    let mut stage = Stage::new(3, &[1, 2, 3]);
    stage.elect(1);
    stage.take(2, Input::Suspect(node(1)));
    stage.take(1, Input::Suspect(node(1)));
    stage.ticks(6);
    assert_eq!(stage.leaders(), [1]);
    assert!(stage.write(1, 7));
    assert_eq!(stage.read(2), Ok(Some(7)));
}

#[test]
fn rp_5_one_that_was_taken_out_refuses_queries() {
    let mut stage = Stage::new(3, &[1, 2, 3]);
    stage.elect(1);
    assert_eq!(stage.change(1, &[1, 2], &[]), None);
    stage.ticks(5);
    assert_eq!(stage.read(3), Err(Some(Refusal::NotMember)));
}

#[test]
fn who_founded_the_group_is_asked_once() {
    let mut stage = Stage::new(3, &[1, 2, 3]);
    stage.elect(1);
    assert!(stage.write(1, 1));
    stage.cut_off = [1].into();
    stage.settings.founders = members(&[1], &[]);
    stage.restart(1, 1);
    stage.ticks(60);
    assert!(!stage.leaders().contains(&1), "it founded the group anew");
}

#[test]
fn clocks_that_nobody_can_trust_give_no_lease_and_no_endless_work() {
    let settings = Settings { reads: Reads::Lease, drift_ppm: 1_000_000, ..Settings::new(members(&[1], &[])) };
    let mut stage = Stage::with(1, settings);
    stage.elect(1);
    assert!(stage.write(1, 1));
    assert_eq!(stage.read(1), Ok(Some(1)));
}
