//! What is done to the processes, and when: `2@1s..3s` for a process, `1 | 2,3 @ 2s..4s` for the network.
//!
//! A plan of faults is written with the simulator's own [`TimedFault`]s, so that a [`Spec`](quorate_lab::Spec) holds it,
//! a journal's header repeats it, and the judges of a family know what went wrong without asking who did it.

use quorate_core::{Duration, NodeId};
use quorate_journal::settings::{Cut, Fault, Length, SettingError, TimedFault, Unsynced};
use std::fmt;
use std::str::FromStr;

/// A process that is killed, and perhaps started again: `2@1s` or `2@1s..3s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill(pub TimedFault);

/// A process that is stopped, and perhaps let go on: `3@2s` or `3@2s..4s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop(pub TimedFault);

/// Nodes that cannot reach each other, perhaps for a while: `1 | 2,3 @ 2s..4s`, one way `1 > 2 @ 2s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Severance(pub TimedFault);

/// Why a text says nothing about what is to be done and when. Each prints as a sentence that says what to write.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    #[error("'{}' does not say when; write for example {example}.", text.escape_debug())]
    NoTime { text: String, example: &'static str },
    #[error("'{}' is not the number of a node; write for example {example}.", text.escape_debug())]
    NoNode { text: String, example: &'static str },
    #[error("'{}' ends before it begins; the later time stands behind the dots, as in {example}.", text.escape_debug())]
    Backwards { text: String, example: &'static str },
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("Two things are to happen to node {node} at once: '{one}' and '{other}'. Let one end before the other.")]
    Overlap { node: NodeId, one: String, other: String },
    #[error(
        "'{0}' cannot be done to real processes: they can be killed, stopped and, with --namespaces, cut off from each \
         other."
    )]
    Unreal(String),
    #[error(
        "'{0}' needs a network of its own for every node: add --namespaces, which takes root and the program ip. Nothing \
         was started."
    )]
    NoNetworks(String),
}

struct When {
    at: Duration,
    lasts: Option<Duration>,
}

/// Splits `WHAT@TIME` or `WHAT@TIME..TIME`.
fn split<'a>(text: &'a str, example: &'static str) -> Result<(&'a str, When), ScheduleError> {
    let no_time = || ScheduleError::NoTime { text: text.into(), example };
    let (what, when) = text.rsplit_once('@').ok_or_else(no_time)?;
    let length = |text: &str| text.trim().parse::<Length>().map(|Length(length)| length);
    let when = match when.split_once("..") {
        None => When { at: length(when)?, lasts: None },
        Some((from, to)) => {
            let (from, to) = (length(from)?, length(to)?);
            if to <= from {
                return Err(ScheduleError::Backwards { text: text.into(), example });
            }
            When { at: from, lasts: Some(Duration::from_nanos(to.nanos() - from.nanos())) }
        }
    };
    Ok((what.trim(), when))
}

fn node(text: &str, example: &'static str) -> Result<NodeId, ScheduleError> {
    let node = text.parse().ok().and_then(NodeId::new);
    node.ok_or_else(|| ScheduleError::NoNode { text: text.into(), example })
}

const KILL: &str = "2@1s, or 2@1s..3s to start it again";
const STOP: &str = "3@2s..4s";
const CUT: &str = "'1 | 2,3 @ 2s..4s'";

impl FromStr for Kill {
    type Err = ScheduleError;
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (what, When { at, lasts }) = split(text, KILL)?;
        let fault = Fault::Crash { node: node(what, KILL)?, unsynced: Unsynced::Lost };
        Ok(Self(TimedFault { at, fault, lasts }))
    }
}

impl FromStr for Stop {
    type Err = ScheduleError;
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (what, When { at, lasts }) = split(text, STOP)?;
        Ok(Self(TimedFault { at, fault: Fault::Pause { node: node(what, STOP)? }, lasts }))
    }
}

impl FromStr for Severance {
    type Err = ScheduleError;
    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (what, When { at, lasts }) = split(text, CUT)?;
        Ok(Self(TimedFault { at, fault: Fault::Cut(what.parse()?), lasts }))
    }
}

/// The option of the command line that brings a fault about; none does if real processes cannot be hurt so.
pub fn option(timed: &TimedFault) -> Option<String> {
    let when = Timing(timed);
    match &timed.fault {
        Fault::Crash { node, .. } => Some(format!("--kill {node}@{when}")),
        Fault::Pause { node } => Some(format!("--stop {node}@{when}")),
        Fault::Cut(cut) => Some(format!("--cut \"{cut} @ {when}\"")),
        _ => None,
    }
}

struct Timing<'a>(&'a TimedFault);

impl fmt::Display for Timing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimedFault { at, lasts, .. } = self.0;
        Length(*at).fmt(f)?;
        lasts.map_or(Ok(()), |lasts| write!(f, "..{}", Length(*at + lasts)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Kill(NodeId),
    Start(NodeId),
    Stop(NodeId),
    Continue(NodeId),
    /// Nothing passes between the sides of this cut any more.
    Sever(Cut),
    /// What this cut stopped passes again.
    Mend(Cut),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Networks {
    Shared,
    Own,
}

/// All that is done, by time. What is done at one instant stays in the order in which it was asked for.
pub(crate) fn acts(
    faults: &[TimedFault],
    nodes: usize,
    networks: Networks,
) -> Result<Vec<(Duration, Act)>, ScheduleError> {
    let mut acts = Vec::new();
    for timed in faults {
        timed.validate(nodes)?;
        let [begin, end] = both_ends(timed, networks)?;
        acts.push((timed.at, begin));
        acts.extend(timed.lasts.map(|lasts| (timed.at + lasts, end)));
    }
    refuse_overlaps(faults)?;
    acts.sort_by_key(|(at, _)| *at);
    Ok(acts)
}

fn both_ends(timed: &TimedFault, networks: Networks) -> Result<[Act; 2], ScheduleError> {
    match &timed.fault {
        Fault::Crash { node, .. } => Ok([Act::Kill(*node), Act::Start(*node)]),
        Fault::Pause { node } => Ok([Act::Stop(*node), Act::Continue(*node)]),
        Fault::Cut(_) if networks == Networks::Shared => Err(ScheduleError::NoNetworks(timed.to_string())),
        Fault::Cut(cut) => Ok([Act::Sever(cut.clone()), Act::Mend(cut.clone())]),
        Fault::Restart { .. }
        | Fault::Resume { .. }
        | Fault::Close { .. }
        | Fault::Heal
        | Fault::Disk { .. }
        | Fault::Skew { .. }
        | Fault::Drift { .. }
        | Fault::Link { .. } => Err(ScheduleError::Unreal(timed.to_string())),
    }
}

/// What becomes of a process that is killed while it is stopped is nothing that a plan should leave open.
fn refuse_overlaps(faults: &[TimedFault]) -> Result<(), ScheduleError> {
    let victim = |timed: &TimedFault| match timed.fault {
        Fault::Crash { node, .. } | Fault::Pause { node } => Some(node),
        _ => None,
    };
    let mut victims: Vec<_> = faults.iter().filter_map(|timed| Some((victim(timed)?, timed))).collect();
    victims.sort_by_key(|(node, timed)| (*node, timed.at));
    for pair in victims.windows(2) {
        let [(node, one), (other_node, other)] = pair else { continue };
        let is_over = one.lasts.is_some_and(|lasts| one.at + lasts < other.at);
        if node == other_node && !is_over {
            return Err(ScheduleError::Overlap { node: *node, one: one.to_string(), other: other.to_string() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Act, Kill, Networks, ScheduleError, Severance, Stop, acts, option};
    use quorate_core::{Duration, NodeId};
    use quorate_journal::settings::TimedFault;

    fn kill(text: &str) -> TimedFault {
        text.parse::<Kill>().unwrap().0
    }

    fn stop(text: &str) -> TimedFault {
        text.parse::<Stop>().unwrap().0
    }

    fn cut(text: &str) -> TimedFault {
        text.parse::<Severance>().unwrap().0
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for text in ["2@1s", "2@1s..3s", "12@250ms..0.4s"] {
            let written = option(&kill(text)).unwrap();
            assert_eq!(kill(written.strip_prefix("--kill ").unwrap()), kill(text), "{text}");
        }
        assert_eq!(option(&stop("3@2s..4s")).unwrap(), "--stop 3@2s..4s");
        assert_eq!(option(&cut("1|2,3@2s..4s")).unwrap(), "--cut \"1 | 2,3 @ 2s..4s\"");
        assert_eq!(option(&cut("1 > rest @ 2s")).unwrap(), "--cut \"1 > rest @ 2s\"");
    }

    #[test]
    fn a_mistake_is_told_in_a_sentence() {
        let mistakes = ["2", "x@1s", "0@1s", "2@", "2@1s..", "2@3s..1s", "2@1s..1s", "2@soon", "@1s", ""];
        for text in mistakes {
            let told = text.parse::<Kill>().unwrap_err().to_string();
            assert!(told.ends_with('.') && told.len() > 20, "{text}: {told}");
        }
        assert!("1 @ 2s".parse::<Severance>().is_err());
        assert!("1 | 2 > 3 @ 2s".parse::<Severance>().is_err());
    }

    #[test]
    fn acts_come_in_the_order_of_their_times() {
        let faults = [kill("2@1s..3s"), stop("3@2s..4s"), kill("1@1.5s")];
        let acts = acts(&faults, 3, Networks::Shared).unwrap();
        let [one, two, three] = [0, 1, 2].map(NodeId::from_index);
        let expected = [
            (1_000, Act::Kill(two)),
            (1_500, Act::Kill(one)),
            (2_000, Act::Stop(three)),
            (3_000, Act::Start(two)),
            (4_000, Act::Continue(three)),
        ];
        assert_eq!(acts, expected.map(|(at, act)| (Duration::from_millis(at), act)));
    }

    #[test]
    fn nobody_is_hurt_twice_at_once() {
        let clashes =
            [[kill("2@1s"), kill("2@5s")], [stop("2@1s..3s"), kill("2@2s..4s")], [kill("2@2s..4s"), stop("2@1s..2s")]];
        for faults in clashes {
            assert!(matches!(acts(&faults, 3, Networks::Shared), Err(ScheduleError::Overlap { .. })), "{faults:?}");
        }
        let fine = [kill("2@1s..2s"), stop("2@2.001s..3s"), kill("1@1s")];
        assert_eq!(acts(&fine, 3, Networks::Shared).unwrap().len(), 5);
    }

    #[test]
    fn what_cannot_be_done_is_refused_before_anything_is_started() {
        let refused = |fault: &str, nodes| acts(&[fault.parse().unwrap()], nodes, Networks::Own).unwrap_err();
        assert!(matches!(refused("skew 2 by 3ms", 3), ScheduleError::Unreal(_)));
        assert!(matches!(refused("crash 4 at 1s", 3), ScheduleError::Setting(_)));
        let cut = [cut("1 | 2 @ 1s")];
        assert!(matches!(acts(&cut, 3, Networks::Shared), Err(ScheduleError::NoNetworks(_))));
        assert_eq!(acts(&cut, 3, Networks::Own).unwrap().len(), 1);
    }
}
