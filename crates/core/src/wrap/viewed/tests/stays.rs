//! VW-5, VW-7: a member is removed, admitted again, or restarted.
//!
//! `Harness::acting(2, 3, ..)` is node 2 in view 1 of three nodes, with a lease until 10 ms, and
//! `holder()` is the same node in the critical section, with node 1 as the coordinator.
//! `Harness::in_incarnation(1, 1, ..)` is node 1 in incarnation 1, which is in no view yet.
//! `view(2, [(1, 1), (3, 2)])` is view 2 of nodes 1 and 3, whose stays began in views 1 and 2.
//! `receive(3, 2, ..)` and `receive_report(3, 2, ..)` deliver a message and a report of node 3 from
//! view 2. A report carries the fence counter 7. `request(2, 1)` carries ticket 1, the number of
//! node 2's request, and `grant(2, 1, 1, 1)` grants it with fence 1.1 (epoch 1, counter 1).
//! `stay(1, 2)` is a stay of incarnation 1 since view 2.

use super::harness::{Harness, NO_EFFECTS, grant, holder, node, request, stay, view};
use crate::mutex::{Central, ClientState, Command, TokenRequest, ViewTransition};
use crate::wrap::prelude::*;

#[test]
fn vw_5_an_entry_is_lost_once_when_a_view_lacks_our_stay() {
    let mut holder = holder();
    assert_eq!(holder.receive_view(&view(2, [(1, 1), (3, 1)])), ["LOSES its entry", "has no lease"]);
    assert_eq!(holder.receive_view(&view(3, [(1, 1), (3, 1)])), NO_EFFECTS);
    assert_eq!(holder.receive_view(&view(4, [(1, 1), (2, 4), (3, 1)])), NO_EFFECTS);
    assert_eq!(holder.member.inner().client_state(), ClientState::Idle);
}

#[test]
fn vw_5_an_entry_is_lost_even_if_the_view_without_us_was_skipped() {
    let mut holder = holder();
    assert_eq!(holder.receive_view(&view(3, [(1, 1), (2, 3), (3, 1)])), ["LOSES its entry", "has no lease"]);
    assert_eq!(holder.receive_lease(20), ["has a lease for 20ms"]);
    holder.receive_report(1, 3, ClientState::Idle);
    holder.receive_report(3, 3, ClientState::Idle);
    assert_eq!(holder.command(Command::Release), ["refused: not in the critical section"]);
}

#[test]
fn vw_5_a_member_that_does_not_act_in_the_latest_view_yet_loses_its_entry_too() {
    let mut holder = holder();
    holder.receive_view(&view(2, [(1, 1), (2, 1), (3, 1)]));
    assert_eq!(holder.receive_view(&view(3, [(1, 1), (3, 1)])), ["LOSES its entry", "has no lease"]);
}

#[test]
fn vw_5_a_pending_release_of_a_lost_entry_is_not_refused_later() {
    let mut holder = holder();
    assert_eq!(holder.at(10).command(Command::Release), NO_EFFECTS);
    assert_eq!(holder.receive_view(&view(2, [(1, 1), (3, 1)])), ["LOSES its entry", "has no lease"]);
    assert_eq!(holder.command(Command::Acquire), NO_EFFECTS);
    holder.receive_view(&view(3, [(1, 1), (2, 3), (3, 1)]));
    holder.receive_report(1, 3, ClientState::Idle);
    holder.receive_report(3, 3, ClientState::Idle);
    assert_eq!(holder.receive_lease(20), ["has a lease for 10ms", "request of view 3 to 1"]);
}

#[test]
fn vw_5_a_pending_request_is_made_again_in_the_next_stay() {
    let mut member = Harness::acting(2, 3, TokenRequest::new);
    assert_eq!(member.command(Command::Acquire), ["request of view 1 to all of 1,2,3"]);
    assert_eq!(member.receive_view(&view(2, [(1, 1), (3, 1)])), ["has no lease"]);
    assert_eq!(member.receive_view(&view(4, [(1, 1), (2, 4)])), NO_EFFECTS);
    assert_eq!(member.receive_lease(20), ["has a lease for 20ms"]);
    assert_eq!(member.receive_report(1, 4, ClientState::Idle), ["request of view 4 to all of 1,2"]);
}

#[test]
fn vw_5_a_removed_node_does_nothing_and_queues_commands() {
    let mut member = Harness::acting(1, 3, Central::new);
    member.receive_view(&view(2, [(2, 1), (3, 1)]));
    assert_eq!(member.receive_lease(20), NO_EFFECTS);
    assert_eq!(member.receive(2, 1, request(2, 1)), NO_EFFECTS);
    assert_eq!(member.receive(2, 2, request(2, 1)), NO_EFFECTS);
    assert_eq!(member.command(Command::Acquire), NO_EFFECTS);
    assert!(!member.acts());
    member.receive_view(&view(3, [(1, 3)]));
    assert_eq!(member.receive_lease(20), ["has a lease for 20ms", "ENTERS (fence 3.1, until 20ms of its clock)"]);
}

#[test]
fn vw_7_a_new_incarnation_takes_no_part_until_a_view_has_it() {
    let mut restarted = Harness::in_incarnation(1, 1, Central::new);
    assert_eq!(restarted.receive_view(&view(1, [(1, 1), (2, 1)])), NO_EFFECTS);
    assert_eq!(restarted.receive_lease(10), NO_EFFECTS);
    assert_eq!(restarted.receive(2, 1, request(2, 1)), NO_EFFECTS);
    assert_eq!(restarted.command(Command::Acquire), NO_EFFECTS);
    assert!(!restarted.acts());
    let view_with_restarted = View::new(Epoch(2), [(node(1), stay(1, 2)), (node(2), stay(0, 1))]);
    assert_eq!(restarted.receive_view(&view_with_restarted), NO_EFFECTS, "a joiner has nothing to report");
    restarted.receive_lease(10);
    let effects = restarted.receive_report(2, 2, ClientState::Idle);
    assert_eq!(effects, ["ENTERS (fence 2.8, until 10ms of its clock)"]);
}

#[test]
fn vw_7_a_view_with_the_former_incarnation_gets_no_report() {
    let mut restarted = Harness::in_incarnation(2, 1, Central::new);
    assert_eq!(restarted.receive_view(&view(5, [(1, 1), (2, 1)])), NO_EFFECTS);
    assert_eq!(restarted.applied_rules(Input::View(view(6, [(1, 1), (2, 1)]))), ["VW-5"]);
    assert_eq!(restarted.receive_report(1, 6, ClientState::Idle), NO_EFFECTS);
    assert!(!restarted.acts());
}

#[test]
fn vw_7_a_grant_to_a_former_incarnation_is_ignored() {
    let mut restarted = Harness::in_incarnation(2, 1, Central::new);
    restarted.command(Command::Acquire);
    restarted.receive_view(&view(1, [(1, 1), (2, 1)]));
    assert_eq!(restarted.receive(1, 1, grant(2, 1, 1, 1)), NO_EFFECTS);
    restarted.receive_view(&View::new(Epoch(2), [(node(1), stay(0, 1)), (node(2), stay(1, 2))]));
    restarted.receive_lease(10);
    assert_eq!(restarted.receive_report(1, 2, ClientState::Idle), ["request of view 2 to 1"]);
}
