//! A group of nodes with disks, timers and a clock, for tests of elections: a script goes in, a readable trace comes out.
//!
//! ```text
//! 1 campaign           node 1 is asked to start; likewise resign
//! 1 > 2                the oldest message in flight from 1 to 2 arrives
//! 1 > 2 last           the newest one arrives before all others
//! 1 > 2 as 3           the oldest one arrives, but in the name of 3
//! again 1 > 2          a copy of the oldest one arrives, and the original stays in flight
//! lose 1 > 2           the oldest one is lost
//! rest                 every message in flight arrives, oldest first, until none is left
//! 1 fires              the timer that node 1 set last fires
//! 1 crashes            node 1 is down, and what reaches it is lost
//! 1 boots              node 1 starts again with what it saved
//! 1 is wiped           node 1 starts again without its disk
//! 1 suspects 2         the failure detector of node 1 reports that node 2 has crashed; likewise trusts
//! after 3ms            time passes, and no timer fires
//! wait 3ms             time passes, and timers fire when they are due
//! ```
//!
//! A line of the trace begins with the time, once time has passed.

use super::{COMMANDS, Command, Event, Plan};
use crate::bounds::Bounds;
use crate::describe::Describe;
use crate::effects::{Effect, Effects, Note, Sink};
use crate::election::majority_lease::Ballot;
use crate::group::Epoch;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::testing::steps;
use crate::time::{Duration, Time};
use core::fmt::Debug;
use expect_test::Expect;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Tests as a table: a name that begins with the rule's id, a script, and the trace that the script must give. Steps before ` | ` set the
/// scene and are not in the trace. The top has the usual constructor and plan; `in` replaces the plan in one test.
macro_rules! rules {
    (@own $usual:expr) => { $usual };
    (@own $usual:expr, $own:expr) => { $own };
    (
        $make:expr, $plan:expr;
        $($(#[$meta:meta])* $name:ident($(in $own:expr,)? $script:literal, $trace:expr);)*
    ) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            use $crate::election::drill::{check, rules};
            check(rules!(@own $plan $(, $own)?), $make, $script, &$trace);
        }
    )*};
}
pub(crate) use rules;

/// A group in which a message takes one millisecond.
pub(crate) fn plan(nodes: usize) -> Plan {
    Plan::new(nodes, Bounds { message: Duration::from_millis(1), processing: Duration::ZERO })
}

/// Plays a script and compares the trace of what follows the bar, without the steps that did nothing.
pub(crate) fn check<P: Elects>(plan: Plan, make: fn(NodeId, &Plan) -> P, script: &str, expected: &Expect) {
    let trace = drill(plan, make, script);
    let events: String = trace.split_inclusive('\n').filter(|line| !line.ends_with(": nothing\n")).collect();
    expected.assert_eq(if events.is_empty() { "nothing\n" } else { &events });
}

/// Plays a script. Returns the trace of what follows the bar.
pub(crate) fn drill<P: Elects>(plan: Plan, make: fn(NodeId, &Plan) -> P, script: &str) -> String {
    let (scene, shown) = script.split_once(" | ").unwrap_or(("", script));
    let up: Vec<_> = plan.group.iter().filter(|me| !plan.absent.contains(*me)).collect();
    let seats = plan.group.iter().map(|me| Seat::new(make(me, &plan), up.contains(&me))).collect();
    let (in_flight, timers) = (Vec::new(), Vec::new());
    let mut drill = Drill { plan, make, seats, in_flight, timers, now: Time::ZERO, trace: String::new() };
    up.into_iter().for_each(|me| drill.boot(me));
    steps(scene).for_each(|step| drill.play(step));
    drill.trace.clear();
    steps(shown).for_each(|step| drill.play(step));
    drill.trace
}

/// An election whose effects a trace can show.
pub(crate) trait Elects:
    Protocol<Command = Command, Event = Event, Durable: Clone + Durable<Write: Written>, Timer: Debug, Message: Describe>
{
}

impl<P> Elects for P where
    P: Protocol<
            Command = Command,
            Event = Event,
            Durable: Clone + Durable<Write: Written>,
            Timer: Debug,
            Message: Describe,
        >
{
}

/// A write to the disk, as a trace shows it.
pub(crate) trait Written {
    fn written(&self) -> String;
}

impl Written for Epoch {
    fn written(&self) -> String {
        "saves".into()
    }
}

impl Written for Ballot {
    fn written(&self) -> String {
        format!("saves a vote for {} in term {}", self.vote, self.term)
    }
}

struct Drill<P: Protocol> {
    plan: Plan,
    make: fn(NodeId, &Plan) -> P,
    seats: Vec<Seat<P>>,
    in_flight: Vec<(NodeId, NodeId, P::Message)>,
    timers: Vec<(Time, NodeId, P::Timer)>,
    now: Time,
    trace: String,
}

struct Seat<P: Protocol> {
    node: P,
    is_up: bool,
    next_life: Incarnation,
    durable: P::Durable,
}

impl<P: Protocol> Seat<P> {
    /// One that is down from the start is in a later life when it boots.
    fn new(node: P, boots: bool) -> Self {
        let next_life = if boots { Incarnation::FIRST } else { Incarnation::FIRST.next() };
        Self { node, is_up: false, next_life, durable: P::Durable::default() }
    }
}

struct Recorder<P: Protocol> {
    effects: Vec<Effect<P>>,
    said: Vec<String>,
}

impl<P: Elects> Sink<P> for Recorder<P> {
    fn effect(&mut self, effect: Effect<P>) {
        match &effect {
            Effect::Send { to, message, .. } => self.said.push(format!("{} → {to}", message.kind())),
            Effect::Multicast { to, message, .. } => self.said.push(format!("{} → {to}", message.kind())),
            Effect::Emit { event, .. } => self.said.push(event.to_string()),
            Effect::SetTimer { timer, span } => self.said.push(format!("{timer:?} in {span}")),
            Effect::Save(write) => self.said.push(write.written()),
            Effect::CancelTimer(_) => {}
        }
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note {
            self.said.push(format!("{rule} {text}"));
        }
    }
}

impl<P: Elects> Drill<P> {
    fn play(&mut self, step: &str) {
        let words: Vec<_> = step.split_whitespace().collect();
        match words[..] {
            ["rest"] => {
                while !self.in_flight.is_empty() {
                    self.deliver(0);
                }
            }
            ["after", length] => self.now += milliseconds(length),
            ["wait", length] => self.wait(milliseconds(length)),
            ["lose", from, ">", to] => {
                self.in_flight.remove(self.places(from, to)[0]);
            }
            ["again", from, ">", to] => {
                let copy = self.in_flight[self.places(from, to)[0]].clone();
                self.in_flight.insert(0, copy);
                self.deliver(0);
            }
            [from, ">", to] => self.deliver(self.places(from, to)[0]),
            [from, ">", to, "last"] => self.deliver(*self.places(from, to).last().expect("a message")),
            [from, ">", to, "as", impostor] => {
                let place = self.places(from, to)[0];
                self.in_flight[place].0 = number(impostor);
                self.deliver(place);
            }
            [node, "fires"] => {
                let last = self.timers.iter().rposition(|(_, owner, _)| *owner == number(node));
                self.fire(last.expect("a timer that is set"));
            }
            [node, "crashes"] => self.crash(number(node)),
            [node, "boots"] => self.boot(number(node)),
            [node, "is", "wiped"] => {
                self.seats[number(node).index()].durable = P::Durable::wiped();
                self.boot(number(node));
            }
            [node, "suspects", other] => self.step(number(node), step, Input::Suspect(number(other))),
            [node, "trusts", other] => self.step(number(node), step, Input::Trust(number(other))),
            [node, command] => {
                let command = COMMANDS.into_iter().find(|known| known.name() == command).expect("a command");
                self.step(number(node), step, Input::Command(command));
            }
            _ => panic!("the script says '{step}', which is not in its language"),
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.seats[node.index()].is_up = false;
        self.timers.retain(|(_, owner, _)| *owner != node);
    }

    fn boot(&mut self, me: NodeId) {
        self.crash(me);
        let seat = &mut self.seats[me.index()];
        let start = Input::Start { durable: seat.durable.clone(), incarnation: seat.next_life };
        (seat.node, seat.is_up, seat.next_life) = ((self.make)(me, &self.plan), true, seat.next_life.next());
        self.step(me, &format!("{me} boots"), start);
    }

    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        while let Some(next) = (0..self.timers.len()).min_by_key(|place| self.timers[*place].0)
            && self.timers[next].0 <= end
        {
            self.now = self.timers[next].0;
            self.fire(next);
        }
        self.now = end;
    }

    fn fire(&mut self, place: usize) {
        let (_, node, timer) = self.timers.remove(place);
        self.step(node, &format!("{node} {timer:?}"), Input::Timer(timer));
    }

    fn deliver(&mut self, place: usize) {
        let (from, to, message) = self.in_flight.remove(place);
        if self.seats[to.index()].is_up {
            self.step(to, &format!("{to} hears {} from {from}", message.kind()), Input::Message { from, message });
        }
    }

    fn step(&mut self, me: NodeId, cause: &str, input: Input<P>) {
        let mut recorder = Recorder { effects: Vec::new(), said: Vec::new() };
        let seat = &mut self.seats[me.index()];
        seat.node.step(self.now, input, &mut Effects::new(&mut recorder));
        let said = if recorder.said.is_empty() { "nothing".into() } else { recorder.said.join("; ") };
        let time = if self.now == Time::ZERO { String::new() } else { format!("{} ", self.now) };
        self.trace += &format!("{time}{cause}: {said}\n");
        for effect in recorder.effects {
            match effect {
                Effect::Send { to, message, .. } => self.in_flight.push((me, to, message)),
                Effect::Multicast { to, message, .. } => {
                    self.in_flight.extend(to.others(me).map(|to| (me, to, message.clone())));
                }
                Effect::Save(write) => seat.durable.apply(write),
                Effect::SetTimer { timer, span } => {
                    self.timers.retain(|(_, owner, set)| *owner != me || *set != timer);
                    self.timers.push((self.now + span.earliest, me, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|(_, owner, set)| *owner != me || *set != timer),
                Effect::Emit { .. } => {}
            }
        }
    }

    /// The places of the messages in flight from one node to another, oldest first. There is at least one.
    fn places(&self, from: &str, to: &str) -> Vec<usize> {
        let way = (number(from), number(to));
        let between = self.in_flight.iter().enumerate().filter(|(_, (from, to, _))| (*from, *to) == way);
        let places: Vec<_> = between.map(|(place, _)| place).collect();
        assert!(!places.is_empty(), "nothing is in flight from {from} to {to}; so far:\n{}", self.trace);
        places
    }
}

fn milliseconds(length: &str) -> Duration {
    Duration::from_millis(length.strip_suffix("ms").and_then(|number| number.parse().ok()).expect("milliseconds"))
}

fn number(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).expect("a node's number")
}
