//! Faults chosen by the seed.

use quorate_core::{Duration, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{
    Chance, Cut, DiskTrouble, Fault, Offset, Ppm, Side, TimedFault, UnsyncedSaves, nearest,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The number of faults of each kind: `pause=2,cut=1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FaultMix(Vec<(RandomFault, u32)>);

/// A kind of fault that the seed can choose. Each fault begins at a random time, and ends after a
/// random time if its kind can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomFault {
    /// A node crashes and restarts.
    Crash,
    Pause,
    /// A partition separates the nodes into two sides for some time.
    Cut,
    /// One node receives no messages from another for some time.
    Deaf,
    /// A clock jumps.
    Skew,
    /// A clock runs too fast or too slow from then on.
    Drift,
    /// A disk is full for some time.
    DiskFull,
    /// A disk fails, and its node is down for some time.
    DiskFailure,
}

const RANDOM_FAULTS: [(RandomFault, &str); 8] = [
    (RandomFault::Crash, "crash"),
    (RandomFault::Pause, "pause"),
    (RandomFault::Cut, "cut"),
    (RandomFault::Deaf, "deaf"),
    (RandomFault::Skew, "skew"),
    (RandomFault::Drift, "drift"),
    (RandomFault::DiskFull, "full"),
    (RandomFault::DiskFailure, "disk"),
];

/// Converts a percentage of at most 100 to a probability.
pub(crate) fn percent_to_chance(percent: u32) -> Chance {
    Chance::from_parts_per_billion(percent * 10_000_000).unwrap_or_default()
}

impl RandomFault {
    fn name(self) -> &'static str {
        RANDOM_FAULTS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

impl FaultMix {
    /// Parses a mix that is a constant of the program and therefore valid.
    pub(crate) fn from_constant(words: &str) -> Self {
        let mix = words.parse();
        debug_assert!(mix.is_ok(), "{mix:?}");
        mix.unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a fault of the mix can lose messages between nodes that are up.
    pub fn can_lose_messages(&self) -> bool {
        self.0.iter().any(|(kind, _)| matches!(kind, RandomFault::Cut | RandomFault::Deaf))
    }

    /// Whether a fault of the mix crashes a node.
    pub(crate) fn can_stop_nodes(&self) -> bool {
        self.0.iter().any(|(kind, _)| matches!(kind, RandomFault::Crash | RandomFault::DiskFailure))
    }

    /// Draws the faults of this seed. They begin within `window` of the start of the run. A fault
    /// with an end lasts at most a quarter of `window`. A cut or deafness that would separate no
    /// two nodes is left out.
    pub(crate) fn draw(&self, seed: u64, nodes: usize, window: Duration) -> Vec<TimedFault> {
        let mut rng = SeededRng::new(seed, Stream::Faults);
        let mut faults = Vec::new();
        for (kind, count) in &self.0 {
            for _ in 0..*count {
                let at = rng.between(Duration::from_nanos(1), window);
                let duration = rng.between(Duration::from_nanos(1), Duration::from_nanos(window.nanos() / 4));
                if let Some(fault) = draw_one(*kind, nodes, &mut rng) {
                    let duration = fault.kind().can_last().then_some(duration);
                    faults.push(TimedFault { at, fault, duration });
                }
            }
        }
        faults
    }
}

/// Draws one fault. `None` for a cut or deafness that would separate no two nodes.
fn draw_one(kind: RandomFault, nodes: usize, rng: &mut SeededRng) -> Option<Fault> {
    let node = NodeId::from_index(rng.below(nodes as u64) as usize);
    match kind {
        RandomFault::Crash => Some(Fault::Crash { node, unsynced: UnsyncedSaves::Torn }),
        RandomFault::Pause => Some(Fault::Pause { node }),
        RandomFault::Cut => {
            let side: Vec<_> = (0..nodes).map(NodeId::from_index).filter(|_| rng.below(2) == 0).collect();
            let side = if side.is_empty() || side.len() == nodes { vec![node] } else { side };
            let names: Vec<_> = side.iter().map(|node| node.to_string()).collect();
            let side: Side = names.join(",").parse().ok()?;
            (nodes > 1).then(|| Cut::between(vec![side, Side::Rest]).ok().map(Fault::Cut)).flatten()
        }
        RandomFault::Deaf => {
            let other = NodeId::from_index(rng.below(nodes as u64) as usize);
            let [from, to] = [node, other].map(|node| node.to_string().parse::<Side>().ok());
            Cut::one_way(from?, to?).ok().map(Fault::Cut)
        }
        RandomFault::Skew => {
            // Up to a second in either direction.
            let nanos = i64::try_from(rng.below(2_000_000_000)).ok()?;
            Some(Fault::Skew { node, by: Offset::from_nanos(nanos - 1_000_000_000) })
        }
        RandomFault::Drift => {
            // Up to 20 % faster or slower.
            let parts_per_million = i32::try_from(rng.below(400_000)).ok()?;
            Some(Fault::Drift { node, by: Ppm::new(parts_per_million - 200_000)? })
        }
        RandomFault::DiskFull => Some(Fault::Disk { node, trouble: DiskTrouble::Full }),
        RandomFault::DiskFailure => Some(Fault::Disk { node, trouble: DiskTrouble::Fails }),
    }
}

impl fmt::Display for FaultMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, count)) in self.0.iter().enumerate() {
            write!(f, "{}{}={count}", if index > 0 { "," } else { "" }, kind.name())?;
        }
        Ok(())
    }
}

impl FromStr for FaultMix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut mix = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, count) = part.split_once('=').map_or((part, "1"), |(name, count)| (name.trim(), count.trim()));
            let found = RANDOM_FAULTS.iter().find(|(_, known_name)| known_name.eq_ignore_ascii_case(name));
            let Some((kind, _)) = found else { return Err(unknown_fault_error(name)) };
            let Ok(count @ 1..=1_000) = count.parse() else {
                return Err(format!(
                    "the number of faults must be between 1 and 1000; got '{}'. Write it like pause=2.",
                    count.escape_debug()
                ));
            };
            mix.push((*kind, count));
        }
        Ok(Self(mix))
    }
}

fn unknown_fault_error(name: &str) -> String {
    let names = RANDOM_FAULTS.map(|(_, name)| name);
    let suggestion = nearest(name, names).map_or_else(|| ".".into(), |close| format!("; did you mean '{close}'?"));
    format!("'{}' is not a kind of random fault{suggestion} Kinds are {}.", name.escape_debug(), names.join(", "))
}

/// Implements the conversions that serde's `try_from` and `into` need, so that a journal stores a
/// setting in its text form.
macro_rules! stored_as_text {
    ($($setting:ty),+) => {$(
        impl TryFrom<String> for $setting {
            type Error = <Self as std::str::FromStr>::Err;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$setting> for String {
            fn from(setting: $setting) -> Self {
                setting.to_string()
            }
        }
    )+};
}

pub(crate) use stored_as_text;

stored_as_text!(FaultMix);

#[cfg(test)]
mod tests {
    use super::FaultMix;
    use quorate_core::Duration;
    use quorate_journal::settings::TimedFault;

    fn draw(mix: &str, seed: u64) -> Vec<TimedFault> {
        mix.parse::<FaultMix>().unwrap().draw(seed, 3, Duration::from_secs(1))
    }

    #[test]
    fn a_mix_reads_back_as_printed() {
        let mix: FaultMix = " full=2, Disk , crash=3".parse().unwrap();
        assert_eq!(mix.to_string(), "full=2,disk=1,crash=3");
        assert_eq!(mix.to_string().parse(), Ok(mix));
        let mistake = "ful=1".parse::<FaultMix>().unwrap_err();
        assert!(mistake.contains("did you mean 'full'?"), "{mistake}");
    }

    /// Each fault has a node of the group, a time and an end, and every node is hit by some seed.
    #[test]
    fn disk_faults_hit_every_node_and_end() {
        let mut texts = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let faults = draw("full=2,disk=1", seed);
            assert_eq!(faults.len(), 3);
            for timed in faults {
                timed.validate(3).unwrap();
                assert!(timed.duration.is_some_and(|duration| duration <= Duration::from_millis(250)), "{timed}");
                assert!(timed.at > Duration::ZERO && timed.at <= Duration::from_secs(1), "{timed}");
                texts.insert(timed.fault.to_string());
            }
        }
        let all = ["disk 1 fails", "disk 1 full", "disk 2 fails", "disk 2 full", "disk 3 fails", "disk 3 full"];
        assert_eq!(texts.iter().map(String::as_str).collect::<Vec<_>>(), all);
    }

    /// Adding disk faults to a mix does not change the faults before them.
    #[test]
    fn disk_faults_leave_earlier_faults_unchanged() {
        for seed in 0..50 {
            let before = draw("pause=2,cut=1,skew=1", seed);
            assert_eq!(draw("pause=2,cut=1,skew=1,full=1,disk=2", seed)[..before.len()], before[..], "seed {seed}");
        }
    }
}
