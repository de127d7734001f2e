//! Runs with random faults, for every ordering, kind of delivery and route, and many seeds.

use super::properties::check;
use super::simulation::{FaultBudget, World};
use crate::group::Group;
use crate::multicast::{
    Causal, Delivery, Facts, Fifo, Isis, MakeOrdering, Ordering, Plan, Sequencer, Sequencing, Unordered, Window,
    causal, fifo, isis, sequencer, unordered,
};
use std::format;
use std::string::String;

/// Number of seeds for each configuration; the environment variable `QUORATE_SEEDS` overrides it.
const DEFAULT_SEED_COUNT: u64 = 40;

#[expect(clippy::disallowed_methods, reason = "a test may read its number of seeds from the environment")]
fn seed_count() -> u64 {
    std::env::var("QUORATE_SEEDS").ok().and_then(|word| word.parse().ok()).unwrap_or(DEFAULT_SEED_COUNT)
}

/// Runs a group with random faults, and returns a description of the first violation as an error.
pub(super) fn run_seed(
    make_ordering: MakeOrdering,
    plan: &Plan,
    facts: &Facts,
    budget: &FaultBudget,
    seed: u64,
) -> Result<(), String> {
    let mut world = World::new(plan.clone(), seed, make_ordering);
    world.run_faults(budget);
    world.finish();
    check(&world, plan, facts.order).map_err(|violation| format!("seed {seed}: {violation}\n{}", world.history()))
}

/// Returns plans of groups of 3 to 5 nodes with windows of 1 to 64 messages, for each kind of
/// delivery and each route of the algorithm. State pieces and boards are small, so that transfers
/// take many pieces and boards overflow.
fn plans(facts: &Facts) -> impl Iterator<Item = Plan> {
    let routes: &[Sequencing] =
        if facts.has_sequencer { &[Sequencing::ToAll, Sequencing::ThroughSequencer] } else { &[Sequencing::ToAll] };
    let relays = facts.relays_by_default;
    [Delivery::Prompt, Delivery::Uniform].into_iter().flat_map(move |delivery| {
        routes.iter().flat_map(move |sequencing| {
            [(3, 3, 5), (4, 1, 2), (5, 64, 1)].into_iter().map(move |(nodes, messages, max_piece_bytes)| Plan {
                delivery,
                sequencing: *sequencing,
                relays,
                window: Window { messages, bytes: 1 << 20 },
                max_piece_bytes,
                board_capacity: 4,
                ..Plan::new(Group::of_size(nodes))
            })
        })
    })
}

/// Crashes and a leave; the same with joins and an eviction; more of each; and crashes and joins
/// among many unchanged views.
pub(super) const FAULT_BUDGETS: [FaultBudget; 4] = [
    FaultBudget { steps: 300, crashes: 2, joins: 0, leaves: 1, evictions: 0, unchanged_views: 0 },
    FaultBudget { steps: 500, crashes: 3, joins: 4, leaves: 1, evictions: 1, unchanged_views: 0 },
    FaultBudget { steps: 900, crashes: 6, joins: 8, leaves: 2, evictions: 3, unchanged_views: 0 },
    FaultBudget { steps: 500, crashes: 4, joins: 2, leaves: 0, evictions: 0, unchanged_views: 30 },
];

fn run_all(make_ordering: MakeOrdering, facts: &Facts) {
    for plan in plans(facts) {
        for (number, budget) in FAULT_BUDGETS.iter().enumerate() {
            for seed in 0..seed_count() {
                if let Err(violation) = run_seed(make_ordering, &plan, facts, budget, seed) {
                    panic!("{} with fault budget {number} and {plan:?}: {violation}", facts.profile.name);
                }
            }
        }
    }
}

macro_rules! fault_tests {
    ($($name:ident($order:ty, $facts:expr);)*) => {$(
        #[test]
        fn $name() {
            run_all(<$order>::boxed, &$facts);
        }
    )*};
}

fault_tests! {
    basic_multicast_survives_random_faults(Unordered, unordered::FACTS);
    reliable_multicast_survives_random_faults(Unordered, unordered::RELIABLE_FACTS);
    fifo_survives_random_faults(Fifo, fifo::FACTS);
    causal_survives_random_faults(Causal, causal::FACTS);
    the_sequencer_survives_random_faults(Sequencer<Unordered>, sequencer::FACTS);
    fifo_total_survives_random_faults(Sequencer<Fifo>, sequencer::FIFO_FACTS);
    causal_total_survives_random_faults(Sequencer<Causal>, sequencer::CAUSAL_FACTS);
    isis_survives_random_faults(Isis<Unordered>, isis::FACTS);
    fifo_isis_survives_random_faults(Isis<Fifo>, isis::FIFO_FACTS);
    causal_isis_survives_random_faults(Isis<Causal>, isis::CAUSAL_FACTS);
}
