//! Ricart–Agrawala mutual exclusion with numbers modulo 2n−1 (1981).
//!
//! As in Ricart–Agrawala, a node that wants to enter asks all others, and nodes that are in the
//! critical section or asked earlier reply later. A waiting node thus holds back all later
//! requests, so the numbers of concurrent requests are less than n apart, and numbers on a circle
//! of 2n−1 suffice: of two numbers less than n apart, the later one is unambiguous. A node then has
//! finitely many states, and a checker can explore all runs completely, not only the first few
//! rounds.
//!
//! ```text
//! RM-1  the client asks to enter → number a request one higher than all known ones and send it to
//!                                  every peer; if an earlier request or try of ours still lacks
//!                                  answers, wait for them first
//! RM-2  a request arrives        → reply; defer the reply instead if we are in the critical
//!                                  section, or if ours is pending and older
//! RM-3  all answers have arrived → enter; if the client no longer waits, send all deferred replies
//! RM-4  the client releases      → send all deferred replies
//! RM-5  the client cancels       → confirm it; the request stays pending, and keeps its position
//!                                  until all have answered
//! RM-6  the client tries         → send a try, which has no number, to every peer; if an earlier
//!                                  request or try of ours still lacks answers, deny it at once
//! RM-7  a try arrives            → reply; deny it instead if we are in the critical section or
//!                                  waiting, or if our try is pending and our node id is lower
//! RM-8  our try is pending       → one denial ends it, and so does our reply to a request or a try
//! ```
//!
//! Cost: 2(n−1) messages per entry; 2T (two message times) from request to entry; T from a release
//! to the next entry. A cancelled request also costs 2(n−1) messages, and so does a denied try that
//! was sent.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order.
//!
//! When it fails: one crashed node, even an idle one, blocks all later requests; no other node
//! enters wrongly. A restarted node counts from 0 again, which is later than some numbers and
//! earlier than others, so two nodes may enter. Two nodes may also enter if a message arrives
//! twice. Lost messages block the nodes that wait for them. The algorithm cannot run in views:
//! there a resource must recognise a late holder by its fence, and two entries of one view would
//! have the same.
//!
//! Try: decided within 2T, by a conflicting node or by all replies; it delays no request.
//!
//! Departs from the paper: the paper has neither cancellation nor tries, and its bound of 2n−1
//! depends on their absence. A cancelled request continues to hold back younger ones: if they
//! passed, their numbers would move too far from a node that has not received the cancelled request
//! yet. That delays them only by message times, because all requests that the cancelled one waits
//! for go before them too. Tries have no number, because denied tries would move the numbers too
//! far from the request that denies them. Replies name no request, because a node asks no new
//! question (request or try) before all have answered the last one. They carry no clock either:
//! even with one, requests would not be granted in happened-before order, because a request made
//! while a cancelled one is pending gets its number late. There are no fences: they would grow
//! forever.

mod reading;

pub use reading::Reading;

use super::prelude::*;
use super::ricart_agrawala;
use reading::{Circle, Stamp};

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::None,
    has_fences: false,
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

/// A node of the algorithm.
///
/// The algorithm does not implement `OneOfMany`, so the wrapper `Many` cannot run it once per
/// resource: a node would have to keep its reading when it discards the state of a resource, and
/// readings of different resources cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawalaModulo {
    config: Fixed<Config>,
    /// The latest reading (the number of a request) that we have received or used ourselves. If our
    /// own readings did not count, a peer's reading could be n ahead of it.
    latest_reading: Reading,
    phase: Phase,
    /// The nodes to which we owe a reply.
    deferred_nodes: BTreeSet<NodeId>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
    circle: Circle,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// Waiting for the answers to our last question, even if our client no longer waits.
    Asking {
        question: Question,
        /// The nodes that have not answered yet.
        missing_nodes: BTreeSet<NodeId>,
        after_answers: AfterAnswers,
    },
    Inside,
}

/// A request or a try, which all other nodes must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Request(Reading),
    Try,
}

/// The node's action once all have answered its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum AfterAnswers {
    /// Enter: our client waits for these answers.
    Enter,
    /// Become idle: our client has cancelled or was denied.
    Idle,
    /// Send a request: our client has cancelled or was denied, and has requested again.
    Request,
}

/// The messages between nodes. At most one question and one answer are in transit from one node to
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// A request to enter in turn.
    Request { reading: Reading },
    /// A request to enter at once.
    Try,
    /// The sender has no objection to the entry.
    Reply,
    /// The denial of a try.
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
            Input::Command(Command::Try) => self.try_enter(out),
            Input::Command(Command::Cancel) => self.cancel(out),
            Input::Command(Command::Release) => self.release(out),
            Input::Message { from, message } => match message {
                Message::Request { reading } => self.on_request(from, reading, out),
                Message::Try => self.on_try(from, out),
                Message::Reply => self.on_reply(from, out),
                Message::Denied => self.on_denial(from, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl RicartAgrawalaModulo {
    /// An idle node of this group.
    pub fn new(me: NodeId, group: Group) -> Self {
        let circle = Circle::for_group(&group);
        Self {
            config: Fixed::new(Config { me, group, circle }),
            latest_reading: Reading::default(),
            phase: Phase::Idle,
            deferred_nodes: BTreeSet::new(),
        }
    }

    /// RM-1. Only one question of a node is pending at a time, so that each answer is unambiguous.
    fn request(&mut self, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Idle => self.send_request(out),
            Phase::Asking { after_answers: after_answers @ AfterAnswers::Idle, .. } => {
                *after_answers = AfterAnswers::Request;
                out.note("RM-1", format_args!("will request entry when all have answered its last request or try"));
            }
            Phase::Asking { after_answers: AfterAnswers::Enter | AfterAnswers::Request, .. } => {
                out.emit(Event::Refused(Refusal::AlreadyWaiting));
            }
            Phase::Inside => out.emit(Event::Refused(Refusal::AlreadyInside)),
        }
    }

    /// RM-1. A new request is younger than every request this node has received.
    fn send_request(&mut self, out: &mut Effects<'_, Self>) {
        self.latest_reading = self.config.circle.next(self.latest_reading);
        let reading = self.latest_reading;
        out.note("RM-1", format_args!("requests entry with {}", self.own_stamp(reading)));
        self.ask(Question::Request(reading), Message::Request { reading }, out);
    }

    fn ask(&mut self, question: Question, message: Message, out: &mut Effects<'_, Self>) {
        let missing_nodes: BTreeSet<_> = self.config.group.others(self.config.me).collect();
        if !missing_nodes.is_empty() {
            out.multicast(&self.config.group, message);
        }
        self.phase = Phase::Asking { question, missing_nodes, after_answers: AfterAnswers::Enter };
        self.continue_if_answered(out);
    }

    /// RM-2. Our own request goes first if it is older, even if our client has cancelled it.
    fn on_request(&mut self, from: NodeId, reading: Reading, out: &mut Effects<'_, Self>) {
        let request = Stamp { reading: self.config.circle.normalize(reading), node: from };
        if self.config.circle.is_later(request.reading, self.latest_reading) {
            self.latest_reading = request.reading;
        }
        match self.phase {
            Phase::Inside => {
                out.note("RM-2", format_args!("defers {request}: we are in the critical section"));
                self.deferred_nodes.insert(from);
            }
            Phase::Asking { question: Question::Request(ours), .. }
                if self.config.circle.is_older(self.own_stamp(ours), request) =>
            {
                out.note("RM-2", format_args!("defers {request}: ours {} goes first", self.own_stamp(ours)));
                self.deferred_nodes.insert(from);
            }
            Phase::Asking { .. } | Phase::Idle => {
                out.note("RM-2", format_args!("replies to {request}"));
                out.send(from, Message::Reply);
                self.give_way(from, out);
            }
        }
    }

    /// RM-3. Only one question of ours is pending, so a reply cannot answer another.
    fn on_reply(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Asking { missing_nodes, .. } if missing_nodes.contains(&from) => {
                missing_nodes.remove(&from);
                self.continue_if_answered(out);
            }
            Phase::Asking { .. } | Phase::Idle | Phase::Inside => {
                out.note("RM-3", format_args!("ignores a reply of {from}, from which it expects no answer"));
            }
        }
    }

    /// RM-3. The algorithm has no fences, so every entry has the default one.
    fn continue_if_answered(&mut self, out: &mut Effects<'_, Self>) {
        let after_answers = match &self.phase {
            Phase::Asking { missing_nodes, after_answers, .. } if missing_nodes.is_empty() => *after_answers,
            Phase::Asking { .. } | Phase::Idle | Phase::Inside => return,
        };
        match after_answers {
            AfterAnswers::Enter => {
                self.phase = Phase::Inside;
                out.note("RM-3", format_args!("has every reply"));
                out.emit(Event::entered(Fence::default()));
            }
            AfterAnswers::Idle => self.become_idle("RM-3", out),
            AfterAnswers::Request => {
                self.become_idle("RM-3", out);
                self.send_request(out);
            }
        }
    }

    /// RM-4.
    fn release(&mut self, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Inside => {
                out.emit(Event::Left);
                self.become_idle("RM-4", out);
            }
            Phase::Idle | Phase::Asking { .. } => out.emit(Event::Refused(Refusal::NotInside)),
        }
    }

    /// Ends the question or entry and sends all deferred replies.
    fn become_idle(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Idle;
        for node in core::mem::take(&mut self.deferred_nodes) {
            out.note(rule, format_args!("sends its deferred reply to {node}"));
            out.send(node, Message::Reply);
        }
    }

    /// RM-5. No other node receives a message. A request that has not been sent yet is never sent.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Asking { after_answers: after_answers @ (AfterAnswers::Enter | AfterAnswers::Request), .. } => {
                *after_answers = AfterAnswers::Idle;
                out.emit(Event::Cancelled);
                out.note("RM-5", format_args!("will be idle when all have answered"));
            }
            Phase::Idle | Phase::Asking { after_answers: AfterAnswers::Idle, .. } => {
                out.emit(Event::Refused(Refusal::NotWaiting));
            }
            Phase::Inside => out.emit(Event::Refused(Refusal::AlreadyInside)),
        }
    }

    /// RM-6. A try needs an answer at once, so it cannot wait for the answers to the last question.
    fn try_enter(&mut self, out: &mut Effects<'_, Self>) {
        match &self.phase {
            Phase::Idle => {
                out.note("RM-6", format_args!("sends a try to all"));
                self.ask(Question::Try, Message::Try, out);
            }
            Phase::Asking { after_answers: AfterAnswers::Idle, .. } => {
                out.note("RM-6", format_args!("cannot try before all have answered its last request or try"));
                out.emit(Event::Denied);
            }
            Phase::Asking { after_answers: AfterAnswers::Enter | AfterAnswers::Request, .. } => {
                out.emit(Event::Refused(Refusal::AlreadyWaiting));
            }
            Phase::Inside => out.emit(Event::Refused(Refusal::AlreadyInside)),
        }
    }

    /// RM-7. A cancelled request does not conflict with a try.
    fn on_try(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        let conflicts = match self.phase {
            Phase::Inside | Phase::Asking { after_answers: AfterAnswers::Request, .. } => true,
            Phase::Asking { after_answers: AfterAnswers::Enter, question: Question::Request(_), .. } => true,
            Phase::Asking { after_answers: AfterAnswers::Enter, question: Question::Try, .. } => self.config.me < from,
            Phase::Asking { after_answers: AfterAnswers::Idle, .. } | Phase::Idle => false,
        };
        if conflicts {
            out.note("RM-7", format_args!("denies the try of {from}"));
            out.send(from, Message::Denied);
        } else {
            out.note("RM-7", format_args!("replies to the try of {from}"));
            out.send(from, Message::Reply);
            self.give_way(from, out);
        }
    }

    /// RM-8. Ends our try, if one is pending. The node that we just replied to may have replied to
    /// our try before it made its own request or try, so otherwise both could enter.
    fn give_way(&mut self, to: NodeId, out: &mut Effects<'_, Self>) {
        if let Phase::Asking { question: Question::Try, after_answers: after_answers @ AfterAnswers::Enter, .. } =
            &mut self.phase
        {
            *after_answers = AfterAnswers::Idle;
            out.note("RM-8", format_args!("gives way to {to}"));
            out.emit(Event::Denied);
        }
    }

    /// RM-8. One denial is enough, and only a try can be denied.
    fn on_denial(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match &mut self.phase {
            Phase::Asking { question: Question::Try, missing_nodes, after_answers }
                if missing_nodes.contains(&from) =>
            {
                missing_nodes.remove(&from);
                if *after_answers == AfterAnswers::Enter {
                    *after_answers = AfterAnswers::Idle;
                    out.emit(Event::Denied);
                }
                self.continue_if_answered(out);
            }
            Phase::Asking { .. } | Phase::Idle | Phase::Inside => {
                out.note("RM-8", format_args!("ignores a denial of {from}, from which it expects no answer to a try"));
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    fn own_stamp(&self, reading: Reading) -> Stamp {
        Stamp { reading, node: self.config.me }
    }

    fn assert_invariants(&self) {
        match &self.phase {
            Phase::Idle => debug_assert!(self.deferred_nodes.is_empty(), "an idle node owes no reply"),
            Phase::Asking { question, missing_nodes, .. } => {
                debug_assert!(!missing_nodes.is_empty(), "a node with every answer does not wait");
                debug_assert!(*question != Question::Try || self.deferred_nodes.is_empty(), "a try defers no request");
            }
            Phase::Inside => {}
        }
    }
}

#[cfg(test)]
mod tests;
