//! Ordered multicast in reports: roles, figures, the example, progress.

use super::run::{MulticastSummary, Pattern, Receiver};
use super::{Cost, Multicast, MulticastEntry, Settings};
use crate::algorithm::Algorithm;
use crate::family::{AlgorithmWrapper, PresentFamily};
use crate::figures::{Figures, NotJudged, Price, PriceFigure, Row, count, in_unit, number};
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
    const EXAMPLE: &'static str = "Three nodes multicast; a message takes 1 to 9 ms";
    const CONTROL: &'static str = "stability reports, view changes and retransmissions";
    const ADVICE: &'static str = "--traffic flood or more --messages";
    const PROGRESS: &'static str = "multicasts";

    fn role_after(moment: &Moment<'_, Command, Event>, _before: &[Role]) -> Option<(NodeId, Role)> {
        match moment {
            Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } => match event {
                Event::Wait { .. } | Event::Out { .. } | Event::Left { .. } => Some((*node, Role::Waiting)),
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
        Some(AlgorithmWrapper { title: "Rules of the member around it", about: member::about() })
    }

    fn price(entry: &'static MulticastEntry) -> Option<Price> {
        let spec = Spec::<Self>::new(entry);
        let slowest = Cost::of(entry, &spec).map_or(0, |cost| cost.expected.slowest);
        let figures = vec![
            ("messages_per_multicast", PriceFigure::Formula(Cost::formula_of(entry, &spec))),
            ("slowest_delivery", PriceFigure::Number(slowest)),
        ];
        Some(Price { of: "a multicast", figures })
    }

    /// A few concurrent messages.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let settings = Settings { messages: 4, ..Settings::default() };
        Spec { latency: EXAMPLE_LATENCY, seed: EXAMPLE_SEED, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>) -> Vec<Row> {
        let Figures { spec, summary, .. } = figures;
        let cost = Cost::of(spec.algorithm.entry(), spec);
        let messages = cost
            .map_or_else(|| Cost::formula_of(spec.algorithm.entry(), spec).to_owned(), |cost| message_formula(&cost));
        let unit = summary.delay_unit;
        let delay = |value: fn(&Delay) -> f64| in_unit(summary.delay.as_ref().map(value), unit);
        let mut rows = vec![
            Row::measured("multicasts", summary.sent),
            Row::measured("deliveries", summary.delivered),
            Row::new("messages per multicast", number(summary.messages_per_multicast), messages),
            Row::measured("delivery delay", delay(|delay| delay.mean)),
            Row::new(
                "  slowest",
                delay(|delay| delay.max),
                cost.map(|cost| slowest_delivery_text(spec, &cost)).unwrap_or_default(),
            ),
            Row::measured("most held back", summary.held_back_max),
            Row::measured("retransmitted", summary.retransmitted),
            Row::new("sends made to wait", summary.waits, format!("window {}", spec.settings.window)),
        ];
        let receivers = ["slowest receivers", "", ""].into_iter().zip(&summary.slowest);
        rows.extend(
            receivers.map(|(name, receiver)| {
                Row::new(name, format!("node {}", receiver.node), receiver_text(receiver, unit))
            }),
        );
        if let Some(views) = summary.views {
            rows.extend([
                Row::measured("last view", views.epoch),
                Row::measured("left voluntarily", views.left),
                Row::measured("removed by views", views.outs),
            ]);
            let recovery = views.recovery_ns.map(|nanos| Length(Duration::from_nanos(nanos)));
            rows.extend(recovery.map(|recovery| Row::measured("next delivery after a crash", recovery)));
        }
        rows
    }

    /// The properties that are judged on request although they are not promised.
    fn not_judged(figures: &Figures<'_, Self>) -> Vec<NotJudged> {
        let verdicts = figures.summary.not_promised.iter().map(|verdict| {
            let why = match &verdict.violation {
                Some(violation) => format!("not promised: violated (at {} {})", violation.time, violation.text),
                None => "not promised: held".to_owned(),
            };
            NotJudged { kind: verdict.kind, name: verdict.name, why }
        });
        verdicts.collect()
    }

    fn progress(spec: &Spec<Self>, summary: &MulticastSummary) -> String {
        if spec.is_scripted() {
            return String::new();
        }
        format!("; {} of {} multicasts were sent", summary.sent, spec.settings.messages)
    }

    fn goal(spec: &Spec<Self>) -> u64 {
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
    let condition = if spec.settings.traffic == Pattern::Single { "" } else { " without other traffic" };
    if expected.slowest == expected.slowest_of_sequencer {
        format!("{} T{condition}", expected.slowest)
    } else {
        format!("{} T{condition}; the sequencer's own {} T", expected.slowest, expected.slowest_of_sequencer)
    }
}

fn receiver_text(receiver: &Receiver, unit: &str) -> String {
    let delay = format!("{} on average", in_unit(Some(receiver.delay.mean), unit));
    match receiver.waited_for {
        0 => delay,
        times => format!("{delay}; senders waited for it {}", count(times, "time")),
    }
}
