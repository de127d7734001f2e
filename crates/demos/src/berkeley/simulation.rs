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
//! // The first milestone is the start of the run, when no clock has been adjusted.
//! assert!(report.milestones[0].spread > Duration::from_millis(100));
//! assert!(report.rounds.iter().all(|round| round.spread_after.is_none_or(|after| after <= scenario.uncertainty())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::observer::SpreadObserver;
use super::{Berkeley, BerkeleyError, NodeClock, Report, Scenario};
use quorate_core::election::{Bully, Command, Plan};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::settings::{Chance, Fault, Latency};
use quorate_sim::{LinkDefaults, Setup, World};
use std::sync::Arc;

pub fn run(scenario: &Scenario) -> Result<Report, BerkeleyError> {
    scenario.validate()?;
    let plan = Arc::new(Plan { absent: initially_crashed(scenario), ..Plan::new(scenario.nodes, scenario.bounds()) });
    let (group, settings) = (plan.group.clone(), scenario.averaging_settings());
    let make_node = move |me| Berkeley::new(me, plan.group.clone(), settings, Bully::new(me, Arc::clone(&plan)));
    let mut world = World::new(&setup(scenario), make_node, SpreadObserver::new(scenario));
    let clocks = scenario.draw_clocks();
    let clock_faults = clocks.iter().flat_map(NodeClock::faults);
    for fault in clock_faults.chain(scenario.faults.iter().cloned()) {
        world.schedule_fault(fault);
    }
    world.start();
    for node in group.iter() {
        world.schedule_command(Time::ZERO, node, Command::Campaign);
    }
    let end = Time::ZERO + scenario.run_length;
    while world.next_time().is_some_and(|next| next <= end) && world.advance() {
        // No client reacts: the observer records all that matters.
        while world.next_client_event().is_some() {}
    }
    Ok(world.into_observer().into_report(end, clocks))
}

/// The processing of an input and the sync of a disk take no time.
fn setup(scenario: &Scenario) -> Setup {
    let instant = Latency::Fixed(Duration::ZERO);
    let link_defaults =
        LinkDefaults { latency: scenario.latency, loss: Chance::NEVER, duplicate: Chance::NEVER, is_fifo: false };
    Setup { nodes: scenario.nodes, seed: scenario.seed, link_defaults, processing: instant, sync: instant }
}

/// The nodes that a fault crashes at time zero.
fn initially_crashed(scenario: &Scenario) -> Group {
    let initial_faults = scenario.faults.iter().filter(|timed| timed.at == Duration::ZERO);
    initial_faults.filter_map(|timed| crashed_node(&timed.fault)).collect()
}

fn crashed_node(fault: &Fault) -> Option<NodeId> {
    if let Fault::Crash { node, .. } = fault { Some(*node) } else { None }
}
