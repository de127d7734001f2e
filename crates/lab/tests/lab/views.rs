//! Mutual exclusion in views: what holds whatever goes wrong, what it costs, and what happens if a rule is broken.

use crate::common::{holding, none_fails, parsed, recorded, run};
use quorate_core::Duration;
use quorate_core::membership::OnClose;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Latency, Length};
use quorate_journal::workload::Ending;
use quorate_lab::mutex::MutexEntry;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::mutex::{Keeper, Settings, ViewSettings};
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
fn whatever_goes_wrong_one_is_inside_and_everyone_is_served() {
    assert!(in_views().count() >= 15);
    for entry in in_views() {
        for spec in Mutex::weather_in_views(entry) {
            let summary = none_fails(&spec, 12);
            assert!(summary.holds(), "{}: {:?}", name(entry), summary.never_happened().collect::<Vec<_>>());
            let judged: Vec<_> = summary.properties.iter().map(|tally| tally.name).collect();
            assert!(judged.contains(&"exclusion") && judged.contains(&"fences-grow"), "{}: {judged:?}", name(entry));
        }
    }
}

/// The same load with views and without: the same messages, entry by entry.
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
                if !entry.facts.restless {
                    assert_eq!(viewed.messages.by_kind, bare.messages.by_kind, "{what}");
                    assert_eq!(viewed.messages.control, 0, "{what}");
                }
                assert_eq!(viewed.summary.sync_delay, bare.summary.sync_delay, "{what}");
                assert_eq!(viewed.summary.client_delay, bare.summary.client_delay, "{what}");
            }
        }
    }
}

/// A holder that stands still for longer than its lease, in a group that may break a rule.
fn sleeper(keeper: Keeper, faults: &[&str]) -> Spec<Mutex> {
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
        think: Some(Latency::Uniform { least: millis(0), most: millis(100) }),
        views: Some(views),
        ..Settings::default()
    };
    let faults = faults.iter().map(|fault| parsed(fault)).collect();
    Spec { nodes: 3, faults, settings, ..Spec::named("central").unwrap() }
}

/// How many of these seeds breach exclusion, and how often a resource that checks fences refused somebody in those.
fn breaches(spec: &Spec<Mutex>, seeds: u64) -> (u64, u64) {
    let mut found = (0, 0);
    for seed in 1..=seeds {
        let outcome = run(&Spec { seed, ..spec.clone() });
        if outcome.verdicts.iter().any(|verdict| verdict.name == "exclusion" && verdict.is_breach()) {
            found.0 += 1;
            found.1 += outcome.summary.views.unwrap().refused;
        }
    }
    found
}

const PAUSES: [&str; 3] = ["pause 1 at 100ms for 300ms", "pause 2 at 500ms for 300ms", "pause 3 at 900ms for 300ms"];

#[test]
fn a_holder_that_sleeps_through_its_lease_is_refused_by_the_resource_and_by_nobody_else() {
    let spec = sleeper(Keeper::Oracle, &PAUSES);
    let (mut lost, mut refused) = (0, 0);
    for seed in 1..=60 {
        let outcome = run(&Spec { seed, ..spec.clone() });
        assert!(outcome.holds(), "seed {seed}: {:?}", outcome.breaches().next());
        let views = outcome.summary.views.unwrap();
        lost += views.lost;
        refused += views.refused;
    }
    assert!(lost > 0 && refused > 0, "{lost} entries were lost, {refused} uses refused");
}

#[test]
fn an_oracle_that_does_not_wait_lets_two_in_and_the_fence_refuses_the_stale_one() {
    let cuts = ["cut 1 | rest at 100ms for 80ms", "cut 2 | rest at 300ms for 80ms", "cut 3 | rest at 500ms for 80ms"];
    let (broken, refused) = breaches(&sleeper(Keeper::Impatient, &cuts), 40);
    assert!(broken > 0 && refused > 0, "{broken} breaches, {refused} refusals");
    assert_eq!(breaches(&sleeper(Keeper::Oracle, &cuts), 40).0, 0, "one that waits lets nobody in");
}

#[test]
fn a_clock_that_drifts_beyond_the_bound_lets_two_in_and_the_fence_refuses_the_stale_one() {
    // Node 2 is cut off while it is inside, and stays there for longer than a lease.
    let drifting = |by: &str| {
        let slow: Vec<_> = (1..=3).map(|node| format!("drift {node} by {by}")).collect();
        let faults: Vec<&str> = slow.iter().map(String::as_str).chain(["cut 2 | rest at 150ms for 400ms"]).collect();
        let mut spec = sleeper(Keeper::Oracle, &faults);
        spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(300)));
        breaches(&spec, 40)
    };
    let (broken, refused) = drifting("-400000ppm");
    assert!(broken > 0 && refused > 0, "{broken} breaches, {refused} refusals");
    assert_eq!(drifting("-500ppm").0, 0, "within the bound nobody is let in");
}

#[test]
fn a_forged_close_lets_two_in_and_the_fence_refuses_the_stale_one() {
    // Whoever is cut off does not learn that the group takes it for dead.
    let closes =
        ["cut 2 | rest at 150ms for 90ms", "close 2 at 149ms", "cut 3 | rest at 450ms for 90ms", "close 3 at 449ms"];
    let (broken, refused) = breaches(&sleeper(Keeper::Oracle, &closes), 40);
    assert!(broken > 0 && refused > 0, "{broken} breaches, {refused} refusals");
    let mut strict = sleeper(Keeper::Oracle, &closes);
    if let Some(views) = &mut strict.settings.views {
        views.on_close = OnClose::Lease;
    }
    assert_eq!(breaches(&strict, 40).0, 0, "where a close counts for nothing, forging one does nothing");
}

#[test]
fn a_minority_enters_no_more_once_its_leases_are_over() {
    for entry in in_views().filter(|entry| (entry.facts.fits)(5).is_ok()) {
        let mut spec = sleeper(Keeper::Oracle, &["cut 1,2 | 3,4,5 at 200ms"]);
        spec.algorithm = entry.into();
        spec.nodes = 5;
        spec.until = Some(parsed("3s"));
        let (outcome, journal) = recorded(&spec);
        let always = |verdict: &&quorate_journal::property::Verdict| verdict.name != "served";
        assert!(outcome.verdicts.iter().filter(always).all(|verdict| verdict.holds == Some(true)), "{}", name(entry));
        let (mut late, mut others) = (0, 0);
        for line in String::from_utf8(journal).unwrap().lines().filter(|line| line.contains("entered")) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            // Every lease that was given before the cut is over by then, and so is every request for one.
            if line["time"].as_u64().unwrap() > 320_000_000 {
                let is_minority = line["node"].as_u64().unwrap() <= 2;
                late += u64::from(is_minority);
                others += u64::from(!is_minority);
            }
        }
        assert_eq!(late, 0, "{}: the minority entered", name(entry));
        assert!(others > 0, "{}: the majority did not go on", name(entry));
    }
}

/// The same with replicas that keep the membership themselves, which crash and are cut off like their members.
#[test]
fn members_that_keep_their_membership_themselves_bear_it_too() {
    for algorithm in ["central", "ricart-agrawala", "token-request", "maekawa"] {
        let views = ViewSettings { membership: Keeper::Replica, ..ViewSettings::default() };
        let settings = Settings {
            entries: 30,
            hold: Some(Latency::Uniform { least: Duration::from_millis(1), most: Duration::from_millis(400) }),
            think: Some(Latency::Uniform { least: Duration::ZERO, most: Duration::from_secs(2) }),
            views: Some(views),
            ..Settings::default()
        };
        let random_faults = parsed("crash=2,pause=2,cut=2,deaf=1");
        let spec =
            Spec { nodes: 3, settings, random_faults, loss: parsed("2%"), ..Spec::<Mutex>::named(algorithm).unwrap() };
        none_fails(&spec, 16);
    }
}

/// Word of the death of a life that comes when the next one is in already must not put that one out.
#[test]
fn late_word_of_a_death_ends_no_later_life() {
    let views = ViewSettings { membership: Keeper::Replica, ..ViewSettings::default() };
    let settings = Settings {
        entries: 40,
        hold: Some(Latency::Fixed(Duration::from_millis(100))),
        think: Some(Latency::Fixed(Duration::ZERO)),
        views: Some(views),
        ..Settings::default()
    };
    let latency = Latency::LongTail { median: Duration::from_millis(10) };
    let faults = ["crash 2 at 1500ms for 15ms", "crash 2 at 2500ms for 15ms"].map(parsed).into();
    none_fails(&Spec::<Mutex> { nodes: 3, latency, settings, faults, ..Spec::named("central").unwrap() }, 150);
}

fn replicas(algorithm: &str, fault: &str) -> Spec<Mutex> {
    let settings = Settings {
        entries: 60,
        think: Some(Latency::Uniform { least: Duration::ZERO, most: Duration::from_millis(600) }),
        views: Some(ViewSettings { membership: Keeper::Replica, ..ViewSettings::default() }),
        ..Settings::default()
    };
    Spec { settings, faults: vec![parsed(fault)], ..Spec::<Mutex>::named(algorithm).unwrap() }
}

/// A full disk keeps a replica from learning of leases. It is removed, and let in again when there is room.
#[test]
fn a_full_disk_stops_its_own_member_alone() {
    for algorithm in ["central", "ricart-agrawala", "token-ring"] {
        let report = holding(&replicas(algorithm, "disk 2 full at 600ms for 300s"));
        let views = report.summary.views.as_ref().unwrap();
        assert!(views.epoch >= 3, "{algorithm}: it was in all the time, or never again");
    }
}

/// Users of a node that lost its disk wait for ever, and no others do.
#[test]
fn an_empty_disk_stops_its_own_member_alone() {
    for algorithm in ["central", "token-ring"] {
        // Patience is told in message times, so that short ones make for a short wait.
        let latency = Latency::Fixed(Duration::from_millis(1));
        let mut spec = Spec { latency, ..replicas(algorithm, "crash 2 at 600ms") };
        spec.faults.push(parsed("restart 2 blank at 900ms"));
        let report = run(&spec);
        let served = report.verdicts.iter().find(|verdict| verdict.name == "served").unwrap();
        let text = &served.violation.as_ref().unwrap().text;
        assert!(text.starts_with("node 2 asked") && !text.contains("more wait"), "{algorithm}: {text}");
    }
}

/// No lease can be renewed in time, so members freeze now and then and are overtaken, and that is nobody's fault.
#[test]
fn what_is_promised_inside_a_view_is_not_held_against_members_that_freeze() {
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
fn terms_that_make_no_sense_are_refused_with_what_to_do() {
    let refusal = |change: fn(&mut ViewSettings)| {
        let mut views = ViewSettings::default();
        change(&mut views);
        let settings = Settings { views: Some(views), ..Settings::default() };
        experiment::run(&Spec::<Mutex> { settings, ..Spec::named("central").unwrap() }).unwrap_err().to_string()
    };
    let zero = refusal(|views| views.keepalive = Length(Duration::ZERO));
    assert!(zero.contains("leaves no time") && zero.contains("10us"), "{zero}");
    let negative = refusal(|views| views.drift_bound = parsed("-5ppm"));
    assert!(negative.contains("give 5ppm instead"), "{negative}");
    let late = refusal(|views| views.lease = views.keepalive);
    assert!(late.contains("too late"), "{late}");
}
