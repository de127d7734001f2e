//! Bad weather for mutual exclusion: nothing fails, but messages take as long as they like and overtake each other, and
//! users try, give up, read and come back at once.

use super::{Mutex, MutexEntry, Settings};
use crate::chaos::percent;
use crate::mutex::run::Pattern;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::mutex::Model;
use quorate_journal::settings::Latency;

struct Weather {
    nodes: usize,
    latency: Latency,
    entries: u64,
    workload: Pattern,
    /// How likely a request is a try, and how likely it is given up, in percent.
    tries: u32,
    cancels: u32,
    /// How long a node is content outside, if not as long as suits the load.
    think: Option<Latency>,
}

pub(super) fn weather(entry: &'static MutexEntry) -> Vec<Spec<Mutex>> {
    weathers().into_iter().map(|weather| weather.over(entry)).collect()
}

fn weathers() -> [Weather; 6] {
    let millis = Duration::from_millis;
    let tail = Latency::LongTail { median: millis(2) };
    let wide = Latency::Uniform { least: Duration::from_micros(100), most: millis(50) };
    let hasty = Some(Latency::Uniform { least: Duration::ZERO, most: millis(3) });
    let calm =
        Weather { nodes: 3, latency: tail, entries: 12, workload: Pattern::Random, tries: 0, cancels: 0, think: None };
    [
        Weather { ..calm },
        Weather { nodes: 5, entries: 15, workload: Pattern::All, ..calm },
        Weather { nodes: 4, latency: wide, entries: 16, tries: 20, cancels: 20, ..calm },
        Weather { nodes: 2, workload: Pattern::All, tries: 30, cancels: 30, ..calm },
        Weather { nodes: 7, latency: wide, entries: 21, cancels: 10, think: hasty, ..calm },
        Weather { nodes: 3, entries: 18, tries: 10, cancels: 30, think: hasty, ..calm },
    ]
}

impl Weather {
    fn over(self, entry: &'static MutexEntry) -> Spec<Mutex> {
        let fits = |nodes: &usize| (entry.facts.fits)(*nodes).is_ok();
        let settings = Settings {
            entries: self.entries,
            workload: self.workload,
            think: self.think,
            tries: percent(self.tries),
            cancels: percent(self.cancels),
            readers: percent(if entry.facts.shares { 50 } else { 0 }),
            ..Settings::default()
        };
        let latency = match (entry.facts.model, self.latency) {
            // Whoever relies on a bound is told one that holds.
            (Model::Synchronous, Latency::LongTail { median }) => {
                Latency::Uniform { least: Duration::ZERO, most: median.times(10) }
            }
            (Model::Synchronous | Model::Asynchronous, latency) => latency,
        };
        let nodes = (self.nodes..=7 * self.nodes).find(fits).unwrap_or(self.nodes);
        Spec { nodes, latency, settings, ..Spec::new(entry) }
    }
}
