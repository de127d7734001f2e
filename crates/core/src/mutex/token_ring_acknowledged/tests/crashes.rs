//! Random simulations of the synchronous model with crash-stop, and of late messages. Two tests
//! require minimum counts, to show that the runs include enough entries and crashes.

use super::world::{MESSAGE_BOUND, Scenario, Tally, World};

const SEEDS: u64 = 1_500;

/// Asserts that the scenario runs without a violation with all seeds. Returns the summed counts,
/// and the largest generation.
fn run_all(scenario: Scenario) -> Tally {
    let mut total = Tally::default();
    for seed in 0..SEEDS {
        let tally = World::run(scenario, seed).unwrap_or_else(|violation| panic!("{violation}"));
        total.entries += tally.entries;
        total.crashes += tally.crashes;
        total.crashes_with_token += tally.crashes_with_token;
        total.max_generation = total.max_generation.max(tally.max_generation);
    }
    total
}

#[test]
fn without_crashes_every_request_is_served() {
    for nodes in 1..=6 {
        let tally = run_all(Scenario { nodes, crashes: 0, max_delay: MESSAGE_BOUND, max_processing: 0 });
        assert!(tally.entries > 5 * SEEDS, "{nodes} nodes: {tally:?}");
        assert_eq!(tally.max_generation, 0, "no node creates a second token: {tally:?}");
    }
}

#[test]
fn with_crashes_of_one_half_or_all_but_one_the_live_nodes_are_served() {
    for nodes in 2..=6 {
        for crashes in [1, nodes / 2, nodes - 1] {
            let tally = run_all(Scenario { nodes, crashes, max_delay: MESSAGE_BOUND, max_processing: 0 });
            assert!(tally.crashes > SEEDS / 2, "some nodes crash: {tally:?}");
            assert!(tally.crashes_with_token > SEEDS / 10, "some nodes crash with the token: {tally:?}");
            assert!(tally.max_generation >= 1, "some node creates a new token: {tally:?}");
        }
    }
}

#[test]
fn with_busy_nodes_and_queued_inputs_the_live_nodes_are_served() {
    for nodes in 2..=6 {
        for max_processing in [1, 3, MESSAGE_BOUND] {
            run_all(Scenario { nodes, crashes: nodes - 1, max_delay: MESSAGE_BOUND, max_processing });
        }
    }
}

/// Outside the synchronous model the algorithm can fail. This test also shows that the simulations
/// detect failures.
#[test]
fn a_message_that_takes_longer_than_the_bound_can_lead_to_two_tokens() {
    let violations = |max_delay, crashes| {
        let scenario = Scenario { nodes: 4, crashes, max_delay, max_processing: 0 };
        (0..SEEDS).filter_map(|seed| World::run(scenario, seed).err()).collect::<std::vec::Vec<_>>()
    };
    assert!(violations(MESSAGE_BOUND + 1, 0).iter().any(|violation| violation.contains("2 tokens")));
    // With later messages and crashes, more than one run in twenty has some violation.
    assert!(violations(2 * MESSAGE_BOUND, 2).len() > SEEDS as usize / 20);
}
