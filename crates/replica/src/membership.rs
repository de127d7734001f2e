//! A group's membership in a replicated log, and a node that is both a replica of that log and a
//! member of the group.
//!
//! [`GroupMembership`] is the state machine: core's [`Membership`] in log time. [`Member`] is the
//! node.

mod member;
mod message;
mod pending;
mod plan;

pub use member::{Member, about};
pub use message::{Message, Timer};
pub use plan::Plan;

use crate::fingerprint::fingerprint;
use crate::machine::{LogPosition, LogTime, Outbox, SessionId, StateMachine};
use crate::version::{Format, FormatError};
use bytes::Bytes;
use quorate_core::membership::{Answer, LeaseTerms, Membership, Request};
use quorate_core::{Duration, Epoch, Group, Never, NodeId, Stay, Time, View};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const MEMBERSHIP: Format = Format { name: "group membership", version: 1 };

/// The membership of one group as a state machine: empty at first, and from its founding on views
/// and leases in log time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMembership(Option<FoundedGroup>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FoundedGroup {
    /// The log time of the founding, from which the membership's time counts.
    #[serde(rename = "founded")]
    founded_at: LogTime,
    /// The log time of the latest request (or tick), or of the founding if none came yet.
    #[serde(rename = "latest")]
    last_change: LogTime,
    membership: Membership,
    /// When members requested the leases that they have, each on its own clock.
    #[serde(rename = "asked")]
    lease_requests: BTreeMap<NodeId, (Stay, Time)>,
}

/// A command of the state machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Founds the group with these members and lease terms. Does nothing if the group exists.
    Found { members: Group, terms: LeaseTerms },
    /// A node's request, or a tick that a leader proposes.
    #[serde(rename = "ask")]
    Request(TimedRequest),
}

/// A request, and the time at which it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimedRequest {
    pub request: Request,
    /// The time of the request on the requester's clock. A lease granted by it counts from here.
    #[serde(rename = "asked")]
    pub requested_at: Time,
}

impl TimedRequest {
    /// The requester; `None` for a tick, which a leader proposes.
    pub const fn requester(&self) -> Option<NodeId> {
        match self.request {
            Request::Join { node, .. } | Request::Renew { node, .. } | Request::Leave { node, .. } => Some(node),
            Request::Suspect { by, .. } => Some(by),
            Request::Tick => None,
        }
    }
}

impl GroupMembership {
    /// The epoch of the current view; `None` before the founding.
    pub fn epoch(&self) -> Option<Epoch> {
        self.0.as_ref().map(|founded| founded.membership.epoch())
    }

    /// The current view; `None` before the founding.
    pub fn view(&self) -> Option<View> {
        self.0.as_ref().map(|founded| founded.membership.view())
    }

    /// The membership; `None` before the founding.
    pub fn membership(&self) -> Option<&Membership> {
        self.0.as_ref().map(|founded| &founded.membership)
    }

    /// The member's current stay, and the time of its latest request that was granted a lease in
    /// this stay, on its own clock. `None` if there is no such request.
    pub fn lease_request(&self, node: NodeId) -> Option<(Stay, Time)> {
        self.0.as_ref()?.lease_requests.get(&node).copied()
    }

    /// The log time of the latest request (or tick), or of the founding if none came yet.
    /// Zero before the founding.
    pub fn last_change(&self) -> LogTime {
        self.0.as_ref().map_or(LogTime::ZERO, |founded| founded.last_change)
    }

    /// The log time at which the next lease expires; `None` if there are no leases.
    pub fn next_expiry(&self) -> Option<LogTime> {
        let FoundedGroup { founded_at, membership, .. } = self.0.as_ref()?;
        Some(founded_at.after(membership.next_expiry()?))
    }

    /// Founds the group. A second founding changes nothing, because two leaders may both propose
    /// one.
    fn found(&mut self, at: LogTime, members: &Group, terms: LeaseTerms) -> Answer {
        if self.0.is_none() {
            let membership = Membership::founding(members, terms);
            self.0 =
                Some(FoundedGroup { founded_at: at, last_change: at, membership, lease_requests: BTreeMap::new() });
        }
        Answer::Recorded
    }
}

impl FoundedGroup {
    /// Expires leases.
    fn advance(&mut self, at: LogTime) {
        self.last_change = at;
        self.membership.apply(at.since(self.founded_at), Request::Tick);
        self.forget_removed_members();
    }

    fn apply(&mut self, at: LogTime, TimedRequest { request, requested_at }: TimedRequest) -> Answer {
        self.last_change = at;
        let since_founding: Duration = at.since(self.founded_at);
        let answer = match request {
            // Only members may report suspicions; another node's report only advances the time. So
            // if two members suspect each other, the first report in the log removes a member,
            // whose own report then removes no one.
            Request::Suspect { by, .. } if !self.is_member(by) => self.membership.apply(since_founding, Request::Tick),
            Request::Join { .. }
            | Request::Renew { .. }
            | Request::Leave { .. }
            | Request::Suspect { .. }
            | Request::Tick => self.membership.apply(since_founding, request),
        };
        if let (Request::Join { node, .. } | Request::Renew { node, .. }, Answer::Member(stay)) = (request, answer) {
            self.record_request(node, stay, requested_at);
        }
        self.forget_removed_members();
        answer
    }

    fn is_member(&self, node: NodeId) -> bool {
        self.membership.view().members().contains(node)
    }

    /// Records the time of a granted request. Requests may arrive out of order; the latest one
    /// determines the lease.
    fn record_request(&mut self, node: NodeId, stay: Stay, requested_at: Time) {
        let (known_stay, latest) = self.lease_requests.entry(node).or_insert((stay, requested_at));
        *latest = if *known_stay == stay { requested_at.max(*latest) } else { requested_at };
        *known_stay = stay;
    }

    fn forget_removed_members(&mut self) {
        let view = self.membership.view();
        self.lease_requests.retain(|node, (stay, _)| view.stay(*node) == Some(*stay));
    }
}

impl StateMachine for GroupMembership {
    type Command = Change;
    type Query = Never;
    type Answer = Answer;
    type Outcome = Never;
    type Image = std::iter::Once<Bytes>;

    /// ME-6.
    fn advance(&mut self, at: LogPosition, _out: &mut Outbox<Never>) {
        if let Some(founded) = &mut self.0 {
            founded.advance(at.time);
        }
    }

    fn apply(
        &mut self,
        at: LogPosition,
        _from: Option<SessionId>,
        command: &Change,
        _out: &mut Outbox<Never>,
    ) -> Answer {
        match (command, &mut self.0) {
            (Change::Found { members, terms }, _) => self.found(at.time, members, *terms),
            (Change::Request(request), Some(founded)) => founded.apply(at.time, *request),
            (Change::Request(_), None) => Answer::NotMember,
        }
    }

    fn query(&self, _at: LogPosition, query: &Never) -> Answer {
        match *query {}
    }

    fn describe_command(command: &Change) -> String {
        match command {
            Change::Found { members, .. } => format!("found the group of {members}"),
            Change::Request(TimedRequest { request, .. }) => match request {
                Request::Join { node, incarnation } => format!("admit node {node} as incarnation {incarnation}"),
                Request::Renew { node, .. } => format!("renew the lease of {node}"),
                Request::Leave { node, .. } => format!("remove {node} at its request"),
                Request::Suspect { node, by, .. } => format!("{by} suspects {node}"),
                Request::Tick => "advance the time".into(),
            },
        }
    }

    fn describe_answer(answer: &Answer) -> String {
        match answer {
            Answer::Member(stay) => format!("member since view {}", stay.since),
            Answer::NotMember => "not a member".into(),
            Answer::Recorded => "recorded".into(),
        }
    }

    fn next_deadline(&self) -> Option<LogTime> {
        self.next_expiry()
    }

    fn freeze(&self) -> Self::Image {
        std::iter::once(MEMBERSHIP.write(self).into())
    }

    fn thaw(mut pieces: impl Iterator<Item = Bytes>) -> Result<Self, FormatError> {
        let piece = pieces.next().ok_or_else(|| MEMBERSHIP.malformed("it is missing"))?;
        MEMBERSHIP.read(&piece)
    }

    /// A group is small, so this computes its fingerprint anew.
    fn fingerprint(&self) -> u64 {
        fingerprint(self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, GroupMembership, TimedRequest};
    use crate::machine::{LogPosition, LogTime, Outbox, StateMachine};
    use bytes::Bytes;
    use quorate_core::membership::{Answer, LeaseTerms, Request, Suspicion};
    use quorate_core::{Duration, Epoch, Group, Incarnation, NodeId, Stay, Time};

    const FIRST_STAY: Stay = Stay { incarnation: Incarnation::FIRST, since: Epoch(1) };

    /// A position in the log with this log time.
    fn at(millis: u64) -> LogPosition {
        LogPosition { index: 1, time: LogTime::ZERO.after(Duration::from_millis(millis)) }
    }

    /// Applies an entry with one command.
    fn apply(group: &mut GroupMembership, at: LogPosition, command: &Change) -> Answer {
        group.advance(at, &mut Outbox::default());
        group.apply(at, None, command, &mut Outbox::default())
    }

    /// A time by a member's own clock, which is not related to log time.
    fn clock(millis: i64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// A request made at this time by the requester's clock.
    fn request_at(request: Request, millis: i64) -> Change {
        Change::Request(TimedRequest { request, requested_at: clock(millis) })
    }

    fn node(number: usize) -> NodeId {
        NodeId::from_index(number - 1)
    }

    fn renew(number: usize, millis: i64) -> Change {
        request_at(Request::Renew { node: node(number), stay: FIRST_STAY }, millis)
    }

    /// A group of three, founded at this log time, with the default lease of 2 s.
    fn founded_at(millis: u64) -> GroupMembership {
        let mut group = GroupMembership::default();
        let found = Change::Found { members: Group::of_size(3), terms: LeaseTerms::default() };
        apply(&mut group, at(millis), &found);
        group
    }

    fn members(group: &GroupMembership) -> Vec<u32> {
        group.view().map(|view| view.members().iter().map(NodeId::number).collect()).unwrap_or_default()
    }

    #[test]
    fn before_its_founding_a_group_has_no_view_and_admits_no_node() {
        let mut group = GroupMembership::default();
        let join = request_at(Request::Join { node: node(1), incarnation: Incarnation::FIRST }, 0);
        assert_eq!(apply(&mut group, at(1), &join), Answer::NotMember);
        assert_eq!((group.view(), group.next_expiry()), (None, None));
    }

    #[test]
    fn leases_count_from_the_founding_and_a_group_is_founded_once() {
        let mut group = founded_at(10_000);
        assert_eq!(group.next_expiry(), Some(at(12_000).time));
        apply(&mut group, at(11_000), &renew(2, 5));
        apply(&mut group, at(11_500), &Change::Found { members: Group::of_size(5), terms: LeaseTerms::default() });
        apply(&mut group, at(11_999), &request_at(Request::Tick, 0));
        assert_eq!(members(&group), [1, 2, 3]);
        apply(&mut group, at(12_000), &request_at(Request::Tick, 0));
        assert_eq!((members(&group), group.epoch()), ([2].into(), Some(Epoch(2))));
    }

    #[test]
    fn a_lease_counts_from_the_latest_request_of_the_present_stay() {
        let mut group = founded_at(0);
        assert_eq!(group.lease_request(node(1)), None, "no node has requested a lease");
        apply(&mut group, at(1), &renew(1, 70));
        apply(&mut group, at(2), &renew(1, 60));
        assert_eq!(group.lease_request(node(1)), Some((FIRST_STAY, clock(70))));
        apply(&mut group, at(5_000), &renew(1, 80));
        assert_eq!(group.lease_request(node(1)), None, "its lease expired, which ended its stay");
        let join = request_at(Request::Join { node: node(1), incarnation: Incarnation::FIRST }, 50);
        assert_eq!(apply(&mut group, at(5_001), &join), Answer::Member(Stay { since: Epoch(3), ..FIRST_STAY }));
        assert_eq!(group.lease_request(node(1)), Some((Stay { since: Epoch(3), ..FIRST_STAY }, clock(50))));
    }

    #[test]
    fn of_two_members_that_suspect_each_other_the_first_reporter_stays() {
        let mut group = founded_at(0);
        let suspect = |by, suspected| {
            let (node, by) = (node(suspected), node(by));
            request_at(Request::Suspect { node, stay: FIRST_STAY, by, suspicion: Suspicion::Closed }, 0)
        };
        apply(&mut group, at(1), &suspect(2, 1));
        apply(&mut group, at(1), &suspect(1, 2));
        assert_eq!(members(&group), [2, 3]);
    }

    #[test]
    fn a_snapshot_round_trips_and_a_newer_one_is_refused() {
        let mut group = founded_at(7);
        apply(&mut group, at(9), &renew(3, -4));
        apply(&mut group, at(9), &request_at(Request::Leave { node: node(1), stay: FIRST_STAY }, 1));
        let mut bytes: Vec<u8> = group.freeze().flatten().collect();
        let thaw = |bytes: &[u8]| GroupMembership::thaw(std::iter::once(Bytes::copy_from_slice(bytes)));
        assert_eq!(thaw(&bytes), Ok(group));
        assert_eq!(GroupMembership::thaw(GroupMembership::default().freeze()), Ok(GroupMembership::default()));
        // The first byte is the format version.
        bytes[0] = 2;
        assert!(thaw(&bytes).is_err());
    }
}
