//! Fairness on protocols that run forever: a run that never meets an obligation, such as to deliver
//! a message, is unfair and no counterexample. A run that starves the requester although it meets
//! every obligation again and again is a counterexample.
//!
//! `Bounds::new(3, 2)` stands for three nodes that may request entry twice each; with `None`
//! instead of a number, they request entry without limit.

use crate::checker::engine::common::{
    check, counterexample_len, group_of, new_checker, plain_search_for, reduced_search, verdict,
};
use crate::checker::engine::reference::{Bounds, NodeFactory, explore, starves};
use quorate_check::Effort;
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Duration, Effects, Fence, Fixed, Group, Input, Never, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};

/// How the group handles the request. Unless a variant says otherwise, the two nodes return a ping
/// to each other forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Handling {
    Grants,
    /// The server grants the request, and sends the ping to itself.
    GrantsAlone,
    Drops,
    /// The server drops the request, and sends the ping to itself.
    DropsAlone,
    /// The server grants the request if it has sent an odd number of pings, and otherwise sends it
    /// to itself again.
    Defers,
    /// The requester sends its request when its timer fires.
    RequestsLater,
    /// The requester sends its request when its timer fires, and resets the timer with every ping.
    ResetsTimer,
    /// The requester sends its request once its save is durable.
    SavesFirst,
}

/// One of two nodes: the server, or the requester, which requests entry from it. The ping makes
/// every run infinite. The server's own client enters at once: exclusion is not judged here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PingPong {
    /// This node, and how the group handles the request.
    fixed: Fixed<(NodeId, Handling)>,
    /// Whether this node is the requester and waits for entry.
    is_waiting: bool,
    /// Whether this node has sent an odd number of pings to the other one.
    is_odd: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Message {
    Ping,
    Request,
    /// A request that the server sends to itself again.
    Deferred,
    Grant,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        "message"
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct RequestTimer;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct NoData;

impl quorate_core::Durable for NoData {
    type Write = ();
    fn apply(&mut self, (): ()) {}
}

const SERVER: NodeId = NodeId::from_index(0);
const REQUESTER: NodeId = NodeId::from_index(1);

impl PingPong {
    fn set_request_timer(out: &mut Effects<'_, Self>) {
        out.set_timer(RequestTimer, Span::exactly(Duration::from_millis(1)));
    }

    fn handle_request(&self, out: &mut Effects<'_, Self>) {
        match self.fixed.1 {
            Handling::Drops | Handling::DropsAlone => {}
            Handling::Defers if !self.is_odd => out.send(SERVER, Message::Deferred),
            Handling::Defers
            | Handling::Grants
            | Handling::GrantsAlone
            | Handling::RequestsLater
            | Handling::ResetsTimer
            | Handling::SavesFirst => out.send(REQUESTER, Message::Grant),
        }
    }

    fn request(&mut self, out: &mut Effects<'_, Self>) {
        self.is_waiting = true;
        match self.fixed.1 {
            Handling::RequestsLater | Handling::ResetsTimer => Self::set_request_timer(out),
            Handling::SavesFirst => {
                // Messages wait until earlier saves are durable.
                out.save(());
                out.send(SERVER, Message::Request);
            }
            Handling::Grants | Handling::GrantsAlone | Handling::Drops | Handling::DropsAlone | Handling::Defers => {
                out.send(SERVER, Message::Request);
            }
        }
    }

    fn return_ping(&mut self, out: &mut Effects<'_, Self>) {
        let (me, handling) = *self.fixed;
        match handling {
            Handling::GrantsAlone | Handling::DropsAlone => return out.send(me, Message::Ping),
            Handling::ResetsTimer if self.is_waiting && me == REQUESTER => Self::set_request_timer(out),
            Handling::Grants
            | Handling::Drops
            | Handling::Defers
            | Handling::RequestsLater
            | Handling::ResetsTimer
            | Handling::SavesFirst => {}
        }
        self.is_odd = !self.is_odd;
        // The ping is always the same, so that a run can return to an earlier state.
        out.send(if me == SERVER { REQUESTER } else { SERVER }, Message::Ping);
    }
}

impl Protocol for PingPong {
    type Command = Command;
    type Message = Message;
    type Timer = RequestTimer;
    type Event = Event;
    type Durable = NoData;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let is_server = self.fixed.0 == SERVER;
        match input {
            Input::Start { .. } if is_server => self.return_ping(out),
            Input::Command(Command::Acquire | Command::Share) if is_server => {
                out.emit(Event::entered(Fence::default()));
            }
            Input::Command(Command::Acquire | Command::Share) => self.request(out),
            Input::Command(Command::Release) => out.emit(Event::Left),
            Input::Message { message: Message::Ping, .. } => self.return_ping(out),
            Input::Message { message: Message::Request | Message::Deferred, .. } => self.handle_request(out),
            Input::Message { message: Message::Grant, .. } => {
                self.is_waiting = false;
                out.emit(Event::entered(Fence::default()));
            }
            Input::Timer(RequestTimer) => out.send(SERVER, Message::Request),
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

fn ping_pong_group(handling: Handling) -> NodeFactory {
    group_of(2, move |me, _: Group| PingPong { fixed: Fixed::new((me, handling)), is_waiting: false, is_odd: false })
}

/// Returns whether the checker finds a fair run that starves the requester; the reference explorer
/// must agree.
fn is_starved(handling: Handling, bounds: &Bounds) -> bool {
    let factory = ping_pong_group(handling);
    let mut is_starved = None;
    for effort in [
        plain_search_for(&["served"]),
        Effort { properties: plain_search_for(&["served"]).properties, ..reduced_search() },
    ] {
        let mut checker = new_checker(&factory, bounds);
        // The callback ignores the progress, and lets the check continue.
        let findings = checker.run(&effort, &mut |_, _| true);
        let served = verdict(&findings, "served");
        assert!(findings.is_complete() && served.holds.is_some());
        assert!(findings.fair_pass.is_some(), "{handling:?}: there must be cycles, because the ping is sent forever");
        if let Some(example) = &served.counterexample {
            assert!(example.cycle_start().is_some_and(|start| start < example.len()), "{handling:?}");
            checker.replay(example, ()).unwrap();
        }
        let is_starved_here = served.holds == Some(false);
        assert_eq!(
            *is_starved.get_or_insert(is_starved_here),
            is_starved_here,
            "{handling:?}: reduction changes the verdict"
        );
    }
    let is_starved = is_starved.unwrap();
    assert_eq!(is_starved, starves(&factory, bounds), "{handling:?}");
    is_starved
}

#[test]
fn a_request_that_is_never_delivered_is_an_unfair_run() {
    for bounds in [Bounds::new(2, 1), Bounds::new(2, None), Bounds::new(2, 2).fifo()] {
        assert!(!is_starved(Handling::Grants, &bounds));
        assert!(!is_starved(Handling::GrantsAlone, &bounds));
    }
}

#[test]
fn dropping_the_request_starves_the_requester() {
    for bounds in [Bounds::new(2, 1), Bounds::new(2, None), Bounds::new(2, 2).fifo()] {
        assert!(is_starved(Handling::Drops, &bounds));
        assert!(is_starved(Handling::DropsAlone, &bounds));
    }
}

/// In the starving run, the server receives the request again and again, but only at times when it
/// defers it.
#[test]
fn deferring_the_request_forever_starves_the_requester() {
    assert!(is_starved(Handling::Defers, &Bounds::new(2, 1)));
}

/// A timer fires while messages are in flight only if `early_timers` allows it, and the ping always
/// is in flight. A run in which the timer never fires is unfair in either case.
#[test]
fn a_timer_that_never_fires_is_an_unfair_run() {
    assert!(!is_starved(Handling::RequestsLater, &Bounds::new(2, 1)));
    assert!(!is_starved(Handling::RequestsLater, &Bounds::new(2, 1).early_timers(1)));
}

#[test]
fn resetting_the_timer_forever_starves_the_requester() {
    assert!(is_starved(Handling::ResetsTimer, &Bounds::new(2, 1)));
    assert!(is_starved(Handling::ResetsTimer, &Bounds::new(2, 1).early_timers(1)));
}

#[test]
fn a_save_that_never_completes_is_an_unfair_run() {
    assert!(!is_starved(Handling::SavesFirst, &Bounds::new(2, 1)));
}

/// Two copies of one grant let the requester enter twice, the second time without a request.
#[test]
fn entering_without_a_request_is_found() {
    let factory = ping_pong_group(Handling::Grants);
    let with_duplicate = Bounds::new(2, 1).duplicates(1);
    let findings = check(&factory, &with_duplicate, &plain_search_for(&["asked-first"]));
    // The shortest counterexample: request, delivery of the request, duplication of the grant,
    // delivery of the grant, delivery of its copy.
    assert_eq!(counterexample_len(&findings, "asked-first"), Some(5));
    assert_eq!(explore(&factory, &with_duplicate).unrequested, Some(5));
    let findings = check(&factory, &Bounds::new(2, 1), &plain_search_for(&["asked-first"]));
    assert_eq!(counterexample_len(&findings, "asked-first"), None);
}

/// In a fair run, every holder eventually releases.
#[test]
fn a_holder_that_never_releases_is_an_unfair_run() {
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct SingleHolder {
        me: NodeId,
        is_held: bool,
        is_requester_waiting: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    enum LockMessage {
        Ping,
        Request,
        Grant,
    }

    impl Describe for LockMessage {
        fn kind(&self) -> &'static str {
            "message"
        }
    }

    /// The server delays the other node's request while the server's own client is in the critical
    /// section. Its ping to itself makes every run infinite.
    impl Protocol for SingleHolder {
        type Command = Command;
        type Message = LockMessage;
        type Timer = Never;
        type Event = Event;
        type Durable = ();

        fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
            match input {
                Input::Start { .. } if self.me == SERVER => out.send(SERVER, LockMessage::Ping),
                Input::Message { message: LockMessage::Ping, .. } => out.send(SERVER, LockMessage::Ping),
                Input::Command(Command::Acquire | Command::Share) if self.me == SERVER => {
                    self.is_held = true;
                    out.emit(Event::entered(Fence::default()));
                }
                Input::Command(Command::Acquire | Command::Share) => out.send(SERVER, LockMessage::Request),
                Input::Command(Command::Release) => {
                    self.is_held = false;
                    out.emit(Event::Left);
                    if std::mem::take(&mut self.is_requester_waiting) {
                        out.send(REQUESTER, LockMessage::Grant);
                    }
                }
                Input::Message { message: LockMessage::Request, .. } if self.is_held => {
                    self.is_requester_waiting = true;
                }
                Input::Message { message: LockMessage::Request, .. } => out.send(REQUESTER, LockMessage::Grant),
                Input::Message { message: LockMessage::Grant, .. } => out.emit(Event::entered(Fence::default())),
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

    let factory = group_of(2, |me, _| SingleHolder { me, is_held: false, is_requester_waiting: false });
    let bounds = Bounds::new(2, 1);
    let findings = check(&factory, &bounds, &plain_search_for(&["served"]));
    assert_eq!(verdict(&findings, "served").holds, Some(true));
    assert!(!starves(&factory, &bounds));
}
