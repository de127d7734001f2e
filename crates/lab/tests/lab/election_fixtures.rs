//! Elections that are wrong on purpose: the sweep names what breaks, the checker shows the shortest way to it, and the algorithms that they
//! are made from get through the same sweep.

use crate::common::{broken, checked, parsed, swept_through};
use quorate_core::election::Repair;
use quorate_lab::check::CheckSpec;
use quorate_lab::election::Settings;
use quorate_lab::election::check::Ballots;
use quorate_lab::registry::{Entry, Family, fixtures};
use quorate_lab::sweep::Summary;
use quorate_lab::{Election, Spec};

/// A fixture, and what it takes to see its flaw.
struct Case {
    name: &'static str,
    twin: &'static str,
    /// Whether a run that came to nothing is done again, which hides some flaws.
    repair: Repair,
    /// Whether somebody has to crash and come back.
    restarts: bool,
    property: &'static str,
    /// In how many steps at least, in a group of three.
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
        // Whatever crashes, a run is done again: it would hang, and show nothing.
        let settings = if self.restarts {
            Settings { upheaval: 3, repair: Repair::Detector, ..self.settings() }
        } else {
            self.settings()
        };
        let spec = Spec::<Election> { nodes: 3, latency, settings, ..Spec::named(name).unwrap() };
        swept_through(&spec, SEEDS)
    }

    fn check(&self, name: &str) -> CheckSpec<Election> {
        let habits = Ballots { settings: self.settings(), ..Ballots::default() };
        let mut spec = CheckSpec { habits, ..CheckSpec::named(name).unwrap() };
        spec.setup.crashes = u8::from(self.restarts);
        spec.setup.restarts = u8::from(self.restarts);
        spec.effort.first = true;
        spec.effort.properties = Some(vec![self.property.to_owned()]);
        spec
    }
}

fn held(summary: &Summary, property: &str) -> u64 {
    let held = summary.properties.iter().find(|tally| tally.name == property).map(|tally| tally.held);
    held.unwrap_or_else(|| panic!("{property} is not judged"))
}

/// Nothing that is listed as wrong is left out here.
#[test]
fn every_wrong_election_is_tried() {
    let wrong = fixtures().iter().filter(|entry| entry.family() == Family::Election).map(Entry::name);
    // Slips with leases break a promise of their own.
    let wrong: Vec<_> = wrong.filter(|name| !name.starts_with("majority-lease")).collect();
    assert_eq!(wrong, CASES.map(|case| case.name));
}

#[test]
fn the_sweep_names_what_is_broken() {
    for case in CASES {
        let summary = case.swept(case.name);
        assert!(held(&summary, case.property) < SEEDS, "{} was not caught", case.name);
    }
}

/// The same seeds, the same weather: without its slip an algorithm keeps the same promise.
#[test]
fn the_sweep_accuses_none_of_their_twins() {
    for case in CASES {
        let summary = case.swept(case.twin);
        assert_eq!(held(&summary, case.property), SEEDS, "{}: {:?}", case.twin, summary.first_failure);
    }
}

/// With and without the orders that make no difference, where that takes no time.
#[test]
fn the_checker_shows_the_shortest_way_there() {
    for case in CASES {
        let mut spec = case.check(case.name);
        assert_eq!(broken(&checked(&spec)), [(case.property, case.steps)], "{}", spec.command());
        if !case.restarts {
            spec.effort.reduce = false;
            assert_eq!(broken(&checked(&spec)), [(case.property, case.steps)], "{}", spec.command());
        }
    }
}
