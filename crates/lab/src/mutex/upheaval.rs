//! Everything that algorithms in views must bear: nodes that crash, restart and stand still for longer than their leases, clocks that
//! drift as far as they may, links that lose and repeat, and partitions of every kind.

use super::{Mutex, MutexEntry, Settings, ViewSettings};
use crate::chaos::{FaultMix, percent};
use crate::mutex::run::Pattern;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_journal::settings::Latency;

struct Upheaval {
    nodes: usize,
    latency: Latency,
    entries: u64,
    /// How long a node stays inside at most: for some longer than a lease is trusted.
    hold: Duration,
    /// What goes wrong, in the words of `--random-faults`.
    faults: &'static str,
    on_close: OnClose,
    /// How likely a message is lost, arrives twice, a request is a try or is given up, in percent.
    loss: u32,
    duplicate: u32,
    tries: u32,
    cancels: u32,
}

pub(super) fn upheaval(entry: &'static MutexEntry) -> Vec<Spec<Mutex>> {
    upheavals().into_iter().map(|upheaval| upheaval.over(entry)).collect()
}

fn upheavals() -> [Upheaval; 6] {
    let millis = Duration::from_millis;
    let tail = Latency::LongTail { median: millis(2) };
    let usual = Upheaval {
        nodes: 5,
        latency: Latency::Uniform { least: millis(1), most: millis(5) },
        entries: 40,
        hold: millis(10),
        faults: "crash=2,pause=2,cut=2,deaf=1,drift=2",
        on_close: OnClose::Evict,
        loss: 5,
        duplicate: 2,
        tries: 10,
        cancels: 10,
    };
    [
        Upheaval { ..usual },
        // Links that lose nothing: nothing but views repairs what a crash took along.
        Upheaval { nodes: 3, latency: tail, faults: "crash=4", loss: 0, duplicate: 0, tries: 20, ..usual },
        Upheaval { nodes: 4, faults: "cut=4,deaf=3", loss: 0, duplicate: 0, ..usual },
        // Holders who sleep for longer than their leases.
        Upheaval { hold: millis(80), faults: "pause=6,drift=3", on_close: OnClose::Lease, entries: 25, ..usual },
        Upheaval { nodes: 3, faults: "crash=3,pause=2,drift=3", on_close: OnClose::Lease, loss: 0, ..usual },
        Upheaval { nodes: 7, latency: tail, faults: "crash=3,cut=3,pause=2,deaf=2,drift=4", loss: 10, ..usual },
    ]
}

impl Upheaval {
    fn over(self, entry: &'static MutexEntry) -> Spec<Mutex> {
        let fits = |nodes: &usize| (entry.facts.fits)(*nodes).is_ok();
        let views = ViewSettings::short(self.on_close);
        let settings = Settings {
            entries: self.entries,
            workload: Pattern::Random,
            hold: Some(Latency::Uniform { least: Duration::from_millis(1), most: self.hold }),
            // So that there is something to do for as long as things go wrong.
            think: Some(Latency::Uniform { least: Duration::ZERO, most: views.terms().lease }),
            tries: percent(self.tries),
            cancels: percent(self.cancels),
            readers: percent(if entry.facts.shares { 50 } else { 0 }),
            views: Some(views),
            ..Settings::default()
        };
        let nodes = (self.nodes..=7 * self.nodes).find(fits).unwrap_or(self.nodes);
        Spec {
            nodes,
            latency: self.latency,
            loss: percent(self.loss),
            duplicate: percent(self.duplicate),
            random_faults: FaultMix::known(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
