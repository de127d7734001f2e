//! A storm for every detector: processes ask, answer and give up as they like, and messages arrive in any order that links allow.
//!
//! The storm keeps the true graph, from what users are told: somebody waits from `Waits` until whom it waits for `Answers`, or until it has given
//! up. Whatever is told must be true at that instant, whoever is told to give up must be part of it, and when all is quiet nothing was missed.

mod truth;
mod world;

use super::{Central, Detector, EdgeChasing, Locks, Plan, Policy, QueryReply, Requests};
use crate::fixtures::deadlock::{Forgetful, Hasty, Selfish};
use crate::node::NodeId;
use crate::time::Duration;
use alloc::sync::Arc;
use core::fmt::Debug;
use std::format;
use std::string::String;
use std::vec;
use world::{Asks, Seen, World};

pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0xD1B5_4A32_D192_ED03))
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize % bound.max(1)
    }
}

fn plan(dice: &mut Dice, victim: bool, resources: bool) -> Plan {
    let sites = 3 + dice.below(3);
    let processes = if resources { sites } else { sites + dice.below(sites + 1) };
    let plan = Plan::new(sites).with_processes(processes);
    let coordinators = if resources { 2 + dice.below(2) } else { 0 };
    Plan {
        resources: (0..coordinators).map(|_| NodeId::from_index(dice.below(sites))).collect(),
        priorities: (0..processes).map(|_| dice.below(4) as u32).collect(),
        victim: victim.then(|| Policy::ALL[dice.below(3)]),
        patience: if dice.below(4) == 0 { Duration::from_millis(3) } else { Duration::ZERO },
        desk: NodeId::from_index(dice.below(sites)),
        ..plan
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Struck {
    EdgeChasing,
    QueryReply,
    Central,
    ChasedLocks,
    QueriedLocks,
    CentralLocks,
    Hasty,
    Selfish,
    Forgetful,
}

fn asking<D>(plan: &Arc<Plan>, asks: Asks, detector: fn(NodeId, &Plan) -> D) -> World<'_, Requests<D>>
where
    D: Detector<Message: Seen + Debug, Timer: Debug>,
{
    World::new(plan, asks, |me| Requests::new(me, Arc::clone(plan), detector(me, plan)))
}

fn locking<D>(plan: &Arc<Plan>, asks: Asks, detector: fn(NodeId, &Plan) -> D) -> World<'_, Locks<D>>
where
    D: Detector<Message: Seen + Debug, Timer: Debug>,
{
    World::new(plan, asks, |me| Locks::new(me, Arc::clone(plan), detector(me, plan)))
}

/// One storm. Tells how many steps it took, or how it went wrong.
fn strike(struck: Struck, seed: u64, victim: bool, gusts: usize) -> Result<u64, String> {
    // Only what went wrong is told, and for that it happens again.
    retold(struck, seed, victim, gusts, false).or_else(|_| retold(struck, seed, victim, gusts, true))
}

fn retold(struck: Struck, seed: u64, victim: bool, gusts: usize, tells: bool) -> Result<u64, String> {
    let mut dice = Dice::new(seed);
    let resources = matches!(struck, Struck::ChasedLocks | Struck::QueriedLocks | Struck::CentralLocks);
    let plan = Arc::new(plan(&mut dice, victim, resources));
    let told = match struck {
        Struck::EdgeChasing => asking(&plan, Asks::All, EdgeChasing::new).storm(&mut dice, gusts, tells),
        Struck::QueryReply => asking(&plan, Asks::Any, QueryReply::new).storm(&mut dice, gusts, tells),
        Struck::Central => asking(&plan, Asks::Either, Central::new).storm(&mut dice, gusts, tells),
        Struck::ChasedLocks => locking(&plan, Asks::All, EdgeChasing::new).storm(&mut dice, gusts, tells),
        Struck::QueriedLocks => locking(&plan, Asks::One, QueryReply::new).storm(&mut dice, gusts, tells),
        Struck::CentralLocks => locking(&plan, Asks::All, Central::new).storm(&mut dice, gusts, tells),
        Struck::Hasty => asking(&plan, Asks::Either, Hasty::detector).storm(&mut dice, gusts, tells),
        Struck::Selfish => asking(&plan, Asks::All, Selfish::new).storm(&mut dice, gusts, tells),
        Struck::Forgetful => asking(&plan, Asks::Any, Forgetful::new).storm(&mut dice, gusts, tells),
    };
    told.map_err(|wrong| format!("{struck:?}, seed {seed}, {plan:?}: {wrong}"))
}

/// So many storms of each kind. A storm in which nobody gives up is soon over.
#[track_caller]
fn weather(struck: Struck, seeds: u64) {
    for seed in 0..seeds {
        for (victim, gusts) in [(false, 60), (true, 240)] {
            if let Err(wrong) = strike(struck, seed, victim, gusts) {
                panic!("{wrong}");
            }
        }
    }
}

macro_rules! storms {
    ($($name:ident($struck:expr, $seeds:literal);)*) => {$(
        #[test]
        fn $name() {
            weather($struck, $seeds);
        }
    )*};
}

storms! {
    edge_chasing_tells_all_deadlocks_and_no_phantom(Struck::EdgeChasing, 150);
    queries_and_replies_tell_all_deadlocks_and_no_phantom(Struck::QueryReply, 150);
    the_central_detector_tells_all_deadlocks_and_no_phantom(Struck::Central, 150);
    locks_are_watched_by_edge_chasing_without_a_phantom(Struck::ChasedLocks, 100);
    locks_are_watched_by_queries_and_replies_without_a_phantom(Struck::QueriedLocks, 100);
    locks_are_watched_by_the_central_detector_without_a_phantom(Struck::CentralLocks, 100);
}

#[test]
fn a_storm_finds_out_every_fixture() {
    let mut unhurt = vec![Struck::Hasty, Struck::Selfish, Struck::Forgetful];
    for seed in 0..500 {
        unhurt.retain(|struck| {
            retold(*struck, seed, true, 240, false).is_ok() && retold(*struck, seed, false, 60, false).is_ok()
        });
    }
    assert_eq!(unhurt, [], "nobody noticed what is wrong with these");
}
