//! A token ring that survives its members: acknowledged passing, and a new token for a lost one (Le Lann 1977).
//!
//! The token goes round as in `token-ring`, but whoever gets it says so at once. Who hears nothing within the time that
//! an answer can take knows that the next member is dead, and passes the token to the one behind it. If the token
//! dies with the one who has it, those who wait send a search round the ring. It ends where the token is. The search
//! that comes back to its starter has met nobody who has the token, and of several only that of the highest member
//! comes back: its starter is elected, and makes a new token.
//!
//! ```text
//! TA-1   asked to enter             → enter if the token rests here, else wait for it
//! TA-2   the token comes            → acknowledge it; keep it and enter if it is wanted, else pass it on
//! TA-3   no acknowledgement in time → the member is dead: pass the same to the next one, and skip the dead from now on
//! TA-4   asked to leave             → pass the token on, even if the user asks again at once
//! TA-5   a round without an entry   → let the token rest here for one message time before it goes on; it rests at the
//!                                     lowest member in the beginning, too
//! TA-6   asked to give up           → want nothing; the token will come and go, and so will a search
//! TA-7   the token meets a try      → let it enter if nobody else was inside since the token was last here; else deny
//!                                     it, and pass the token on
//! TA-8   the token does not come    → after as long as it may need to go round, send a search round, with a generation
//!                                     above all that were heard of here; again after as long
//! TA-9   a search comes             → acknowledge it; stop it where the token is or has not been acknowledged yet, or
//!                                     if our own is under way and we are the higher member; else end our own, and pass it on
//! TA-10  our own search comes back  → make a new token of its generation, unless the token has come meanwhile
//! TA-11  a second token comes       → keep the younger one; put away one that is older than the last one seen here
//! TA-12  nobody else is alive       → the token stays for ever
//! ```
//!
//! Cost: as `token-ring`: 1 message an entry if everyone wants in, without bound if few do; 0 to n+1 T from asking to
//! entering, 1 to n−1 T from a leave to the next entry. Acknowledgements and searches find out who is alive, and are
//! control messages, counted apart: one for each token that is passed, and twice n for a search that goes all the way
//! round. A dead member costs whoever comes upon it the wait for an answer, once: 2T and a nanosecond. A lost token
//! costs those who wait the time of a round with such a wait at each member, and the search's own round.
//!
//! Assumes: the synchronous model with crash-stop. Any number of nodes may die, at any time, and stay dead. Every
//! message arrives once, in any order, also one whose sender has died since, and none takes longer than the bound. No input
//! keeps a node busy for longer than its bound, and never are more than three inputs from each member and six others
//! in line. Clocks run at the same rate. Nobody need leave within any time: a search ends at a node that is inside.
//! Requests are served in the order of the ring: at most n−1 others enter between a request and its entry, and as many
//! as are alive again for each token that is lost meanwhile, n(n−1)/2 in all.
//!
//! When it fails: one acknowledgement that is lost or late, and there are two tokens, so two may be inside: only in
//! the synchronous model does silence mean death. The member that was taken for dead is skipped from then on, and waits
//! in vain, unless the acknowledgement comes after all. A second token goes round until it meets a node that has seen a
//! younger one. A node that stands still for longer than the bound is taken for dead too. Nodes must not
//! restart: the lowest member brings a second token, and others skip who was dead once. It cannot run in views: there silence is never
//! evidence, and `token-ring` needs none to go on without the dead.
//!
//! Try: answered when the token comes, as in `token-ring`; if it is lost, when there is a new one.
//!
//! Many names: not in this form. Each name would have a token that always moves, and none would ever be forgotten; and a
//! token that sleeps until it is called, as that of `TokenRing::on_call`, is found missing only by those who call.
//!
//! Departs from the book: passes are numbered, so that an acknowledgement is told from that of an earlier round. A
//! token that comes back before its acknowledgement is one. The search is its own election, and carries the generation
//! of the token that it may lead to: who passes it on never makes one of that generation, so that fences, which begin
//! with it, grow whoever dies. A token that skips a dead member counts as one entry, so that the two that a lost
//! acknowledgement makes do not begin with the same fence.

mod passing;

use self::passing::Passing;
pub use self::passing::{Cargo, Number, Search};
use super::Model;
use super::prelude::*;
use super::token::{Hand, Token};
use super::token_ring::{self, Lap};
use crate::bounds::Bounds;
use crate::describe::Class;
use crate::group::Epoch;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    profile: PROFILE,
    fairness: Fairness::FromAsking(|nodes| (nodes as u64).saturating_mul(nodes as u64 - 1) / 2),
    model: Model::Synchronous,
    form: &[token_ring::passing("acknowledged", false)],
    ..token_ring::FACTS
};

const PROFILE: Profile = Profile {
    name: "token-ring-acknowledged",
    summary: "a token ring that skips the dead and replaces a lost token, if messages are never late",
    source: include_str!("token_ring_acknowledged.rs"),
    ..token_ring::FACTS.profile
};

/// How many inputs may be in line before what was passed, and before its acknowledgement: at each of the two nodes a
/// search, an acknowledgement and a timer for each member, and as many for what is no search.
const IN_LINE: u64 = 6;

/// What comes exactly when the longest answer does comes in time.
const A_MOMENT_LONGER: Duration = Duration::from_nanos(1);

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRingAcknowledged {
    place: Fixed<Place>,
    phase: Phase<Patience, ()>,
    /// With the token in its hand, a node is inside, or the token rests here.
    hand: Hand<Lap>,
    /// What was passed on and is not acknowledged, and who is known to be dead.
    passing: Passing,
    watch: Watch,
    /// The fence of the youngest token that was here.
    seen: Fence,
    /// The largest generation that a search was for, as far as this node has heard.
    sought: Epoch,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    round: u32,
    rest: Duration,
    answer: Duration,
    /// How long the token or a search can take to go round, if nobody is inside.
    patience: Duration,
}

/// Whether this node looks after a token that does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Watch {
    /// No: it does not wait, and no search of its own is under way.
    Asleep,
    /// It waits, and will search when its patience ends.
    Awake,
    /// Its search is under way, or was stopped where it does not know, until its patience ends.
    Searching(Epoch),
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the next one that is alive: something that goes round.
    Pass { number: Number, cargo: Cargo },
    /// To the one before: it is here.
    Received(Number),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Pass { cargo: Cargo::Token(_), .. } => "token",
            Self::Pass { cargo: Cargo::Search(_), .. } => "search",
            Self::Received(_) => "received",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Pass { cargo: Cargo::Token(_), .. } => Class::Algorithm,
            Self::Pass { cargo: Cargo::Search(_), .. } | Self::Received(_) => Class::Control,
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Pass { cargo: Cargo::Search(search), .. } => Some(search.starter),
            Self::Pass { cargo: Cargo::Token(_), .. } | Self::Received(_) => None,
        }
    }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
    Rest,
    /// The longest that the acknowledgement of this pass can take.
    Silence(Number),
    /// The longest that the token, or a search, can take to go round.
    Patience,
}

impl Protocol for TokenRingAcknowledged {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { .. } => self.begin(out),
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.want(patience, out),
                Wish::GiveUp => self.give_up(out),
                Wish::Leave => self.leave(out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } if self.passing.is_peer(from) => match message {
                Message::Pass { number, cargo } => self.receive(from, number, cargo, out),
                Message::Received(number) => self.hear_received(from, number, out),
            },
            Input::Message { from, .. } => {
                out.note("TA-2", format_args!("ignores {from}, which is not one of the others"));
            }
            Input::Timer(Timer::Rest) => self.rise(out),
            Input::Timer(Timer::Silence(number)) => self.skip(number, out),
            Input::Timer(Timer::Patience) => self.look(out),
            // The book's form: nothing is saved, nobody but the ring itself tells who is dead, and there are no views.
            beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl TokenRingAcknowledged {
    /// A node of this group, idle, where nothing takes longer than that. The token is at the lowest member.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        let members = group.len() as u64;
        let line = bounds.processing.times(IN_LINE.saturating_mul(members.saturating_add(2)));
        let answer = bounds.message.times(2) + line + A_MOMENT_LONGER;
        let place = Place {
            me,
            round: u32::try_from(members).unwrap_or(u32::MAX),
            rest: bounds.message,
            answer,
            patience: answer.times(members.saturating_add(1)),
        };
        let is_home = group.first().is_none_or(|home| home == me);
        Self {
            place: Fixed::new(place),
            phase: Phase::Idle,
            hand: if is_home { Hand::holding(Lap::default()) } else { Hand::empty() },
            passing: Passing::new(me, &group),
            watch: Watch::Asleep,
            seen: Fence::default(),
            sought: Epoch::default(),
        }
    }

    /// TA-5. The first round begins with a rest, so that one who asks in the beginning finds the token at home.
    fn begin(&mut self, out: &mut Effects<'_, Self>) {
        if self.hand.holds() && !self.passing.is_alone() {
            self.rest(out);
        }
    }

    /// TA-1. A node with the token that is not inside lets it rest. Whoever must wait looks after the token too.
    fn want(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if self.hand.holds() {
            if !self.passing.is_alone() {
                out.cancel_timer(Timer::Rest);
            }
            out.note("TA-1", format_args!("has the token here"));
            return self.enter(out);
        }
        out.note("TA-1", format_args!("waits for the token"));
        self.phase = Phase::Waiting(patience);
        if self.watch == Watch::Asleep {
            self.watch = Watch::Awake;
            self.be_patient(out);
        }
    }

    /// TA-2, TA-9. What goes round is acknowledged before anything else is done with it, even if it is put away.
    fn receive(&mut self, from: NodeId, number: Number, cargo: Cargo, out: &mut Effects<'_, Self>) {
        out.send(from, Message::Received(number));
        match cargo {
            Cargo::Token(token) => self.receive_token(token, out),
            Cargo::Search(search) if search.starter == self.place.me => self.receive_own(search, out),
            Cargo::Search(search) if self.passing.is_peer(search.starter) => self.receive_search(search, out),
            Cargo::Search(search) => {
                out.note("TA-9", format_args!("ignores a search of {}, which is no member", search.starter));
            }
        }
    }

    /// TA-2, TA-11. In the synchronous model there is one token, and what comes is never older than what was here.
    fn receive_token(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        if token.fence < self.seen {
            return out.note("TA-11", format_args!("puts a token with {} away: {} was here", token.fence, self.seen));
        }
        // The token has gone all the way round, so it has arrived where it went, whatever is said of that later.
        if let Some(number) = self.passing.forget_token() {
            out.cancel_timer(Timer::Silence(number));
        }
        match self.hand.pass() {
            Some(older) => {
                out.note("TA-11", format_args!("puts a token with {} away, and keeps the other", older.fence));
                self.take(token, out);
            }
            None => {
                self.take(token, out);
                self.use_token("TA-2", out);
            }
        }
    }

    /// Whoever has the token looks for it no longer.
    fn take(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        if self.watch != Watch::Asleep {
            self.watch = Watch::Asleep;
            out.cancel_timer(Timer::Patience);
        }
        self.seen.raise(token.fence);
        let taken = self.hand.take(token);
        debug_assert!(taken, "the hand was empty");
    }

    /// TA-2, TA-7. A token that has just been made lets a try in: nobody is inside.
    fn use_token(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Waiting(Patience::Wait) => {
                out.note(rule, format_args!("keeps the token"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) if self.was_free() => {
                out.note("TA-7", format_args!("keeps the token: nobody else was inside"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) => {
                self.phase.end();
                out.note("TA-7", format_args!("denies: somebody was inside since the token was last here"));
                out.emit(Event::Denied);
                self.let_go("TA-7", out);
            }
            Phase::Idle | Phase::Inside(()) => self.let_go(rule, out),
        }
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.hand.enter() else { return };
        self.seen.raise(fence);
        self.write(Lap { hops: 0, used: true });
        self.phase = Phase::Inside(());
        out.emit(Event::entered(fence));
    }

    /// TA-4. Whoever comes next has waited longer than one who asks again.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        self.let_go("TA-4", out);
    }

    /// TA-6. A search that is under way goes on, for it may have ended those of others.
    fn give_up(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.note("TA-6", format_args!("lets the token come and go"));
        out.emit(Event::Cancelled);
        if self.watch == Watch::Awake {
            self.watch = Watch::Asleep;
            out.cancel_timer(Timer::Patience);
        }
    }

    /// TA-2, TA-5, TA-12. Nobody here wants the token, or nobody may have it again.
    fn let_go(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        if self.passing.is_alone() {
            self.write(Lap::default());
            out.note("TA-12", format_args!("keeps the token: nobody else is alive"));
        } else if self.has_come_round() {
            self.rest(out);
        } else {
            self.pass(rule, out);
        }
    }

    /// TA-5. Where nobody uses the token, it need not hurry.
    fn rest(&mut self, out: &mut Effects<'_, Self>) {
        self.write(Lap::default());
        out.note("TA-5", format_args!("lets the token rest"));
        out.set_timer(Timer::Rest, Span::exactly(self.place.rest));
    }

    /// TA-5. A rest that the user has ended does not end again.
    fn rise(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.is_idle() {
            self.pass("TA-5", out);
        }
    }

    fn pass(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Some(token) = self.hand.pass() else { return };
        out.note(rule, format_args!("passes the token on"));
        self.send_on(Cargo::Token(token), out);
    }

    /// To the next member that is not known to be dead. A search has come to its end where only its starter comes next,
    /// and that is dead or this node itself.
    fn send_on(&mut self, cargo: Cargo, out: &mut Effects<'_, Self>) {
        if let Some(pass) = self.passing.begin(cargo) {
            let cargo = cargo.moved(pass.hops, self.place.round);
            out.send(pass.to, Message::Pass { number: pass.number, cargo });
            return out.set_timer(Timer::Silence(pass.number), Span::exactly(self.place.answer));
        }
        match cargo {
            Cargo::Token(token) => self.remain_alone(token, out),
            Cargo::Search(search) if search.starter == self.place.me => self.receive_own(search, out),
            Cargo::Search(search) => {
                out.note("TA-3", format_args!("drops the search of {}, which is dead", search.starter));
            }
        }
    }

    /// TA-12. All others have turned out to be dead, one after the other.
    fn remain_alone(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        self.take(Token { label: Lap::default(), ..token }, out);
        self.use_token("TA-12", out);
    }

    /// TA-3. An acknowledgement that comes too late does no more than bring its node back into the ring.
    fn hear_received(&mut self, from: NodeId, number: Number, out: &mut Effects<'_, Self>) {
        if self.passing.end(from, number) {
            out.cancel_timer(Timer::Silence(number));
        } else if self.passing.revive(from) {
            out.note("TA-3", format_args!("hears too late that {from} is alive"));
        }
    }

    /// TA-3. In the synchronous model whoever is silent has died before what was passed came there, and all that it
    /// had sent before has arrived by now.
    fn skip(&mut self, number: Number, out: &mut Effects<'_, Self>) {
        let Some((dead, cargo)) = self.passing.give_up(number) else { return };
        out.note("TA-3", format_args!("takes {dead} for dead, and skips it"));
        let cargo = match cargo {
            Cargo::Token(token) => Cargo::Token(Token { fence: token.fence.next(), ..token }),
            Cargo::Search(search) => Cargo::Search(search),
        };
        self.send_on(cargo, out);
    }

    /// TA-8. Whoever still passes the token on knows where it is.
    fn look(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.waiting().is_none() {
            self.watch = Watch::Asleep;
            return;
        }
        if self.passing.has_token() {
            self.watch = Watch::Awake;
            out.note("TA-8", format_args!("does not search: it still passes the token on"));
            return self.be_patient(out);
        }
        let generation = Epoch(self.sought.max(self.seen.epoch).0.saturating_add(1));
        self.sought = generation;
        self.watch = Watch::Searching(generation);
        out.note("TA-8", format_args!("searches for the token, to make one of generation {generation}"));
        self.send_on(Cargo::Search(Search { starter: self.place.me, generation }), out);
        // Where all others are dead, the search has ended already.
        if self.watch != Watch::Asleep {
            self.be_patient(out);
        }
    }

    fn be_patient(&self, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Patience, Span::exactly(self.place.patience));
    }

    /// TA-9. The token never gets behind a search but by passing its starter, so a search that nobody stops has looked
    /// everywhere. Of two searches each comes past the other's starter, and one of these stops it or ends its own.
    fn receive_search(&mut self, search: Search, out: &mut Effects<'_, Self>) {
        let Search { starter, generation } = search;
        self.sought = self.sought.max(generation);
        if self.hand.holds() {
            return out.note("TA-9", format_args!("stops the search of {starter}: the token is here"));
        }
        if self.passing.has_token() {
            return out.note("TA-9", format_args!("stops the search of {starter}: the token has just left"));
        }
        if let Watch::Searching(_) = self.watch {
            if self.place.me > starter {
                return out.note("TA-9", format_args!("stops the search of {starter}, which is lower"));
            }
            out.note("TA-9", format_args!("ends its own search: {starter} is higher"));
            self.end_search(out);
        }
        out.note("TA-9", format_args!("passes the search of {starter} on"));
        self.send_on(Cargo::Search(search), out);
    }

    /// TA-9. Patience goes on: the higher member may die, and its search with it.
    fn end_search(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.waiting().is_some() {
            self.watch = Watch::Awake;
        } else {
            self.watch = Watch::Asleep;
            out.cancel_timer(Timer::Patience);
        }
    }

    /// TA-10. A search that was ended, or that the token has overtaken, means nothing any more.
    fn receive_own(&mut self, search: Search, out: &mut Effects<'_, Self>) {
        let Search { generation, .. } = search;
        if self.watch != Watch::Searching(generation) {
            return out.note("TA-10", format_args!("ignores its own search, which has ended"));
        }
        out.note("TA-10", format_args!("makes a new token: nobody has one"));
        let fence = Fence { epoch: generation, counter: 0 };
        self.take(Token { fence, label: Lap::default() }, out);
        self.use_token("TA-10", out);
    }

    fn write(&mut self, lap: Lap) {
        if let Some(label) = self.hand.label_mut() {
            *label = lap;
        }
    }

    fn has_come_round(&self) -> bool {
        self.hand.label().is_some_and(|lap| lap.hops >= self.place.round)
    }

    /// Whether nobody else was inside since the token was last here. After a whole round the last entry was our own, or
    /// that of one who is dead.
    fn was_free(&self) -> bool {
        self.hand.label().is_some_and(|lap| !lap.used) || self.has_come_round()
    }

    fn assert_invariants(&self) {
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(_) => {
                debug_assert!(!self.hand.holds(), "one who waits has no token");
                debug_assert!(self.watch != Watch::Asleep, "one who waits looks after the token");
            }
            Phase::Inside(()) => debug_assert!(self.hand.holds(), "one inside has the token"),
        }
        if let Watch::Searching(_) = self.watch {
            debug_assert!(!self.hand.holds() && !self.passing.has_token(), "nobody searches for what it has");
        }
        debug_assert!(!(self.hand.holds() && self.passing.has_token()), "one token is here or has left");
    }
}

#[cfg(test)]
mod tests;
