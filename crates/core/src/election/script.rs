//! A simulated group of nodes with disks, timers and a clock, for tests of the rules of elections.
//! A script goes in, and a readable trace comes out.
//!
//! ```text
//! 1 campaign           the client of node 1 gives the command `campaign`; likewise `resign`
//! 1 > 2                the oldest message in flight from 1 to 2 arrives
//! 1 > 2 last           the newest message from 1 to 2 arrives before all others
//! 1 > 2 as 3           the oldest message from 1 to 2 arrives with node 3 as its forged sender
//! again 1 > 2          a copy of the oldest message arrives, and the original stays in flight
//! lose 1 > 2           the oldest message is lost
//! rest                 every message in flight arrives, oldest first, until none is left
//! 1 fires              the timer that node 1 set most recently fires
//! 1 crashes            node 1 is down, and messages that reach it are lost
//! 1 boots              node 1 restarts with the state it saved
//! 1 is wiped           node 1 restarts with an empty disk
//! 1 suspects 2         the failure detector of node 1 reports that node 2 has crashed
//! 1 trusts 2           the failure detector of node 1 withdraws that report
//! after 3ms            time passes, and no timer fires
//! wait 3ms             time passes, and timers fire at their times
//! ```
//!
//! A line of the trace begins with the time if the time is not zero. `Votes in 8ms` sets the timer
//! `Votes`. A timer that may fire within a range of times fires at the earliest. `request → 1,2,3`
//! is a multicast: of these nodes, all but the sender receive it. Cancelled timers are not shown.

use super::{COMMANDS, Command, Event, Plan};
use crate::bounds::Bounds;
use crate::describe::Describe;
use crate::effects::{Effect, Effects, Note, Sink};
use crate::election::majority_lease::Ballot;
use crate::group::Epoch;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::testing::script_steps;
use crate::time::{Duration, Time};
use core::fmt::Debug;
use expect_test::Expect;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Defines tests as a table: a name that begins with the rule's id, a script, and the expected
/// trace. Steps before ` | ` prepare the test and are not in the trace. The first line gives the
/// constructor and the default plan; `in` replaces the plan in one test.
macro_rules! rule_tests {
    (@plan $default:expr) => { $default };
    (@plan $default:expr, $own_plan:expr) => { $own_plan };
    (
        $new_node:expr, $plan:expr;
        $($(#[$meta:meta])* $name:ident($(in $own_plan:expr,)? $script:literal, $trace:expr);)*
    ) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            use $crate::election::script::{check, rule_tests};
            check(rule_tests!(@plan $plan $(, $own_plan)?), $new_node, $script, &$trace);
        }
    )*};
}
pub(crate) use rule_tests;

/// Returns a plan for a group in which a message takes at most one millisecond.
pub(crate) fn plan(nodes: usize) -> Plan {
    Plan::new(nodes, Bounds { message: Duration::from_millis(1), processing: Duration::ZERO })
}

/// Runs a script and compares the trace of the steps after ` | `, without the steps that did
/// nothing.
pub(crate) fn check<P: ElectionProtocol>(
    plan: Plan,
    new_node: fn(NodeId, &Plan) -> P,
    script: &str,
    expected: &Expect,
) {
    let trace = run_script(plan, new_node, script);
    let lines_with_effects: String =
        trace.split_inclusive('\n').filter(|line| !line.ends_with(": nothing\n")).collect();
    expected.assert_eq(if lines_with_effects.is_empty() { "nothing\n" } else { &lines_with_effects });
}

/// Runs a script. Returns the trace of the steps after ` | `.
pub(crate) fn run_script<P: ElectionProtocol>(plan: Plan, new_node: fn(NodeId, &Plan) -> P, script: &str) -> String {
    let (preparation, traced_steps) = script.split_once(" | ").unwrap_or(("", script));
    let up_nodes: Vec<_> = plan.group.iter().filter(|me| !plan.absent.contains(*me)).collect();
    let slots = plan.group.iter().map(|me| NodeSlot::new(new_node(me, &plan), up_nodes.contains(&me))).collect();
    let (in_flight, timers) = (Vec::new(), Vec::new());
    let mut run = ScriptRun { plan, new_node, slots, in_flight, timers, now: Time::ZERO, trace: String::new() };
    up_nodes.into_iter().for_each(|me| run.boot(me));
    script_steps(preparation).for_each(|step| run.run_step(step));
    run.trace.clear();
    script_steps(traced_steps).for_each(|step| run.run_step(step));
    run.trace
}

/// Election protocols whose effects a trace can show.
pub(crate) trait ElectionProtocol:
    Protocol<
        Command = Command,
        Event = Event,
        Durable: Clone + Durable<Write: DescribeWrite>,
        Timer: Debug,
        Message: Describe,
    >
{
}

impl<P> ElectionProtocol for P where
    P: Protocol<
            Command = Command,
            Event = Event,
            Durable: Clone + Durable<Write: DescribeWrite>,
            Timer: Debug,
            Message: Describe,
        >
{
}

/// A durable write that a trace can show.
pub(crate) trait DescribeWrite {
    fn describe_write(&self) -> String;
}

impl DescribeWrite for Epoch {
    fn describe_write(&self) -> String {
        "saves".into()
    }
}

impl DescribeWrite for Ballot {
    fn describe_write(&self) -> String {
        format!("saves a vote for {} in term {}", self.vote, self.term)
    }
}

struct ScriptRun<P: Protocol> {
    plan: Plan,
    new_node: fn(NodeId, &Plan) -> P,
    slots: Vec<NodeSlot<P>>,
    /// The messages in flight, oldest first: sender, receiver and message.
    in_flight: Vec<(NodeId, NodeId, P::Message)>,
    /// The timers that are set, in the order in which they were set, each with the time at which it
    /// fires and its node.
    timers: Vec<(Time, NodeId, P::Timer)>,
    now: Time,
    trace: String,
}

struct NodeSlot<P: Protocol> {
    node: P,
    is_up: bool,
    next_incarnation: Incarnation,
    durable: P::Durable,
}

impl<P: Protocol> NodeSlot<P> {
    /// A node that is absent at start-up boots later in its second incarnation: in the first, it
    /// would assume that it starts together with the group.
    fn new(node: P, boots_at_start_up: bool) -> Self {
        let next_incarnation = if boots_at_start_up { Incarnation::FIRST } else { Incarnation::FIRST.next() };
        Self { node, is_up: false, next_incarnation, durable: P::Durable::default() }
    }
}

struct Recorder<P: Protocol> {
    effects: Vec<Effect<P>>,
    /// Effects and notes as the trace shows them.
    descriptions: Vec<String>,
}

impl<P: ElectionProtocol> Sink<P> for Recorder<P> {
    fn effect(&mut self, effect: Effect<P>) {
        match &effect {
            Effect::Send { to, message, .. } => self.descriptions.push(format!("{} → {to}", message.kind())),
            Effect::Multicast { to, message, .. } => self.descriptions.push(format!("{} → {to}", message.kind())),
            Effect::Emit { event, .. } => self.descriptions.push(event.to_string()),
            Effect::SetTimer { timer, span } => self.descriptions.push(format!("{timer:?} in {span}")),
            Effect::Save(write) => self.descriptions.push(write.describe_write()),
            Effect::CancelTimer(_) => {}
        }
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note {
            self.descriptions.push(format!("{rule} {text}"));
        }
    }
}

impl<P: ElectionProtocol> ScriptRun<P> {
    fn run_step(&mut self, step: &str) {
        let words: Vec<_> = step.split_whitespace().collect();
        match words[..] {
            ["rest"] => {
                while !self.in_flight.is_empty() {
                    self.deliver(0);
                }
            }
            ["after", length] => self.now += parse_milliseconds(length),
            ["wait", length] => self.wait(parse_milliseconds(length)),
            ["lose", from, ">", to] => {
                self.in_flight.remove(self.message_indices(from, to)[0]);
            }
            ["again", from, ">", to] => {
                let copy = self.in_flight[self.message_indices(from, to)[0]].clone();
                self.in_flight.insert(0, copy);
                self.deliver(0);
            }
            [from, ">", to] => self.deliver(self.message_indices(from, to)[0]),
            [from, ">", to, "last"] => self.deliver(*self.message_indices(from, to).last().expect("a message")),
            [from, ">", to, "as", impostor] => {
                let index = self.message_indices(from, to)[0];
                self.in_flight[index].0 = parse_node(impostor);
                self.deliver(index);
            }
            [node, "fires"] => {
                let last = self.timers.iter().rposition(|(_, owner, _)| *owner == parse_node(node));
                self.fire_timer(last.expect("a timer that is set"));
            }
            [node, "crashes"] => self.crash(parse_node(node)),
            [node, "boots"] => self.boot(parse_node(node)),
            [node, "is", "wiped"] => {
                self.slots[parse_node(node).index()].durable = P::Durable::wiped();
                self.boot(parse_node(node));
            }
            [node, "suspects", other] => self.step(parse_node(node), step, Input::Suspect(parse_node(other))),
            [node, "trusts", other] => self.step(parse_node(node), step, Input::Trust(parse_node(other))),
            [node, command] => {
                let command = COMMANDS.into_iter().find(|known| known.name() == command).expect("a command");
                self.step(parse_node(node), step, Input::Command(command));
            }
            _ => panic!("unknown step '{step}' in the script"),
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.slots[node.index()].is_up = false;
        self.timers.retain(|(_, owner, _)| *owner != node);
    }

    /// Starts a node with its durable state, after a crash if it is up.
    fn boot(&mut self, me: NodeId) {
        self.crash(me);
        let slot = &mut self.slots[me.index()];
        let start = Input::Start { durable: slot.durable.clone(), incarnation: slot.next_incarnation };
        (slot.node, slot.is_up, slot.next_incarnation) =
            ((self.new_node)(me, &self.plan), true, slot.next_incarnation.next());
        self.step(me, &format!("{me} boots"), start);
    }

    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        while let Some(next) = (0..self.timers.len()).min_by_key(|index| self.timers[*index].0)
            && self.timers[next].0 <= end
        {
            self.now = self.timers[next].0;
            self.fire_timer(next);
        }
        self.now = end;
    }

    fn fire_timer(&mut self, index: usize) {
        let (_, node, timer) = self.timers.remove(index);
        self.step(node, &format!("{node} {timer:?}"), Input::Timer(timer));
    }

    fn deliver(&mut self, index: usize) {
        let (from, to, message) = self.in_flight.remove(index);
        if self.slots[to.index()].is_up {
            self.step(to, &format!("{to} receives {} from {from}", message.kind()), Input::Message { from, message });
        }
    }

    fn step(&mut self, me: NodeId, cause: &str, input: Input<P>) {
        let mut recorder = Recorder { effects: Vec::new(), descriptions: Vec::new() };
        let slot = &mut self.slots[me.index()];
        slot.node.step(self.now, input, &mut Effects::new(&mut recorder));
        let outcome =
            if recorder.descriptions.is_empty() { "nothing".into() } else { recorder.descriptions.join("; ") };
        let time = if self.now == Time::ZERO { String::new() } else { format!("{} ", self.now) };
        self.trace += &format!("{time}{cause}: {outcome}\n");
        for effect in recorder.effects {
            match effect {
                Effect::Send { to, message, .. } => self.in_flight.push((me, to, message)),
                Effect::Multicast { to, message, .. } => {
                    self.in_flight.extend(to.others(me).map(|to| (me, to, message.clone())));
                }
                Effect::Save(write) => slot.durable.apply(write),
                Effect::SetTimer { timer, span } => {
                    self.timers.retain(|(_, owner, set)| *owner != me || *set != timer);
                    self.timers.push((self.now + span.earliest, me, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|(_, owner, set)| *owner != me || *set != timer),
                Effect::Emit { .. } => {}
            }
        }
    }

    /// Returns the indices of the messages in flight from one node to another, oldest first. Panics
    /// if there are none.
    fn message_indices(&self, from: &str, to: &str) -> Vec<usize> {
        let link = (parse_node(from), parse_node(to));
        let on_link = self.in_flight.iter().enumerate().filter(|(_, (from, to, _))| (*from, *to) == link);
        let indices: Vec<_> = on_link.map(|(index, _)| index).collect();
        assert!(!indices.is_empty(), "nothing is in flight from {from} to {to}; so far:\n{}", self.trace);
        indices
    }
}

fn parse_milliseconds(length: &str) -> Duration {
    Duration::from_millis(length.strip_suffix("ms").and_then(|number| number.parse().ok()).expect("milliseconds"))
}

fn parse_node(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).expect("a node's number")
}
