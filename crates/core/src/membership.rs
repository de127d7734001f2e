//! Who is in a group: a small state machine that numbers its views.
//!
//! It says nothing about who keeps it. In the simulator an oracle does; between real processes it is replicated by a log, and its time is
//! the log's. Members hold leases from it, and it takes nobody's silence for death before the lease has run out.
//!
//! ```text
//! MB-1  a node joins             → it is in from the next view on, with a lease; a new life of a member ends the stay of the old one
//! MB-2  a member renews          → its lease runs from now; who is out is told so, and may join again
//! MB-3  a lease has run out      → the next view lacks its member
//! MB-4  a member leaves          → the next view lacks it
//! MB-5  a member is suspected    → note by whom and why; if its kernel closed its connection, and closing counts as death, the next view
//!                                  lacks it
//! ```
//!
//! Assumes: a lease that was asked for at some instant of a member's clock is trusted by that member for no longer than
//! [`Terms::trusted`] from then on; who keeps this machine counts time no faster than the drift bound allows.

use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::time::Duration;
use crate::view::{Stay, View};
use alloc::collections::{BTreeMap, VecDeque};

/// On what terms members hold their leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Terms {
    pub lease: Duration,
    /// How long after a renewal the next one is asked for.
    pub keepalive: Duration,
    /// How much faster or slower than true time any clock runs at most, in millionths.
    pub drift_ppm: u32,
    /// What is made of a connection that a member's kernel has closed.
    pub on_close: OnClose,
}

/// What is made of a connection that a member's kernel has closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum OnClose {
    /// The process is dead, and out at once.
    #[default]
    Evict,
    /// Nothing: it is out when its lease has run out.
    Lease,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(2),
            keepalive: Duration::from_millis(400),
            drift_ppm: 500,
            on_close: OnClose::Evict,
        }
    }
}

impl Terms {
    /// For how long a member trusts a lease, on its own clock, from the instant before it asked.
    ///
    /// Let L be the lease and ρ the drift bound. Who keeps the membership counts L from when it granted, on a clock that is fast by ρ
    /// at most, so the lease has not run out before L/(1+ρ) of true time. The member's clock is slow by ρ at most, so that what takes
    /// L(1−ρ)/(1+ρ) on it is over by then.
    pub fn trusted(&self) -> Duration {
        let million = 1_000_000_u128;
        let drift = u128::from(self.drift_ppm).min(million);
        let nanos = u128::from(self.lease.nanos()) * (million - drift) / (million + drift);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// What is asked of a membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Request {
    /// Let this life of a node in.
    Join { node: NodeId, incarnation: Incarnation },
    /// Renew the lease of a member.
    Renew { node: NodeId, stay: Stay },
    /// End the stay of a member.
    Leave { node: NodeId, stay: Stay },
    /// Record that one member suspects another.
    Suspect { node: NodeId, stay: Stay, by: NodeId, why: Suspicion },
    /// Nothing; time has passed.
    Tick,
}

/// Why a member is suspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Suspicion {
    /// Its kernel closed or refused a connection.
    Closed,
    /// Nothing was heard of it.
    Silent,
}

/// Why a member is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Reason {
    /// It asked to leave.
    Left,
    /// Its lease ran out.
    Expired,
    /// Another life of it joined.
    Restarted,
    /// Its kernel closed its connection to this node.
    Closed { by: NodeId },
}

/// A removal, so that "why am I out?" has an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Removal {
    /// The first view without it.
    pub epoch: Epoch,
    pub node: NodeId,
    pub stay: Stay,
    pub why: Reason,
    /// Who suspected it last, if anybody did, and why.
    pub suspected: Option<(NodeId, Suspicion)>,
}

/// How a node stands after it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Answer {
    /// In, with a lease from now on.
    In(Stay),
    Out,
    Noted,
}

const REMOVALS: usize = 64;

/// Who is in, and until when each one's lease runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Membership {
    terms: Terms,
    epoch: Epoch,
    members: BTreeMap<NodeId, Member>,
    removals: VecDeque<Removal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Member {
    stay: Stay,
    /// When its lease runs out, in the time of whoever keeps this.
    expires: Duration,
    suspected: Option<(NodeId, Suspicion)>,
}

impl Membership {
    /// The membership of a group that begins with these members, all in their first life and with a lease.
    pub fn founding(group: &Group, terms: Terms) -> Self {
        let view = View::founding(group.clone());
        let member = |stay| Member { stay, expires: terms.lease, suspected: None };
        let members = view.stays().map(|(node, stay)| (node, member(stay))).collect();
        Self { terms, epoch: view.epoch(), members, removals: VecDeque::new() }
    }

    /// The terms of its leases.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The present view.
    pub fn view(&self) -> View {
        View::new(self.epoch, self.members.iter().map(|(node, member)| (*node, member.stay)))
    }

    /// The number of the present view.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Who was removed lately, the last one last.
    pub fn removals(&self) -> impl DoubleEndedIterator<Item = &Removal> + '_ {
        self.removals.iter()
    }

    /// When the next lease runs out.
    pub fn next_expiry(&self) -> Option<Duration> {
        self.members.values().map(|member| member.expires).min()
    }

    /// Does what is asked at this instant, which is never before an earlier one. Leases that have run out end first.
    pub fn apply(&mut self, at: Duration, request: Request) -> Answer {
        self.expire(at);
        match request {
            Request::Join { node, incarnation } => self.join(at, node, incarnation),
            Request::Renew { node, stay } => self.renew(at, node, stay),
            Request::Leave { node, stay } => self.leave(node, stay),
            Request::Suspect { node, stay, by, why } => self.suspect(node, stay, by, why),
            Request::Tick => Answer::Noted,
        }
    }

    /// MB-3. All that have run out end with one view.
    fn expire(&mut self, at: Duration) {
        let over: VecDeque<_> =
            self.members.iter().filter(|(_, member)| member.expires <= at).map(|(node, _)| *node).collect();
        if over.is_empty() {
            return;
        }
        self.advance();
        over.into_iter().for_each(|node| self.remove(node, Reason::Expired));
    }

    /// MB-1. An older life than the one that is in is none of the living.
    fn join(&mut self, at: Duration, node: NodeId, incarnation: Incarnation) -> Answer {
        match self.members.get(&node).map(|member| member.stay) {
            Some(stay) if stay.incarnation == incarnation => return self.renew(at, node, stay),
            Some(stay) if stay.incarnation > incarnation => return Answer::Out,
            Some(_) => {
                self.advance();
                self.remove(node, Reason::Restarted);
            }
            None => self.advance(),
        }
        let stay = Stay { incarnation, since: self.epoch };
        let member = Member { stay, expires: self.until(at), suspected: None };
        self.members.insert(node, member);
        Answer::In(stay)
    }

    /// MB-2.
    fn renew(&mut self, at: Duration, node: NodeId, stay: Stay) -> Answer {
        let until = self.until(at);
        match self.member(node, stay) {
            Some(member) => {
                member.expires = until;
                Answer::In(stay)
            }
            None => Answer::Out,
        }
    }

    /// MB-4.
    fn leave(&mut self, node: NodeId, stay: Stay) -> Answer {
        if self.member(node, stay).is_some() {
            self.advance();
            self.remove(node, Reason::Left);
        }
        Answer::Out
    }

    /// MB-5.
    fn suspect(&mut self, node: NodeId, stay: Stay, by: NodeId, why: Suspicion) -> Answer {
        let on_close = self.terms.on_close;
        let Some(member) = self.member(node, stay) else { return Answer::Noted };
        member.suspected = Some((by, why));
        match (why, on_close) {
            (Suspicion::Closed, OnClose::Evict) => {
                self.advance();
                self.remove(node, Reason::Closed { by });
            }
            (Suspicion::Closed, OnClose::Lease) | (Suspicion::Silent, _) => {}
        }
        Answer::Noted
    }

    fn member(&mut self, node: NodeId, stay: Stay) -> Option<&mut Member> {
        self.members.get_mut(&node).filter(|member| member.stay == stay)
    }

    fn until(&self, at: Duration) -> Duration {
        at + self.terms.lease
    }

    fn advance(&mut self) {
        self.epoch = Epoch(self.epoch.0.saturating_add(1));
    }

    fn remove(&mut self, node: NodeId, why: Reason) {
        let Some(Member { stay, suspected, .. }) = self.members.remove(&node) else { return };
        if self.removals.len() == REMOVALS {
            self.removals.pop_front();
        }
        self.removals.push_back(Removal { epoch: self.epoch, node, stay, why, suspected });
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Membership, OnClose, Reason, Request, Suspicion, Terms};
    use crate::group::{Epoch, Group};
    use crate::node::{Incarnation, NodeId};
    use crate::time::Duration;
    use crate::view::Stay;
    use std::vec::Vec;

    const LEASE: u64 = 2_000;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn founded(on_close: OnClose) -> Membership {
        Membership::founding(&Group::of_size(3), Terms { on_close, ..Terms::default() })
    }

    fn stay(incarnation: u64, since: u64) -> Stay {
        Stay { incarnation: Incarnation(incarnation), since: Epoch(since) }
    }

    fn members(membership: &Membership) -> (u64, Vec<u32>) {
        let view = membership.view();
        (view.epoch().0, view.members().iter().map(NodeId::number).collect())
    }

    fn node(number: usize) -> NodeId {
        NodeId::from_index(number - 1)
    }

    #[test]
    fn mb_1_a_new_life_takes_the_place_of_the_old_one_and_an_old_one_does_not_come_back() {
        let mut group = founded(OnClose::Lease);
        let join = |incarnation| Request::Join { node: node(2), incarnation: Incarnation(incarnation) };
        assert_eq!(group.apply(at(1), join(1)), Answer::In(stay(1, 2)));
        assert_eq!(members(&group), (2, [1, 2, 3].into()));
        assert_eq!(group.apply(at(2), join(0)), Answer::Out);
        assert_eq!(group.apply(at(3), join(1)), Answer::In(stay(1, 2)), "asked twice");
        assert_eq!(members(&group).0, 2);
        assert_eq!(group.removals().last().map(|removal| removal.why), Some(Reason::Restarted));
    }

    #[test]
    fn mb_2_a_lease_runs_from_its_renewal_and_who_is_out_is_told() {
        let mut group = founded(OnClose::Lease);
        for number in 1..=3 {
            let renew = Request::Renew { node: node(number), stay: stay(0, 1) };
            assert_eq!(group.apply(at(1_000), renew), Answer::In(stay(0, 1)));
        }
        group.apply(at(LEASE + 999), Request::Tick);
        assert_eq!(members(&group).0, 1);
        let late = Request::Renew { node: node(1), stay: stay(0, 1) };
        assert_eq!(group.apply(at(LEASE + 1_000), late), Answer::Out);
        let again = Request::Join { node: node(1), incarnation: Incarnation(0) };
        assert_eq!(group.apply(at(LEASE + 1_001), again), Answer::In(stay(0, 3)));
    }

    #[test]
    fn mb_3_leases_that_run_out_together_end_with_one_view() {
        let mut group = founded(OnClose::Lease);
        group.apply(at(500), Request::Renew { node: node(3), stay: stay(0, 1) });
        group.apply(at(LEASE), Request::Tick);
        assert_eq!(members(&group), (2, [3].into()));
        assert_eq!(group.next_expiry(), Some(at(LEASE + 500)));
    }

    #[test]
    fn mb_4_who_leaves_is_out_at_once() {
        let mut group = founded(OnClose::Lease);
        assert_eq!(group.apply(at(1), Request::Leave { node: node(1), stay: stay(0, 1) }), Answer::Out);
        assert_eq!(members(&group), (2, [2, 3].into()));
        group.apply(at(1), Request::Leave { node: node(1), stay: stay(0, 1) });
        assert_eq!(members(&group).0, 2, "once is enough");
    }

    #[test]
    fn mb_5_a_closed_connection_is_death_only_where_it_counts_as_that() {
        let closed = Request::Suspect { node: node(1), stay: stay(0, 1), by: node(2), why: Suspicion::Closed };
        let mut strict = founded(OnClose::Lease);
        strict.apply(at(1), closed);
        assert_eq!(members(&strict).0, 1);
        strict.apply(at(LEASE), Request::Tick);
        let removal = strict.removals().next().copied();
        assert_eq!(removal.and_then(|removal| removal.suspected), Some((node(2), Suspicion::Closed)));
        let mut quick = founded(OnClose::Evict);
        quick.apply(at(1), Request::Suspect { node: node(1), stay: stay(7, 1), by: node(2), why: Suspicion::Closed });
        assert_eq!(members(&quick).0, 1, "it was another life");
        quick.apply(at(1), closed);
        assert_eq!(members(&quick), (2, [2, 3].into()));
    }

    #[test]
    fn a_member_never_trusts_a_lease_for_longer_than_it_runs() {
        for drift_ppm in [0, 1, 500, 10_000, 999_999, 2_000_000] {
            let terms = Terms { drift_ppm, ..Terms::default() };
            let (million, drift) = (1_000_000_u128, u128::from(drift_ppm.min(1_000_000)));
            // At the slowest, so many millionths of a nanosecond pass truly; at the fastest, the lease takes these.
            let held = u128::from(terms.trusted().nanos()) * (million + drift);
            let granted = u128::from(terms.lease.nanos()) * (million - drift);
            assert!(held <= granted, "{drift_ppm}");
        }
    }
}
