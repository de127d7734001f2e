//! VW-2, VW-3, VW-4: from one view to the next.

use super::desk::{Desk, INSIDE, NOTHING, WAITING, grant, holder, node, release, request, view};
use crate::mutex::{Central, Command, Standing, TokenRequest, TokenRing, token_ring};
use crate::wrap::prelude::*;
use crate::wrap::{Content, Envelope, ViewedTimer};

fn all(epoch: u64) -> View {
    view(epoch, [(1, 1), (2, 1), (3, 1)])
}

#[test]
fn vw_2_a_member_reports_once_a_view() {
    let mut member = Desk::acting(2, 3, Central::new);
    assert_eq!(member.view(&all(2)), ["report of view 2 to all of 1,2,3"]);
    assert_eq!(member.view(&all(2)), NOTHING);
    assert_eq!(member.view(&all(1)), NOTHING);
    assert_eq!(member.view(&all(3)), ["report of view 3 to all of 1,2,3"]);
}

#[test]
fn vw_2_who_has_just_come_in_has_nothing_to_report() {
    let mut member = Desk::new(3, Central::new);
    assert_eq!(member.view(&view(4, [(1, 1), (2, 2), (3, 4)])), NOTHING);
    assert_eq!(member.view(&view(5, [(1, 1), (2, 2), (3, 4)])), ["report of view 5 to all of 1,2,3"]);
}

#[test]
fn vw_2_a_member_that_is_alone_reports_to_nobody_and_goes_on() {
    let mut holder = holder();
    assert_eq!(holder.view(&view(2, [(2, 1)])), NOTHING);
    assert!(holder.acts());
    assert_eq!(holder.ask(Command::Release), ["LEAVES"]);
    assert_eq!(holder.ask(Command::Acquire), ["ENTERS (fence 2.2, until 10ms of its clock)"]);
}

#[test]
fn vw_2_nothing_is_done_any_more_in_the_view_before() {
    let mut member = Desk::acting(2, 3, Central::new);
    assert_eq!(member.ask(Command::Acquire), ["request of view 1 to 1"]);
    member.view(&all(2));
    assert!(!member.acts());
    assert_eq!(member.hear(1, 1, grant(2, 1, 1, 1)), NOTHING);
    assert_eq!(member.ask(Command::Cancel), NOTHING);
}

#[test]
fn vw_2_a_frozen_member_reports_too() {
    assert_eq!(holder().at(99).view(&all(2)), ["report of view 2 to all of 1,2,3"]);
}

#[test]
fn vw_3_a_member_begins_with_the_reports_of_all_who_were_in_before() {
    let mut coordinator = Desk::acting(1, 3, Central::new);
    coordinator.view(&all(2));
    assert_eq!(coordinator.ask(Command::Acquire), NOTHING);
    assert_eq!(coordinator.report(2, 2, Standing::Idle), NOTHING);
    assert_eq!(coordinator.report(2, 2, Standing::Idle), NOTHING, "the same report twice is one report");
    assert!(!coordinator.acts());
    assert_eq!(coordinator.report(3, 2, Standing::Idle), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_3_nobody_waits_for_one_who_has_just_come_in() {
    let with_a_new_one = view(2, [(1, 1), (2, 1), (3, 2)]);
    let mut veteran = Desk::acting(1, 2, Central::new);
    veteran.view(&with_a_new_one);
    veteran.report(2, 2, Standing::Idle);
    assert!(veteran.acts());
}

#[test]
fn vw_3_one_who_has_just_come_in_waits_for_all_others() {
    let mut joiner = Desk::new(3, Central::new);
    joiner.view(&view(2, [(1, 1), (2, 1), (3, 2)]));
    assert_eq!(joiner.lease(10), ["has a lease for 10ms"]);
    assert_eq!(joiner.ask(Command::Acquire), NOTHING);
    assert_eq!(joiner.report(2, 2, INSIDE), NOTHING);
    assert_eq!(joiner.report(1, 2, Standing::Idle), ["request of view 2 to 1"]);
}

#[test]
fn vw_3_what_one_says_who_has_nothing_to_report_is_not_believed() {
    let mut coordinator = Desk::acting(1, 2, Central::new);
    coordinator.view(&view(2, [(1, 1), (2, 1), (3, 2)]));
    coordinator.report(3, 2, INSIDE);
    coordinator.report(7, 2, INSIDE);
    coordinator.report(2, 2, Standing::Idle);
    assert_eq!(coordinator.ask(Command::Acquire), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_3_reports_that_come_before_the_view_count() {
    let mut member = Desk::acting(1, 3, Central::new);
    assert_eq!(member.report(2, 2, Standing::Idle), NOTHING);
    assert_eq!(member.report(3, 2, Standing::Idle), NOTHING);
    assert!(member.acts(), "it has not heard of the view, and its lease holds");
    member.view(&all(2));
    assert!(member.acts());
    assert_eq!(member.member.view(), Some(&all(2)));
}

#[test]
fn vw_3_a_later_view_starts_it_over() {
    let mut member = Desk::acting(1, 3, Central::new);
    member.view(&all(2));
    member.report(2, 2, Standing::Idle);
    assert_eq!(member.view(&all(3)), ["report of view 3 to all of 1,2,3"]);
    member.report(3, 2, Standing::Idle);
    member.report(3, 3, Standing::Idle);
    assert!(!member.acts(), "the report of 2 was for view 2");
    member.report(2, 3, Standing::Idle);
    assert!(member.acts());
}

#[test]
fn vw_3_views_may_be_skipped() {
    let mut member = Desk::acting(1, 3, Central::new);
    assert_eq!(member.view(&view(5, [(1, 1), (3, 1), (4, 3)])), ["report of view 5 to all of 1,3,4"]);
    member.report(3, 5, Standing::Idle);
    assert!(!member.acts(), "4 came in view 3 and has something to report");
    member.report(4, 5, Standing::Idle);
    assert!(member.acts());
}

#[test]
fn vw_3_nobody_begins_without_a_lease() {
    let mut member = Desk::acting(1, 3, Central::new);
    member.at(10).view(&all(2));
    member.report(2, 2, Standing::Idle);
    member.report(3, 2, Standing::Idle);
    assert_eq!(member.ask(Command::Acquire), NOTHING);
    let renewed = member.at(11).lease(20);
    assert_eq!(renewed, ["has a lease for 9ms", "ENTERS (fence 2.8, until 20ms of its clock)"]);
}

#[test]
fn vw_3_a_new_coordinator_knows_who_is_inside_and_who_waits() {
    let mut coordinator = Desk::acting(2, 4, Central::new);
    coordinator.view(&view(2, [(2, 1), (3, 1), (4, 1)]));
    coordinator.report(3, 2, INSIDE);
    assert_eq!(coordinator.report(4, 2, WAITING), NOTHING);
    assert_eq!(coordinator.ask(Command::Try), ["denied"]);
    // The ticket of the one inside has the largest number that anybody reported.
    assert_eq!(coordinator.hear(3, 2, release(3, 5)), ["grant of view 2 to 4"]);
}

#[test]
fn vw_3_a_new_coordinator_serves_those_who_wait_when_the_holder_has_departed() {
    let mut coordinator = Desk::acting(2, 4, Central::new);
    coordinator.ask(Command::Acquire);
    coordinator.view(&view(2, [(2, 1), (3, 1)]));
    assert_eq!(coordinator.report(3, 2, Standing::Idle), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_3_a_holder_that_stays_keeps_its_entry() {
    let mut holder = holder();
    holder.view(&all(2));
    assert_eq!(holder.at(4).lease(14), ["has a lease for 10ms", "may stay until 14ms of its clock"]);
    assert_eq!(holder.report(1, 2, WAITING), NOTHING);
    assert_eq!(holder.report(3, 2, Standing::Idle), NOTHING);
    assert_eq!(holder.ask(Command::Acquire), ["refused: already inside"]);
    assert_eq!(holder.ask(Command::Release), ["LEAVES", "release of view 2 to 1"]);
}

#[test]
fn vw_3_every_view_has_one_token_and_it_is_with_the_holder() {
    let begins = |number, standing| {
        let mut member = Desk::acting(number, 3, TokenRequest::new);
        member.view(&all(2));
        for other in [1, 2, 3].into_iter().filter(|other| *other != number) {
            member.report(other, 2, if other == 3 { standing } else { Standing::Idle });
        }
        member
    };
    assert_eq!(begins(1, INSIDE).ask(Command::Acquire), ["request of view 2 to all of 1,2,3"]);
    assert_eq!(begins(2, INSIDE).ask(Command::Acquire), ["request of view 2 to all of 1,2,3"]);
    assert_eq!(begins(1, Standing::Idle).ask(Command::Acquire), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
    assert_eq!(begins(2, Standing::Idle).ask(Command::Acquire), ["request of view 2 to all of 1,2,3"]);
}

#[test]
fn vw_4_a_message_of_an_older_view_is_dropped() {
    let mut member = Desk::acting(2, 3, Central::new);
    member.ask(Command::Acquire);
    member.view(&all(2));
    member.report(1, 2, Standing::Idle);
    member.report(3, 2, Standing::Idle);
    let old = Envelope { epoch: Epoch(1), content: Content::Inner(grant(2, 6, 1, 1)) };
    assert_eq!(member.rules(Input::Message { from: node(1), message: old }), ["VW-4"]);
    assert_eq!(member.hear(1, 2, grant(2, 6, 2, 8)), ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_4_a_message_of_a_newer_view_is_held_until_we_act_in_that() {
    let mut coordinator = Desk::acting(1, 3, Central::new);
    assert_eq!(coordinator.hear(3, 2, request(3, 6)), NOTHING);
    assert_eq!(coordinator.view(&all(2)), ["report of view 2 to all of 1,2,3"]);
    assert_eq!(coordinator.hear(2, 2, request(2, 6)), NOTHING);
    assert_eq!(coordinator.report(3, 2, Standing::Idle), NOTHING);
    assert_eq!(coordinator.report(2, 2, Standing::Idle), ["grant of view 2 to 3"]);
    assert_eq!(coordinator.hear(3, 2, release(3, 6)), ["grant of view 2 to 2"]);
}

#[test]
fn vw_4_what_was_held_for_a_view_that_was_skipped_is_dropped() {
    let mut coordinator = Desk::acting(1, 3, Central::new);
    assert_eq!(coordinator.hear(3, 2, request(3, 6)), NOTHING);
    coordinator.view(&all(3));
    coordinator.report(2, 3, Standing::Idle);
    assert_eq!(coordinator.report(3, 3, Standing::Idle), NOTHING);
    assert_eq!(coordinator.hear(2, 3, request(2, 6)), ["grant of view 3 to 2"]);
}

#[test]
fn vw_4_a_timer_of_an_older_view_is_dropped() {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    let mut keeper = Desk::acting(1, 3, move |me, group| TokenRing::new(me, group, bounds));
    let rest = |epoch| ViewedTimer::Inner(Epoch(epoch), token_ring::Timer::Rest);
    keeper.view(&all(2));
    keeper.report(2, 2, Standing::Idle);
    assert_eq!(keeper.report(3, 2, Standing::Idle), ["sets Rest of view 2"]);
    assert_eq!(keeper.fire(rest(1)), NOTHING);
    assert_eq!(keeper.fire(rest(2)), ["token of view 2 to 2"]);
}
