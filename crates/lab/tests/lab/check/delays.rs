//! Delay bounds: an algorithm for the synchronous model is correct within them and fails beyond.

use crate::check::common::journal;
use crate::common::{self, replayed, violated};
use quorate_check::{End, Timing};
use quorate_core::{Duration, Span, Time};
use quorate_lab::Election;
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::election::Settings;
use quorate_lab::election::check::ElectionBehavior;

/// Three bully nodes that assume a delay of at most 5 ms. The lowest detects that the leader is
/// missing. Messages take from `least` to `most`.
fn bully(least: Duration, most: Duration) -> CheckSpec<Election> {
    let settings = Settings { starters: "lowest".parse().unwrap(), ..Settings::default() };
    let mut spec = CheckSpec::<Election>::named("bully").unwrap();
    spec.behavior = ElectionBehavior { settings, ..ElectionBehavior::default() };
    let until = Time::ZERO + Duration::from_secs(1);
    spec.setup.timing = Some(Timing { delay: Some(Span::between(least, most)), ..Timing::until(until) });
    spec
}

fn completed(spec: &CheckSpec<Election>) -> CheckRun<Election> {
    let found = common::checked(spec);
    assert_eq!(found.findings.end, End::Complete, "{}", spec.command());
    found
}

fn has_two_leaders(found: &CheckRun<Election>) -> bool {
    violated(found).iter().any(|(name, _)| *name == "one-leader-an-epoch")
}

const MS: Duration = Duration::from_millis(1);
const T: Duration = MS.times(5);
const JUST_BELOW: Duration = Duration::from_nanos(T.nanos() - 1);

#[test]
fn bully_elects_one_leader_within_its_bound_and_two_beyond() {
    for least in [Duration::ZERO, MS, JUST_BELOW] {
        assert_eq!(violated(&completed(&bully(least, JUST_BELOW))), [], "{least}");
    }
    for most in [T.times(2), T.times(4)] {
        assert!(has_two_leaders(&completed(&bully(MS, most))), "{most}");
    }
}

/// Events at one instant occur in any order. A reply that arrives at the very instant of its
/// timeout may therefore be too late, and one nanosecond earlier is in time.
#[test]
fn a_wait_of_exactly_the_longest_delay_is_too_short() {
    assert!(has_two_leaders(&completed(&bully(T, T))));
}

#[test]
fn a_run_beyond_the_bound_is_a_journal_that_replays_with_its_times() {
    let spec = bully(MS, T.times(4));
    assert!(spec.command().contains("--until 1s --delay 1ms..20ms"), "{}", spec.command());
    let found = completed(&spec);
    for (verdict, example) in found.broken().into_iter().filter(|(verdict, _)| verdict.name == "one-leader-an-epoch") {
        let replayed = replayed::<Election>(&journal(&found, example));
        let judged = replayed.verdicts.iter().find(|judged| judged.name == verdict.name).unwrap();
        assert!(judged.is_violated(), "{}", verdict.name);
    }
}
