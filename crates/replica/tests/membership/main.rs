//! Groups that keep their own membership, under faults: who is inside is alone, and whoever can be served is.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod fleet;
mod informed;

use fleet::{Algorithm, Fleet, Weather, instant, millis, node};
use quorate_core::mutex::{Central, RicartAgrawala, TokenRequest};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_replica::membership::Plan;
use quorate_sim::dice::{Dice, Stream};

fn plan(weather: &Weather) -> Plan {
    Plan::new(&Group::of_size(weather.nodes), weather.seed)
}

fn fleet<P: Algorithm>(weather: Weather, make: fn(NodeId, Group) -> P) -> Fleet<P> {
    let plan = plan(&weather);
    Fleet::new(weather, plan, make)
}

#[test]
fn a_group_founds_itself_and_everyone_is_served() {
    for nodes in [1, 2, 3, 5] {
        let mut fleet = fleet(Weather::fair(1, nodes), RicartAgrawala::new);
        let everyone = |fleet: &Fleet<_>| {
            Group::of_size(nodes).iter().all(|node| fleet.was_served(node, Time::ZERO)).then_some(())
        };
        assert!(fleet.until(instant(10_000), everyone).is_some(), "{nodes}: {:?}", fleet.entries);
        let view = fleet.member(node(1)).viewed().view().unwrap();
        assert_eq!((view.epoch().0, view.members().len()), (1, nodes));
    }
}

/// Faults that a seed chooses, all over by the instant that comes with them.
fn storm(seed: u64, nodes: usize) -> (Weather, Time) {
    let mut dice = Dice::new(seed, Stream::Faults);
    let mut weather = Weather::fair(seed, nodes);
    weather.loss_percent = dice.below(8) as u32;
    weather.drift = (0..nodes).map(|_| dice.below(1_001) as i32 - 500).collect();
    let mut end = millis(2_000);
    for _ in 0..=dice.below(4) {
        let at = millis(1_000) + dice.between(Duration::ZERO, millis(9_000));
        let lasts = dice.between(millis(50), millis(5_000));
        let victim = NodeId::from_index(dice.below(nodes as u64) as usize);
        end = end.max(at + lasts);
        match dice.below(5) {
            0 | 1 => {
                let how = if dice.below(3) == 0 { " torn" } else { "" };
                weather.faults.push(format!("crash {victim}{how} at {at} for {lasts}"));
                // Often the others are told, at times so late that the victim is back by then.
                for other in Group::of_size(nodes).others(victim) {
                    if dice.below(4) > 0 {
                        weather.gone.push((at + dice.between(millis(1), millis(400)), other, victim));
                    }
                }
            }
            2 => weather.faults.push(format!("pause {victim} at {at} for {lasts}")),
            3 => weather.faults.push(format!("cut {victim} | rest at {at} for {lasts}")),
            _ => weather.faults.push(format!("cut {victim} > rest at {at} for {lasts}")),
        }
    }
    (weather, Time::ZERO + end)
}

/// Plays storms; the judge of the fleet watches. In the end everyone is served.
fn weather_storms<P: Algorithm>(seeds: std::ops::Range<u64>, make: fn(NodeId, Group) -> P) {
    for seed in seeds {
        let nodes = if seed % 3 == 0 { 5 } else { 3 };
        let (weather, over) = storm(seed, nodes);
        let mut plan = plan(&weather);
        // So few that those who were away must take over the whole state now and then.
        (plan.replica.checkpoint_every, plan.replica.keep_entries) = (20, 5);
        let mut fleet = Fleet::new(weather.clone(), plan, make);
        fleet.run_until(over);
        let since = fleet.world.time();
        let everyone =
            |fleet: &Fleet<P>| Group::of_size(nodes).iter().all(|node| fleet.was_served(node, since)).then_some(());
        let served = fleet.until(since + Duration::from_secs(60), everyone);
        assert!(served.is_some(), "somebody is never served: {weather:?}, {:?}", fleet.entries.last());
    }
}

#[test]
fn nobody_is_inside_beside_another_and_everyone_is_served_in_the_end_with_a_coordinator() {
    weather_storms(0..60, Central::new);
}

#[test]
fn nobody_is_inside_beside_another_and_everyone_is_served_in_the_end_with_a_token() {
    weather_storms(100..160, TokenRequest::new);
}

#[test]
fn nobody_is_inside_beside_another_and_everyone_is_served_in_the_end_by_consent() {
    weather_storms(200..260, RicartAgrawala::new);
}
