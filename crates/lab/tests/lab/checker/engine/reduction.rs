//! Reduction explores one node's steps first where the order does not matter; here it would matter.

use crate::checker::engine::common::{check, counterexample_len, group_of, plain};
use crate::checker::engine::reference::{Bounds, ReferenceResult, explore};
use quorate_check::{Effort, End, Search};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Effects, Fence, Group, Input, Never, NodeId, Protocol, Time};
use serde::Serialize;

/// Two nodes. The first one enters at once. The other one always denies its client, and enters with
/// a token without a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TokenGame {
    me: NodeId,
    game: Game,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Game {
    /// The first one sends a ball to itself forever, and sends the token when it leaves.
    Forever,
    /// The first one sends the token when it enters, and a ball to itself, with which it leaves.
    Once,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Message {
    Ball,
    Token,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        "message"
    }
}

const FIRST: NodeId = NodeId::from_index(0);
const OTHER: NodeId = NodeId::from_index(1);

impl Protocol for TokenGame {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let first = self.me == FIRST;
        match input {
            Input::Start { .. } if first && self.game == Game::Forever => out.send(FIRST, Message::Ball),
            Input::Message { message: Message::Ball, .. } => match self.game {
                Game::Forever => out.send(FIRST, Message::Ball),
                Game::Once => out.emit(Event::Left),
            },
            Input::Command(Command::Acquire | Command::Share) if first => {
                out.emit(Event::entered(Fence::default()));
                if self.game == Game::Once {
                    out.send(FIRST, Message::Ball);
                    out.send(OTHER, Message::Token);
                }
            }
            Input::Command(Command::Acquire | Command::Share) => out.emit(Event::Denied),
            Input::Command(Command::Release) => {
                out.emit(Event::Left);
                if first && self.game == Game::Forever {
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
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

/// Asserts that every search finds the counterexample that the reference explorer finds.
fn assert_found(game: Game, property: &str, seen: impl Fn(&ReferenceResult) -> Option<u64>, steps: u64) {
    let factory = group_of(2, move |me, _: Group| TokenGame { me, game });
    let bounds = Bounds::new(2, 1);
    assert_eq!(seen(&explore(&factory, &bounds)), Some(steps));
    for search in [Search::Breadth, Search::Depth] {
        for (threads, reduce) in [(1, false), (1, true), (2, true)] {
            let effort = Effort { search, threads, reduce, ..plain() };
            let findings = check(&factory, &bounds, &effort);
            assert_eq!(findings.end, End::Complete);
            let found = counterexample_len(&findings, property);
            assert!(found.is_some(), "{property} with {effort:?}");
            assert!(search == Search::Depth || found == Some(steps), "{property} with {effort:?}: {found:?}");
        }
    }
}

/// If the first node's steps form a cycle, all nodes are explored after all, and their steps are
/// judged like any others.
#[test]
fn a_postponed_step_is_judged_when_it_is_taken() {
    assert_found(Game::Forever, "asked-first", |seen| seen.unrequested, 3);
}

/// No node can send the first one anything while it holds the lock; but if it left first, no state
/// would have both in the critical section.
#[test]
fn a_visible_step_is_never_explored_alone() {
    assert_found(Game::Once, "exclusion", |seen| seen.two_holders, 2);
}
