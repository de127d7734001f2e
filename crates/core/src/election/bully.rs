//! The bully algorithm (Garcia-Molina 1982).
//!
//! Every node knows the rank of every node and an upper bound on the time until an answer. A node
//! that suspects the leader asks all nodes of higher rank. If none of them answers in time, they
//! are dead and the node has won. A node that answers asks the nodes above it in turn. So the
//! highest live node wins, and a node that restarts replaces a leader of lower rank.
//!
//! ```text
//! BU-1   the client campaigns, or the
//!        leader is suspected                → start an election: ask every node of higher rank,
//!                                             suspects included; but if the only higher node is a
//!                                             suspect, declare (BU-3) as soon as its last
//!                                             messages must have arrived
//! BU-2   a lower node asks                  → answer, and start an election unless one is in
//!                                             progress, or has ended and the asker will receive
//!                                             its result
//! BU-3   no higher node answers in time     → declare: take the next epoch, save it, and announce
//!                                             it to every lower node (with `--broadcast`, to every
//!                                             node)
//! BU-4   a higher node answers              → wait for its result, and start again if none arrives
//! BU-5   a higher node declares             → follow it
//! BU-6   a lower node declares              → start an election: this node ranks higher
//! BU-7   the declared epoch is outdated     → report the latest epoch to the sender, which starts
//!                                             again if it still leads
//! BU-8   a suspected node declares          → do not follow it; start an election
//! BU-9   a node restarts                    → say hello to all nodes; when all messages of nodes
//!                                             that did not know of the restart must have arrived,
//!                                             ask every node for the largest epoch it knows; after
//!                                             the answers, start an election
//! BU-10  a higher node reports that it has
//!        started an election                → forget the leader, and wait for the result (nodes
//!                                             send this report with `--tell-lower` only)
//! ```
//!
//! Cost: with n nodes, the highest of them dead: n−2 messages and one message time if the next
//! highest node notices, n²−n−1 messages and four message times if the lowest does (n(n−1)/2
//! questions, (n−1)(n−2)/2 answers, n−2 announcements). With all n alive: n−1 messages if the
//! highest starts, n²−1 if the lowest does. Messages of a restarting node count as control: 3(n−1).
//!
//! Assumes: a message takes at most T and none is lost; messages may arrive in any order. At most a
//! few inputs from each other node wait in a node's queue at a time. A save takes no longer than a
//! message, and disks keep what they confirmed. More than half of the group stays up during any
//! three message times, so that some node remembers every epoch. A node is down when it is
//! suspected, and is trusted again after it restarts.
//!
//! When it fails: if a message takes longer than T, a lower node may win while a higher one is
//! alive, and two nodes may be elected in one epoch. The same can happen if half of the group was
//! down at once, because no node may be left that knows which epochs were used. A node that is
//! alive but suspected forever is never followed, and elections do not end.
//!
//! Departs from the paper: results have epochs. A winner takes 1 + the largest epoch it knows, and
//! every message carries the largest epoch its sender knows. A node that was down may have missed
//! some, so it asks before it starts an election (BU-9). It asks late enough: a lower node that
//! does not know of the restart declares at most T after the restart, all nodes that receive this
//! declaration have it after 2T, and the saves take one more T. The nodes that were up then and the
//! nodes that answer are both more than half of the group, so they have a node in common. The last
//! messages of a suspect may include a result. So no node declares before these messages must have
//! arrived (BU-1), and no node follows such a result (BU-8). The paper's nodes stop working during
//! an election; these nodes report to their clients that there is no leader.

mod facts;
mod message;
#[cfg(test)]
mod tests;

pub use facts::FACTS;
pub use message::{Kind, Message, SavedEpoch, Timer};

use super::{BullyOptions, Command, Event, Plan, Refusal};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// A node of the bully algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    config: Fixed<Config>,
    phase: Phase,
    /// The largest epoch known, whether or not its result is known.
    largest_known_epoch: Epoch,
    /// The epoch of the last election that this incarnation announced to its client.
    last_begun_epoch: Epoch,
    /// The epoch of the last result reported to the client. After a restart, the saved epoch, which
    /// is at least that one.
    last_result_epoch: Epoch,
    /// The suspected nodes, each with the instant from which no message of it can still be in
    /// flight; `None` for nodes that were down at start-up.
    suspects: BTreeMap<NodeId, Option<Time>>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
    /// The nodes of higher rank than this one.
    higher: Group,
    lower: Group,
    options: BullyOptions,
    /// The nodes that are down at start-up.
    absent: Group,
    /// Maximum time from the sending of a message until its receiver has processed it.
    max_hop: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The node takes part in no election. It knows the leader if it has learned a result.
    Idle { leader: Option<NodeId> },
    /// The node asked all higher nodes, and none has answered yet; or its only higher node is dead,
    /// and that node's last messages may still be in flight.
    Asking,
    /// A higher node is alive and must declare a result.
    Waiting,
    /// The node restarted, and waits until all messages of nodes that did not know of the restart
    /// must have arrived.
    Returning,
    /// The node restarted, and asked every node for its largest epoch.
    Inquiring,
}

impl Phase {
    /// Returns the timer that is set during this phase.
    const fn timer(self) -> Option<Timer> {
        match self {
            Self::Idle { .. } => None,
            Self::Asking => Some(Timer::Answers),
            Self::Waiting => Some(Timer::Result),
            Self::Returning => Some(Timer::Quiet),
            Self::Inquiring => Some(Timer::Reports),
        }
    }
}

/// Time for a question and its answer, in units of [`Config::max_hop`].
const ANSWER_HOPS: u64 = 2;
/// Time until messages sent by nodes that did not know of a restart have arrived: two hops for the
/// messages, one for the saves.
const QUIET_HOPS: u64 = 3;
/// Time from an answer to the result. The answering node may itself have just restarted; then it
/// waits, asks for epochs and asks the higher nodes before it declares. Three hops remain for other
/// delays, among them the way of the result.
const RESULT_HOPS: u64 = QUIET_HOPS + 2 * ANSWER_HOPS + 3;
/// Assumed maximum number of inputs from each other node that wait in a node's queue before a given
/// input.
const BACKLOG: u64 = 4;

impl Protocol for Bully {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = SavedEpoch;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: SavedEpoch(epoch), incarnation } => self.boot(epoch, incarnation, out),
            Input::Command(Command::Campaign) => self.campaign(now, out),
            Input::Command(Command::Resign) => self.resign(out),
            Input::Message { from, message } => self.receive(from, message, out),
            Input::Timer(Timer::Answers) => self.declare(out),
            Input::Timer(Timer::Result) => self.result_timed_out(out),
            Input::Timer(Timer::Quiet) => self.inquire(out),
            Input::Timer(Timer::Reports) => self.end_inquiry(out),
            Input::Suspect(node) => self.suspect(node, now, out),
            Input::Trust(node) => self.trust(node, out),
            Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

impl Bully {
    /// Creates a node of a group with this plan.
    pub fn new(me: NodeId, plan: impl Into<Arc<Plan>>) -> Self {
        let plan: Arc<Plan> = plan.into();
        let rank = plan.ranking.rank_of(me);
        let others = || plan.group.others(me);
        let config = Config {
            me,
            group: plan.group.clone(),
            higher: others().filter(|node| plan.ranking.rank_of(*node) > rank).collect(),
            lower: others().filter(|node| plan.ranking.rank_of(*node) < rank).collect(),
            options: plan.bully,
            absent: plan.absent.clone(),
            max_hop: plan.bounds.message + plan.bounds.processing.times(BACKLOG * plan.group.len() as u64),
        };
        Self {
            config: Fixed::new(config),
            phase: Phase::Idle { leader: None },
            largest_known_epoch: Epoch::default(),
            last_begun_epoch: Epoch::default(),
            last_result_epoch: Epoch::default(),
            suspects: BTreeMap::new(),
        }
    }

    fn boot(&mut self, epoch: Epoch, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        (self.largest_known_epoch, self.last_result_epoch) = (epoch, epoch);
        if incarnation == Incarnation::FIRST {
            self.suspects = self.config.absent.others(self.config.me).map(|node| (node, None)).collect();
        } else {
            self.restart(out);
        }
    }

    fn campaign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Idle { .. } => self.start_election(now, out),
            Phase::Asking | Phase::Waiting | Phase::Returning | Phase::Inquiring => {
                out.emit(Event::Refused(Refusal::AlreadyRunning));
            }
        }
    }

    fn resign(&self, out: &mut Effects<'_, Self>) {
        out.emit(Event::Refused(if self.is_leader() { Refusal::CannotResign } else { Refusal::NotLeading }));
    }

    /// BU-1. If the only higher node is dead, there is no node to ask. But a result that the dead
    /// node declared may still be in flight, and this node must not use the same epoch.
    fn start_election(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let only_higher = if self.config.higher.len() == 1 { self.config.higher.first() } else { None };
        let Some((dead, last_arrival)) = only_higher.and_then(|node| self.suspects.get_key_value(&node)) else {
            return self.ask_higher("BU-1", out);
        };
        let delay = last_arrival.map_or(Duration::ZERO, |instant| instant.since(now));
        out.note("BU-1", format_args!("node {dead} alone ranks higher, and is dead"));
        self.begin_epoch(out);
        self.phase = Phase::Asking;
        if delay == Duration::ZERO {
            self.declare(out);
        } else {
            out.set_timer(Timer::Answers, Span::exactly(delay));
        }
    }

    /// Starts an election by asking all higher nodes. Declares at once if there are none. `rule` is
    /// the id of the rule that requires the election.
    fn ask_higher(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Config { higher, lower, options, .. } = &*self.config.clone();
        self.begin_epoch(out);
        if higher.is_empty() {
            return self.declare(out);
        }
        if options.notifies_lower && !lower.is_empty() {
            out.multicast_ahead(lower, self.message(Kind::Begun));
        }
        out.note(rule, format_args!("asks {higher}"));
        out.multicast_ahead(higher, self.message(Kind::Election));
        self.enter_phase(Phase::Asking, ANSWER_HOPS, out);
    }

    /// Reports to the client that an election has begun, so that there is no leader.
    fn begin_epoch(&mut self, out: &mut Effects<'_, Self>) {
        self.last_begun_epoch = self.next_epoch();
        out.emit(Event::Began { epoch: self.last_begun_epoch });
    }

    fn receive(&mut self, from: NodeId, Message { kind, epoch }: Message, out: &mut Effects<'_, Self>) {
        if from == self.config.me || !self.config.group.contains(from) || epoch > Epoch::MAX {
            return;
        }
        match kind {
            Kind::Election => self.answer(from, epoch, out),
            Kind::Answer => self.record_epoch(epoch, out),
            // The sender may be dead by now: `receive_result` decides whether it counts as alive.
            Kind::Coordinator => return self.receive_result(from, epoch, out),
            Kind::Begun => self.receive_begun(from, epoch, out),
            Kind::Hello => self.receive_hello(from, epoch, out),
            Kind::Inquiry => self.answer_inquiry(from, epoch, out),
            Kind::Report => self.receive_report(epoch, out),
        }
        self.record_alive(from, out);
    }

    /// BU-2. A node that asks with an epoch before the last result will receive that result, so no
    /// new election is needed. If the result is lost, the node asks again, and then with the epoch
    /// that it knows from this answer.
    fn answer(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if !self.config.lower.contains(from) {
            return;
        }
        self.record_epoch(epoch, out);
        out.send_ahead(from, self.message(Kind::Answer));
        match self.phase {
            Phase::Idle { leader: Some(leader) } if epoch < self.last_result_epoch => {
                out.note("BU-2", format_args!("answers {from}, which will learn that {leader} leads"));
            }
            Phase::Idle { .. } => self.ask_higher("BU-2", out),
            Phase::Asking | Phase::Waiting | Phase::Returning | Phase::Inquiring => {
                out.note("BU-2", format_args!("answers {from}"));
            }
        }
    }

    /// BU-3.
    fn declare(&mut self, out: &mut Effects<'_, Self>) {
        let Config { me, group, lower, options, .. } = &*self.config.clone();
        let receivers = if options.announces_to_all { group } else { lower };
        let epoch = self.next_epoch();
        self.record_epoch(epoch, out);
        out.note("BU-3", format_args!("declares itself leader in epoch {epoch}"));
        if receivers.others(*me).next().is_some() {
            out.multicast(receivers, self.message(Kind::Coordinator));
        }
        self.conclude(*me, epoch, out);
    }

    /// BU-4. Stops asking once a higher node is known to be alive: any message from it shows that
    /// it was alive when it sent the message.
    fn record_alive(&mut self, from: NodeId, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Asking && self.config.higher.contains(from) {
            out.note("BU-4", format_args!("node {from} is alive and ranks higher: waits for its result"));
            out.cancel_timer(Timer::Answers);
            self.enter_phase(Phase::Waiting, RESULT_HOPS, out);
        }
    }

    /// BU-4.
    fn result_timed_out(&mut self, out: &mut Effects<'_, Self>) {
        self.ask_higher("BU-4", out);
    }

    fn receive_result(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if self.config.lower.contains(from) {
            self.take_over(from, epoch, out);
        } else if epoch < self.largest_known_epoch {
            self.reject_outdated(from, epoch, out);
        } else if self.suspects.contains_key(&from) {
            self.receive_result_of_suspect(from, epoch, out);
        } else if epoch > self.last_result_epoch && epoch >= self.last_begun_epoch {
            self.follow(from, epoch, out);
        } else {
            // Either this node has begun an election of a later epoch, because it learned of this
            // epoch from other nodes before the result arrived; or this epoch is
            // `last_result_epoch` already.
            self.record_alive(from, out);
        }
    }

    /// BU-5.
    fn follow(&mut self, leader: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.record_epoch(epoch, out);
        out.note("BU-5", format_args!("follows {leader} in epoch {epoch}"));
        if let Some(timer) = self.phase.timer() {
            out.cancel_timer(timer);
        }
        self.conclude(leader, epoch, out);
    }

    /// BU-6. Starts no election if one is in progress here, or if the epoch is not newer than the
    /// last result: then the declaration arrives late, and its sender gets the newer result too.
    fn take_over(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let is_new = epoch > self.last_result_epoch;
        self.record_epoch(epoch, out);
        if is_new && matches!(self.phase, Phase::Idle { .. }) {
            out.note("BU-6", format_args!("takes over from {from}, which ranks lower"));
            self.ask_higher("BU-6", out);
        }
    }

    /// BU-7.
    fn reject_outdated(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        out.note(
            "BU-7",
            format_args!("does not follow {from} in epoch {epoch}: knows epoch {}", self.largest_known_epoch),
        );
        out.send_ahead(from, self.message(Kind::Report));
        self.record_alive(from, out);
    }

    /// BU-7. A leader of an outdated epoch starts a new election. It does not simply declare again,
    /// because a higher node may have restarted by now.
    fn receive_report(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.record_epoch(epoch, out);
        if self.is_leader() && self.largest_known_epoch > self.last_result_epoch {
            out.note("BU-7", format_args!("leads in epoch {}, but epoch {epoch} is known", self.last_result_epoch));
            self.ask_higher("BU-7", out);
        }
    }

    /// BU-8.
    fn receive_result_of_suspect(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.record_epoch(epoch, out);
        out.note("BU-8", format_args!("does not follow {from}, which is dead"));
        if matches!(self.phase, Phase::Idle { .. }) {
            self.ask_higher("BU-8", out);
        }
    }

    /// Records a suspicion, and starts an election if the suspect is the leader (BU-1).
    fn suspect(&mut self, node: NodeId, now: Time, out: &mut Effects<'_, Self>) {
        if node == self.config.me || !self.config.group.contains(node) {
            return;
        }
        self.suspects.insert(node, Some(now + self.config.max_hop));
        if self.phase == (Phase::Idle { leader: Some(node) }) {
            self.start_election(now, out);
        }
    }

    fn trust(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        self.suspects.remove(&node);
        self.record_alive(node, out);
    }

    /// BU-9. A lower node that asked this node while this node was down may still declare itself
    /// leader, until it receives the hello. So this node waits for such declarations.
    fn restart(&mut self, out: &mut Effects<'_, Self>) {
        self.begin_epoch(out);
        if self.config.group.len() == 1 {
            return self.declare(out);
        }
        out.note("BU-9", format_args!("has restarted: says hello"));
        out.multicast_ahead(&self.config.group, self.message(Kind::Hello));
        self.enter_phase(Phase::Returning, QUIET_HOPS, out);
    }

    /// BU-9.
    fn receive_hello(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.record_epoch(epoch, out);
        self.trust(from, out);
    }

    /// BU-9.
    fn inquire(&mut self, out: &mut Effects<'_, Self>) {
        out.note("BU-9", format_args!("asks all nodes for the largest epoch; knows {}", self.largest_known_epoch));
        out.multicast_ahead(&self.config.group, self.message(Kind::Inquiry));
        self.enter_phase(Phase::Inquiring, ANSWER_HOPS, out);
    }

    /// BU-9.
    fn answer_inquiry(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.record_epoch(epoch, out);
        out.send_ahead(from, self.message(Kind::Report));
    }

    /// BU-9.
    fn end_inquiry(&mut self, out: &mut Effects<'_, Self>) {
        self.ask_higher("BU-9", out);
    }

    /// BU-10.
    fn receive_begun(&mut self, from: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        // As in `answer`, the sender will receive the last result.
        let has_ended = epoch < self.last_result_epoch;
        self.record_epoch(epoch, out);
        if self.config.higher.contains(from) && !has_ended && matches!(self.phase, Phase::Idle { .. }) {
            out.note("BU-10", format_args!("forgets the leader: {from} has started an election"));
            self.begin_epoch(out);
            self.enter_phase(Phase::Waiting, RESULT_HOPS, out);
        }
    }

    /// Ends the election with this result, and reports it to the client.
    fn conclude(&mut self, leader: NodeId, epoch: Epoch, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Idle { leader: Some(leader) };
        self.last_result_epoch = epoch;
        out.emit(Event::elected(leader, epoch));
    }

    /// Records and saves an epoch that is larger than all known ones. Only a `Coordinator` message
    /// waits until its epoch is durable; other messages promise nothing and are sent at once.
    fn record_epoch(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        if epoch > self.largest_known_epoch {
            self.largest_known_epoch = epoch;
            out.save(epoch);
        }
    }

    /// Changes the phase, and sets its timer to the maximum time of `hops` messages.
    fn enter_phase(&mut self, phase: Phase, hops: u64, out: &mut Effects<'_, Self>) {
        self.phase = phase;
        if let Some(timer) = phase.timer() {
            out.set_timer(timer, Span::exactly(self.config.max_hop.times(hops)));
        }
    }

    fn message(&self, kind: Kind) -> Message {
        Message { kind, epoch: self.largest_known_epoch }
    }

    const fn next_epoch(&self) -> Epoch {
        Epoch(self.largest_known_epoch.0.saturating_add(1))
    }

    fn is_leader(&self) -> bool {
        self.phase == Phase::Idle { leader: Some(self.config.me) }
    }
}
