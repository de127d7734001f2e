//! Random schedules over views for the algorithms that can continue in the next view: members
//! crash, restart, lose their leases, are removed from views and added again, while their clients
//! give commands and messages arrive in any order that the algorithm's links allow.
//!
//! At every moment at most one current member is in the critical section (or several readers),
//! fences grow, a member in the critical section that stays a member keeps its entry, and one that
//! is removed emits `Lost` once. After the schedule, all waiting clients are served.

mod actions;
mod bugs;
mod clients;
mod world;

use super::ViewTransition;
use crate::bounds::Bounds;
use crate::mutex::central::{DENY_AND_QUEUE_FACTS, DENY_FACTS, WhenBusy};
use crate::mutex::prelude::*;
use crate::mutex::quorum::Quorums;
use crate::mutex::voting::RequestMode;
use crate::mutex::{
    Central, Lamport, Maekawa, Raymond, ReadersWriters, RicartAgrawala, RicartAgrawalaRing, RoucairolCarvalho,
    TokenRequest, TokenRing, Voting, central, lamport, maekawa, raymond, readers_writers, ricart_agrawala,
    ricart_agrawala_ring, roucairol_carvalho, token_request, token_ring, voting,
};
use bugs::Bug;
use clients::Counts;
use core::fmt::Debug;
use std::string::String;
use world::World;

/// Number of schedules per algorithm; their seeds count from 0.
const SCHEDULES: u64 = 2_000;

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };

/// An algorithm that can run in views, and whose messages and timers a trace can show.
trait ViewAlgorithm: ViewTransition<Message: Debug, Timer: Debug> {}

impl<P: ViewTransition<Message: Debug, Timer: Debug>> ViewAlgorithm for P {}

/// Runs the schedule of this seed. The error describes the first violation.
fn run_seed<P: ViewAlgorithm>(
    seed: u64,
    new_node: fn(NodeId, Group) -> P,
    facts: Facts,
    bug: Option<Bug>,
) -> Result<(), String> {
    let (nodes, actions) = actions::from_seed(seed);
    World::new(nodes, new_node, facts, bug).run(&actions)
}

/// Runs all schedules. If one has a violation, shrinks it, and panics with the violation and the
/// trace of the shortest failing schedule found.
fn assert_correct<P: ViewAlgorithm>(new_node: fn(NodeId, Group) -> P, facts: Facts) {
    let Some(seed) = (0..SCHEDULES).find(|seed| run_seed(*seed, new_node, facts, None).is_err()) else { return };
    let (nodes, actions) = actions::from_seed(seed);
    let fails = |actions: &[_]| World::new(nodes, new_node, facts, None).run(actions).is_err();
    let actions = actions::shrink(actions, fails);
    let failure =
        World::new(nodes, new_node, facts, None).with_trace().run(&actions).expect_err("a schedule is deterministic");
    panic!("the schedule of seed {seed} over {nodes} nodes breaks {}: {failure}", facts.profile.name);
}

/// Asserts that with this bug in the world around this algorithm, some schedule leads to an entry
/// that must not happen.
fn assert_finds<P: ViewAlgorithm>(bug: Bug, new_node: fn(NodeId, Group) -> P, facts: Facts) {
    let violation = (0..SCHEDULES).find_map(|seed| run_seed(seed, new_node, facts, Some(bug)).err());
    let violation = violation.unwrap_or_else(|| panic!("no schedule of {} finds {bug:?}", facts.profile.name));
    assert!(violation.contains(" enters "), "{bug:?} leads to another violation: {violation}");
}

/// The schedules depend on their seeds alone, so a sample with one algorithm is enough.
#[test]
fn schedules_cover_all_situations() {
    let mut total = [0; 6];
    for seed in 0..SCHEDULES {
        let (nodes, actions) = actions::from_seed(seed);
        let mut world = World::new(nodes, RicartAgrawala::new, ricart_agrawala::FACTS, None);
        assert_eq!(world.run(&actions), Ok(()), "seed {seed}");
        let Counts {
            entries_in_later_views,
            kept_entries,
            lost_entries,
            kept_requests,
            interrupted_requests,
            skipped_views,
        } = world.counts;
        let entries = [entries_in_later_views, kept_entries, lost_entries];
        let others = [kept_requests, interrupted_requests, skipped_views];
        for (sum, count) in total.iter_mut().zip(entries.into_iter().chain(others)) {
            *sum += count;
        }
    }
    // Each situation occurs in at least every fourth schedule on average.
    assert!(total.iter().all(|count| *count > SCHEDULES / 4), "{total:?}");
}

macro_rules! every_schedule {
    ($($name:ident($new_node:expr, $facts:expr);)*) => {$(
        #[test]
        fn $name() {
            assert_correct($new_node, $facts);
        }
    )*};
}

every_schedule! {
    central_is_correct_in_every_schedule_over_views(Central::new, central::FACTS);
    central_that_denies_is_correct_in_every_schedule_over_views(
        |me, group| Central::with_when_busy(me, group, WhenBusy::deny(&BOUNDS)),
        DENY_FACTS
    );
    central_that_denies_and_queues_is_correct_in_every_schedule_over_views(
        |me, group| Central::with_when_busy(me, group, WhenBusy::DenyAndQueue),
        DENY_AND_QUEUE_FACTS
    );
    lamport_is_correct_in_every_schedule_over_views(Lamport::new, lamport::FACTS);
    ricart_agrawala_is_correct_in_every_schedule_over_views(RicartAgrawala::new, ricart_agrawala::FACTS);
    ricart_agrawala_ring_is_correct_in_every_schedule_over_views(
        RicartAgrawalaRing::new,
        ricart_agrawala_ring::FACTS
    );
    roucairol_carvalho_is_correct_in_every_schedule_over_views(
        RoucairolCarvalho::new,
        roucairol_carvalho::FACTS
    );
    readers_writers_is_correct_in_every_schedule_over_views(ReadersWriters::new, readers_writers::FACTS);
    token_ring_is_correct_in_every_schedule_over_views(|me, group| TokenRing::new(me, group, BOUNDS), token_ring::FACTS);
    token_ring_on_demand_is_correct_in_every_schedule_over_views(TokenRing::new_on_demand, token_ring::FACTS);
    token_request_is_correct_in_every_schedule_over_views(TokenRequest::new, token_request::FACTS);
    raymond_is_correct_in_every_schedule_over_views(Raymond::new, raymond::FACTS);
    maekawa_is_correct_in_every_schedule_over_views(
        |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, Quorums::Grid),
        maekawa::FACTS
    );
    maekawa_in_a_plane_is_correct_in_every_schedule_over_views(
        |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, Quorums::Plane),
        maekawa::facts(maekawa::Form::DeadlockFree, Quorums::Plane)
    );
    voting_is_correct_in_every_schedule_over_views(|me, group| Voting::new(me, group, RequestMode::AllAtOnce, BOUNDS), voting::FACTS);
    sequential_voting_is_correct_in_every_schedule_over_views(
        |me, group| Voting::new(me, group, RequestMode::Sequential, BOUNDS),
        voting::facts(RequestMode::Sequential)
    );
}

#[test]
fn schedules_find_members_that_begin_without_the_reports_of_all() {
    assert_finds(Bug::ForgesReports, Central::new, central::FACTS);
    assert_finds(Bug::ForgesReports, TokenRequest::new, token_request::FACTS);
    assert_finds(Bug::ForgesReports, Lamport::new, lamport::FACTS);
}

#[test]
fn schedules_find_reports_that_omit_the_holder() {
    assert_finds(Bug::OmitsHolders, Central::new, central::FACTS);
    assert_finds(Bug::OmitsHolders, Raymond::new, raymond::FACTS);
    assert_finds(
        Bug::OmitsHolders,
        |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, Quorums::Grid),
        maekawa::FACTS,
    );
}

#[test]
fn schedules_find_members_that_accept_messages_of_older_views() {
    assert_finds(Bug::AcceptsOldViews, TokenRequest::new, token_request::FACTS);
    assert_finds(Bug::AcceptsOldViews, |me, group| TokenRing::new(me, group, BOUNDS), token_ring::FACTS);
    assert_finds(Bug::AcceptsOldViews, Raymond::new, raymond::FACTS);
}

#[test]
fn schedules_find_a_service_that_does_not_wait_for_the_end_of_a_lease() {
    assert_finds(Bug::EvictsTooEarly, Central::new, central::FACTS);
    assert_finds(Bug::EvictsTooEarly, RicartAgrawala::new, ricart_agrawala::FACTS);
}

/// This is why a driver must give a member a lease only after the view in which its stay began.
#[test]
fn schedules_find_leases_for_stays_that_a_member_does_not_know() {
    assert_finds(Bug::RenewsUnknownStays, Central::new, central::FACTS);
    assert_finds(Bug::RenewsUnknownStays, |me, group| TokenRing::new(me, group, BOUNDS), token_ring::FACTS);
}
