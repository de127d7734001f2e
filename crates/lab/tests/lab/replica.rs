//! Replicas in the lab: what holds under chaos, that planted bugs are caught, and that runs repeat byte for byte.

use crate::common::{all_hold, holding, repeats, swept_through};
use quorate_core::Duration;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Length, Script};
use quorate_lab::replica::Settings;
use quorate_lab::{Replica, Spec};
use quorate_replica::Reads;

fn chaos(algorithm: &str, nodes: usize, reads: Reads) -> Spec<Replica> {
    Spec { nodes, settings: Settings { reads, chaos: true, ..Settings::default() }, ..Spec::named(algorithm).unwrap() }
}

fn breached(spec: &Spec<Replica>, seeds: u64) -> Vec<&'static str> {
    let summary = swept_through(spec, seeds);
    let broken = summary.properties.iter().filter(|tally| tally.kind != Kind::Sometimes && tally.held < seeds);
    broken.map(|tally| tally.name).collect()
}

/// Groups of these sizes, so many seeds of each.
fn replicas_bear_chaos(groups: [(usize, u64); 3]) {
    for reads in [Reads::Quorum, Reads::Lease] {
        for (nodes, seeds) in groups {
            all_hold(&chaos("replica", nodes, reads), seeds);
        }
    }
}

#[test]
fn one_three_and_five_replicas_bear_chaos() {
    replicas_bear_chaos([(1, 20), (3, 80), (5, 50)]);
}

#[test]
#[ignore = "long: ./check long"]
fn one_three_and_five_replicas_bear_chaos_over_many_seeds() {
    replicas_bear_chaos([(1, 100), (3, 400), (5, 250)]);
}

fn members_change(seeds: u64) {
    for (nodes, founders, reads) in
        [(5, 3, Reads::Quorum), (5, 3, Reads::Lease), (3, 3, Reads::Quorum), (4, 1, Reads::Lease)]
    {
        let mut spec = chaos("replica", nodes, reads);
        spec.settings.founders = Some(founders);
        spec.settings.changes = 4;
        all_hold(&spec, seeds);
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
    all_hold(&Spec { latency, ..chaos("replica", 5, Reads::Lease) }, seeds);
}

#[test]
fn slow_links_that_reorder_everything_change_nothing() {
    slow_links_change_nothing(80);
}

#[test]
#[ignore = "long: ./check long"]
fn slow_links_that_reorder_everything_change_nothing_over_many_seeds() {
    slow_links_change_nothing(300);
}

#[test]
fn who_acknowledges_before_its_disk_does_is_caught() {
    let mut spec = chaos("replica-early-ack", 3, Reads::Quorum);
    spec.disk = "uniform:0ms..40ms".parse().unwrap();
    let breached = breached(&spec, 200);
    assert!(breached.contains(&"kept") && breached.contains(&"linearizable"), "{breached:?}");
}

fn local_reads_are_caught(seed: u64, seeds: u64) {
    let spec = Spec { seed, ..chaos("replica-local-read", 3, Reads::Quorum) };
    assert_eq!(breached(&spec, seeds), ["linearizable"]);
}

#[test]
fn who_reads_without_a_quorum_is_caught() {
    local_reads_are_caught(261, 100);
}

#[test]
#[ignore = "long: ./check long"]
fn who_reads_without_a_quorum_is_caught_over_many_seeds() {
    local_reads_are_caught(1, 500);
}

fn forgetting_is_caught(seed: u64, seeds: u64) {
    let mut spec = Spec { seed, ..chaos("replica-forgotten-vote", 3, Reads::Quorum) };
    (spec.latency, spec.disk) = ("long-tail:5ms".parse().unwrap(), "fixed:0ms".parse().unwrap());
    spec.settings.operations = 20;
    let breached = breached(&spec, seeds);
    assert!(breached.contains(&"one-leader"), "{breached:?}");
}

#[test]
fn who_forgets_its_vote_is_caught() {
    forgetting_is_caught(401, 50);
}

#[test]
#[ignore = "long: ./check long"]
fn who_forgets_its_vote_is_caught_over_many_seeds() {
    forgetting_is_caught(1, 2_000);
}

#[test]
fn who_never_reports_a_lost_snapshot_is_caught() {
    let mut spec = chaos("replica-no-report", 3, Reads::Quorum);
    (spec.settings.clients, spec.settings.operations) = (8, 200);
    assert_eq!(breached(&spec, 300), ["answered", "caught-up"]);
}

#[test]
fn who_applies_an_entry_twice_is_caught() {
    let breached = breached(&chaos("replica-applied-twice", 3, Reads::Quorum), 100);
    assert!(breached.contains(&"equal"), "{breached:?}");
}

fn rough() -> Spec<Replica> {
    let mut spec = chaos("replica", 5, Reads::Lease);
    spec.settings.founders = Some(3);
    spec.settings.changes = 3;
    spec
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_its_journal_replays_with_the_same_verdicts() {
    for spec in [rough(), Spec { seed: 9, ..rough() }, chaos("replica-applied-twice", 3, Reads::Quorum)] {
        repeats(&spec);
    }
}

#[test]
fn a_command_repeats_its_run() {
    let command = Spec { seed: 7, ..rough() }.command("sim");
    let expected =
        "quorate sim replica --nodes 5 --seed 7 --founders 3 --operations 60 --changes 3 --reads lease --chaos";
    assert_eq!(command, expected);
}

/// Whom a script speaks for is asked once; a refusal is an answer too.
#[test]
fn a_script_says_who_asks_what() {
    let text = "campaign 2 at 10ms\nwrite 2 at 1s\nread 3 at 2s\nwrite 1 at 3s\n";
    let script = Some(Script::parse(text, &["read", "write", "campaign"]).unwrap());
    let spec: Spec<Replica> = Spec { script, ..Spec::named("replica").unwrap() };
    assert_eq!(holding(&spec).summary.operations, 3);
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    let refused = |settings: Settings| {
        let spec: Spec<Replica> = Spec { settings, ..Spec::named("replica").unwrap() };
        spec.validate().err().map(|error| error.to_string()).unwrap_or_default()
    };
    let usual = Settings::default;
    assert!(refused(Settings { founders: Some(4), ..usual() }).contains("--founders"));
    assert!(refused(Settings { founders: Some(0), ..usual() }).contains("--founders"));
    assert!(refused(Settings { tick: Length(Duration::ZERO), ..usual() }).contains("--tick"));
    assert!(refused(Settings { keys: 0, ..usual() }).contains("--keys"));
    assert!(refused(Settings { clients: 1 << 40, ..usual() }).contains("too much"));
    assert_eq!(refused(usual()), "");
}
