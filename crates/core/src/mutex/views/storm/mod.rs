//! A storm over views for every algorithm that can go from one to the next: members crash, restart, freeze, are put out and let
//! in again, while their users ask and letters arrive in any order.
//!
//! At every moment at most one is inside among those who are still members (or several who only read), fences grow, whoever is
//! inside and stays a member keeps its entry, and who is put out is told so once. When the storm is over, everyone who waits is
//! served.

mod gusts;
mod slips;
mod users;
mod world;

use super::Succession;
use crate::bounds::Bounds;
use crate::mutex::central::{DENY_AND_QUEUE_FACTS, DENY_FACTS, WhenBusy};
use crate::mutex::prelude::*;
use crate::mutex::quorum::Quorums;
use crate::mutex::voting::Asks;
use crate::mutex::{
    Central, Lamport, Maekawa, Raymond, ReadersWriters, RicartAgrawala, RicartAgrawalaRing, RoucairolCarvalho,
    TokenRequest, TokenRing, Voting, central, lamport, maekawa, raymond, readers_writers, ricart_agrawala,
    ricart_agrawala_ring, roucairol_carvalho, token_request, token_ring, voting,
};
use core::fmt::Debug;
use slips::Slip;
use std::string::String;
use users::Tally;
use world::World;

const STORMS: u64 = 2_000;

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };

/// A node can go through views, and a trace can show what it sends and sets.
trait Viewable: Succession<Message: Debug, Timer: Debug> {}

impl<P: Succession<Message: Debug, Timer: Debug>> Viewable for P {}

/// The storm of this seed, and how somebody broke its word in it.
fn strike<P: Viewable>(
    seed: u64,
    make: fn(NodeId, Group) -> P,
    facts: Facts,
    slip: Option<Slip>,
) -> Result<(), String> {
    let (nodes, gusts) = gusts::of_seed(seed);
    World::new(nodes, make, facts, slip, false).sail(&gusts)
}

fn stands<P: Viewable>(make: fn(NodeId, Group) -> P, facts: Facts) {
    let Some(seed) = (0..STORMS).find(|seed| strike(*seed, make, facts, None).is_err()) else { return };
    let (nodes, gusts) = gusts::of_seed(seed);
    let sinks = |gusts: &[_]| World::new(nodes, make, facts, None, false).sail(gusts).is_err();
    let gusts = gusts::smallest(gusts, sinks);
    let wreck = World::new(nodes, make, facts, None, true).sail(&gusts).expect_err("a storm does the same each time");
    panic!("the storm of seed {seed} over {nodes} nodes sinks {}: {wreck}", facts.profile.name);
}

/// The storms find this slip in the world around this algorithm, and somebody enters who must not.
fn finds<P: Viewable>(slip: Slip, make: fn(NodeId, Group) -> P, facts: Facts) {
    let breach = (0..STORMS).find_map(|seed| strike(seed, make, facts, Some(slip)).err());
    let breach = breach.unwrap_or_else(|| panic!("{} stands every storm in which {slip:?}", facts.profile.name));
    assert!(breach.contains(" enters "), "{slip:?} leads to something else: {breach}");
}

#[test]
fn storms_are_rough() {
    let mut total = [0; 6];
    for seed in 0..STORMS {
        let (nodes, gusts) = gusts::of_seed(seed);
        let mut world = World::new(nodes, RicartAgrawala::new, ricart_agrawala::FACTS, None, false);
        assert_eq!(world.sail(&gusts), Ok(()), "seed {seed}");
        let Tally { later_entries, kept, lost, waited, waited_outside, skipped } = world.tally;
        for (sum, count) in total.iter_mut().zip([later_entries, kept, lost, waited, waited_outside, skipped]) {
            *sum += count;
        }
    }
    assert!(total.iter().all(|count| *count > STORMS / 4), "{total:?}");
}

macro_rules! every_storm {
    ($($name:ident($make:expr, $facts:expr);)*) => {$(
        #[test]
        fn $name() {
            stands($make, $facts);
        }
    )*};
}

every_storm! {
    central_stands_every_storm_over_views(Central::new, central::FACTS);
    central_that_denies_stands_every_storm_over_views(
        |me, group| Central::when_busy(me, group, WhenBusy::deny(&BOUNDS)),
        DENY_FACTS
    );
    central_that_denies_and_queues_stands_every_storm_over_views(
        |me, group| Central::when_busy(me, group, WhenBusy::DenyAndQueue),
        DENY_AND_QUEUE_FACTS
    );
    lamport_stands_every_storm_over_views(Lamport::new, lamport::FACTS);
    ricart_agrawala_stands_every_storm_over_views(RicartAgrawala::new, ricart_agrawala::FACTS);
    ricart_agrawala_ring_stands_every_storm_over_views(
        RicartAgrawalaRing::new,
        ricart_agrawala_ring::FACTS
    );
    roucairol_carvalho_stands_every_storm_over_views(
        RoucairolCarvalho::new,
        roucairol_carvalho::FACTS
    );
    readers_writers_stands_every_storm_over_views(ReadersWriters::new, readers_writers::FACTS);
    token_ring_stands_every_storm_over_views(|me, group| TokenRing::new(me, group, BOUNDS), token_ring::FACTS);
    token_ring_on_call_stands_every_storm_over_views(TokenRing::on_call, token_ring::FACTS);
    token_request_stands_every_storm_over_views(TokenRequest::new, token_request::FACTS);
    raymond_stands_every_storm_over_views(Raymond::new, raymond::FACTS);
    maekawa_stands_every_storm_over_views(
        |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, Quorums::Grid),
        maekawa::FACTS
    );
    maekawa_in_a_plane_stands_every_storm_over_views(
        |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, Quorums::Plane),
        maekawa::facts(maekawa::Form::DeadlockFree, Quorums::Plane)
    );
    voting_stands_every_storm_over_views(|me, group| Voting::new(me, group, Asks::All, BOUNDS), voting::FACTS);
    voting_one_by_one_stands_every_storm_over_views(
        |me, group| Voting::new(me, group, Asks::Sequential, BOUNDS),
        voting::facts(Asks::Sequential)
    );
}

#[test]
fn a_storm_finds_members_who_begin_without_the_reports_of_all() {
    finds(Slip::WaitsForNobody, Central::new, central::FACTS);
    finds(Slip::WaitsForNobody, TokenRequest::new, token_request::FACTS);
    finds(Slip::WaitsForNobody, Lamport::new, lamport::FACTS);
}

#[test]
fn a_storm_finds_reports_that_forget_who_is_inside() {
    finds(Slip::ForgetsInsiders, Central::new, central::FACTS);
    finds(Slip::ForgetsInsiders, Raymond::new, raymond::FACTS);
    finds(
        Slip::ForgetsInsiders,
        |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, Quorums::Grid),
        maekawa::FACTS,
    );
}

#[test]
fn a_storm_finds_members_who_listen_to_older_views() {
    finds(Slip::HearsOldViews, TokenRequest::new, token_request::FACTS);
    finds(Slip::HearsOldViews, |me, group| TokenRing::new(me, group, BOUNDS), token_ring::FACTS);
    finds(Slip::HearsOldViews, Raymond::new, raymond::FACTS);
}

#[test]
fn a_storm_finds_a_service_that_does_not_wait_for_the_end_of_a_lease() {
    finds(Slip::EvictsTooEarly, Central::new, central::FACTS);
    finds(Slip::EvictsTooEarly, RicartAgrawala::new, ricart_agrawala::FACTS);
}

/// So whoever drives a member tells it of a lease only after the view in which its stay began.
#[test]
fn a_storm_finds_leases_for_stays_that_a_member_does_not_know_of() {
    finds(Slip::RenewsUnknownStays, Central::new, central::FACTS);
    finds(Slip::RenewsUnknownStays, |me, group| TokenRing::new(me, group, BOUNDS), token_ring::FACTS);
}
