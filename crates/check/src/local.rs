//! The local state of one node as the checker sees it: the protocol, what it runs on, and its user.

use crate::membership::Lease;
use quorate_core::{Describe, Durable, Incarnation, NodeId, Protocol, Time};
use quorate_journal::Recordable;
use quorate_journal::disk::Disk;
use serde::Serialize;
use std::hash::{Hash, Hasher};

/// A protocol that can be checked: its states and parts can be copied, compared and hashed, and can enter a journal.
///
/// Every protocol with such parts is one; nobody implements this by hand.
pub trait Checked:
    Recordable
    + Protocol<
        Command: Clone,
        Message: Describe + Eq + Hash,
        Timer: Hash,
        Event: Clone + Eq + Hash,
        Durable: Durable<Write: Clone + Eq + Hash + Serialize> + Eq + Hash,
    > + Clone
    + Eq
    + Hash
{
}

impl<P> Checked for P where
    P: Recordable
        + Protocol<
            Command: Clone,
            Message: Describe + Eq + Hash,
            Timer: Hash,
            Event: Clone + Eq + Hash,
            Durable: Durable<Write: Clone + Eq + Hash + Serialize> + Eq + Hash,
        > + Clone
        + Eq
        + Hash
{
}

/// One node with its disk, its timers, its clock's rate and its user.
pub(crate) struct Local<P: Protocol, U> {
    pub(crate) node: NodeId,
    /// None while it is down.
    pub(crate) protocol: Option<P>,
    pub(crate) incarnation: Incarnation,
    /// In the order of their fingerprints, so that equal sets are equal.
    pub(crate) timers: Vec<Armed<P::Timer>>,
    pub(crate) disk: Disk<P>,
    /// How much faster than true time its clock runs, in millionths.
    pub(crate) rate: i32,
    /// Whether it may act, where the group has views.
    pub(crate) lease: Lease,
    pub(crate) user: U,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Armed<T> {
    pub(crate) fingerprint: u64,
    pub(crate) timer: T,
    /// When it may fire by the node's own clock, where time counts.
    pub(crate) earliest: Time,
    /// When it must have fired.
    pub(crate) latest: Time,
}

impl<P: Checked, U: Clone> Clone for Local<P, U> {
    fn clone(&self) -> Self {
        Self {
            node: self.node,
            protocol: self.protocol.clone(),
            incarnation: self.incarnation,
            timers: self.timers.clone(),
            disk: self.disk.clone(),
            rate: self.rate,
            lease: self.lease,
            user: self.user.clone(),
        }
    }
}

impl<P: Checked, U: Eq> PartialEq for Local<P, U> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
            && self.user == other.user
            && self.incarnation == other.incarnation
            && self.rate == other.rate
            && self.lease == other.lease
            && self.timers == other.timers
            && self.protocol == other.protocol
            && self.disk == other.disk
    }
}

impl<P: Checked, U: Eq> Eq for Local<P, U> {}

impl<P: Checked, U: Hash> Hash for Local<P, U> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.node.hash(state);
        self.user.hash(state);
        self.incarnation.hash(state);
        self.rate.hash(state);
        self.lease.hash(state);
        self.timers.hash(state);
        self.protocol.hash(state);
        self.disk.hash(state);
    }
}

const MILLION: i128 = 1_000_000;

/// What a clock of this rate shows at a true instant; all show zero at zero.
pub(crate) fn shown(time: Time, rate: i32) -> Time {
    let nanos = i128::from(time.nanos()) * (MILLION + i128::from(rate)) / MILLION;
    Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// The first true instant at which a clock of this rate shows at least this.
pub(crate) fn reached(shown: Time, rate: i32) -> Time {
    let pace = (MILLION + i128::from(rate)).max(1);
    let nanos = (i128::from(shown.nanos()) * MILLION + pace - 1).div_euclid(pace);
    Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{reached, shown};
    use quorate_core::Time;

    #[test]
    fn a_clock_shows_its_timer_the_first_moment_it_is_due() {
        for rate in [-1_000, -1, 0, 1, 1_000] {
            for nanos in [0, 1, 999_999, 1_000_000_000, 1_000_000_007] {
                let due = Time::from_nanos(nanos);
                let truly = reached(due, rate);
                assert!(shown(truly, rate) >= due, "{rate} {nanos}");
                let before = Time::from_nanos(truly.nanos() - 1);
                assert!(nanos == 0 || shown(before, rate) < due, "{rate} {nanos}");
            }
        }
    }
}
