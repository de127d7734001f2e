//! Ordered multicast as people see it.

use super::run::{MulticastSummary, Pattern, Receiver};
use super::{Cost, Multicast, MulticastEntry, Settings};
use crate::algorithm::Algorithm;
use crate::family::{Around, PresentFamily};
use crate::figures::{Figures, NotJudged, Price, PriceFigure, Row, count, in_unit, number};
use crate::spec::Spec;
use quorate_core::multicast::{Command, Event, member};
use quorate_core::{Duration, NodeId};
use quorate_journal::metrics::Delay;
use quorate_journal::moment::{Done, Happening, Moment};
use quorate_journal::role::Role;
use quorate_journal::settings::{Latency, Length};

/// How long the example's messages take: so different that some overtake others.
const EXAMPLE_LATENCY: Latency = Latency::Uniform { least: Duration::from_millis(1), most: Duration::from_millis(9) };
/// With this seed something is held back in every order that holds anything back.
const EXAMPLE_SEED: u64 = 6;

impl PresentFamily for Multicast {
    const ROLES: &'static [(Role, &'static str)] =
        &[(Role::Idle, "in its view"), (Role::Waiting, "told to wait, or between two views")];
    const CHOSEN_BLOCKS: bool = false;
    const EXAMPLE: &'static str = "Three nodes say something; a message takes 1 to 9 ms";
    const CONTROL: &'static str = "word of what members hold, views and repetitions";
    const ADVICE: &'static str = "--traffic flood or more --messages";
    const PROGRESS: &'static str = "multicasts";

    fn stands(moment: &Moment<'_, Command, Event>, _before: &[Role]) -> Option<(NodeId, Role)> {
        match moment {
            Moment::Effect { node, effect: Done::Emit(event), .. } => match event {
                Event::Wait { .. } | Event::Out { .. } | Event::Left { .. } => Some((*node, Role::Waiting)),
                Event::Ready { .. } | Event::View { .. } => Some((*node, Role::Idle)),
                Event::Sent { .. } | Event::Delivered { .. } | Event::Refused(_) => None,
            },
            Moment::World { what: Happening::Crashed { node, .. } | Happening::Ended { node }, .. } => {
                Some((*node, Role::Idle))
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
        }
    }

    fn around(_entry: &MulticastEntry) -> Option<Around> {
        Some(Around { title: "Rules of the member around it", about: member::about() })
    }

    fn price(entry: &'static MulticastEntry) -> Option<Price> {
        let spec = Spec::<Self>::new(entry);
        let slowest = Cost::of(entry, &spec).map_or(0, |cost| cost.book.slowest);
        let figures = vec![
            ("messages_per_multicast", PriceFigure::Formula(Cost::formula_of(entry, &spec))),
            ("slowest_delivery", PriceFigure::Number(slowest)),
        ];
        Some(Price { of: "a multicast", figures })
    }

    /// A few messages that cross.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let settings = Settings { messages: 4, ..Settings::default() };
        Spec { latency: EXAMPLE_LATENCY, seed: EXAMPLE_SEED, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>) -> Vec<Row> {
        let Figures { spec, summary, .. } = figures;
        let cost = Cost::of(spec.algorithm.entry(), spec);
        let messages =
            cost.map_or_else(|| Cost::formula_of(spec.algorithm.entry(), spec).to_owned(), |cost| in_words(&cost));
        let unit = summary.delay_unit;
        let delay = |value: fn(&Delay) -> f64| in_unit(summary.delay.as_ref().map(value), unit);
        let mut rows = vec![
            Row::measured("multicasts", summary.sent),
            Row::measured("deliveries", summary.delivered),
            Row::new("messages a multicast", number(summary.messages_per_multicast), messages),
            Row::measured("delay of a delivery", delay(|delay| delay.mean)),
            Row::new(
                "  the slowest",
                delay(|delay| delay.max),
                cost.map(|cost| slowest(spec, &cost)).unwrap_or_default(),
            ),
            Row::measured("held back at most", summary.held_back_max),
            Row::measured("sent again", summary.retransmitted),
            Row::new("senders told to wait", summary.waits, format!("window {}", spec.settings.window)),
        ];
        let receivers = ["slowest receivers", "", ""].into_iter().zip(&summary.slowest);
        rows.extend(
            receivers.map(|(name, receiver)| Row::new(name, format!("node {}", receiver.node), about(receiver, unit))),
        );
        if let Some(views) = summary.views {
            rows.extend([
                Row::measured("last view", views.epoch),
                Row::measured("left as they asked", views.left),
                Row::measured("left behind by views", views.outs),
            ]);
            let recovery = views.recovery_ns.map(|nanos| Length(Duration::from_nanos(nanos)));
            rows.extend(recovery.map(|recovery| Row::measured("silence after a crash", recovery)));
        }
        rows
    }

    /// What nobody promises, and somebody wants to know.
    fn not_judged(figures: &Figures<'_, Self>) -> Vec<NotJudged> {
        let told = figures.summary.not_promised.iter().map(|verdict| {
            let why = match &verdict.violation {
                Some(violation) => format!("not promised: broken: at {} {}", violation.time, violation.text),
                None => "not promised: kept".to_owned(),
            };
            NotJudged { kind: verdict.kind, name: verdict.name, why }
        });
        told.collect()
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
        matches!(moment, Moment::Effect { effect: Done::Emit(Event::Sent { .. }), .. })
    }
}

fn in_words(cost: &Cost) -> String {
    let Cost { formula, formula_of_sequencer, book } = cost;
    let figure = |messages: u64, formula: &str| {
        // What is the same for every group needs no formula.
        if messages.to_string() == formula { formula.to_owned() } else { format!("{messages} = {formula}") }
    };
    let of_sequencer = match formula_of_sequencer {
        Some(own) => format!("; the sequencer's own {}", figure(book.messages_of_sequencer, own)),
        None => String::new(),
    };
    format!("{}{of_sequencer}", figure(book.messages, formula))
}

/// After how many message times the last member delivers, if nobody else sends.
fn slowest(spec: &Spec<Multicast>, cost: &Cost) -> String {
    let book = cost.book;
    let alone = if spec.settings.traffic == Pattern::Single { "" } else { " if nobody else sends" };
    if book.slowest == book.slowest_of_sequencer {
        format!("{} T{alone}", book.slowest)
    } else {
        format!("{} T{alone}; the sequencer's own {} T", book.slowest, book.slowest_of_sequencer)
    }
}

fn about(receiver: &Receiver, unit: &str) -> String {
    let delay = format!("{} on average", in_unit(Some(receiver.delay.mean), unit));
    match receiver.waited_for {
        0 => delay,
        waited => format!("{delay}; senders had to wait for it {}", count(waited, "time")),
    }
}
