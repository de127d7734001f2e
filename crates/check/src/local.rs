//! The local state of one node as the checker sees it: the protocol, its disk and timers, and its
//! client.

use crate::membership::Lease;
use quorate_core::{Describe, Durable, Incarnation, NodeId, Protocol, Time};
use quorate_journal::Recordable;
use quorate_journal::disk::Disk;
use serde::Serialize;
use std::hash::{Hash, Hasher};

/// A protocol that can be checked: its states and parts can be cloned, compared, hashed and
/// recorded in a journal.
///
/// Implemented for every protocol with such parts; no type needs to implement it by hand.
pub trait Checkable:
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

impl<P> Checkable for P where
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

/// The local state of one node: its protocol, incarnation, timers, disk, clock drift, lease, and
/// the state `C` of its client.
pub(crate) struct LocalState<P: Protocol, C> {
    pub(crate) node: NodeId,
    /// `None` while the node is down.
    pub(crate) protocol: Option<P>,
    pub(crate) incarnation: Incarnation,
    /// Sorted by fingerprint, so that equal sets compare equal.
    pub(crate) timers: Vec<ArmedTimer<P::Timer>>,
    pub(crate) disk: Disk<P>,
    /// How much faster than true time the clock runs, in parts per million.
    pub(crate) drift_ppm: i32,
    /// Whether the node may act, where the group has views.
    pub(crate) lease: Lease,
    pub(crate) client: C,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArmedTimer<T> {
    pub(crate) fingerprint: u64,
    pub(crate) timer: T,
    /// Earliest time at which the timer may fire, by the node's own clock, where time is modelled.
    pub(crate) earliest: Time,
    /// Latest time by which the timer must have fired, by the same clock.
    pub(crate) latest: Time,
}

impl<P: Checkable, C: Clone> Clone for LocalState<P, C> {
    fn clone(&self) -> Self {
        Self {
            node: self.node,
            protocol: self.protocol.clone(),
            incarnation: self.incarnation,
            timers: self.timers.clone(),
            disk: self.disk.clone(),
            drift_ppm: self.drift_ppm,
            lease: self.lease,
            client: self.client.clone(),
        }
    }
}

impl<P: Checkable, C: Eq> PartialEq for LocalState<P, C> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
            && self.client == other.client
            && self.incarnation == other.incarnation
            && self.drift_ppm == other.drift_ppm
            && self.lease == other.lease
            && self.timers == other.timers
            && self.protocol == other.protocol
            && self.disk == other.disk
    }
}

impl<P: Checkable, C: Eq> Eq for LocalState<P, C> {}

impl<P: Checkable, C: Hash> Hash for LocalState<P, C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.node.hash(state);
        self.client.hash(state);
        self.incarnation.hash(state);
        self.drift_ppm.hash(state);
        self.lease.hash(state);
        self.timers.hash(state);
        self.protocol.hash(state);
        self.disk.hash(state);
    }
}

const MILLION: i128 = 1_000_000;

/// Returns what a clock with this drift shows at a true instant; all clocks show zero at zero.
pub(crate) fn local_time(time: Time, drift_ppm: i32) -> Time {
    let nanos = i128::from(time.nanos()) * (MILLION + i128::from(drift_ppm)) / MILLION;
    Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// Returns the first true instant, from zero on, at which a clock with this drift shows at least
/// `local_time`.
pub(crate) fn true_time(local_time: Time, drift_ppm: i32) -> Time {
    let ticks_per_million = (MILLION + i128::from(drift_ppm)).max(1);
    // Rounded up.
    let nanos = (i128::from(local_time.nanos()) * MILLION + ticks_per_million - 1).div_euclid(ticks_per_million);
    Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{local_time, true_time};
    use quorate_core::Time;

    #[test]
    fn true_time_is_the_first_instant_at_which_the_clock_shows_the_local_time() {
        for drift_ppm in [-1_000, -1, 0, 1, 1_000] {
            for nanos in [0, 1, 999_999, 1_000_000_000, 1_000_000_007] {
                let clock_time = Time::from_nanos(nanos);
                let instant = true_time(clock_time, drift_ppm);
                assert!(local_time(instant, drift_ppm) >= clock_time, "{drift_ppm} {nanos}");
                // Before zero, `local_time` rounds up, so a slow clock shows zero at -1 ns already.
                let before = Time::from_nanos(instant.nanos() - 1);
                assert!(nanos == 0 || local_time(before, drift_ppm) < clock_time, "{drift_ppm} {nanos}");
            }
        }
    }
}
