//! Whole runs: the armies agree on the leader in either model, and on the time of the attack as far
//! as delays are bounded.

use crate::armies::{ARMIES, ArmiesError, Outcome, Strength, Timeline, War, What, check, simulate};
use quorate_core::{Duration, Span};

const STRENGTHS: [[u32; 2]; 4] = [[3, 5], [5, 3], [4, 4], [0, u32::MAX]];

fn war(strengths: [u32; 2]) -> War {
    War::new(strengths.map(Strength))
}

fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn check_completely(war: &War, max_gap: Option<Duration>) -> Outcome {
    let outcome = check(war, max_gap).unwrap();
    assert!(outcome.complete, "{war:?}");
    outcome
}

/// The run that violates this property, which must be the only one violated.
fn only_violation<'a>(outcome: &'a Outcome, name: &str) -> &'a Timeline {
    let violated: Vec<_> = outcome.verdicts.iter().filter(|judged| judged.violation.is_some()).collect();
    assert_eq!(violated.iter().map(|judged| judged.name).collect::<Vec<_>>(), [name]);
    &violated[0].violation.as_ref().unwrap().timeline
}

fn spans() -> impl Iterator<Item = Span> {
    let nanosecond_bounds =
        [(0, 0), (0, 5_000_000), (2_000_000, 5_000_000), (7, 7), (1, 2), (3_600_000_000_000, 7_200_000_000_001)];
    nanosecond_bounds.into_iter().map(|(min, max)| Span::between(ns(min), ns(max)))
}

#[test]
fn the_armies_agree_on_the_leader_in_both_models_and_on_any_links() {
    for strengths in STRENGTHS {
        for fifo in [false, true] {
            let unbounded = War { fifo, ..war(strengths) };
            let outcome = check_completely(&unbounded, None);
            assert!(outcome.holds());
            let names: Vec<_> = outcome.verdicts.iter().map(|judged| judged.name).collect();
            assert_eq!(names, ["who", "both-know", "both-attack"]);
            for delay in spans() {
                assert!(check_completely(&War { delay: Some(delay), ..unbounded }, None).holds());
            }
        }
    }
}

#[test]
fn for_each_bound_some_run_without_bounds_on_delay_exceeds_it() {
    let hour = 60 * 60;
    let bounds = [0, 1, 1_000_000, 1_000_000_000, hour * 1_000_000_000, 365 * 24 * hour * 1_000_000_000].map(ns);
    for strengths in STRENGTHS {
        for max_gap in bounds {
            for fifo in [false, true] {
                let outcome = check_completely(&War { fifo, ..war(strengths) }, Some(max_gap));
                let timeline = only_violation(&outcome, "when");
                let gap = timeline.gap().unwrap();
                assert!(gap > max_gap, "{gap} {max_gap}");
                // The run shows the cause: the order took longer than the bound.
                let order_delays = timeline.entries.iter().filter_map(|entry| match &entry.what {
                    What::Received { kind, sent } if kind == "attack" => Some(entry.time.since(*sent)),
                    _ => None,
                });
                assert!(order_delays.max() >= Some(gap));
            }
        }
    }
}

#[test]
fn with_bounds_the_second_attacks_at_most_max_minus_min_after_the_first() {
    for strengths in STRENGTHS {
        for delay in spans() {
            for fifo in [false, true] {
                let war = War { delay: Some(delay), fifo, ..war(strengths) };
                let guarantee = ns(delay.latest.nanos() - delay.earliest.nanos());
                assert_eq!(war.guarantee(), Some(guarantee));
                assert!(check_completely(&war, Some(guarantee)).holds(), "{war:?}");
                let Some(tighter_bound) = guarantee.nanos().checked_sub(1).map(ns) else { continue };
                let outcome = check_completely(&war, Some(tighter_bound));
                let timeline = only_violation(&outcome, "when");
                assert_eq!(timeline.gap(), Some(guarantee), "{war:?}");
            }
        }
    }
}

#[test]
fn drifting_clocks_cost_the_error_of_the_leaders_wait() {
    let exact = War { delay: Some(Span::between(ms(200), ms(500))), ..war([3, 5]) };
    for drift_ppm in [1, 1_000, 100_000, 900_000] {
        let drifting = War { drift_ppm, ..exact };
        let guarantee = drifting.guarantee().unwrap();
        assert!(guarantee > exact.guarantee().unwrap());
        assert!(check_completely(&drifting, Some(guarantee)).holds(), "{drift_ppm}");
        // Drifting clocks exceed the bound of exact clocks, and the guarantee is nearly tight.
        only_violation(&check_completely(&drifting, exact.guarantee()), "when");
        only_violation(&check_completely(&drifting, Some(ns(guarantee.nanos() - 3))), "when");
    }
    // If all messages take the same time, a leader with a slow clock is second, and late by the
    // error of its clock.
    let equal_delays = War { delay: Some(Span::exactly(ms(100))), drift_ppm: 500_000, ..war([3, 5]) };
    assert_eq!(equal_delays.guarantee(), Some(ms(100) + ns(1)));
    let outcome = check_completely(&equal_delays, Some(ms(99)));
    let [first, second] = only_violation(&outcome, "when").attacks();
    assert!(first < second, "army 2 leads, and its clock is slow");
}

#[test]
fn a_seed_determines_the_run_and_the_guarantee_holds() {
    let delay = Span::between(ms(2), ms(5));
    for seed in 1..=200 {
        for strengths in STRENGTHS {
            let bounded = War { delay: Some(delay), ..war(strengths) };
            let timeline = simulate(&bounded, seed).unwrap();
            assert_eq!(simulate(&bounded, seed).unwrap(), timeline);
            assert!(timeline.gap().unwrap() <= ms(3), "{timeline:?}");
            let leader = if strengths[1] > strengths[0] { ARMIES[1] } else { ARMIES[0] };
            assert_eq!(timeline.leaders(), [Some(leader); 2]);
            for entry in &timeline.entries {
                if let What::Received { sent, .. } = entry.what {
                    let delay_taken = entry.time.since(sent);
                    assert!(delay.earliest <= delay_taken && delay_taken <= delay.latest);
                }
            }
        }
    }
    let gaps: Vec<_> = (1..=200).map(|seed| simulate(&war([3, 5]), seed).unwrap().gap().unwrap()).collect();
    assert!(gaps.iter().any(|gap| *gap > ms(10)), "some messages take very long");
}

#[test]
fn invalid_settings_are_refused() {
    let eleven_years = Duration::from_secs(11 * 365 * 24 * 60 * 60);
    assert_eq!(check(&war([3, 5]), Some(eleven_years)).unwrap_err(), ArmiesError::TooLong);
    let slow = War { delay: Some(Span::between(Duration::ZERO, eleven_years)), ..war([3, 5]) };
    assert_eq!(check(&slow, None).unwrap_err(), ArmiesError::TooLong);
    assert_eq!(simulate(&slow, 1).unwrap_err(), ArmiesError::TooLong);
    let stopped_clock = War { delay: Some(Span::exactly(ms(1))), drift_ppm: 1_000_000, ..war([3, 5]) };
    assert_eq!(check(&stopped_clock, None).unwrap_err(), ArmiesError::NoClock(1_000_000));
}
