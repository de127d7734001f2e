//! Group membership: a small state machine that numbers the views of a group.
//!
//! The code that runs this machine is its host. In the simulator the host is a service that never
//! fails; for real processes it is a replicated log, whose time is the log's time. The membership
//! grants leases to members, and removes a silent member only after that member's lease has
//! expired.
//!
//! ```text
//! MB-1  a node joins             → it belongs to the next view, with a lease; a new incarnation of
//!                                  a member ends the stay of the old one
//! MB-2  a member renews          → its lease runs from now; a node that is no member learns
//!                                  that it is out, and may join again
//! MB-3  a lease has expired      → the next view lacks its member
//! MB-4  a member leaves          → the next view lacks it
//! MB-5  a member is suspected    → note by whom and why; if its kernel closed its connection, and
//!                                  `OnClose::Evict` applies, the next view lacks it
//! ```
//!
//! Assumes: a member trusts a lease for no longer than [`LeaseTerms::trusted_for`], counted on its
//! own clock from when it requested the lease; the host of this machine counts time no faster than
//! the drift bound allows.

use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::time::Duration;
use crate::view::{Stay, View};
use alloc::collections::{BTreeMap, VecDeque};

/// The terms of members' leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LeaseTerms {
    pub lease: Duration,
    /// The time from one renewal to the next request for a renewal.
    pub keepalive: Duration,
    /// Maximum drift of any clock from true time, in parts per million.
    pub drift_ppm: u32,
    /// The reaction to a connection that a member's kernel closed.
    pub on_close: OnClose,
}

/// The reaction to a connection that a member's kernel closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum OnClose {
    /// Consider the member dead, and remove it at once.
    #[default]
    Evict,
    /// Keep the member until its lease expires.
    Lease,
}

impl Default for LeaseTerms {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(2),
            keepalive: Duration::from_millis(400),
            drift_ppm: 500,
            on_close: OnClose::Evict,
        }
    }
}

impl LeaseTerms {
    /// How long a member trusts a lease, on its own clock, from just before it requested the lease.
    ///
    /// Let L be the lease and ρ the drift bound. The host of the membership counts L from when it
    /// granted the lease, on a clock that is fast by at most ρ, so the lease does not expire before
    /// L/(1+ρ) of true time. The member's clock is slow by at most ρ, so by then at least
    /// L(1−ρ)/(1+ρ) have passed on that clock.
    pub fn trusted_for(&self) -> Duration {
        let million = 1_000_000_u128;
        let drift = u128::from(self.drift_ppm).min(million);
        let nanos = u128::from(self.lease.nanos()) * (million - drift) / (million + drift);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// A request to a membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Request {
    /// Admit this incarnation of a node.
    Join { node: NodeId, incarnation: Incarnation },
    /// Renew the lease of a member.
    Renew { node: NodeId, stay: Stay },
    /// End the stay of a member.
    Leave { node: NodeId, stay: Stay },
    /// Record that one member suspects another.
    Suspect {
        node: NodeId,
        stay: Stay,
        /// The member that suspects `node`.
        by: NodeId,
        #[cfg_attr(feature = "serde", serde(rename = "why"))]
        suspicion: Suspicion,
    },
    /// Do nothing but advance time.
    Tick,
}

/// Why a member is suspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Suspicion {
    /// The member's kernel closed or refused a connection.
    Closed,
    /// No sign of life arrived from the member.
    Silent,
}

/// Why a member was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum RemovalReason {
    /// The member asked to leave.
    Left,
    /// The member's lease expired.
    Expired,
    /// A later incarnation of the node joined.
    Restarted,
    /// The member `by` reported that the removed member's kernel closed or refused a connection.
    Closed { by: NodeId },
}

/// The removal of a member. The membership keeps the latest ones, to tell a node why it is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Removal {
    /// The first view without this stay of the node.
    pub epoch: Epoch,
    pub node: NodeId,
    pub stay: Stay,
    #[cfg_attr(feature = "serde", serde(rename = "why"))]
    pub reason: RemovalReason,
    /// The last node that suspected the member, and why; `None` if no node did.
    #[cfg_attr(feature = "serde", serde(rename = "suspected"))]
    pub last_suspicion: Option<(NodeId, Suspicion)>,
}

/// The status of a node after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Answer {
    /// The node is a member, with a lease from now on.
    #[cfg_attr(feature = "serde", serde(rename = "in"))]
    Member(Stay),
    /// The node is no member.
    #[cfg_attr(feature = "serde", serde(rename = "out"))]
    NotMember,
    /// The request was a suspicion or a tick, which says nothing about its sender.
    #[cfg_attr(feature = "serde", serde(rename = "noted"))]
    Recorded,
}

/// Maximum number of removals that the membership remembers.
const MAX_KEPT_REMOVALS: usize = 64;

/// The members of a group, and when the lease of each expires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Membership {
    terms: LeaseTerms,
    epoch: Epoch,
    members: BTreeMap<NodeId, Member>,
    removals: VecDeque<Removal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Member {
    stay: Stay,
    /// When the lease expires, in the time of the machine's host.
    expires: Duration,
    /// The last node that suspected the member, and why.
    #[cfg_attr(feature = "serde", serde(rename = "suspected"))]
    last_suspicion: Option<(NodeId, Suspicion)>,
}

impl Membership {
    /// The membership of a group that starts with these members, all in their first incarnation and
    /// with a lease from time zero.
    pub fn founding(group: &Group, terms: LeaseTerms) -> Self {
        let view = View::founding(group.clone());
        let member = |stay| Member { stay, expires: terms.lease, last_suspicion: None };
        let members = view.stays().map(|(node, stay)| (node, member(stay))).collect();
        Self { terms, epoch: view.epoch(), members, removals: VecDeque::new() }
    }

    /// The terms of the leases.
    pub const fn terms(&self) -> &LeaseTerms {
        &self.terms
    }

    /// The current view.
    pub fn view(&self) -> View {
        View::new(self.epoch, self.members.iter().map(|(node, member)| (*node, member.stay)))
    }

    /// The number of the current view.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The latest removals, oldest first.
    pub fn removals(&self) -> impl DoubleEndedIterator<Item = &Removal> + '_ {
        self.removals.iter()
    }

    /// When the next lease expires; `None` if there are no members.
    pub fn next_expiry(&self) -> Option<Duration> {
        self.members.values().map(|member| member.expires).min()
    }

    /// Applies a request at this instant, which must not be earlier than that of the previous
    /// request. Expired leases end first.
    pub fn apply(&mut self, now: Duration, request: Request) -> Answer {
        self.expire(now);
        match request {
            Request::Join { node, incarnation } => self.join(now, node, incarnation),
            Request::Renew { node, stay } => self.renew(now, node, stay),
            Request::Leave { node, stay } => self.leave(node, stay),
            Request::Suspect { node, stay, by, suspicion } => self.suspect(node, stay, by, suspicion),
            Request::Tick => Answer::Recorded,
        }
    }

    /// MB-3. All leases that have expired end with one view.
    fn expire(&mut self, now: Duration) {
        let expired: VecDeque<_> =
            self.members.iter().filter(|(_, member)| member.expires <= now).map(|(node, _)| *node).collect();
        if expired.is_empty() {
            return;
        }
        self.advance_epoch();
        expired.into_iter().for_each(|node| self.remove(node, RemovalReason::Expired));
    }

    /// MB-1. A member's incarnation proves that older ones of the node are dead, so those may not
    /// join.
    fn join(&mut self, now: Duration, node: NodeId, incarnation: Incarnation) -> Answer {
        match self.members.get(&node).map(|member| member.stay) {
            Some(stay) if stay.incarnation == incarnation => return self.renew(now, node, stay),
            Some(stay) if stay.incarnation > incarnation => return Answer::NotMember,
            Some(_) => {
                self.advance_epoch();
                self.remove(node, RemovalReason::Restarted);
            }
            None => self.advance_epoch(),
        }
        let stay = Stay { incarnation, since: self.epoch };
        let member = Member { stay, expires: self.expiry_of_grant(now), last_suspicion: None };
        self.members.insert(node, member);
        Answer::Member(stay)
    }

    /// MB-2.
    fn renew(&mut self, now: Duration, node: NodeId, stay: Stay) -> Answer {
        let expires = self.expiry_of_grant(now);
        match self.member_with_stay(node, stay) {
            Some(member) => {
                member.expires = expires;
                Answer::Member(stay)
            }
            None => Answer::NotMember,
        }
    }

    /// MB-4.
    fn leave(&mut self, node: NodeId, stay: Stay) -> Answer {
        if self.member_with_stay(node, stay).is_some() {
            self.advance_epoch();
            self.remove(node, RemovalReason::Left);
        }
        Answer::NotMember
    }

    /// MB-5.
    fn suspect(&mut self, node: NodeId, stay: Stay, by: NodeId, suspicion: Suspicion) -> Answer {
        let on_close = self.terms.on_close;
        let Some(member) = self.member_with_stay(node, stay) else { return Answer::Recorded };
        member.last_suspicion = Some((by, suspicion));
        match (suspicion, on_close) {
            (Suspicion::Closed, OnClose::Evict) => {
                self.advance_epoch();
                self.remove(node, RemovalReason::Closed { by });
            }
            (Suspicion::Closed, OnClose::Lease) | (Suspicion::Silent, _) => {}
        }
        Answer::Recorded
    }

    fn member_with_stay(&mut self, node: NodeId, stay: Stay) -> Option<&mut Member> {
        self.members.get_mut(&node).filter(|member| member.stay == stay)
    }

    fn expiry_of_grant(&self, now: Duration) -> Duration {
        now + self.terms.lease
    }

    fn advance_epoch(&mut self) {
        self.epoch = Epoch(self.epoch.0.saturating_add(1));
    }

    fn remove(&mut self, node: NodeId, reason: RemovalReason) {
        let Some(Member { stay, last_suspicion, .. }) = self.members.remove(&node) else { return };
        if self.removals.len() == MAX_KEPT_REMOVALS {
            self.removals.pop_front();
        }
        self.removals.push_back(Removal { epoch: self.epoch, node, stay, reason, last_suspicion });
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, LeaseTerms, Membership, OnClose, RemovalReason, Request, Suspicion};
    use crate::group::{Epoch, Group};
    use crate::node::{Incarnation, NodeId};
    use crate::time::Duration;
    use crate::view::Stay;
    use std::vec::Vec;

    /// The default lease.
    const LEASE_MILLIS: u64 = 2_000;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn three_members(on_close: OnClose) -> Membership {
        Membership::founding(&Group::of_size(3), LeaseTerms { on_close, ..LeaseTerms::default() })
    }

    fn stay(incarnation: u64, since: u64) -> Stay {
        Stay { incarnation: Incarnation(incarnation), since: Epoch(since) }
    }

    fn epoch_and_members(membership: &Membership) -> (u64, Vec<u32>) {
        let view = membership.view();
        (view.epoch().0, view.members().iter().map(NodeId::number).collect())
    }

    fn node(number: usize) -> NodeId {
        NodeId::from_index(number - 1)
    }

    #[test]
    fn mb_1_a_new_incarnation_replaces_the_old_one_and_an_old_one_is_not_admitted() {
        let mut membership = three_members(OnClose::Lease);
        let join = |incarnation| Request::Join { node: node(2), incarnation: Incarnation(incarnation) };
        assert_eq!(membership.apply(at(1), join(1)), Answer::Member(stay(1, 2)));
        assert_eq!(epoch_and_members(&membership), (2, [1, 2, 3].into()));
        assert_eq!(membership.apply(at(2), join(0)), Answer::NotMember);
        assert_eq!(membership.apply(at(3), join(1)), Answer::Member(stay(1, 2)), "a repeated request");
        assert_eq!(epoch_and_members(&membership).0, 2);
        assert_eq!(membership.removals().last().map(|removal| removal.reason), Some(RemovalReason::Restarted));
    }

    #[test]
    fn mb_2_a_lease_runs_from_its_renewal_and_a_removed_node_learns_that_it_is_out() {
        let mut membership = three_members(OnClose::Lease);
        for number in 1..=3 {
            let renew = Request::Renew { node: node(number), stay: stay(0, 1) };
            assert_eq!(membership.apply(at(1_000), renew), Answer::Member(stay(0, 1)));
        }
        membership.apply(at(LEASE_MILLIS + 999), Request::Tick);
        assert_eq!(epoch_and_members(&membership).0, 1);
        let late_renewal = Request::Renew { node: node(1), stay: stay(0, 1) };
        assert_eq!(membership.apply(at(LEASE_MILLIS + 1_000), late_renewal), Answer::NotMember);
        let rejoin = Request::Join { node: node(1), incarnation: Incarnation(0) };
        assert_eq!(membership.apply(at(LEASE_MILLIS + 1_001), rejoin), Answer::Member(stay(0, 3)));
    }

    #[test]
    fn mb_3_leases_that_expire_together_end_with_one_view() {
        let mut membership = three_members(OnClose::Lease);
        membership.apply(at(500), Request::Renew { node: node(3), stay: stay(0, 1) });
        membership.apply(at(LEASE_MILLIS), Request::Tick);
        assert_eq!(epoch_and_members(&membership), (2, [3].into()));
        assert_eq!(membership.next_expiry(), Some(at(LEASE_MILLIS + 500)));
    }

    #[test]
    fn mb_4_a_member_that_leaves_is_out_at_once() {
        let mut membership = three_members(OnClose::Lease);
        assert_eq!(membership.apply(at(1), Request::Leave { node: node(1), stay: stay(0, 1) }), Answer::NotMember);
        assert_eq!(epoch_and_members(&membership), (2, [2, 3].into()));
        membership.apply(at(1), Request::Leave { node: node(1), stay: stay(0, 1) });
        assert_eq!(epoch_and_members(&membership).0, 2, "leaving twice changes nothing");
    }

    #[test]
    fn mb_5_a_closed_connection_removes_a_member_only_with_on_close_evict() {
        let closed = Request::Suspect { node: node(1), stay: stay(0, 1), by: node(2), suspicion: Suspicion::Closed };
        let mut lease_only = three_members(OnClose::Lease);
        lease_only.apply(at(1), closed);
        assert_eq!(epoch_and_members(&lease_only).0, 1);
        lease_only.apply(at(LEASE_MILLIS), Request::Tick);
        let removal = lease_only.removals().next().copied();
        assert_eq!(removal.and_then(|removal| removal.last_suspicion), Some((node(2), Suspicion::Closed)));
        let mut evicting = three_members(OnClose::Evict);
        evicting.apply(
            at(1),
            Request::Suspect { node: node(1), stay: stay(7, 1), by: node(2), suspicion: Suspicion::Closed },
        );
        assert_eq!(epoch_and_members(&evicting).0, 1, "the suspicion is about another incarnation");
        evicting.apply(at(1), closed);
        assert_eq!(epoch_and_members(&evicting), (2, [2, 3].into()));
    }

    #[test]
    fn a_member_never_trusts_a_lease_for_longer_than_it_runs() {
        for drift_ppm in [0, 1, 500, 10_000, 999_999, 2_000_000] {
            let terms = LeaseTerms { drift_ppm, ..LeaseTerms::default() };
            let (million, drift) = (1_000_000_u128, u128::from(drift_ppm.min(1_000_000)));
            // In true time, the slowest clock trusts the lease for trusted/(1−ρ), and the fastest
            // one expires it after lease/(1+ρ). Both are multiplied by (1−ρ)(1+ρ) and a million.
            let longest_trust = u128::from(terms.trusted_for().nanos()) * (million + drift);
            let shortest_lease = u128::from(terms.lease.nanos()) * (million - drift);
            assert!(longest_trust <= shortest_lease, "with a drift of {drift_ppm} ppm");
        }
    }
}
