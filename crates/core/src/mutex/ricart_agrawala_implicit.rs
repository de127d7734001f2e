//! Ricart–Agrawala with implicit replies (1981, a message-saving form in the same paper).
//!
//! Where a message never takes longer than a known time, silence can say something. Whoever wants to enter asks everyone
//! and waits for as long as an answer can take. Only those who would keep their answer back say so at once, and reply
//! later; whoever says nothing consents.
//!
//! ```text
//! RI-1  asked to enter          → stamp a request, send it to every peer, and wait for as long as an answer can take
//! RI-2  a request arrives       → say nothing; say "deferred" and owe a reply if inside, or if ours is older
//! RI-3  an answer to us arrives → whoever defers is waited for, until its reply is here too
//! RI-4  the wait is over        → enter, if nobody is waited for; else as soon as the last reply is here
//! RI-5  asked to leave          → reply to everyone deferred
//! RI-6  asked to give up        → forget the request and reply to everyone deferred
//! RI-7  a try is in our way     → deny it where RI-2 would defer; one denial ends the try like RI-6
//! ```
//!
//! Cost: n−1 messages an entry if nobody defers, 3(n−1) if all do; 2T from asking to entering, where T is the longest
//! that a message may take, not what it takes; T from a leave to the next entry.
//!
//! Assumes: the synchronous model. No node dies or restarts; every message arrives once, in any order, and none takes
//! longer than the bound: it may take exactly as long, because the wait is a nanosecond longer than there and back.
//! No input keeps a node busy for longer than its bound, and never are more than four inputs from each member in line,
//! which is as much as happens if nobody gives up. Clocks run at the same rate. Requests are served in happened-before
//! order.
//!
//! When it fails: one "deferred" that comes after the wait, and two are inside: only in the synchronous model is
//! silence consent. A dead node is silent, so one that was idle stops nobody; a dead holder stops those whom it told to
//! wait, and lets in whoever asks later, though it never left. So does one that restarts and has forgotten that it was
//! inside; and since its clock begins again, its next request looks older than those it let pass, and two may be
//! inside. A lost message does as much harm as a late one. It cannot run in views: there silence is never evidence, and here
//! the silence of one who is frozen or has yet to hear of the view would be a consent.
//!
//! Try: answered within 2T, by the first denial or by silence until the wait is over.
//!
//! Departs from the paper: what is said names the request it is about and carries the clock, as in `ricart-agrawala`.
//! Silence carries no fence, but entries are in the order of their stamps, so the stamp of an entry makes its fence: n
//! times the clock, and the node's place in the group.

use super::consent::{self, Claim, Consent, Denial, Reply, Verdict};
use super::prelude::*;
use super::{Model, ricart_agrawala};
use crate::bounds::Bounds;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    order: ricart_agrawala::FACTS.order,
    fairness: ricart_agrawala::FACTS.fairness,
    model: Model::Synchronous,
    form: &[ricart_agrawala::requests("implicit", false)],
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "ricart-agrawala-implicit",
    summary: "ricart-agrawala where silence means consent, if messages are never late",
    source: include_str!("ricart_agrawala_implicit.rs"),
    ..ricart_agrawala::FACTS.profile
};

const COST: Cost = Cost {
    messages: "(n−1)…3(n−1)",
    client: "2T + 1ns",
    sync: "T",
    total: |case, entries| match case.load {
        Load::Alone(_) => Range::exactly(case.peers()).times(entries),
        Load::Everyone | Load::Some => Range::between(case.peers(), 3 * case.peers()).times(entries),
    },
    // By a nanosecond more than 2, so that what takes exactly as long as it may is in time.
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(1),
};

/// How many inputs from each member may be in line before a request: its own request, that it defers ours, its reply,
/// and one more for what our own user and timer want.
const IN_LINE: u64 = 4;

/// What comes exactly when the longest answer does comes in time.
const A_MOMENT_LONGER: Duration = Duration::from_nanos(1);

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawalaImplicit {
    /// Our own request with what was said to it, and the requests that we defer.
    consent: Consent<Answers>,
    wait: Fixed<Duration>,
}

/// What was said to a request so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Answers {
    /// Whether whoever has said nothing consents.
    wait_is_over: bool,
    /// Who defers.
    deferring: BTreeSet<NodeId>,
    /// Whose reply overtook the message that says that it defers.
    early: BTreeSet<NodeId>,
}

impl Answers {
    fn defers(&mut self, node: NodeId) {
        if !self.early.remove(&node) {
            self.deferring.insert(node);
        }
    }

    fn replies(&mut self, node: NodeId) {
        if !self.deferring.remove(&node) {
            self.early.insert(node);
        }
    }

    fn is_consent_of_all(&self) -> bool {
        self.wait_is_over && self.deferring.is_empty()
    }
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// May I enter? Say so if not.
    Request { stamp: Stamp, patience: Patience },
    /// Wait: my reply comes later.
    Deferred { to: Stamp, clock: Clock },
    /// You may after all, as far as I am concerned.
    Reply(Reply),
    /// Not now: the answer to a try that RI-2 would defer.
    Denied(Denial),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Deferred { .. } => "deferred",
            Self::Reply(_) => "reply",
            Self::Denied(_) => "denied",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { stamp, .. } => Some(stamp.node),
            Self::Deferred { to, .. } | Self::Reply(Reply { to, .. }) | Self::Denied(Denial { to, .. }) => {
                Some(to.node)
            }
        }
    }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The longest that an answer to our request can take.
    Silence,
}

impl Protocol for RicartAgrawalaImplicit {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.consent.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::Leave => self.end("RI-5", Event::Left, out),
                Wish::GiveUp => self.end("RI-6", Event::Cancelled, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, patience } if stamp.node == from => self.answer(stamp, patience, out),
                Message::Request { stamp, .. } => {
                    out.note("RI-2", format_args!("ignores a request of {} that {from} brought", stamp.node));
                }
                Message::Deferred { to, clock } => self.be_patient(from, to, clock, out),
                Message::Reply(reply) => self.collect(from, reply, out),
                Message::Denied(denial) => self.accept_denial(from, denial, out),
            },
            Input::Timer(Timer::Silence) => self.end_wait(out),
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.consent.assert_invariants(Answers::is_consent_of_all);
    }
}

impl RicartAgrawalaImplicit {
    /// A node of this group, idle, where nothing takes longer than that.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        let line = bounds.processing.times(IN_LINE.saturating_mul(group.len() as u64));
        let wait = bounds.message.times(2) + line + A_MOMENT_LONGER;
        Self { consent: Consent::new(me, group), wait: Fixed::new(wait) }
    }

    /// RI-1. In a group of one there is nobody to wait for.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let is_alone = self.consent.others().next().is_none();
        let answers = Answers { wait_is_over: is_alone, ..Answers::default() };
        let stamp = self.consent.ask(patience, Access::Exclusive, answers);
        out.note("RI-1", format_args!("asks everyone with {stamp}"));
        if !is_alone {
            out.multicast(self.consent.group(), Message::Request { stamp, patience });
            out.set_timer(Timer::Silence, Span::exactly(*self.wait));
        }
        self.enter_if_permitted(out);
    }

    /// RI-2, and RI-7. Our own request goes first if we are inside with it or if it is older.
    fn answer(&mut self, asked: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        match self.consent.judge(Claim::exclusive(asked), patience) {
            Verdict::Pass => out.note("RI-2", format_args!("lets {asked} pass by saying nothing")),
            Verdict::Defer { ours } => {
                let Reply { to, clock, .. } = self.consent.reply(asked);
                out.note("RI-2", format_args!("defers {asked}: ours {ours} goes first"));
                out.send(asked.node, Message::Deferred { to, clock });
            }
            Verdict::Deny => {
                out.note("RI-7", format_args!("denies {asked}"));
                out.send(asked.node, Message::Denied(self.consent.denial(asked)));
            }
        }
    }

    /// RI-3. Whoever is inside already hears it too late: the bound did not hold.
    fn be_patient(&mut self, from: NodeId, to: Stamp, clock: Clock, out: &mut Effects<'_, Self>) {
        self.consent.raise(&Floor { clock, fence: Fence::default() });
        let is_member = self.consent.group().contains(from);
        if self.consent.is_inside_with(to) {
            return out.note("RI-3", format_args!("hears too late that {from} defers {to}"));
        }
        match self.consent.waiting() {
            Some((stamp, _, answers)) if stamp == to && is_member => answers.defers(from),
            Some(_) | None => out.note("RI-3", format_args!("ignores that {from} defers {to}")),
        }
    }

    /// RI-3. A reply may overtake the message that announces it.
    fn collect(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.hear(reply) {
            Some(answers) => {
                answers.replies(from);
                self.enter_if_permitted(out);
            }
            None => out.note("RI-3", format_args!("ignores a reply to {}, which nobody waits with", reply.to)),
        }
    }

    /// RI-4. Whoever was to say something has said it by now.
    fn end_wait(&mut self, out: &mut Effects<'_, Self>) {
        let Some((stamp, _, answers)) = self.consent.waiting() else { return };
        answers.wait_is_over = true;
        if !answers.deferring.is_empty() {
            let deferring: Group = answers.deferring.iter().copied().collect();
            out.note("RI-4", format_args!("takes silence for consent to {stamp}, and waits for {deferring}"));
        }
        self.enter_if_permitted(out);
    }

    /// RI-4. All earlier entries have smaller stamps: whoever let us in had heard of ours, or had none that was older.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        let complete = self.consent.waiting().filter(|(_, _, answers)| answers.is_consent_of_all());
        let Some((stamp, ..)) = complete else { return };
        let fence = self.fence_below(stamp);
        self.consent.raise(&Floor { clock: Clock::default(), fence });
        if let Some((stamp, fence)) = self.consent.enter_if(Answers::is_consent_of_all) {
            out.note("RI-4", format_args!("has everyone's consent to {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// The stamp as one number, as large as the fences of all entries with smaller stamps can be.
    fn fence_below(&self, stamp: Stamp) -> Fence {
        let group = self.consent.group();
        let place = group.iter().position(|node| node == stamp.node).unwrap_or_default() as u64;
        let counter = stamp.clock.0.saturating_mul(group.len() as u64).saturating_add(place);
        Fence { counter, ..Fence::default() }
    }

    /// RI-5, RI-6 and RI-7. Whoever was told to wait needs a word; nobody else does.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        if self.consent.waiting().is_some_and(|(_, _, answers)| !answers.wait_is_over) {
            out.cancel_timer(Timer::Silence);
        }
        for reply in self.consent.end() {
            out.note(rule, format_args!("lets {} pass at last", reply.to));
            out.send(reply.to.node, Message::Reply(reply));
        }
    }

    /// RI-7. One denial is enough, and only a try can be denied.
    fn accept_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.hear_denial(denial).is_some() && self.consent.group().contains(from) {
            self.end("RI-7", Event::Denied, out);
        }
    }
}

consent::one_of_many!(RicartAgrawalaImplicit);

#[cfg(test)]
mod tests;
