//! Mutual exclusion in reports: roles, figures, the example, progress.

use super::compare::ExpectedCost;
use super::run::{Change, LockPhase, MutexSummary, Pattern, observed_change};
use super::{Mutex, MutexEntry, Settings};
use crate::algorithm::Algorithm;
use crate::family::PresentFamily;
use crate::figures::{
    CostFigure, FigureRow, ListedCost, NotJudged, RunResults, format_count, format_figure, format_in_unit,
};
use crate::spec::Spec;
use quorate_core::mutex::{Command, Cost, Event, ServiceOrder};
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::Moment;
use quorate_journal::property::PropertyKind;
use quorate_journal::role::Role;
use quorate_journal::settings::{Latency, Length};

impl PresentFamily for Mutex {
    const ROLES: &'static [(Role, &'static str)] =
        &[(Role::Idle, "idle"), (Role::Waiting, "waiting"), (Role::Chosen, "in the critical section")];
    const CHOSEN_NODE_BLOCKS_OTHERS: bool = true;
    const EXAMPLE_CAPTION: &'static str = "Three nodes request entry at once; one message time is 1 ms";
    const CONTROL_MESSAGES: &'static str = "acknowledgements and retransmissions";
    const ADVICE_IF_NEVER_HELD: &'static str = "--workload all or more --entries";
    const PROGRESS_UNIT: &'static str = "requests";

    fn role_after(moment: &Moment<'_, Command, Event>, before: &[Role]) -> Option<(NodeId, Role)> {
        let (_, node, change) = observed_change(moment)?;
        let phase = match before.get(node.index())? {
            Role::Waiting => LockPhase::Waiting,
            Role::Chosen => LockPhase::Holding,
            Role::Idle | Role::Follows | Role::Paused | Role::Down => LockPhase::Idle,
        };
        let role = match phase.after(change) {
            LockPhase::Idle => Role::Idle,
            LockPhase::Waiting => Role::Waiting,
            LockPhase::Holding => Role::Chosen,
        };
        Some((node, role))
    }

    fn listed_cost(entry: &'static MutexEntry) -> Option<ListedCost> {
        let Cost { messages_formula: messages, client_delay_formula: client, sync_delay_formula: sync, .. } =
            entry.facts.cost;
        let figures = [("messages_per_entry", messages), ("client_delay", client), ("sync_delay", sync)];
        let figures = figures.map(|(name, formula)| (name, CostFigure::Formula(formula)));
        Some(ListedCost { unit: "per entry", figures: figures.into() })
    }

    /// Every node sends one request at the start.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        let settings = Settings { entries: 3, workload: Pattern::All, ..Settings::default() };
        Spec { latency, settings, ..Spec::new(algorithm) }
    }

    fn figure_rows(results: &RunResults<'_, Self>) -> Vec<FigureRow> {
        let RunResults { spec, summary, .. } = results;
        let facts = spec.algorithm.facts;
        let mut rows = vec![FigureRow::measured("entries", summary.entries)];
        rows.extend(cost_rows(spec, summary));
        rows.push(FigureRow::measured("most overtaken", summary.max_overtaken));
        if let Some(count) = summary.out_of_order {
            let promise =
                if facts.order == ServiceOrder::HappenedBefore { "0: happened-before order" } else { "no promise" };
            rows.push(FigureRow::new("out of order", count, promise));
        }
        if let Some(views) = summary.views {
            let resource_use = format!("{} times, rejected {}", views.accepted, format_count(views.refused, "time"));
            rows.extend([
                FigureRow::measured("last view", views.epoch),
                FigureRow::measured("entries lost", views.lost),
                FigureRow::measured("resource used", resource_use),
            ]);
            let recovery = views.recovery_ns.map(|nanos| Length(Duration::from_nanos(nanos)));
            rows.extend(recovery.map(|recovery| FigureRow::measured("next entry after a crash", recovery)));
        }
        rows
    }

    fn not_judged(results: &RunResults<'_, Self>) -> Vec<NotJudged> {
        let RunResults { spec, summary, .. } = results;
        if spec.algorithm.facts.order != ServiceOrder::HappenedBefore || summary.out_of_order.is_some() {
            return Vec::new();
        }
        let reason = match spec.settings.views {
            Some(_) => "not judged: it is promised only within one view, and here views can change",
            None => "not judged: the group is too large for vector clocks",
        };
        vec![NotJudged { kind: PropertyKind::Always, name: "happened-before-order", reason: reason.to_owned() }]
    }

    fn describe_progress(spec: &Spec<Self>, summary: &MutexSummary) -> String {
        if spec.is_scripted() {
            return String::new();
        }
        format!("; {} of {} planned entries took place", summary.entries, spec.settings.entries)
    }

    fn progress_goal(spec: &Spec<Self>) -> u64 {
        spec.settings.entries
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(observed_change(moment), Some((_, _, Change::Leaves | Change::EndsWithoutEntry)))
    }
}

fn cost_rows(spec: &Spec<Mutex>, summary: &MutexSummary) -> Vec<FigureRow> {
    let (facts, expected_cost) = (spec.algorithm.facts, ExpectedCost::of_experiment(spec.algorithm.entry(), spec));
    let counted_entries = summary.other_nodes.map_or(summary.entries, |others| others.entries);
    let expected = match expected_cost.total_messages(counted_entries).exact() {
        // The formula does not include idle traffic.
        Some(_) if facts.is_never_quiescent => expected_cost.messages_formula.to_owned(),
        // Without a coordinator, show the number with its formula.
        Some(total) if counted_entries > 0 && !expected_cost.has_coordinator => {
            format!(
                "{} = {}",
                format_figure(Some(total as f64 / counted_entries as f64)),
                expected_cost.messages_formula
            )
        }
        Some(total) if counted_entries > 0 => format_figure(Some(total as f64 / counted_entries as f64)),
        Some(_) | None => expected_cost.messages_formula.to_owned(),
    };
    let mut rows = match (&summary.other_nodes, &summary.coordinator) {
        (Some(others), Some(own)) => vec![
            FigureRow::new("messages per entry", format_figure(others.messages_per_entry), expected),
            FigureRow::new("  the coordinator's own", format_figure(own.messages_per_entry), "0"),
        ],
        _ => vec![FigureRow::new("messages per entry", format_figure(summary.messages_per_entry), expected)],
    };
    let delays = [
        ("client delay", summary.client_delay, expected_cost.client_formula),
        ("synchronization delay", summary.sync_delay, expected_cost.sync_formula),
    ];
    rows.extend(delays.into_iter().map(|(name, measured, formula)| {
        let samples = measured.map_or(String::new(), |delay| format!("   ({})", format_count(delay.samples, "sample")));
        FigureRow::new(
            name,
            format_in_unit(measured.map(|delay| delay.mean), summary.delay_unit),
            format!("{formula}{samples}"),
        )
    }));
    rows
}
