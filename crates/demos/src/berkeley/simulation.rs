//! A leader at work: a group elects a leader, and the leader keeps everyone's clock together.
//!
//! Clocks are off by up to the skew and drift by up to the drift, each by its own amount, which the seed draws. The leader that the bully
//! algorithm finds averages them, round after round. What is measured is the spread: the largest difference between the clocks of any
//! two nodes that are up, as they are set, at one true instant. It falls with the first round, grows with the drift while there is
//! no leader, and falls again when the next one is at work.
//!
//! ```
//! use quorate_demos::berkeley::{self, Scenario};
//! use quorate_core::Duration;
//!
//! let scenario = Scenario { faults: vec!["crash 5 at 8s".parse()?], ..Scenario::default() };
//! let report = berkeley::run(&scenario)?;
//! assert!(report.milestones[0].spread > Duration::from_millis(100));
//! assert!(report.rounds.iter().all(|round| round.after.is_none_or(|after| after <= scenario.uncertainty())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::watch::Watch;
use super::{Berkeley, BerkeleyError, ClockOf, Report, Scenario};
use quorate_core::election::{Bully, Command, Plan};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::settings::{Chance, Fault, Latency};
use quorate_sim::{Setup, Wire, World};
use std::sync::Arc;

pub fn run(scenario: &Scenario) -> Result<Report, BerkeleyError> {
    scenario.validate()?;
    let plan = Arc::new(Plan { absent: absent(scenario), ..Plan::new(scenario.nodes, scenario.bounds()) });
    let (group, terms) = (plan.group.clone(), scenario.terms());
    let make = move |me| Berkeley::new(me, plan.group.clone(), terms, Bully::new(me, Arc::clone(&plan)));
    let mut world = World::new(&setup(scenario), make, Watch::new(scenario));
    let clocks = scenario.clocks();
    let off = clocks.iter().flat_map(ClockOf::faults);
    for fault in off.chain(scenario.faults.iter().cloned()) {
        world.schedule(fault);
    }
    world.start();
    for node in group.iter() {
        world.command(Time::ZERO, node, Command::Campaign);
    }
    let end = Time::ZERO + scenario.length;
    while world.next_time().is_some_and(|next| next <= end) && world.advance() {
        // Nobody listens: all that matters is observed.
        while world.next_news().is_some() {}
    }
    Ok(world.into_observer().report(end, clocks))
}

fn setup(scenario: &Scenario) -> Setup {
    let instant = Latency::Fixed(Duration::ZERO);
    let wire = Wire { latency: scenario.latency, loss: Chance::NEVER, duplicate: Chance::NEVER, fifo: false };
    Setup { nodes: scenario.nodes, seed: scenario.seed, wire, processing: instant, sync: instant }
}

fn absent(scenario: &Scenario) -> Group {
    let at_once = scenario.faults.iter().filter(|timed| timed.at == Duration::ZERO);
    at_once.filter_map(|timed| crashed(&timed.fault)).collect()
}

fn crashed(fault: &Fault) -> Option<NodeId> {
    if let Fault::Crash { node, .. } = fault { Some(*node) } else { None }
}
