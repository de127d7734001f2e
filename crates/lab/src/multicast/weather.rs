//! Everything that multicasts must bear: in a group that never changes, links that take as long as they like; in views, members that
//! crash, restart, stand still, are cut off and leave, while views follow on each other's heels.

use super::{Multicast, MulticastEntry, Settings};
use crate::chaos::{FaultMix, percent};
use crate::multicast::run::Pattern;
use crate::spec::Spec;
use crate::views::ViewSettings;
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_core::multicast::{Delivery, Sequencing};
use quorate_journal::settings::Latency;

#[derive(Clone, Copy)]
struct Weather {
    nodes: usize,
    latency: Latency,
    messages: u64,
    traffic: Pattern,
    window: u64,
    /// What goes wrong, in the words of `--random-faults`.
    faults: &'static str,
    on_close: OnClose,
    /// How likely a message is lost, or arrives twice, in percent.
    loss: u32,
    duplicate: u32,
    leaves: usize,
    uniform: bool,
    /// Whether messages go by way of the sequencer, where there is one.
    via: bool,
    relay: bool,
}

const MILLIS: fn(u64) -> Duration = Duration::from_millis;

fn usual() -> Weather {
    Weather {
        nodes: 4,
        latency: Latency::Uniform { least: MILLIS(1), most: MILLIS(5) },
        messages: 40,
        traffic: Pattern::Random,
        window: 8,
        faults: "",
        on_close: OnClose::Evict,
        loss: 0,
        duplicate: 0,
        leaves: 0,
        uniform: false,
        via: false,
        relay: false,
    }
}

/// The experiments that together are bad weather for this algorithm in a group that never changes.
pub(super) fn weather(entry: &'static MulticastEntry) -> Vec<Spec<Multicast>> {
    let tail = Latency::LongTail { median: MILLIS(2) };
    let wide = Latency::Uniform { least: Duration::from_micros(100), most: MILLIS(50) };
    let usual = usual();
    let all = [
        Weather { nodes: 3, latency: tail, ..usual },
        Weather { nodes: 5, latency: wide, loss: 10, duplicate: 5, ..usual },
        Weather { nodes: 4, latency: tail, traffic: Pattern::Flood, window: 3, via: true, ..usual },
        Weather { nodes: 3, latency: wide, traffic: Pattern::Flood, uniform: true, window: 2, ..usual },
        Weather { nodes: 6, latency: wide, relay: true, via: true, loss: 5, ..usual },
        Weather { nodes: 2, latency: tail, uniform: true, relay: true, ..usual },
    ];
    all.into_iter().map(|weather| weather.over(entry, None)).collect()
}

/// The same in views.
pub(super) fn upheaval(entry: &'static MulticastEntry) -> Vec<Spec<Multicast>> {
    let tail = Latency::LongTail { median: MILLIS(2) };
    let usual = Weather { nodes: 5, messages: 60, ..usual() };
    let all = [
        Weather { faults: "crash=3,pause=1,cut=1,drift=2", loss: 5, duplicate: 2, ..usual },
        // Links that lose nothing: nothing but views repairs what a crash took along.
        Weather { nodes: 3, latency: tail, faults: "crash=4", via: true, ..usual },
        // Some miss what others hear, and then somebody dies.
        Weather { nodes: 4, faults: "deaf=4,crash=3", ..usual },
        Weather { nodes: 4, faults: "deaf=3,crash=2,cut=1", uniform: true, leaves: 1, ..usual },
        Weather {
            nodes: 6,
            latency: tail,
            faults: "crash=5,pause=2",
            leaves: 2,
            traffic: Pattern::Flood,
            window: 4,
            ..usual
        },
        Weather {
            nodes: 3,
            faults: "crash=3,pause=2,drift=3",
            on_close: OnClose::Lease,
            uniform: true,
            via: true,
            loss: 3,
            ..usual
        },
        Weather {
            nodes: 7,
            latency: tail,
            faults: "crash=4,cut=2,pause=2,deaf=2,drift=4",
            loss: 10,
            leaves: 1,
            relay: true,
            ..usual
        },
    ];
    all.into_iter().map(|weather| weather.over(entry, Some(weather.on_close))).collect()
}

impl Weather {
    fn over(self, entry: &'static MulticastEntry, on_close: Option<OnClose>) -> Spec<Multicast> {
        let views = on_close.map(ViewSettings::short);
        let settings = Settings {
            messages: self.messages,
            traffic: self.traffic,
            // So that there is something to say for as long as things go wrong.
            interval: views.map(|_| Latency::Uniform { least: Duration::ZERO, most: MILLIS(60) }),
            window: self.window,
            delivery: if self.uniform { Delivery::Uniform } else { Delivery::Prompt },
            sequencing: if self.via && entry.facts.sequences { Sequencing::Via } else { Sequencing::ToAll },
            relay: self.relay,
            leaves: if views.is_some() { self.leaves } else { 0 },
            // So small that a state comes in several pieces.
            piece: 64,
            views,
            ..Settings::default()
        };
        Spec {
            nodes: self.nodes,
            latency: self.latency,
            loss: percent(self.loss),
            duplicate: percent(self.duplicate),
            random_faults: FaultMix::known(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
