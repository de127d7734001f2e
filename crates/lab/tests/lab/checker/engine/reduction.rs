//! Reduction lets one node go first where it makes no difference; here it would make one.

use crate::checker::engine::common::{breach, check, group_of, plain};
use crate::checker::engine::reference::{Bounds, Seen, explore};
use quorate_check::{Effort, End, Search};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Effects, Fence, Group, Input, Never, NodeId, Protocol, Time};
use serde::Serialize;

/// Two nodes. The first one enters at once; the other one's user is always denied, and it enters with a token, unasked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Squash {
    me: NodeId,
    game: Game,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Game {
    /// The first one hits a ball to itself for ever, and sends the token when it leaves.
    ForEver,
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

impl Protocol for Squash {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let first = self.me == FIRST;
        match input {
            Input::Start { .. } if first && self.game == Game::ForEver => out.send(FIRST, Message::Ball),
            Input::Message { message: Message::Ball, .. } => match self.game {
                Game::ForEver => out.send(FIRST, Message::Ball),
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
                if first && self.game == Game::ForEver {
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

/// Holds every search to what the plain explorer sees first.
fn is_found(game: Game, property: &str, seen: impl Fn(&Seen) -> Option<u64>, steps: u64) {
    let make = group_of(2, move |me, _: Group| Squash { me, game });
    let bounds = Bounds::new(2, 1);
    assert_eq!(seen(&explore(&make, &bounds)), Some(steps));
    for search in [Search::Breadth, Search::Depth] {
        for (threads, reduce) in [(1, false), (1, true), (2, true)] {
            let effort = Effort { search, threads, reduce, ..plain() };
            let findings = check(&make, &bounds, &effort);
            assert_eq!(findings.end, End::Complete);
            let found = breach(&findings, property);
            assert!(found.is_some(), "{property} with {effort:?}");
            assert!(search == Search::Depth || found == Some(steps), "{property} with {effort:?}: {found:?}");
        }
    }
}

/// Where the first node goes round alone, all are followed after all, and what they do is judged like any step.
#[test]
fn a_step_that_was_put_off_is_judged_when_it_is_taken() {
    is_found(Game::ForEver, "asked-first", |seen| seen.unasked, 3);
}

/// Nobody can send the first node anything while it is inside; but if it left first, nobody would see it there with the
/// other one.
#[test]
fn a_step_that_is_seen_never_goes_first() {
    is_found(Game::Once, "exclusion", |seen| seen.two_inside, 2);
}
