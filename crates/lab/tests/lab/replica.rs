//! Tests of replicas in the lab: properties under random faults, seeded bugs that must be found,
//! and determinism.

use crate::common::{assert_all_hold, assert_repeatable, run_without_violations, sweep_all};
use quorate_core::Duration;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Length, Script};
use quorate_lab::replica::Settings;
use quorate_lab::{Replica, Spec};
use quorate_replica::Reads;

fn chaos(algorithm: &str, nodes: usize, reads: Reads) -> Spec<Replica> {
    Spec { nodes, settings: Settings { reads, chaos: true, ..Settings::default() }, ..Spec::named(algorithm).unwrap() }
}

fn violated(spec: &Spec<Replica>, seeds: u64) -> Vec<&'static str> {
    let summary = sweep_all(spec, seeds);
    let broken = summary.properties.iter().filter(|tally| tally.kind != Kind::Sometimes && tally.held < seeds);
    broken.map(|tally| tally.name).collect()
}

/// Sweeps groups of these sizes over this many seeds each.
fn replicas_bear_chaos(groups: [(usize, u64); 3]) {
    for reads in [Reads::Quorum, Reads::Lease] {
        for (nodes, seeds) in groups {
            assert_all_hold(&chaos("replica", nodes, reads), seeds);
        }
    }
}

#[test]
fn one_three_and_five_replicas_survive_chaos() {
    replicas_bear_chaos([(1, 20), (3, 80), (5, 50)]);
}

#[test]
#[ignore = "long: ./check long"]
fn one_three_and_five_replicas_survive_chaos_over_many_seeds() {
    replicas_bear_chaos([(1, 100), (3, 400), (5, 250)]);
}

fn members_change(seeds: u64) {
    for (nodes, founders, reads) in
        [(5, 3, Reads::Quorum), (5, 3, Reads::Lease), (3, 3, Reads::Quorum), (4, 1, Reads::Lease)]
    {
        let mut spec = chaos("replica", nodes, reads);
        spec.settings.founders = Some(founders);
        spec.settings.changes = 4;
        assert_all_hold(&spec, seeds);
    }
}

#[test]
fn members_change_under_chaos() {
    members_change(40);
}

#[test]
#[ignore = "long: ./check long"]
fn members_change_under_chaos_over_many_seeds() {
    members_change(200);
}

fn slow_links_change_nothing(seeds: u64) {
    let latency = "long-tail:10ms".parse().unwrap();
    assert_all_hold(&Spec { latency, ..chaos("replica", 5, Reads::Lease) }, seeds);
}

#[test]
fn slow_links_that_reorder_messages_break_no_property() {
    slow_links_change_nothing(80);
}

#[test]
#[ignore = "long: ./check long"]
fn slow_links_that_reorder_messages_break_no_property_over_many_seeds() {
    slow_links_change_nothing(300);
}

#[test]
fn acknowledging_before_the_save_is_caught() {
    let mut spec = chaos("replica-early-ack", 3, Reads::Quorum);
    spec.disk = "uniform:0ms..40ms".parse().unwrap();
    let violated = violated(&spec, 200);
    assert!(violated.contains(&"kept") && violated.contains(&"linearizable"), "{violated:?}");
}

fn local_reads_are_caught(seed: u64, seeds: u64) {
    let spec = Spec { seed, ..chaos("replica-local-read", 3, Reads::Quorum) };
    assert_eq!(violated(&spec, seeds), ["linearizable"]);
}

#[test]
fn reading_without_a_quorum_is_caught() {
    local_reads_are_caught(261, 100);
}

#[test]
#[ignore = "long: ./check long"]
fn reading_without_a_quorum_is_caught_over_many_seeds() {
    local_reads_are_caught(1, 500);
}

fn forgetting_is_caught(seed: u64, seeds: u64) {
    let mut spec = Spec { seed, ..chaos("replica-forgotten-vote", 3, Reads::Quorum) };
    (spec.latency, spec.disk) = ("long-tail:5ms".parse().unwrap(), "fixed:0ms".parse().unwrap());
    spec.settings.operations = 20;
    let violated = violated(&spec, seeds);
    assert!(violated.contains(&"one-leader"), "{violated:?}");
}

#[test]
fn forgetting_a_vote_is_caught() {
    forgetting_is_caught(401, 50);
}

#[test]
#[ignore = "long: ./check long"]
fn forgetting_a_vote_is_caught_over_many_seeds() {
    forgetting_is_caught(1, 2_000);
}

#[test]
fn not_reporting_a_lost_snapshot_is_caught() {
    let mut spec = chaos("replica-no-report", 3, Reads::Quorum);
    (spec.settings.clients, spec.settings.operations) = (8, 200);
    assert_eq!(violated(&spec, 300), ["answered", "caught-up"]);
}

#[test]
fn applying_an_entry_twice_is_caught() {
    let violated = violated(&chaos("replica-applied-twice", 3, Reads::Quorum), 100);
    assert!(violated.contains(&"equal"), "{violated:?}");
}

fn with_changes() -> Spec<Replica> {
    let mut spec = chaos("replica", 5, Reads::Lease);
    spec.settings.founders = Some(3);
    spec.settings.changes = 3;
    spec
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_its_journal_replays_with_the_same_verdicts() {
    for spec in [with_changes(), Spec { seed: 9, ..with_changes() }, chaos("replica-applied-twice", 3, Reads::Quorum)] {
        assert_repeatable(&spec);
    }
}

#[test]
fn the_printed_command_has_all_settings() {
    let command = Spec { seed: 7, ..with_changes() }.command("sim");
    let expected =
        "quorate sim replica --nodes 5 --seed 7 --founders 3 --operations 60 --changes 3 --reads lease --chaos";
    assert_eq!(command, expected);
}

/// Each scripted request is made once; a refusal counts as an answer.
#[test]
fn a_script_makes_the_requests() {
    let text = "campaign 2 at 10ms\nwrite 2 at 1s\nread 3 at 2s\nwrite 1 at 3s\n";
    let script = Some(Script::parse(text, &["read", "write", "campaign"]).unwrap());
    let spec: Spec<Replica> = Spec { script, ..Spec::named("replica").unwrap() };
    assert_eq!(run_without_violations(&spec).summary.operations, 3);
}

#[test]
fn invalid_settings_are_refused() {
    let refused = |settings: Settings| {
        let spec: Spec<Replica> = Spec { settings, ..Spec::named("replica").unwrap() };
        spec.validate().err().map(|error| error.to_string()).unwrap_or_default()
    };
    let defaults = Settings::default;
    assert!(refused(Settings { founders: Some(4), ..defaults() }).contains("--founders"));
    assert!(refused(Settings { founders: Some(0), ..defaults() }).contains("--founders"));
    assert!(refused(Settings { tick: Length(Duration::ZERO), ..defaults() }).contains("--tick"));
    assert!(refused(Settings { keys: 0, ..defaults() }).contains("--keys"));
    assert!(refused(Settings { clients: 1 << 40, ..defaults() }).contains("--clients must be at most 10000"));
    assert_eq!(refused(defaults()), "");
}
