//! Crashes and restarts of any node at any time, within the limits that elections must tolerate: a
//! majority stays up.
//!
//! An election may rely on a majority not only at each instant, but throughout a few message times:
//! until messages are received and saved. So every outage is drawn with a margin before and after
//! it, except on a ring. Even if the margins count as outages, less than half of the group is down
//! at a time.

use super::Election;
use crate::family::RunFamily;
use crate::spec::Spec;
use quorate_core::election::Structure;
use quorate_core::{Bounds, Duration, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Fault, TimedFault, UnsyncedSaves};

/// Makes these draws differ from those of other seed-chosen faults. Any constant would do.
const SEED_SALT: u64 = 0x000E_1EC7_104E;

/// Time before and after an outage in which no majority may depend on the node, in round trips.
const MARGIN: u64 = 3;

/// Number of attempts to draw an outage that fits.
const ATTEMPTS_PER_OUTAGE: u64 = 8;

/// A crash with its restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outage {
    node: NodeId,
    at: Duration,
    duration: Duration,
}

impl Outage {
    /// Whether the outages overlap if each is extended by the margin at both ends.
    fn overlaps(&self, other: &Self, margin: Duration) -> bool {
        let end = |outage: &Self| outage.at + outage.duration + margin.times(2);
        self.at <= end(other) && other.at <= end(self)
    }
}

/// Draws the crashes of a seed, each with its restart: as many as the settings request, less those
/// for which no attempt fits.
pub(super) fn draw(spec: &Spec<Election>) -> Vec<TimedFault> {
    let margin = round_trip(spec).times(if ensures_majority(spec) { 0 } else { MARGIN });
    let mut rng = SeededRng::new(spec.seed ^ SEED_SALT, Stream::Faults);
    // The window, a quarter or a sixteenth of it: some seeds spread the outages, others put them
    // close together, so that one begins during the recovery from another.
    let window = Election::fault_window(spec).nanos() >> (2 * rng.below(3));
    let window = Duration::from_nanos(window).max(round_trip(spec).times(MARGIN));
    let mut outages: Vec<Outage> = Vec::new();
    for _ in 0..spec.settings.crashes {
        let fitting = (0..ATTEMPTS_PER_OUTAGE)
            .map(|_| draw_outage(spec, window, &mut rng))
            .find(|outage| fits(spec, outage, &outages, margin));
        outages.extend(fitting);
    }
    outages.into_iter().map(to_timed_fault).collect()
}

/// Whether the algorithm itself ensures that a majority takes part, as those on a ring do. Then a
/// majority at every instant is enough.
fn ensures_majority(spec: &Spec<Election>) -> bool {
    spec.algorithm.facts.structure == Structure::Ring
}

/// Draws one outage. The shortest outages end before other nodes notice; the longest end after the
/// group has adapted.
fn draw_outage(spec: &Spec<Election>, window: Duration, rng: &mut SeededRng) -> Outage {
    let node = NodeId::from_index(rng.below(spec.nodes as u64) as usize);
    let minimum = Duration::from_nanos(1);
    let at = rng.between(minimum, window);
    let maximum = match rng.below(3) {
        0 => round_trip(spec),
        1 => round_trip(spec).times(6),
        _ => window,
    };
    Outage { node, at, duration: rng.between(minimum, maximum) }
}

/// Whether the node is up long enough between this outage and its other outages, and a majority is
/// always up. All outages that overlap this one count, even if they do not overlap each other,
/// which is stricter than necessary but simple.
fn fits(spec: &Spec<Election>, outage: &Outage, others: &[Outage], margin: Duration) -> bool {
    let mut overlapping = others.iter().filter(|other| outage.overlaps(other, margin));
    let down_from_the_start = super::nodes_down_at_start(spec).len();
    let max_down = spec.nodes.saturating_sub(1) / 2;
    let overlapping_nodes: Vec<_> = overlapping.by_ref().map(|other| other.node).collect();
    !overlapping_nodes.contains(&outage.node) && down_from_the_start + overlapping_nodes.len() < max_down
}

/// The longest duration of a request and its reply, at a node with requests from all others.
fn round_trip(spec: &Spec<Election>) -> Duration {
    let Bounds { message, processing } = spec.environment().bounds;
    message.times(2) + processing.times(4 * spec.nodes as u64)
}

/// The crash and restart of an outage.
fn to_timed_fault(Outage { node, at, duration }: Outage) -> TimedFault {
    TimedFault { at, fault: Fault::Crash { node, unsynced: UnsyncedSaves::Torn }, duration: Some(duration) }
}

#[cfg(test)]
mod tests {
    use super::{Election, draw, round_trip};
    use crate::election::Settings;
    use crate::spec::Spec;
    use quorate_core::{Duration, NodeId};
    use quorate_journal::settings::TimedFault;

    fn spec(nodes: usize, crashes: u64, seed: u64) -> Spec<Election> {
        Spec { nodes, seed, settings: Settings { crashes, ..Settings::default() }, ..Spec::named("raft").unwrap() }
    }

    fn is_down_at(outage: &TimedFault, instant: Duration) -> bool {
        let end = outage.duration.map(|duration| outage.at + duration);
        outage.at <= instant && end.is_some_and(|end| instant <= end)
    }

    /// Checks the two round trips from the beginning of every outage. The number of nodes that are
    /// down has its maximum at one of these beginnings.
    #[test]
    fn a_majority_stays_up_throughout() {
        let mut outage_count = 0;
        for (nodes, seed) in (3..=9).flat_map(|nodes| (0..200).map(move |seed| (nodes, seed))) {
            let spec = spec(nodes, 6, seed);
            let outages = draw(&spec);
            outage_count += outages.len();
            for outage in &outages {
                let later = outage.at + round_trip(&spec).times(2);
                let is_down_meanwhile = |other: &&TimedFault| {
                    is_down_at(other, outage.at) || is_down_at(other, later) || (outage.at..later).contains(&other.at)
                };
                let down: Vec<_> =
                    outages.iter().filter(is_down_meanwhile).filter_map(|other| other.fault.node()).collect();
                assert!(2 * down.len() < nodes, "{nodes} nodes, seed {seed}: {down:?} are down");
                outage.validate(nodes).unwrap();
            }
        }
        assert!(outage_count > 3_000, "too few outages fit for a meaningful test: {outage_count}");
    }

    #[test]
    fn every_node_crashes_in_some_seed_unless_one_is_half_of_the_group() {
        let crashed_nodes = |nodes| {
            let all = (0..300).flat_map(move |seed| draw(&spec(nodes, 3, seed)));
            all.filter_map(|outage| outage.fault.node()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(crashed_nodes(5), (0..5).map(NodeId::from_index).collect());
        assert!(crashed_nodes(2).is_empty() && crashed_nodes(1).is_empty());
    }

    #[test]
    fn nodes_that_are_down_at_the_start_count_as_outages() {
        let faults = vec!["crash 5".parse().unwrap(), "crash 4".parse().unwrap()];
        assert!((0..50).all(|seed| draw(&Spec { faults: faults.clone(), ..spec(5, 3, seed) }).is_empty()));
    }
}
