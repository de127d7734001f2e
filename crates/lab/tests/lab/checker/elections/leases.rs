//! Leases on drifting clocks: with a margin, no two are valid at once by the holders' own clocks.

use crate::checker::elections::toys::{LeasedLeadership, Margin};
use crate::checker::elections::{check, counterexample_length};
use crate::checker::engine::common::plain_search;
use quorate_check::{Findings, Setup, Timing};
use quorate_core::{Duration, Time};
use quorate_lab::election::check::ElectionClients;

fn check_leases(margin: Margin, nodes: usize, drift_ppm: u32, until: Duration) -> Findings {
    let timing = Some(Timing { drift_ppm, ..Timing::until(Time::ZERO + until) });
    let clients = ElectionClients { has_leases: true, ..ElectionClients::new(nodes) };
    check(
        move |me, group| LeasedLeadership::new(me, group, margin),
        &Setup { timing, ..Setup::new(nodes) },
        &clients,
        &plain_search(),
    )
}

/// A time limit after the end of the second lease; each lease lasts one second.
const LONG_LIMIT: Duration = Duration::from_millis(2_500);

#[test]
fn a_lease_without_a_margin_allows_two_leaders_if_clocks_drift() {
    let findings = check_leases(Margin::None, 3, 1_000, LONG_LIMIT);
    assert!(counterexample_length(&findings, "one-leader-at-a-time").is_some());
    // Clocks without drift need no margin.
    let findings = check_leases(Margin::None, 3, 0, LONG_LIMIT);
    assert_eq!(counterexample_length(&findings, "one-leader-at-a-time"), None);
}

#[test]
fn a_lease_with_a_margin_tolerates_drift_up_to_its_bound() {
    for drift_ppm in [0, 1_000] {
        let findings = check_leases(Margin::Drift(1_000), 3, drift_ppm, LONG_LIMIT);
        assert_eq!(counterexample_length(&findings, "one-leader-at-a-time"), None, "{drift_ppm} ppm");
        assert!(findings.is_complete());
    }
    let findings = check_leases(Margin::Drift(1_000), 3, 10_000, LONG_LIMIT);
    assert!(counterexample_length(&findings, "one-leader-at-a-time").is_some());
}

/// No node sets a timer here, so only lease expiries make time pass. Before the first expiry no
/// violation is possible.
#[test]
fn a_time_limit_before_the_first_expiry_shows_no_violation() {
    let findings = check_leases(Margin::None, 3, 1_000, Duration::from_millis(900));
    assert_eq!(counterexample_length(&findings, "one-leader-at-a-time"), None);
    let findings = check_leases(Margin::None, 3, 1_000, Duration::from_millis(1_100));
    assert!(counterexample_length(&findings, "one-leader-at-a-time").is_some());
}
