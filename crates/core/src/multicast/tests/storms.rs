//! Thousands of seeds for every order, delivery and way of a message.

use super::judge::judge;
use super::world::{Climate, World};
use crate::group::Group;
use crate::multicast::{
    Begin, Causal, Delivery, Facts, Fifo, Isis, Ordering, Plan, Sequencer, Sequencing, Unordered, Window, causal, fifo,
    isis, sequencer, unordered,
};
use std::format;
use std::string::String;

/// So many seeds for each set-up; `QUORATE_SEEDS` in the environment says otherwise.
const SEEDS: u64 = 40;

#[expect(clippy::disallowed_methods, reason = "only a test asks how long it may take")]
fn seeds() -> u64 {
    std::env::var("QUORATE_SEEDS").ok().and_then(|word| word.parse().ok()).unwrap_or(SEEDS)
}

pub(super) fn weather(begin: Begin, plan: &Plan, facts: &Facts, climate: &Climate, seed: u64) -> Result<(), String> {
    let mut world = World::new(plan.clone(), seed, begin);
    world.storm(climate);
    world.peace();
    judge(&world, plan, facts.order).map_err(|broken| format!("seed {seed}: {broken}\n{}", world.story()))
}

fn plans(facts: &Facts) -> impl Iterator<Item = Plan> {
    let ways: &[Sequencing] =
        if facts.sequences { &[Sequencing::ToAll, Sequencing::Via] } else { &[Sequencing::ToAll] };
    let relay = facts.relays;
    [Delivery::Prompt, Delivery::Uniform].into_iter().flat_map(move |delivery| {
        ways.iter().flat_map(move |sequencing| {
            [(3, 3, 5), (4, 1, 2), (5, 64, 1)].into_iter().map(move |(nodes, messages, piece)| Plan {
                delivery,
                sequencing: *sequencing,
                relay,
                window: Window { messages, bytes: 1 << 20 },
                piece,
                board: 4,
                ..Plan::new(Group::of_size(nodes))
            })
        })
    })
}

pub(super) const CLIMATES: [Climate; 4] = [
    Climate { steps: 300, crashes: 2, joins: 0, leaves: 1, evictions: 0, views: 0 },
    Climate { steps: 500, crashes: 3, joins: 4, leaves: 1, evictions: 1, views: 0 },
    Climate { steps: 900, crashes: 6, joins: 8, leaves: 2, evictions: 3, views: 0 },
    Climate { steps: 500, crashes: 4, joins: 2, leaves: 0, evictions: 0, views: 30 },
];

fn weathers(begin: Begin, facts: &Facts) {
    for plan in plans(facts) {
        for (number, climate) in CLIMATES.iter().enumerate() {
            for seed in 0..seeds() {
                if let Err(broken) = weather(begin, &plan, facts, climate, seed) {
                    panic!("{} in climate {number} with {plan:?}: {broken}", facts.profile.name);
                }
            }
        }
    }
}

macro_rules! storms {
    ($($name:ident($order:ty, $facts:expr);)*) => {$(
        #[test]
        fn $name() {
            weathers(<$order>::boxed, &$facts);
        }
    )*};
}

storms! {
    basic_multicast_weathers_every_storm(Unordered, unordered::FACTS);
    reliable_multicast_weathers_every_storm(Unordered, unordered::RELIABLE_FACTS);
    fifo_weathers_every_storm(Fifo, fifo::FACTS);
    causal_weathers_every_storm(Causal, causal::FACTS);
    the_sequencer_weathers_every_storm(Sequencer<Unordered>, sequencer::FACTS);
    fifo_total_weathers_every_storm(Sequencer<Fifo>, sequencer::FIFO_FACTS);
    causal_total_weathers_every_storm(Sequencer<Causal>, sequencer::CAUSAL_FACTS);
    isis_weathers_every_storm(Isis<Unordered>, isis::FACTS);
    fifo_isis_weathers_every_storm(Isis<Fifo>, isis::FIFO_FACTS);
    causal_isis_weathers_every_storm(Isis<Causal>, isis::CAUSAL_FACTS);
}
