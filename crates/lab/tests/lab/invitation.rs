//! Simulated runs of the invitation algorithm: costs, groups on both sides of a partition, and many
//! random runs with faults.

use crate::common::{assert_no_seed_fails, election, parse, run, run_to_completion, stress_specs};
use quorate_core::election::{Case, Command, Event, Preference, Repair, Starting, invitation};
use quorate_core::{Epoch, NodeId};
use quorate_journal::moment::{Moment, ObservedEffect, Observer};
use quorate_lab::election::Settings;
use quorate_lab::experiment::run_with;
use quorate_lab::{Election, LinkChoice, Spec};
use std::collections::{BTreeMap, BTreeSet};

fn invitation(nodes: usize, starters: &str) -> Spec<Election> {
    Spec { latency: parse("fixed:1ms"), ..election("invitation", nodes, starters) }
}

const LATENCIES: [&str; 4] = ["fixed:1ms", "fixed:30us", "uniform:1ms..5ms", "uniform:0ms..9ms"];

#[test]
fn each_follower_costs_three_messages_with_any_starters_even_if_the_highest_node_is_down() {
    for (nodes, latency) in (1..=12).chain([20, 40]).flat_map(|nodes| LATENCIES.map(|latency| (nodes, latency))) {
        // The last starters are possible only in groups of at least three.
        for starters in ["lowest", "highest", "all", "1", "2-3"].into_iter().take(if nodes < 3 { 4 } else { 5 }) {
            for crashed in 0..=usize::from(nodes > 2) {
                let faults = (0..crashed).map(|_| parse(&format!("crash {nodes}"))).collect();
                let spec = Spec { latency: parse(latency), faults, ..invitation(nodes, starters) };
                let (summary, followers) = (run_to_completion(&spec).summary, (nodes - crashed - 1) as u64);
                assert_eq!(summary.leader, Some(NodeId::from_index(nodes - crashed - 1)));
                let messages = (summary.election_messages, summary.announcement_messages);
                assert_eq!(messages, (2 * followers, followers), "replay: {}", spec.command("sim"));
                // The expected cost does not depend on the starters.
                let case = Case { live_nodes: nodes - crashed, dead_nodes: crashed, starting: Starting::All };
                let expected = (invitation::FACTS.cost.expected_messages)(&case).expect("an expected cost");
                assert_eq!(expected.max, Some(3.0 * followers as f64));
            }
        }
    }
}

#[test]
fn the_winner_depends_on_attributes_and_not_on_the_starters() {
    for starters in ["lowest", "highest", "all", "2", "1,3", "2-4"] {
        let ranks = [
            ("id", Preference::Lowest, 1),
            ("7,9,9,1,2", Preference::Highest, 3),
            ("7,2,9,2,8", Preference::Lowest, 2),
        ];
        for (attribute, prefer, leader) in ranks {
            for (seed, latency) in (0..20).flat_map(|seed| LATENCIES.map(|latency| (seed, latency))) {
                let spec = Spec { seed, latency: parse(latency), ..invitation(5, starters) };
                let settings = Settings { attribute: parse(attribute), prefer, ..spec.settings.clone() };
                let summary = run_to_completion(&Spec { settings, ..spec }).summary;
                assert_eq!(summary.leader, NodeId::new(leader), "{starters} {attribute} {prefer:?}");
            }
        }
    }
}

/// Observes which leaders nodes know.
#[derive(Default)]
struct Leaders {
    /// The leader that each node knows, and its epoch.
    known: BTreeMap<NodeId, (NodeId, Epoch)>,
    /// All leaders of each epoch.
    by_epoch: BTreeMap<Epoch, BTreeSet<NodeId>>,
    /// Number of times that a node learned of a leader.
    changes: u64,
}

impl Observer<Command, Event> for Leaders {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } = moment {
            match event {
                Event::Elected { leader, epoch, .. } => {
                    self.known.insert(*node, (*leader, *epoch));
                    self.by_epoch.entry(*epoch).or_default().insert(*leader);
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

fn run_leaders(spec: &Spec<Election>) -> Leaders {
    let (_, leaders) = run_with(spec, std::io::sink(), Leaders::default()).unwrap();
    leaders
}

#[test]
fn each_side_of_a_partition_has_a_leader_and_one_remains_when_it_heals() {
    for seed in 0..50 {
        let base = Spec { seed, latency: parse("uniform:1ms..5ms"), ..invitation(7, "all") };
        let cut = Spec { faults: vec![parse("cut 1,2,3 | rest at 300ms")], until: Some(parse("3s")), ..base.clone() };
        let known = run_leaders(&cut).known;
        let nodes_led_by =
            |leader: u32| known.values().filter(|(known, _)| NodeId::new(leader) == Some(*known)).count();
        assert_eq!((nodes_led_by(3), nodes_led_by(7)), (3, 4), "seed {seed}: {known:?}");
        let leaders_with_epochs: BTreeSet<_> = known.values().collect();
        assert_eq!(leaders_with_epochs.len(), 2, "all nodes of a side know the same leader and epoch");
        let healed = Spec { faults: vec![parse("cut 1,2,3 | rest at 300ms for 1s")], ..base };
        assert_eq!(run_to_completion(&healed).summary.leader, NodeId::new(7), "seed {seed}");
    }
}

/// A node that cannot reach any other leads only itself.
#[test]
fn an_isolated_node_leads_itself() {
    let faults = vec![parse("cut 5 | rest at 300ms"), parse("cut 1 | rest at 300ms")];
    let known = run_leaders(&Spec { faults, until: Some(parse("3s")), ..invitation(5, "all") }).known;
    let leaders: Vec<_> = known.values().map(|(leader, _)| leader.number()).collect();
    assert_eq!(leaders, [1, 4, 4, 4, 5]);
}

/// The nodes' periodic checks continue without effect.
#[test]
fn a_group_that_has_its_leader_keeps_it() {
    for (seed, latency) in (0..20).flat_map(|seed| ["fixed:1ms", "uniform:0ms..9ms"].map(|latency| (seed, latency))) {
        let script = parse("campaign 2 at 0ms\ncampaign 3 at 15s\n");
        let spec = Spec { seed, latency: parse(latency), script: Some(script), ..invitation(5, "all") };
        let (outcome, leaders) = run_with(&spec, std::io::sink(), Leaders::default()).unwrap();
        assert!(outcome.holds(), "{:?}", outcome.verdicts);
        // Five nodes learn of the leader; then node 3 leaves and is invited again, which no other
        // node notices.
        assert_eq!((leaders.changes, leaders.by_epoch.len()), (6, 1), "seed {seed}: {:?}", leaders.by_epoch);
        assert!(outcome.messages.control > 1_000, "{}", outcome.messages.control);
    }
}

#[test]
fn a_crashed_leader_is_replaced_and_takes_over_after_its_restart() {
    for seed in 0..50 {
        let settings = Settings { repair: Repair::Detector, ..invitation(5, "all").settings };
        let spec = Spec { seed, latency: parse("uniform:1ms..5ms"), settings, ..invitation(5, "all") };
        let crashed = run_to_completion(&Spec { faults: vec![parse("crash 5 at 1s")], ..spec.clone() }).summary;
        let restarted = run_to_completion(&Spec { faults: vec![parse("crash 5 at 1s for 1s")], ..spec }).summary;
        assert_eq!((crashed.leader, restarted.leader), (NodeId::new(4), NodeId::new(5)));
    }
}

#[test]
fn the_invitation_algorithm_survives_the_stress_experiments_for_elections() {
    for spec in stress_specs::<Election>("invitation") {
        assert_no_seed_fails(&spec, 60);
    }
}

/// Any fault may hit any number of nodes, as long as it ends.
#[test]
fn the_invitation_algorithm_survives_many_kinds_of_faults_at_once() {
    let random_faults = parse("crash=3,cut=2,pause=2,deaf=2,skew=2,drift=2");
    let base = Spec { random_faults, loss: parse("0.1"), duplicate: parse("0.1"), ..invitation(5, "all") };
    for latency in ["fixed:1ms", "uniform:1ms..5ms", "long-tail:2ms"] {
        let latency = parse(latency);
        assert_no_seed_fails(
            &Spec { latency, disk: parse("uniform:0ms..4ms"), links: LinkChoice::Bare, ..base.clone() },
            100,
        );
    }
    assert_no_seed_fails(&Spec { nodes: 2, ..base.clone() }, 100);
    assert_no_seed_fails(&Spec { links: LinkChoice::Reliable, ..base }, 60);
}

/// If the delay bounds that nodes assume are too short, the nodes may not agree in time, but no
/// epoch has two leaders.
#[test]
fn timeouts_that_are_too_short_never_make_two_leaders_in_an_epoch() {
    let random_faults = parse("crash=2,cut=2,pause=3");
    for bound in ["100us", "1ms"] {
        let bound = Some(parse(bound));
        let until = Some(parse("500ms"));
        let base = invitation(5, "all");
        for seed in 0..10 {
            let spec =
                Spec { seed, delay_bound: bound, until, random_faults: parse("crash=2,cut=2,pause=3"), ..base.clone() };
            let outcome = run(&spec);
            let violations: Vec<_> = outcome.violated_verdicts().map(|violation| violation.name).collect();
            assert!(
                violations.is_empty() || violations == ["agreed"],
                "{violations:?}\nreplay: {}",
                spec.command("sim")
            );
        }
    }
    // Messages take 1 ms, so a bound of 2 ms is long enough, and the nodes agree too.
    assert_no_seed_fails(&Spec { random_faults, delay_bound: Some(parse("2ms")), ..invitation(5, "all") }, 50);
}
