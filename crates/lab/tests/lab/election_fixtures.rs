//! Faulty election variants: the sweep names the violated property, the checker finds the shortest
//! counterexample, and the correct algorithms pass the same sweep.

use crate::common::{checked, parsed, sweep_all, violated};
use quorate_core::election::Repair;
use quorate_lab::check::CheckSpec;
use quorate_lab::election::Settings;
use quorate_lab::election::check::ElectionBehavior;
use quorate_lab::registry::{Entry, Family, fixtures};
use quorate_lab::sweep::Summary;
use quorate_lab::{Election, Spec};

/// A fixture, and the conditions that reveal its seeded bug.
struct Case {
    name: &'static str,
    twin: &'static str,
    /// Whether a failed run is repeated, which hides some bugs.
    repair: Repair,
    /// Whether a node has to crash and restart.
    restarts: bool,
    property: &'static str,
    /// Length of the shortest counterexample, in a group of three.
    steps: usize,
}

const TWO_LEADERS: &str = "one-leader-an-epoch";
const NO_LEADER: &str = "agreed";

const fn calm(name: &'static str, twin: &'static str, property: &'static str, steps: usize) -> Case {
    Case { name, twin, repair: Repair::Detector, restarts: false, property, steps }
}

const CASES: [Case; 8] = [
    calm("chang-roberts-passes-all", "chang-roberts", TWO_LEADERS, 8),
    calm("lelann-any-order", "lelann", TWO_LEADERS, 7),
    calm("ring-list-first", "ring-list", TWO_LEADERS, 8),
    calm("hirschberg-sinclair-one-sided", "hirschberg-sinclair", TWO_LEADERS, 6),
    Case { repair: Repair::None, ..calm("peterson-any-order", "peterson", NO_LEADER, 13) },
    Case { repair: Repair::None, restarts: true, ..calm("peterson-forgetful", "peterson", TWO_LEADERS, 19) },
    calm("bully-hasty", "bully", TWO_LEADERS, 2),
    Case { restarts: true, ..calm("bully-unasking", "bully", TWO_LEADERS, 8) },
];

const SEEDS: u64 = 400;

impl Case {
    fn settings(&self) -> Settings {
        Settings { starters: parsed("all"), repair: self.repair, ..Settings::default() }
    }

    fn swept(&self, name: &str) -> Summary {
        let latency = parsed("uniform:0ms..20ms");
        // With crashes, runs are repeated: they would hang and show nothing.
        let settings = if self.restarts {
            Settings { crashes: 3, repair: Repair::Detector, ..self.settings() }
        } else {
            self.settings()
        };
        let spec = Spec::<Election> { nodes: 3, latency, settings, ..Spec::named(name).unwrap() };
        sweep_all(&spec, SEEDS)
    }

    fn check(&self, name: &str) -> CheckSpec<Election> {
        let behavior = ElectionBehavior { settings: self.settings(), ..ElectionBehavior::default() };
        let mut spec = CheckSpec { behavior, ..CheckSpec::named(name).unwrap() };
        spec.setup.crashes = u8::from(self.restarts);
        spec.setup.restarts = u8::from(self.restarts);
        spec.effort.stop_at_first = true;
        spec.effort.properties = Some(vec![self.property.to_owned()]);
        spec
    }
}

fn held(summary: &Summary, property: &str) -> u64 {
    let held = summary.properties.iter().find(|tally| tally.name == property).map(|tally| tally.held);
    held.unwrap_or_else(|| panic!("{property} is not judged"))
}

/// Every registered faulty variant has a case here.
#[test]
fn every_faulty_election_is_tried() {
    let wrong = fixtures().iter().filter(|entry| entry.family() == Family::Election).map(Entry::name);
    // Faulty variants with leases violate another property.
    let wrong: Vec<_> = wrong.filter(|name| !name.starts_with("majority-lease")).collect();
    assert_eq!(wrong, CASES.map(|case| case.name));
}

#[test]
fn the_sweep_names_the_violated_property() {
    for case in CASES {
        let summary = case.swept(case.name);
        assert!(held(&summary, case.property) < SEEDS, "{} was not caught", case.name);
    }
}

/// With the same seeds and faults, the correct algorithm satisfies the property.
#[test]
fn the_sweep_accepts_the_correct_twins() {
    for case in CASES {
        let summary = case.swept(case.twin);
        assert_eq!(held(&summary, case.property), SEEDS, "{}: {:?}", case.twin, summary.first_failure);
    }
}

/// With reduction, and without it where that is fast.
#[test]
fn the_checker_finds_the_shortest_counterexample() {
    for case in CASES {
        let mut spec = case.check(case.name);
        assert_eq!(violated(&checked(&spec)), [(case.property, case.steps)], "{}", spec.command());
        if !case.restarts {
            spec.effort.reduce = false;
            assert_eq!(violated(&checked(&spec)), [(case.property, case.steps)], "{}", spec.command());
        }
    }
}
