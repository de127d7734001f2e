//! The assumptions of election algorithms, and which of them an experiment breaks. A failure under
//! a broken assumption is no evidence against the algorithm.

use super::{Detector, Election, ElectionEntry, Settings, plan};
use crate::spec::Spec;
use quorate_core::election::{Model, Repair, Splits, Structure};
use quorate_core::{Bounds, Duration, NodeId};
use quorate_journal::settings::{Fault, Latency, Length, LinkChange, RestartDisk, TimedFault};
use std::collections::BTreeMap;

/// Returns the assumptions that this experiment breaks or may break, each as a sentence without its
/// full stop.
pub(super) fn broken_assumptions(spec: &Spec<Election>, entry: &ElectionEntry) -> Vec<&'static str> {
    let facts = entry.facts;
    let faults = spec.every_fault();
    let is_ring = facts.structure == Structure::Ring;
    let is_bully = facts.structure == Structure::Bully;
    // Bully nodes need a majority for longer, which is an assumption of its own below.
    let needs_majority = facts.splits != Splits::WhilePartitioned && !is_bully;
    let relies_on_bounds = facts.model == Model::Synchronous || is_ring && spec.settings.repair == Repair::Timeout;
    let survives_crashes = facts.survives_crashes && (!is_ring || spec.settings.repair != Repair::None);
    let uses_crash_reports = match facts.structure {
        Structure::Ring => spec.settings.repair == Repair::Detector,
        Structure::Bully | Structure::Groups | Structure::Regions => true,
        Structure::Votes => false,
    };
    let is_crash_after_start =
        |timed: &TimedFault| matches!(timed.fault, Fault::Crash { .. }) && timed.at > Duration::ZERO;
    let assumptions = [
        (!facts.tolerates_loss && spec.loses_messages_unrepaired(&faults), "links neither lose nor duplicate messages"),
        (relies_on_bounds && may_exceed_bounds(spec, &faults), "no delay exceeds the bounds that nodes know"),
        (!survives_crashes && faults.iter().any(is_crash_after_start), "no node crashes during an election"),
        (
            needs_majority && may_lack_majority(spec, &faults, Duration::ZERO),
            "a majority of the group is up at any time",
        ),
        (
            is_bully && may_lack_majority(spec, &faults, save_delay(spec)),
            "a majority of the group stays up throughout any three message times",
        ),
        (
            has_partition(&faults) && !facts.tolerates_loss && facts.splits == Splits::Never,
            "the group is not partitioned",
        ),
        (
            uses_crash_reports && has_no_detector(spec) && faults.iter().any(is_crash_after_start),
            "the failure detector reports every crash",
        ),
        (uses_crash_reports && suspects_live_nodes(spec), "the failure detector never suspects a live node"),
        (facts.splits == Splits::WhilePartitioned && has_lasting_partition(&faults), "partitions heal eventually"),
        (facts.has_leases && exceeds_drift_bound(spec, &faults), "clock drift stays within the bound that nodes know"),
        (facts.has_leases && has_clock_jump(&faults), "clocks do not jump"),
        (faults.iter().any(loses_disk), "disks keep acknowledged writes"),
    ];
    assumptions.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, assumption)| assumption).collect()
}

/// Whether some message may take longer than the bound that nodes know.
fn may_exceed_bounds(spec: &Spec<Election>, faults: &[TimedFault]) -> bool {
    let bound = plan(spec).bounds.message;
    let may_exceed = |latency: Latency| match latency {
        Latency::Fixed(length) => length > bound,
        Latency::Uniform { max, .. } => max > bound,
        Latency::LongTail { .. } => true,
    };
    let may_delay = |timed: &TimedFault| match &timed.fault {
        Fault::Pause { .. } => true,
        // Reliable links delay messages until the partition heals; bare links lose them.
        Fault::Cut(_) => spec.is_reliable(),
        Fault::Link { change: LinkChange::Latency(latency), .. } => may_exceed(*latency),
        _ => false,
    };
    // A retransmitted message may exceed the bound.
    let retransmits = spec.is_reliable() && !spec.loss.is_zero();
    may_exceed(spec.latency) || retransmits || faults.iter().any(may_delay)
}

/// The time that bully nodes need to save a declared result: three message times, each with the
/// time to process up to four other messages from every node.
fn save_delay(spec: &Spec<Election>) -> Duration {
    let Bounds { message, processing } = plan(spec).bounds;
    (message + processing.times(4 * spec.nodes as u64)).times(3)
}

/// Whether, in some span of this length, half of the group or more is down, at the same time or one
/// after the other. To find out, each outage counts as beginning `span` earlier. Crashes by failing
/// disks do not count.
fn may_lack_majority(spec: &Spec<Election>, faults: &[TimedFault], span: Duration) -> bool {
    let earliest = |at: Duration| Duration::from_nanos(at.nanos().saturating_sub(span.nanos()));
    // When a node goes down (`true`) or up again.
    let mut changes: Vec<(Duration, bool, NodeId)> = Vec::new();
    for TimedFault { at, fault, duration } in faults {
        match fault {
            Fault::Crash { node, .. } => {
                changes.push((earliest(*at), true, *node));
                changes.extend(duration.map(|duration| (*at + duration, false, *node)));
            }
            Fault::Restart { node, .. } => changes.push((*at, false, *node)),
            _ => {}
        }
    }
    changes.sort_unstable();
    // Outages of one node may overlap, because they count as beginning earlier.
    let mut outages_by_node: BTreeMap<NodeId, usize> = BTreeMap::new();
    changes.into_iter().any(|(_, goes_down, node)| {
        let outages = outages_by_node.entry(node).or_default();
        *outages = if goes_down { *outages + 1 } else { outages.saturating_sub(1) };
        2 * outages_by_node.values().filter(|outages| **outages > 0).count() >= spec.nodes
    })
}

/// Whether nodes receive no notices of crashes.
fn has_no_detector(spec: &Spec<Election>) -> bool {
    spec.settings.detector == Detector::None
}

/// Whether a heartbeat within the bound on delays may arrive after the fixed silence that the
/// settings give. The default silence is long enough, and an adaptive timeout is not judged.
fn suspects_live_nodes(spec: &Spec<Election>) -> bool {
    let Settings { detector, silence, .. } = &spec.settings;
    let longest_silence = super::detector::period(spec) + plan(spec).bounds.message;
    *detector == Detector::Heartbeat && silence.is_some_and(|Length(silence)| silence < longest_silence)
}

fn has_lasting_partition(faults: &[TimedFault]) -> bool {
    let heals = |cut: &TimedFault| {
        let is_later_heal = |other: &TimedFault| matches!(other.fault, Fault::Heal) && other.at > cut.at;
        cut.duration.is_some() || faults.iter().any(is_later_heal)
    };
    faults.iter().any(|timed| matches!(timed.fault, Fault::Cut(_)) && !heals(timed))
}

fn has_partition(faults: &[TimedFault]) -> bool {
    faults.iter().any(|timed| matches!(timed.fault, Fault::Cut(_)))
}

/// Whether a clock exceeds the drift bound.
fn exceeds_drift_bound(spec: &Spec<Election>, faults: &[TimedFault]) -> bool {
    let bound = plan(spec).lease_settings.drift_ppm;
    faults.iter().any(|timed| matches!(timed.fault, Fault::Drift { by, .. } if by.parts().unsigned_abs() > bound))
}

/// Whether a clock jumps after the start.
fn has_clock_jump(faults: &[TimedFault]) -> bool {
    faults.iter().any(|timed| matches!(timed.fault, Fault::Skew { .. }) && timed.at > Duration::ZERO)
}

/// Whether a node restarts with a blank disk.
fn loses_disk(timed: &TimedFault) -> bool {
    matches!(timed.fault, Fault::Restart { disk: RestartDisk::Blank, .. })
}
