//! Tests of mutual exclusion with views: properties under faults, costs, and the effects of broken
//! rules.

use crate::common::{assert_no_seed_fails, parse, run, run_recorded, run_without_violations};
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::{Latency, Length};
use quorate_journal::workload::Ending;
use quorate_lab::mutex::MutexEntry;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::mutex::{MembershipService, Settings, ViewSettings};
use quorate_lab::registry::all;
use quorate_lab::{FamilyTypes, Mutex, RunFamily, Spec, experiment};

fn algorithms_in_views() -> impl Iterator<Item = &'static MutexEntry> {
    all().iter().filter_map(Mutex::entry).filter(|entry| entry.runs_in_views())
}

fn algorithm_name(entry: &MutexEntry) -> &'static str {
    entry.facts.profile.name
}

/// A sample of what `quorate sweep --family mutex --views --seeds 100000` tries.
#[test]
fn under_any_faults_exclusion_holds_and_every_request_is_served() {
    assert!(algorithms_in_views().count() >= 15);
    for entry in algorithms_in_views() {
        for spec in Mutex::stress_specs_in_views(entry) {
            let summary = assert_no_seed_fails(&spec, 12);
            assert!(summary.holds(), "{}: {:?}", algorithm_name(entry), summary.never_happened().collect::<Vec<_>>());
            let names: Vec<_> = summary.properties.iter().map(|tally| tally.name).collect();
            assert!(
                names.contains(&"exclusion") && names.contains(&"fences-grow"),
                "{}: {names:?}",
                algorithm_name(entry)
            );
        }
    }
}

/// A run with views sends the same messages and has the same delays as the run without views. The
/// messages of algorithms that never fall silent are not compared.
#[test]
fn without_faults_views_add_no_message() {
    let loads = [(Pattern::Single, 7), (Pattern::All, 24), (Pattern::Random, 20)];
    for entry in algorithms_in_views() {
        for nodes in [2, 3, 4, 5, 7, 9, 13].into_iter().filter(|nodes| (entry.facts.check_group_size)(*nodes).is_ok()) {
            for (workload, entries) in loads {
                let settings = Settings { entries, workload, ..Settings::default() };
                let latency = Latency::Fixed(Duration::from_millis(1));
                let without_views =
                    Spec { nodes, latency, settings, ..Spec::<Mutex>::named(algorithm_name(entry)).unwrap() };
                let mut with_views = without_views.clone();
                with_views.settings.views = Some(ViewSettings::default());
                let [without_views, with_views] = [without_views, with_views].map(|spec| run(&spec));
                let case = format!("{} with {nodes} nodes, {workload:?}", algorithm_name(entry));
                assert_eq!((with_views.ending, with_views.holds()), (Ending::Done, true), "{case}");
                assert_eq!(with_views.summary.entries, without_views.summary.entries, "{case}");
                if !entry.facts.is_never_quiescent {
                    assert_eq!(with_views.messages.by_kind, without_views.messages.by_kind, "{case}");
                    assert_eq!(with_views.messages.control, 0, "{case}");
                }
                assert_eq!(with_views.summary.sync_delay, without_views.summary.sync_delay, "{case}");
                assert_eq!(with_views.summary.client_delay, without_views.summary.client_delay, "{case}");
            }
        }
    }
}

/// A group of three with leases of 100 ms, whose clients hold the lock longer than that.
fn spec_with_short_leases(membership: MembershipService, faults: &[&str]) -> Spec<Mutex> {
    let millis = |count| Duration::from_millis(count);
    let views = ViewSettings { membership, lease: parse("100ms"), keepalive: parse("20ms"), ..ViewSettings::default() };
    let settings = Settings {
        entries: 40,
        hold: Some(Latency::Fixed(millis(150))),
        think: Some(Latency::Uniform { min: millis(0), max: millis(100) }),
        views: Some(views),
        ..Settings::default()
    };
    let faults = faults.iter().map(|fault| parse(fault)).collect();
    Spec { nodes: 3, faults, settings, ..Spec::named("central").unwrap() }
}

/// Returns how many seeds violate exclusion, and how often in their runs a resource that checks
/// fences refused a stale holder.
fn count_exclusion_violations(spec: &Spec<Mutex>, seeds: u64) -> (u64, u64) {
    let (mut violating_seeds, mut refused_uses) = (0, 0);
    for seed in 1..=seeds {
        let outcome = run(&Spec { seed, ..spec.clone() });
        if outcome.verdicts.iter().any(|verdict| verdict.name == "exclusion" && verdict.is_violated()) {
            violating_seeds += 1;
            refused_uses += outcome.summary.views.unwrap().refused;
        }
    }
    (violating_seeds, refused_uses)
}

const PAUSES: [&str; 3] = ["pause 1 at 100ms for 300ms", "pause 2 at 500ms for 300ms", "pause 3 at 900ms for 300ms"];

#[test]
fn a_holder_that_pauses_past_its_lease_is_refused_by_the_resource() {
    let spec = spec_with_short_leases(MembershipService::Oracle, &PAUSES);
    let (mut lost_entries, mut refused_uses) = (0, 0);
    for seed in 1..=60 {
        let outcome = run(&Spec { seed, ..spec.clone() });
        assert!(outcome.holds(), "seed {seed}: {:?}", outcome.violated_verdicts().next());
        let views = outcome.summary.views.unwrap();
        lost_entries += views.lost;
        refused_uses += views.refused;
    }
    assert!(lost_entries > 0 && refused_uses > 0, "{lost_entries} entries were lost, {refused_uses} uses refused");
}

#[test]
fn an_impatient_membership_violates_exclusion_and_the_fence_refuses_the_stale_holder() {
    let cuts = ["cut 1 | rest at 100ms for 80ms", "cut 2 | rest at 300ms for 80ms", "cut 3 | rest at 500ms for 80ms"];
    let (violating_seeds, refused_uses) =
        count_exclusion_violations(&spec_with_short_leases(MembershipService::Impatient, &cuts), 40);
    assert!(
        violating_seeds > 0 && refused_uses > 0,
        "{violating_seeds} seeds with violations, {refused_uses} refused uses"
    );
    assert_eq!(
        count_exclusion_violations(&spec_with_short_leases(MembershipService::Oracle, &cuts), 40).0,
        0,
        "a membership that waits for leases to expire keeps exclusion"
    );
}

#[test]
fn drift_beyond_the_bound_violates_exclusion_and_the_fence_refuses_the_stale_holder() {
    // Node 2 is isolated for longer than a lease, in some runs while it holds the lock.
    let violations_with_drift = |by: &str| {
        let drifts: Vec<_> = (1..=3).map(|node| format!("drift {node} by {by}")).collect();
        let faults: Vec<&str> = drifts.iter().map(String::as_str).chain(["cut 2 | rest at 150ms for 400ms"]).collect();
        let mut spec = spec_with_short_leases(MembershipService::Oracle, &faults);
        spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(300)));
        count_exclusion_violations(&spec, 40)
    };
    let (violating_seeds, refused_uses) = violations_with_drift("-400000ppm");
    assert!(
        violating_seeds > 0 && refused_uses > 0,
        "{violating_seeds} seeds with violations, {refused_uses} refused uses"
    );
    assert_eq!(violations_with_drift("-500ppm").0, 0, "within the bound exclusion holds");
}

#[test]
fn a_forged_notice_of_a_closed_link_violates_exclusion_and_the_fence_refuses_the_stale_holder() {
    // The isolated node does not learn that the group considers it crashed.
    let closes =
        ["cut 2 | rest at 150ms for 90ms", "close 2 at 149ms", "cut 3 | rest at 450ms for 90ms", "close 3 at 449ms"];
    let (violating_seeds, refused_uses) =
        count_exclusion_violations(&spec_with_short_leases(MembershipService::Oracle, &closes), 40);
    assert!(
        violating_seeds > 0 && refused_uses > 0,
        "{violating_seeds} seeds with violations, {refused_uses} refused uses"
    );
    let mut ignores_closes = spec_with_short_leases(MembershipService::Oracle, &closes);
    if let Some(views) = &mut ignores_closes.settings.views {
        views.on_close = OnClose::Lease;
    }
    assert_eq!(
        count_exclusion_violations(&ignores_closes, 40).0,
        0,
        "if the membership ignores closes, forging one has no effect"
    );
}

#[test]
fn a_minority_stops_entering_once_its_leases_expire() {
    for entry in algorithms_in_views().filter(|entry| (entry.facts.check_group_size)(5).is_ok()) {
        let mut spec = spec_with_short_leases(MembershipService::Oracle, &["cut 1,2 | 3,4,5 at 200ms"]);
        spec.algorithm = entry.into();
        spec.nodes = 5;
        spec.until = Some(parse("3s"));
        let (outcome, journal) = run_recorded(&spec);
        // The minority's requests are not served, so "served" need not hold.
        let is_other_than_served = |verdict: &&quorate_journal::property::Verdict| verdict.name != "served";
        assert!(
            outcome.verdicts.iter().filter(is_other_than_served).all(|verdict| verdict.holds == Some(true)),
            "{}",
            algorithm_name(entry)
        );
        let (mut minority_entries, mut majority_entries) = (0, 0);
        for line in String::from_utf8(journal).unwrap().lines().filter(|line| line.contains("entered")) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            // By 320 ms every lease that was granted or requested before the partition at 200 ms
            // has expired.
            if line["time"].as_u64().unwrap() > 320_000_000 {
                let is_minority = line["node"].as_u64().unwrap() <= 2;
                minority_entries += u64::from(is_minority);
                majority_entries += u64::from(!is_minority);
            }
        }
        assert_eq!(minority_entries, 0, "{}: the minority entered", algorithm_name(entry));
        assert!(majority_entries > 0, "{}: the majority did not continue", algorithm_name(entry));
    }
}

/// The members replicate their membership themselves, so that the membership service crashes and is
/// partitioned like its members.
#[test]
fn members_that_replicate_their_membership_survive_faults_too() {
    for algorithm in ["central", "ricart-agrawala", "token-request", "maekawa"] {
        let views = ViewSettings { membership: MembershipService::Replica, ..ViewSettings::default() };
        let settings = Settings {
            entries: 30,
            hold: Some(Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(400) }),
            think: Some(Latency::Uniform { min: Duration::ZERO, max: Duration::from_secs(2) }),
            views: Some(views),
            ..Settings::default()
        };
        let random_faults = parse("crash=2,pause=2,cut=2,deaf=1");
        let spec =
            Spec { nodes: 3, settings, random_faults, loss: parse("2%"), ..Spec::<Mutex>::named(algorithm).unwrap() };
        assert_no_seed_fails(&spec, 16);
    }
}

/// A crash notice about one incarnation may arrive when the next incarnation is already a member.
/// It must not remove the next one.
#[test]
fn a_late_crash_notice_does_not_remove_a_later_incarnation() {
    let views = ViewSettings { membership: MembershipService::Replica, ..ViewSettings::default() };
    let settings = Settings {
        entries: 40,
        hold: Some(Latency::Fixed(Duration::from_millis(100))),
        think: Some(Latency::Fixed(Duration::ZERO)),
        views: Some(views),
        ..Settings::default()
    };
    let latency = Latency::LongTail { median: Duration::from_millis(10) };
    let faults = ["crash 2 at 1500ms for 15ms", "crash 2 at 2500ms for 15ms"].map(parse).into();
    assert_no_seed_fails(
        &Spec::<Mutex> { nodes: 3, latency, settings, faults, ..Spec::named("central").unwrap() },
        150,
    );
}

fn replicated_membership(algorithm: &str, fault: &str) -> Spec<Mutex> {
    let settings = Settings {
        entries: 60,
        think: Some(Latency::Uniform { min: Duration::ZERO, max: Duration::from_millis(600) }),
        views: Some(ViewSettings { membership: MembershipService::Replica, ..ViewSettings::default() }),
        ..Settings::default()
    };
    Spec { settings, faults: vec![parse(fault)], ..Spec::<Mutex>::named(algorithm).unwrap() }
}

/// A full disk keeps a replica from learning of leases. The node is removed from the view, and
/// admitted again when there is room.
#[test]
fn a_full_disk_stops_only_its_own_member() {
    for algorithm in ["central", "ricart-agrawala", "token-ring"] {
        let outcome = run_without_violations(&replicated_membership(algorithm, "disk 2 full at 600ms for 300s"));
        let views = outcome.summary.views.as_ref().unwrap();
        assert!(views.epoch >= 3, "{algorithm}: node 2 was not removed, or not admitted again");
    }
}

/// Only the client of a node that lost its disk waits forever.
#[test]
fn an_empty_disk_stops_only_its_own_member() {
    for algorithm in ["central", "token-ring"] {
        // The simulator waits a number of message delays for stuck clients, so short delays make
        // the test fast.
        let latency = Latency::Fixed(Duration::from_millis(1));
        let mut spec = Spec { latency, ..replicated_membership(algorithm, "crash 2 at 600ms") };
        spec.faults.push(parse("restart 2 blank at 900ms"));
        let outcome = run(&spec);
        let served = outcome.verdicts.iter().find(|verdict| verdict.name == "served").unwrap();
        let text = &served.violation.as_ref().unwrap().text;
        // If other nodes waited too, the text would count their waiting requests.
        assert!(text.starts_with("node 2 has still not entered") && !text.contains("waiting"), "{algorithm}: {text}");
    }
}

/// With leases of 3 ms members often renew too late, so they freeze now and then and are overtaken,
/// which is not a violation.
#[test]
fn overtaking_is_not_judged_if_members_may_freeze() {
    let view_settings = |lease, keepalive| ViewSettings {
        lease: Length(Duration::from_millis(lease)),
        keepalive: Length(Duration::from_millis(keepalive)),
        ..ViewSettings::default()
    };
    let is_overtaking_judged = |views| {
        let settings = Settings { views: Some(views), ..Settings::default() };
        let outcome = run(&Spec::<Mutex> { settings, ..Spec::named("central").unwrap() });
        let mut always = outcome.verdicts.iter().filter(|verdict| verdict.kind == PropertyKind::Always);
        assert!(always.all(|verdict| verdict.holds == Some(true)), "{:?}", outcome.verdicts);
        outcome.verdicts.iter().any(|verdict| verdict.name == "overtaking-bounded")
    };
    assert!(!is_overtaking_judged(view_settings(3, 1)));
    assert!(is_overtaking_judged(ViewSettings::default()));
}

#[test]
fn invalid_lease_settings_are_refused_with_advice() {
    let refusal = |change: fn(&mut ViewSettings)| {
        let mut views = ViewSettings::default();
        change(&mut views);
        let settings = Settings { views: Some(views), ..Settings::default() };
        experiment::run(&Spec::<Mutex> { settings, ..Spec::named("central").unwrap() }).unwrap_err().to_string()
    };
    let zero = refusal(|views| views.keepalive = Length(Duration::ZERO));
    assert!(zero.contains("--keepalive must be at least 10us; got 0ms"), "{zero}");
    let negative = refusal(|views| views.drift_bound = parse("-5ppm"));
    assert!(negative.contains("got -5ppm. Use 5ppm."), "{negative}");
    let too_long = refusal(|views| views.lease = views.keepalive);
    assert!(too_long.contains("--keepalive must be shorter than"), "{too_long}");
}
