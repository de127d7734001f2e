//! A token that goes round a ring (Le Lann 1977, and every textbook).
//!
//! The members form a ring in the order of their numbers, and one token goes round it, starting at
//! the lowest member. The holder of the token may enter. A node that wants to enter keeps the token
//! until it has released; all other nodes pass it on at once. Nodes send no requests, so a node
//! that wants to enter does not disturb others; but the token moves even if no node wants it. In
//! the form on demand, the token instead sleeps at the lowest member until a node calls it.
//!
//! ```text
//! TR-1  the client asks to enter → enter if the token is here, else wait for it
//! TR-2  the token is wanted      → keep it and enter
//! TR-3  the token is not wanted  → pass it on to the next member of the ring
//! TR-4  the client releases      → pass the token on, even if the client requests again at once
//! TR-5  a round without an entry → let the token rest here for one message time before it moves
//!                                  on; it rests at the lowest member in the beginning, too
//! TR-6  the client cancels       → become idle; pass the token on when it arrives
//! TR-7  a try gets the token     → enter if no other node has entered since the token was last
//!                                  here, rested or slept; else deny it, and pass the token on
//! TR-8  on demand: the client asks → send a call to the lowest member, where the token sleeps or
//!                                  which it has left
//! TR-9  on demand: token unwanted  → pass it on; but let it sleep at the lowest member until it is
//!                                  called, unless a call has arrived since it left
//! ```
//!
//! Cost: 1 message per entry if all nodes request; without bound if few do, because the token moves
//! on: n messages in n+1 message times when idle. 0 to (n+1)T (message times) from request to
//! entry: n hops, and one rest on the way. T to (n−1)T from a release to the next entry. A group of
//! one sends no messages and sets no timer. On demand, one message for the call and n for a round
//! of the token, which all requests made meanwhile share; none when idle.
//!
//! Assumes: no node crashes or restarts; every message arrives once. Requests are granted in the
//! order of the ring, which is not happened-before order. At most n−1 others enter between a
//! request and its entry.
//!
//! When it fails: a crashed node, even an idle one, keeps the token that arrives there, and all
//! waiting nodes wait forever. A lost token has the same effect. If the lowest member restarts, it
//! creates a second token, and two nodes may enter. The form `--passing acknowledged` skips crashed
//! nodes and replaces a lost token, in the synchronous model.
//!
//! Try: answered when the token arrives, since no node knows where it is: within (n+1)T plus the
//! time that others spend in the critical section meanwhile. The token shows whether another node
//! has entered since it was last here, rested or slept: then that node may have been in the way,
//! and the try is denied. A try where the token rests enters at once.
//!
//! Many resources: nodes that run the algorithm once for each resource (in the wrapper `Many`) use
//! the form on demand, `TokenRing::new_on_demand`. With a token that always moves, no node could
//! ever discard the state of a resource, and a resource that the lowest member does not know yet
//! would have no token.
//!
//! In views: a member reports the state of its client. The members of the new view form a ring,
//! which has a token of its own: at the node in the critical section, which keeps it until its
//! release, or else at the lowest member, where it rests as in the beginning. A token of an older
//! view is dropped.
//!
//! Departs from the textbook: the token records its hops since the last entry, rest or sleep, so
//! that it can rest, and so that a try can be denied; and it carries the fence of the last entry.

use super::prelude::*;
use super::token::{Token, TokenSlot};
use crate::bounds::Bounds;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    fairness: Fairness::FromRequest(|nodes| nodes as u64 - 1),
    is_never_quiescent: true,
    variant_choices: &[passing_choice("trusting").mark_default()],
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "token-ring",
    class: "token-based",
    summary: "one token goes round a ring; its holder may enter",
    source: include_str!("token_ring.rs"),
    flaw: None,
    is_checkable: true,
};

const COST: Cost = Cost {
    messages_formula: "1…∞, full load 1",
    client_delay_formula: "0…(n+1)T",
    sync_delay_formula: "T…(n−1)T",
    message_count: |case, entries| match (case.load, entries.checked_sub(1)) {
        _ if case.peers() == 0 => Range::exactly(0),
        (Load::AllNodes, _) => Range::exactly(entries),
        // The hops to the requesting node, a whole round for each further entry, and the hop by
        // which the node passes the token on in the end.
        (Load::OneNode(node), Some(later_entries)) => {
            let position = case.group.index_of(node).unwrap_or_default() as u64;
            Range::at_least(position + 1 + case.nodes().saturating_mul(later_entries))
        }
        (Load::OneNode(_) | Load::SomeNodes, _) => Range::at_least(entries),
    },
    client_delay: |case| if case.peers() == 0 { Range::exactly(0) } else { Range::between(0, case.nodes() + 1) },
    sync_delay: |case| Range::between(1, case.peers().max(1)),
};

/// The value of the option `--passing` that selects how a member passes the token: `trusting`,
/// without acknowledgement, or `acknowledged`.
pub(super) const fn passing_choice(value: &'static str) -> Choice {
    Choice { algorithm: PROFILE.name, option: "passing", value, is_default: false }
}

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    config: Fixed<Config>,
    phase: Phase<Patience, ()>,
    /// If the token is here, the node is in the critical section, or the token rests or sleeps. The
    /// label of the token is its lap.
    slot: TokenSlot<Lap>,
    /// On demand, at the lowest member: whether another node has called the token, or our own
    /// client has waited for it, since it last left.
    must_go_round: bool,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    /// The members before and after this one on the ring.
    previous: NodeId,
    next: NodeId,
    /// The lowest member, where the token starts.
    home: NodeId,
    hops_per_round: u32,
    pace: Pace,
}

/// The movement of the token while no node wants it.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// The token moves on, and rests this long after each round without an entry.
    Circulating(Duration),
    /// The token moves on to the lowest member, and sleeps there.
    OnDemand,
}

/// The token's progress round the ring. The count stops at a full round, so that it stays small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lap {
    /// Hops since the last entry, rest or sleep.
    pub hops: u32,
    /// Whether the count began with an entry.
    #[cfg_attr(feature = "serde", serde(rename = "used"))]
    pub began_with_entry: bool,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the next member: the token.
    Token(Token<Lap>),
    /// On demand, to the lowest member: asks for the token to go round.
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

/// The timers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The token has rested long enough.
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
            Input::Start { .. } => self.start_view(out),
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.cancel(out),
                Intent::Release => self.release(out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Token(token) if from == self.config.previous => self.on_token(token, out),
                Message::Token(_) => {
                    out.note("TR-3", format_args!("ignores a token from {from}, which is not the previous member"));
                }
                Message::Call => self.on_call(from, out),
            },
            Input::Timer(Timer::Rest) => self.end_rest(out),
            ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

/// State that faulty variants and tests inspect.
#[cfg(any(test, feature = "fixtures"))]
impl TokenRing {
    pub(crate) const fn is_waiting(&self) -> bool {
        self.phase.waiting().is_some()
    }

    pub(crate) const fn is_inside(&self) -> bool {
        self.phase.inside().is_some()
    }

    pub(crate) const fn token(&self) -> Option<&Token<Lap>> {
        self.slot.token()
    }

    pub(crate) fn previous(&self) -> NodeId {
        self.config.previous
    }

    pub(crate) fn next(&self) -> NodeId {
        self.config.next
    }
}

impl TokenRing {
    /// An idle node of this group. The token is at the lowest member, and rests for one message
    /// time after each round without an entry.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        Self::with_pace(me, &group, Pace::Circulating(bounds.message))
    }

    /// An idle node of this group, for one of many resources. The token sleeps at the lowest member
    /// until a node calls it.
    pub fn new_on_demand(me: NodeId, group: Group) -> Self {
        Self::with_pace(me, &group, Pace::OnDemand)
    }

    fn with_pace(me: NodeId, group: &Group, pace: Pace) -> Self {
        let or_me = |node: Option<NodeId>| node.unwrap_or(me);
        let home = or_me(group.first());
        let config = Config {
            me,
            previous: or_me(group.predecessor(me)),
            next: or_me(group.successor(me)),
            home,
            hops_per_round: u32::try_from(group.len()).unwrap_or(u32::MAX),
            pace,
        };
        let slot = if me == home { TokenSlot::holding(Lap::default()) } else { TokenSlot::empty() };
        Self { config: Fixed::new(config), phase: Phase::Idle, slot, must_go_round: false }
    }

    /// TR-1, TR-8. If an idle node has the token, the token rests or sleeps there.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if self.slot.has_token() {
            self.cancel_rest(out);
            out.note("TR-1", format_args!("has the token here"));
            return self.enter(out);
        }
        self.phase = Phase::Waiting(patience);
        match self.config.pace {
            Pace::Circulating(_) => out.note("TR-1", format_args!("waits for the token")),
            Pace::OnDemand if self.is_home() => {
                out.note("TR-8", format_args!("waits for the token, which has left"));
                self.must_go_round = true;
            }
            Pace::OnDemand => {
                out.note("TR-8", format_args!("calls the token"));
                out.send(self.config.home, Message::Call);
            }
        }
    }

    /// TR-2, TR-3, TR-7. The node drops a second token, which only a faulty peer can send.
    fn on_token(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        if !self.slot.put(token) {
            return out.note("TR-3", format_args!("drops a second token"));
        }
        match self.phase {
            Phase::Waiting(Patience::Wait) => {
                out.note("TR-2", format_args!("keeps the token"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) if self.no_other_has_entered() => {
                out.note("TR-7", format_args!("keeps the token: it records no recent entry of another node"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) => {
                self.phase.end();
                out.note(
                    "TR-7",
                    format_args!("denies the try: another node has entered since the token was last here"),
                );
                out.emit(Event::Denied);
                self.pass_or_rest("TR-7", out);
            }
            Phase::Idle | Phase::Inside(()) => self.pass_or_rest("TR-3", out),
        }
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.slot.advance_fence() else { return };
        self.set_lap(Lap { hops: 0, began_with_entry: true });
        self.phase = Phase::Inside(());
        out.emit(Event::entered(fence));
    }

    /// TR-4. The nodes that follow have waited longer than a client that requests again.
    fn release(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        self.pass_or_rest("TR-4", out);
    }

    /// TR-6. No other node needs a message: the token will arrive here and be passed on.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.note("TR-6", format_args!("will pass the token on when it arrives"));
        out.emit(Event::Cancelled);
    }

    /// TR-3, TR-5, TR-9. Passes the token on, or lets it rest or sleep. The client does not want
    /// it, or may not have it again at once.
    fn pass_or_rest(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        match self.config.pace {
            Pace::Circulating(_) if self.has_gone_round() => self.start_rest(out),
            Pace::OnDemand if self.is_home() && !self.must_go_round => {
                self.set_lap(Lap::default());
                out.note("TR-9", format_args!("lets the token sleep"));
            }
            Pace::Circulating(_) | Pace::OnDemand => self.pass_token(rule, out),
        }
    }

    /// TR-5. In a group of one, the token stays forever; on demand, it sleeps instead of resting.
    fn start_rest(&mut self, out: &mut Effects<'_, Self>) {
        self.set_lap(Lap::default());
        match self.config.pace {
            Pace::Circulating(rest) if !self.is_alone() => {
                out.note("TR-5", format_args!("lets the token rest"));
                out.set_timer(Timer::Rest, Span::exactly(rest));
            }
            Pace::Circulating(_) | Pace::OnDemand => {}
        }
    }

    /// TR-5. Has no effect if the client has ended the rest by a request.
    fn end_rest(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.is_idle() {
            self.pass_token("TR-5", out);
        }
    }

    fn cancel_rest(&self, out: &mut Effects<'_, Self>) {
        match self.config.pace {
            Pace::Circulating(_) if !self.is_alone() => out.cancel_timer(Timer::Rest),
            Pace::Circulating(_) | Pace::OnDemand => {}
        }
    }

    /// TR-8, TR-9. The lowest member records a call that arrives while the token is away or in use:
    /// the token may have just passed the calling node.
    fn on_call(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        match self.config.pace {
            Pace::OnDemand if self.is_home() => {
                self.must_go_round = true;
                if self.slot.has_token() && self.phase.is_idle() {
                    self.pass_token("TR-9", out);
                } else {
                    out.note("TR-9", format_args!("records the call from {from}"));
                }
            }
            Pace::Circulating(_) | Pace::OnDemand => out.note("TR-9", format_args!("ignores a call from {from}")),
        }
    }

    /// Sends the token to the next member, with one more hop. In a group of one it stays.
    fn pass_token(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        if self.is_alone() {
            return;
        }
        let Some(mut token) = self.slot.take() else { return };
        token.label.hops = token.label.hops.saturating_add(1).min(self.config.hops_per_round);
        self.must_go_round = false;
        out.note(rule, format_args!("passes the token on"));
        out.send(self.config.next, Message::Token(token));
    }

    fn set_lap(&mut self, lap: Lap) {
        if let Some(label) = self.slot.label_mut() {
            *label = lap;
        }
    }

    fn has_gone_round(&self) -> bool {
        self.slot.label().is_some_and(|lap| lap.hops >= self.config.hops_per_round)
    }

    /// Returns whether no other node has entered since the token was last here, rested or slept. If
    /// the token has gone a full round since the last entry, that entry was our own, or happened
    /// before the token was last here.
    fn no_other_has_entered(&self) -> bool {
        self.slot.label().is_some_and(|lap| !lap.began_with_entry) || self.has_gone_round()
    }

    fn is_home(&self) -> bool {
        self.config.me == self.config.home
    }

    fn is_alone(&self) -> bool {
        self.config.next == self.config.me
    }

    fn assert_invariants(&self) {
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(_) => debug_assert!(!self.slot.has_token(), "a waiting node has no token"),
            Phase::Inside(()) => debug_assert!(self.slot.has_token(), "the node in the critical section has the token"),
        }
        debug_assert!(!self.must_go_round || self.is_home(), "only the lowest member records calls");
    }
}

impl OneOfMany for TokenRing {
    type Floor = Floor;

    /// Never while the token circulates, except in a group of one, where the token stays. A token
    /// that sleeps in its initial position needs no state.
    fn holds_only_floor(&self) -> bool {
        let is_token_in_place = match self.config.pace {
            Pace::Circulating(_) => self.is_alone(),
            Pace::OnDemand => self.slot.has_token() == self.is_home(),
        };
        is_token_in_place && self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        self.slot.floor(Clock::default())
    }

    fn raise_floor(&mut self, floor: &Floor) {
        self.slot.raise_floor(floor);
    }
}

impl ViewTransition for TokenRing {
    fn client_state(&self) -> ClientState {
        self.phase.client_state()
    }

    /// Every view has a ring and a token of its own. A node in the critical section has the token,
    /// whose lap began with that entry.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        *self = Self::with_pace(me, start.group(), self.config.pace);
        self.phase = Phase::at_view_start(me, start);
        self.slot = TokenSlot::at_view_start(me, start);
        self.set_lap(Lap { hops: 0, began_with_entry: !self.phase.is_idle() });
    }

    /// TR-5. The first round begins with a rest, so that an initial request of the lowest member
    /// finds the token there. A token in use does not rest.
    fn start_view(&mut self, out: &mut Effects<'_, Self>) {
        if self.slot.has_token() && self.phase.is_idle() {
            self.start_rest(out);
        }
    }
}

#[cfg(test)]
mod tests;
