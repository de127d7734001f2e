//! Compares the logs of all replicas in all their incarnations, index by index.

use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::Fault;
use quorate_replica::{Audit, LogTime, Restoration};
use std::collections::BTreeMap;

/// The logs of all replicas so far.
#[derive(Default)]
pub(super) struct LogAudit {
    /// For each index, the first report about it.
    entries: BTreeMap<u64, ReportedEntry>,
    /// The highest acknowledged index.
    last_acknowledged: u64,
    pace: ClockPace,
}

/// The report of a replica about one index.
#[derive(Clone, Copy)]
struct ReportedEntry {
    reported_by: NodeId,
    /// `None` if only a state was restored so far.
    applied: Option<AppliedEntry>,
    /// Fingerprint of the state machine after the entry.
    state: u64,
    time: LogTime,
}

/// What a replica reports about an entry that it has applied.
#[derive(Clone, Copy, PartialEq, Eq)]
struct AppliedEntry {
    term: u64,
    /// Fingerprint of the entry.
    entry: u64,
    /// Fingerprint of its outcomes.
    outcomes: u64,
}

/// A difference between two reports about the log.
pub(super) enum Contradiction {
    /// An applied entry was replaced.
    ReplacedEntry(String),
    /// Two replicas have different states at the same index.
    DifferentStates(String),
    /// Log time differed between two reports of an index, decreased, or ran ahead of the fastest
    /// clock.
    LogTime(String),
}

/// The facts that bound log time: when it began, and how fast the fastest clock ran.
#[derive(Default)]
struct ClockPace {
    /// When the first replica started. In a run of real processes this may be long after zero, or
    /// before it.
    first_start: Option<Time>,
    /// The most by which any clock ran faster than true time.
    max_drift_ppm: u32,
    /// How much clock jumps can have added to log time.
    jump_allowance: Duration,
    /// The most that a leader adds to log time in one step.
    max_leader_step: Duration,
}

impl LogAudit {
    /// An empty audit. A leader adds at most two ticks to log time in one step.
    pub(super) fn new(tick: Duration) -> Self {
        Self { pace: ClockPace { max_leader_step: tick.times(2), ..ClockPace::default() }, ..Self::default() }
    }

    /// The highest index that any replica has reported.
    pub(super) fn last_index(&self) -> u64 {
        self.entries.last_key_value().map_or(0, |(index, _)| *index)
    }

    /// The log time at the highest index.
    pub(super) fn last_time(&self) -> LogTime {
        self.entries.last_key_value().map_or(LogTime::ZERO, |(_, entry)| entry.time)
    }

    pub(super) fn last_acknowledged(&self) -> u64 {
        self.last_acknowledged
    }

    /// Records that a replica starts. Log time passes from the first start on.
    pub(super) fn record_start(&mut self, now: Time) {
        self.pace.first_start.get_or_insert(now);
    }

    /// Records a fault, given as text, if it changes a clock.
    pub(super) fn record_world_change(&mut self, text: &str) {
        match text.parse::<Fault>() {
            Ok(Fault::Drift { by, .. }) => {
                // A negative drift, of a slow clock, does not raise the maximum.
                self.pace.max_drift_ppm = self.pace.max_drift_ppm.max(u32::try_from(by.parts()).unwrap_or(0));
            }
            Ok(Fault::Skew { .. }) => self.pace.jump_allowance = self.pace.jump_allowance + self.pace.max_leader_step,
            Ok(_) | Err(_) => {}
        }
    }

    /// Records an answer to a client, which a replica gives when it has applied the entry.
    pub(super) fn record_acknowledgement(&mut self, index: u64) {
        self.last_acknowledged = self.last_acknowledged.max(index);
    }

    /// Records an applied entry. `outcomes` is the fingerprint of its outcomes.
    pub(super) fn record_applied(
        &mut self,
        now: Time,
        node: NodeId,
        audit: &Audit,
        outcomes: u64,
    ) -> Vec<Contradiction> {
        let applied = Some(AppliedEntry { term: audit.term, entry: audit.entry_fingerprint, outcomes });
        let report = ReportedEntry { reported_by: node, applied, state: audit.state_fingerprint, time: audit.time };
        self.record_entry(now, audit.index, report)
    }

    pub(super) fn record_restored(&mut self, now: Time, node: NodeId, restored: &Restoration) -> Vec<Contradiction> {
        let entry =
            ReportedEntry { reported_by: node, applied: None, state: restored.state_fingerprint, time: restored.time };
        self.record_entry(now, restored.index, entry)
    }

    /// Records the report of a replica at an index, and compares it with earlier reports.
    fn record_entry(&mut self, now: Time, index: u64, report: ReportedEntry) -> Vec<Contradiction> {
        let Some(known) = self.entries.get_mut(&index) else {
            self.entries.insert(index, report);
            return self.check_time(now, index, report).into_iter().collect();
        };
        let (node, other_node) = (report.reported_by, known.reported_by);
        let mut contradictions = Vec::new();
        if let (Some(applied), Some(known_applied)) = (report.applied, known.applied)
            && applied != known_applied
        {
            let reference =
                if node == other_node { "in its earlier incarnation".into() } else { format!("node {other_node} did") };
            let AppliedEntry { term, entry, .. } = applied;
            contradictions.push(if (term, entry) == (known_applied.term, known_applied.entry) {
                let text = format!("node {node} notified sessions differently at index {index} than {reference}");
                Contradiction::DifferentStates(text)
            } else {
                Contradiction::ReplacedEntry(format!(
                    "node {node} applied another entry at index {index} (term {term}) than {reference} (term {})",
                    known_applied.term
                ))
            });
        }
        known.applied = known.applied.or(report.applied);
        if report.state != known.state {
            let text = if node == other_node {
                format!("node {node} now has a different state at index {index}")
            } else {
                format!("node {node} and node {other_node} have different states at index {index}")
            };
            contradictions.push(Contradiction::DifferentStates(text));
        }
        if report.time != known.time {
            let [reported_time, known_time] = [report.time, known.time];
            let text = if node == other_node {
                format!(
                    "at index {index} the log time of node {node} is {reported_time}, but it was {known_time} before"
                )
            } else {
                format!(
                    "at index {index} the log time of node {node} is {reported_time}, but that of node {other_node} is {known_time}"
                )
            };
            contradictions.push(Contradiction::LogTime(text));
        }
        contradictions
    }

    /// Checks that the log time at an index is between the log times of the neighbouring indices,
    /// and not ahead of the fastest clock.
    fn check_time(&self, now: Time, index: u64, report: ReportedEntry) -> Option<Contradiction> {
        let before = self.entries.range(..index).next_back();
        let after = self.entries.range(index + 1..).next();
        let mut problem = None;
        if let Some((earlier, entry)) = before.filter(|(_, entry)| entry.time > report.time) {
            problem = Some(format!(
                "the log time is {} at index {index}, but {} at index {earlier}",
                report.time, entry.time
            ));
        }
        if let Some((later, entry)) = after.filter(|(_, entry)| entry.time < report.time) {
            problem =
                Some(format!("the log time is {} at index {index}, but {} at index {later}", report.time, entry.time));
        }
        let maximum = self.pace.max_log_time(now);
        if report.time > maximum {
            let node = report.reported_by;
            problem = Some(format!(
                "node {node} applied index {index} at log time {}; expected at most {maximum}",
                report.time
            ));
        }
        problem.map(Contradiction::LogTime)
    }
}

impl ClockPace {
    /// The maximum log time at this instant.
    fn max_log_time(&self, now: Time) -> LogTime {
        let elapsed = u128::from(now.since(self.first_start.unwrap_or(Time::ZERO)).nanos());
        let nanos = elapsed * (1_000_000 + u128::from(self.max_drift_ppm)) / 1_000_000;
        LogTime::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).after(self.jump_allowance)
    }
}

#[cfg(test)]
mod tests {
    use super::{Contradiction, LogAudit};
    use quorate_core::{Duration, NodeId, Time};
    use quorate_replica::{Audit, LogTime};

    const TICK: Duration = Duration::from_millis(10);

    /// A report at log time `millis`. `entry` and `state` are fingerprints.
    fn audit(index: u64, term: u64, millis: u64, entry: u64, state: u64) -> Audit {
        Audit {
            index,
            term,
            time: LogTime::from_nanos(millis * 1_000_000),
            entry_fingerprint: entry,
            state_fingerprint: state,
        }
    }

    fn at(millis: i64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn property_names(found: &[Contradiction]) -> Vec<&'static str> {
        let name = |contradiction: &Contradiction| match contradiction {
            Contradiction::ReplacedEntry(_) => "kept",
            Contradiction::DifferentStates(_) => "equal",
            Contradiction::LogTime(_) => "log-time",
        };
        found.iter().map(name).collect()
    }

    #[test]
    fn equal_reports_contradict_nothing() {
        let mut log_audit = LogAudit::new(TICK);
        let [one, two] = [0, 1].map(NodeId::from_index);
        for node in [one, two, one] {
            assert!(log_audit.record_applied(at(9), node, &audit(2, 1, 5, 7, 8), 0).is_empty());
            assert!(log_audit.record_applied(at(9), node, &audit(3, 1, 5, 9, 9), 0).is_empty());
        }
        log_audit.record_acknowledgement(3);
        assert_eq!(log_audit.last_acknowledged(), 3);
    }

    #[test]
    fn entries_states_and_times_have_separate_contradictions() {
        let mut log_audit = LogAudit::new(TICK);
        let [one, two] = [0, 1].map(NodeId::from_index);
        log_audit.record_applied(at(9), one, &audit(2, 1, 5, 7, 8), 0);
        assert_eq!(property_names(&log_audit.record_applied(at(9), two, &audit(2, 2, 5, 7, 8), 0)), ["kept"]);
        assert_eq!(property_names(&log_audit.record_applied(at(9), two, &audit(2, 1, 5, 6, 8), 0)), ["kept"]);
        assert_eq!(property_names(&log_audit.record_applied(at(9), two, &audit(2, 1, 5, 7, 9), 0)), ["equal"]);
        assert_eq!(property_names(&log_audit.record_applied(at(9), two, &audit(2, 1, 6, 7, 8), 0)), ["log-time"]);
        assert_eq!(property_names(&log_audit.record_applied(at(9), two, &audit(3, 1, 4, 7, 8), 0)), ["log-time"]);
    }

    #[test]
    fn different_outcomes_of_an_entry_are_found() {
        let mut log_audit = LogAudit::new(TICK);
        let [one, two] = [0, 1].map(NodeId::from_index);
        log_audit.record_applied(at(9), one, &audit(4, 1, 5, 7, 8), 1);
        assert_eq!(property_names(&log_audit.record_applied(at(9), two, &audit(4, 1, 5, 7, 8), 2)), ["equal"]);
    }

    /// Real processes start at any clock time; time before the start does not count.
    #[test]
    fn log_time_begins_with_the_first_replica() {
        let one = NodeId::from_index(0);
        for start in [-100, 5_000] {
            let mut log_audit = LogAudit::new(TICK);
            log_audit.record_start(at(start));
            log_audit.record_start(at(start + 50));
            assert!(log_audit.record_applied(at(start + 150), one, &audit(2, 1, 150, 7, 8), 0).is_empty());
            assert_eq!(
                property_names(&log_audit.record_applied(at(start + 200), one, &audit(3, 1, 201, 7, 8), 0)),
                ["log-time"]
            );
        }
    }

    #[test]
    fn log_time_may_go_as_fast_as_the_fastest_clock_and_no_faster() {
        let mut log_audit = LogAudit::new(TICK);
        let one = NodeId::from_index(0);
        assert_eq!(
            property_names(&log_audit.record_applied(at(1_000), one, &audit(2, 1, 1_001, 7, 8), 0)),
            ["log-time"]
        );
        log_audit.record_world_change("drift 2 by 1000ppm");
        assert!(log_audit.record_applied(at(2_000), one, &audit(3, 1, 2_002, 7, 8), 0).is_empty());
        assert_eq!(
            property_names(&log_audit.record_applied(at(3_000), one, &audit(4, 1, 3_004, 7, 8), 0)),
            ["log-time"]
        );
        // A jump of any size allows one step of a leader: two ticks.
        log_audit.record_world_change("skew 2 by 5s");
        assert!(log_audit.record_applied(at(3_000), one, &audit(5, 1, 3_020, 7, 8), 0).is_empty());
    }
}
