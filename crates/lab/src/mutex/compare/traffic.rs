//! The workloads of a comparison, from idle to saturated.

use crate::mutex::Settings;
use crate::mutex::run::Pattern;
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::{Chance, Latency, SettingError, nearest};
use std::fmt;
use std::str::FromStr;

/// A workload: when nodes send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Traffic {
    /// `single`: one node sends requests alone, each some time after its previous release.
    Single,
    /// `pair`: two nodes alternate. Each holds the lock until the other's request has arrived
    /// everywhere, and sends the next request as soon as it has released.
    Pair,
    /// `random:10%`: all nodes send requests at random times, with this offered load.
    Random(OfferedLoad),
    /// `all`: all nodes send requests at the start, and again as soon as they have released.
    All,
}

/// The share of the time in which the lock would be held if no request had to wait: the hold time,
/// divided by the mean time between requests of all nodes together.
///
/// It depends only on the clients, so it is the same for every algorithm. A handover takes
/// time too: if a handover takes as long as a hold, the group can serve at most 50 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferedLoad(Chance);

impl OfferedLoad {
    /// The load of `random`.
    pub const DEFAULT: Self = Self::percent(50);

    /// A load in percent, limited to the range from 1 to 100.
    pub const fn percent(percent: u32) -> Self {
        let percent = if percent == 0 { 1 } else { percent };
        match Chance::from_parts_per_billion(percent.saturating_mul(PERCENT)) {
            Some(share) => Self(share),
            None => Self(Chance::ALWAYS),
        }
    }

    /// Returns `length` divided by this load.
    fn stretch(self, length: Duration) -> Duration {
        let parts = u128::from(self.0.parts_per_billion().max(1));
        let nanos = u128::from(length.nanos()) * u128::from(Chance::ALWAYS.parts_per_billion()) / parts;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The load in percent, with up to seven decimals.
    pub fn in_percent(self) -> String {
        let parts = self.0.parts_per_billion();
        let digits = format!("{}.{:07}", parts / PERCENT, parts % PERCENT);
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// One percent, in parts per billion.
const PERCENT: u32 = 10_000_000;

impl Traffic {
    /// The workloads of a simulated comparison by default, from idle to saturated.
    pub const DEFAULTS: [Self; 6] = [
        Self::Single,
        Self::Pair,
        Self::Random(OfferedLoad::percent(1)),
        Self::Random(OfferedLoad::percent(10)),
        Self::Random(OfferedLoad::DEFAULT),
        Self::All,
    ];

    /// Settings of clients that send `entries` requests in a group of `nodes`, where a message
    /// takes about `message_time`.
    ///
    /// Each hold lasts one message time, except for a pair. With a load of ρ, each of the n clients
    /// that send requests (fewer than the nodes if there are fewer requests) thinks for up to 2n/ρ
    /// message times, and n/ρ on average. So they would send ρ requests per message time together
    /// if they never waited for the lock or held it.
    pub fn settings(self, entries: u64, nodes: usize, message_time: Duration) -> Settings {
        let defaults = Settings { entries, ..Settings::default() };
        match self {
            Self::Single => Settings { workload: Pattern::Single, ..defaults },
            Self::Pair => Settings {
                workload: Pattern::All,
                requesters: pair(nodes),
                // Ample time for a request to arrive everywhere, even from node to node around a
                // ring.
                hold: Some(Latency::Fixed(message_time.times((nodes as u64).saturating_add(1).saturating_mul(2)))),
                ..defaults
            },
            // The default behavior of the lab's clients.
            Self::Random(OfferedLoad::DEFAULT) => Settings { workload: Pattern::Random, ..defaults },
            Self::Random(load) => {
                let requesters = entries.min(nodes as u64);
                let think = load.stretch(message_time.times(requesters.saturating_mul(2)));
                let think = Some(Latency::Uniform { min: Duration::ZERO, max: think });
                Settings { workload: Pattern::Random, think, ..defaults }
            }
            Self::All => Settings { workload: Pattern::All, ..defaults },
        }
    }
}

/// The two nodes that alternate. With three or more nodes, neither is the first one, which is the
/// coordinator of algorithms that have one.
fn pair(nodes: usize) -> Vec<NodeId> {
    let last = nodes.saturating_sub(1);
    let first = if nodes > 2 { 1 } else { 0 };
    vec![NodeId::from_index(first), NodeId::from_index(last)]
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => f.pad("single"),
            Self::Pair => f.pad("pair"),
            Self::Random(OfferedLoad::DEFAULT) => f.pad("random"),
            Self::Random(load) => f.pad(&format!("random:{}%", load.in_percent())),
            Self::All => f.pad("all"),
        }
    }
}

/// Why a text is not a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    #[error("'{}' is not a workload{} Workloads are single, pair, random, random:10% and all.", word.escape_debug(), hint(word))]
    Unknown { word: String },
    #[error("{0} A load is the share of the time in which the lock is held: random:10%.")]
    InvalidLoad(SettingError),
    #[error("the load must be greater than 0%; write for example random:1%.")]
    ZeroLoad,
}

fn hint(word: &str) -> String {
    nearest(word, ["single", "pair", "random", "all"])
        .map_or_else(|| ".".into(), |name| format!("; did you mean '{name}'?"))
}

impl FromStr for Traffic {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<Self, TrafficError> {
        let (word, load) = match text.trim().split_once(':') {
            Some((word, load)) => (word.trim_end(), Some(load)),
            None => (text.trim(), None),
        };
        match (word.to_ascii_lowercase().as_str(), load) {
            ("single", None) => Ok(Self::Single),
            ("pair", None) => Ok(Self::Pair),
            ("all", None) => Ok(Self::All),
            ("random", None) => Ok(Self::Random(OfferedLoad::DEFAULT)),
            ("random", Some(load)) => match load.parse::<Chance>().map_err(TrafficError::InvalidLoad)? {
                share if share.is_zero() => Err(TrafficError::ZeroLoad),
                share => Ok(Self::Random(OfferedLoad(share))),
            },
            _ => Err(TrafficError::Unknown { word: text.trim().to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OfferedLoad, Traffic};
    use crate::mutex::Settings;
    use quorate_core::Duration;
    use quorate_journal::settings::Latency;

    #[test]
    fn workloads_read_back_as_printed() {
        let words = ["single", "pair", "random:1%", "random:10%", "random", "all"];
        assert_eq!(Traffic::DEFAULTS.map(|traffic| traffic.to_string()), words);
        for word in words.into_iter().chain(["random:0.05%", "random:100%", "random:33.3333333%"]) {
            assert_eq!(word.parse::<Traffic>().map(|traffic| traffic.to_string()), Ok(word.to_owned()));
        }
        for (text, same) in [(" ALL ", "all"), ("random:50%", "random"), ("random:0.1", "random:10%")] {
            assert_eq!(text.parse(), same.parse::<Traffic>(), "{text}");
        }
    }

    #[test]
    fn invalid_workloads_are_rejected_with_a_reason() {
        let error = |text: &str| text.parse::<Traffic>().expect_err(text).to_string();
        for (text, expected) in [
            ("", "'' is not a workload. Workloads are single"),
            ("rando", "did you mean 'random'?"),
            ("all:10%", "'all:10%' is not a workload"),
            ("single:", "is not a workload"),
            ("random:", "'' is not a chance"),
            ("random:0%", "the load must be greater than 0%"),
            ("random:101%", "a chance must be between 0 and 1"),
            ("random:-1%", "a chance must be between 0 and 1"),
        ] {
            assert!(error(text).contains(expected), "{text}: {}", error(text));
        }
    }

    /// The default load, 50 %, leaves the think time to the clients' default behavior.
    #[test]
    fn a_load_determines_the_think_time() {
        let think = |percent, entries, nodes| {
            let settings =
                Traffic::Random(OfferedLoad::percent(percent)).settings(entries, nodes, Duration::from_millis(1));
            settings.think.map(|think| think.to_string())
        };
        // With n requesters and load ρ: up to 2n/ρ message times of 1 ms.
        assert_eq!(think(10, 100, 5).as_deref(), Some("uniform:0ms..100ms"));
        assert_eq!(think(1, 100, 49).as_deref(), Some("uniform:0ms..9.8s"));
        assert_eq!(think(100, 3, 49).as_deref(), Some("uniform:0ms..6ms"), "only three nodes send requests");
        assert_eq!(think(50, 100, 5), None);
        let longest = Traffic::Random(OfferedLoad::percent(1)).settings(u64::MAX, usize::MAX, Duration::from_millis(1));
        let longest_duration = Duration::from_nanos(u64::MAX);
        assert_eq!(longest.think, Some(Latency::Uniform { min: Duration::ZERO, max: longest_duration }));
        let Settings { think, entries, .. } = Traffic::All.settings(7, 5, Duration::from_millis(1));
        assert_eq!((think, entries), (None, 7));
    }

    #[test]
    fn a_pair_excludes_the_first_of_three_or_more_nodes() {
        let pair = |nodes| {
            let Settings { requesters, hold, .. } = Traffic::Pair.settings(10, nodes, Duration::from_millis(1));
            (requesters.iter().map(|node| node.number()).collect::<Vec<_>>(), hold.map(|hold| hold.to_string()))
        };
        // Each hold lasts 2(n+1) message times of 1 ms.
        assert_eq!(pair(2), (vec![1, 2], Some("fixed:6ms".into())));
        assert_eq!(pair(3), (vec![2, 3], Some("fixed:8ms".into())));
        assert_eq!(pair(49), (vec![2, 49], Some("fixed:100ms".into())));
    }
}
