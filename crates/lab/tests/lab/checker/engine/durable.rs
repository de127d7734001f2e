//! Durability: a crash may lose the latest of the writes that are not durable yet, or all of them.
//! The checker tries every number of lost writes.
//!
//! `Bounds::new(3, 2)` stands for three nodes that may request entry twice each.

use crate::checker::engine::common::{check, counterexample_len, group_of, new_checker, plain_search, verdicts};
use crate::checker::engine::reference::{Bounds, NodeFactory, explore};
use quorate_core::mutex::{Command, Event};
use quorate_core::{
    Describe, Durable, Effects, Epoch, Fence, Fixed, Group, Incarnation, Input, Never, NodeId, Order, Protocol, Time,
};
use quorate_journal::moment::{Moment, ObservedInput, Observer};
use serde::{Deserialize, Serialize};

/// Asserts that the checker and the reference explorer agree. Returns the lengths of the
/// counterexamples to exclusion and to growing fences.
fn counterexample_lengths(factory: &NodeFactory, bounds: &Bounds) -> (Option<u64>, Option<u64>) {
    let mut checker = new_checker(factory, bounds);
    let findings = checker.run(&plain_search(), &mut |_, _| true);
    for verdict in &findings.verdicts {
        if let Some(example) = &verdict.counterexample {
            checker.replay(example, ()).unwrap_or_else(|error| panic!("{}: {error}", verdict.name));
        }
    }
    let reference = explore(factory, bounds);
    let past_pass = findings.past_pass.unwrap();
    assert_eq!(
        (past_pass.states, past_pass.generated, past_pass.depth),
        (reference.states, reference.generated, reference.depth)
    );
    let lengths = (counterexample_len(&findings, "exclusion"), counterexample_len(&findings, "fences-grow"));
    assert_eq!(lengths, (reference.two_holders, reference.fence_decrease));
    lengths
}

// ------------------------------------------------------------------------ a counter of entries

/// A node that counts its entries and uses the count as the fence. It emits no fence twice if each
/// count is durable before it emits the fence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counter {
    emit_order: Fixed<Order>,
    /// Whether the node counts and enters at the end of the turn of a request.
    uses_end_of_turn: Fixed<bool>,
    count: u64,
    is_requested: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Count(u64);

impl Durable for Count {
    type Write = u64;
    fn apply(&mut self, count: u64) {
        self.0 = count;
    }
}

impl Protocol for Counter {
    type Command = Command;
    type Message = Never;
    type Timer = Never;
    type Event = Event;
    type Durable = Count;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, .. } => self.count = durable.0,
            Input::Command(Command::Acquire | Command::Try | Command::Share) => {
                self.is_requested = true;
                if !*self.uses_end_of_turn {
                    self.enter(out);
                }
            }
            Input::EndOfTurn => self.enter(out),
            // Emitted ahead of saves: a client that does not learn of its release would repeat it
            // forever.
            Input::Command(Command::Release) => out.emit_ahead(Event::Left),
            Input::Timer(never) => match never {},
            Input::Message { message, .. } => match message {},
            Input::Command(Command::Cancel)
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        *self.uses_end_of_turn
    }
}

impl Counter {
    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        if !std::mem::take(&mut self.is_requested) {
            return;
        }
        self.count += 1;
        out.save(self.count);
        let event = Event::entered(Fence { epoch: Epoch::default(), counter: self.count });
        match *self.emit_order {
            Order::AfterSaves => out.emit(event),
            Order::Ahead => out.emit_ahead(event),
        }
    }
}

fn counter_with_turns(emit_order: Order, uses_end_of_turn: bool) -> NodeFactory {
    group_of(1, move |_, _: Group| Counter {
        emit_order: Fixed::new(emit_order),
        uses_end_of_turn: Fixed::new(uses_end_of_turn),
        count: 0,
        is_requested: false,
    })
}

fn counter(emit_order: Order) -> NodeFactory {
    counter_with_turns(emit_order, false)
}

#[test]
fn a_fence_emitted_before_its_save_is_used_twice() {
    let bounds = Bounds::new(1, 2).fences().crashes(1).restarts(1);
    // Request and enter at once, crash, restart, request again.
    assert_eq!(counterexample_lengths(&counter(Order::Ahead), &bounds), (None, Some(4)));
    assert_eq!(counterexample_lengths(&counter(Order::AfterSaves), &bounds), (None, None));
    // Without a crash, or without a restart after it, there is no violation.
    assert_eq!(counterexample_lengths(&counter(Order::Ahead), &Bounds::new(1, 2).fences()), (None, None));
    assert_eq!(counterexample_lengths(&counter(Order::Ahead), &Bounds::new(1, 2).fences().crashes(1)), (None, None));
}

/// The end of a turn belongs to the transition of its input, so nothing else changes.
#[test]
fn each_input_is_a_turn() {
    for (order, prompt_disks) in [(Order::Ahead, false), (Order::AfterSaves, false), (Order::AfterSaves, true)] {
        let [by_input, by_turn] = [false, true].map(|uses_end_of_turn| counter_with_turns(order, uses_end_of_turn));
        let mut bounds = Bounds::new(1, 2).fences().crashes(1).restarts(u8::from(!prompt_disks));
        bounds.setup.has_prompt_disks = prompt_disks;
        if !prompt_disks {
            assert_eq!(counterexample_lengths(&by_turn, &bounds), counterexample_lengths(&by_input, &bounds));
        }
        let [by_input, by_turn] = [by_input, by_turn].map(|factory| check(&factory, &bounds, &plain_search()));
        assert_eq!(verdicts(&by_turn), verdicts(&by_input));
        assert_eq!(by_turn.main_pass.states, by_input.main_pass.states, "{order:?}, {prompt_disks}");
    }
}

#[test]
fn a_counterexample_has_the_ends_of_turns() {
    let bounds = Bounds::new(1, 2).fences().crashes(1).restarts(1);
    let factory = counter_with_turns(Order::Ahead, true);
    let mut checker = new_checker(&factory, &bounds);
    let findings = checker.run(&plain_search(), &mut |_, _| true);
    let example = findings.verdicts.iter().find_map(|verdict| verdict.counterexample.as_ref()).unwrap();
    let TurnEnds(count) = checker.replay(example, TurnEnds(0)).unwrap();
    assert_eq!(count, 4, "of two starts and two requests; the crash is not an input");
}

/// Counts the ends of turns.
struct TurnEnds(usize);

impl Observer<Command, Event> for TurnEnds {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.0 += usize::from(matches!(moment, Moment::Input { input: ObservedInput::EndOfTurn, .. }));
    }
}

// ------------------------------------------------------------------------------- a lock server

/// A node of a group with a lock server: the node `SERVER` saves to which node it has granted the
/// lock, and the other nodes send requests to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    /// This node, and whether the server sends a grant after it is durable or before.
    fixed: Fixed<(NodeId, Order)>,
    granted: Option<NodeId>,
    /// Waiters, in order of arrival. They are lost in a crash, which is safe.
    waiting: Vec<NodeId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Granted(Option<NodeId>);

impl Durable for Granted {
    type Write = Option<NodeId>;
    fn apply(&mut self, granted: Option<NodeId>) {
        self.0 = granted;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Message {
    Request,
    Grant,
    Release,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        "message"
    }
}

const SERVER: NodeId = NodeId::from_index(0);

impl Protocol for Node {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = Granted;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                // A restarted node must be a new one, without the state that a crash loses.
                assert!(incarnation == Incarnation::FIRST || self.granted.is_none());
                self.granted = durable.0;
            }
            // The server always denies its own client.
            Input::Command(Command::Acquire | Command::Try | Command::Share) if self.fixed.0 == SERVER => {
                out.emit(Event::Denied);
            }
            Input::Command(Command::Acquire | Command::Try | Command::Share) => out.send(SERVER, Message::Request),
            Input::Command(Command::Release) => {
                out.emit(Event::Left);
                out.send(SERVER, Message::Release);
            }
            Input::Message { from, message: Message::Request } => {
                self.waiting.push(from);
                self.grant(out);
            }
            Input::Message { from, message: Message::Release } => {
                if self.granted == Some(from) {
                    self.granted = None;
                    out.save(None);
                    self.grant(out);
                }
            }
            Input::Message { message: Message::Grant, .. } => out.emit(Event::entered(Fence::default())),
            Input::Timer(never) => match never {},
            Input::Command(Command::Cancel)
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

impl Node {
    fn grant(&mut self, out: &mut Effects<'_, Self>) {
        if self.granted.is_some() || self.waiting.is_empty() {
            return;
        }
        let next = self.waiting.remove(0);
        self.granted = Some(next);
        out.save(Some(next));
        match self.fixed.1 {
            Order::AfterSaves => out.send(next, Message::Grant),
            Order::Ahead => out.send_ahead(next, Message::Grant),
        }
    }
}

fn lock_group(grant_order: Order) -> NodeFactory {
    group_of(3, move |me, _: Group| Node { fixed: Fixed::new((me, grant_order)), granted: None, waiting: Vec::new() })
}

#[test]
fn a_lock_granted_before_its_save_is_granted_to_two_nodes() {
    let bounds = Bounds::new(3, 1).fences().crashes(1).restarts(1);
    let (two_holders, _) = counterexample_lengths(&lock_group(Order::Ahead), &bounds);
    // Both other nodes request; the server receives one request and grants, crashes, restarts, and
    // receives the other request and grants; both grants arrive.
    assert_eq!(two_holders, Some(8));
    assert_eq!(counterexample_lengths(&lock_group(Order::AfterSaves), &bounds).0, None);
}

#[test]
fn any_number_of_pending_writes_may_survive_a_crash() {
    // The server may have several pending writes, such as that the lock is free, and the next
    // holder.
    let factory = lock_group(Order::Ahead);
    let states = |bounds: &Bounds| check(&factory, bounds, &plain_search()).main_pass.states;
    let crash = Bounds::new(3, 1).crashes(1).restarts(1);
    assert_eq!(states(&crash), explore(&factory, &crash).states);
    assert!(states(&crash) > states(&Bounds::new(3, 1)));
}
