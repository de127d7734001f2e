//! Random faults drawn from a seed: processes are killed and restarted, paused and resumed,
//! partitioned and reconnected.
//!
//! Most of the time a majority is up; sometimes all nodes are down at once. Every fault ends, so
//! that a correct group answers every client in the end.

use quorate_core::{Duration, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Cut, Fault, NodeSet, Side, TimedFault, UnsyncedSaves};

/// The group in which faults happen, and which faults it can have.
#[derive(Clone, Copy, Debug)]
pub struct ChaosSettings {
    pub nodes: usize,
    /// The time within which faults begin and end; the crashes of an outage of all nodes may begin
    /// and end about 20 ms later.
    pub window: Duration,
    /// Whether to draw network partitions, besides crashes and pauses.
    pub has_cuts: bool,
}

/// An arbitrary constant that makes the random numbers independent of those for the workload and
/// for simulated faults.
const SALT: u64 = 0x0011_FEFA_0175;

/// Minimum time between the end of a node's fault and the start of its next one.
const MIN_RECOVERY_TIME: Duration = Duration::from_millis(200);

/// Draws faults from a seed, sorted by time.
pub fn draw(seed: u64, settings: ChaosSettings) -> Vec<TimedFault> {
    let rng = SeededRng::new(seed ^ SALT, Stream::Faults);
    let mut chaos = Chaos {
        settings,
        rng,
        now: Duration::ZERO,
        busy_until: vec![Duration::ZERO; settings.nodes],
        faults: Vec::new(),
    };
    loop {
        chaos.now = chaos.now + chaos.time_to_next_fault();
        if chaos.now >= settings.window || settings.nodes == 0 {
            break;
        }
        chaos.draw_fault();
    }
    chaos.faults.sort_by_key(|timed| timed.at);
    chaos.faults
}

struct Chaos {
    settings: ChaosSettings,
    rng: SeededRng,
    now: Duration,
    /// For each node, when it may have its next fault: after the last one and a time to recover.
    busy_until: Vec<Duration>,
    faults: Vec<TimedFault>,
}

impl Chaos {
    /// A random time in whole milliseconds, which are easy to read.
    fn random_millis(&mut self, min: u64, max: u64) -> Duration {
        Duration::from_millis(min + self.rng.below(max.saturating_sub(min) + 1))
    }

    /// The time between two faults: at most an eighth of the window, within fixed limits.
    fn time_to_next_fault(&mut self) -> Duration {
        let window_millis = self.settings.window.nanos() / 1_000_000;
        self.random_millis(10, (window_millis / 8).clamp(20, 1_500))
    }

    /// The length of a fault: some are shorter than any timeout, some last about as long as an
    /// election, some longer than several elections.
    fn fault_length(&mut self) -> Duration {
        let length = match self.rng.below(3) {
            0 => self.random_millis(1, 40),
            1 => self.random_millis(100, 500),
            _ => self.random_millis(500, 4_000),
        };
        let remaining_millis = self.settings.window.nanos().saturating_sub(self.now.nanos()) / 1_000_000;
        length.min(Duration::from_millis(remaining_millis.max(1)))
    }

    fn add_fault(&mut self, at: Duration, fault: Fault, duration: Duration) {
        self.faults.push(TimedFault { at, fault, duration: Some(duration) });
    }

    fn nodes_without_fault(&self) -> Vec<NodeId> {
        let is_free = |(_, busy_until): &(usize, &Duration)| **busy_until <= self.now;
        self.busy_until.iter().enumerate().filter(is_free).map(|(index, _)| NodeId::from_index(index)).collect()
    }

    fn draw_fault(&mut self) {
        // Of 12 faults, 1 is an outage, 6 are crashes and 5 pauses; with cuts, 4 in 16 are cuts.
        let cut_weight = if self.settings.has_cuts && self.settings.nodes > 1 { 4 } else { 0 };
        match self.rng.below(12 + cut_weight) {
            0 => self.draw_outage(),
            1..=6 => self.draw_node_fault(|node| Fault::Crash { node, unsynced: UnsyncedSaves::Lost }),
            7..=11 => self.draw_node_fault(|node| Fault::Pause { node }),
            _ => self.draw_cut(),
        }
    }

    /// Adds a fault of one node, if a majority of the nodes then has none; in a group of one or two
    /// nodes, if no node has a fault yet.
    fn draw_node_fault(&mut self, fault: impl Fn(NodeId) -> Fault) {
        let free = self.nodes_without_fault();
        let faulty = self.settings.nodes - free.len();
        let max_faulty = ((self.settings.nodes - 1) / 2).max(1);
        let duration = self.fault_length();
        let index = self.rng.below(free.len().max(1) as u64) as usize;
        let Some(node) = free.get(index).copied().filter(|_| faulty < max_faulty) else { return };
        self.add_node_fault(node, self.now, fault(node), duration);
    }

    /// Adds a crash of every node without a fault, within 20 ms. The nodes restart one by one.
    fn draw_outage(&mut self) {
        for node in self.nodes_without_fault() {
            let at = self.now + self.random_millis(0, 20);
            let duration = self.fault_length();
            self.add_node_fault(node, at, Fault::Crash { node, unsynced: UnsyncedSaves::Lost }, duration);
        }
    }

    fn add_node_fault(&mut self, node: NodeId, at: Duration, fault: Fault, duration: Duration) {
        if let Some(busy_until) = self.busy_until.get_mut(node.index()) {
            *busy_until = at + duration + MIN_RECOVERY_TIME;
        }
        self.add_fault(at, fault, duration);
    }

    /// Adds a cut to a group of at least two nodes: a partition of the group, an isolated node, a
    /// node that cannot send or cannot receive, or two nodes that cannot reach each other.
    fn draw_cut(&mut self) {
        let nodes = self.settings.nodes as u64;
        let first = self.rng.below(nodes);
        let node = NodeId::from_index(first as usize);
        let other = NodeId::from_index(((first + 1 + self.rng.below(nodes - 1)) % nodes) as usize);
        let isolated = || side(&[node]);
        let cut = match self.rng.below(5) {
            0 => {
                let members: Vec<_> = self.all_nodes().into_iter().filter(|_| self.rng.below(2) == 0).collect();
                let is_split = !members.is_empty() && members.len() < self.settings.nodes;
                Cut::between(vec![if is_split { side(&members) } else { isolated() }, Side::Rest])
            }
            1 => Cut::between(vec![isolated(), Side::Rest]),
            2 => Cut::one_way(isolated(), Side::Rest),
            3 => Cut::one_way(Side::Rest, isolated()),
            _ => Cut::between(vec![isolated(), side(&[other])]),
        };
        let duration = self.fault_length();
        // The cut is always valid: its sides have nodes, and none in common.
        if let Ok(cut) = cut {
            self.add_fault(self.now, Fault::Cut(cut), duration);
        }
    }

    fn all_nodes(&self) -> Vec<NodeId> {
        (0..self.settings.nodes).map(NodeId::from_index).collect()
    }
}

fn side(nodes: &[NodeId]) -> Side {
    Side::Nodes(nodes.iter().copied().collect::<NodeSet>())
}

#[cfg(test)]
mod tests {
    use super::{ChaosSettings, draw};
    use crate::schedule::{CutFault, KillFault, Networks, PauseFault, format_option, schedule_actions};
    use quorate_core::Duration;
    use quorate_journal::settings::{Fault, TimedFault};

    fn settings(nodes: usize, window_secs: u64) -> ChaosSettings {
        ChaosSettings { nodes, window: Duration::from_secs(window_secs), has_cuts: true }
    }

    /// All faults are possible with real processes, and end at most 50 ms after the window.
    #[test]
    fn every_fault_is_possible_and_ends() {
        for nodes in [1, 2, 3, 5, 8] {
            for seed in 0..200 {
                let settings = ChaosSettings { has_cuts: seed % 2 == 0, ..settings(nodes, 1 + seed % 30) };
                let faults = draw(seed, settings);
                let networks = if settings.has_cuts { Networks::Own } else { Networks::Shared };
                let actions =
                    schedule_actions(&faults, nodes, networks).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert_eq!(actions.len(), 2 * faults.len(), "seed {seed}: a fault never ends");
                let last = actions.last().map_or(Duration::ZERO, |(at, _)| *at);
                assert!(last <= settings.window + Duration::from_millis(50), "seed {seed}: {last}");
            }
        }
    }

    #[test]
    fn faults_depend_only_on_the_seed() {
        assert_eq!(draw(7, settings(5, 60)), draw(7, settings(5, 60)));
        assert_ne!(draw(7, settings(5, 60)), draw(8, settings(5, 60)));
    }

    /// Most of the time a majority is up, and sometimes all nodes are down.
    #[test]
    fn a_majority_is_mostly_up() {
        let down_count = |faults: &[TimedFault], at: Duration| {
            let covers =
                |timed: &&TimedFault| timed.at <= at && timed.duration.is_some_and(|duration| at < timed.at + duration);
            let is_node_fault = |timed: &&TimedFault| matches!(timed.fault, Fault::Crash { .. } | Fault::Pause { .. });
            faults.iter().filter(is_node_fault).filter(covers).count()
        };
        let (mut with_majority, mut instants, mut outages) = (0, 0, 0);
        for seed in 0..50 {
            let faults = draw(seed, settings(5, 60));
            // Every tenth of a second of the window of 60 s.
            for tenth in 0..600 {
                let down = down_count(&faults, Duration::from_millis(tenth * 100));
                instants += 1;
                with_majority += usize::from(down <= 2);
                outages += usize::from(down == 5);
            }
        }
        assert!(with_majority * 10 > instants * 8, "a majority was up at {with_majority} of {instants} instants");
        assert!(outages > 0, "the nodes were never all down");
    }

    #[test]
    fn every_kind_of_fault_occurs_and_round_trips_through_its_option() {
        let faults: Vec<_> = (0..20).flat_map(|seed| draw(seed, settings(3, 60))).collect();
        for word in ["--kill 1@", "--stop 2@", "--cut \"1 | ", "--cut \"rest > ", " > rest @"] {
            assert!(faults.iter().filter_map(format_option).any(|text| text.contains(word)), "no {word}");
        }
        for timed in &faults {
            let text = format_option(timed).unwrap();
            let (name, value) = text.split_once(' ').unwrap();
            let parsed = match name {
                "--kill" => value.parse::<KillFault>().unwrap().0,
                "--stop" => value.parse::<PauseFault>().unwrap().0,
                _ => value.trim_matches('"').parse::<CutFault>().unwrap().0,
            };
            assert_eq!(parsed, *timed, "{text}");
        }
    }
}
