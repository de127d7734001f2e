//! Fairness on misleading protocols: an obligation that is never met excuses a run as unfair; one
//! that is met again and again does not.

use crate::checker::engine::common::{check, checker, counterexample_len, group_of, only, reduced, verdict};
use crate::checker::engine::reference::{Bounds, Maker, explore, starves};
use quorate_check::Effort;
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Duration, Effects, Fence, Fixed, Group, Input, Never, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};

/// The handling of a request while two nodes exchange a ball message for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Handling {
    Grants,
    /// The server grants it, and sends the ball to itself.
    GrantsAlone,
    Drops,
    /// The server drops it, and sends the ball to itself.
    DropsAlone,
    /// The server grants it every other time, and otherwise sends it to itself again.
    Defers,
    /// The client sends its request when its timer fires.
    AsksLater,
    /// The client sends its request when its timer fires, and resets the timer with every ball.
    ResetsTimer,
    /// The client sends its request once its save is durable.
    SavesFirst,
}

/// The lowest node is the server, the other one the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BallGame {
    fixed: Fixed<(NodeId, Handling)>,
    waits: bool,
    even: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Message {
    Ball,
    Request,
    /// A deferred request.
    Deferred,
    Grant,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        "message"
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct Later;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Kept;

impl quorate_core::Durable for Kept {
    type Write = ();
    fn apply(&mut self, (): ()) {}
}

const SERVER: NodeId = NodeId::from_index(0);
const CLIENT: NodeId = NodeId::from_index(1);

impl BallGame {
    fn later(out: &mut Effects<'_, Self>) {
        out.set_timer(Later, Span::exactly(Duration::from_millis(1)));
    }

    fn serve(&self, out: &mut Effects<'_, Self>) {
        match self.fixed.1 {
            Handling::Drops | Handling::DropsAlone => {}
            Handling::Defers if !self.even => out.send(SERVER, Message::Deferred),
            Handling::Defers
            | Handling::Grants
            | Handling::GrantsAlone
            | Handling::AsksLater
            | Handling::ResetsTimer
            | Handling::SavesFirst => out.send(CLIENT, Message::Grant),
        }
    }

    fn ask(&mut self, out: &mut Effects<'_, Self>) {
        self.waits = true;
        match self.fixed.1 {
            Handling::AsksLater | Handling::ResetsTimer => Self::later(out),
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
            Handling::ResetsTimer if self.waits && me == CLIENT => Self::later(out),
            Handling::Grants
            | Handling::Drops
            | Handling::Defers
            | Handling::AsksLater
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
    type Timer = Later;
    type Event = Event;
    type Durable = Kept;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let server = self.fixed.0 == SERVER;
        match input {
            Input::Start { .. } if server => self.return_ball(out),
            Input::Command(Command::Acquire | Command::Share) if server => {
                out.emit(Event::entered(Fence::default()));
            }
            Input::Command(Command::Acquire | Command::Share) => self.ask(out),
            Input::Command(Command::Release) => out.emit(Event::Left),
            Input::Message { message: Message::Ball, .. } => self.return_ball(out),
            Input::Message { message: Message::Request | Message::Deferred, .. } => self.serve(out),
            Input::Message { message: Message::Grant, .. } => {
                self.waits = false;
                out.emit(Event::entered(Fence::default()));
            }
            Input::Timer(Later) => out.send(SERVER, Message::Request),
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

fn ball_game(handling: Handling) -> Maker {
    group_of(2, move |me, _: Group| BallGame { fixed: Fixed::new((me, handling)), waits: false, even: false })
}

/// Returns whether the checker finds a fair run that starves the client; the reference explorer
/// must agree.
fn is_starved(handling: Handling, bounds: &Bounds) -> bool {
    let make = ball_game(handling);
    let mut starved_before = None;
    for effort in [only(&["served"]), Effort { properties: only(&["served"]).properties, ..reduced() }] {
        let mut checker = checker(&make, bounds);
        let findings = checker.run(&effort, &mut |_, _| true);
        let served = verdict(&findings, "served");
        assert!(findings.is_complete() && served.holds.is_some());
        assert!(findings.fair.is_some(), "{handling:?}: the ball is exchanged for ever, so there must be cycles");
        if let Some(example) = &served.counterexample {
            assert!(example.cycle().is_some_and(|start| start < example.len()), "{handling:?}");
            checker.replay(example, ()).unwrap();
        }
        let starved = served.holds == Some(false);
        assert_eq!(*starved_before.get_or_insert(starved), starved, "{handling:?}: reduction changes nothing");
    }
    let starved = starved_before.unwrap();
    assert_eq!(starved, starves(&make, bounds), "{handling:?}");
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
fn a_dropped_request_starves_while_the_ball_is_exchanged() {
    for bounds in [Bounds::new(2, 1), Bounds::new(2, None), Bounds::new(2, 2).fifo()] {
        assert!(is_starved(Handling::Drops, &bounds));
        assert!(is_starved(Handling::DropsAlone, &bounds));
    }
}

/// The request is delivered again and again, each time at the wrong moment.
#[test]
fn a_request_that_is_deferred_for_ever_starves() {
    assert!(is_starved(Handling::Defers, &Bounds::new(2, 1)));
}

/// The network never becomes quiet, so the timer need not fire; but a run in which it never fires
/// is unfair.
#[test]
fn a_timer_that_never_fires_is_an_unfair_run() {
    assert!(!is_starved(Handling::AsksLater, &Bounds::new(2, 1)));
    assert!(!is_starved(Handling::AsksLater, &Bounds::new(2, 1).early_timers(1)));
}

#[test]
fn a_timer_that_is_reset_for_ever_starves() {
    assert!(is_starved(Handling::ResetsTimer, &Bounds::new(2, 1)));
    assert!(is_starved(Handling::ResetsTimer, &Bounds::new(2, 1).early_timers(1)));
}

#[test]
fn a_save_that_is_never_synced_is_an_unfair_run() {
    assert!(!is_starved(Handling::SavesFirst, &Bounds::new(2, 1)));
}

/// Two copies of one grant make the client enter twice, the second time without a request.
#[test]
fn entering_without_a_request_is_found() {
    let make = ball_game(Handling::Grants);
    let doubled = Bounds::new(2, 1).duplicates(1);
    let findings = check(&make, &doubled, &only(&["asked-first"]));
    // Request, receive it, duplicate the grant, receive it, release or not, receive it again.
    assert_eq!(counterexample_len(&findings, "asked-first"), Some(5));
    assert_eq!(explore(&make, &doubled).unrequested, Some(5));
    let findings = check(&make, &Bounds::new(2, 1), &only(&["asked-first"]));
    assert_eq!(counterexample_len(&findings, "asked-first"), None);
}

/// A holder eventually releases, whatever else happens.
#[test]
fn a_holder_that_never_releases_is_an_unfair_run() {
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct SingleHolder {
        me: NodeId,
        held: bool,
        asked: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    enum Reply {
        Ball,
        Ask,
        Open,
    }

    impl Describe for Reply {
        fn kind(&self) -> &'static str {
            "message"
        }
    }

    /// The first node holds the lock while it is in the critical section; the other one may enter
    /// after that.
    impl Protocol for SingleHolder {
        type Command = Command;
        type Message = Reply;
        type Timer = Never;
        type Event = Event;
        type Durable = ();

        fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
            match input {
                Input::Start { .. } if self.me == SERVER => out.send(SERVER, Reply::Ball),
                Input::Message { message: Reply::Ball, .. } => out.send(SERVER, Reply::Ball),
                Input::Command(Command::Acquire | Command::Share) if self.me == SERVER => {
                    self.held = true;
                    out.emit(Event::entered(Fence::default()));
                }
                Input::Command(Command::Acquire | Command::Share) => out.send(SERVER, Reply::Ask),
                Input::Command(Command::Release) => {
                    self.held = false;
                    out.emit(Event::Left);
                    if std::mem::take(&mut self.asked) {
                        out.send(CLIENT, Reply::Open);
                    }
                }
                Input::Message { message: Reply::Ask, .. } if self.held => self.asked = true,
                Input::Message { message: Reply::Ask, .. } => out.send(CLIENT, Reply::Open),
                Input::Message { message: Reply::Open, .. } => out.emit(Event::entered(Fence::default())),
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

    let make = group_of(2, |me, _| SingleHolder { me, held: false, asked: false });
    let bounds = Bounds::new(2, 1);
    let findings = check(&make, &bounds, &only(&["served"]));
    assert_eq!(verdict(&findings, "served").holds, Some(true));
    assert!(!starves(&make, &bounds));
}
