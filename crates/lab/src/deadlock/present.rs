//! Deadlock detectors in reports: roles, figures, the example, progress.

use super::run::DeadlockSummary;
use super::{Deadlock, DeadlockEntry, Settings};
use crate::algorithm::Algorithm;
use crate::family::{AlgorithmWrapper, PresentFamily};
use crate::figures::{Figures, Price, PriceFigure, Row, count, in_unit};
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
    const EXAMPLE: &'static str = "Three processes send requests to each other; one message time is 1 ms";
    const CONTROL: &'static str = "requests and answers of the processes";
    const ADVICE: &'static str = "more --asks or a larger --fan-out";
    const PROGRESS: &'static str = "waits";

    fn role_after(moment: &Moment<'_, Command, Event>, _before: &[Role]) -> Option<(NodeId, Role)> {
        match moment {
            Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } => match event {
                Event::Waits { agent, .. } if !agent.is_resource() => Some((*node, Role::Waiting)),
                Event::Runs { agent, .. } | Event::GaveUp { agent, .. } if !agent.is_resource() => {
                    Some((*node, Role::Idle))
                }
                Event::Victim { .. } => Some((*node, Role::Chosen)),
                Event::Waits { .. }
                | Event::Runs { .. }
                | Event::GaveUp { .. }
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
        let [asking, taking, resolving] = Facts::sources_around().map(About::from_source);
        let rules = [asking.rules, taking.rules, resolving.rules].concat();
        let title = "Rules around it: processes that send requests (RQ) or acquire resources (LK), and the choice of victims (RS)";
        entry.facts.profile.flaw.is_none().then_some(AlgorithmWrapper { title, about: About { rules, ..resolving } })
    }

    fn price(entry: &'static DeadlockEntry) -> Option<Price> {
        let formula = PriceFigure::Formula(entry.facts.formula);
        Some(Price { of: "a detection", figures: vec![("messages_per_look", formula)] })
    }

    /// A deadlock that is detected and resolved.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let settings = Settings { fan_out: 1, victim: Some(Policy::Youngest), ..Settings::default() };
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec { latency, seed: EXAMPLE_SEED, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>) -> Vec<Row> {
        let Figures { spec, summary, .. } = figures;
        let unit = summary.delay_unit;
        let stuck = if summary.stuck_at_end.is_empty() { "none".to_owned() } else { summary.stuck_at_end.join(", ") };
        let cost = format!("per detection {}", spec.algorithm.facts.formula);
        let mut rows = vec![
            Row::measured("waits of one process for another", summary.waits),
            Row::measured("  between two sites", summary.waits_between_sites),
            Row::measured("deadlocks reported", summary.deadlocks_told),
            Row::new("  false reports", summary.phantoms_told, "0"),
            Row::measured("aborted", summary.gave_up),
            Row::measured("deadlocked at the end", stuck),
            Row::new("messages to detect them", summary.detector_messages, cost),
            Row::measured("messages to resolve them", summary.resolution_messages),
            Row::measured("from deadlock to report", in_unit(summary.delay_mean, unit)),
            Row::measured("  slowest", in_unit(summary.delay_most, unit)),
        ];
        let names = std::iter::once("reports").chain(std::iter::repeat(""));
        rows.extend(names.zip(&summary.reports).map(|(name, report)| Row::new(name, "", report.as_str())));
        rows
    }

    fn progress(_spec: &Spec<Self>, summary: &DeadlockSummary) -> String {
        format!("; {} of one process for another so far", count(summary.waits, "wait"))
    }

    fn goal(spec: &Spec<Self>) -> u64 {
        spec.settings.rounds.saturating_mul(spec.settings.processes.unwrap_or(spec.nodes) as u64)
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(moment, Moment::Effect { effect: ObservedEffect::Emit(Event::Waits { agent, .. }), .. } if !agent.is_resource())
    }
}
