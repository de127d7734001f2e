//! Bounds on delay: an algorithm of the synchronous model keeps its promise within them, and breaks it beyond.

use quorate_check::{End, Timing};
use quorate_core::{Duration, Span, Time};
use quorate_journal::record::Journal;
use quorate_lab::check::{CheckRun, CheckSpec, run};
use quorate_lab::election::Settings;
use quorate_lab::election::check::Ballots;
use quorate_lab::{Election, replay};

/// Three bullies that take messages to last no longer than 5 ms, and of which the lowest misses the leader. Messages last this long.
fn bully(least: Duration, most: Duration) -> CheckSpec<Election> {
    let settings = Settings { starters: "lowest".parse().unwrap(), ..Settings::default() };
    let mut spec = CheckSpec::<Election>::named("bully").unwrap();
    spec.habits = Ballots { settings, ..Ballots::default() };
    let until = Time::ZERO + Duration::from_secs(1);
    spec.setup.timing = Some(Timing { delay: Some(Span::between(least, most)), ..Timing::until(until) });
    spec
}

fn checked(spec: &CheckSpec<Election>) -> CheckRun<Election> {
    let found = run(spec, &mut |_, _| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command()));
    assert_eq!(found.findings.end, End::Complete, "{}", spec.command());
    found
}

fn broken(found: &CheckRun<Election>) -> Vec<&'static str> {
    found.broken().into_iter().map(|(verdict, _)| verdict.name).collect()
}

const MS: Duration = Duration::from_millis(1);
const T: Duration = MS.times(5);
const JUST_BELOW: Duration = Duration::from_nanos(T.nanos() - 1);

#[test]
fn bullies_elect_one_leader_within_their_bound_and_two_beyond() {
    for least in [Duration::ZERO, MS, JUST_BELOW] {
        assert_eq!(broken(&checked(&bully(least, JUST_BELOW))), Vec::<&str>::new(), "{least}");
    }
    for most in [T.times(2), T.times(4)] {
        assert!(broken(&checked(&bully(MS, most))).contains(&"one-leader-an-epoch"), "{most}");
    }
}

/// What happens at one instant happens in any order. So an answer that comes at the very instant at which the wait for it ends may be too
/// late, which a nanosecond less would not be.
#[test]
fn a_wait_of_exactly_the_longest_delay_is_too_short() {
    let found = checked(&bully(T, T));
    assert!(broken(&found).contains(&"one-leader-an-epoch"));
}

#[test]
fn a_run_beyond_the_bound_is_a_journal_that_replays_with_its_times() {
    let spec = bully(MS, T.times(4));
    assert!(spec.command().contains("--until 1s --delay 1ms..20ms"), "{}", spec.command());
    let found = checked(&spec);
    for (verdict, example) in found.broken().into_iter().filter(|(verdict, _)| verdict.name == "one-leader-an-epoch") {
        let mut bytes = Vec::new();
        found.write(example, &mut bytes).unwrap();
        let mut journal = Journal::open(&bytes[..]).unwrap();
        let (replayed, ()) = replay::replay::<Election, _, _>(&mut journal, ()).unwrap();
        let judged = replayed.verdicts.iter().find(|judged| judged.name == verdict.name).unwrap();
        assert!(judged.is_breach(), "{}", verdict.name);
    }
}
