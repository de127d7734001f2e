//! Everything that the synchronous model with crash-stop allows, and a little more.

use super::world::{MESSAGE, Tally, Weather, World};

const SEEDS: u64 = 1_500;

fn live(weather: Weather) -> Tally {
    let mut sum = Tally::default();
    for seed in 0..SEEDS {
        let tally = World::live(weather, seed).unwrap_or_else(|breach| panic!("{breach}"));
        sum.entries += tally.entries;
        sum.deaths += tally.deaths;
        sum.deaths_with_token += tally.deaths_with_token;
        sum.generation = sum.generation.max(tally.generation);
    }
    sum
}

#[test]
fn nobody_dies_and_everyone_is_served() {
    for nodes in 1..=6 {
        let tally = live(Weather { nodes, deaths: 0, slowest: MESSAGE, processing: 0 });
        assert!(tally.entries > 5 * SEEDS, "{nodes} nodes: {tally:?}");
        assert_eq!(tally.generation, 0, "nobody makes a second token: {tally:?}");
    }
}

#[test]
fn any_number_die_and_those_who_are_left_are_served() {
    for nodes in 2..=6 {
        for deaths in [1, nodes / 2, nodes - 1] {
            let tally = live(Weather { nodes, deaths, slowest: MESSAGE, processing: 0 });
            assert!(tally.deaths > SEEDS / 2, "somebody dies: {tally:?}");
            assert!(tally.deaths_with_token > SEEDS / 10, "some die with the token: {tally:?}");
            assert!(tally.generation >= 1, "and somebody makes a new one: {tally:?}");
        }
    }
}

#[test]
fn the_same_where_nodes_are_busy_and_inputs_stand_in_line() {
    for nodes in 2..=6 {
        for processing in [1, 3, MESSAGE] {
            live(Weather { nodes, deaths: nodes - 1, slowest: MESSAGE, processing });
        }
    }
}

/// Were it otherwise, the worlds above would prove nothing.
#[test]
fn there_are_two_tokens_where_a_message_takes_longer_than_the_bound() {
    let breaches = |slowest, deaths| {
        let weather = Weather { nodes: 4, deaths, slowest, processing: 0 };
        (0..SEEDS).filter_map(|seed| World::live(weather, seed).err()).collect::<std::vec::Vec<_>>()
    };
    assert!(breaches(MESSAGE + 1, 0).iter().any(|breach| breach.contains("2 tokens")));
    assert!(breaches(2 * MESSAGE, 2).len() > SEEDS as usize / 20);
}
