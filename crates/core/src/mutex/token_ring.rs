//! A token that goes round a ring (Le Lann 1977, and every textbook).
//!
//! The members form a ring in the order of their numbers, and one token goes round it, from the lowest member on.
//! Whoever has the token may enter. One that wants in keeps the token until it has left; everybody else passes it on at
//! once. Nobody asks anybody, so that nobody is ever disturbed by a request; but the token moves even when nobody
//! wants it.
//!
//! ```text
//! TR-1  asked to enter           → enter if the token rests here, else wait for it
//! TR-2  the token is wanted      → keep it and enter
//! TR-3  the token is not wanted  → pass it on to the next member of the ring
//! TR-4  asked to leave           → pass the token on, even if the user asks again at once
//! TR-5  a round without an entry → let the token rest here for one message time before it goes on; it rests at the
//!                                  lowest member in the beginning, too
//! TR-6  asked to give up         → want nothing; the token will come and go
//! TR-7  the token meets a try    → let it enter if nobody else was inside since the token was last here; else deny
//!                                  it, and pass the token on
//! TR-8  on call: asked to enter  → call the token, which sleeps at the lowest member or has left there
//! TR-9  on call: token unwanted  → pass it on; but let it sleep at the lowest member until it is called, unless
//!                                  somebody has called since it set out
//! ```
//!
//! Cost: 1 message an entry if everyone wants in; without bound if few do, for the token moves on: n messages in n+1
//! message times when idle. 0 to n+1 T from asking to entering: n hops, and one rest on the way. 1 to n−1 T from a
//! leave to the next entry. A group of one sends nothing and sets no timer. On call, a message to call and n to go round
//! once, which all who want in meanwhile share; nothing when idle.
//!
//! Assumes: no node dies or restarts; every message arrives once. Requests are served in the order of the ring, which is
//! not happened-before order: at most n−1 others enter between a request and its entry.
//!
//! When it fails: a dead node, even an idle one, keeps the token that comes to it, and everyone who waits waits for
//! ever. So does a lost token. If the lowest member restarts, it brings a second token, and two may be inside. The form
//! `--passing acknowledged` skips the dead and replaces a lost token, in the synchronous model.
//!
//! Try: answered when the token comes, since nobody knows where it is: after n+1 T and whatever time others spend inside
//! on its way. The token tells whether one of the others was inside since it was last here: then somebody may have been
//! in the way, and the try is denied. A try where the token rests enters at once.
//!
//! Many names: a token that always moves never comes to an end, so that no name would ever be forgotten; and a name that
//! only some nodes have heard of has no token yet. The form for many names, `TokenRing::on_call`, lets the token
//! sleep at the lowest member instead (TR-8, TR-9).
//!
//! In views: a member reports where its user stands. The ring closes over the members of the new view, which has a token of
//! its own: with the one inside, who keeps it until it leaves, or else at the lowest member, where it rests as in the
//! beginning. A token of an older view is dropped.
//!
//! Departs from the book: the token says how far it has come since the last entry, so that it can rest, and so that a
//! try can be denied; and it carries the fence of the last entry.

use super::prelude::*;
use super::token::{Hand, Token};
use crate::bounds::Bounds;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    fairness: Fairness::FromAsking(|nodes| nodes as u64 - 1),
    restless: true,
    form: &[passing("trusting", true)],
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "token-ring",
    class: "token-based",
    summary: "one token goes round; whoever has it may enter",
    source: include_str!("token_ring.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    messages: "1…∞, full 1",
    client: "0…n+1 T",
    sync: "1…n−1 T",
    total: |case, entries| match (case.load, entries.checked_sub(1)) {
        _ if case.peers() == 0 => Range::exactly(0),
        (Load::Everyone, _) => Range::exactly(entries),
        // Once to the node that asks, a whole round for each further entry, and on.
        (Load::Alone(node), Some(again)) => {
            let place = case.group.place_of(node).unwrap_or_default() as u64;
            Range::at_least(place + 1 + case.nodes().saturating_mul(again))
        }
        (Load::Alone(_) | Load::Some, _) => Range::at_least(entries),
    },
    client_delay: |case| if case.peers() == 0 { Range::exactly(0) } else { Range::between(0, case.nodes() + 1) },
    sync_delay: |case| Range::between(1, case.peers().max(1)),
};

pub(super) const fn passing(value: &'static str, usual: bool) -> Choice {
    Choice { of: PROFILE.name, option: "passing", value, usual }
}

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    place: Fixed<Place>,
    phase: Phase<Patience, ()>,
    /// With the token in its hand, a node is inside, or the token rests or sleeps here.
    hand: Hand<Lap>,
    /// On call, at the lowest member: somebody has called since the token set out.
    called: bool,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    /// The members before and behind this one.
    previous: NodeId,
    next: NodeId,
    home: NodeId,
    round: u32,
    pace: Pace,
}

/// What the token does where nobody wants it.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// It goes on, and rests this long after each round.
    Restless(Duration),
    /// It goes on until it is at the lowest member, and sleeps there.
    OnCall,
}

/// How far the token has come. The count ends at a whole round, so that it stays small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lap {
    /// How many hops it has gone since the last entry or rest.
    pub hops: u32,
    /// Whether that was an entry.
    pub used: bool,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the next one: it is your turn.
    Token(Token<Lap>),
    /// On call, to the lowest member: let the token set out.
    Call,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Call => "call",
        }
    }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
    Rest,
}

impl Protocol for TokenRing {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { .. } => self.set_out(out),
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.want(patience, out),
                Wish::GiveUp => self.give_up(out),
                Wish::Leave => self.leave(out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Token(token) if from == self.place.previous => self.receive(token, out),
                Message::Token(_) => {
                    out.note("TR-3", format_args!("ignores a token: {from} is not the member before"));
                }
                Message::Call => self.hear_call(from, out),
            },
            Input::Timer(Timer::Rest) => self.rise(out),
            beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

/// Where the user stands, the token if it is here, and who is before and behind: what those who spoil a node must know.
#[cfg(any(test, feature = "fixtures"))]
impl TokenRing {
    pub(crate) const fn is_waiting(&self) -> bool {
        self.phase.waiting().is_some()
    }

    pub(crate) const fn is_inside(&self) -> bool {
        self.phase.inside().is_some()
    }

    pub(crate) const fn token(&self) -> Option<&Token<Lap>> {
        self.hand.token()
    }

    pub(crate) fn previous(&self) -> NodeId {
        self.place.previous
    }

    pub(crate) fn next(&self) -> NodeId {
        self.place.next
    }
}

impl TokenRing {
    /// A node of this group, idle. The token is at the lowest member, and never stays for longer than one message time
    /// where nobody wants it.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        Self::with_pace(me, &group, Pace::Restless(bounds.message))
    }

    /// A node of this group, idle, as one of many names. The token sleeps at the lowest member until it is called.
    pub fn on_call(me: NodeId, group: Group) -> Self {
        Self::with_pace(me, &group, Pace::OnCall)
    }

    fn with_pace(me: NodeId, group: &Group, pace: Pace) -> Self {
        let neighbour = |node: Option<NodeId>| node.unwrap_or(me);
        let home = neighbour(group.first());
        let place = Place {
            me,
            previous: neighbour(group.predecessor(me)),
            next: neighbour(group.successor(me)),
            home,
            round: u32::try_from(group.len()).unwrap_or(u32::MAX),
            pace,
        };
        let hand = if me == home { Hand::holding(Lap::default()) } else { Hand::empty() };
        Self { place: Fixed::new(place), phase: Phase::Idle, hand, called: false }
    }

    /// TR-1, TR-8. A node with the token that is not inside lets it rest, or sleep.
    fn want(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if self.hand.holds() {
            self.wake(out);
            out.note("TR-1", format_args!("has the token here"));
            return self.enter(out);
        }
        self.phase = Phase::Waiting(patience);
        match self.place.pace {
            Pace::Restless(_) => out.note("TR-1", format_args!("waits for the token")),
            Pace::OnCall if self.is_home() => {
                out.note("TR-8", format_args!("waits for the token, which has left"));
                self.called = true;
            }
            Pace::OnCall => {
                out.note("TR-8", format_args!("calls the token"));
                out.send(self.place.home, Message::Call);
            }
        }
    }

    /// TR-2, TR-3, TR-7. A second token, which only a peer that breaks the rules can bring, is put away.
    fn receive(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        if !self.hand.take(token) {
            return out.note("TR-3", format_args!("puts a second token away"));
        }
        match self.phase {
            Phase::Waiting(Patience::Wait) => {
                out.note("TR-2", format_args!("keeps the token"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) if self.was_free() => {
                out.note("TR-7", format_args!("keeps the token: nobody else was inside"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) => {
                self.phase.end();
                out.note("TR-7", format_args!("denies: somebody was inside since the token was last here"));
                out.emit(Event::Denied);
                self.let_go("TR-7", out);
            }
            Phase::Idle | Phase::Inside(()) => self.let_go("TR-3", out),
        }
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.hand.enter() else { return };
        self.write(Lap { hops: 0, used: true });
        self.phase = Phase::Inside(());
        out.emit(Event::entered(fence));
    }

    /// TR-4. Whoever comes next has waited longer than one who asks again.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        self.let_go("TR-4", out);
    }

    /// TR-6. Nobody has been asked, so nobody need be told.
    fn give_up(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.note("TR-6", format_args!("lets the token come and go"));
        out.emit(Event::Cancelled);
    }

    /// TR-3, TR-5, TR-9. Nobody here wants the token, or nobody may have it again.
    fn let_go(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        match self.place.pace {
            Pace::Restless(_) if self.has_come_round() => self.rest(out),
            Pace::OnCall if self.is_home() && !self.called => {
                self.write(Lap::default());
                out.note("TR-9", format_args!("lets the token sleep"));
            }
            Pace::Restless(_) | Pace::OnCall => self.pass(rule, out),
        }
    }

    /// TR-5. Where there is nobody else, the token stays for ever.
    fn rest(&mut self, out: &mut Effects<'_, Self>) {
        self.write(Lap::default());
        match self.place.pace {
            Pace::Restless(length) if !self.is_alone() => {
                out.note("TR-5", format_args!("lets the token rest"));
                out.set_timer(Timer::Rest, Span::exactly(length));
            }
            Pace::Restless(_) | Pace::OnCall => {}
        }
    }

    /// TR-5. A rest that the user has ended does not end again.
    fn rise(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.is_idle() {
            self.pass("TR-5", out);
        }
    }

    fn wake(&self, out: &mut Effects<'_, Self>) {
        match self.place.pace {
            Pace::Restless(_) if !self.is_alone() => out.cancel_timer(Timer::Rest),
            Pace::Restless(_) | Pace::OnCall => {}
        }
    }

    /// TR-8, TR-9. A call that finds the token gone is remembered: it may come from one whom the token has just passed.
    fn hear_call(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match self.place.pace {
            Pace::OnCall if self.is_home() => {
                self.called = true;
                if self.hand.holds() && self.phase.is_idle() {
                    self.pass("TR-9", out);
                } else {
                    out.note("TR-9", format_args!("remembers that {from} called"));
                }
            }
            Pace::Restless(_) | Pace::OnCall => out.note("TR-9", format_args!("ignores a call of {from}")),
        }
    }

    fn pass(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        if self.is_alone() {
            return;
        }
        let Some(mut token) = self.hand.pass() else { return };
        token.label.hops = token.label.hops.saturating_add(1).min(self.place.round);
        self.called = false;
        out.note(rule, format_args!("passes the token on"));
        out.send(self.place.next, Message::Token(token));
    }

    fn write(&mut self, lap: Lap) {
        if let Some(label) = self.hand.label_mut() {
            *label = lap;
        }
    }

    fn has_come_round(&self) -> bool {
        self.hand.label().is_some_and(|lap| lap.hops >= self.place.round)
    }

    /// Whether nobody else was inside since the token was last here. After a whole round the last entry was our own.
    fn was_free(&self) -> bool {
        self.hand.label().is_some_and(|lap| !lap.used) || self.has_come_round()
    }

    fn is_home(&self) -> bool {
        self.place.me == self.place.home
    }

    fn is_alone(&self) -> bool {
        self.place.next == self.place.me
    }

    fn assert_invariants(&self) {
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(_) => debug_assert!(!self.hand.holds(), "one who waits has no token"),
            Phase::Inside(()) => debug_assert!(self.hand.holds(), "one inside has the token"),
        }
        debug_assert!(!self.called || self.is_home(), "calls go to the lowest member");
    }
}

impl OneOfMany for TokenRing {
    type Floor = Floor;

    /// A token that always moves is never done. One that sleeps where it began leaves nothing behind.
    fn is_idle(&self) -> bool {
        let rests = match self.place.pace {
            Pace::Restless(_) => self.is_alone(),
            Pace::OnCall => self.hand.holds() == self.is_home(),
        };
        rests && self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        self.hand.floor(Clock::default())
    }

    fn raise(&mut self, floor: &Floor) {
        self.hand.raise(floor);
    }
}

impl Succession for TokenRing {
    fn standing(&self) -> Standing {
        self.phase.standing()
    }

    /// Every view has a ring and a token of its own. One that is with the one inside is in use.
    fn begin(&mut self, me: NodeId, past: &Past) {
        *self = Self::with_pace(me, past.group(), self.place.pace);
        self.phase = Phase::of_view(me, past);
        self.hand = Hand::of_view(me, past);
        self.write(Lap { hops: 0, used: !self.phase.is_idle() });
    }

    /// TR-5. The first round begins with a rest, so that one who asks in the beginning finds the token at home. A token
    /// in use does not rest.
    fn set_out(&mut self, out: &mut Effects<'_, Self>) {
        if self.hand.holds() && self.phase.is_idle() {
            self.rest(out);
        }
    }
}

#[cfg(test)]
mod tests;
