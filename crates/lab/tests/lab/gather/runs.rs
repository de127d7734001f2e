//! The runs that are split and gathered again.
//!
//! In faults, `torn` is a crash that a random prefix of the pending writes survives, and `blank` a
//! restart with an empty disk. `cut 1 | rest` separates node 1 from all others, and
//! `cut 2 > 3` stops messages from node 2 to node 3.

use crate::common::{self, run_recorded};
use quorate_journal::record::Journal;
use quorate_lab::replay::{Replayed, summarise};
use quorate_lab::{Election, FamilyLab, Mutex, Replica, Spec, election, mutex, replica};

pub(crate) fn run_journal<F: FamilyLab>(spec: &Spec<F>) -> String {
    String::from_utf8(run_recorded(spec).1).unwrap()
}

/// Replays the journal, and checks that its summary without a replay is the same.
pub(crate) fn replay_and_read<F: FamilyLab>(journal: &str) -> Replayed<F> {
    let replayed = common::replay_journal::<F>(journal.as_bytes());
    let read = summarise::<F, _>(&mut Journal::open(journal.as_bytes()).unwrap()).unwrap();
    assert_eq!((&read.summary, &read.verdicts), (&replayed.summary, &replayed.verdicts));
    replayed
}

fn with_faults<F: FamilyLab>(mut spec: Spec<F>, faults: &[&str]) -> Spec<F> {
    spec.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    // Gathering refuses journals in which a link reorders messages.
    spec.fifo = true;
    spec
}

pub(crate) fn lock_spec(algorithm: &str, seed: u64) -> Spec<Mutex> {
    let settings = mutex::Settings { entries: 12, ..Default::default() };
    let spec = Spec { nodes: 4, seed, settings, until: Some("2s".parse().unwrap()), ..Spec::named(algorithm).unwrap() };
    with_faults(
        spec,
        &["crash 3 at 30ms for 15ms", "pause 2 at 12ms for 9ms", "crash 3 at 70ms for 9ms", "crash 4 at 80ms"],
    )
}

pub(crate) fn lock_spec_without_crashes(algorithm: &str, seed: u64) -> Spec<Mutex> {
    let settings = mutex::Settings { entries: 12, ..Default::default() };
    with_faults(Spec { nodes: 4, seed, settings, ..Spec::named(algorithm).unwrap() }, &["pause 2 at 12ms for 9ms"])
}

pub(crate) fn election_spec(seed: u64) -> Spec<Election> {
    let spec = Spec { nodes: 3, seed, settings: election::Settings::default(), ..Spec::named("raft").unwrap() };
    with_faults(spec, &["crash 1 torn at 400ms for 300ms", "crash 2 at 900ms for 200ms"])
}

pub(crate) fn replica_spec(seed: u64) -> Spec<Replica> {
    let settings = replica::Settings { operations: 40, clients: 3, ..Default::default() };
    let spec = Spec { nodes: 3, seed, settings, ..Spec::named("replica").unwrap() };
    with_faults(spec, &["crash 1 torn at 300ms for 200ms", "crash 2 at 600ms for 300ms", "pause 3 at 1s for 100ms"])
}

pub(crate) fn replica_spec_with_lost_disk(seed: u64) -> Spec<Replica> {
    with_faults(replica_spec(seed), &["crash 1 at 300ms", "restart 1 blank at 500ms"])
}

pub(crate) fn partitioned_election_spec(seed: u64) -> Spec<Election> {
    with_faults(
        election_spec(seed),
        &["cut 1 | rest at 300ms for 400ms", "crash 2 at 500ms for 100ms", "cut 2 > 3 at 900ms for 300ms"],
    )
}

pub(crate) fn partitioned_replica_spec(seed: u64) -> Spec<Replica> {
    let faults = ["cut 1 | rest at 200ms for 300ms", "crash 3 at 300ms for 300ms", "cut 2 > 1 at 700ms for 200ms"];
    with_faults(replica_spec(seed), &faults)
}
