//! Compares the logs of all replicas in all their incarnations, index by index.

use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::Fault;
use quorate_replica::{Audit, LogTime, Restoration};
use std::collections::BTreeMap;

/// The logs of all replicas so far.
#[derive(Default)]
pub(super) struct LogAudit {
    /// For each index, the report of the first replica that reached it.
    entries: BTreeMap<u64, Entry>,
    /// The acknowledged indexes.
    acknowledged: BTreeMap<u64, Acknowledged>,
    pace: Pace,
}

/// A log entry as the first replica reported it.
#[derive(Clone, Copy)]
struct Entry {
    reported_by: NodeId,
    /// Term and fingerprint; `None` if only a state was restored so far.
    content: Option<(u64, u64)>,
    state: u64,
    time: LogTime,
}

/// An acknowledgement of a log entry.
#[derive(Clone, Copy)]
struct Acknowledged {
    by: NodeId,
    term: u64,
}

/// A difference between two reports about the log.
pub(super) enum Contradiction {
    /// An acknowledged or applied entry was replaced.
    Kept(String),
    /// Two replicas have different states at the same index.
    Equal(String),
    /// Log time decreased, or ran ahead of real time.
    LogTime(String),
}

/// The pace of the fastest clock so far.
#[derive(Default)]
struct Pace {
    /// When the first replica started. In a run of real processes this may be long after zero, or
    /// before it.
    begin: Option<Time>,
    /// In millionths, relative to true time.
    fastest: u32,
    /// How much clock jumps can have added.
    jumps: Duration,
    /// The most that a leader adds at once.
    most: Duration,
}

impl LogAudit {
    /// An empty audit. A leader adds at most two ticks to log time at once.
    pub(super) fn new(tick: Duration) -> Self {
        Self { pace: Pace { most: tick.times(2), ..Pace::default() }, ..Self::default() }
    }

    /// The highest index that any replica has reached.
    pub(super) fn last(&self) -> u64 {
        self.entries.last_key_value().map_or(0, |(index, _)| *index)
    }

    /// The log time at that index.
    pub(super) fn time(&self) -> LogTime {
        self.entries.last_key_value().map_or(LogTime::ZERO, |(_, entry)| entry.time)
    }

    pub(super) fn last_acknowledged(&self) -> u64 {
        self.acknowledged.last_key_value().map_or(0, |(index, _)| *index)
    }

    /// Records that a replica starts. Log time passes from the first start on.
    pub(super) fn record_start(&mut self, now: Time) {
        self.pace.begin.get_or_insert(now);
    }

    /// Records a fault that changes a clock.
    pub(super) fn record_clock_change(&mut self, text: &str) {
        match text.parse::<Fault>() {
            Ok(Fault::Drift { by, .. }) => {
                self.pace.fastest = self.pace.fastest.max(u32::try_from(by.parts()).unwrap_or(0));
            }
            Ok(Fault::Skew { .. }) => self.pace.jumps = self.pace.jumps + self.pace.most,
            Ok(_) | Err(_) => {}
        }
    }

    pub(super) fn record_acknowledgement(&mut self, node: NodeId, term: u64, index: u64) -> Option<Contradiction> {
        self.acknowledged.entry(index).or_insert(Acknowledged { by: node, term });
        let (was, _) = self.entries.get(&index)?.content?;
        (was != term).then(|| differs(index, was, Acknowledged { by: node, term }))
    }

    pub(super) fn record_applied(&mut self, now: Time, node: NodeId, audit: &Audit) -> Vec<Contradiction> {
        let content = Some((audit.term, audit.entry));
        let entry = Entry { reported_by: node, content, state: audit.state, time: audit.time };
        let mut found = self.record_entry(now, audit.index, entry);
        if let Some(acknowledged) = self.acknowledged.get(&audit.index).filter(|known| known.term != audit.term) {
            found.push(differs(audit.index, audit.term, *acknowledged));
        }
        found
    }

    pub(super) fn record_restored(&mut self, now: Time, node: NodeId, restored: &Restoration) -> Vec<Contradiction> {
        let entry = Entry { reported_by: node, content: None, state: restored.state, time: restored.time };
        self.record_entry(now, restored.index, entry)
    }

    /// Records what a replica reports at an index, and compares it with earlier reports.
    fn record_entry(&mut self, now: Time, index: u64, report: Entry) -> Vec<Contradiction> {
        let Some(known) = self.entries.get_mut(&index) else {
            self.entries.insert(index, report);
            return self.check_time(now, index, report).into_iter().collect();
        };
        let (one, other) = (report.reported_by, known.reported_by);
        let mut found = Vec::new();
        if let (Some((term, entry)), Some((known_term, known_entry))) = (report.content, known.content)
            && (term, entry) != (known_term, known_entry)
        {
            let than = if one == other { "in its earlier incarnation".into() } else { format!("node {other} did") };
            let text = format!(
                "node {one} applied another entry at index {index} (term {term}) than {than} (term {known_term})"
            );
            found.push(Contradiction::Kept(text));
        }
        known.content = known.content.or(report.content);
        if report.state != known.state {
            let text = if one == other {
                format!("node {one} has another state at index {index} than before")
            } else {
                format!("node {one} and node {other} have different states at index {index}")
            };
            found.push(Contradiction::Equal(text));
        }
        if report.time != known.time {
            let [now, before] = [report.time, known.time];
            let text = if one == other {
                format!("at index {index} the log time of node {one} is {now}, but it was {before} before")
            } else {
                format!("at index {index} the log time of node {one} is {now}, but that of node {other} is {before}")
            };
            found.push(Contradiction::LogTime(text));
        }
        found
    }

    /// The log time must be between those of its neighbours, and not ahead of the fastest clock.
    fn check_time(&self, now: Time, index: u64, report: Entry) -> Option<Contradiction> {
        let before = self.entries.range(..index).next_back();
        let after = self.entries.range(index + 1..).next();
        let mut found = None;
        if let Some((earlier, entry)) = before.filter(|(_, entry)| entry.time > report.time) {
            found = Some(format!(
                "the log time is {} at index {index}, but {} at index {earlier}",
                report.time, entry.time
            ));
        }
        if let Some((later, entry)) = after.filter(|(_, entry)| entry.time < report.time) {
            found =
                Some(format!("the log time is {} at index {index}, but {} at index {later}", report.time, entry.time));
        }
        let most = self.pace.most_at(now);
        if report.time > most {
            let node = report.reported_by;
            found =
                Some(format!("node {node} applied index {index} at log time {}; expected at most {most}", report.time));
        }
        found.map(Contradiction::LogTime)
    }
}

impl Pace {
    /// The maximum log time at this instant.
    fn most_at(&self, now: Time) -> LogTime {
        let elapsed = u128::from(now.since(self.begin.unwrap_or(Time::ZERO)).nanos());
        let nanos = elapsed * (1_000_000 + u128::from(self.fastest)) / 1_000_000;
        LogTime::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).after(self.jumps)
    }
}

fn differs(index: u64, term: u64, acknowledged: Acknowledged) -> Contradiction {
    let Acknowledged { by, term: promised } = acknowledged;
    Contradiction::Kept(format!(
        "node {by} acknowledged index {index} in term {promised}, but the entry there is of term {term}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{Contradiction, LogAudit};
    use quorate_core::{Duration, NodeId, Time};
    use quorate_replica::{Audit, LogTime};

    const TICK: Duration = Duration::from_millis(10);

    fn audit(index: u64, term: u64, millis: u64, entry: u64, state: u64) -> Audit {
        Audit { index, term, time: LogTime::from_nanos(millis * 1_000_000), entry, state }
    }

    fn at(millis: i64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn names(found: &[Contradiction]) -> Vec<&'static str> {
        let name = |contradiction: &Contradiction| match contradiction {
            Contradiction::Kept(_) => "kept",
            Contradiction::Equal(_) => "equal",
            Contradiction::LogTime(_) => "log-time",
        };
        found.iter().map(name).collect()
    }

    #[test]
    fn equal_reports_contradict_nothing() {
        let mut audit_log = LogAudit::new(TICK);
        let [one, two] = [0, 1].map(NodeId::from_index);
        for node in [one, two, one] {
            assert!(audit_log.record_applied(at(9), node, &audit(2, 1, 5, 7, 8)).is_empty());
            assert!(audit_log.record_applied(at(9), node, &audit(3, 1, 5, 9, 9)).is_empty());
        }
        assert!(audit_log.record_acknowledgement(one, 1, 3).is_none());
        assert_eq!(audit_log.last_acknowledged(), 3);
    }

    #[test]
    fn entries_states_and_times_have_separate_contradictions() {
        let mut audit_log = LogAudit::new(TICK);
        let [one, two] = [0, 1].map(NodeId::from_index);
        audit_log.record_applied(at(9), one, &audit(2, 1, 5, 7, 8));
        assert_eq!(names(&audit_log.record_applied(at(9), two, &audit(2, 2, 5, 7, 8))), ["kept"]);
        assert_eq!(names(&audit_log.record_applied(at(9), two, &audit(2, 1, 5, 6, 8))), ["kept"]);
        assert_eq!(names(&audit_log.record_applied(at(9), two, &audit(2, 1, 5, 7, 9))), ["equal"]);
        assert_eq!(names(&audit_log.record_applied(at(9), two, &audit(2, 1, 6, 7, 8))), ["log-time"]);
        assert_eq!(names(&audit_log.record_applied(at(9), two, &audit(3, 1, 4, 7, 8))), ["log-time"]);
    }

    #[test]
    fn acknowledged_entries_stay_in_any_order_of_reports() {
        let mut audit_log = LogAudit::new(TICK);
        let [one, two] = [0, 1].map(NodeId::from_index);
        assert!(audit_log.record_acknowledgement(one, 1, 4).is_none());
        assert_eq!(names(&audit_log.record_applied(at(9), two, &audit(4, 2, 5, 7, 8))), ["kept"]);
        assert!(matches!(audit_log.record_acknowledgement(one, 1, 4), Some(Contradiction::Kept(_))));
    }

    /// Real processes start at any clock time; time before the start does not count.
    #[test]
    fn log_time_begins_with_the_first_replica() {
        let one = NodeId::from_index(0);
        for begin in [-100, 5_000] {
            let mut audit_log = LogAudit::new(TICK);
            audit_log.record_start(at(begin));
            audit_log.record_start(at(begin + 50));
            assert!(audit_log.record_applied(at(begin + 150), one, &audit(2, 1, 150, 7, 8)).is_empty());
            assert_eq!(names(&audit_log.record_applied(at(begin + 200), one, &audit(3, 1, 201, 7, 8))), ["log-time"]);
        }
    }

    #[test]
    fn log_time_may_go_as_fast_as_the_fastest_clock_and_no_faster() {
        let mut audit_log = LogAudit::new(TICK);
        let one = NodeId::from_index(0);
        assert_eq!(names(&audit_log.record_applied(at(1_000), one, &audit(2, 1, 1_001, 7, 8))), ["log-time"]);
        audit_log.record_clock_change("drift 2 by 1000ppm");
        assert!(audit_log.record_applied(at(2_000), one, &audit(3, 1, 2_002, 7, 8)).is_empty());
        assert_eq!(names(&audit_log.record_applied(at(3_000), one, &audit(4, 1, 3_004, 7, 8))), ["log-time"]);
        audit_log.record_clock_change("skew 2 by 5s");
        assert!(audit_log.record_applied(at(3_000), one, &audit(5, 1, 3_020, 7, 8)).is_empty());
    }
}
