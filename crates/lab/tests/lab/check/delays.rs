//! Delay bounds: the bully algorithm is correct if every delay is below the bound that it assumes,
//! and fails if delays can reach it.

use crate::check::common::journal;
use crate::common::{self, list_violations, replay_journal};
use quorate_check::{SearchEnd, Timing};
use quorate_core::{Duration, Span, Time};
use quorate_lab::Election;
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::election::Settings;
use quorate_lab::election::check::ElectionBehavior;

/// Three bully nodes, of which the lowest may start an election. They assume a delay bound of 5 ms;
/// messages take from `min_delay` to `max_delay`.
fn bully(min_delay: Duration, max_delay: Duration) -> CheckSpec<Election> {
    let settings = Settings { starters: "lowest".parse().unwrap(), ..Settings::default() };
    let mut spec = CheckSpec::<Election>::named("bully").unwrap();
    spec.behavior = ElectionBehavior { settings, ..ElectionBehavior::default() };
    let until = Time::ZERO + Duration::from_secs(1);
    spec.setup.timing = Some(Timing { delay: Some(Span::between(min_delay, max_delay)), ..Timing::until(until) });
    spec
}

fn check_completely(spec: &CheckSpec<Election>) -> CheckRun<Election> {
    let run = common::run_check(spec);
    assert_eq!(run.findings.end, SearchEnd::Complete, "{}", spec.command());
    run
}

fn has_two_leaders(run: &CheckRun<Election>) -> bool {
    list_violations(run).iter().any(|(name, _)| *name == "one-leader-per-epoch")
}

const MS: Duration = Duration::from_millis(1);
/// The default delay bound of elections: 5 ms.
const ASSUMED_BOUND: Duration = MS.times(5);
const JUST_BELOW_BOUND: Duration = Duration::from_nanos(ASSUMED_BOUND.nanos() - 1);

#[test]
fn bully_elects_one_leader_within_its_bound_and_two_beyond() {
    for min_delay in [Duration::ZERO, MS, JUST_BELOW_BOUND] {
        assert_eq!(list_violations(&check_completely(&bully(min_delay, JUST_BELOW_BOUND))), [], "{min_delay}");
    }
    for max_delay in [ASSUMED_BOUND.times(2), ASSUMED_BOUND.times(4)] {
        assert!(has_two_leaders(&check_completely(&bully(MS, max_delay))), "{max_delay}");
    }
}

/// Events at one instant occur in any order. A reply that arrives at the very instant of its
/// timeout may therefore be too late; a reply that arrives one nanosecond earlier is in time.
#[test]
fn a_delay_of_exactly_the_bound_is_too_long() {
    assert!(has_two_leaders(&check_completely(&bully(ASSUMED_BOUND, ASSUMED_BOUND))));
}

#[test]
fn a_run_beyond_the_bound_is_a_journal_that_replays_with_its_times() {
    let spec = bully(MS, ASSUMED_BOUND.times(4));
    assert!(spec.command().contains("--until 1s --delay 1ms..20ms"), "{}", spec.command());
    let run = check_completely(&spec);
    assert!(has_two_leaders(&run));
    for (verdict, example) in run.violations().into_iter().filter(|(verdict, _)| verdict.name == "one-leader-per-epoch")
    {
        let replayed = replay_journal::<Election>(&journal(&run, example));
        let verdict_of_replay =
            replayed.verdicts.iter().find(|verdict_of_replay| verdict_of_replay.name == verdict.name).unwrap();
        assert!(verdict_of_replay.is_violated(), "{}", verdict.name);
    }
}
