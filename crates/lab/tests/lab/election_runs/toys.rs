//! Elections that are wrong on purpose, and one that is not, run with the family's users.

use super::{ms, node};
use quorate_core::election::{Command, Event, Ranking, Ring};
use quorate_core::{Class, Describe, Duration, Effects, Epoch, Group, Input, Never, NodeId, Protocol, Time};
use quorate_journal::settings::{Latency, Script, TimedFault};
use quorate_journal::workload::Ending;
use quorate_lab::election::run::{Campaigns, Measures, Properties, Starters};
use quorate_sim::run::{Limits, run};
use quorate_sim::{Setup, Wire, World};
use serde::Serialize;

/// Whoever starts tells everyone who is to lead, in the next epoch that it knows of.
struct Toy {
    me: NodeId,
    group: Group,
    epoch: u64,
    flaw: Flaw,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// The lowest number leads, or the next one if the starter has not heard of it: there is nothing wrong.
    None,
    Vain,
    /// It keeps the result to itself.
    Mute,
    Backwards,
}

#[derive(Clone, Serialize)]
struct Crown {
    leader: NodeId,
    epoch: u64,
}

impl Describe for Crown {
    fn kind(&self) -> &'static str {
        "crown"
    }
    fn class(&self) -> Class {
        Class::Announcement
    }
}

impl Toy {
    fn crown(&mut self, Crown { leader, epoch }: Crown, out: &mut Effects<'_, Self>) {
        self.epoch = epoch;
        out.emit(Event::elected(leader, Epoch(epoch)));
    }
}

impl Protocol for Toy {
    type Command = Command;
    type Message = Crown;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Campaign) => {
                let epoch = match self.flaw {
                    Flaw::None | Flaw::Mute => 10 * (self.epoch / 10 + 1) + u64::from(self.me.number()),
                    Flaw::Vain => 1,
                    Flaw::Backwards => 100 - self.epoch % 100 - 1,
                };
                out.emit(Event::Began { epoch: Epoch(epoch) });
                let crown = Crown { leader: self.me, epoch };
                if self.flaw == Flaw::None || self.flaw == Flaw::Backwards {
                    out.multicast(&self.group, crown.clone());
                }
                self.crown(crown, out);
            }
            Input::Command(Command::Resign) => {}
            Input::Message { message, .. } => {
                if message.epoch >= self.epoch || self.flaw != Flaw::None {
                    self.crown(message, out);
                }
            }
            Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

struct Told {
    ending: Ending,
    end: Time,
    breaches: Vec<&'static str>,
    leader: Option<NodeId>,
    rounds: u64,
}

fn play(flaw: Flaw, users: Campaigns, faults: &[&str]) -> Told {
    let millisecond = Latency::Fixed(Duration::from_millis(1));
    let wire = Wire { latency: millisecond, loss: Default::default(), duplicate: Default::default(), fifo: false };
    let nothing = Latency::Fixed(Duration::ZERO);
    let setup = Setup { nodes: 4, seed: 1, wire, processing: nothing, sync: nothing };
    let make = move |me| Toy { me, group: Group::of_size(4), epoch: 0, flaw };
    let mut world = World::new(&setup, make, (Measures::new(4), Properties::new(4, true)));
    for fault in faults {
        world.schedule(fault.parse::<TimedFault>().expect("a fault"));
    }
    world.start();
    let mut users = users;
    let second = Duration::from_secs(1);
    let limits = Limits { until: Some(Time::ZERO + second), events: 10_000, settle: second, patience: second };
    let ending = run(&mut world, &mut users, limits);
    let (measures, properties) = world.into_observer();
    let summary = measures.summary(Duration::from_millis(1), "T");
    let verdicts = properties.verdicts();
    let breaches = verdicts.iter().filter(|verdict| verdict.violation.is_some()).map(|verdict| verdict.name);
    Told { ending, end: properties.end(), breaches: breaches.collect(), leader: summary.leader, rounds: summary.rounds }
}

const NOTICE: Duration = Duration::from_millis(7);

fn start(who: Starters) -> Campaigns {
    Campaigns::new(who, Ring::of_size(4), Ranking::default(), NOTICE)
}

#[test]
fn an_election_is_done_when_everyone_knows() {
    for who in [Starters::Lowest, Starters::Highest, Starters::SuccessorOfHighest] {
        let told = play(Flaw::None, start(who.clone()), &[]);
        assert_eq!((told.ending, told.breaches, told.rounds), (Ending::Done, vec![], 1));
        assert_eq!(told.leader, Some(node(if who == Starters::Highest { 4 } else { 1 })));
    }
    let told = play(Flaw::None, start(Starters::All), &[]);
    assert_eq!((told.ending, told.breaches, told.leader), (Ending::Done, vec![], Some(node(4))));
}

#[test]
fn every_flaw_is_found() {
    let told = play(Flaw::Vain, start(Starters::All), &[]);
    assert_eq!((told.ending, told.breaches), (Ending::Stuck, vec!["one-leader-an-epoch", "agreed"]));
    let told = play(Flaw::Mute, start(Starters::Lowest), &[]);
    assert_eq!((told.ending, told.breaches), (Ending::Stuck, vec!["agreed"]));
    let script: Script = "campaign 1 at 0ms\ncampaign 2 at 9ms\ncampaign 1 at 20ms".parse().expect("a script");
    let told = play(Flaw::Backwards, Campaigns::scripted(4, script.commands), &[]);
    assert_eq!((told.ending, told.breaches), (Ending::Done, vec!["epochs-grow"]));
}

#[test]
fn who_is_down_from_the_start_neither_starts_nor_needs_to_know() {
    let told = play(Flaw::None, start(Starters::Highest), &["crash 4"]);
    assert_eq!((told.ending, told.breaches, told.leader), (Ending::Done, vec![], Some(node(3))));
    let told = play(Flaw::None, start("1,4".parse().expect("nodes")), &["crash 4"]);
    assert_eq!((told.breaches, told.leader), (vec![], Some(node(1))));
    let told = play(Flaw::None, start("4".parse().expect("nodes")), &["crash 4"]);
    assert_eq!((told.ending, told.breaches), (Ending::Stuck, vec![]), "nobody is left to start");
}

#[test]
fn users_notice_a_dead_leader_after_a_while_and_start_anew() {
    let users = start(Starters::Highest).not_before(Some(ms(50)));
    let told = play(Flaw::None, users, &["crash 4 at 50ms"]);
    assert_eq!((told.ending, told.breaches, told.leader), (Ending::Done, vec![], Some(node(3))));
    assert_eq!((told.end, told.rounds), (ms(58), 2));
    // The news of its election is still under way when it dies.
    let told = play(Flaw::None, start(Starters::Highest), &["crash 4 at 0.5ms"]);
    assert_eq!((told.ending, told.breaches), (Ending::Done, vec![]));
    assert_ne!(told.leader, Some(node(4)));
}

#[test]
fn a_script_is_followed_to_the_letter() {
    let script: Script = "campaign 2 at 5ms".parse().expect("a script");
    let told = play(Flaw::None, Campaigns::scripted(4, script.commands.clone()), &[]);
    assert_eq!((told.ending, told.breaches, told.leader), (Ending::Done, vec![], Some(node(2))));
    let users = Campaigns::scripted(4, script.commands).not_before(Some(ms(50)));
    let told = play(Flaw::None, users, &["crash 2 at 50ms"]);
    assert_eq!((told.ending, told.breaches), (Ending::Stuck, vec!["agreed"]), "nobody is told to notice");
}

#[test]
fn nobody_is_content_before_the_last_fault_is_over() {
    let users = start(Starters::Lowest).not_before(Some(ms(30)));
    let told = play(Flaw::None, users, &["pause 3 at 10ms for 20ms"]);
    assert_eq!((told.ending, told.end), (Ending::Done, ms(30)));
}
