//! A token ring that survives crashes: acknowledged passing, and a new token for a lost one (Le
//! Lann 1977).
//!
//! The token goes round as in `token-ring`, but each receiver acknowledges it at once. A node that
//! receives no acknowledgement within the maximum time of an answer knows that the next member has
//! crashed, and passes the token to the one after it. If the holder of the token crashes, waiting
//! nodes send a search round the ring. A search ends where the token is. A search that returns to
//! its starter has found no token, and of several concurrent searches only the one that the highest
//! member started returns: this member is elected, and creates a new token.
//!
//! ```text
//! TA-1   the client asks to enter   → enter if the token rests here, else wait for it
//! TA-2   the token arrives          → acknowledge it; keep it and enter if it is wanted, else pass
//!                                     it on
//! TA-3   no acknowledgement in time → the member has crashed: pass the token or search to the
//!                                     next one, and skip the crashed one from now on
//! TA-4   the client releases        → pass the token on, even if the client requests again at once
//! TA-5   a round without an entry   → let the token rest here for one message time before it moves
//!                                     on; it rests at the lowest member in the beginning, too
//! TA-6   the client cancels         → become idle; pass on the token, or a search, when it arrives
//! TA-7   a try gets the token       → enter if no other node has entered since the token was last
//!                                     here, rested or was created; else deny it, and pass the
//!                                     token on
//! TA-8   the token does not arrive  → after the longest time that it may need to go round, send a
//!                                     search round, with a generation above all known ones; repeat
//!                                     this after the same time
//! TA-9   a search arrives           → acknowledge it; stop it if the token is here or its passing
//!                                     is not acknowledged yet, or if we search and are the higher
//!                                     member; else end our own search, and pass it on
//! TA-10  our own search returns     → create a new token of its generation, unless the token has
//!                                     arrived meanwhile
//! TA-11  a second token arrives     → keep the younger one; drop one that is older than the last
//!                                     one seen
//! TA-12  all others have crashed    → the token stays forever
//! ```
//!
//! Cost: as `token-ring`: 1 message per entry if all nodes request, without bound if few do; 0 to
//! (n+1)T (message times) from request to entry, T to (n−1)T from a release to the next entry.
//! Acknowledgements and searches detect crashes, and are control messages, counted separately: one
//! for each passing of the token, and twice n for a search that goes all the way round. A crashed
//! member costs each node that passes to it the waiting time for an answer, once: 2T and a
//! nanosecond. A lost token costs waiting nodes the time of a round with such a waiting time at
//! each member, and the search's own round.
//!
//! Assumes: the synchronous model with crash-stop. Any number of nodes may crash, at any time, and
//! stay down. Every message arrives once, in any order, also if its sender has crashed since, and
//! none takes longer than the bound. No input keeps a node busy for longer than its bound, and at
//! most three inputs from each member and six others are queued at a node. Clocks run at the same
//! rate. There is no bound on the time in the critical section: a search ends at the holder.
//! Requests are granted in the order of the ring. At most n−1 others enter between a request and
//! its entry, plus the number of other live nodes for each token that is lost meanwhile: n(n−1)/2
//! in all.
//!
//! When it fails: if one acknowledgement is lost or late, there are two tokens, so two nodes may
//! enter: silence means a crash only in the synchronous model. The member that was suspected
//! wrongly is skipped from then on, and waits in vain, unless the acknowledgement arrives after
//! all. A second token goes round until it meets a node that has seen a younger one. A node that
//! pauses for longer than the bound is suspected too. Nodes must not restart: the lowest member
//! creates a second token, and others skip a node that crashed once. The algorithm cannot run in
//! views, where silence is never evidence of a crash. It need not: `token-ring` in views continues
//! without crashed members, because the next view excludes them.
//!
//! Try: answered when the token arrives, as in `token-ring`; if the token is lost, when there is a
//! new one.
//!
//! Many resources: nodes cannot run this form once for each resource (in the wrapper `Many`). Each
//! resource would have a token that always moves, and no node could discard its state; and the loss
//! of a token that sleeps until it is called, as in `TokenRing::new_on_demand`, is noticed only by
//! nodes that call it.
//!
//! Departs from the textbook: passes are numbered, so that an acknowledgement cannot be mistaken
//! for one of an earlier round. A token that returns before its acknowledgement counts as one. The
//! search is an election as well, and carries the generation of the token that it may create: nodes
//! that pass it on never create one of that generation. So fences, which begin with a generation,
//! grow whichever nodes crash. Skipping a crashed member increments the fence, so that the two
//! tokens that a lost acknowledgement creates do not begin with the same fence.

mod passing;

use self::passing::Passing;
pub use self::passing::{PassContent, PassNumber, Search};
use super::Model;
use super::prelude::*;
use super::token::{Token, TokenSlot};
use super::token_ring::{self, Lap};
use crate::bounds::Bounds;
use crate::describe::Class;
use crate::group::Epoch;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    profile: PROFILE,
    fairness: Fairness::FromRequest(|nodes| (nodes as u64).saturating_mul(nodes as u64 - 1) / 2),
    model: Model::Synchronous,
    variant_choices: &[token_ring::passing_choice("acknowledged")],
    ..token_ring::FACTS
};

const PROFILE: Profile = Profile {
    name: "token-ring-acknowledged",
    summary: "a token ring that skips crashed nodes and replaces a lost token, if messages are never late",
    source: include_str!("token_ring_acknowledged.rs"),
    ..token_ring::FACTS.profile
};

/// Maximum number of queued inputs from each member ahead of a pass and of its acknowledgement: a
/// search, an acknowledgement and a timer at each of the two nodes. Up to six other inputs at each
/// node count as two more members.
const MAX_QUEUED_INPUTS: u64 = 6;

/// Added to the waiting time, so that an answer that takes exactly the maximum arrives in time.
const MARGIN: Duration = Duration::from_nanos(1);

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRingAcknowledged {
    config: Fixed<Config>,
    phase: Phase<Patience, ()>,
    /// If the token is here, the node is in the critical section, or the token rests.
    slot: TokenSlot<Lap>,
    /// Our passes that are not acknowledged yet, and the nodes that we skip because they have
    /// crashed.
    passing: Passing,
    watch: Watch,
    /// The fence of the youngest token that has been here.
    youngest_fence: Fence,
    /// The largest generation of a search that this node knows of.
    max_generation: Epoch,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    hops_per_round: u32,
    /// How long the token rests after a round without an entry.
    rest_time: Duration,
    /// The longest time that an acknowledgement can take.
    max_answer_time: Duration,
    /// The longest time that the token or a search can take to go round, if no node is in the
    /// critical section.
    max_round_time: Duration,
}

/// Whether this node watches for a lost token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Watch {
    /// The node does not wait, and has no search of its own in progress.
    Off,
    /// The node waits, and will search when the timer [`Timer::Round`] fires.
    Waiting,
    /// The node's search is in progress or was stopped elsewhere. If the client still waits when
    /// the timer [`Timer::Round`] fires, the node searches again.
    Searching(Epoch),
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the next member that is not known to have crashed: the token or a search.
    Pass {
        number: PassNumber,
        #[cfg_attr(feature = "serde", serde(rename = "cargo"))]
        content: PassContent,
    },
    /// To the sender of a pass: its acknowledgement.
    #[cfg_attr(feature = "serde", serde(rename = "received"))]
    Acknowledgement(PassNumber),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Pass { content: PassContent::Token(_), .. } => "token",
            Self::Pass { content: PassContent::Search(_), .. } => "search",
            Self::Acknowledgement(_) => "acknowledgement",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Pass { content: PassContent::Token(_), .. } => Class::Algorithm,
            Self::Pass { content: PassContent::Search(_), .. } | Self::Acknowledgement(_) => Class::Control,
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Pass { content: PassContent::Search(search), .. } => Some(search.starter),
            Self::Pass { content: PassContent::Token(_), .. } | Self::Acknowledgement(_) => None,
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The token has rested long enough.
    Rest,
    /// The longest time that the acknowledgement of this pass can take has passed.
    Silence(PassNumber),
    /// The longest time that the token or a search can take to go round has passed.
    #[cfg_attr(feature = "serde", serde(rename = "patience"))]
    Round,
}

impl Protocol for TokenRingAcknowledged {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { .. } => self.start(out),
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.cancel(out),
                Intent::Release => self.release(out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } if self.passing.is_peer(from) => match message {
                Message::Pass { number, content } => self.on_pass(from, number, content, out),
                Message::Acknowledgement(number) => self.on_acknowledgement(from, number, out),
            },
            Input::Message { from, .. } => {
                out.note("TA-2", format_args!("ignores a message from {from}, which is not another member"));
            }
            Input::Timer(Timer::Rest) => self.end_rest(out),
            Input::Timer(Timer::Silence(number)) => self.skip_silent_member(number, out),
            Input::Timer(Timer::Round) => self.start_search(out),
            // The algorithm saves nothing, detects crashes itself, and has no views.
            ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl TokenRingAcknowledged {
    /// An idle node of this group, in which messages and steps never take longer than `bounds`. The
    /// token is at the lowest member.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        let members = group.len() as u64;
        let max_queueing_time = bounds.processing.times(MAX_QUEUED_INPUTS.saturating_mul(members.saturating_add(2)));
        let max_answer_time = bounds.message.times(2) + max_queueing_time + MARGIN;
        // One answer time at each member, and one more for a rest of the token.
        let max_round_time = max_answer_time.times(members.saturating_add(1));
        let config = Config {
            me,
            hops_per_round: u32::try_from(members).unwrap_or(u32::MAX),
            rest_time: bounds.message,
            max_answer_time,
            max_round_time,
        };
        let is_home = group.first().is_none_or(|home| home == me);
        Self {
            config: Fixed::new(config),
            phase: Phase::Idle,
            slot: if is_home { TokenSlot::holding(Lap::default()) } else { TokenSlot::empty() },
            passing: Passing::new(me, &group),
            watch: Watch::Off,
            youngest_fence: Fence::default(),
            max_generation: Epoch::default(),
        }
    }

    /// TA-5. The first round begins with a rest, so that an initial request of the lowest member
    /// finds the token there.
    fn start(&mut self, out: &mut Effects<'_, Self>) {
        if self.slot.has_token() && !self.passing.is_alone() {
            self.start_rest(out);
        }
    }

    /// TA-1. If an idle node has the token, the token rests there. A waiting node also watches for
    /// a lost token.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if self.slot.has_token() {
            if !self.passing.is_alone() {
                out.cancel_timer(Timer::Rest);
            }
            out.note("TA-1", format_args!("has the token here"));
            return self.enter(out);
        }
        out.note("TA-1", format_args!("waits for the token"));
        self.phase = Phase::Waiting(patience);
        if self.watch == Watch::Off {
            self.watch = Watch::Waiting;
            self.set_round_timer(out);
        }
    }

    /// TA-2, TA-9. Acknowledges every pass first, even if the node then drops its content.
    fn on_pass(&mut self, from: NodeId, number: PassNumber, content: PassContent, out: &mut Effects<'_, Self>) {
        out.send(from, Message::Acknowledgement(number));
        match content {
            PassContent::Token(token) => self.on_token(token, out),
            PassContent::Search(search) if search.starter == self.config.me => self.on_own_search(search, out),
            PassContent::Search(search) if self.passing.is_peer(search.starter) => self.on_search(search, out),
            PassContent::Search(search) => {
                out.note("TA-9", format_args!("ignores a search of {}, which is no member", search.starter));
            }
        }
    }

    /// TA-2, TA-11. In the synchronous model TA-11 never applies: there is at most one token, and a
    /// new one is younger than the lost one.
    fn on_token(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        if token.fence < self.youngest_fence {
            return out.note(
                "TA-11",
                format_args!(
                    "drops a token with fence {}: one with fence {} was here",
                    token.fence, self.youngest_fence
                ),
            );
        }
        // The token has come back, so our last pass of it has arrived, even if the acknowledgement
        // is missing.
        if let Some(number) = self.passing.forget_token() {
            out.cancel_timer(Timer::Silence(number));
        }
        match self.slot.take() {
            Some(older) => {
                out.note("TA-11", format_args!("drops a token with fence {}, and keeps the other", older.fence));
                self.store_token(token, out);
            }
            None => {
                self.store_token(token, out);
                self.use_token("TA-2", out);
            }
        }
    }

    /// Stores the token. A node with the token no longer searches for it.
    fn store_token(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        if self.watch != Watch::Off {
            self.watch = Watch::Off;
            out.cancel_timer(Timer::Round);
        }
        self.youngest_fence.raise(token.fence);
        let is_stored = self.slot.put(token);
        debug_assert!(is_stored, "the slot was empty");
    }

    /// TA-2, TA-7. A new token admits a try: no node is in the critical section.
    fn use_token(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Waiting(Patience::Wait) => {
                out.note(rule, format_args!("keeps the token"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) if self.no_other_has_entered() => {
                out.note("TA-7", format_args!("keeps the token: it records no recent entry of another node"));
                self.enter(out);
            }
            Phase::Waiting(Patience::Try) => {
                self.phase.end();
                out.note(
                    "TA-7",
                    format_args!("denies the try: another node has entered since the token was last here"),
                );
                out.emit(Event::Denied);
                self.pass_or_keep("TA-7", out);
            }
            Phase::Idle | Phase::Inside(()) => self.pass_or_keep(rule, out),
        }
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.slot.advance_fence() else { return };
        self.youngest_fence.raise(fence);
        self.set_lap(Lap { hops: 0, began_with_entry: true });
        self.phase = Phase::Inside(());
        out.emit(Event::entered(fence));
    }

    /// TA-4. The nodes that follow have waited longer than a client that requests again.
    fn release(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        self.pass_or_keep("TA-4", out);
    }

    /// TA-6. A search in progress continues, because it may have ended those of others.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.note("TA-6", format_args!("will pass the token on when it arrives"));
        out.emit(Event::Cancelled);
        if self.watch == Watch::Waiting {
            self.watch = Watch::Off;
            out.cancel_timer(Timer::Round);
        }
    }

    /// TA-2, TA-5, TA-12. Passes the token on, lets it rest, or keeps it if all others have
    /// crashed. The client does not want it, or may not have it again at once.
    fn pass_or_keep(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        if self.passing.is_alone() {
            self.set_lap(Lap::default());
            out.note("TA-12", format_args!("keeps the token: all others have crashed"));
        } else if self.has_gone_round() {
            self.start_rest(out);
        } else {
            self.pass_token(rule, out);
        }
    }

    /// TA-5. An unused token need not move fast.
    fn start_rest(&mut self, out: &mut Effects<'_, Self>) {
        self.set_lap(Lap::default());
        out.note("TA-5", format_args!("lets the token rest"));
        out.set_timer(Timer::Rest, Span::exactly(self.config.rest_time));
    }

    /// TA-5. Has no effect if the client has ended the rest by a request.
    fn end_rest(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.is_idle() {
            self.pass_token("TA-5", out);
        }
    }

    fn pass_token(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Some(token) = self.slot.take() else { return };
        out.note(rule, format_args!("passes the token on"));
        self.pass_to_next(PassContent::Token(token), out);
    }

    /// Passes the token or a search to the next member that is not known to have crashed. If there
    /// is none up to the starter of a search, the search ends; if this node is the starter, the
    /// search has returned.
    fn pass_to_next(&mut self, content: PassContent, out: &mut Effects<'_, Self>) {
        if let Some(pass) = self.passing.begin_pass(content) {
            let content = content.after_hops(pass.hops, self.config.hops_per_round);
            out.send(pass.to, Message::Pass { number: pass.number, content });
            return out.set_timer(Timer::Silence(pass.number), Span::exactly(self.config.max_answer_time));
        }
        match content {
            PassContent::Token(token) => self.remain_alone(token, out),
            PassContent::Search(search) if search.starter == self.config.me => self.on_own_search(search, out),
            PassContent::Search(search) => {
                out.note("TA-3", format_args!("drops the search of {}, which has crashed", search.starter));
            }
        }
    }

    /// TA-12. All others have turned out to have crashed, one after the other.
    fn remain_alone(&mut self, token: Token<Lap>, out: &mut Effects<'_, Self>) {
        self.store_token(Token { label: Lap::default(), ..token }, out);
        self.use_token("TA-12", out);
    }

    /// TA-3. An acknowledgement that arrives too late only brings its node back into the ring.
    fn on_acknowledgement(&mut self, from: NodeId, number: PassNumber, out: &mut Effects<'_, Self>) {
        if self.passing.acknowledge(from, number) {
            out.cancel_timer(Timer::Silence(number));
        } else if self.passing.revive(from) {
            out.note("TA-3", format_args!("learns too late that {from} is alive"));
        }
    }

    /// TA-3. Passes the content of an unacknowledged pass to the next member. In the synchronous
    /// model a silent node crashed before it handled the pass, and all its earlier messages have
    /// arrived by now.
    fn skip_silent_member(&mut self, number: PassNumber, out: &mut Effects<'_, Self>) {
        let Some((crashed, content)) = self.passing.time_out(number) else { return };
        out.note("TA-3", format_args!("suspects {crashed}, and skips it"));
        let content = match content {
            PassContent::Token(token) => PassContent::Token(Token { fence: token.fence.next(), ..token }),
            PassContent::Search(search) => PassContent::Search(search),
        };
        self.pass_to_next(content, out);
    }

    /// TA-8. A node whose pass of the token is not acknowledged yet does not search: if the
    /// receiver has crashed, this node passes the token to the next one.
    fn start_search(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.waiting().is_none() {
            self.watch = Watch::Off;
            return;
        }
        if self.passing.is_passing_token() {
            self.watch = Watch::Waiting;
            out.note("TA-8", format_args!("does not search: it is still passing the token on"));
            return self.set_round_timer(out);
        }
        let generation = Epoch(self.max_generation.max(self.youngest_fence.epoch).0.saturating_add(1));
        self.max_generation = generation;
        self.watch = Watch::Searching(generation);
        out.note("TA-8", format_args!("searches for the token, to create one of generation {generation}"));
        self.pass_to_next(PassContent::Search(Search { starter: self.config.me, generation }), out);
        // If all others have crashed, the search has ended already.
        if self.watch != Watch::Off {
            self.set_round_timer(out);
        }
    }

    fn set_round_timer(&self, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Round, Span::exactly(self.config.max_round_time));
    }

    /// TA-9. The token can get behind a search only through the node that started the search, which
    /// then ends it; so a search that returns has found no token anywhere. If a search reaches the
    /// starter of another one, that node either stops it or ends its own.
    fn on_search(&mut self, search: Search, out: &mut Effects<'_, Self>) {
        let Search { starter, generation } = search;
        self.max_generation = self.max_generation.max(generation);
        if self.slot.has_token() {
            return out.note("TA-9", format_args!("stops the search of {starter}: the token is here"));
        }
        if self.passing.is_passing_token() {
            return out.note("TA-9", format_args!("stops the search of {starter}: the token has just left"));
        }
        if let Watch::Searching(_) = self.watch {
            if self.config.me > starter {
                return out.note("TA-9", format_args!("stops the search of {starter}, which is lower"));
            }
            out.note("TA-9", format_args!("ends its own search: {starter} is higher"));
            self.end_search(out);
        }
        out.note("TA-9", format_args!("passes the search of {starter} on"));
        self.pass_to_next(PassContent::Search(search), out);
    }

    /// TA-9. The round timer of a waiting node keeps running: the higher member may crash, and
    /// its search with it.
    fn end_search(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.waiting().is_some() {
            self.watch = Watch::Waiting;
        } else {
            self.watch = Watch::Off;
            out.cancel_timer(Timer::Round);
        }
    }

    /// TA-10. Has no effect if the search has ended or the token has arrived meanwhile.
    fn on_own_search(&mut self, search: Search, out: &mut Effects<'_, Self>) {
        let Search { generation, .. } = search;
        if self.watch != Watch::Searching(generation) {
            return out.note("TA-10", format_args!("ignores its own search, which has ended"));
        }
        out.note("TA-10", format_args!("creates a new token: no node has one"));
        let fence = Fence { epoch: generation, counter: 0 };
        self.store_token(Token { fence, label: Lap::default() }, out);
        self.use_token("TA-10", out);
    }

    fn set_lap(&mut self, lap: Lap) {
        if let Some(label) = self.slot.label_mut() {
            *label = lap;
        }
    }

    fn has_gone_round(&self) -> bool {
        self.slot.label().is_some_and(|lap| lap.hops >= self.config.hops_per_round)
    }

    /// Returns whether no other node has entered since the token was last here, rested or was
    /// created. After a full round the last entry was our own, or that of a crashed node.
    fn no_other_has_entered(&self) -> bool {
        self.slot.label().is_some_and(|lap| !lap.began_with_entry) || self.has_gone_round()
    }

    fn assert_invariants(&self) {
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(_) => {
                debug_assert!(!self.slot.has_token(), "a waiting node has no token");
                debug_assert!(self.watch != Watch::Off, "a waiting node watches for a lost token");
            }
            Phase::Inside(()) => debug_assert!(self.slot.has_token(), "the node in the critical section has the token"),
        }
        if let Watch::Searching(_) = self.watch {
            debug_assert!(
                !self.slot.has_token() && !self.passing.is_passing_token(),
                "a node with the token does not search for it"
            );
        }
        debug_assert!(
            !(self.slot.has_token() && self.passing.is_passing_token()),
            "the token is here or on its way, not both"
        );
    }
}

#[cfg(test)]
mod tests;
