//! Faulty toy elections and a correct one, run with the family's clients.

use super::{SEVERAL_STARTERS, ms, node};
use quorate_core::election::{Command, Event, Ranking, Ring};
use quorate_core::{Class, Describe, Duration, Effects, Epoch, Group, Input, Never, NodeId, Protocol, Time};
use quorate_journal::settings::{Latency, Script, TimedFault};
use quorate_journal::workload::Ending;
use quorate_lab::election::run::{Campaigns, Measures, Properties, Starters};
use quorate_sim::run::{Limits, run};
use quorate_sim::{LinkDefaults, Setup, World};
use serde::Serialize;

const NODES: usize = 4;

/// Every starter elects itself and announces that to all nodes.
struct ToyElection {
    me: NodeId,
    group: Group,
    epoch: u64,
    flaw: Flaw,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// Each starter leads in a new epoch that only it uses; this variant is correct.
    None,
    /// Every starter leads in epoch 1, and does not announce the result.
    SharedEpoch,
    /// The starter does not announce the result.
    NoAnnouncement,
    DecreasingEpochs,
}

#[derive(Clone, Serialize)]
struct Announcement {
    leader: NodeId,
    epoch: u64,
}

impl Describe for Announcement {
    fn kind(&self) -> &'static str {
        "announcement"
    }
    fn class(&self) -> Class {
        Class::Announcement
    }
}

impl ToyElection {
    fn learn(&mut self, Announcement { leader, epoch }: Announcement, out: &mut Effects<'_, Self>) {
        self.epoch = epoch;
        out.emit(Event::elected(leader, Epoch(epoch)));
    }
}

impl Protocol for ToyElection {
    type Command = Command;
    type Message = Announcement;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Campaign) => {
                let epoch = match self.flaw {
                    Flaw::None | Flaw::NoAnnouncement => 10 * (self.epoch / 10 + 1) + u64::from(self.me.number()),
                    Flaw::SharedEpoch => 1,
                    Flaw::DecreasingEpochs => 100 - self.epoch % 100 - 1,
                };
                out.emit(Event::Began { epoch: Epoch(epoch) });
                let announcement = Announcement { leader: self.me, epoch };
                if self.flaw == Flaw::None || self.flaw == Flaw::DecreasingEpochs {
                    out.multicast(&self.group, announcement.clone());
                }
                self.learn(announcement, out);
            }
            Input::Command(Command::Resign) => {}
            Input::Message { message, .. } => {
                if message.epoch >= self.epoch || self.flaw != Flaw::None {
                    self.learn(message, out);
                }
            }
            Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

struct Outcome {
    ending: Ending,
    end: Time,
    violations: Vec<&'static str>,
    leader: Option<NodeId>,
    rounds: u64,
}

fn simulate(flaw: Flaw, clients: Campaigns, faults: &[&str]) -> Outcome {
    let one_millisecond = Latency::Fixed(Duration::from_millis(1));
    let link_defaults = LinkDefaults {
        latency: one_millisecond,
        loss: Default::default(),
        duplicate: Default::default(),
        is_fifo: false,
    };
    let instant = Latency::Fixed(Duration::ZERO);
    let setup = Setup { nodes: NODES, seed: 1, link_defaults, processing: instant, sync: instant };
    let make_node = move |me| ToyElection { me, group: Group::of_size(NODES), epoch: 0, flaw };
    let mut world = World::new(&setup, make_node, (Measures::new(NODES), Properties::new(NODES, SEVERAL_STARTERS)));
    for fault in faults {
        world.schedule_fault(fault.parse::<TimedFault>().expect("a fault"));
    }
    world.start();
    let mut clients = clients;
    let second = Duration::from_secs(1);
    let limits =
        Limits { max_time: Some(Time::ZERO + second), max_inputs: 10_000, max_settling: second, max_silence: second };
    let ending = run(&mut world, &mut clients, limits);
    let (measures, properties) = world.into_observer();
    let summary = measures.summary(Duration::from_millis(1), "T");
    let verdicts = properties.verdicts();
    let violations = verdicts.iter().filter(|verdict| verdict.violation.is_some()).map(|verdict| verdict.name);
    Outcome {
        ending,
        end: properties.end(),
        violations: violations.collect(),
        leader: summary.leader,
        rounds: summary.rounds,
    }
}

/// The time from a crash until clients notice it.
const NOTICE_DELAY: Duration = Duration::from_millis(7);

fn campaigns_of(starters: Starters) -> Campaigns {
    Campaigns::new(starters, Ring::of_size(NODES), Ranking::default(), NOTICE_DELAY)
}

#[test]
fn an_election_is_done_when_every_node_knows() {
    for starters in [Starters::Lowest, Starters::Highest, Starters::SuccessorOfHighest] {
        let outcome = simulate(Flaw::None, campaigns_of(starters.clone()), &[]);
        assert_eq!((outcome.ending, outcome.violations, outcome.rounds), (Ending::Done, vec![], 1));
        assert_eq!(outcome.leader, Some(node(if starters == Starters::Highest { 4 } else { 1 })));
    }
    let outcome = simulate(Flaw::None, campaigns_of(Starters::All), &[]);
    assert_eq!((outcome.ending, outcome.violations, outcome.leader), (Ending::Done, vec![], Some(node(4))));
}

#[test]
fn every_flaw_is_found() {
    let outcome = simulate(Flaw::SharedEpoch, campaigns_of(Starters::All), &[]);
    assert_eq!((outcome.ending, outcome.violations), (Ending::Stuck, vec!["one-leader-per-epoch", "agreed"]));
    let outcome = simulate(Flaw::NoAnnouncement, campaigns_of(Starters::Lowest), &[]);
    assert_eq!((outcome.ending, outcome.violations), (Ending::Stuck, vec!["agreed"]));
    let script: Script = "campaign 1 at 0ms\ncampaign 2 at 9ms\ncampaign 1 at 20ms".parse().expect("a script");
    let outcome = simulate(Flaw::DecreasingEpochs, Campaigns::scripted(NODES, script.commands), &[]);
    assert_eq!((outcome.ending, outcome.violations), (Ending::Done, vec!["epochs-grow"]));
}

#[test]
fn a_node_that_is_down_at_the_start_neither_starts_nor_counts() {
    let outcome = simulate(Flaw::None, campaigns_of(Starters::Highest), &["crash 4"]);
    assert_eq!((outcome.ending, outcome.violations, outcome.leader), (Ending::Done, vec![], Some(node(3))));
    let outcome = simulate(Flaw::None, campaigns_of("1,4".parse().expect("nodes")), &["crash 4"]);
    assert_eq!((outcome.violations, outcome.leader), (vec![], Some(node(1))));
    let outcome = simulate(Flaw::None, campaigns_of("4".parse().expect("nodes")), &["crash 4"]);
    assert_eq!((outcome.ending, outcome.violations), (Ending::Stuck, vec![]), "no starter is left");
}

#[test]
fn clients_notice_a_crashed_leader_after_a_delay_and_start_again() {
    let clients = campaigns_of(Starters::Highest).ending_no_earlier_than(Some(ms(50)));
    let outcome = simulate(Flaw::None, clients, &["crash 4 at 50ms"]);
    assert_eq!((outcome.ending, outcome.violations, outcome.leader), (Ending::Done, vec![], Some(node(3))));
    // The crash at 50 ms, its notice after 7 ms, and the announcement after 1 ms.
    assert_eq!((outcome.end, outcome.rounds), (ms(58), 2));
    // The announcement of node 4 is in flight when node 4 crashes.
    let outcome = simulate(Flaw::None, campaigns_of(Starters::Highest), &["crash 4 at 0.5ms"]);
    assert_eq!((outcome.ending, outcome.violations), (Ending::Done, vec![]));
    assert_ne!(outcome.leader, Some(node(4)));
}

#[test]
fn a_script_is_followed_exactly() {
    let script: Script = "campaign 2 at 5ms".parse().expect("a script");
    let outcome = simulate(Flaw::None, Campaigns::scripted(NODES, script.commands.clone()), &[]);
    assert_eq!((outcome.ending, outcome.violations, outcome.leader), (Ending::Done, vec![], Some(node(2))));
    let clients = Campaigns::scripted(NODES, script.commands).ending_no_earlier_than(Some(ms(50)));
    let outcome = simulate(Flaw::None, clients, &["crash 2 at 50ms"]);
    assert_eq!((outcome.ending, outcome.violations), (Ending::Stuck, vec!["agreed"]), "no scripted client notices");
}

#[test]
fn a_run_is_not_done_before_the_last_fault_ends() {
    let clients = campaigns_of(Starters::Lowest).ending_no_earlier_than(Some(ms(30)));
    let outcome = simulate(Flaw::None, clients, &["pause 3 at 10ms for 20ms"]);
    assert_eq!((outcome.ending, outcome.end), (Ending::Done, ms(30)));
}
