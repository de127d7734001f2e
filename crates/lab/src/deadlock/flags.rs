//! The options of the command line that bring an experiment about.

use super::{Deadlock, Settings};
use crate::deadlock::run::Taking;
use crate::flag::{Flags, Place};
use crate::spec::{Spec, word};

pub(super) fn flags(spec: &Spec<Deadlock>) -> Flags {
    let usual = Settings::default();
    let settings = &spec.settings;
    let priorities: Vec<_> = settings.priorities.iter().map(ToString::to_string).collect();
    // A script says itself who asks and when.
    let is_scripted = spec.is_scripted();
    let mut flags = Flags::default();
    flags.given(Place::Front, "processes", settings.processes);
    flags.unless(settings.resources == usual.resources, Place::Front, "resources", settings.resources);
    flags.unless(is_scripted || settings.rounds == usual.rounds, Place::Front, "asks", settings.rounds);
    flags.unless(settings.fan_out == usual.fan_out, Place::Front, "fan-out", settings.fan_out);
    flags.given(Place::Front, "waits-for", settings.asking.map(|asking| word(&asking)));
    flags.unless(settings.taking == Taking::AnyOrder, Place::Front, "taking", word(&settings.taking));
    flags.unless(is_scripted || settings.share == usual.share, Place::Front, "share", settings.share);
    flags.given(Place::Front, "victim", settings.victim);
    flags.unless(priorities.is_empty(), Place::Front, "priorities", priorities.join(","));
    flags.given(Place::Times, "asks-after", settings.think.filter(|_| !is_scripted));
    flags.given(Place::Times, "lets-go-after", settings.hold.filter(|_| !is_scripted));
    flags.given(Place::Times, "looks-after", settings.patience);
    flags
}
