//! Deadlock detectors in reports: roles, figures, the example, progress.

use super::run::DeadlockSummary;
use super::{Deadlock, DeadlockEntry, Settings};
use crate::algorithm::Algorithm;
use crate::family::{AlgorithmWrapper, PresentFamily};
use crate::figures::{CostFigure, FigureRow, ListedCost, RunResults, format_count, format_in_unit};
use crate::spec::Spec;
use quorate_core::about::About;
use quorate_core::deadlock::{Command, Event, Facts, Policy};
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::{Moment, ObservedEffect, WorldEvent};
use quorate_journal::role::Role;
use quorate_journal::settings::Latency;

/// With this seed, three processes with one request each deadlock under every detector.
const EXAMPLE_SEED: u64 = 3;

impl PresentFamily for Deadlock {
    const ROLES: &'static [(Role, &'static str)] =
        &[(Role::Idle, "running"), (Role::Waiting, "waiting"), (Role::Chosen, "victim")];
    const CHOSEN_NODE_BLOCKS_OTHERS: bool = false;
    const EXAMPLE_CAPTION: &'static str = "Three processes send requests to each other; one message time is 1 ms";
    const CONTROL_MESSAGES: &'static str = "requests and answers of the processes";
    const ADVICE_IF_NEVER_HELD: &'static str = "more --asks or a larger --fan-out";
    const PROGRESS_UNIT: &'static str = "waits";

    fn role_after(moment: &Moment<'_, Command, Event>, _before: &[Role]) -> Option<(NodeId, Role)> {
        match moment {
            Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } => match event {
                Event::Waits { agent, .. } if !agent.is_resource() => Some((*node, Role::Waiting)),
                Event::Runs { agent, .. } | Event::Cancelled { agent, .. } if !agent.is_resource() => {
                    Some((*node, Role::Idle))
                }
                Event::Victim { .. } => Some((*node, Role::Chosen)),
                Event::Waits { .. }
                | Event::Runs { .. }
                | Event::Cancelled { .. }
                | Event::Asked { .. }
                | Event::Answers { .. }
                | Event::Withdrawn { .. }
                | Event::Deadlock(_)
                | Event::Refused(_) => None,
            },
            Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
                Some((*node, Role::Idle))
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
        }
    }

    fn wrapper(entry: &DeadlockEntry) -> Option<AlgorithmWrapper> {
        let [requests, locks, resolution] = Facts::shared_sources().map(About::from_source);
        let rules = [requests.rules, locks.rules, resolution.rules].concat();
        let title = "Rules for every detector: processes that send requests (RQ) or acquire resources (LK), and the choice of victims (RS)";
        entry.facts.profile.flaw.is_none().then_some(AlgorithmWrapper { title, about: About { rules, ..resolution } })
    }

    fn listed_cost(entry: &'static DeadlockEntry) -> Option<ListedCost> {
        let formula = CostFigure::Formula(entry.facts.formula);
        Some(ListedCost { unit: "per detection", figures: vec![("messages_per_look", formula)] })
    }

    /// A deadlock that is detected and resolved.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let settings = Settings { fan_out: 1, victim: Some(Policy::Youngest), ..Settings::default() };
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec { latency, seed: EXAMPLE_SEED, settings, ..Spec::new(algorithm) }
    }

    fn figure_rows(results: &RunResults<'_, Self>) -> Vec<FigureRow> {
        let RunResults { spec, summary, .. } = results;
        let unit = summary.delay_unit;
        let deadlocked =
            if summary.deadlocked_at_end.is_empty() { "none".to_owned() } else { summary.deadlocked_at_end.join(", ") };
        let cost = format!("per detection {}", spec.algorithm.facts.formula);
        let mut rows = vec![
            FigureRow::measured("waits of one agent for another", summary.waits),
            FigureRow::measured("  between two sites", summary.waits_between_sites),
            FigureRow::measured("deadlocks reported", summary.reported_deadlocks),
            FigureRow::new("  false reports", summary.false_reports, "0"),
            FigureRow::measured("aborted waits", summary.aborts),
            FigureRow::measured("deadlocked at the end", deadlocked),
            FigureRow::new("messages to detect deadlocks", summary.detector_messages, cost),
            FigureRow::measured("messages to resolve deadlocks", summary.resolution_messages),
            FigureRow::measured("mean time from deadlock to report", format_in_unit(summary.mean_delay, unit)),
            FigureRow::measured("  longest", format_in_unit(summary.max_delay, unit)),
        ];
        let names = std::iter::once("reports").chain(std::iter::repeat(""));
        rows.extend(names.zip(&summary.reports).map(|(name, report)| FigureRow::new(name, "", report.as_str())));
        rows
    }

    fn describe_progress(_spec: &Spec<Self>, summary: &DeadlockSummary) -> String {
        format!("; {} of one agent for another so far", format_count(summary.waits, "wait"))
    }

    fn progress_goal(spec: &Spec<Self>) -> u64 {
        spec.settings.rounds.saturating_mul(spec.settings.processes.unwrap_or(spec.nodes) as u64)
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(moment, Moment::Effect { effect: ObservedEffect::Emit(Event::Waits { agent, .. }), .. } if !agent.is_resource())
    }
}
