//! Leases on clocks that drift: no two are valid at once, by the holders' own clocks.

use crate::checker::elections::toys::{Margin, Tenancy};
use crate::checker::elections::{check, length, search};
use quorate_check::{Findings, Setup, Timing};
use quorate_core::{Duration, Time};
use quorate_lab::election::check::Voters;

fn tenancy(margin: Margin, nodes: usize, drift_ppm: u32, until: Duration) -> Findings {
    let timing = Some(Timing { drift_ppm, ..Timing::until(Time::ZERO + until) });
    let users = Voters { leases: true, ..Voters::new(nodes) };
    check(
        move |me, group| Tenancy::new(me, group, margin),
        &Setup { timing, ..Setup::new(nodes) },
        &users,
        &search(false),
    )
}

const LONG: Duration = Duration::from_millis(2_500);

#[test]
fn a_lease_without_a_margin_lets_two_lead_if_clocks_drift() {
    let found = tenancy(Margin::None, 3, 1_000, LONG);
    assert!(length(&found, "one-master").is_some());
    // Where all clocks run alike there is nothing to allow for.
    let found = tenancy(Margin::None, 3, 0, LONG);
    assert_eq!(length(&found, "one-master"), None);
}

#[test]
fn a_lease_with_a_margin_stands_drift_up_to_its_bound() {
    for drift in [0, 1_000] {
        let found = tenancy(Margin::Drift(1_000), 3, drift, LONG);
        assert_eq!(length(&found, "one-master"), None, "{drift}");
        assert!(found.is_complete());
    }
    let found = tenancy(Margin::Drift(1_000), 3, 10_000, LONG);
    assert!(length(&found, "one-master").is_some());
}

/// Nobody sets a timer here, so that nothing but the ends of leases makes time pass. Before the first end nothing can go wrong.
#[test]
fn a_horizon_too_near_shows_nothing() {
    let found = tenancy(Margin::None, 3, 1_000, Duration::from_millis(900));
    assert_eq!(length(&found, "one-master"), None);
    let found = tenancy(Margin::None, 3, 1_000, Duration::from_millis(1_100));
    assert!(length(&found, "one-master").is_some());
}
