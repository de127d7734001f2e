//! VW-1, VW-6, VW-8: with a lease, without one, and with one again.

use super::desk::{Desk, INSIDE, NOTHING, grant, holder, release, request, view};
use crate::mutex::{Central, Command, Standing, Succession, TokenRing, token_ring};
use crate::wrap::ViewedTimer;
use crate::wrap::prelude::*;

fn token_ring() -> Desk<TokenRing> {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    Desk::acting(1, 3, move |me, group| TokenRing::new(me, group, bounds))
}

#[test]
fn vw_1_nothing_is_acted_on_once_the_lease_is_over_and_nothing_is_lost() {
    let mut coordinator = Desk::acting(1, 3, Central::new);
    coordinator.at(10);
    assert_eq!(coordinator.hear(3, 1, request(3, 1)), NOTHING);
    assert_eq!(coordinator.hear(2, 1, request(2, 1)), NOTHING);
    assert!(!coordinator.acts());
    let renewed = coordinator.at(12).lease(20);
    assert_eq!(renewed, ["has a lease for 8ms", "grant of view 1 to 3"]);
    assert_eq!(coordinator.hear(3, 1, release(3, 1)), ["grant of view 1 to 2"]);
}

#[test]
fn vw_1_a_lease_holds_to_its_last_nanosecond_and_no_longer() {
    let mut coordinator = Desk::acting(1, 3, Central::new);
    assert_eq!(coordinator.at_nanos(9_999_999).hear(3, 1, request(3, 1)), ["grant of view 1 to 3"]);
    assert_eq!(coordinator.at_nanos(10_000_000).hear(3, 1, release(3, 1)), NOTHING);
    assert_eq!(coordinator.hear(2, 1, request(2, 1)), NOTHING);
}

#[test]
fn vw_1_timers_that_fire_meanwhile_are_kept() {
    let rest = ViewedTimer::Inner(Epoch(1), token_ring::Timer::Rest);
    let mut keeper = token_ring();
    assert_eq!(keeper.at(11).fire(rest), NOTHING);
    assert_eq!(keeper.at(12).lease(20), ["has a lease for 8ms", "token of view 1 to 2"]);
}

#[test]
fn vw_1_a_lease_up_to_an_instant_that_has_passed_freezes_at_once() {
    for until in [3, 4] {
        let mut coordinator = Desk::acting(1, 3, Central::new);
        assert_eq!(coordinator.at(4).lease(until), NOTHING);
        assert!(!coordinator.acts());
        assert_eq!(coordinator.hear(3, 1, request(3, 1)), NOTHING);
        assert_eq!(coordinator.lease(9), ["has a lease for 5ms", "grant of view 1 to 3"]);
    }
}

#[test]
fn vw_1_the_end_of_a_lease_is_noted_unless_it_was_renewed() {
    let mut member = Desk::acting(1, 3, Central::new);
    assert_eq!(member.at(5).lease(20), ["has a lease for 15ms"]);
    assert_eq!(member.at(10).rules(Input::Timer(ViewedTimer::Lease)), NOTHING);
    assert_eq!(member.at(20).rules(Input::Timer(ViewedTimer::Lease)), ["VW-1"]);
}

#[test]
fn vw_1_a_holder_without_a_lease_does_not_leave_before_it_has_one() {
    let mut holder = holder();
    assert_eq!(holder.at(10).ask(Command::Release), NOTHING);
    let renewed = holder.at(11).lease(20);
    assert_eq!(
        renewed,
        ["has a lease for 9ms", "may stay until 20ms of its clock", "LEAVES", "release of view 1 to 1"]
    );
}

#[test]
fn vw_6_a_renewal_tells_a_holder_for_how_long_and_nobody_else() {
    assert_eq!(holder().at(4).lease(14), ["has a lease for 10ms", "may stay until 14ms of its clock"]);
    let mut idle = Desk::acting(2, 3, Central::new);
    assert_eq!(idle.at(4).lease(14), ["has a lease for 10ms"]);
}

#[test]
fn vw_6_an_entry_is_valid_no_longer_than_the_lease_of_that_moment() {
    let mut member = Desk::acting(2, 3, Central::new);
    member.at(4).lease(14);
    member.ask(Command::Acquire);
    assert_eq!(member.at(5).hear(1, 1, grant(2, 1, 1, 1)), ["ENTERS (fence 1.1, until 14ms of its clock)"]);
}

#[test]
fn vw_6_a_lease_that_arrives_late_makes_no_other_shorter() {
    let mut holder = holder();
    assert_eq!(holder.at(3).lease(9), NOTHING);
    assert_eq!(holder.lease(10), NOTHING);
    assert_eq!(holder.at(9).ask(Command::Release), ["LEAVES", "release of view 1 to 1"]);
}

#[test]
fn vw_6_a_holder_that_was_frozen_and_has_a_lease_again_is_still_inside() {
    let mut holder = holder();
    assert_eq!(holder.at(15).rules(Input::Timer(ViewedTimer::Lease)), ["VW-1"]);
    assert_eq!(holder.rules(Input::Lease(Time::from_nanos(25_000_000))), ["VW-6"]);
    assert_eq!(holder.member.inner().standing(), INSIDE);
    assert_eq!(holder.at(16).ask(Command::Release), ["LEAVES", "release of view 1 to 1"]);
}

#[test]
fn vw_6_a_lease_of_an_earlier_stay_does_not_count_for_the_next() {
    let mut member = Desk::acting(2, 3, Central::new);
    assert_eq!(member.view(&view(2, [(1, 1), (3, 1)])), ["has no lease"]);
    assert_eq!(member.at(1).lease(9), NOTHING);
    member.view(&view(3, [(1, 1), (2, 3), (3, 1)]));
    member.report(1, 3, Standing::Idle);
    member.report(3, 3, Standing::Idle);
    assert!(!member.acts());
    assert_eq!(member.lease(12), ["has a lease for 11ms"]);
    assert!(member.acts());
}

#[test]
fn vw_6_a_lease_comes_after_the_view_of_its_stay() {
    let mut member = Desk::new(1, Central::new);
    assert_eq!(member.lease(10), NOTHING);
    member.view(&view(1, [(1, 1), (2, 1)]));
    assert!(!member.acts());
    member.lease(10);
    assert!(member.acts());
}

#[test]
fn vw_8_what_was_asked_is_taken_in_its_order_and_before_letters() {
    let mut coordinator = Desk::acting(1, 3, Central::new);
    coordinator.at(10);
    assert_eq!(coordinator.hear(2, 1, request(2, 1)), NOTHING);
    assert_eq!(coordinator.ask(Command::Acquire), NOTHING);
    assert_eq!(coordinator.ask(Command::Release), NOTHING);
    assert_eq!(coordinator.ask(Command::Try), NOTHING);
    let renewed = coordinator.at(11).lease(20);
    let own = ["ENTERS (fence 1.1, until 20ms of its clock)", "LEAVES", "ENTERS (fence 1.2, until 20ms of its clock)"];
    assert_eq!(renewed[0], "has a lease for 9ms");
    assert_eq!(renewed[1..], own);
    assert_eq!(coordinator.ask(Command::Release), ["LEAVES", "grant of view 1 to 2"]);
}

#[test]
fn vw_8_what_was_asked_before_the_first_view_is_kept() {
    let mut member = Desk::new(2, Central::new);
    assert_eq!(member.ask(Command::Acquire), NOTHING);
    assert_eq!(member.view(&view(1, [(1, 1), (2, 1)])), NOTHING);
    assert_eq!(member.lease(10), ["has a lease for 10ms", "request of view 1 to 1"]);
}

#[test]
fn vw_8_a_request_can_be_given_up_while_a_view_begins() {
    let mut member = Desk::acting(2, 3, Central::new);
    member.ask(Command::Acquire);
    member.view(&view(2, [(1, 1), (2, 1), (3, 1)]));
    assert_eq!(member.ask(Command::Cancel), NOTHING);
    assert_eq!(member.report(1, 2, INSIDE), NOTHING);
    assert_eq!(member.report(3, 2, Standing::Idle), ["cancelled", "release of view 2 to 1"]);
}
