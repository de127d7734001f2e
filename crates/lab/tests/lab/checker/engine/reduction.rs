//! Reduction explores the steps of one node first where the order does not matter. In these
//! protocols the order matters.

use crate::checker::engine::common::{check, counterexample_len, group_of, plain_search};
use crate::checker::engine::reference::{Bounds, ReferenceResult, explore};
use quorate_check::{Effort, Search, SearchEnd};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Effects, Fence, Group, Input, Never, NodeId, Protocol, Time};
use serde::Serialize;

/// One of two nodes. The first node enters at once. The other node always denies its client, and
/// enters without a request when it receives a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TokenSender {
    me: NodeId,
    variant: Variant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Variant {
    /// The first node sends a ping to itself forever, and sends the token when it leaves.
    Forever,
    /// When the first node enters, it sends the token, and a ping to itself. It leaves when it
    /// receives the ping, or earlier if its client releases.
    Once,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Message {
    Ping,
    Token,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        "message"
    }
}

const FIRST: NodeId = NodeId::from_index(0);
const OTHER: NodeId = NodeId::from_index(1);

impl Protocol for TokenSender {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let is_first = self.me == FIRST;
        match input {
            Input::Start { .. } if is_first && self.variant == Variant::Forever => out.send(FIRST, Message::Ping),
            Input::Message { message: Message::Ping, .. } => match self.variant {
                Variant::Forever => out.send(FIRST, Message::Ping),
                Variant::Once => out.emit(Event::Left),
            },
            Input::Command(Command::Acquire | Command::Share) if is_first => {
                out.emit(Event::entered(Fence::default()));
                if self.variant == Variant::Once {
                    out.send(FIRST, Message::Ping);
                    out.send(OTHER, Message::Token);
                }
            }
            Input::Command(Command::Acquire | Command::Share) => out.emit(Event::Denied),
            Input::Command(Command::Release) => {
                out.emit(Event::Left);
                if is_first && self.variant == Variant::Forever {
                    out.send(OTHER, Message::Token);
                }
            }
            Input::Message { message: Message::Token, .. } => out.emit(Event::entered(Fence::default())),
            Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Command(Command::Try | Command::Cancel)
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

/// Asserts that every search finds a counterexample to a property, and breadth-first search one of
/// `steps` steps, as the reference explorer does.
fn assert_found(variant: Variant, property: &str, length_in: impl Fn(&ReferenceResult) -> Option<u64>, steps: u64) {
    let factory = group_of(2, move |me, _: Group| TokenSender { me, variant });
    let bounds = Bounds::new(2, 1);
    assert_eq!(length_in(&explore(&factory, &bounds)), Some(steps));
    for search in [Search::Breadth, Search::Depth] {
        for (threads, reduce) in [(1, false), (1, true), (2, true)] {
            let effort = Effort { search, threads, reduce, ..plain_search() };
            let findings = check(&factory, &bounds, &effort);
            assert_eq!(findings.end, SearchEnd::Complete);
            let length = counterexample_len(&findings, property);
            assert!(length.is_some(), "{property} with {effort:?}");
            assert!(search == Search::Depth || length == Some(steps), "{property} with {effort:?}: {length:?}");
        }
    }
}

/// If the first node's steps form a cycle, reduction must explore the other node's steps too.
#[test]
fn a_cycle_of_one_node_does_not_hide_steps_of_the_other() {
    // The first node enters and leaves, and the other one receives the token.
    assert_found(Variant::Forever, "asked-first", |result| result.unrequested, 3);
}

/// A step is visible if it changes which clients are in the critical section. While the first node
/// holds the lock, only its own ping can reach it. But if reduction explored that receipt alone,
/// the node would leave first, and no state would have both nodes in the critical section.
#[test]
fn a_visible_step_is_never_explored_alone() {
    // The first node enters, and the other one receives the token.
    assert_found(Variant::Once, "exclusion", |result| result.two_holders, 2);
}
