//! The schedule of faults: `2@1s..3s` is a fault of node 2 from 1 s to 3 s, and `1 | 2,3 @ 2s..4s`
//! cuts node 1 off from nodes 2 and 3.
//!
//! A schedule consists of the simulator's [`TimedFault`]s, so that a [`Spec`](quorate_lab::Spec)
//! and a journal's header can contain it, and properties treat live and simulated faults alike.

use quorate_core::{Duration, NodeId};
use quorate_journal::settings::{Cut, Fault, Length, SettingError, TimedFault, UnsyncedSaves};
use std::fmt;
use std::str::FromStr;

/// The value of `--kill`, a process to kill and perhaps restart: `2@1s` or `2@1s..3s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillFault(pub TimedFault);

/// The value of `--stop`, a process to pause and perhaps resume: `3@2s` or `3@2s..4s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseFault(pub TimedFault);

/// The value of `--cut`, a partition of the network, perhaps for some time: `1 | 2,3 @ 2s..4s`, or
/// in one direction `1 > 2 @ 2s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutFault(pub TimedFault);

/// Why a text is not a valid schedule, as a sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    #[error("'{}' has no time; write for example {example}.", text.escape_debug())]
    NoTime { text: String, example: &'static str },
    #[error("'{}' is not a node number; write for example {example}.", text.escape_debug())]
    NoNode { text: String, example: &'static str },
    #[error("'{}' ends before it begins; write {}.", text.escape_debug(), correction.escape_debug())]
    Backwards { text: String, correction: String },
    #[error("'{}' ends when it begins; write for example {example}.", text.escape_debug())]
    NoDuration { text: String, example: &'static str },
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("two faults of node {node} overlap: '{earlier}' and '{later}'. Let one end before the other begins.")]
    Overlap { node: NodeId, earlier: String, later: String },
    #[error(
        "'{0}' is not possible with real processes: they can be killed, paused and, with --namespaces, partitioned."
    )]
    NotPossible(String),
    #[error(
        "'{0}' needs a network namespace for every node: add --namespaces, which needs root and the program ip. No \
         process was started."
    )]
    NoNetworks(String),
}

struct TimeRange {
    at: Duration,
    /// `None` if the fault does not end.
    duration: Option<Duration>,
}

/// Splits `SUBJECT@TIME` or `SUBJECT@TIME..TIME`. Errors suggest the example.
fn split_times<'a>(text: &'a str, example: &'static str) -> Result<(&'a str, TimeRange), ScheduleError> {
    let no_time = || ScheduleError::NoTime { text: text.into(), example };
    let (subject, times) = text.rsplit_once('@').ok_or_else(no_time)?;
    let parse_length = |text: &str| text.trim().parse::<Length>().map(|Length(length)| length);
    let range = match times.split_once("..") {
        None => TimeRange { at: parse_length(times)?, duration: None },
        Some((start, end)) => {
            let (start, end) = (parse_length(start)?, parse_length(end)?);
            if end < start {
                let correction = format!("{}@{}..{}", subject.trim(), Length(end), Length(start));
                return Err(ScheduleError::Backwards { text: text.into(), correction });
            }
            if end == start {
                return Err(ScheduleError::NoDuration { text: text.into(), example });
            }
            TimeRange { at: start, duration: Some(Duration::from_nanos(end.nanos() - start.nanos())) }
        }
    };
    Ok((subject.trim(), range))
}

fn parse_node(text: &str, example: &'static str) -> Result<NodeId, ScheduleError> {
    let node = text.parse().ok().and_then(NodeId::new);
    node.ok_or_else(|| ScheduleError::NoNode { text: text.into(), example })
}

const KILL_EXAMPLE: &str = "2@1s, or 2@1s..3s to start it again";
const PAUSE_EXAMPLE: &str = "3@2s..4s";
const CUT_EXAMPLE: &str = "'1 | 2,3 @ 2s..4s'";

impl FromStr for KillFault {
    type Err = ScheduleError;
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (subject, TimeRange { at, duration }) = split_times(text, KILL_EXAMPLE)?;
        // `unsynced` says what a simulated disk loses; real disks decide it themselves.
        let fault = Fault::Crash { node: parse_node(subject, KILL_EXAMPLE)?, unsynced: UnsyncedSaves::Lost };
        Ok(Self(TimedFault { at, fault, duration }))
    }
}

impl FromStr for PauseFault {
    type Err = ScheduleError;
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (subject, TimeRange { at, duration }) = split_times(text, PAUSE_EXAMPLE)?;
        Ok(Self(TimedFault { at, fault: Fault::Pause { node: parse_node(subject, PAUSE_EXAMPLE)? }, duration }))
    }
}

impl FromStr for CutFault {
    type Err = ScheduleError;
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (subject, TimeRange { at, duration }) = split_times(text, CUT_EXAMPLE)?;
        Ok(Self(TimedFault { at, fault: Fault::Cut(subject.parse()?), duration }))
    }
}

/// Formats a fault as a command-line option; `None` if it is not possible with real processes.
pub fn format_option(timed: &TimedFault) -> Option<String> {
    let times = Times(timed);
    match &timed.fault {
        Fault::Crash { node, .. } => Some(format!("--kill {node}@{times}")),
        Fault::Pause { node } => Some(format!("--stop {node}@{times}")),
        Fault::Cut(cut) => Some(format!("--cut \"{cut} @ {times}\"")),
        _ => None,
    }
}

/// Formats the times of a fault, as `1s` or `1s..3s`.
struct Times<'a>(&'a TimedFault);

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimedFault { at, duration, .. } = self.0;
        Length(*at).fmt(f)?;
        duration.map_or(Ok(()), |duration| write!(f, "..{}", Length(*at + duration)))
    }
}

/// What is done to the processes or networks of the group when a fault begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Kill(NodeId),
    /// Starts a killed node again.
    Start(NodeId),
    Pause(NodeId),
    Resume(NodeId),
    /// Begins a cut.
    Sever(Cut),
    /// Ends a cut.
    Mend(Cut),
}

/// The networks on which the nodes of a run communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Networks {
    /// All nodes use the loopback network, which cannot be partitioned.
    Shared,
    /// Every node has a network namespace.
    Own,
}

/// The actions of all faults with their times, sorted by time; those of the same time keep the
/// order of the faults. Fails if a fault is not possible or overlaps another one of the same node.
pub(crate) fn schedule_actions(
    faults: &[TimedFault],
    nodes: usize,
    networks: Networks,
) -> Result<Vec<(Duration, Action)>, ScheduleError> {
    let mut actions = Vec::new();
    for timed in faults {
        timed.validate(nodes)?;
        let [begin, end] = begin_and_end_actions(timed, networks)?;
        actions.push((timed.at, begin));
        actions.extend(timed.duration.map(|duration| (timed.at + duration, end)));
    }
    refuse_overlaps(faults)?;
    actions.sort_by_key(|(at, _)| *at);
    Ok(actions)
}

fn begin_and_end_actions(timed: &TimedFault, networks: Networks) -> Result<[Action; 2], ScheduleError> {
    match &timed.fault {
        Fault::Crash { node, .. } => Ok([Action::Kill(*node), Action::Start(*node)]),
        Fault::Pause { node } => Ok([Action::Pause(*node), Action::Resume(*node)]),
        Fault::Cut(_) if networks == Networks::Shared => Err(ScheduleError::NoNetworks(timed.to_string())),
        Fault::Cut(cut) => Ok([Action::Sever(cut.clone()), Action::Mend(cut.clone())]),
        Fault::Restart { .. }
        | Fault::Resume { .. }
        | Fault::Close { .. }
        | Fault::Heal
        | Fault::Disk { .. }
        | Fault::Skew { .. }
        | Fault::Drift { .. }
        | Fault::Link { .. } => Err(ScheduleError::NotPossible(timed.to_string())),
    }
}

/// Refuses overlapping faults of a node, because it would be unclear, for example, what a kill does
/// to a paused process. A fault that begins when another ends overlaps too: its first action could
/// come before the other's last.
fn refuse_overlaps(faults: &[TimedFault]) -> Result<(), ScheduleError> {
    let affected_node = |timed: &TimedFault| match timed.fault {
        Fault::Crash { node, .. } | Fault::Pause { node } => Some(node),
        _ => None,
    };
    let mut node_faults: Vec<_> = faults.iter().filter_map(|timed| Some((affected_node(timed)?, timed))).collect();
    node_faults.sort_by_key(|(node, timed)| (*node, timed.at));
    for pair in node_faults.windows(2) {
        let [(node, earlier), (later_node, later)] = pair else { continue };
        let is_over = earlier.duration.is_some_and(|duration| earlier.at + duration < later.at);
        if node == later_node && !is_over {
            let describe = |fault: &TimedFault| format_option(fault).unwrap_or_else(|| fault.to_string());
            let (earlier, later) = (describe(earlier), describe(later));
            return Err(ScheduleError::Overlap { node: *node, earlier, later });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Action, CutFault, KillFault, Networks, PauseFault, ScheduleError, format_option, schedule_actions};
    use quorate_core::{Duration, NodeId};
    use quorate_journal::settings::TimedFault;

    fn kill(text: &str) -> TimedFault {
        text.parse::<KillFault>().unwrap().0
    }

    fn pause(text: &str) -> TimedFault {
        text.parse::<PauseFault>().unwrap().0
    }

    fn cut(text: &str) -> TimedFault {
        text.parse::<CutFault>().unwrap().0
    }

    #[test]
    fn options_round_trip() {
        for text in ["2@1s", "2@1s..3s", "12@250ms..0.4s"] {
            let written = format_option(&kill(text)).unwrap();
            assert_eq!(kill(written.strip_prefix("--kill ").unwrap()), kill(text), "{text}");
        }
        assert_eq!(format_option(&pause("3@2s..4s")).unwrap(), "--stop 3@2s..4s");
        assert_eq!(format_option(&cut("1|2,3@2s..4s")).unwrap(), "--cut \"1 | 2,3 @ 2s..4s\"");
        assert_eq!(format_option(&cut("1 > rest @ 2s")).unwrap(), "--cut \"1 > rest @ 2s\"");
    }

    #[test]
    fn invalid_texts_are_reported_in_a_sentence() {
        let invalid = ["2", "x@1s", "0@1s", "2@", "2@1s..", "2@3s..1s", "2@1s..1s", "2@soon", "@1s", ""];
        for text in invalid {
            let error = text.parse::<KillFault>().unwrap_err().to_string();
            assert!(error.ends_with('.') && error.len() > 20, "{text}: {error}");
        }
        assert!("1 @ 2s".parse::<CutFault>().is_err());
        assert!("1 | 2 > 3 @ 2s".parse::<CutFault>().is_err());
    }

    #[test]
    fn actions_are_sorted_by_time() {
        let faults = [kill("2@1s..3s"), pause("3@2s..4s"), kill("1@1.5s")];
        let actions = schedule_actions(&faults, 3, Networks::Shared).unwrap();
        let [one, two, three] = [0, 1, 2].map(NodeId::from_index);
        let expected = [
            (1_000, Action::Kill(two)),
            (1_500, Action::Kill(one)),
            (2_000, Action::Pause(three)),
            (3_000, Action::Start(two)),
            (4_000, Action::Resume(three)),
        ];
        assert_eq!(actions, expected.map(|(at, action)| (Duration::from_millis(at), action)));
    }

    #[test]
    fn overlapping_faults_of_a_node_are_refused() {
        let overlaps = [
            [kill("2@1s"), kill("2@5s")],
            [pause("2@1s..3s"), kill("2@2s..4s")],
            [kill("2@2s..4s"), pause("2@1s..2s")],
        ];
        for faults in overlaps {
            assert!(
                matches!(schedule_actions(&faults, 3, Networks::Shared), Err(ScheduleError::Overlap { .. })),
                "{faults:?}"
            );
        }
        let disjoint = [kill("2@1s..2s"), pause("2@2.001s..3s"), kill("1@1s")];
        assert_eq!(schedule_actions(&disjoint, 3, Networks::Shared).unwrap().len(), 5);
    }

    #[test]
    fn impossible_faults_are_refused() {
        let refusal =
            |fault: &str, nodes| schedule_actions(&[fault.parse().unwrap()], nodes, Networks::Own).unwrap_err();
        assert!(matches!(refusal("skew 2 by 3ms", 3), ScheduleError::NotPossible(_)));
        assert!(matches!(refusal("crash 4 at 1s", 3), ScheduleError::Setting(_)));
        let cut = [cut("1 | 2 @ 1s")];
        assert!(matches!(schedule_actions(&cut, 3, Networks::Shared), Err(ScheduleError::NoNetworks(_))));
        assert_eq!(schedule_actions(&cut, 3, Networks::Own).unwrap().len(), 1);
    }
}
