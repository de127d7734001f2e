//! Tests of the invitation algorithm by name: costs, groups on both sides of a partition, and
//! thousands of seeds under faults.

use crate::common::{assert_no_failure, election, fault_mixes, parsed, run, run_to_completion};
use quorate_core::election::{Case, Command, Event, Prefer, Repair, Starting, invitation};
use quorate_core::{Epoch, NodeId};
use quorate_journal::moment::{Moment, ObservedEffect, Observer};
use quorate_lab::election::Settings;
use quorate_lab::experiment::run_with;
use quorate_lab::{Election, LinkChoice, Spec};
use std::collections::{BTreeMap, BTreeSet};

fn invitation(nodes: usize, starters: &str) -> Spec<Election> {
    Spec { latency: parsed("fixed:1ms"), ..election("invitation", nodes, starters) }
}

const LATENCIES: [&str; 4] = ["fixed:1ms", "fixed:30us", "uniform:1ms..5ms", "uniform:0ms..9ms"];

#[test]
fn each_follower_costs_three_messages_whatever_starts_and_crashes() {
    for (nodes, latency) in (1..=12).chain([20, 40]).flat_map(|nodes| LATENCIES.map(|latency| (nodes, latency))) {
        for starters in ["lowest", "highest", "all", "1", "2-3"].into_iter().take(if nodes < 3 { 4 } else { 5 }) {
            for dead in 0..=usize::from(nodes > 2) {
                let faults = (0..dead).map(|_| parsed(&format!("crash {nodes}"))).collect();
                let spec = Spec { latency: parsed(latency), faults, ..invitation(nodes, starters) };
                let (summary, followers) = (run_to_completion(&spec).summary, (nodes - dead - 1) as u64);
                assert_eq!(summary.leader, Some(NodeId::from_index(nodes - dead - 1)));
                let messages = (summary.election_messages, summary.announcement_messages);
                assert_eq!(messages, (2 * followers, followers), "replay: {}", spec.command("sim"));
                let case = Case { live: nodes - dead, dead, starting: Starting::All };
                let expected = (invitation::FACTS.cost.expected)(&case).expect("an expected cost");
                assert_eq!(expected.most, Some(3.0 * followers as f64));
            }
        }
    }
}

#[test]
fn the_winner_depends_on_attributes_and_not_on_the_starters() {
    for starters in ["lowest", "highest", "all", "2", "1,3", "2-4"] {
        let ranks = [("id", Prefer::Lowest, 1), ("7,9,9,1,2", Prefer::Highest, 3), ("7,2,9,2,8", Prefer::Lowest, 2)];
        for (attribute, prefer, leader) in ranks {
            for (seed, latency) in (0..20).flat_map(|seed| LATENCIES.map(|latency| (seed, latency))) {
                let spec = Spec { seed, latency: parsed(latency), ..invitation(5, starters) };
                let settings = Settings { attribute: parsed(attribute), prefer, ..spec.settings.clone() };
                let summary = run_to_completion(&Spec { settings, ..spec }).summary;
                assert_eq!(summary.leader, NodeId::new(leader), "{starters} {attribute} {prefer:?}");
            }
        }
    }
}

/// The leader that each node knows at the end of a run.
#[derive(Default)]
struct Leaders {
    known: BTreeMap<NodeId, (NodeId, Epoch)>,
    /// All leaders of each epoch.
    of: BTreeMap<Epoch, BTreeSet<NodeId>>,
    changes: u64,
}

impl Observer<Command, Event> for Leaders {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } = moment {
            match event {
                Event::Elected { leader, epoch, .. } => {
                    self.known.insert(*node, (*leader, *epoch));
                    self.of.entry(*epoch).or_default().insert(*leader);
                    self.changes += 1;
                }
                Event::Began { .. } | Event::Ended { .. } => {
                    self.known.remove(node);
                }
                Event::Extended { .. } | Event::Refused(_) => {}
            }
        }
    }
}

fn leaders(spec: &Spec<Election>) -> Leaders {
    let (_, leaders) = run_with(spec, std::io::sink(), Leaders::default()).unwrap();
    leaders
}

#[test]
fn each_side_of_a_partition_has_a_leader_and_one_remains_when_it_heals() {
    for seed in 0..50 {
        let base = Spec { seed, latency: parsed("uniform:1ms..5ms"), ..invitation(7, "all") };
        let cut = Spec { faults: vec![parsed("cut 1,2,3 | rest at 300ms")], until: Some(parsed("3s")), ..base.clone() };
        let known = leaders(&cut).known;
        let led = |leader: u32| known.values().filter(|(known, _)| NodeId::new(leader) == Some(*known)).count();
        assert_eq!((led(3), led(7)), (3, 4), "seed {seed}: {known:?}");
        let epochs: BTreeSet<_> = known.values().collect();
        assert_eq!(epochs.len(), 2, "each side has one epoch, and they differ");
        let healed = Spec { faults: vec![parsed("cut 1,2,3 | rest at 300ms for 1s")], ..base };
        assert_eq!(run_to_completion(&healed).summary.leader, NodeId::new(7), "seed {seed}");
    }
}

/// A node that cannot reach any other leads only itself, without waiting.
#[test]
fn an_isolated_node_leads_itself() {
    let faults = vec![parsed("cut 5 | rest at 300ms"), parsed("cut 1 | rest at 300ms")];
    let known = leaders(&Spec { faults, until: Some(parsed("3s")), ..invitation(5, "all") }).known;
    let led: Vec<_> = known.values().map(|(leader, _)| leader.number()).collect();
    assert_eq!(led, [1, 4, 4, 4, 5]);
}

/// Liveness checks continue forever without effect.
#[test]
fn a_group_that_has_its_leader_keeps_it() {
    for (seed, latency) in (0..20).flat_map(|seed| ["fixed:1ms", "uniform:0ms..9ms"].map(|latency| (seed, latency))) {
        let script = parsed("campaign 2 at 0ms\ncampaign 3 at 15s\n");
        let spec = Spec { seed, latency: parsed(latency), script: Some(script), ..invitation(5, "all") };
        let (outcome, leaders) = run_with(&spec, std::io::sink(), Leaders::default()).unwrap();
        assert!(outcome.holds(), "{:?}", outcome.verdicts);
        // Node 3 leaves and is invited again. No other node notices.
        assert_eq!((leaders.changes, leaders.of.len()), (6, 1), "seed {seed}: {:?}", leaders.of);
        assert!(outcome.messages.control > 1_000, "{}", outcome.messages.control);
    }
}

#[test]
fn a_crashed_leader_is_replaced_and_takes_over_after_its_restart() {
    for (seed, repair) in (0..50).flat_map(|seed| [(seed, Repair::Detector)]) {
        let settings = Settings { repair, ..invitation(5, "all").settings };
        let spec = Spec { seed, latency: parsed("uniform:1ms..5ms"), settings, ..invitation(5, "all") };
        let crashed = run_to_completion(&Spec { faults: vec![parsed("crash 5 at 1s")], ..spec.clone() }).summary;
        let restarted = run_to_completion(&Spec { faults: vec![parsed("crash 5 at 1s for 1s")], ..spec }).summary;
        assert_eq!((crashed.leader, restarted.leader), (NodeId::new(4), NodeId::new(5)));
    }
}

#[test]
fn it_survives_the_fault_mixes_for_elections() {
    for spec in fault_mixes::<Election>("invitation") {
        assert_no_failure(&spec, 60);
    }
}

/// Any fault may hit any number of nodes, as long as it ends.
#[test]
fn every_kind_of_fault_at_once_is_survived() {
    let random_faults = parsed("crash=3,cut=2,pause=2,deaf=2,skew=2,drift=2");
    let base = Spec { random_faults, loss: parsed("0.1"), duplicate: parsed("0.1"), ..invitation(5, "all") };
    for latency in ["fixed:1ms", "uniform:1ms..5ms", "long-tail:2ms"] {
        let latency = parsed(latency);
        assert_no_failure(
            &Spec { latency, disk: parsed("uniform:0ms..4ms"), links: LinkChoice::Bare, ..base.clone() },
            100,
        );
    }
    assert_no_failure(&Spec { nodes: 2, ..base.clone() }, 100);
    assert_no_failure(&Spec { links: LinkChoice::Reliable, ..base }, 60);
}

/// However wrong the nodes' delay bounds are, no epoch has two leaders.
#[test]
fn timeouts_that_are_much_too_short_only_cost_messages() {
    let random_faults = parsed("crash=2,cut=2,pause=3");
    for bound in ["100us", "1ms"] {
        let bound = Some(parsed(bound));
        let until = Some(parsed("500ms"));
        let base = invitation(5, "all");
        for seed in 0..10 {
            let spec = Spec { seed, bound, until, random_faults: parsed("crash=2,cut=2,pause=3"), ..base.clone() };
            let outcome = run(&spec);
            let violations: Vec<_> = outcome.violated().map(|violation| violation.name).collect();
            assert!(
                violations.is_empty() || violations == ["agreed"],
                "{violations:?}\nreplay: {}",
                spec.command("sim")
            );
        }
    }
    assert_no_failure(&Spec { random_faults, bound: Some(parsed("2ms")), ..invitation(5, "all") }, 50);
}
