//! Elections by name: each stands what it promises to stand, in every order, and what is wrong on purpose is found.

use crate::common::journal;
use quorate_check::{Timing, Verdict};
use quorate_core::election::Repair;
use quorate_core::{Duration, Time};
use quorate_lab::check::{Ballots, CheckRun, CheckSpec, run};
use quorate_lab::election::Settings;
use quorate_lab::{Election, LinkChoice, replay};
use quorate_sim::election::Starters;
use quorate_sim::journal::Journal;

/// A check of so many nodes, any of which may start once.
fn spec(algorithm: &str, nodes: usize, crashes: u8, restarts: u8) -> CheckSpec<Election> {
    let mut spec = CheckSpec { links: LinkChoice::Bare, ..CheckSpec::new(algorithm) };
    (spec.setup.nodes, spec.setup.crashes, spec.setup.restarts) = (nodes, crashes, restarts);
    spec
}

/// Only these start.
fn starters(spec: CheckSpec<Election>, starters: &str) -> CheckSpec<Election> {
    with(spec, |settings| settings.starters = starters.parse::<Starters>().unwrap())
}

fn with(mut spec: CheckSpec<Election>, change: impl FnOnce(&mut Settings)) -> CheckSpec<Election> {
    change(&mut spec.habits.settings);
    spec
}

/// Time counts, and clocks are off by so much.
fn timed(mut spec: CheckSpec<Election>, drift_ppm: u32, until: Duration) -> CheckSpec<Election> {
    spec.setup.timing = Some(Timing { drift_ppm, until: Time::ZERO + until });
    spec
}

fn checked(spec: &CheckSpec<Election>) -> CheckRun<Election> {
    run(spec, &mut |_, _| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command()))
}
