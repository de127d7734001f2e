//! Ordered multicast on the command line.

mod args;

pub(crate) use args::{MediumArg, MulticastArgs};

use super::{Around, Basics, FamilyArgs, Present, views};
use crate::paint;
use crate::report::{Figures, Table, count, number, property};
use quorate_core::Duration;
use quorate_core::multicast::{Command, Event, member};
use quorate_journal::moment::{Done, Moment};
use quorate_journal::settings::{Latency, Length};
use quorate_lab::multicast::run::{MulticastSummary, Pattern, Receiver};
use quorate_lab::multicast::{Cost, Settings};
use quorate_lab::{Algorithm, Multicast, Spec};
use quorate_registry::MulticastEntry;
use std::io::{self, Write};

/// How long the example's messages take: so different that some overtake others.
const EXAMPLE_LATENCY: Latency = Latency::Uniform { least: Duration::from_millis(1), most: Duration::from_millis(9) };
/// With this seed something is held back in every order that holds anything back.
const EXAMPLE_SEED: u64 = 6;

impl Present for Multicast {
    const EXAMPLE: &'static str = "Three nodes say something; a message takes 1 to 9 ms";
    const CONTROL: &'static str = "word of what members hold, views and repetitions";
    const ADVICE: &'static str = "--traffic flood or more --messages";
    const PROGRESS: &'static str = "multicasts";

    fn changed(usual: Settings, args: &FamilyArgs, basics: Basics) -> anyhow::Result<Settings> {
        let views = args.views.changed(usual.views);
        Ok(Settings { views, ..args.multicast.changed(usual, basics.nodes)? })
    }

    /// Between processes there is no oracle: the members keep the membership themselves.
    fn for_real(settings: &mut Settings) -> anyhow::Result<()> {
        settings.views.iter_mut().for_each(views::for_real);
        Ok(())
    }

    fn by_hand(settings: &mut Settings) {
        settings.messages = 0;
    }

    fn around(_entry: &MulticastEntry) -> Option<Around> {
        Some(Around { title: "Rules of the member around it", about: member::about() })
    }

    /// A few messages that cross.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let settings = Settings { messages: 4, ..Settings::default() };
        Spec { latency: EXAMPLE_LATENCY, seed: EXAMPLE_SEED, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>, table: &mut Table<'_>) -> io::Result<()> {
        let Figures { spec, summary, .. } = figures;
        let cost = Cost::of(spec.algorithm.entry(), spec);
        table.row("multicasts", summary.sent.to_string(), "")?;
        table.row("deliveries", summary.delivered.to_string(), "")?;
        let messages =
            cost.map_or_else(|| Cost::formula_of(spec.algorithm.entry(), spec).to_owned(), |cost| in_words(&cost));
        table.row("messages a multicast", number(summary.messages_per_multicast), &messages)?;
        let unit = summary.delay_unit;
        let in_unit = |value: f64| format!("{} {unit}", number(Some(value)));
        let delay = |value: fn(&quorate_journal::metrics::Delay) -> f64| {
            summary.delay.as_ref().map_or_else(|| "–".to_owned(), |delay| in_unit(value(delay)))
        };
        table.row("delay of a delivery", delay(|delay| delay.mean), "")?;
        table.row(
            "  the slowest",
            delay(|delay| delay.max),
            &cost.map(|cost| slowest(spec, &cost)).unwrap_or_default(),
        )?;
        table.row("held back at most", summary.held_back_max.to_string(), "")?;
        table.row("sent again", summary.retransmitted.to_string(), "")?;
        table.row("senders told to wait", summary.waits.to_string(), &format!("window {}", spec.settings.window))?;
        for (name, receiver) in ["slowest receivers", "", ""].into_iter().zip(&summary.slowest) {
            table.row(name, format!("node {}", receiver.node), &about(receiver, unit))?;
        }
        if let Some(views) = summary.views {
            table.row("last view", views.epoch.to_string(), "")?;
            table.row("left as they asked", views.left.to_string(), "")?;
            table.row("left behind by views", views.outs.to_string(), "")?;
            if let Some(nanos) = views.recovery_ns {
                table.row("silence after a crash", Length(Duration::from_nanos(nanos)).to_string(), "")?;
            }
        }
        Ok(())
    }

    /// What nobody promises, and somebody wants to know.
    fn not_judged(figures: &Figures<'_, Self>, out: &mut dyn Write) -> io::Result<()> {
        for verdict in &figures.summary.not_promised {
            let what = match &verdict.violation {
                Some(violation) => format!("not promised: broken: at {} {}", violation.time, violation.text),
                None => "not promised: kept".to_owned(),
            };
            property(verdict.kind, verdict.name, &paint::dim(&what), out)?;
        }
        Ok(())
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

/// What a multicast costs, as the book has it.
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

/// How slow a receiver is, and whether others had to wait for it.
fn about(receiver: &Receiver, unit: &str) -> String {
    let delay = format!("{} {unit} on average", number(Some(receiver.delay.mean)));
    match receiver.waited_for {
        0 => delay,
        waited => format!("{delay}; senders had to wait for it {}", count(waited, "time")),
    }
}
