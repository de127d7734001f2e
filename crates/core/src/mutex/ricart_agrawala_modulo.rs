//! Ricart–Agrawala mutual exclusion with numbers modulo 2n−1 (1981).
//!
//! As in Ricart–Agrawala, whoever wants to enter asks everyone, and those who are inside or asked earlier answer
//! later. Whoever waits thus holds back all who asked after it, so the numbers of requests that are out together are
//! less than n apart, and it is enough to count round a circle of 2n−1: of two numbers less than n apart it is plain
//! which is the later. A node then has finitely many states, and a checker can go through all that may ever happen,
//! not only through the first few rounds.
//!
//! ```text
//! RM-1  asked to enter      → number a request one higher than all we know and send it to every peer; if they have
//!                             not all answered what we asked last, do so as soon as they have
//! RM-2  a request arrives   → reply; defer the reply instead if inside, or if ours is out and older
//! RM-3  all answers are in  → enter; if nobody wants that any more, reply to everyone deferred
//! RM-4  asked to leave      → reply to everyone deferred
//! RM-5  asked to give up    → tell the user; what we asked stays out, and keeps its place until all have answered
//! RM-6  asked to try        → send a try, which has no number, to every peer; if they have not all answered what we
//!                             asked last, the try is denied at once
//! RM-7  a try arrives       → reply; deny it instead if inside or waiting, or if ours is out and our node is lower
//! RM-8  our try is out      → one denial ends it, and so does a request or a try that we let pass
//! ```
//!
//! Cost: 2(n−1) messages an entry; 2T from asking to entering; T from a leave to the next entry. What is given up or
//! denied costs 2(n−1) messages too.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order.
//!
//! When it fails: one dead node, even an idle one, stops everyone who asks from then on; nobody else enters
//! wrongly. One that restarts counts from 0 again, which is the later number for some and the earlier one for others,
//! so that two may enter. They may, too, where a message arrives twice. Lost messages stop those who wait for them. It
//! cannot run in views: there a resource must tell a late holder by its fence, and two entries of one view would have the same.
//!
//! Try: answered within 2T, by what stands in its way or by all replies; it holds up nobody who asks to enter.
//!
//! Departs from the paper: the paper knows neither giving up nor tries, and its bound depends on that. A request that
//! is given up goes on holding back younger ones: if they passed, numbers would run away from a node that has yet to
//! hear of it. That costs them no more than message times, because whoever it waits for goes before them too. Tries
//! have no number, because denied ones would count away from the request that denies them. Replies name no request,
//! because a node asks nothing before all have answered what it asked last. Nor do they carry a clock, so requests are
//! not served in happened-before order; with a clock they would not be either, because what is asked for while an
//! abandoned request is out gets its number late. There are no fences: they would grow for ever.

mod reading;

pub use reading::Reading;

use super::prelude::*;
use super::ricart_agrawala;
use reading::{Circle, Stamp};

/// What the book says of it.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::None,
    fences: false,
    ..Facts::new(
        Profile {
            name: "ricart-agrawala-modulo",
            summary: "ricart-agrawala with numbers modulo 2n−1: finitely many states",
            source: include_str!("ricart_agrawala_modulo.rs"),
            ..ricart_agrawala::FACTS.profile
        },
        ricart_agrawala::FACTS.cost,
    )
};

/// One node of the algorithm.
///
/// It is not one of many: a forgotten instance would have to leave its reading behind, and readings of different
/// resources cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawalaModulo {
    place: Fixed<Place>,
    /// The latest reading that we heard of or used ourselves. If our own did not count, a peer could be n ahead.
    highest: Reading,
    phase: Phase,
    /// Whom we owe a reply.
    deferred: BTreeSet<NodeId>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    circle: Circle,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Asking { question: Question, missing: BTreeSet<NodeId>, then: Then },
    Inside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Request(Reading),
    Try,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Then {
    /// Enter: our user waits for these very answers.
    Enter,
    /// Nothing: our user has given up or is denied.
    Rest,
    /// Send a request: our user has given up or is denied, and has asked anew.
    Ask,
}

/// What nodes send each other. There is at most one question, and one answer, from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// May I enter, when it is my turn?
    Request { reading: Reading },
    /// May I enter at once?
    Try,
    /// You may, as far as I am concerned.
    Reply,
    /// Not now: the answer to a try.
    Denied,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Try => "try",
            Self::Reply => "reply",
            Self::Denied => "denied",
        }
    }
}

impl Protocol for RicartAgrawalaModulo {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Acquire | Command::Share) => self.request(out),
            Input::Command(Command::Try) => self.attempt(out),
            Input::Command(Command::Cancel) => self.cancel(out),
            Input::Command(Command::Release) => self.leave(out),
            Input::Message { from, message } => match message {
                Message::Request { reading } => self.answer(from, reading, out),
                Message::Try => self.answer_try(from, out),
                Message::Reply => self.collect(from, out),
                Message::Denied => self.accept_denial(from, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl RicartAgrawalaModulo {
    /// A node of this group, idle.
    pub fn new(me: NodeId, group: Group) -> Self {
        let circle = Circle::of(&group);
        Self {
            place: Fixed::new(Place { me, group, circle }),
            highest: Reading::default(),
            phase: Phase::Idle,
            deferred: BTreeSet::new(),
        }
    }

    /// RM-1. Only one question of a node is out at a time, so that no answer is taken for another.
    fn request(&mut self, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Idle => self.send_request(out),
            Phase::Asking { then: then @ Then::Rest, .. } => {
                *then = Then::Ask;
                out.note("RM-1", format_args!("will ask when all have answered what it asked last"));
            }
            Phase::Asking { then: Then::Enter | Then::Ask, .. } => {
                out.emit(Event::Refused(Refusal::AlreadyWaiting));
            }
            Phase::Inside => out.emit(Event::Refused(Refusal::AlreadyInside)),
        }
    }

    /// RM-1. A new request is younger than every one this node has heard of.
    fn send_request(&mut self, out: &mut Effects<'_, Self>) {
        self.highest = self.place.circle.after(self.highest);
        let reading = self.highest;
        out.note("RM-1", format_args!("asks everyone with {}", self.stamped(reading)));
        self.ask(Question::Request(reading), Message::Request { reading }, out);
    }

    fn ask(&mut self, question: Question, message: Message, out: &mut Effects<'_, Self>) {
        let missing: BTreeSet<_> = self.place.group.others(self.place.me).collect();
        if !missing.is_empty() {
            out.multicast(&self.place.group, message);
        }
        self.phase = Phase::Asking { question, missing, then: Then::Enter };
        self.go_on_if_answered(out);
    }

    /// RM-2. Our own request goes first if it is older, even if our user has given it up.
    fn answer(&mut self, from: NodeId, reading: Reading, out: &mut Effects<'_, Self>) {
        let asked = Stamp { reading: self.place.circle.place(reading), node: from };
        if self.place.circle.follows(asked.reading, self.highest) {
            self.highest = asked.reading;
        }
        match self.phase {
            Phase::Inside => {
                out.note("RM-2", format_args!("defers {asked}: we are inside"));
                self.deferred.insert(from);
            }
            Phase::Asking { question: Question::Request(ours), .. }
                if self.place.circle.is_older(self.stamped(ours), asked) =>
            {
                out.note("RM-2", format_args!("defers {asked}: ours {} goes first", self.stamped(ours)));
                self.deferred.insert(from);
            }
            Phase::Asking { .. } | Phase::Idle => {
                out.note("RM-2", format_args!("lets {asked} pass"));
                out.send(from, Message::Reply);
                self.give_way(from, out);
            }
        }
    }

    /// RM-3. Only one question of ours is out, so a reply cannot answer another.
    fn collect(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Asking { missing, .. } if missing.contains(&from) => {
                missing.remove(&from);
                self.go_on_if_answered(out);
            }
            Phase::Asking { .. } | Phase::Idle | Phase::Inside => {
                out.note("RM-3", format_args!("ignores a reply of {from}, which was not asked"));
            }
        }
    }

    /// RM-3. Without fences the journal shows none.
    fn go_on_if_answered(&mut self, out: &mut Effects<'_, Self>) {
        let then = match &self.phase {
            Phase::Asking { missing, then, .. } if missing.is_empty() => *then,
            Phase::Asking { .. } | Phase::Idle | Phase::Inside => return,
        };
        match then {
            Then::Enter => {
                self.phase = Phase::Inside;
                out.note("RM-3", format_args!("has every reply"));
                out.emit(Event::entered(Fence::default()));
            }
            Then::Rest => self.rest("RM-3", out),
            Then::Ask => {
                self.rest("RM-3", out);
                self.send_request(out);
            }
        }
    }

    /// RM-4.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Inside => {
                out.emit(Event::Left);
                self.rest("RM-4", out);
            }
            Phase::Idle | Phase::Asking { .. } => out.emit(Event::Refused(Refusal::NotInside)),
        }
    }

    fn rest(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Idle;
        for node in core::mem::take(&mut self.deferred) {
            out.note(rule, format_args!("lets {node} pass at last"));
            out.send(node, Message::Reply);
        }
    }

    /// RM-5. Nobody else is told. A request that is not sent yet never will be.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Asking { then: then @ (Then::Enter | Then::Ask), .. } => {
                *then = Then::Rest;
                out.emit(Event::Cancelled);
                out.note("RM-5", format_args!("will rest when all have answered"));
            }
            Phase::Idle | Phase::Asking { then: Then::Rest, .. } => out.emit(Event::Refused(Refusal::NotWaiting)),
            Phase::Inside => out.emit(Event::Refused(Refusal::AlreadyInside)),
        }
    }

    /// RM-6. Whoever wants an answer at once does not want to wait for those to what was asked last.
    fn attempt(&mut self, out: &mut Effects<'_, Self>) {
        match &self.phase {
            Phase::Idle => {
                out.note("RM-6", format_args!("tries everyone"));
                self.ask(Question::Try, Message::Try, out);
            }
            Phase::Asking { then: Then::Rest, .. } => {
                out.note("RM-6", format_args!("cannot try before all have answered what it asked last"));
                out.emit(Event::Denied);
            }
            Phase::Asking { then: Then::Enter | Then::Ask, .. } => {
                out.emit(Event::Refused(Refusal::AlreadyWaiting));
            }
            Phase::Inside => out.emit(Event::Refused(Refusal::AlreadyInside)),
        }
    }

    /// RM-7. What our user has given up is in nobody's way.
    fn answer_try(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        let in_its_way = match self.phase {
            Phase::Inside | Phase::Asking { then: Then::Ask, .. } => true,
            Phase::Asking { then: Then::Enter, question: Question::Request(_), .. } => true,
            Phase::Asking { then: Then::Enter, question: Question::Try, .. } => self.place.me < from,
            Phase::Asking { then: Then::Rest, .. } | Phase::Idle => false,
        };
        if in_its_way {
            out.note("RM-7", format_args!("denies the try of {from}"));
            out.send(from, Message::Denied);
        } else {
            out.note("RM-7", format_args!("lets the try of {from} pass"));
            out.send(from, Message::Reply);
            self.give_way(from, out);
        }
    }

    /// RM-8. Whom we have just let pass may have let our try pass before it asked, and must not meet us inside.
    fn give_way(&mut self, to: NodeId, out: &mut Effects<'_, Self>) {
        if let Phase::Asking { question: Question::Try, then: then @ Then::Enter, .. } = &mut self.phase {
            *then = Then::Rest;
            out.note("RM-8", format_args!("gives way to {to}"));
            out.emit(Event::Denied);
        }
    }

    /// RM-8. One denial is enough, and only a try can be denied.
    fn accept_denial(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Asking { question: Question::Try, missing, then } if missing.contains(&from) => {
                missing.remove(&from);
                if *then == Then::Enter {
                    *then = Then::Rest;
                    out.emit(Event::Denied);
                }
                self.go_on_if_answered(out);
            }
            Phase::Asking { .. } | Phase::Idle | Phase::Inside => {
                out.note("RM-8", format_args!("ignores a denial of {from}, which it did not try"));
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    fn stamped(&self, reading: Reading) -> Stamp {
        Stamp { reading, node: self.place.me }
    }

    fn assert_invariants(&self) {
        match &self.phase {
            Phase::Idle => debug_assert!(self.deferred.is_empty(), "an idle node owes nobody a reply"),
            Phase::Asking { question, missing, .. } => {
                debug_assert!(!missing.is_empty(), "a node with every answer goes on");
                debug_assert!(*question != Question::Try || self.deferred.is_empty(), "a try holds up nobody");
            }
            Phase::Inside => {}
        }
    }
}

#[cfg(test)]
mod tests;
