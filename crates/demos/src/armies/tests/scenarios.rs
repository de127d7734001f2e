//! Whole runs: the armies agree on the leader in either model, and on the time of the attack as far
//! as delays are bounded.

use crate::armies::{ARMIES, ArmiesError, OccurrenceKind, Outcome, Scenario, Strength, Timeline, check, simulate};
use quorate_core::{Duration, Span};
use quorate_journal::settings::Length;

const STRENGTHS: [[u32; 2]; 4] = [[3, 5], [5, 3], [4, 4], [0, u32::MAX]];

fn scenario(strengths: [u32; 2]) -> Scenario {
    Scenario::new(strengths.map(Strength))
}

fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn check_completely(scenario: &Scenario, max_gap: Option<Duration>) -> Outcome {
    let outcome = check(scenario, max_gap).unwrap();
    assert!(outcome.is_complete, "{scenario:?}");
    outcome
}

/// The run that violates this property. Fails if another property is violated.
fn only_violation<'a>(outcome: &'a Outcome, name: &str) -> &'a Timeline {
    let violated: Vec<_> = outcome.verdicts.iter().filter(|verdict| verdict.violation.is_some()).collect();
    assert_eq!(violated.iter().map(|verdict| verdict.name).collect::<Vec<_>>(), [name]);
    &violated[0].violation.as_ref().unwrap().timeline
}

fn spans() -> impl Iterator<Item = Span> {
    let nanosecond_bounds =
        [(0, 0), (0, 5_000_000), (2_000_000, 5_000_000), (7, 7), (1, 2), (3_600_000_000_000, 7_200_000_000_001)];
    nanosecond_bounds.into_iter().map(|(min, max)| Span::between(ns(min), ns(max)))
}

#[test]
fn the_armies_agree_on_the_leader_in_both_models_with_and_without_fifo_links() {
    for strengths in STRENGTHS {
        for is_fifo in [false, true] {
            let unbounded = Scenario { is_fifo, ..scenario(strengths) };
            let outcome = check_completely(&unbounded, None);
            assert!(outcome.holds());
            let names: Vec<_> = outcome.verdicts.iter().map(|verdict| verdict.name).collect();
            assert_eq!(names, ["same-leader", "both-know", "both-attack"]);
            for delay in spans() {
                assert!(check_completely(&Scenario { delay: Some(delay), ..unbounded }, None).holds());
            }
        }
    }
}

#[test]
fn with_unbounded_delays_some_run_exceeds_any_bound_on_the_gap() {
    let hour = 60 * 60;
    let bounds = [0, 1, 1_000_000, 1_000_000_000, hour * 1_000_000_000, 365 * 24 * hour * 1_000_000_000].map(ns);
    for strengths in STRENGTHS {
        for max_gap in bounds {
            for is_fifo in [false, true] {
                let outcome = check_completely(&Scenario { is_fifo, ..scenario(strengths) }, Some(max_gap));
                let timeline = only_violation(&outcome, "within-bound");
                let gap = timeline.attack_gap().unwrap();
                assert!(gap > max_gap, "{gap} {max_gap}");
                // The run shows the cause: the order took longer than the bound.
                let order_delays = timeline.occurrences.iter().filter_map(|occurrence| match &occurrence.kind {
                    OccurrenceKind::Received { message_kind, sent_at } if message_kind == "attack" => {
                        Some(occurrence.time.since(*sent_at))
                    }
                    _ => None,
                });
                assert!(order_delays.max() >= Some(gap));
            }
        }
    }
}

#[test]
fn with_bounded_delays_the_second_army_attacks_at_most_max_minus_min_after_the_first() {
    for strengths in STRENGTHS {
        for delay in spans() {
            for is_fifo in [false, true] {
                let bounded = Scenario { delay: Some(delay), is_fifo, ..scenario(strengths) };
                let guarantee = ns(delay.latest.nanos() - delay.earliest.nanos());
                assert_eq!(bounded.guaranteed_gap(), Some(guarantee));
                assert!(check_completely(&bounded, Some(guarantee)).holds(), "{bounded:?}");
                let Some(tighter_bound) = guarantee.nanos().checked_sub(1).map(ns) else { continue };
                let outcome = check_completely(&bounded, Some(tighter_bound));
                let timeline = only_violation(&outcome, "within-bound");
                assert_eq!(timeline.attack_gap(), Some(guarantee), "{bounded:?}");
            }
        }
    }
}

#[test]
fn drifting_clocks_widen_the_gap_by_the_error_of_the_leaders_wait() {
    let exact = Scenario { delay: Some(Span::between(ms(200), ms(500))), ..scenario([3, 5]) };
    for drift_ppm in [1, 1_000, 100_000, 900_000] {
        let drifting = Scenario { drift_ppm, ..exact };
        let guarantee = drifting.guaranteed_gap().unwrap();
        assert!(guarantee > exact.guaranteed_gap().unwrap());
        assert!(check_completely(&drifting, Some(guarantee)).holds(), "{drift_ppm}");
        // Drifting clocks exceed the bound of exact clocks, and the guarantee is tight to within 3
        // ns.
        only_violation(&check_completely(&drifting, exact.guaranteed_gap()), "within-bound");
        only_violation(&check_completely(&drifting, Some(ns(guarantee.nanos() - 3))), "within-bound");
    }
    // If all messages take the same time, a leader with a slow clock attacks second: at half speed
    // it waits for 200 ms instead of 100 ms. Rounding adds 1 ns.
    let equal_delays = Scenario { delay: Some(Span::exactly(ms(100))), drift_ppm: 500_000, ..scenario([3, 5]) };
    assert_eq!(equal_delays.guaranteed_gap(), Some(ms(100) + ns(1)));
    let outcome = check_completely(&equal_delays, Some(ms(99)));
    let [attack_of_1, attack_of_2] = only_violation(&outcome, "within-bound").attack_times();
    assert!(attack_of_1 < attack_of_2, "army 2, which leads with a slow clock, does not attack second");
}

#[test]
fn a_seed_determines_the_run_and_the_guarantee_holds() {
    let delay = Span::between(ms(2), ms(5));
    for seed in 1..=200 {
        for strengths in STRENGTHS {
            let bounded = Scenario { delay: Some(delay), ..scenario(strengths) };
            let timeline = simulate(&bounded, seed).unwrap();
            assert_eq!(simulate(&bounded, seed).unwrap(), timeline);
            // The guarantee is the difference of the bounds of `delay`, 5 − 2 ms.
            assert!(timeline.attack_gap().unwrap() <= ms(3), "{timeline:?}");
            let leader = if strengths[1] > strengths[0] { ARMIES[1] } else { ARMIES[0] };
            assert_eq!(timeline.leaders(), [Some(leader); 2]);
            for occurrence in &timeline.occurrences {
                if let OccurrenceKind::Received { sent_at, .. } = occurrence.kind {
                    let message_delay = occurrence.time.since(sent_at);
                    assert!(delay.earliest <= message_delay && message_delay <= delay.latest);
                }
            }
        }
    }
    let gaps: Vec<_> = (1..=200).map(|seed| simulate(&scenario([3, 5]), seed).unwrap().attack_gap().unwrap()).collect();
    assert!(gaps.iter().any(|gap| *gap > ms(10)), "no message took much longer than the median of 2 ms");
}

#[test]
fn invalid_settings_are_refused() {
    let eleven_years = Duration::from_secs(11 * 365 * 24 * 60 * 60);
    let too_long = ArmiesError::TooLong(Length(eleven_years));
    assert_eq!(check(&scenario([3, 5]), Some(eleven_years)).unwrap_err(), too_long);
    let too_slow = Scenario { delay: Some(Span::between(Duration::ZERO, eleven_years)), ..scenario([3, 5]) };
    assert_eq!(check(&too_slow, None).unwrap_err(), too_long);
    assert_eq!(simulate(&too_slow, 1).unwrap_err(), too_long);
    let stopped_clock = Scenario { delay: Some(Span::exactly(ms(1))), drift_ppm: 1_000_000, ..scenario([3, 5]) };
    assert_eq!(check(&stopped_clock, None).unwrap_err(), ArmiesError::InvalidDrift(1_000_000));
}
