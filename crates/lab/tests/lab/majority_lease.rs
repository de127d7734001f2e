//! Masters by leases: the book's counts, the handover, what holds in bad weather, and what breaks beyond the bounds.

use crate::common::{self, all_hold, broken, done, election, ms, parsed, run, swept, weather};
use quorate_check::Timing;
use quorate_core::election::{Command, Event, Refusal};
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Done, Moment, Observer};
use quorate_journal::settings::Script;
use quorate_lab::ScriptFamily;
use quorate_lab::check::{self, CheckRun, CheckSpec};
use quorate_lab::election::Settings;
use quorate_lab::experiment::{self, Outcome};
use quorate_lab::{Election, LinkChoice, Spec};

fn leased(nodes: usize, starters: &str) -> Spec<Election> {
    election("majority-lease", nodes, starters)
}

fn node_of(number: usize) -> Option<NodeId> {
    Some(NodeId::from_index(number - 1))
}

/// 2(n−1) to elect and n−1 to announce, in 3T.
#[test]
fn one_starter_takes_two_messages_a_peer_and_one_to_tell_it() {
    for nodes in [1, 2, 3, 5, 8, 21] {
        for (starters, leader) in [("lowest", 1), ("highest", nodes)] {
            for latency in ["fixed:1ms", "fixed:2s", "uniform:1ms..5ms"] {
                let spec = Spec { latency: parsed(latency), seed: nodes as u64, ..leased(nodes, starters) };
                let outcome = done(&spec);
                let (summary, peers) = (outcome.summary, nodes as u64 - 1);
                assert_eq!((summary.leader, summary.rounds), (node_of(leader), 1), "{}", spec.command("sim"));
                assert_eq!((summary.election_messages, summary.announcement_messages), (2 * peers, peers));
                assert_eq!(outcome.messages.total, 3 * peers, "nothing else counts");
                if latency.starts_with("fixed") {
                    assert_eq!(summary.time, Some(if nodes == 1 { 0.0 } else { 3.0 }));
                }
            }
        }
    }
}

#[test]
fn bad_weather_never_makes_two_masters_and_always_ends_with_one() {
    for spec in weather("majority-lease") {
        all_hold::<Election>(&spec, 250);
    }
}

#[test]
fn slips_are_found_in_the_same_weather() {
    for name in ["majority-lease-forgetful", "majority-lease-trusting"] {
        let found = |spec: &Spec<Election>| {
            let failure = swept(spec, 300).first_failure;
            failure.is_some_and(|(_, breach)| breach.name == "one-master")
        };
        assert!(weather(name).iter().any(found), "{name} is not found");
    }
}

/// What nodes tell their users, and when.
#[derive(Default)]
struct Told(Vec<(Time, NodeId, Event)>);

impl Observer<Command, Event> for Told {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Moment::Effect { time, node, effect: Done::Emit(event) } = moment {
            self.0.push((*time, *node, **event));
        }
    }
}

impl Told {
    /// Who became a leader, and when.
    fn crowned(&self) -> Vec<(Time, usize)> {
        let own = |(time, node, event): &(Time, NodeId, Event)| match event {
            Event::Elected { leader, .. } if leader == node => Some((*time, node.index() + 1)),
            _ => None,
        };
        self.0.iter().filter_map(own).collect()
    }

    /// When a node first told this, after an instant.
    fn first(&self, number: usize, after: Time, is_it: impl Fn(&Event) -> bool) -> Option<Time> {
        let told = self.0.iter().filter(|(time, node, _)| Some(*node) == node_of(number) && *time >= after);
        told.filter(|(_, _, event)| is_it(event)).map(|(time, _, _)| *time).next()
    }
}

fn watched(spec: &Spec<Election>) -> (Outcome<Election>, Told) {
    experiment::run_with(spec, std::io::sink(), Told::default()).unwrap()
}

fn scenario(algorithm: &str, nodes: usize, name: &str) -> Spec<Election> {
    let path = format!("{}/../../docs/scenarios/{name}.script", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let script = Some(Script::parse(&text, Election::COMMANDS).unwrap_or_else(|error| panic!("{path}: {error}")));
    Spec { nodes, script, latency: parsed("fixed:1ms"), ..Spec::named(algorithm).unwrap() }
}

fn breaches(outcome: &Outcome<Election>) -> Vec<&'static str> {
    outcome.breaches().map(|verdict| verdict.name).collect()
}

fn is_ended(event: &Event) -> bool {
    matches!(event, Event::Ended { .. })
}

/// From the resignation to the next master it takes three message times, and everyone knows it after four.
#[test]
fn a_planned_handover_takes_three_message_times() {
    let (outcome, told) = watched(&scenario("majority-lease", 5, "handover"));
    assert_eq!(breaches(&outcome), Vec::<&str>::new());
    assert_eq!(told.crowned(), [(ms(2), 1), (ms(53), 5)]);
    assert_eq!(told.first(1, ms(0), is_ended), Some(ms(50)));
    for number in 1..=4 {
        let learnt = |event: &Event| matches!(event, Event::Elected { leader, .. } if Some(*leader) == node_of(5));
        assert_eq!(told.first(number, ms(0), learnt), Some(ms(54)));
    }
}

/// Whoever ranks best of those who renewed is the successor, and a lost release costs no more than the lease.
#[test]
fn a_handover_goes_to_the_best_of_the_loyal_and_survives_loss() {
    let cut = |text: &str| vec![parsed(text)];
    let handover = || scenario("majority-lease", 5, "handover");
    let (outcome, told) = watched(&Spec { faults: cut("cut 5 | rest at 20ms for 100ms"), ..handover() });
    assert_eq!((breaches(&outcome), told.crowned()[1]), (vec![], (ms(53), 4)));
    let (outcome, told) = watched(&Spec { faults: cut("cut 1 | rest at 50ms for 1ms"), ..handover() });
    assert_eq!(breaches(&outcome), Vec::<&str>::new());
    assert_eq!(told.crowned().len(), 2);
    assert!(told.crowned()[1].0 > ms(80), "{:?}", told.crowned());
}

/// A dead master is missed for a lease, without anybody's command.
#[test]
fn a_dead_master_is_replaced_after_its_lease() {
    for seed in 0..50 {
        let script = Some(Script::parse("campaign 1\ncrash 1 at 50ms", Election::COMMANDS).unwrap());
        let (outcome, told) = watched(&Spec { seed, script, ..scenario("majority-lease", 5, "handover") });
        assert_eq!(breaches(&outcome), Vec::<&str>::new(), "seed {seed}");
        let crowned = told.crowned();
        assert!(crowned.len() == 2 && crowned[1].0 >= ms(80), "seed {seed}: {crowned:?}");
    }
}

const SLOW: &str = "drift 1 by -400000ppm";

/// A master whose clock is too slow trusts promises that are over. Told of that bound, it does not.
#[test]
fn drift_outside_the_bound_makes_two_masters_and_inside_it_none() {
    let faults = vec![parsed(SLOW), parsed("cut 1 | rest at 50ms for 100ms")];
    let slow = Spec { faults, latency: parsed("fixed:1ms"), ..leased(3, "1") };
    assert_eq!(breaches(&run(&slow)), ["one-master"]);
    let settings = Settings { drift_ppm: Some(400_000), ..slow.settings.clone() };
    for seed in 0..200 {
        let outcome = run(&Spec { seed, settings: settings.clone(), ..slow.clone() });
        assert_eq!(breaches(&outcome), Vec::<&str>::new(), "seed {seed}");
    }
}

#[test]
fn a_voter_that_restarts_and_forgets_its_promise_makes_two_masters() {
    let (outcome, told) = watched(&scenario("majority-lease-forgetful", 3, "forgotten-promise"));
    assert_eq!(breaches(&outcome), ["one-master"]);
    assert_eq!(told.crowned()[..2], [(ms(2), 1), (ms(14), 2)]);
    for seed in 0..200 {
        let (outcome, told) = watched(&Spec { seed, ..scenario("majority-lease", 3, "forgotten-promise") });
        assert_eq!(breaches(&outcome), Vec::<&str>::new(), "seed {seed}");
        let refused = |event: &Event| *event == Event::Refused(Refusal::NotEligible);
        assert_eq!(told.first(2, ms(0), refused), Some(ms(12)), "seed {seed}");
    }
}

/// The same partition under bully has two leaders at once, and under majority lease one after the other.
#[test]
fn a_partition_splits_a_bully_and_not_a_majority() {
    let (_, told) = watched(&Spec { links: LinkChoice::Bare, ..scenario("bully", 5, "split-brain") });
    let crowned = told.crowned();
    assert_eq!(crowned.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [5, 3, 5], "{crowned:?}");
    let deposed = told.first(5, ms(1), |event| matches!(event, Event::Began { .. } | Event::Ended { .. }));
    assert!(deposed.is_none_or(|deposed| deposed > ms(200)), "both led until after the partition: {deposed:?}");

    for seed in 0..200 {
        let (outcome, told) = watched(&Spec { seed, ..scenario("majority-lease", 5, "split-brain") });
        assert_eq!(breaches(&outcome), Vec::<&str>::new(), "seed {seed}");
        let during: Vec<_> = told.crowned().into_iter().filter(|(time, _)| *time < ms(200)).collect();
        assert!(during.len() == 2 && during[0] == (ms(2), 5) && during[1].1 <= 3, "seed {seed}: {during:?}");
        let stopped = told.first(5, ms(0), is_ended).unwrap();
        assert!(stopped < during[1].0, "seed {seed}: {stopped}, {during:?}");
        let refused = told.first(1, ms(0), |event| *event == Event::Refused(Refusal::LeaseLasts));
        assert_eq!(refused, Some(ms(60)), "seed {seed}");
    }
}

/// A check of three nodes with one crash and one restart in which time stands still: a lease is long.
fn with_a_crash(algorithm: &str) -> CheckRun<Election> {
    let mut check = CheckSpec::<Election>::named(algorithm).unwrap();
    check.habits.settings.starters = parsed("1,2");
    check.setup.timing = Some(Timing::until(Time::ZERO));
    (check.setup.crashes, check.setup.restarts) = (1, 1);
    check.effort.properties = Some(["one-leader-an-epoch", "epochs-grow", "one-master"].map(String::from).into());
    common::checked(&check)
}

/// Clocks at the ends of their drift, every order, and time stops before the end of each lease as well. Nodes take clocks to be off by one in a
/// thousand at most: five are too much at once, and one is not where the same number of steps is far behind.
#[test]
fn the_checker_tells_drift_within_the_bound_from_drift_beyond_it() {
    let check = |drift_ppm| {
        let mut check = CheckSpec::<Election>::named("majority-lease").unwrap();
        check.habits.settings.starters = parsed("1,2");
        check.habits.settings.lease = Some(parsed("20ms"));
        check.setup.timing = Some(Timing { drift_ppm, ..Timing::until(ms(21)) });
        check.effort.properties = Some(vec!["one-master".to_owned()]);
        check.effort.first = true;
        check::run(&check, &mut |_, progress| progress.states < 500_000)
            .unwrap_or_else(|error| panic!("{}: {error}", check.command()))
    };
    let beyond = check(5_000);
    assert_eq!(broken(&beyond), [("one-master", 9)]);
    let within = check(1_000);
    assert_eq!(broken(&within), []);
    assert!(within.findings.states.depth > beyond.findings.states.depth, "{:?}", within.findings.states);
}

/// Every order of what can happen within a lease: whoever restarts must be silent.
#[test]
fn the_checker_finds_the_forgotten_promise_and_nothing_else() {
    assert_eq!(broken(&with_a_crash("majority-lease-forgetful")), [("one-master", 12)]);
    let right = with_a_crash("majority-lease");
    assert!(right.findings.is_complete());
    assert_eq!(broken(&right), []);
}
