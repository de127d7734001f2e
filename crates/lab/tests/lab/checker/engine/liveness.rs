//! Fairness, on protocols made to mislead: what is owed excuses a run, what is paid again and again does not.

use crate::checker::engine::common::{breach, check, checker, group_of, only, reduced, verdict};
use crate::checker::engine::reference::{Bounds, Maker, explore, starves};
use quorate_check::Effort;
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Duration, Effects, Fence, Fixed, Group, Input, Never, NodeId, Protocol, Span, Time};
use serde::{Deserialize, Serialize};

/// How a request fares while a ball goes to and fro between the two nodes for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Habit {
    Grants,
    /// The server grants it, and hits the ball to itself.
    GrantsAlone,
    Drops,
    /// The server drops it, and hits the ball to itself.
    DropsAlone,
    /// The server grants it every other time, and else lays it aside to look at it again.
    Dithers,
    /// The client asks when its timer fires.
    AsksLater,
    /// The client asks when its timer fires, and sets it anew with every ball.
    PutsOff,
    /// The client asks once its save is durable.
    SavesFirst,
}

/// The lowest node serves, the other one asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Tennis {
    place: Fixed<(NodeId, Habit)>,
    waits: bool,
    even: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Message {
    Ball,
    Request,
    /// A request that was laid aside.
    Aside,
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

impl Tennis {
    fn later(out: &mut Effects<'_, Self>) {
        out.set_timer(Later, Span::exactly(Duration::from_millis(1)));
    }

    fn serve(&self, out: &mut Effects<'_, Self>) {
        match self.place.1 {
            Habit::Drops | Habit::DropsAlone => {}
            Habit::Dithers if !self.even => out.send(SERVER, Message::Aside),
            Habit::Dithers
            | Habit::Grants
            | Habit::GrantsAlone
            | Habit::AsksLater
            | Habit::PutsOff
            | Habit::SavesFirst => out.send(CLIENT, Message::Grant),
        }
    }

    fn ask(&mut self, out: &mut Effects<'_, Self>) {
        self.waits = true;
        match self.place.1 {
            Habit::AsksLater | Habit::PutsOff => Self::later(out),
            Habit::SavesFirst => {
                out.save(());
                out.send(SERVER, Message::Request);
            }
            Habit::Grants | Habit::GrantsAlone | Habit::Drops | Habit::DropsAlone | Habit::Dithers => {
                out.send(SERVER, Message::Request);
            }
        }
    }

    fn hit(&mut self, out: &mut Effects<'_, Self>) {
        let (me, habit) = *self.place;
        match habit {
            Habit::GrantsAlone | Habit::DropsAlone => return out.send(me, Message::Ball),
            Habit::PutsOff if self.waits && me == CLIENT => Self::later(out),
            Habit::Grants | Habit::Drops | Habit::Dithers | Habit::AsksLater | Habit::PutsOff | Habit::SavesFirst => {}
        }
        self.even = !self.even;
        // The ball comes back as it was, so that the run can come back to where it was.
        out.send(if me == SERVER { CLIENT } else { SERVER }, Message::Ball);
    }
}

impl Protocol for Tennis {
    type Command = Command;
    type Message = Message;
    type Timer = Later;
    type Event = Event;
    type Durable = Kept;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let server = self.place.0 == SERVER;
        match input {
            Input::Start { .. } if server => self.hit(out),
            Input::Command(Command::Acquire | Command::Share) if server => {
                out.emit(Event::entered(Fence::default()));
            }
            Input::Command(Command::Acquire | Command::Share) => self.ask(out),
            Input::Command(Command::Release) => out.emit(Event::Left),
            Input::Message { message: Message::Ball, .. } => self.hit(out),
            Input::Message { message: Message::Request | Message::Aside, .. } => self.serve(out),
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

fn tennis(habit: Habit) -> Maker {
    group_of(2, move |me, _: Group| Tennis { place: Fixed::new((me, habit)), waits: false, even: false })
}

/// Whether the checker finds a fair run that starves the client; the plain explorer must agree.
fn is_starved(habit: Habit, bounds: &Bounds) -> bool {
    let make = tennis(habit);
    let mut told = None;
    for effort in [only(&["served"]), Effort { properties: only(&["served"]).properties, ..reduced() }] {
        let mut checker = checker(&make, bounds);
        let findings = checker.run(&effort, &mut |_, _| true);
        let served = verdict(&findings, "served");
        assert!(findings.is_complete() && served.holds.is_some());
        assert!(findings.fair.is_some(), "{habit:?}: the ball flies for ever, so runs go in circles");
        if let Some(example) = &served.counterexample {
            assert!(example.cycle().is_some_and(|start| start < example.len()), "{habit:?}");
            checker.play(example, ()).unwrap();
        }
        let starved = served.holds == Some(false);
        assert_eq!(*told.get_or_insert(starved), starved, "{habit:?}: reduction changes nothing");
    }
    let starved = told.unwrap();
    assert_eq!(starved, starves(&make, bounds), "{habit:?}");
    starved
}

#[test]
fn a_request_that_is_never_delivered_accuses_nobody() {
    for bounds in [Bounds::new(2, 1), Bounds::new(2, None), Bounds::new(2, 2).fifo()] {
        assert!(!is_starved(Habit::Grants, &bounds));
        assert!(!is_starved(Habit::GrantsAlone, &bounds));
    }
}

#[test]
fn a_request_that_is_dropped_starves_while_the_rest_goes_on() {
    for bounds in [Bounds::new(2, 1), Bounds::new(2, None), Bounds::new(2, 2).fifo()] {
        assert!(is_starved(Habit::Drops, &bounds));
        assert!(is_starved(Habit::DropsAlone, &bounds));
    }
}

/// It is delivered again and again, and each time at the wrong moment.
#[test]
fn a_request_that_is_laid_aside_again_and_again_starves() {
    assert!(is_starved(Habit::Dithers, &Bounds::new(2, 1)));
}

/// Nothing falls quiet, so the timer never may fire; but a run in which it never does is not fair.
#[test]
fn a_timer_that_is_owed_accuses_nobody() {
    assert!(!is_starved(Habit::AsksLater, &Bounds::new(2, 1)));
    assert!(!is_starved(Habit::AsksLater, &Bounds::new(2, 1).hasty_timers(1)));
}

#[test]
fn a_timer_that_is_set_anew_for_ever_starves() {
    assert!(is_starved(Habit::PutsOff, &Bounds::new(2, 1)));
    assert!(is_starved(Habit::PutsOff, &Bounds::new(2, 1).hasty_timers(1)));
}

#[test]
fn a_save_that_is_never_synced_accuses_nobody() {
    assert!(!is_starved(Habit::SavesFirst, &Bounds::new(2, 1)));
}

/// Two copies of one grant let the client in twice, and the second time it did not ask.
#[test]
fn whoever_enters_without_asking_is_seen() {
    let make = tennis(Habit::Grants);
    let doubled = Bounds::new(2, 1).duplicates(1);
    let findings = check(&make, &doubled, &only(&["asked-first"]));
    // Ask, hear, double the grant, hear it, leave or not, hear it again.
    assert_eq!(breach(&findings, "asked-first"), Some(5));
    assert_eq!(explore(&make, &doubled).unasked, Some(5));
    let findings = check(&make, &Bounds::new(2, 1), &only(&["asked-first"]));
    assert_eq!(breach(&findings, "asked-first"), None);
}

/// Who is inside leaves sooner or later, whatever else goes on.
#[test]
fn whoever_stays_inside_for_ever_accuses_nobody() {
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Door {
        me: NodeId,
        held: bool,
        asked: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    enum Word {
        Ball,
        Ask,
        Open,
    }

    impl Describe for Word {
        fn kind(&self) -> &'static str {
            "word"
        }
    }

    /// The first node holds the door as long as it is inside; the other one may come in after that.
    impl Protocol for Door {
        type Command = Command;
        type Message = Word;
        type Timer = Never;
        type Event = Event;
        type Durable = ();

        fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
            match input {
                Input::Start { .. } if self.me == SERVER => out.send(SERVER, Word::Ball),
                Input::Message { message: Word::Ball, .. } => out.send(SERVER, Word::Ball),
                Input::Command(Command::Acquire | Command::Share) if self.me == SERVER => {
                    self.held = true;
                    out.emit(Event::entered(Fence::default()));
                }
                Input::Command(Command::Acquire | Command::Share) => out.send(SERVER, Word::Ask),
                Input::Command(Command::Release) => {
                    self.held = false;
                    out.emit(Event::Left);
                    if std::mem::take(&mut self.asked) {
                        out.send(CLIENT, Word::Open);
                    }
                }
                Input::Message { message: Word::Ask, .. } if self.held => self.asked = true,
                Input::Message { message: Word::Ask, .. } => out.send(CLIENT, Word::Open),
                Input::Message { message: Word::Open, .. } => out.emit(Event::entered(Fence::default())),
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

    let make = group_of(2, |me, _| Door { me, held: false, asked: false });
    let bounds = Bounds::new(2, 1);
    let findings = check(&make, &bounds, &only(&["served"]));
    assert_eq!(verdict(&findings, "served").holds, Some(true));
    assert!(!starves(&make, &bounds));
}
