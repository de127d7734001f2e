//! Ordered multicast in reports: roles, figures, the example, progress.

use super::run::{MulticastSummary, Receiver, Traffic};
use super::{Cost, Multicast, MulticastEntry, Settings};
use crate::algorithm::Algorithm;
use crate::family::{AlgorithmWrapper, PresentFamily};
use crate::figures::{
    CostFigure, FigureRow, ListedCost, NotJudged, RunResults, format_count, format_figure, format_in_unit,
};
use crate::spec::Spec;
use quorate_core::multicast::{Command, Event, member};
use quorate_core::{Duration, NodeId};
use quorate_journal::metrics::Delay;
use quorate_journal::moment::{Moment, ObservedEffect, WorldEvent};
use quorate_journal::role::Role;
use quorate_journal::settings::{Latency, Length};

/// Latency of the example, wide enough that some messages overtake others.
const EXAMPLE_LATENCY: Latency = Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(9) };
/// With this seed, every algorithm that can hold messages back does so.
const EXAMPLE_SEED: u64 = 6;

impl PresentFamily for Multicast {
    const ROLES: &'static [(Role, &'static str)] =
        &[(Role::Idle, "in its view"), (Role::Waiting, "waiting to send, or between two views")];
    const CHOSEN_NODE_BLOCKS_OTHERS: bool = false;
    const EXAMPLE_CAPTION: &'static str = "Three nodes multicast; a message takes 1 to 9 ms";
    const CONTROL_MESSAGES: &'static str = "stability reports, view changes and retransmissions";
    const ADVICE_IF_NEVER_HELD: &'static str = "--traffic flood or more --messages";
    const PROGRESS_UNIT: &'static str = "multicasts";

    fn role_after(moment: &Moment<'_, Command, Event>, _before: &[Role]) -> Option<(NodeId, Role)> {
        match moment {
            Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } => match event {
                Event::Wait { .. } | Event::Excluded { .. } | Event::Left { .. } => Some((*node, Role::Waiting)),
                Event::Ready { .. } | Event::View { .. } => Some((*node, Role::Idle)),
                Event::Sent { .. } | Event::Delivered { .. } | Event::Refused(_) => None,
            },
            Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
                Some((*node, Role::Idle))
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
        }
    }

    fn wrapper(_entry: &MulticastEntry) -> Option<AlgorithmWrapper> {
        Some(AlgorithmWrapper { title: "Rules of a member, for every ordering", about: member::about() })
    }

    fn listed_cost(entry: &'static MulticastEntry) -> Option<ListedCost> {
        let spec = Spec::<Self>::new(entry);
        let slowest = Cost::of_experiment(entry, &spec).map_or(0, |cost| cost.expected.message_times);
        let figures = vec![
            ("messages_per_multicast", CostFigure::Formula(Cost::formula_of(entry, &spec))),
            ("slowest_delivery", CostFigure::Number(slowest)),
        ];
        Some(ListedCost { unit: "per multicast", figures })
    }

    /// A few concurrent messages.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let settings = Settings { messages: 4, ..Settings::default() };
        Spec { latency: EXAMPLE_LATENCY, seed: EXAMPLE_SEED, settings, ..Spec::new(algorithm) }
    }

    fn figure_rows(results: &RunResults<'_, Self>) -> Vec<FigureRow> {
        let RunResults { spec, summary, .. } = results;
        let cost = Cost::of_experiment(spec.algorithm.entry(), spec);
        let messages = cost
            .map_or_else(|| Cost::formula_of(spec.algorithm.entry(), spec).to_owned(), |cost| message_formula(&cost));
        let unit = summary.delay_unit;
        let delay = |value: fn(&Delay) -> f64| format_in_unit(summary.delay.as_ref().map(value), unit);
        let mut rows = vec![
            FigureRow::measured("multicasts", summary.sent),
            FigureRow::measured("deliveries", summary.delivered),
            FigureRow::new("messages per multicast", format_figure(summary.messages_per_multicast), messages),
            FigureRow::measured("delivery delay", delay(|delay| delay.mean)),
            FigureRow::new(
                "  slowest",
                delay(|delay| delay.max),
                cost.map(|cost| slowest_delivery_text(spec, &cost)).unwrap_or_default(),
            ),
            FigureRow::measured("most held back", summary.max_held_back),
            FigureRow::measured("retransmitted", summary.retransmitted),
            FigureRow::new("delayed by flow control", summary.waits, format!("window {}", spec.settings.window)),
        ];
        let receivers = ["slowest receivers", "", ""].into_iter().zip(&summary.slowest);
        rows.extend(receivers.map(|(name, receiver)| {
            FigureRow::new(name, format!("node {}", receiver.node), receiver_text(receiver, unit))
        }));
        if let Some(views) = summary.views {
            rows.extend([
                FigureRow::measured("last view", views.epoch),
                FigureRow::measured("left voluntarily", views.leaves),
                FigureRow::measured("removed by views", views.removals),
            ]);
            let recovery = views.recovery_ns.map(|nanos| Length(Duration::from_nanos(nanos)));
            rows.extend(recovery.map(|recovery| FigureRow::measured("next delivery after a crash", recovery)));
        }
        rows
    }

    /// The properties that are judged on request although they are not promised.
    fn not_judged(results: &RunResults<'_, Self>) -> Vec<NotJudged> {
        let verdicts = results.summary.not_promised.iter().map(|verdict| {
            let reason = match &verdict.violation {
                Some(violation) => format!("not promised: violated (at {} {})", violation.time, violation.text),
                None => "not promised: held".to_owned(),
            };
            NotJudged { kind: verdict.kind, name: verdict.name, reason }
        });
        verdicts.collect()
    }

    fn describe_progress(spec: &Spec<Self>, summary: &MulticastSummary) -> String {
        if spec.is_scripted() {
            return String::new();
        }
        format!("; {} of {} multicasts were sent", summary.sent, spec.settings.messages)
    }

    fn progress_goal(spec: &Spec<Self>) -> u64 {
        spec.settings.messages
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(moment, Moment::Effect { effect: ObservedEffect::Emit(Event::Sent { .. }), .. })
    }
}

fn message_formula(cost: &Cost) -> String {
    let Cost { formula, formula_of_sequencer, expected } = cost;
    let figure = |messages: u64, formula: &str| {
        // A figure that does not depend on the group's size needs no formula.
        if messages.to_string() == formula { formula.to_owned() } else { format!("{messages} = {formula}") }
    };
    let of_sequencer = match formula_of_sequencer {
        Some(formula) => format!("; the sequencer's own {}", figure(expected.messages_of_sequencer, formula)),
        None => String::new(),
    };
    format!("{}{of_sequencer}", figure(expected.messages, formula))
}

/// The expected message times until the last member delivers, without other traffic.
fn slowest_delivery_text(spec: &Spec<Multicast>, cost: &Cost) -> String {
    let expected = cost.expected;
    let condition = if spec.settings.traffic == Traffic::Single { "" } else { " without other traffic" };
    if expected.message_times == expected.message_times_of_sequencer {
        format!("{} T{condition}", expected.message_times)
    } else {
        format!(
            "{} T{condition}; the sequencer's own {} T",
            expected.message_times, expected.message_times_of_sequencer
        )
    }
}

fn receiver_text(receiver: &Receiver, unit: &str) -> String {
    let delay = format!("{} on average", format_in_unit(Some(receiver.delay.mean), unit));
    match receiver.waited_for {
        0 => delay,
        times => format!("{delay}; senders waited for it {}", format_count(times, "time")),
    }
}
