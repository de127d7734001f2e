//! Groups that replicate their own membership, under faults: mutual exclusion holds, and every
//! connected client gets entry.

mod group;
mod harness;
mod rules;
mod turns;
mod with_suspicions;

use crate::node;
use group::{Algorithm, FaultPlan, SimulatedGroup, at_millis, millis};
use quorate_core::mutex::{Central, RicartAgrawala, TokenRequest};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_replica::membership::Plan;

fn plan(faults: &FaultPlan) -> Plan {
    Plan::new(&Group::of_size(faults.nodes), faults.seed)
}

/// Starts a simulated group with the default plan.
fn start_group<P: Algorithm>(faults: FaultPlan, create: fn(NodeId, Group) -> P) -> SimulatedGroup<P> {
    let plan = plan(&faults);
    SimulatedGroup::new(faults, plan, create)
}

#[test]
fn a_group_forms_and_every_client_gets_entry() {
    for nodes in [1, 2, 3, 5] {
        let mut group = start_group(FaultPlan::without_faults(1, nodes), RicartAgrawala::new);
        let have_all_entered = |group: &SimulatedGroup<_>| {
            Group::of_size(nodes).iter().all(|node| group.has_entered(node, Time::ZERO)).then_some(())
        };
        assert!(group.run_until_some(at_millis(10_000), have_all_entered).is_some(), "{nodes}: {:?}", group.entries);
        let view = group.member(node(1)).viewed().view().unwrap();
        assert_eq!((view.epoch().0, view.members().len()), (1, nodes));
    }
}

/// Returns random faults, and the time by which all but the message loss and the drift have ended.
fn random_faults(seed: u64, nodes: usize) -> (FaultPlan, Time) {
    let mut rng = SeededRng::new(seed, Stream::Faults);
    let mut faults = FaultPlan::without_faults(seed, nodes);
    faults.loss_percent = rng.below(8) as u32;
    faults.drift_ppm = (0..nodes).map(|_| rng.below(1_001) as i32 - 500).collect();
    let mut end = millis(2_000);
    for _ in 0..=rng.below(4) {
        let at = millis(200) + rng.between(Duration::ZERO, millis(9_000));
        let duration = rng.between(millis(50), millis(5_000));
        let victim = NodeId::from_index(rng.below(nodes as u64) as usize);
        end = end.max(at + duration);
        match rng.below(5) {
            0 | 1 => {
                let torn = if rng.below(3) == 0 { " torn" } else { "" };
                faults.schedule.push(format!("crash {victim}{torn} at {at} for {duration}"));
                // Most of the other nodes suspect the victim soon after the crash.
                for other in Group::of_size(nodes).others(victim) {
                    if rng.below(4) > 0 {
                        faults.suspicions.push((at + rng.between(millis(1), duration.min(millis(400))), other, victim));
                    }
                }
            }
            2 => faults.schedule.push(format!("pause {victim} at {at} for {duration}")),
            3 => faults.schedule.push(format!("cut {victim} | rest at {at} for {duration}")),
            _ => faults.schedule.push(format!("cut {victim} > rest at {at} for {duration}")),
        }
    }
    (faults, Time::ZERO + end)
}

/// Runs groups under random faults. Mutual exclusion must hold, and in the end every client must
/// get entry.
fn run_with_random_faults<P: Algorithm>(seeds: std::ops::Range<u64>, create: fn(NodeId, Group) -> P) {
    for seed in seeds {
        let nodes = if seed % 3 == 0 { 5 } else { 3 };
        let (faults, faults_end) = random_faults(seed, nodes);
        let mut plan = plan(&faults);
        // Replicas keep so few entries that restarted replicas sometimes need a snapshot.
        (plan.replica.checkpoint_every, plan.replica.keep_entries) = (20, 5);
        let mut group = SimulatedGroup::new(faults.clone(), plan, create);
        group.run_until(faults_end);
        let since = group.world.time();
        let have_all_entered = |group: &SimulatedGroup<P>| {
            Group::of_size(nodes).iter().all(|node| group.has_entered(node, since)).then_some(())
        };
        let outcome = group.run_until_some(since + Duration::from_secs(60), have_all_entered);
        assert!(outcome.is_some(), "a client did not get entry: {faults:?}, {:?}", group.entries.last());
    }
}

#[test]
fn mutual_exclusion_holds_and_every_client_gets_entry_with_a_coordinator() {
    run_with_random_faults(0..100, Central::new);
}

#[test]
fn mutual_exclusion_holds_and_every_client_gets_entry_with_a_token() {
    run_with_random_faults(1_000..1_100, TokenRequest::new);
}

#[test]
fn mutual_exclusion_holds_and_every_client_gets_entry_with_permissions() {
    run_with_random_faults(2_000..2_100, RicartAgrawala::new);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let simulate = |seed| {
        let (faults, faults_end) = random_faults(seed, 3);
        let mut group = start_group(faults, Central::new);
        group.run_until(faults_end);
        (group.entries, group.world.taken_inputs())
    };
    for seed in 0..5 {
        assert_eq!(simulate(seed), simulate(seed));
    }
}

/// Returns the time from a crash to the first entry after all survivors have removed the victim.
/// All survivors suspect the victim after 1 ms, as if the kernel of its machine had refused their
/// connections.
fn recovery_time<P: Algorithm>(seed: u64, is_victim_leader: bool, create: fn(NodeId, Group) -> P) -> Duration {
    let leader_of = |faults: FaultPlan| {
        let mut group = start_group(faults, create);
        group.run_until(at_millis(4_000));
        group.leader().unwrap()
    };
    let mut faults = FaultPlan::without_faults(seed, 5);
    // The same seed gives the same leader in the run with the crash.
    let leader = leader_of(faults.clone());
    let victim = if is_victim_leader { leader } else { node(leader.number() % 5 + 1) };
    faults.schedule.push(format!("crash {victim} at 4s"));
    faults.suspicions = Group::of_size(5).others(victim).map(|other| (millis(4_001), other, victim)).collect();
    let mut group = start_group(faults, create);
    group.run_until(at_millis(4_000));
    let time_of_removal = |group: &SimulatedGroup<P>| {
        let excludes_victim = |member| !group.member(member).viewed().view().unwrap().members().contains(victim);
        Group::of_size(5).others(victim).all(excludes_victim).then(|| group.world.time())
    };
    let removal = group.run_until_some(at_millis(20_000), time_of_removal).unwrap();
    let time_of_entry =
        |group: &SimulatedGroup<P>| group.entries.last().filter(|(at, _)| *at >= removal).map(|(at, _)| *at);
    let next_entry = group.run_until_some(at_millis(20_000), time_of_entry).unwrap();
    next_entry.since(at_millis(4_000))
}

#[test]
fn survivors_of_a_crash_continue_within_a_second_even_if_the_leader_crashed() {
    for seed in 0..20 {
        for is_victim_leader in [false, true] {
            let central = recovery_time(seed, is_victim_leader, Central::new);
            let token = recovery_time(seed, is_victim_leader, TokenRequest::new);
            assert!(
                central.max(token) < millis(1_000),
                "seed {seed}, leader crashed: {is_victim_leader}: coordinator {central}, token {token}"
            );
        }
    }
}

#[test]
fn a_partitioned_minority_stops_and_the_majority_continues() {
    for seed in 0..20 {
        let mut faults = FaultPlan::without_faults(seed, 5);
        faults.schedule.push("cut 1,2 | 3,4,5 at 4s for 10s".into());
        let mut group = start_group(faults, RicartAgrawala::new);
        group.run_until(at_millis(14_000));
        // The leases of the minority, which last for 2 s, have expired.
        let minority_stopped = at_millis(6_000);
        let majority_continues = at_millis(8_000);
        let mut late_entries =
            group.entries.iter().filter(|(at, _)| *at > minority_stopped).map(|(_, node)| node.number());
        assert!(late_entries.all(|number| number > 2), "{seed}");
        for member in 3..=5 {
            assert!(group.has_entered(node(member), majority_continues), "{seed}: {member}");
        }
        group.run_until(at_millis(20_000));
        assert!([1, 2].into_iter().all(|member| group.has_entered(node(member), at_millis(14_000))), "{seed}");
    }
}
