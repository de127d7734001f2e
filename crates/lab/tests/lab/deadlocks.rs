//! Detectors of deadlocks against the truth, which none of them sees.

use quorate_lab::experiment::Outcome;
use quorate_lab::{Deadlock, FamilyLab, Spec, experiment};
use quorate_registry::{Entry, Family, all};

fn detectors() -> impl Iterator<Item = &'static Entry> {
    all().iter().filter(|entry| entry.family() == Family::Deadlock)
}

fn run(spec: &Spec<Deadlock>) -> Outcome<Deadlock> {
    experiment::run(spec).unwrap_or_else(|error| panic!("{}: {error}", spec.command("sim")))
}

#[test]
fn every_detector_agrees_with_a_plain_search_of_random_graphs() {
    for entry in detectors() {
        let weather = Deadlock::weather(Deadlock::entry(entry).unwrap());
        for (place, spec) in weather.into_iter().enumerate() {
            for seed in 1..=25 {
                let spec = Spec { seed: seed * 100 + place as u64, ..spec.clone() };
                let outcome = run(&spec);
                let broken: Vec<_> = outcome.breaches().collect();
                assert!(broken.is_empty(), "{}\n{:?} {broken:#?}", spec.command("sim"), outcome.ending);
            }
        }
    }
}
