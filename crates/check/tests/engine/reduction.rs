//! Reduction lets one node go first where it makes no difference; here it would make one.

use crate::common::{breach, check, group_of, plain};
use crate::reference::{Bounds, Maker, explore};
use quorate_check::{Effort, End, Search};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Effects, Fence, Group, Input, Never, NodeId, Protocol, Time};
use serde::Serialize;

/// The first node hits a ball to itself for ever, and sends the other one a token when it leaves. The other one's user
/// is always denied; with the token it enters unasked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Squash {
    me: NodeId,
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
            Input::Start { .. } if first => out.send(FIRST, Message::Ball),
            Input::Message { message: Message::Ball, .. } => out.send(FIRST, Message::Ball),
            Input::Command(Command::Acquire) if first => out.emit(Event::Entered { fence: Fence::default() }),
            Input::Command(Command::Acquire) => out.emit(Event::Denied),
            Input::Command(Command::Release) => {
                out.emit(Event::Left);
                if first {
                    out.send(OTHER, Message::Token);
                }
            }
            Input::Message { message: Message::Token, .. } => out.emit(Event::Entered { fence: Fence::default() }),
            Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Command(Command::Try | Command::Cancel)
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::View(_) => {}
        }
    }
}

fn squash() -> Maker<Squash> {
    group_of(2, |me, _: Group| Squash { me })
}

/// Where the first node goes round alone, all are followed after all, and what they do is judged like any step.
#[test]
fn a_step_that_was_put_off_is_judged_when_it_is_taken() {
    let (make, bounds) = (squash(), Bounds::new(2, 1));
    assert_eq!(explore(&make, &bounds).unasked, Some(3));
    for search in [Search::Breadth, Search::Depth] {
        for (threads, reduce) in [(1, false), (1, true), (2, true)] {
            let effort = Effort { search, threads, reduce, ..plain() };
            let findings = check(&make, &bounds, &effort);
            assert_eq!(findings.end, End::Complete);
            assert!(breach(&findings, "asked-first").is_some(), "{effort:?}");
        }
    }
}
