//! Random schedules for every detector: processes ask and answer at random, victims cancel their
//! waits, and messages arrive in any order that FIFO links allow.
//!
//! The test derives the true wait-for graph from the events: an agent waits from `Waits` until its
//! need is met by the `Answers` of agents it waits for, or until it has cancelled. Every report
//! must be true at its instant, and every victim must be part of its deadlock. Without new
//! requests, when the sites are idle and all victims have aborted, no deadlock may be unreported.

mod truth;
mod world;

use super::{Central, Detector, EdgeChasing, Locks, Plan, Policy, QueryReply, Requests};
use crate::fixtures::deadlock::{Hasty, Selfish, StaleQueries};
use crate::node::NodeId;
use crate::time::Duration;
use alloc::sync::Arc;
use core::fmt::Debug;
use std::format;
use std::string::String;
use std::vec;
use world::{CheckMessage, Needs, World};

/// A random generator that a seed determines (SplitMix64).
pub(super) struct TestRng(u64);

impl TestRng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0xD1B5_4A32_D192_ED03))
    }

    /// A number below `bound`; 0 if the bound is 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize % bound.max(1)
    }
}

fn random_plan(rng: &mut TestRng, has_victim_policy: bool, has_resources: bool) -> Plan {
    let sites = 3 + rng.below(3);
    // With locks, each site has exactly one process.
    let processes = if has_resources { sites } else { sites + rng.below(sites + 1) };
    let plan = Plan::new(sites).with_processes(processes);
    let coordinators = if has_resources { 2 + rng.below(2) } else { 0 };
    Plan {
        resource_coordinators: (0..coordinators).map(|_| NodeId::from_index(rng.below(sites))).collect(),
        priorities: (0..processes).map(|_| rng.below(4) as u32).collect(),
        victim_policy: has_victim_policy.then(|| Policy::ALL[rng.below(Policy::ALL.len())]),
        patience: if rng.below(4) == 0 { Duration::from_millis(3) } else { Duration::ZERO },
        resolver: NodeId::from_index(rng.below(sites)),
        ..plan
    }
}

/// A detector with its host, which is [`Locks`] if the name says so, else [`Requests`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setup {
    EdgeChasing,
    QueryReply,
    Central,
    EdgeChasingLocks,
    QueryReplyLocks,
    CentralLocks,
    // Detectors with seeded bugs.
    Hasty,
    Selfish,
    StaleQueries,
}

fn request_world<D>(plan: &Arc<Plan>, needs: Needs, detector: fn(NodeId, &Plan) -> D) -> World<'_, Requests<D>>
where
    D: Detector<Message: CheckMessage + Debug, Timer: Debug>,
{
    World::new(plan, needs, |me| Requests::new(me, Arc::clone(plan), detector(me, plan)))
}

fn lock_world<D>(plan: &Arc<Plan>, needs: Needs, detector: fn(NodeId, &Plan) -> D) -> World<'_, Locks<D>>
where
    D: Detector<Message: CheckMessage + Debug, Timer: Debug>,
{
    World::new(plan, needs, |me| Locks::new(me, Arc::clone(plan), detector(me, plan)))
}

/// Whether the plan has a victim policy.
#[derive(Clone, Copy)]
enum Mode {
    /// Deadlocks are only reported. All processes are soon stuck, so the schedule is short.
    ReportOnly,
    /// A victim of each deadlock aborts.
    Resolve,
}

/// Whether a run records a trace.
const UNTRACED: bool = false;
const TRACED: bool = true;

/// Runs one schedule. Returns the number of steps, or the first violation.
fn run(setup: Setup, seed: u64, mode: Mode, is_traced: bool) -> Result<u64, String> {
    let (has_victim_policy, action_count) = match mode {
        Mode::ReportOnly => (false, 60),
        Mode::Resolve => (true, 240),
    };
    let mut rng = TestRng::new(seed);
    let has_resources = matches!(setup, Setup::EdgeChasingLocks | Setup::QueryReplyLocks | Setup::CentralLocks);
    let plan = Arc::new(random_plan(&mut rng, has_victim_policy, has_resources));
    let outcome = match setup {
        Setup::EdgeChasing => request_world(&plan, Needs::All, EdgeChasing::new).run(&mut rng, action_count, is_traced),
        Setup::QueryReply => request_world(&plan, Needs::Any, QueryReply::new).run(&mut rng, action_count, is_traced),
        Setup::Central => request_world(&plan, Needs::AllOrAny, Central::new).run(&mut rng, action_count, is_traced),
        Setup::EdgeChasingLocks => {
            lock_world(&plan, Needs::All, EdgeChasing::new).run(&mut rng, action_count, is_traced)
        }
        // Processes wait for all locks that they ask for, but this detector handles waits for any
        // one agent. With one lock at a time, both are the same.
        Setup::QueryReplyLocks => lock_world(&plan, Needs::One, QueryReply::new).run(&mut rng, action_count, is_traced),
        Setup::CentralLocks => lock_world(&plan, Needs::All, Central::new).run(&mut rng, action_count, is_traced),
        Setup::Hasty => request_world(&plan, Needs::AllOrAny, Hasty::detector).run(&mut rng, action_count, is_traced),
        Setup::Selfish => request_world(&plan, Needs::All, Selfish::new).run(&mut rng, action_count, is_traced),
        Setup::StaleQueries => {
            request_world(&plan, Needs::Any, StaleQueries::new).run(&mut rng, action_count, is_traced)
        }
    };
    outcome.map_err(|violation| format!("{setup:?}, seed {seed}, {plan:?}: {violation}"))
}

/// Runs schedules in both modes, and panics at the first violation.
#[track_caller]
fn assert_no_violation(setup: Setup, seed_count: u64) {
    for seed in 0..seed_count {
        for mode in [Mode::ReportOnly, Mode::Resolve] {
            // Only a failing schedule needs a trace, so it runs again with one.
            let outcome = run(setup, seed, mode, UNTRACED).or_else(|_| run(setup, seed, mode, TRACED));
            if let Err(violation) = outcome {
                panic!("{violation}");
            }
        }
    }
}

macro_rules! schedules {
    ($($name:ident($setup:expr, $seed_count:literal);)*) => {$(
        #[test]
        fn $name() {
            assert_no_violation($setup, $seed_count);
        }
    )*};
}

schedules! {
    edge_chasing_reports_all_deadlocks_and_no_phantom(Setup::EdgeChasing, 150);
    queries_and_replies_report_all_deadlocks_and_no_phantom(Setup::QueryReply, 150);
    the_central_detector_reports_all_deadlocks_and_no_phantom(Setup::Central, 150);
    edge_chasing_over_locks_reports_all_deadlocks_and_no_phantom(Setup::EdgeChasingLocks, 100);
    queries_and_replies_over_locks_report_all_deadlocks_and_no_phantom(Setup::QueryReplyLocks, 100);
    the_central_detector_over_locks_reports_all_deadlocks_and_no_phantom(Setup::CentralLocks, 100);
}

#[test]
fn schedules_find_every_faulty_variant() {
    let mut unnoticed = vec![Setup::Hasty, Setup::Selfish, Setup::StaleQueries];
    for seed in 0..500 {
        unnoticed.retain(|setup| {
            [Mode::ReportOnly, Mode::Resolve].iter().all(|mode| run(*setup, seed, *mode, UNTRACED).is_ok())
        });
    }
    assert_eq!(unnoticed, [], "no schedule finds the bugs of these");
}
