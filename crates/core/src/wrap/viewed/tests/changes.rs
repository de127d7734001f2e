//! VW-2, VW-3, VW-4: from one view to the next.
//!
//! `Harness::acting(2, 3, ..)` is node 2 in view 1 of three nodes, with a lease until 10 ms, and
//! `holder()` is the same node in the critical section with fence 1.1 (epoch 1, counter 1); the
//! first member of a view is its coordinator. `at(99)` sets a member's clock to 99 ms.
//! `view(2, [(1, 1), (3, 2)])` is view 2 of nodes 1 and 3, whose stays began in views 1 and 2.
//! `receive(3, 2, ..)` and `receive_report(3, 2, ..)` deliver a message and a report of node 3 from
//! view 2. A report carries the clock reading 5 and the fence counter 7, so the next request has
//! ticket 6 and the next fence in view 2 is 2.8. `request(3, 6)` and `release(3, 6)` carry ticket 6
//! of node 3, and `grant(2, 6, 2, 8)` grants ticket 6 of node 2 with fence 2.8.

use super::harness::{HOLDING, Harness, NO_EFFECTS, WAITING, grant, holder, node, release, request, view};
use crate::mutex::{Central, ClientState, Command, TokenRequest, TokenRing, token_ring};
use crate::wrap::prelude::*;
use crate::wrap::{Content, Envelope, ViewedTimer};

fn view_of_all(epoch: u64) -> View {
    view(epoch, [(1, 1), (2, 1), (3, 1)])
}

#[test]
fn vw_2_a_member_reports_once_per_view() {
    let mut member = Harness::acting(2, 3, Central::new);
    assert_eq!(member.receive_view(&view_of_all(2)), ["report of view 2 to all of 1,2,3"]);
    assert_eq!(member.receive_view(&view_of_all(2)), NO_EFFECTS);
    assert_eq!(member.receive_view(&view_of_all(1)), NO_EFFECTS);
    assert_eq!(member.receive_view(&view_of_all(3)), ["report of view 3 to all of 1,2,3"]);
}

#[test]
fn vw_2_a_joiner_has_nothing_to_report() {
    let mut member = Harness::new(3, Central::new);
    assert_eq!(member.receive_view(&view(4, [(1, 1), (2, 2), (3, 4)])), NO_EFFECTS);
    assert_eq!(member.receive_view(&view(5, [(1, 1), (2, 2), (3, 4)])), ["report of view 5 to all of 1,2,3"]);
}

#[test]
fn vw_2_a_member_that_is_alone_sends_no_report_and_continues() {
    let mut holder = holder();
    assert_eq!(holder.receive_view(&view(2, [(2, 1)])), NO_EFFECTS);
    assert!(holder.acts());
    assert_eq!(holder.command(Command::Release), ["LEAVES"]);
    assert_eq!(holder.command(Command::Acquire), ["ENTERS (fence 2.2, until 10ms of its clock)"]);
}

#[test]
fn vw_2_a_member_stops_acting_in_the_previous_view() {
    let mut member = Harness::acting(2, 3, Central::new);
    assert_eq!(member.command(Command::Acquire), ["request of view 1 to 1"]);
    member.receive_view(&view_of_all(2));
    assert!(!member.acts());
    assert_eq!(member.receive(1, 1, grant(2, 1, 1, 1)), NO_EFFECTS);
    assert_eq!(member.command(Command::Cancel), NO_EFFECTS);
}

#[test]
fn vw_2_a_frozen_member_reports_too() {
    assert_eq!(holder().at(99).receive_view(&view_of_all(2)), ["report of view 2 to all of 1,2,3"]);
}

#[test]
fn vw_3_a_member_starts_with_the_reports_of_all_earlier_members() {
    let mut coordinator = Harness::acting(1, 3, Central::new);
    coordinator.receive_view(&view_of_all(2));
    assert_eq!(coordinator.command(Command::Acquire), NO_EFFECTS);
    assert_eq!(coordinator.receive_report(2, 2, ClientState::Idle), NO_EFFECTS);
    assert_eq!(coordinator.receive_report(2, 2, ClientState::Idle), NO_EFFECTS, "the same report twice is one report");
    assert!(!coordinator.acts());
    assert_eq!(coordinator.receive_report(3, 2, ClientState::Idle), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_3_members_do_not_wait_for_a_joiner() {
    let view_with_joiner = view(2, [(1, 1), (2, 1), (3, 2)]);
    let mut continuing = Harness::acting(1, 2, Central::new);
    continuing.receive_view(&view_with_joiner);
    continuing.receive_report(2, 2, ClientState::Idle);
    assert!(continuing.acts());
}

#[test]
fn vw_3_a_joiner_waits_for_the_reports_of_all_others() {
    let mut joiner = Harness::new(3, Central::new);
    joiner.receive_view(&view(2, [(1, 1), (2, 1), (3, 2)]));
    assert_eq!(joiner.receive_lease(10), ["has a lease for 10ms"]);
    assert_eq!(joiner.command(Command::Acquire), NO_EFFECTS);
    assert_eq!(joiner.receive_report(2, 2, HOLDING), NO_EFFECTS);
    assert_eq!(joiner.receive_report(1, 2, ClientState::Idle), ["request of view 2 to 1"]);
}

#[test]
fn vw_3_reports_of_joiners_and_nonmembers_are_ignored() {
    let mut coordinator = Harness::acting(1, 2, Central::new);
    coordinator.receive_view(&view(2, [(1, 1), (2, 1), (3, 2)]));
    coordinator.receive_report(3, 2, HOLDING);
    coordinator.receive_report(7, 2, HOLDING);
    coordinator.receive_report(2, 2, ClientState::Idle);
    assert_eq!(coordinator.command(Command::Acquire), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_3_a_report_that_arrives_before_its_view_counts() {
    let mut member = Harness::acting(1, 3, Central::new);
    assert_eq!(member.receive_report(2, 2, ClientState::Idle), NO_EFFECTS);
    assert_eq!(member.receive_report(3, 2, ClientState::Idle), NO_EFFECTS);
    assert!(member.acts(), "it has not received the view, and its lease is valid");
    member.receive_view(&view_of_all(2));
    assert!(member.acts());
    assert_eq!(member.member.view(), Some(&view_of_all(2)));
}

#[test]
fn vw_3_a_later_view_restarts_the_wait_for_reports() {
    let mut member = Harness::acting(1, 3, Central::new);
    member.receive_view(&view_of_all(2));
    member.receive_report(2, 2, ClientState::Idle);
    assert_eq!(member.receive_view(&view_of_all(3)), ["report of view 3 to all of 1,2,3"]);
    member.receive_report(3, 2, ClientState::Idle);
    member.receive_report(3, 3, ClientState::Idle);
    assert!(!member.acts(), "node 2 reported for view 2 only");
    member.receive_report(2, 3, ClientState::Idle);
    assert!(member.acts());
}

#[test]
fn vw_3_views_may_be_skipped() {
    let mut member = Harness::acting(1, 3, Central::new);
    assert_eq!(member.receive_view(&view(5, [(1, 1), (3, 1), (4, 3)])), ["report of view 5 to all of 1,3,4"]);
    member.receive_report(3, 5, ClientState::Idle);
    assert!(!member.acts(), "node 4 joined in view 3 and must report");
    member.receive_report(4, 5, ClientState::Idle);
    assert!(member.acts());
}

#[test]
fn vw_3_no_member_starts_without_a_lease() {
    let mut member = Harness::acting(1, 3, Central::new);
    member.at(10).receive_view(&view_of_all(2));
    member.receive_report(2, 2, ClientState::Idle);
    member.receive_report(3, 2, ClientState::Idle);
    assert_eq!(member.command(Command::Acquire), NO_EFFECTS);
    let renewed = member.at(11).receive_lease(20);
    assert_eq!(renewed, ["has a lease for 9ms", "ENTERS (fence 2.8, until 20ms of its clock)"]);
}

#[test]
fn vw_3_a_new_coordinator_knows_the_holder_and_the_waiters() {
    let mut coordinator = Harness::acting(2, 4, Central::new);
    coordinator.receive_view(&view(2, [(2, 1), (3, 1), (4, 1)]));
    coordinator.receive_report(3, 2, HOLDING);
    assert_eq!(coordinator.receive_report(4, 2, WAITING), NO_EFFECTS);
    assert_eq!(coordinator.command(Command::Try), ["denied"]);
    // The coordinator gives the holder a ticket whose number is the largest clock reading that a
    // member reported, here 5.
    assert_eq!(coordinator.receive(3, 2, release(3, 5)), ["grant of view 2 to 4"]);
}

#[test]
fn vw_3_a_new_coordinator_grants_to_waiters_if_the_holder_was_removed() {
    let mut coordinator = Harness::acting(2, 4, Central::new);
    coordinator.command(Command::Acquire);
    coordinator.receive_view(&view(2, [(2, 1), (3, 1)]));
    // No member reports that it is inside, so any holder was one of the removed nodes 1 and 4.
    assert_eq!(coordinator.receive_report(3, 2, ClientState::Idle), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_3_a_holder_that_stays_keeps_its_entry() {
    let mut holder = holder();
    holder.receive_view(&view_of_all(2));
    assert_eq!(holder.at(4).receive_lease(14), ["has a lease for 10ms", "may stay until 14ms of its clock"]);
    assert_eq!(holder.receive_report(1, 2, WAITING), NO_EFFECTS);
    assert_eq!(holder.receive_report(3, 2, ClientState::Idle), NO_EFFECTS);
    assert_eq!(holder.command(Command::Acquire), ["refused: already in the critical section"]);
    assert_eq!(holder.command(Command::Release), ["LEAVES", "release of view 2 to 1"]);
}

#[test]
fn vw_3_every_view_has_one_token_and_the_holder_has_it() {
    let member_in_view_2 = |number, client_state_of_3| {
        let mut member = Harness::acting(number, 3, TokenRequest::new);
        member.receive_view(&view_of_all(2));
        for other in [1, 2, 3].into_iter().filter(|other| *other != number) {
            member.receive_report(other, 2, if other == 3 { client_state_of_3 } else { ClientState::Idle });
        }
        member
    };
    assert_eq!(member_in_view_2(1, HOLDING).command(Command::Acquire), ["request of view 2 to all of 1,2,3"]);
    assert_eq!(member_in_view_2(2, HOLDING).command(Command::Acquire), ["request of view 2 to all of 1,2,3"]);
    // Without a holder, the lowest member has the token.
    assert_eq!(
        member_in_view_2(1, ClientState::Idle).command(Command::Acquire),
        ["ENTERS (fence 2.8, until 10ms of its clock)"]
    );
    assert_eq!(member_in_view_2(2, ClientState::Idle).command(Command::Acquire), ["request of view 2 to all of 1,2,3"]);
}

#[test]
fn vw_4_a_message_of_an_older_view_is_dropped() {
    let mut member = Harness::acting(2, 3, Central::new);
    member.command(Command::Acquire);
    member.receive_view(&view_of_all(2));
    member.receive_report(1, 2, ClientState::Idle);
    member.receive_report(3, 2, ClientState::Idle);
    let message_of_view_1 = Envelope { epoch: Epoch(1), content: Content::Inner(grant(2, 6, 1, 1)) };
    assert_eq!(member.applied_rules(Input::Message { from: node(1), message: message_of_view_1 }), ["VW-4"]);
    assert_eq!(member.receive(1, 2, grant(2, 6, 2, 8)), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_4_a_message_of_a_newer_view_is_held_until_the_member_acts_in_it() {
    let mut coordinator = Harness::acting(1, 3, Central::new);
    assert_eq!(coordinator.receive(3, 2, request(3, 6)), NO_EFFECTS);
    assert_eq!(coordinator.receive_view(&view_of_all(2)), ["report of view 2 to all of 1,2,3"]);
    assert_eq!(coordinator.receive(2, 2, request(2, 6)), NO_EFFECTS);
    assert_eq!(coordinator.receive_report(3, 2, ClientState::Idle), NO_EFFECTS);
    assert_eq!(coordinator.receive_report(2, 2, ClientState::Idle), ["grant of view 2 to 3"]);
    assert_eq!(coordinator.receive(3, 2, release(3, 6)), ["grant of view 2 to 2"]);
}

#[test]
fn vw_4_messages_held_for_a_skipped_view_are_dropped() {
    let mut coordinator = Harness::acting(1, 3, Central::new);
    assert_eq!(coordinator.receive(3, 2, request(3, 6)), NO_EFFECTS);
    coordinator.receive_view(&view_of_all(3));
    coordinator.receive_report(2, 3, ClientState::Idle);
    assert_eq!(coordinator.receive_report(3, 3, ClientState::Idle), NO_EFFECTS);
    assert_eq!(coordinator.receive(2, 3, request(2, 6)), ["grant of view 3 to 2"]);
}

#[test]
fn vw_4_a_timer_of_an_older_view_is_dropped() {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    let mut token_holder = Harness::acting(1, 3, move |me, group| TokenRing::new(me, group, bounds));
    let rest_timer = |epoch| ViewedTimer::Inner(Epoch(epoch), token_ring::Timer::Rest);
    token_holder.receive_view(&view_of_all(2));
    token_holder.receive_report(2, 2, ClientState::Idle);
    assert_eq!(token_holder.receive_report(3, 2, ClientState::Idle), ["sets Rest of view 2"]);
    assert_eq!(token_holder.fire(rest_timer(1)), NO_EFFECTS);
    assert_eq!(token_holder.fire(rest_timer(2)), ["token of view 2 to 2"]);
}
