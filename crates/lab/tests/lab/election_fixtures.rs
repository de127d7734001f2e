//! Faulty election variants: the sweep names the violated property, the checker finds the shortest
//! counterexample, and the correct algorithms pass the same sweep.

use crate::common::{list_violations, parse, run_check, sweep_seeds};
use quorate_core::election::Repair;
use quorate_lab::check::CheckSpec;
use quorate_lab::election::Settings;
use quorate_lab::election::check::ElectionBehavior;
use quorate_lab::registry::{Entry, Family, fixtures};
use quorate_lab::sweep::SweepSummary;
use quorate_lab::{Election, Spec};

/// A fixture, and the conditions that reveal its deliberate bug.
struct Case {
    name: &'static str,
    /// The correct algorithm.
    twin: &'static str,
    /// Whether nodes repeat a failed election, which hides some bugs.
    repair: Repair,
    /// Whether the bug shows only if a node crashes and restarts.
    has_restarts: bool,
    /// The property that the bug violates.
    property: &'static str,
    /// Length of the shortest counterexample, in a group of three.
    counterexample_steps: usize,
}

const TWO_LEADERS: &str = "one-leader-per-epoch";
const NO_LEADER: &str = "agreed";

/// A case with repair and without restarts, unless the caller overrides these.
const fn default_case(
    name: &'static str,
    twin: &'static str,
    property: &'static str,
    counterexample_steps: usize,
) -> Case {
    Case { name, twin, repair: Repair::Detector, has_restarts: false, property, counterexample_steps }
}

const CASES: [Case; 8] = [
    default_case("chang-roberts-passes-all", "chang-roberts", TWO_LEADERS, 8),
    default_case("lelann-any-order", "lelann", TWO_LEADERS, 7),
    default_case("ring-list-first", "ring-list", TWO_LEADERS, 8),
    default_case("hirschberg-sinclair-one-sided", "hirschberg-sinclair", TWO_LEADERS, 6),
    Case { repair: Repair::None, ..default_case("peterson-any-order", "peterson", NO_LEADER, 13) },
    Case {
        repair: Repair::None,
        has_restarts: true,
        ..default_case("peterson-forgetful", "peterson", TWO_LEADERS, 19)
    },
    default_case("bully-hasty", "bully", TWO_LEADERS, 2),
    Case { has_restarts: true, ..default_case("bully-unasking", "bully", TWO_LEADERS, 8) },
];

const SEEDS: u64 = 400;

impl Case {
    fn settings(&self) -> Settings {
        Settings { starters: parse("all"), repair: self.repair, ..Settings::default() }
    }

    fn sweep(&self, name: &str) -> SweepSummary {
        let latency = parse("uniform:0ms..20ms");
        // With crashes, a failed election must be repeated; otherwise most runs would hang anyway.
        let settings = if self.has_restarts {
            Settings { crashes: 3, repair: Repair::Detector, ..self.settings() }
        } else {
            self.settings()
        };
        let spec = Spec::<Election> { nodes: 3, latency, settings, ..Spec::named(name).unwrap() };
        sweep_seeds(&spec, SEEDS)
    }

    fn check_spec(&self, name: &str) -> CheckSpec<Election> {
        let behavior = ElectionBehavior { settings: self.settings(), ..ElectionBehavior::default() };
        let mut spec = CheckSpec { behavior, ..CheckSpec::named(name).unwrap() };
        spec.setup.crashes = u8::from(self.has_restarts);
        spec.setup.restarts = u8::from(self.has_restarts);
        spec.effort.stop_at_first = true;
        spec.effort.properties = Some(vec![self.property.to_owned()]);
        spec
    }
}

/// The number of seeds for which the property holds.
fn seeds_that_hold(summary: &SweepSummary, property: &str) -> u64 {
    let held = summary.properties.iter().find(|tally| tally.name == property).map(|tally| tally.held_seeds);
    held.unwrap_or_else(|| panic!("{property} is not judged"))
}

#[test]
fn every_faulty_election_has_a_case() {
    let faulty = fixtures().iter().filter(|entry| entry.family() == Family::Election).map(Entry::name);
    // The tests of majority leases cover their faulty variants.
    let faulty: Vec<_> = faulty.filter(|name| !name.starts_with("majority-lease")).collect();
    assert_eq!(faulty, CASES.map(|case| case.name));
}

#[test]
fn the_sweep_names_the_violated_property() {
    for case in CASES {
        let summary = case.sweep(case.name);
        assert!(seeds_that_hold(&summary, case.property) < SEEDS, "{} was not caught", case.name);
    }
}

/// With the same seeds and faults, the correct algorithm satisfies the property.
#[test]
fn the_sweep_accepts_the_correct_twins() {
    for case in CASES {
        let summary = case.sweep(case.twin);
        assert_eq!(seeds_that_hold(&summary, case.property), SEEDS, "{}: {:?}", case.twin, summary.first_failure);
    }
}

/// Searches with reduction, and also without it where that is fast.
#[test]
fn the_checker_finds_the_shortest_counterexample() {
    for case in CASES {
        let mut spec = case.check_spec(case.name);
        assert_eq!(
            list_violations(&run_check(&spec)),
            [(case.property, case.counterexample_steps)],
            "{}",
            spec.command()
        );
        if !case.has_restarts {
            spec.effort.reduce = false;
            assert_eq!(
                list_violations(&run_check(&spec)),
                [(case.property, case.counterexample_steps)],
                "{}",
                spec.command()
            );
        }
    }
}
