//! Simulates clock averaging: a group elects a leader, and the leader keeps all clocks together.
//!
//! Each clock has a skew and a drift of its own, which the seed draws. The leader that the bully
//! algorithm finds averages the clocks, round after round. The measured quantity is the spread: the
//! largest difference between the adjusted clocks of any two nodes that are up, at one true
//! instant. It falls with the first round, grows with the drift while there is no leader, and falls
//! again with the first round of the next leader.
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

use super::observer::SpreadObserver;
use super::{Berkeley, BerkeleyError, NodeClock, Report, Scenario};
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
    let mut world = World::new(&setup(scenario), make, SpreadObserver::new(scenario));
    let clocks = scenario.clocks();
    let off = clocks.iter().flat_map(NodeClock::faults);
    for fault in off.chain(scenario.faults.iter().cloned()) {
        world.schedule(fault);
    }
    world.start();
    for node in group.iter() {
        world.command(Time::ZERO, node, Command::Campaign);
    }
    let end = Time::ZERO + scenario.length;
    while world.next_time().is_some_and(|next| next <= end) && world.advance() {
        // No client reacts: the observer records all that matters.
        while world.next_client_event().is_some() {}
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
