//! Effects of failures, roles of victims, and repeated runs.

use super::{Example, FailureEffect, FailureMode, FailureStudy, Finding, Victim, run_study};
use crate::experiment;
use crate::mutex::MutexEntry;
use crate::mutex::compare::{Variants, select_algorithms};
use crate::mutex::run::{LockPhase, observed_change};
use quorate_core::NodeId;
use quorate_core::mutex::{Command, Event};
use quorate_journal::moment::{Moment, Observer, WorldEvent};
use quorate_journal::workload::Ending;

fn entry(name: &str) -> &'static MutexEntry {
    let [entry] = select_algorithms(&[name.into()], Variants::Default).unwrap()[..] else {
        panic!("one name, one algorithm")
    };
    entry
}

fn findings(name: &str, nodes: usize, runs: u64) -> Vec<Finding> {
    run_study(&FailureStudy { runs, ..FailureStudy::new(entry(name), nodes) }, &mut || true).unwrap()
}

fn worst_effects(name: &str, mode: FailureMode) -> Vec<(Victim, Option<FailureEffect>)> {
    let of_mode = findings(name, 5, 60).into_iter().filter(|finding| finding.mode == mode);
    of_mode.map(|found| (found.victim, found.tally.worst_effect())).collect()
}

/// A restarted coordinator, which has forgotten the holder, grants a second entry. An idle client
/// matters to no other node.
#[test]
fn a_coordinator_is_essential_and_an_idle_client_is_not() {
    let (stops, continues) = (Some(FailureEffect::Stops), Some(FailureEffect::Continues));
    let dies =
        [(Victim::Coordinator, stops), (Victim::Holder, stops), (Victim::Waiter, stops), (Victim::Idle, continues)];
    assert_eq!(worst_effects("central", FailureMode::Dies), dies);
    let restarts = worst_effects("central", FailureMode::Restarts);
    assert_eq!(restarts.first(), Some(&(Victim::Coordinator, Some(FailureEffect::Unsafe))));
    assert_eq!(restarts.last(), Some(&(Victim::Idle, continues)));
}

/// Every node's permission is needed, so every node must be live. The clock of a restarted node
/// starts again, so its next request looks older than the pending ones, and two nodes may enter.
#[test]
fn asking_all_nodes_requires_all_nodes() {
    let all = [Victim::Holder, Victim::Waiter, Victim::Idle];
    assert_eq!(
        worst_effects("ricart-agrawala", FailureMode::Dies),
        all.map(|victim| (victim, Some(FailureEffect::Stops)))
    );
    assert_eq!(
        worst_effects("ricart-agrawala", FailureMode::Restarts).last(),
        Some(&(Victim::Idle, Some(FailureEffect::Unsafe)))
    );
}

/// Records the phases of all nodes at the crash.
struct CrashObserver {
    phases: Vec<LockPhase>,
    crash: Option<(NodeId, Vec<LockPhase>)>,
}

impl Observer<Command, Event> for CrashObserver {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Moment::World { event: WorldEvent::Crashed { node, .. }, .. } = moment {
            self.crash = Some((*node, self.phases.clone()));
        }
        if let Some((_, node, change)) = observed_change(moment) {
            let phase = &mut self.phases[node.index()];
            *phase = phase.after(change);
        }
    }
}

/// The example runs again with a journal and an observer, and has the same result.
#[test]
fn every_example_reproduces_its_finding() {
    let mut observed_effects = Vec::new();
    for name in ["central", "ricart-agrawala"] {
        let coordinator = (entry(name).facts.coordinator)(&quorate_core::Group::of_size(4));
        for Finding { victim, mode, tally } in findings(name, 4, 12) {
            let Example { spec, effect, violation } = tally.example.unwrap();
            let command = spec.command("sim");
            let observer = CrashObserver { phases: vec![LockPhase::Idle; 4], crash: None };
            let (outcome, observer) = experiment::run_with(&spec, std::io::sink(), observer).unwrap();
            let (node, phases) = observer.crash.expect("a node crashes");
            let others = || phases.iter().enumerate().filter(|(index, _)| *index != node.index());
            let another_is = |wanted: LockPhase| others().any(|(_, phase)| *phase == wanted);
            let (another_holds, another_waits) = (another_is(LockPhase::Holding), another_is(LockPhase::Waiting));
            let has_role = match (victim, phases[node.index()]) {
                (Victim::Coordinator, LockPhase::Idle) => coordinator == Some(node) && another_holds && another_waits,
                (Victim::Holder, LockPhase::Holding) => coordinator != Some(node) && another_waits,
                (Victim::Waiter, LockPhase::Waiting) => coordinator != Some(node),
                (Victim::Idle, LockPhase::Idle) => coordinator != Some(node) && another_holds,
                (Victim::Coordinator | Victim::Holder | Victim::Waiter | Victim::Idle, _) => false,
            };
            assert!(has_role, "{victim:?} is node {node} among {phases:?}: {command}");
            assert_eq!(spec.faults[0].duration.is_some(), mode == FailureMode::Restarts);
            let is_unsafe = outcome.violated_verdicts().any(|verdict| verdict.name == "exclusion");
            let is_stuck = outcome.ending != Ending::Done;
            let expected = match effect {
                FailureEffect::Continues => (false, false),
                FailureEffect::Stops => (false, true),
                FailureEffect::Unsafe => (true, is_stuck),
            };
            assert_eq!((is_unsafe, is_stuck), expected, "{command}");
            assert_eq!(violation.is_some(), effect != FailureEffect::Continues, "{command}");
            observed_effects.push(effect);
        }
    }
    observed_effects.sort();
    observed_effects.dedup();
    assert_eq!(observed_effects, [FailureEffect::Continues, FailureEffect::Stops, FailureEffect::Unsafe]);
}

#[test]
fn equal_seeds_give_equal_findings() {
    let tallies = |seed| {
        let study = FailureStudy { runs: 15, seed, ..FailureStudy::new(entry("ricart-agrawala"), 4) };
        let found = run_study(&study, &mut || true).unwrap();
        found.into_iter().map(|finding| finding.tally).collect::<Vec<_>>()
    };
    assert_eq!(tallies(1), tallies(1));
    assert_ne!(tallies(1), tallies(1_000));
    assert!(tallies(1).iter().all(|tally| tally.runs() == 15));
    assert!(tallies(u64::MAX).iter().all(|tally| tally.runs() == 15), "seeds wrap around");
}

#[test]
fn an_interrupted_study_returns_its_findings_so_far() {
    let mut remaining = 3;
    let mut should_continue = || {
        remaining -= 1;
        remaining >= 0
    };
    let found =
        run_study(&FailureStudy { runs: 50, ..FailureStudy::new(entry("central"), 5) }, &mut should_continue).unwrap();
    assert_eq!(found.len(), 8, "four victims, two failure modes");
    assert!(
        found.iter().all(|finding| finding.tally.runs() <= 3) && found.iter().any(|finding| finding.tally.runs() > 0)
    );
    let nothing = run_study(&FailureStudy::new(entry("central"), 5), &mut || false).unwrap();
    assert!(nothing.iter().all(|finding| finding.tally.worst_effect().is_none() && finding.tally.example.is_none()));
}

/// A pair is too small for a coordinator, a holder and a waiter.
#[test]
fn a_pair_has_no_coordinator_runs() {
    let found = findings("central", 2, 5);
    assert!(
        found.iter().filter(|finding| finding.victim == Victim::Coordinator).all(|finding| finding.tally.runs() == 0)
    );
}
