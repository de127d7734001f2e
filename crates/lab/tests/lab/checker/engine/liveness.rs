//! Fairness on protocols that run forever: a run that never meets an obligation, such as to deliver
//! a message, is unfair and no counterexample. A run that starves the client although it meets
//! every obligation again and again is one.

use crate::checker::engine::common::{check, checker, counterexample_len, group_of, plain_only, reduced, verdict};
use crate::checker::engine::reference::{Bounds, NodeFactory, explore, starves};
use quorate_check::Effort;
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Duration, Effects, Fence, Fixed, Group, Input, Never, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};

/// The handling of a request while two nodes exchange a ball message forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Handling {
    Grants,
    /// The server grants it. The server sends the ball to itself.
    GrantsAlone,
    Drops,
    /// The server drops it. The server sends the ball to itself.
    DropsAlone,
    /// The server grants it every other time, and otherwise sends it to itself again.
    Defers,
    /// The client sends its request when its timer fires.
    RequestsLater,
    /// The client sends its request when its timer fires, and resets the timer with every ball.
    ResetsTimer,
    /// The client sends its request once its save is durable.
    SavesFirst,
}

/// One of two nodes: the server, or the client that requests entry from it. The ball makes every
/// run infinite.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BallGame {
    fixed: Fixed<(NodeId, Handling)>,
    is_waiting: bool,
    /// Toggles with every ball that this node sends to the other one.
    even: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Message {
    Ball,
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
const CLIENT: NodeId = NodeId::from_index(1);

impl BallGame {
    fn set_request_timer(out: &mut Effects<'_, Self>) {
        out.set_timer(RequestTimer, Span::exactly(Duration::from_millis(1)));
    }

    fn handle_request(&self, out: &mut Effects<'_, Self>) {
        match self.fixed.1 {
            Handling::Drops | Handling::DropsAlone => {}
            Handling::Defers if !self.even => out.send(SERVER, Message::Deferred),
            Handling::Defers
            | Handling::Grants
            | Handling::GrantsAlone
            | Handling::RequestsLater
            | Handling::ResetsTimer
            | Handling::SavesFirst => out.send(CLIENT, Message::Grant),
        }
    }

    fn request(&mut self, out: &mut Effects<'_, Self>) {
        self.is_waiting = true;
        match self.fixed.1 {
            Handling::RequestsLater | Handling::ResetsTimer => Self::set_request_timer(out),
            Handling::SavesFirst => {
                out.save(());
                out.send(SERVER, Message::Request);
            }
            Handling::Grants | Handling::GrantsAlone | Handling::Drops | Handling::DropsAlone | Handling::Defers => {
                out.send(SERVER, Message::Request);
            }
        }
    }

    fn return_ball(&mut self, out: &mut Effects<'_, Self>) {
        let (me, handling) = *self.fixed;
        match handling {
            Handling::GrantsAlone | Handling::DropsAlone => return out.send(me, Message::Ball),
            Handling::ResetsTimer if self.is_waiting && me == CLIENT => Self::set_request_timer(out),
            Handling::Grants
            | Handling::Drops
            | Handling::Defers
            | Handling::RequestsLater
            | Handling::ResetsTimer
            | Handling::SavesFirst => {}
        }
        self.even = !self.even;
        // The ball is always the same, so that a run can return to an earlier state.
        out.send(if me == SERVER { CLIENT } else { SERVER }, Message::Ball);
    }
}

impl Protocol for BallGame {
    type Command = Command;
    type Message = Message;
    type Timer = RequestTimer;
    type Event = Event;
    type Durable = NoData;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let server = self.fixed.0 == SERVER;
        match input {
            Input::Start { .. } if server => self.return_ball(out),
            Input::Command(Command::Acquire | Command::Share) if server => {
                out.emit(Event::entered(Fence::default()));
            }
            Input::Command(Command::Acquire | Command::Share) => self.request(out),
            Input::Command(Command::Release) => out.emit(Event::Left),
            Input::Message { message: Message::Ball, .. } => self.return_ball(out),
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
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

fn ball_game(handling: Handling) -> NodeFactory {
    group_of(2, move |me, _: Group| BallGame { fixed: Fixed::new((me, handling)), is_waiting: false, even: false })
}

/// Returns whether the checker finds a fair run that starves the client; the reference explorer
/// must agree.
fn is_starved(handling: Handling, bounds: &Bounds) -> bool {
    let factory = ball_game(handling);
    let mut starved_before = None;
    for effort in [plain_only(&["served"]), Effort { properties: plain_only(&["served"]).properties, ..reduced() }] {
        let mut checker = checker(&factory, bounds);
        let findings = checker.run(&effort, &mut |_, _| true);
        let served = verdict(&findings, "served");
        assert!(findings.is_complete() && served.holds.is_some());
        assert!(findings.fair.is_some(), "{handling:?}: there must be cycles, because the ball is sent forever");
        if let Some(example) = &served.counterexample {
            assert!(example.cycle().is_some_and(|start| start < example.len()), "{handling:?}");
            checker.replay(example, ()).unwrap();
        }
        let starved = served.holds == Some(false);
        assert_eq!(*starved_before.get_or_insert(starved), starved, "{handling:?}: reduction changes the verdict");
    }
    let starved = starved_before.unwrap();
    assert_eq!(starved, starves(&factory, bounds), "{handling:?}");
    starved
}

#[test]
fn a_request_that_is_never_delivered_is_an_unfair_run() {
    for bounds in [Bounds::new(2, 1), Bounds::new(2, None), Bounds::new(2, 2).fifo()] {
        assert!(!is_starved(Handling::Grants, &bounds));
        assert!(!is_starved(Handling::GrantsAlone, &bounds));
    }
}

#[test]
fn dropping_the_request_starves_the_client() {
    for bounds in [Bounds::new(2, 1), Bounds::new(2, None), Bounds::new(2, 2).fifo()] {
        assert!(is_starved(Handling::Drops, &bounds));
        assert!(is_starved(Handling::DropsAlone, &bounds));
    }
}

/// The server receives the request again and again, each time while it does not grant.
#[test]
fn deferring_the_request_forever_starves_the_client() {
    assert!(is_starved(Handling::Defers, &Bounds::new(2, 1)));
}

/// The network never becomes quiet, so the timer need not fire; but a run in which it never fires
/// is unfair.
#[test]
fn a_timer_that_never_fires_is_an_unfair_run() {
    assert!(!is_starved(Handling::RequestsLater, &Bounds::new(2, 1)));
    assert!(!is_starved(Handling::RequestsLater, &Bounds::new(2, 1).early_timers(1)));
}

#[test]
fn resetting_the_timer_forever_starves_the_client() {
    assert!(is_starved(Handling::ResetsTimer, &Bounds::new(2, 1)));
    assert!(is_starved(Handling::ResetsTimer, &Bounds::new(2, 1).early_timers(1)));
}

#[test]
fn a_save_that_never_completes_is_an_unfair_run() {
    assert!(!is_starved(Handling::SavesFirst, &Bounds::new(2, 1)));
}

/// Two copies of one grant factory the client enter twice, the second time without a request.
#[test]
fn entering_without_a_request_is_found() {
    let factory = ball_game(Handling::Grants);
    let with_duplicate = Bounds::new(2, 1).duplicates(1);
    let findings = check(&factory, &with_duplicate, &plain_only(&["asked-first"]));
    // The shortest counterexample: request, delivery of the request, duplication of the grant,
    // delivery of the grant, delivery of its copy.
    assert_eq!(counterexample_len(&findings, "asked-first"), Some(5));
    assert_eq!(explore(&factory, &with_duplicate).unrequested, Some(5));
    let findings = check(&factory, &Bounds::new(2, 1), &plain_only(&["asked-first"]));
    assert_eq!(counterexample_len(&findings, "asked-first"), None);
}

/// In a fair run, every holder eventually releases.
#[test]
fn a_holder_that_never_releases_is_an_unfair_run() {
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct SingleHolder {
        me: NodeId,
        is_held: bool,
        is_client_waiting: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    enum LockMessage {
        Ball,
        Request,
        Grant,
    }

    impl Describe for LockMessage {
        fn kind(&self) -> &'static str {
            "message"
        }
    }

    /// The server holds the lock while its own client is in the critical section. It grants the
    /// request of the other node after that.
    impl Protocol for SingleHolder {
        type Command = Command;
        type Message = LockMessage;
        type Timer = Never;
        type Event = Event;
        type Durable = ();

        fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
            match input {
                Input::Start { .. } if self.me == SERVER => out.send(SERVER, LockMessage::Ball),
                Input::Message { message: LockMessage::Ball, .. } => out.send(SERVER, LockMessage::Ball),
                Input::Command(Command::Acquire | Command::Share) if self.me == SERVER => {
                    self.is_held = true;
                    out.emit(Event::entered(Fence::default()));
                }
                Input::Command(Command::Acquire | Command::Share) => out.send(SERVER, LockMessage::Request),
                Input::Command(Command::Release) => {
                    self.is_held = false;
                    out.emit(Event::Left);
                    if std::mem::take(&mut self.is_client_waiting) {
                        out.send(CLIENT, LockMessage::Grant);
                    }
                }
                Input::Message { message: LockMessage::Request, .. } if self.is_held => self.is_client_waiting = true,
                Input::Message { message: LockMessage::Request, .. } => out.send(CLIENT, LockMessage::Grant),
                Input::Message { message: LockMessage::Grant, .. } => out.emit(Event::entered(Fence::default())),
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

    let factory = group_of(2, |me, _| SingleHolder { me, is_held: false, is_client_waiting: false });
    let bounds = Bounds::new(2, 1);
    let findings = check(&factory, &bounds, &plain_only(&["served"]));
    assert_eq!(verdict(&findings, "served").holds, Some(true));
    assert!(!starves(&factory, &bounds));
}
