//! Protocols drawn at random: whatever they do, every search must see the same as the plain explorer.
//!
//! They make no sense, and that is the point: they enter unasked, leave by themselves, talk to themselves, save and show
//! in any order, and set timers that they cancel. All they keep to is that there are finitely many states: a message
//! makes at most one other, and everything else that a node begins costs fuel.

use crate::checker::engine::common::{check, checker, group_of, reduced, verdict, verdicts};
use crate::checker::engine::compare::agree_within;
use crate::checker::engine::reference::{Bounds, Maker};
use quorate_check::{Counterexample, Effort, Findings, Search, Timing, Verdict};
use quorate_core::mutex::{Command, Event};
use quorate_core::{
    Describe, Durable, Duration, Effect, Effects, Epoch, Fence, Fixed, Group, Incarnation, Input, NodeId, Order,
    Protocol, Span, Time,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Drawn {
    place: Fixed<Place>,
    mood: u8,
    fuel: u8,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    seed: u64,
    saves: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct Word(u8);

impl Describe for Word {
    fn kind(&self) -> &'static str {
        "word"
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct Alarm;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Mood(u8);

impl Durable for Mood {
    type Write = u8;
    fn apply(&mut self, mood: u8) {
        self.0 = mood;
    }
}

/// Chance that follows from a number alone.
struct Dice(u64);

impl Dice {
    fn draw(&mut self, among: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % among
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.draw(times) == 0
    }
}

const MOODS: u64 = 2;
const TICK: Duration = Duration::from_millis(1);

impl Drawn {
    /// The dice that decide what this input does in this mood.
    fn dice(&self, input: u64) -> Dice {
        let Place { me, seed, .. } = &*self.place;
        let mut dice = Dice(*seed);
        for part in [me.index() as u64, u64::from(self.mood), u64::from(self.fuel > 0), input] {
            dice.0 = dice.draw(u64::MAX) ^ part;
        }
        dice
    }

    fn send(&self, dice: &mut Dice, out: &mut Effects<'_, Self>) {
        let Place { group, saves, .. } = &*self.place;
        let message = Word(dice.draw(2) as u8);
        let order = if *saves && dice.once_in(3) { Order::Ahead } else { Order::AfterSaves };
        let to = group.as_slice()[dice.draw(group.len() as u64) as usize];
        out.put(Effect::Send { to, message, order });
    }

    fn tell(&self, dice: &mut Dice, out: &mut Effects<'_, Self>) {
        let counter = dice.draw(3);
        let event = match dice.draw(8) {
            0 => Event::Left,
            1 => Event::Cancelled,
            2 => Event::Denied,
            _ => Event::entered(Fence { epoch: Epoch(dice.draw(2)), counter }),
        };
        let order = if dice.once_in(3) { Order::Ahead } else { Order::AfterSaves };
        out.put(Effect::Emit { event, order });
    }

    /// Sends at most so many messages, and does other things among that.
    fn act(&mut self, mut dice: Dice, sends: u64, out: &mut Effects<'_, Self>) {
        self.mood = dice.draw(MOODS) as u8;
        let mut left = sends;
        for _ in 0..1 + sends {
            match dice.draw(8) {
                0..=2 if left > 0 => {
                    left -= 1;
                    self.send(&mut dice, out);
                }
                3 | 4 => self.tell(&mut dice, out),
                5 if dice.once_in(3) => out.set_timer(Alarm, Span::between(TICK, TICK.times(2))),
                6 if dice.once_in(2) => out.cancel_timer(Alarm),
                7 if self.place.saves && self.fuel > 0 => {
                    self.fuel -= 1;
                    out.save(self.mood);
                }
                _ => {}
            }
        }
    }

    /// Something that a node begins: it sends as long as there is fuel.
    fn begin(&mut self, input: u64, out: &mut Effects<'_, Self>) {
        let (dice, fuel) = (self.dice(input), self.fuel);
        self.fuel = fuel.saturating_sub(1);
        self.act(dice, u64::from(fuel.min(2)), out);
    }
}

impl Protocol for Drawn {
    type Command = Command;
    type Message = Word;
    type Timer = Alarm;
    type Event = Event;
    type Durable = Mood;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                self.mood = durable.0;
                let mut dice = self.dice(0);
                // Nobody is told anything before somebody has asked for anything.
                if incarnation != Incarnation::FIRST {
                    self.act(dice, 1, out);
                } else if dice.once_in(4) {
                    self.send(&mut dice, out);
                }
            }
            Input::Command(Command::Release) => {
                // At once: a user who is not told that it left would ask to leave again and again.
                out.emit_ahead(Event::Left);
                self.begin(1, out);
            }
            Input::Command(Command::Cancel) => {
                out.emit_ahead(Event::Cancelled);
                self.begin(2, out);
            }
            Input::Command(Command::Acquire | Command::Share) => self.begin(3, out),
            Input::Command(Command::Try) => self.begin(4, out),
            Input::Message { from, message } => {
                let dice = self.dice(16 + 16 * from.index() as u64 + u64::from(message.0));
                self.act(dice, 1, out);
            }
            Input::Timer(Alarm) => {
                let dice = self.dice(5);
                self.act(dice, 1, out);
            }
            Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

fn draw(seed: u64) -> (Maker, Bounds) {
    let mut dice = Dice(seed);
    let nodes = 2 + dice.draw(2) as usize;
    let (saves, fuel) = (dice.once_in(4), 1 + u8::from(dice.once_in(4)));
    let make = group_of(nodes, move |me, group: Group| {
        let place = Fixed::new(Place { me, group, seed, saves });
        Drawn { place, mood: 0, fuel }
    });
    let mut bounds = Bounds::new(nodes, 1 + u8::from(dice.once_in(4)));
    let users = &mut bounds.users;
    (users.tries, users.cancels) = (dice.once_in(3), dice.once_in(3));
    (users.order, users.fences) = (dice.once_in(2), dice.once_in(2));
    let setup = &mut bounds.setup;
    setup.fifo = dice.once_in(3);
    setup.hasty_timers = u8::from(dice.once_in(4));
    if dice.once_in(3) {
        setup.losses = dice.draw(2) as u8;
        setup.duplicates = dice.draw(2) as u8;
        setup.crashes = dice.draw(2) as u8;
        setup.restarts = dice.draw(2) as u8;
    }
    if dice.once_in(8) {
        let drift_ppm = if dice.once_in(2) { 0 } else { 1_000 };
        let delay = dice.once_in(2).then(|| drawn_delay(&mut dice));
        setup.timing = Some(Timing { drift_ppm, until: Time::ZERO + TICK.times(4), delay });
    }
    (make, bounds)
}

/// How long messages take: sometimes no time at all, sometimes exactly so long, sometimes longer than timers.
fn drawn_delay(dice: &mut Dice) -> Span {
    const HALF: Duration = Duration::from_micros(500);
    let halves = |dice: &mut Dice| HALF.times(dice.draw(6));
    Span::between(halves(dice), halves(dice))
}

/// Each verdict, and how long its counterexample is.
fn lengths(findings: &Findings) -> Vec<(&'static str, Option<bool>, Option<usize>)> {
    let length = |verdict: &Verdict| verdict.counterexample.as_ref().map(Counterexample::len);
    findings.verdicts.iter().map(|verdict| (verdict.name, verdict.holds, length(verdict))).collect()
}

#[derive(Debug, Default)]
struct Tally {
    drawn: usize,
    two_inside: usize,
    deadlocks: usize,
    ends: usize,
    unordered: usize,
    circles: usize,
    starved_on_a_circle: usize,
    left_out: u64,
}

/// Searches a drawn group in every way.
fn hold(seed: u64, most: usize, tally: &mut Tally) {
    let (make, bounds) = draw(seed);
    let Some((seen, full)) = agree_within(&make, &bounds, most) else { return };
    let mut checker = checker(&make, &bounds);
    let short = checker.run(&reduced(), &mut |_, _| true);
    let what = format!("seed {seed}, {bounds:?}");
    assert_eq!(lengths(&short), lengths(&full), "{what}");
    for verdict in &short.verdicts {
        if let Some(example) = &verdict.counterexample {
            checker.play(example, ()).unwrap_or_else(|error| panic!("{what}, {}: {error}", verdict.name));
        }
    }
    let together = check(&make, &bounds, &Effort { threads: 3, ..reduced() });
    assert_eq!(lengths(&together), lengths(&short), "{what}");
    let figures = |findings: &Findings| (findings.states.states, findings.states.generated, findings.states.depth);
    assert_eq!(figures(&together), figures(&short), "{what}");
    for (threads, reduce) in [(1, true), (2, false)] {
        let deep = checker.run(&Effort { search: Search::Depth, threads, reduce, ..reduced() }, &mut |_, _| true);
        for ((name, holds), (_, expected)) in verdicts(&deep).into_iter().zip(verdicts(&full)) {
            assert!(holds == expected || (name == "served" && holds.is_none()), "{what}, depth first: {name}");
        }
    }
    tally.drawn += 1;
    tally.two_inside += usize::from(seen.two_inside.is_some());
    tally.deadlocks += usize::from(seen.deadlock.is_some());
    tally.ends += usize::from(seen.end.is_some());
    tally.unordered += usize::from(seen.unordered.is_some());
    tally.circles += usize::from(full.fair.is_some());
    tally.starved_on_a_circle += usize::from(seen.end.is_none() && verdict(&full, "served").holds == Some(false));
    tally.left_out += full.states.states - short.states.states;
}

/// Searches the groups of so many seeds, which must show each kind of thing so often at least.
fn every_search_sees_what_there_is_to_see(seeds: u64, least: usize) {
    const MOST_STATES: usize = 600;
    let mut tally = Tally::default();
    for seed in 1..=seeds {
        hold(seed, MOST_STATES, &mut tally);
    }
    let Tally { drawn, two_inside, deadlocks, ends, unordered, circles, starved_on_a_circle, left_out } = tally;
    let seen = [drawn, two_inside, deadlocks, ends, unordered, circles, starved_on_a_circle];
    assert!(seen.iter().all(|times| *times >= least) && left_out > 500, "the draw must show enough of each: {tally:?}");
}

#[test]
fn every_search_sees_what_there_is_to_see_of_protocols_drawn_at_random() {
    every_search_sees_what_there_is_to_see(300, 1);
}

#[test]
#[ignore = "long: ./check long"]
fn every_search_sees_what_there_is_to_see_of_many_protocols_drawn_at_random() {
    every_search_sees_what_there_is_to_see(500, 3);
}
