//! The options of the command line that bring an experiment about.

use super::{Deadlock, Settings};
use crate::family::{Flag, Place};
use crate::spec::{Spec, word};
use quorate_sim::deadlock::Taking;

pub(super) fn flags(spec: &Spec<Deadlock>) -> Vec<Flag> {
    let usual = Settings::default();
    let settings = &spec.settings;
    let front = |is_usual: bool, text: String| Flag::unless(is_usual, Place::Front, text);
    let times = |text: String| Flag { place: Place::Times, text };
    let priorities: Vec<_> = settings.priorities.iter().map(ToString::to_string).collect();
    let flags = [
        settings.processes.map(|processes| Flag { place: Place::Front, text: format!("--processes {processes}") }),
        front(settings.resources == usual.resources, format!("--resources {}", settings.resources)),
        front(spec.is_scripted() || settings.rounds == usual.rounds, format!("--asks {}", settings.rounds)),
        front(settings.fan_out == usual.fan_out, format!("--fan-out {}", settings.fan_out)),
        settings.asking.map(|asking| Flag { place: Place::Front, text: format!("--waits-for {}", word(&asking)) }),
        front(settings.taking == Taking::AnyOrder, format!("--taking {}", word(&settings.taking))),
        front(spec.is_scripted() || settings.share == usual.share, format!("--share {}", settings.share)),
        settings.victim.map(|victim| Flag { place: Place::Front, text: format!("--victim {victim}") }),
        front(priorities.is_empty(), format!("--priorities {}", priorities.join(","))),
        settings.think.filter(|_| !spec.is_scripted()).map(|think| times(format!("--asks-after {think}"))),
        settings.hold.filter(|_| !spec.is_scripted()).map(|hold| times(format!("--lets-go-after {hold}"))),
        settings.patience.map(|patience| times(format!("--looks-after {patience}"))),
    ];
    flags.into_iter().flatten().collect()
}
