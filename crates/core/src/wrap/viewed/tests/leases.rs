//! VW-1, VW-6, VW-8: a member acts only while it has a lease, leases are renewed, and commands that
//! arrive meanwhile are queued. A lease whose end has passed revokes the present one.
//!
//! `Harness::acting(2, 3, ..)` is node 2 in view 1 of three nodes, with a lease until 10 ms, and
//! `holder()` is the same node in the critical section with fence 1.1 (epoch 1, counter 1); node 1
//! is the coordinator. `at(4).receive_lease(14)` grants a lease until 14 ms when the member's clock
//! shows 4 ms, and `receive(3, 1, ..)` delivers a message of node 3 from view 1. `request(3, 1)`
//! and `release(3, 1)` carry ticket 1, the number of node 3's request, and `grant(2, 1, 1, 1)`
//! grants ticket 1 of node 2 with fence 1.1. `view(3, [(1, 1), (2, 3)])` is view 3 of nodes 1 and
//! 2, whose stays began in views 1 and 3, and `receive_report(1, 3, ..)` delivers a report of node
//! 1 from view 3.

use super::harness::{HOLDING, Harness, NO_EFFECTS, grant, holder, release, request, view};
use crate::mutex::{Central, ClientState, Command, TokenRing, ViewTransition, token_ring};
use crate::wrap::ViewedTimer;
use crate::wrap::prelude::*;

fn token_ring_member() -> Harness<TokenRing> {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    Harness::acting(1, 3, move |me, group| TokenRing::new(me, group, bounds))
}

#[test]
fn vw_1_once_the_lease_has_ended_inputs_are_kept_and_not_handled() {
    let mut coordinator = Harness::acting(1, 3, Central::new);
    coordinator.at(10);
    assert_eq!(coordinator.receive(3, 1, request(3, 1)), NO_EFFECTS);
    assert_eq!(coordinator.receive(2, 1, request(2, 1)), NO_EFFECTS);
    assert!(!coordinator.acts());
    let renewed = coordinator.at(12).receive_lease(20);
    assert_eq!(renewed, ["has a lease for 8ms", "grant of view 1 to 3"]);
    assert_eq!(coordinator.receive(3, 1, release(3, 1)), ["grant of view 1 to 2"]);
}

#[test]
fn vw_1_a_lease_is_valid_to_its_last_nanosecond_and_no_longer() {
    let mut coordinator = Harness::acting(1, 3, Central::new);
    assert_eq!(coordinator.at_nanos(9_999_999).receive(3, 1, request(3, 1)), ["grant of view 1 to 3"]);
    assert_eq!(coordinator.at_nanos(10_000_000).receive(3, 1, release(3, 1)), NO_EFFECTS);
    assert_eq!(coordinator.receive(2, 1, request(2, 1)), NO_EFFECTS);
}

#[test]
fn vw_1_timers_that_fire_while_frozen_are_kept() {
    let rest_timer = ViewedTimer::Inner(Epoch(1), token_ring::Timer::Rest);
    let mut token_holder = token_ring_member();
    assert_eq!(token_holder.at(11).fire(rest_timer), NO_EFFECTS);
    assert_eq!(token_holder.at(12).receive_lease(20), ["has a lease for 8ms", "token of view 1 to 2"]);
}

#[test]
fn vw_1_a_lease_that_ends_in_the_past_freezes_at_once() {
    for until in [3, 4] {
        let mut coordinator = Harness::acting(1, 3, Central::new);
        assert_eq!(coordinator.at(4).receive_lease(until), NO_EFFECTS);
        assert!(!coordinator.acts());
        assert_eq!(coordinator.receive(3, 1, request(3, 1)), NO_EFFECTS);
        assert_eq!(coordinator.receive_lease(9), ["has a lease for 5ms", "grant of view 1 to 3"]);
    }
}

#[test]
fn vw_1_the_end_of_a_lease_is_noted_unless_it_was_renewed() {
    let mut member = Harness::acting(1, 3, Central::new);
    assert_eq!(member.at(5).receive_lease(20), ["has a lease for 15ms"]);
    assert_eq!(member.at(10).applied_rules(Input::Timer(ViewedTimer::Lease)), NO_EFFECTS);
    assert_eq!(member.at(20).applied_rules(Input::Timer(ViewedTimer::Lease)), ["VW-1"]);
}

#[test]
fn vw_1_a_holder_without_a_lease_releases_once_it_has_one_again() {
    let mut holder = holder();
    assert_eq!(holder.at(10).command(Command::Release), NO_EFFECTS);
    let renewed = holder.at(11).receive_lease(20);
    assert_eq!(
        renewed,
        ["has a lease for 9ms", "may stay until 20ms of its clock", "LEAVES", "release of view 1 to 1"]
    );
}

#[test]
fn vw_6_a_renewal_is_reported_only_to_the_client_of_a_holder() {
    assert_eq!(holder().at(4).receive_lease(14), ["has a lease for 10ms", "may stay until 14ms of its clock"]);
    let mut idle = Harness::acting(2, 3, Central::new);
    assert_eq!(idle.at(4).receive_lease(14), ["has a lease for 10ms"]);
}

#[test]
fn vw_6_an_entry_is_valid_no_longer_than_the_current_lease() {
    let mut member = Harness::acting(2, 3, Central::new);
    member.at(4).receive_lease(14);
    member.command(Command::Acquire);
    assert_eq!(member.at(5).receive(1, 1, grant(2, 1, 1, 1)), ["ENTERS (fence 1.1, until 14ms of its clock)"]);
}

#[test]
fn vw_6_an_older_lease_that_arrives_late_shortens_nothing() {
    let mut holder = holder();
    assert_eq!(holder.at(3).receive_lease(9), NO_EFFECTS);
    assert_eq!(holder.receive_lease(10), NO_EFFECTS);
    assert_eq!(holder.at(9).command(Command::Release), ["LEAVES", "release of view 1 to 1"]);
}

#[test]
fn vw_6_a_frozen_holder_still_holds_the_lock_after_a_renewal() {
    let mut holder = holder();
    assert_eq!(holder.at(15).applied_rules(Input::Timer(ViewedTimer::Lease)), ["VW-1"]);
    assert_eq!(holder.applied_rules(Input::Lease(Time::from_nanos(25_000_000))), ["VW-6"]);
    assert_eq!(holder.member.inner().client_state(), HOLDING);
    assert_eq!(holder.at(16).command(Command::Release), ["LEAVES", "release of view 1 to 1"]);
}

#[test]
fn vw_6_a_lease_of_an_earlier_stay_does_not_count_for_the_next() {
    let mut member = Harness::acting(2, 3, Central::new);
    assert_eq!(member.receive_view(&view(2, [(1, 1), (3, 1)])), ["has no lease"]);
    assert_eq!(member.at(1).receive_lease(9), NO_EFFECTS);
    member.receive_view(&view(3, [(1, 1), (2, 3), (3, 1)]));
    member.receive_report(1, 3, ClientState::Idle);
    member.receive_report(3, 3, ClientState::Idle);
    assert!(!member.acts());
    assert_eq!(member.receive_lease(12), ["has a lease for 11ms"]);
    assert!(member.acts());
}

#[test]
fn vw_6_a_lease_before_the_view_of_its_stay_is_ignored() {
    let mut member = Harness::new(1, Central::new);
    assert_eq!(member.receive_lease(10), NO_EFFECTS);
    member.receive_view(&view(1, [(1, 1), (2, 1)]));
    assert!(!member.acts());
    member.receive_lease(10);
    assert!(member.acts());
}

#[test]
fn vw_8_queued_commands_are_handled_in_order_and_before_messages() {
    let mut coordinator = Harness::acting(1, 3, Central::new);
    coordinator.at(10);
    assert_eq!(coordinator.receive(2, 1, request(2, 1)), NO_EFFECTS);
    assert_eq!(coordinator.command(Command::Acquire), NO_EFFECTS);
    assert_eq!(coordinator.command(Command::Release), NO_EFFECTS);
    assert_eq!(coordinator.command(Command::Try), NO_EFFECTS);
    let renewed = coordinator.at(11).receive_lease(20);
    let own_entries =
        ["ENTERS (fence 1.1, until 20ms of its clock)", "LEAVES", "ENTERS (fence 1.2, until 20ms of its clock)"];
    assert_eq!(renewed[0], "has a lease for 9ms");
    assert_eq!(renewed[1..], own_entries);
    assert_eq!(coordinator.command(Command::Release), ["LEAVES", "grant of view 1 to 2"]);
}

#[test]
fn vw_8_commands_before_the_first_view_are_queued() {
    let mut member = Harness::new(2, Central::new);
    assert_eq!(member.command(Command::Acquire), NO_EFFECTS);
    assert_eq!(member.receive_view(&view(1, [(1, 1), (2, 1)])), NO_EFFECTS);
    assert_eq!(member.receive_lease(10), ["has a lease for 10ms", "request of view 1 to 1"]);
}

#[test]
fn vw_8_a_request_can_be_cancelled_while_a_view_starts() {
    let mut member = Harness::acting(2, 3, Central::new);
    member.command(Command::Acquire);
    member.receive_view(&view(2, [(1, 1), (2, 1), (3, 1)]));
    assert_eq!(member.command(Command::Cancel), NO_EFFECTS);
    assert_eq!(member.receive_report(1, 2, HOLDING), NO_EFFECTS);
    assert_eq!(member.receive_report(3, 2, ClientState::Idle), ["cancelled", "release of view 2 to 1"]);
}
