//! Random protocols: whatever they do, every search must agree with the reference explorer.
//!
//! They are meaningless on purpose: they enter without a request, leave without a command, send to
//! themselves, save and emit in any order, and set timers that they cancel. Their state space is
//! finite: a message, a timer or a restart causes at most one message, and commands and saves
//! consume fuel.

use crate::checker::engine::common::{check, group_of, new_checker, reduced_search, verdict, verdicts};
use crate::checker::engine::compare::assert_agreement_within;
use crate::checker::engine::reference::{Bounds, NodeFactory};
use quorate_check::{Counterexample, Effort, Findings, Search, Timing, Verdict};
use quorate_core::mutex::{Command, Event};
use quorate_core::{
    Describe, Durable, Duration, Effect, Effects, Epoch, Fence, Fixed, Group, Incarnation, Input, NodeId, Order,
    Protocol, Span, Time,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RandomProtocol {
    parameters: Fixed<Parameters>,
    /// Chooses, with the seed, how the node reacts.
    mode: u8,
    /// Each command and each save consumes one unit. Without fuel, the node saves nothing, and
    /// sends nothing when it receives a command.
    fuel: u8,
}

#[derive(Debug)]
struct Parameters {
    me: NodeId,
    group: Group,
    seed: u64,
    has_saves: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct Message(u8);

impl Describe for Message {
    fn kind(&self) -> &'static str {
        "message"
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct Alarm;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct SavedMode(u8);

impl Durable for SavedMode {
    type Write = u8;
    fn apply(&mut self, mode: u8) {
        self.0 = mode;
    }
}

/// A random generator that depends only on its seed.
struct TestRng(u64);

impl TestRng {
    fn draw(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.draw(times) == 0
    }
}

const MODES: u64 = 2;
const TICK: Duration = Duration::from_millis(1);

impl RandomProtocol {
    /// Returns the generator that decides the effects of an input, which is given by its number.
    fn rng(&self, input: u64) -> TestRng {
        let Parameters { me, seed, .. } = &*self.parameters;
        let mut rng = TestRng(*seed);
        for part in [me.index() as u64, u64::from(self.mode), u64::from(self.fuel > 0), input] {
            rng.0 = rng.draw(u64::MAX) ^ part;
        }
        rng
    }

    fn send(&self, rng: &mut TestRng, out: &mut Effects<'_, Self>) {
        let Parameters { group, has_saves, .. } = &*self.parameters;
        let message = Message(rng.draw(2) as u8);
        let order = if *has_saves && rng.once_in(3) { Order::Ahead } else { Order::AfterSaves };
        let to = group.as_slice()[rng.draw(group.len() as u64) as usize];
        out.put(Effect::Send { to, message, order });
    }

    fn emit(&self, rng: &mut TestRng, out: &mut Effects<'_, Self>) {
        let counter = rng.draw(3);
        let event = match rng.draw(8) {
            0 => Event::Left,
            1 => Event::Cancelled,
            2 => Event::Denied,
            _ => Event::entered(Fence { epoch: Epoch(rng.draw(2)), counter }),
        };
        let order = if rng.once_in(3) { Order::Ahead } else { Order::AfterSaves };
        out.put(Effect::Emit { event, order });
    }

    /// Enters a random mode, and sends at most `max_sends` messages, with other random effects in
    /// between.
    fn perform_effects(&mut self, mut rng: TestRng, max_sends: u64, out: &mut Effects<'_, Self>) {
        self.mode = rng.draw(MODES) as u8;
        let mut remaining_sends = max_sends;
        for _ in 0..1 + max_sends {
            match rng.draw(8) {
                0..=2 if remaining_sends > 0 => {
                    remaining_sends -= 1;
                    self.send(&mut rng, out);
                }
                3 | 4 => self.emit(&mut rng, out),
                5 if rng.once_in(3) => out.set_timer(Alarm, Span::between(TICK, TICK.times(2))),
                6 if rng.once_in(2) => out.cancel_timer(Alarm),
                7 if self.parameters.has_saves && self.fuel > 0 => {
                    self.fuel -= 1;
                    out.save(self.mode);
                }
                _ => {}
            }
        }
    }

    /// Reacts to a command; the node may send messages if it has fuel.
    fn handle_command(&mut self, input: u64, out: &mut Effects<'_, Self>) {
        let (rng, fuel) = (self.rng(input), self.fuel);
        self.fuel = fuel.saturating_sub(1);
        self.perform_effects(rng, u64::from(fuel.min(2)), out);
    }
}

impl Protocol for RandomProtocol {
    type Command = Command;
    type Message = Message;
    type Timer = Alarm;
    type Event = Event;
    type Durable = SavedMode;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                self.mode = durable.0;
                let mut rng = self.rng(0);
                // No explorer judges the events of initial steps, so a first start emits none.
                if incarnation != Incarnation::FIRST {
                    self.perform_effects(rng, 1, out);
                } else if rng.once_in(4) {
                    self.send(&mut rng, out);
                }
            }
            Input::Command(Command::Release) => {
                // Emitted ahead of saves: a client that does not learn of its release would repeat
                // it forever.
                out.emit_ahead(Event::Left);
                self.handle_command(1, out);
            }
            Input::Command(Command::Cancel) => {
                out.emit_ahead(Event::Cancelled);
                self.handle_command(2, out);
            }
            Input::Command(Command::Acquire | Command::Share) => self.handle_command(3, out),
            Input::Command(Command::Try) => self.handle_command(4, out),
            Input::Message { from, message } => {
                let rng = self.rng(16 + 16 * from.index() as u64 + u64::from(message.0));
                self.perform_effects(rng, 1, out);
            }
            Input::Timer(Alarm) => {
                let rng = self.rng(5);
                self.perform_effects(rng, 1, out);
            }
            Input::Saved(_)
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

fn random_group(seed: u64) -> (NodeFactory, Bounds) {
    let mut rng = TestRng(seed);
    let nodes = 2 + rng.draw(2) as usize;
    let (saves, fuel) = (rng.once_in(4), 1 + u8::from(rng.once_in(4)));
    let factory = group_of(nodes, move |me, group: Group| {
        let parameters = Fixed::new(Parameters { me, group, seed, has_saves: saves });
        RandomProtocol { parameters, mode: 0, fuel }
    });
    let mut bounds = Bounds::new(nodes, 1 + u8::from(rng.once_in(4)));
    let clients = &mut bounds.clients;
    (clients.allows_tries, clients.allows_cancels) = (rng.once_in(3), rng.once_in(3));
    (clients.checks_order, clients.checks_fences) = (rng.once_in(2), rng.once_in(2));
    let setup = &mut bounds.setup;
    setup.has_fifo_links = rng.once_in(3);
    setup.early_timers = u8::from(rng.once_in(4));
    if rng.once_in(3) {
        setup.losses = rng.draw(2) as u8;
        setup.duplicates = rng.draw(2) as u8;
        setup.crashes = rng.draw(2) as u8;
        setup.restarts = rng.draw(2) as u8;
    }
    if rng.once_in(8) {
        let drift_ppm = if rng.once_in(2) { 0 } else { 1_000 };
        let delay = rng.once_in(2).then(|| random_delay(&mut rng));
        setup.timing = Some(Timing { drift_ppm, until: Time::ZERO + TICK.times(4), delay });
    }
    (factory, bounds)
}

/// Returns random delay bounds: sometimes zero, sometimes exact, sometimes longer than timers.
fn random_delay(rng: &mut TestRng) -> Span {
    const HALF_TICK: Duration = Duration::from_micros(500);
    let halves = |rng: &mut TestRng| HALF_TICK.times(rng.draw(6));
    Span::between(halves(rng), halves(rng))
}

/// Returns each verdict with the length of its counterexample.
fn lengths(findings: &Findings) -> Vec<(&'static str, Option<bool>, Option<usize>)> {
    let length = |verdict: &Verdict| verdict.counterexample.as_ref().map(Counterexample::len);
    findings.verdicts.iter().map(|verdict| (verdict.name, verdict.holds, length(verdict))).collect()
}

/// Numbers of random groups that show each kind of result, and of states that reduction skipped.
#[derive(Debug, Default)]
struct Tally {
    groups: usize,
    two_holders: usize,
    deadlocks: usize,
    unserved_ends: usize,
    unordered: usize,
    cycles: usize,
    starved_on_a_cycle: usize,
    skipped_states: u64,
}

/// Searches a random group in several ways, unless it has more than `max_states` states.
fn check_seed(seed: u64, max_states: usize, tally: &mut Tally) {
    let (factory, bounds) = random_group(seed);
    let Some((reference, full)) = assert_agreement_within(&factory, &bounds, max_states) else { return };
    let mut checker = new_checker(&factory, &bounds);
    let reduced = checker.run(&reduced_search(), &mut |_, _| true);
    let case = format!("seed {seed}, {bounds:?}");
    assert_eq!(lengths(&reduced), lengths(&full), "{case}");
    for verdict in &reduced.verdicts {
        if let Some(example) = &verdict.counterexample {
            checker.replay(example, ()).unwrap_or_else(|error| panic!("{case}, {}: {error}", verdict.name));
        }
    }
    let with_three_threads = check(&factory, &bounds, &Effort { threads: 3, ..reduced_search() });
    assert_eq!(lengths(&with_three_threads), lengths(&reduced), "{case}");
    let sizes =
        |findings: &Findings| (findings.main_pass.states, findings.main_pass.generated, findings.main_pass.depth);
    assert_eq!(sizes(&with_three_threads), sizes(&reduced), "{case}");
    for (threads, reduce) in [(1, true), (2, false)] {
        let depth_first =
            checker.run(&Effort { search: Search::Depth, threads, reduce, ..reduced_search() }, &mut |_, _| true);
        // Depth-first search leaves `served` undecided if runs may contain cycles.
        for ((name, holds), (_, expected)) in verdicts(&depth_first).into_iter().zip(verdicts(&full)) {
            assert!(holds == expected || (name == "served" && holds.is_none()), "{case}, depth first: {name}");
        }
    }
    tally.groups += 1;
    tally.two_holders += usize::from(reference.two_holders.is_some());
    tally.deadlocks += usize::from(reference.deadlock.is_some());
    tally.unserved_ends += usize::from(reference.unserved_end.is_some());
    tally.unordered += usize::from(reference.unordered.is_some());
    tally.cycles += usize::from(full.fair_pass.is_some());
    tally.starved_on_a_cycle +=
        usize::from(reference.unserved_end.is_none() && verdict(&full, "served").holds == Some(false));
    tally.skipped_states += full.main_pass.states - reduced.main_pass.states;
}

/// Searches the groups of this many seeds, which must show each kind of result at least `min_count`
/// times.
fn assert_every_search_agrees(seeds: u64, min_count: usize) {
    const MAX_STATES: usize = 600;
    let mut tally = Tally::default();
    for seed in 1..=seeds {
        check_seed(seed, MAX_STATES, &mut tally);
    }
    let Tally { groups, two_holders, deadlocks, unserved_ends, unordered, cycles, starved_on_a_cycle, skipped_states } =
        tally;
    let counts = [groups, two_holders, deadlocks, unserved_ends, unordered, cycles, starved_on_a_cycle];
    assert!(
        counts.iter().all(|count| *count >= min_count) && skipped_states > 500,
        "the random groups must show enough of each result: {tally:?}"
    );
}

#[test]
fn every_search_agrees_on_random_protocols() {
    assert_every_search_agrees(300, 1);
}

#[test]
#[ignore = "long: ./check long"]
fn every_search_agrees_on_many_random_protocols() {
    assert_every_search_agrees(500, 3);
}
