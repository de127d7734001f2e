//! Tests of replicas in the lab: properties under random faults (`--chaos`), deliberate bugs that
//! must be found, and determinism.

use crate::common::{assert_every_seed_holds, assert_repeatable, run_without_violations, sweep_seeds};
use quorate_core::Duration;
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::{Length, Script};
use quorate_lab::replica::Settings;
use quorate_lab::{Replica, Spec};
use quorate_replica::ReadMode;

fn chaos_spec(algorithm: &str, nodes: usize, reads: ReadMode) -> Spec<Replica> {
    Spec { nodes, settings: Settings { reads, chaos: true, ..Settings::default() }, ..Spec::named(algorithm).unwrap() }
}

/// The properties that some seed violates or leaves undecided, without the "sometimes" properties.
fn sweep_violations(spec: &Spec<Replica>, seeds: u64) -> Vec<&'static str> {
    let summary = sweep_seeds(spec, seeds);
    let broken =
        summary.properties.iter().filter(|tally| tally.kind != PropertyKind::Sometimes && tally.held_seeds < seeds);
    broken.map(|tally| tally.name).collect()
}

/// Sweeps groups of these sizes over this many seeds each.
fn assert_replicas_survive_chaos(groups: [(usize, u64); 3]) {
    for reads in [ReadMode::Quorum, ReadMode::Lease] {
        for (nodes, seeds) in groups {
            assert_every_seed_holds(&chaos_spec("replica", nodes, reads), seeds);
        }
    }
}

#[test]
fn one_three_and_five_replicas_survive_chaos() {
    assert_replicas_survive_chaos([(1, 20), (3, 80), (5, 50)]);
}

#[test]
#[ignore = "long: ./check long"]
fn one_three_and_five_replicas_survive_chaos_over_many_seeds() {
    assert_replicas_survive_chaos([(1, 100), (3, 400), (5, 250)]);
}

fn assert_members_change(seeds: u64) {
    for (nodes, founders, reads) in
        [(5, 3, ReadMode::Quorum), (5, 3, ReadMode::Lease), (3, 3, ReadMode::Quorum), (4, 1, ReadMode::Lease)]
    {
        let mut spec = chaos_spec("replica", nodes, reads);
        spec.settings.founders = Some(founders);
        spec.settings.changes = 4;
        assert_every_seed_holds(&spec, seeds);
    }
}

#[test]
fn members_change_under_chaos() {
    assert_members_change(40);
}

#[test]
#[ignore = "long: ./check long"]
fn members_change_under_chaos_over_many_seeds() {
    assert_members_change(200);
}

fn assert_slow_links_break_nothing(seeds: u64) {
    let latency = "long-tail:10ms".parse().unwrap();
    assert_every_seed_holds(&Spec { latency, ..chaos_spec("replica", 5, ReadMode::Lease) }, seeds);
}

#[test]
fn slow_links_that_reorder_messages_break_no_property() {
    assert_slow_links_break_nothing(80);
}

#[test]
#[ignore = "long: ./check long"]
fn slow_links_that_reorder_messages_break_no_property_over_many_seeds() {
    assert_slow_links_break_nothing(300);
}

#[test]
fn acknowledging_before_the_save_is_caught() {
    let mut spec = chaos_spec("replica-early-ack", 3, ReadMode::Quorum);
    spec.disk = "uniform:0ms..40ms".parse().unwrap();
    let violated = sweep_violations(&spec, 200);
    assert!(violated.contains(&"kept") && violated.contains(&"linearizable"), "{violated:?}");
}

#[test]
fn reading_without_a_quorum_is_caught() {
    assert_eq!(sweep_violations(&chaos_spec("replica-local-read", 3, ReadMode::Quorum), 200), ["linearizable"]);
}

#[test]
fn a_session_that_misses_an_outcome_is_caught() {
    let violated = sweep_violations(&chaos_spec("replica-lost-outcome", 3, ReadMode::Quorum), 20);
    assert!(violated.contains(&"notified"), "{violated:?}");
}

#[test]
fn executing_a_forwarded_request_twice_is_caught() {
    let violated = sweep_violations(&chaos_spec("replica-forwarded-twice", 3, ReadMode::Quorum), 20);
    assert!(violated.contains(&"linearizable"), "{violated:?}");
}

#[test]
fn an_entry_that_a_member_cannot_read_is_caught() {
    let violated = sweep_violations(&chaos_spec("replica-too-new", 3, ReadMode::Quorum), 100);
    assert!(violated.contains(&"kept"), "{violated:?}");
}

#[test]
#[ignore = "long: ./check long"]
fn a_lease_that_outlasts_the_promises_is_caught() {
    assert_eq!(sweep_violations(&chaos_spec("replica-long-lease", 3, ReadMode::Lease), 2_000), ["linearizable"]);
}

fn assert_forgetting_is_caught(seeds: u64) {
    let mut spec = chaos_spec("replica-forgotten-vote", 3, ReadMode::Quorum);
    (spec.latency, spec.disk) = ("long-tail:5ms".parse().unwrap(), "fixed:0ms".parse().unwrap());
    spec.settings.operations = 20;
    let violated = sweep_violations(&spec, seeds);
    assert!(violated.contains(&"one-leader"), "{violated:?}");
}

#[test]
fn forgetting_a_vote_is_caught() {
    assert_forgetting_is_caught(200);
}

#[test]
#[ignore = "long: ./check long"]
fn forgetting_a_vote_is_caught_over_many_seeds() {
    assert_forgetting_is_caught(2_000);
}

#[test]
fn not_reporting_a_lost_snapshot_is_caught() {
    let mut spec = chaos_spec("replica-no-report", 3, ReadMode::Quorum);
    (spec.settings.clients, spec.settings.operations) = (8, 200);
    assert_eq!(sweep_violations(&spec, 300), ["answered", "caught-up"]);
}

#[test]
fn applying_an_entry_twice_is_caught() {
    let violated = sweep_violations(&chaos_spec("replica-applied-twice", 3, ReadMode::Quorum), 100);
    assert!(violated.contains(&"equal"), "{violated:?}");
}

fn spec_with_changes() -> Spec<Replica> {
    let mut spec = chaos_spec("replica", 5, ReadMode::Lease);
    spec.settings.founders = Some(3);
    spec.settings.changes = 3;
    spec
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_its_journal_replays_with_the_same_verdicts() {
    for spec in [
        spec_with_changes(),
        Spec { seed: 9, ..spec_with_changes() },
        chaos_spec("replica-applied-twice", 3, ReadMode::Quorum),
    ] {
        assert_repeatable(&spec);
    }
}

#[test]
fn the_printed_command_has_the_settings() {
    let command = Spec { seed: 7, ..spec_with_changes() }.command("sim");
    let expected =
        "quorate sim replica --nodes 5 --seed 7 --founders 3 --operations 60 --changes 3 --reads lease --chaos";
    assert_eq!(command, expected);
}

/// Clients make each scripted request once; a refusal counts as an answer.
#[test]
fn a_script_makes_the_requests() {
    let text = "campaign 2 at 10ms\nwrite 2 at 1s\nread 3 at 2s\nwrite 1 at 3s\n";
    let script = Some(Script::parse(text, &["read", "write", "campaign"]).unwrap());
    let spec: Spec<Replica> = Spec { script, ..Spec::named("replica").unwrap() };
    assert_eq!(run_without_violations(&spec).summary.operations, 3);
}

/// Sessions expire at the end, because their clients renew them no longer.
#[test]
fn a_run_with_many_clients_ends() {
    let settings = Settings { clients: 60, operations: 100, ..Settings::default() };
    let outcome = run_without_violations(&Spec::<Replica> { settings, ..Spec::named("replica").unwrap() });
    assert_eq!(outcome.summary.answered, 100);
    assert!(outcome.verdicts.iter().all(|verdict| verdict.holds == Some(true)), "a limit stopped the run");
}

#[test]
fn invalid_settings_are_refused() {
    let error = |settings: Settings| {
        let spec: Spec<Replica> = Spec { settings, ..Spec::named("replica").unwrap() };
        spec.validate().err().map(|error| error.to_string()).unwrap_or_default()
    };
    let defaults = Settings::default;
    assert!(error(Settings { founders: Some(4), ..defaults() }).contains("--founders"));
    assert!(error(Settings { founders: Some(0), ..defaults() }).contains("--founders"));
    assert!(error(Settings { tick: Length(Duration::ZERO), ..defaults() }).contains("--tick"));
    assert!(error(Settings { keys: 0, ..defaults() }).contains("--keys"));
    assert!(error(Settings { clients: 1 << 40, ..defaults() }).contains("--clients must be at most 10000"));
    assert_eq!(error(defaults()), "");
}
