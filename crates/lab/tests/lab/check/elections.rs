//! Elections by name: each stands what it promises to stand, in every order, with a crash at every point.

use quorate_lab::check::{Ballots, CheckRun, CheckSpec, run};
use quorate_lab::election::Settings;
use quorate_lab::{Election, LinkChoice};
use quorate_registry::{Entry, Family, all};

/// A check of so many nodes, of which these start and any may crash once.
fn spec(algorithm: &str, nodes: usize, starters: &str) -> CheckSpec<Election> {
    let settings = Settings { starters: starters.parse().unwrap(), ..Settings::default() };
    let habits = Ballots { settings, ..Ballots::default() };
    let mut spec = CheckSpec { habits, links: LinkChoice::Bare, ..CheckSpec::new(algorithm) };
    (spec.setup.nodes, spec.setup.crashes) = (nodes, 1);
    spec
}

fn checked(spec: &CheckSpec<Election>) -> CheckRun<Election> {
    run(spec, &mut |_, _| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command()))
}

/// Those whose nodes can be copied.
fn checkable() -> impl Iterator<Item = &'static str> {
    let elections = all().iter().filter(|entry| entry.family() == Family::Election);
    elections.filter(|entry| entry.profile().checkable).map(Entry::name)
}

fn stands(spec: &CheckSpec<Election>) {
    let started = std::time::Instant::now();
    let found = checked(spec);
    eprintln!("{}: {} states, {:?}", spec.command(), found.findings.states.states, started.elapsed());
    assert!(found.findings.is_complete(), "{}: {:?}", spec.command(), found.findings.end);
    let broken: Vec<_> = found.broken().into_iter().map(|(verdict, _)| verdict.name).collect();
    assert!(broken.is_empty(), "{}: {broken:?}", spec.command());
}

#[test]
fn each_stands_a_crash_at_every_point_whoever_starts() {
    for algorithm in checkable() {
        stands(&spec(algorithm, 2, "all"));
        stands(&spec(algorithm, 3, "lowest"));
    }
}
