//! Tests of mutual exclusion with views: properties under faults, costs, and the effects of broken
//! rules.

use crate::common::{assert_no_failure, parsed, recorded, run, run_without_violations};
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Latency, Length};
use quorate_journal::workload::Ending;
use quorate_lab::mutex::MutexEntry;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::mutex::{MembershipService, Settings, ViewSettings};
use quorate_lab::registry::all;
use quorate_lab::{FamilyTypes, Mutex, RunFamily, Spec, experiment};

fn in_views() -> impl Iterator<Item = &'static MutexEntry> {
    all().iter().filter_map(Mutex::entry).filter(|entry| entry.runs_in_views())
}

fn name(entry: &MutexEntry) -> &'static str {
    entry.facts.profile.name
}

/// A sample of what `quorate sweep --family mutex --views --seeds 100000` tries.
#[test]
fn under_any_faults_exclusion_holds_and_every_request_is_served() {
    assert!(in_views().count() >= 15);
    for entry in in_views() {
        for spec in Mutex::stress_specs_in_views(entry) {
            let summary = assert_no_failure(&spec, 12);
            assert!(summary.holds(), "{}: {:?}", name(entry), summary.never_happened().collect::<Vec<_>>());
            let judged: Vec<_> = summary.properties.iter().map(|tally| tally.name).collect();
            assert!(judged.contains(&"exclusion") && judged.contains(&"fences-grow"), "{}: {judged:?}", name(entry));
        }
    }
}

/// The same load with and without views needs the same messages, entry by entry.
#[test]
fn without_faults_views_add_no_message() {
    let loads = [(Pattern::Single, 7), (Pattern::All, 24), (Pattern::Random, 20)];
    for entry in in_views() {
        for nodes in [2, 3, 4, 5, 7, 9, 13].into_iter().filter(|nodes| (entry.facts.fits)(*nodes).is_ok()) {
            for (workload, entries) in loads {
                let settings = Settings { entries, workload, ..Settings::default() };
                let latency = Latency::Fixed(Duration::from_millis(1));
                let bare = Spec { nodes, latency, settings, ..Spec::<Mutex>::named(name(entry)).unwrap() };
                let mut viewed = bare.clone();
                viewed.settings.views = Some(ViewSettings::default());
                let [bare, viewed] = [bare, viewed].map(|spec| run(&spec));
                let what = format!("{} with {nodes} nodes, {workload:?}", name(entry));
                assert_eq!((viewed.ending, viewed.holds()), (Ending::Done, true), "{what}");
                assert_eq!(viewed.summary.entries, bare.summary.entries, "{what}");
                if !entry.facts.never_quiescent {
                    assert_eq!(viewed.messages.by_kind, bare.messages.by_kind, "{what}");
                    assert_eq!(viewed.messages.control, 0, "{what}");
                }
                assert_eq!(viewed.summary.sync_delay, bare.summary.sync_delay, "{what}");
                assert_eq!(viewed.summary.client_delay, bare.summary.client_delay, "{what}");
            }
        }
    }
}

/// A holder that pauses for longer than its lease, in a group that may break a rule.
fn paused_holder(keeper: MembershipService, faults: &[&str]) -> Spec<Mutex> {
    let millis = |count| Duration::from_millis(count);
    let views = ViewSettings {
        membership: keeper,
        lease: parsed("100ms"),
        keepalive: parsed("20ms"),
        ..ViewSettings::default()
    };
    let settings = Settings {
        entries: 40,
        hold: Some(Latency::Fixed(millis(150))),
        think: Some(Latency::Uniform { min: millis(0), max: millis(100) }),
        views: Some(views),
        ..Settings::default()
    };
    let faults = faults.iter().map(|fault| parsed(fault)).collect();
    Spec { nodes: 3, faults, settings, ..Spec::named("central").unwrap() }
}

/// Returns how many seeds violate exclusion, and how often a resource that checks fences refused a
/// stale holder in those.
fn violations(spec: &Spec<Mutex>, seeds: u64) -> (u64, u64) {
    let mut found = (0, 0);
    for seed in 1..=seeds {
        let outcome = run(&Spec { seed, ..spec.clone() });
        if outcome.verdicts.iter().any(|verdict| verdict.name == "exclusion" && verdict.is_violated()) {
            found.0 += 1;
            found.1 += outcome.summary.views.unwrap().refused;
        }
    }
    found
}

const PAUSES: [&str; 3] = ["pause 1 at 100ms for 300ms", "pause 2 at 500ms for 300ms", "pause 3 at 900ms for 300ms"];

#[test]
fn a_holder_that_pauses_past_its_lease_is_refused_by_the_resource() {
    let spec = paused_holder(MembershipService::Oracle, &PAUSES);
    let (mut lost, mut refused) = (0, 0);
    for seed in 1..=60 {
        let outcome = run(&Spec { seed, ..spec.clone() });
        assert!(outcome.holds(), "seed {seed}: {:?}", outcome.violated().next());
        let views = outcome.summary.views.unwrap();
        lost += views.lost;
        refused += views.refused;
    }
    assert!(lost > 0 && refused > 0, "{lost} entries were lost, {refused} uses refused");
}

#[test]
fn an_impatient_membership_violates_exclusion_and_the_fence_refuses_the_stale_holder() {
    let cuts = ["cut 1 | rest at 100ms for 80ms", "cut 2 | rest at 300ms for 80ms", "cut 3 | rest at 500ms for 80ms"];
    let (broken, refused) = violations(&paused_holder(MembershipService::Impatient, &cuts), 40);
    assert!(broken > 0 && refused > 0, "{broken} violations, {refused} refusals");
    assert_eq!(
        violations(&paused_holder(MembershipService::Oracle, &cuts), 40).0,
        0,
        "a membership that waits keeps exclusion"
    );
}

#[test]
fn drift_beyond_the_bound_violates_exclusion_and_the_fence_refuses_the_stale_holder() {
    // Node 2 is isolated while it holds the lock, for longer than a lease.
    let drifting = |by: &str| {
        let slow: Vec<_> = (1..=3).map(|node| format!("drift {node} by {by}")).collect();
        let faults: Vec<&str> = slow.iter().map(String::as_str).chain(["cut 2 | rest at 150ms for 400ms"]).collect();
        let mut spec = paused_holder(MembershipService::Oracle, &faults);
        spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(300)));
        violations(&spec, 40)
    };
    let (broken, refused) = drifting("-400000ppm");
    assert!(broken > 0 && refused > 0, "{broken} violations, {refused} refusals");
    assert_eq!(drifting("-500ppm").0, 0, "within the bound exclusion holds");
}

#[test]
fn a_forged_close_violates_exclusion_and_the_fence_refuses_the_stale_holder() {
    // An isolated node does not learn that the group considers it dead.
    let closes =
        ["cut 2 | rest at 150ms for 90ms", "close 2 at 149ms", "cut 3 | rest at 450ms for 90ms", "close 3 at 449ms"];
    let (broken, refused) = violations(&paused_holder(MembershipService::Oracle, &closes), 40);
    assert!(broken > 0 && refused > 0, "{broken} violations, {refused} refusals");
    let mut strict = paused_holder(MembershipService::Oracle, &closes);
    if let Some(views) = &mut strict.settings.views {
        views.on_close = OnClose::Lease;
    }
    assert_eq!(violations(&strict, 40).0, 0, "if the membership ignores closes, forging one has no effect");
}

#[test]
fn a_minority_stops_entering_once_its_leases_expire() {
    for entry in in_views().filter(|entry| (entry.facts.fits)(5).is_ok()) {
        let mut spec = paused_holder(MembershipService::Oracle, &["cut 1,2 | 3,4,5 at 200ms"]);
        spec.algorithm = entry.into();
        spec.nodes = 5;
        spec.until = Some(parsed("3s"));
        let (outcome, journal) = recorded(&spec);
        let always = |verdict: &&quorate_journal::property::Verdict| verdict.name != "served";
        assert!(outcome.verdicts.iter().filter(always).all(|verdict| verdict.holds == Some(true)), "{}", name(entry));
        let (mut late, mut others) = (0, 0);
        for line in String::from_utf8(journal).unwrap().lines().filter(|line| line.contains("entered")) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            // Every lease granted before the partition has expired by then, and so has every
            // request for one.
            if line["time"].as_u64().unwrap() > 320_000_000 {
                let is_minority = line["node"].as_u64().unwrap() <= 2;
                late += u64::from(is_minority);
                others += u64::from(!is_minority);
            }
        }
        assert_eq!(late, 0, "{}: the minority entered", name(entry));
        assert!(others > 0, "{}: the majority did not continue", name(entry));
    }
}

/// The same with replicas that are the membership service themselves, and crash and are partitioned
/// like their members.
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
        let random_faults = parsed("crash=2,pause=2,cut=2,deaf=1");
        let spec =
            Spec { nodes: 3, settings, random_faults, loss: parsed("2%"), ..Spec::<Mutex>::named(algorithm).unwrap() };
        assert_no_failure(&spec, 16);
    }
}

/// A crash notice for one incarnation that arrives when the next one is a member must not remove
/// it.
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
    let faults = ["crash 2 at 1500ms for 15ms", "crash 2 at 2500ms for 15ms"].map(parsed).into();
    assert_no_failure(&Spec::<Mutex> { nodes: 3, latency, settings, faults, ..Spec::named("central").unwrap() }, 150);
}

fn replicas(algorithm: &str, fault: &str) -> Spec<Mutex> {
    let settings = Settings {
        entries: 60,
        think: Some(Latency::Uniform { min: Duration::ZERO, max: Duration::from_millis(600) }),
        views: Some(ViewSettings { membership: MembershipService::Replica, ..ViewSettings::default() }),
        ..Settings::default()
    };
    Spec { settings, faults: vec![parsed(fault)], ..Spec::<Mutex>::named(algorithm).unwrap() }
}

/// A full disk keeps a replica from learning of leases. It is removed, and admitted again when
/// there is room.
#[test]
fn a_full_disk_stops_only_its_own_member() {
    for algorithm in ["central", "ricart-agrawala", "token-ring"] {
        let report = run_without_violations(&replicas(algorithm, "disk 2 full at 600ms for 300s"));
        let views = report.summary.views.as_ref().unwrap();
        assert!(views.epoch >= 3, "{algorithm}: it was a member all the time, or never again");
    }
}

/// Clients of a node that lost its disk wait forever, and no others do.
#[test]
fn an_empty_disk_stops_only_its_own_member() {
    for algorithm in ["central", "token-ring"] {
        // Patience is measured in message delays, so short delays make for a short wait.
        let latency = Latency::Fixed(Duration::from_millis(1));
        let mut spec = Spec { latency, ..replicas(algorithm, "crash 2 at 600ms") };
        spec.faults.push(parsed("restart 2 blank at 900ms"));
        let report = run(&spec);
        let served = report.verdicts.iter().find(|verdict| verdict.name == "served").unwrap();
        let text = &served.violation.as_ref().unwrap().text;
        assert!(text.starts_with("node 2 has still not entered") && !text.contains("waiting"), "{algorithm}: {text}");
    }
}

/// No lease can be renewed in time, so members freeze now and then and are overtaken, which is not
/// a violation.
#[test]
fn overtaking_is_not_judged_if_members_may_freeze() {
    let hasty = |lease, keepalive| ViewSettings {
        lease: Length(Duration::from_millis(lease)),
        keepalive: Length(Duration::from_millis(keepalive)),
        ..ViewSettings::default()
    };
    let judged = |views| {
        let settings = Settings { views: Some(views), ..Settings::default() };
        let report = run(&Spec::<Mutex> { settings, ..Spec::named("central").unwrap() });
        let mut always = report.verdicts.iter().filter(|verdict| verdict.kind == Kind::Always);
        assert!(always.all(|verdict| verdict.holds == Some(true)), "{:?}", report.verdicts);
        report.verdicts.iter().any(|verdict| verdict.name == "overtaking-bounded")
    };
    assert!(!judged(hasty(3, 1)));
    assert!(judged(ViewSettings::default()));
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
    let negative = refusal(|views| views.drift_bound = parsed("-5ppm"));
    assert!(negative.contains("got -5ppm. Use 5ppm."), "{negative}");
    let late = refusal(|views| views.lease = views.keepalive);
    assert!(late.contains("--keepalive must be shorter than"), "{late}");
}
