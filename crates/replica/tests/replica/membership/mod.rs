//! Groups that keep their own membership, under faults: who is inside is alone, and whoever can be served is.

mod fleet;
mod informed;
mod rules;
mod stage;

use crate::node;
use fleet::{Algorithm, Fleet, Weather, instant, millis};
use quorate_core::mutex::{Central, RicartAgrawala, TokenRequest};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::dice::{Dice, Stream};
use quorate_replica::membership::Plan;

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
        let at = millis(200) + dice.between(Duration::ZERO, millis(9_000));
        let lasts = dice.between(millis(50), millis(5_000));
        let victim = NodeId::from_index(dice.below(nodes as u64) as usize);
        end = end.max(at + lasts);
        match dice.below(5) {
            0 | 1 => {
                let how = if dice.below(3) == 0 { " torn" } else { "" };
                weather.faults.push(format!("crash {victim}{how} at {at} for {lasts}"));
                // Often the others are told, before another life of the victim can speak to them.
                for other in Group::of_size(nodes).others(victim) {
                    if dice.below(4) > 0 {
                        weather.gone.push((at + dice.between(millis(1), lasts.min(millis(400))), other, victim));
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
    weather_storms(0..100, Central::new);
}

#[test]
fn nobody_is_inside_beside_another_and_everyone_is_served_in_the_end_with_a_token() {
    weather_storms(1_000..1_100, TokenRequest::new);
}

#[test]
fn nobody_is_inside_beside_another_and_everyone_is_served_in_the_end_by_consent() {
    weather_storms(2_000..2_100, RicartAgrawala::new);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let play = |seed| {
        let (weather, over) = storm(seed, 3);
        let mut fleet = fleet(weather, Central::new);
        fleet.run_until(over);
        (fleet.entries, fleet.world.events())
    };
    for seed in 0..5 {
        assert_eq!(play(seed), play(seed));
    }
}

/// How long the survivors of a kill stand still, if their kernels tell them of it.
fn standstill<P: Algorithm>(seed: u64, victim_leads: bool, make: fn(NodeId, Group) -> P) -> Duration {
    let leader_of = |weather: Weather| {
        let mut fleet = fleet(weather, make);
        fleet.run_until(instant(4_000));
        fleet.leader().unwrap()
    };
    let mut weather = Weather::fair(seed, 5);
    let leader = leader_of(weather.clone());
    let victim = if victim_leads { leader } else { node(leader.number() % 5 + 1) };
    weather.faults.push(format!("crash {victim} at 4s"));
    weather.gone = Group::of_size(5).others(victim).map(|other| (millis(4_001), other, victim)).collect();
    let mut fleet = fleet(weather, make);
    fleet.run_until(instant(4_000));
    let changed = |fleet: &Fleet<P>| {
        let others = Group::of_size(5);
        let lacks = |other| !fleet.member(other).viewed().view().unwrap().members().contains(victim);
        others.others(victim).all(lacks).then(|| fleet.world.time())
    };
    let changed = fleet.until(instant(20_000), changed).unwrap();
    let next = |fleet: &Fleet<P>| fleet.entries.last().filter(|(at, _)| *at >= changed).map(|(at, _)| *at);
    let next = fleet.until(instant(20_000), next).unwrap();
    next.since(instant(4_000))
}

#[test]
fn survivors_of_a_kill_go_on_within_a_second_also_if_it_killed_the_leader() {
    for seed in 0..20 {
        for victim_leads in [false, true] {
            let central = standstill(seed, victim_leads, Central::new);
            let token = standstill(seed, victim_leads, TokenRequest::new);
            assert!(central.max(token) < millis(1_000), "{seed}, {victim_leads}: {central}, {token}");
        }
    }
}

#[test]
fn a_minority_that_is_cut_off_freezes_and_the_majority_goes_on() {
    for seed in 0..20 {
        let mut weather = Weather::fair(seed, 5);
        weather.faults.push("cut 1,2 | 3,4,5 at 4s for 10s".into());
        let mut fleet = fleet(weather, RicartAgrawala::new);
        fleet.run_until(instant(14_000));
        let [frozen, during] = [6_000, 8_000].map(instant);
        let late = fleet.entries.iter().filter(|(at, _)| *at > frozen).map(|(_, node)| node.number());
        assert!(late.clone().all(|number| number > 2), "{seed}");
        for member in 3..=5 {
            assert!(fleet.was_served(node(member), during), "{seed}: {member}");
        }
        fleet.run_until(instant(20_000));
        assert!([1, 2].into_iter().all(|member| fleet.was_served(node(member), instant(14_000))), "{seed}");
    }
}
