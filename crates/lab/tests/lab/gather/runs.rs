//! The runs that are split and gathered again.

use crate::common::{self, recorded};
use quorate_journal::record::Journal;
use quorate_lab::replay::{Replayed, summarise};
use quorate_lab::{Election, FamilyLab, Mutex, Replica, Spec, election, mutex, replica};

pub(crate) fn journal<F: FamilyLab>(spec: &Spec<F>) -> String {
    String::from_utf8(recorded(spec).1).unwrap()
}

/// Replays the journal and checks that reading it gives the same summary.
pub(crate) fn replayed<F: FamilyLab>(journal: &str) -> Replayed<F> {
    let replayed = common::replayed::<F>(journal.as_bytes());
    let read = summarise::<F, _>(&mut Journal::open(journal.as_bytes()).unwrap()).unwrap();
    assert_eq!((&read.summary, &read.verdicts), (&replayed.summary, &replayed.verdicts));
    replayed
}

fn faulty<F: FamilyLab>(mut spec: Spec<F>, faults: &[&str]) -> Spec<F> {
    spec.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    spec.fifo = true;
    spec
}

pub(crate) fn locks(algorithm: &str, seed: u64) -> Spec<Mutex> {
    let settings = mutex::Settings { entries: 12, ..Default::default() };
    let spec = Spec { nodes: 4, seed, settings, until: Some("2s".parse().unwrap()), ..Spec::named(algorithm).unwrap() };
    faulty(spec, &["crash 3 at 30ms for 15ms", "pause 2 at 12ms for 9ms", "crash 3 at 70ms for 9ms", "crash 4 at 80ms"])
}

pub(crate) fn quiet_locks(algorithm: &str, seed: u64) -> Spec<Mutex> {
    let settings = mutex::Settings { entries: 12, ..Default::default() };
    faulty(Spec { nodes: 4, seed, settings, ..Spec::named(algorithm).unwrap() }, &["pause 2 at 12ms for 9ms"])
}

pub(crate) fn votes(seed: u64) -> Spec<Election> {
    let spec = Spec { nodes: 3, seed, settings: election::Settings::default(), ..Spec::named("raft").unwrap() };
    faulty(spec, &["crash 1 torn at 400ms for 300ms", "crash 2 at 900ms for 200ms"])
}

pub(crate) fn replicas(seed: u64) -> Spec<Replica> {
    let settings = replica::Settings { operations: 40, clients: 3, ..Default::default() };
    let spec = Spec { nodes: 3, seed, settings, ..Spec::named("replica").unwrap() };
    faulty(spec, &["crash 1 torn at 300ms for 200ms", "crash 2 at 600ms for 300ms", "pause 3 at 1s for 100ms"])
}

pub(crate) fn replicas_with_a_lost_disk(seed: u64) -> Spec<Replica> {
    faulty(replicas(seed), &["crash 1 at 300ms", "restart 1 blank at 500ms"])
}

pub(crate) fn cut_votes(seed: u64) -> Spec<Election> {
    faulty(
        votes(seed),
        &["cut 1 | rest at 300ms for 400ms", "crash 2 at 500ms for 100ms", "cut 2 > 3 at 900ms for 300ms"],
    )
}

pub(crate) fn cut_replicas(seed: u64) -> Spec<Replica> {
    let faults = ["cut 1 | rest at 200ms for 300ms", "crash 3 at 300ms for 300ms", "cut 2 > 1 at 700ms for 200ms"];
    faulty(replicas(seed), &faults)
}
