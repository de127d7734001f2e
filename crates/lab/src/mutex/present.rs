//! Mutual exclusion in reports: roles, figures, the example, progress.

use super::compare::ExpectedCost;
use super::run::{Change, LockPhase, MutexSummary, Pattern, change};
use super::{Mutex, MutexEntry, Settings};
use crate::algorithm::Algorithm;
use crate::family::PresentFamily;
use crate::figures::{Figures, NotJudged, Price, PriceFigure, Row, count, in_unit, number};
use crate::spec::Spec;
use quorate_core::mutex::{Command, Cost, Event, ServiceOrder};
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::Moment;
use quorate_journal::property::Kind;
use quorate_journal::role::Role;
use quorate_journal::settings::{Latency, Length};

impl PresentFamily for Mutex {
    const ROLES: &'static [(Role, &'static str)] =
        &[(Role::Idle, "idle"), (Role::Waiting, "waiting"), (Role::Chosen, "in the critical section")];
    const CHOSEN_NODE_BLOCKS_OTHERS: bool = true;
    const EXAMPLE: &'static str = "Three nodes request entry at once; one message time is 1 ms";
    const CONTROL: &'static str = "acknowledgements and retransmissions";
    const ADVICE: &'static str = "--workload all or more --entries";
    const PROGRESS: &'static str = "requests";

    fn role_after(moment: &Moment<'_, Command, Event>, before: &[Role]) -> Option<(NodeId, Role)> {
        let (_, node, change) = change(moment)?;
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

    fn price(entry: &'static MutexEntry) -> Option<Price> {
        let Cost { messages, client, sync, .. } = entry.facts.cost;
        let figures = [("messages_per_entry", messages), ("client_delay", client), ("sync_delay", sync)];
        let figures = figures.map(|(name, formula)| (name, PriceFigure::Formula(formula)));
        Some(Price { of: "an entry", figures: figures.into() })
    }

    /// Every node sends one request at the start.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        let settings = Settings { entries: 3, workload: Pattern::All, ..Settings::default() };
        Spec { latency, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>) -> Vec<Row> {
        let Figures { spec, summary: mutex, .. } = figures;
        let facts = spec.algorithm.facts;
        let mut rows = vec![Row::measured("entries", mutex.entries)];
        rows.extend(costs(spec, mutex));
        rows.push(Row::measured("most overtaken", mutex.overtaken_max));
        if let Some(count) = mutex.out_of_order {
            let promise =
                if facts.order == ServiceOrder::HappenedBefore { "0: happened-before order" } else { "no promise" };
            rows.push(Row::new("out of order", count, promise));
        }
        if let Some(views) = mutex.views {
            let resource_use = format!("{} times, rejected {}", views.accepted, count(views.refused, "time"));
            rows.extend([
                Row::measured("last view", views.epoch),
                Row::measured("entries lost", views.lost),
                Row::measured("resource used", resource_use),
            ]);
            let recovery = views.recovery_ns.map(|nanos| Length(Duration::from_nanos(nanos)));
            rows.extend(recovery.map(|recovery| Row::measured("next entry after a crash", recovery)));
        }
        rows
    }

    fn not_judged(figures: &Figures<'_, Self>) -> Vec<NotJudged> {
        let Figures { spec, summary, .. } = figures;
        if spec.algorithm.facts.order != ServiceOrder::HappenedBefore || summary.out_of_order.is_some() {
            return Vec::new();
        }
        let why = match spec.settings.views {
            Some(_) => "not judged: it is promised only within one view, and here views can change",
            None => "not judged: the group is too large for vector clocks",
        };
        vec![NotJudged { kind: Kind::Always, name: "happened-before-order", why: why.to_owned() }]
    }

    fn progress(spec: &Spec<Self>, summary: &MutexSummary) -> String {
        if spec.is_scripted() {
            return String::new();
        }
        format!("; {} of {} requests led to an entry", summary.entries, spec.settings.entries)
    }

    fn goal(spec: &Spec<Self>) -> u64 {
        spec.settings.entries
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(change(moment), Some((_, _, Change::Leaves | Change::EndsWithoutEntry)))
    }
}

fn costs(spec: &Spec<Mutex>, mutex: &MutexSummary) -> Vec<Row> {
    let (facts, expected_cost) = (spec.algorithm.facts, ExpectedCost::of(spec.algorithm.entry(), spec));
    let counted_entries = mutex.others.map_or(mutex.entries, |others| others.entries);
    let expected = match expected_cost.total(counted_entries).exact() {
        // The formula does not include idle traffic.
        Some(_) if facts.never_quiescent => expected_cost.messages.to_owned(),
        // Without a coordinator, show the number with its formula.
        Some(total) if counted_entries > 0 && !expected_cost.has_coordinator => {
            format!("{} = {}", number(Some(total as f64 / counted_entries as f64)), expected_cost.messages)
        }
        Some(total) if counted_entries > 0 => number(Some(total as f64 / counted_entries as f64)),
        Some(_) | None => expected_cost.messages.to_owned(),
    };
    let mut rows = match (&mutex.others, &mutex.own) {
        (Some(others), Some(own)) => vec![
            Row::new("messages per entry", number(others.messages_per_entry), expected),
            Row::new("  the coordinator's own", number(own.messages_per_entry), "0"),
        ],
        _ => vec![Row::new("messages per entry", number(mutex.messages_per_entry), expected)],
    };
    let delays = [
        ("client delay", mutex.client_delay, expected_cost.client),
        ("synchronization delay", mutex.sync_delay, expected_cost.sync),
    ];
    rows.extend(delays.into_iter().map(|(name, measured, formula)| {
        let samples = measured.map_or(String::new(), |delay| format!("   ({})", count(delay.samples, "sample")));
        Row::new(name, in_unit(measured.map(|delay| delay.mean), mutex.delay_unit), format!("{formula}{samples}"))
    }));
    rows
}
