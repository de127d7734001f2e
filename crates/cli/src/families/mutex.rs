//! Mutual exclusion on the command line.

use super::{Basics, FamilyArgs, Options, Present, views};
use crate::args::whole;
use crate::paint;
use crate::report::{Figures, Table, count, number, property};
use clap::{Args, ValueEnum};
use quorate_core::mutex::{Command, Event, ServiceOrder};
use quorate_core::{Duration, NodeId};
use quorate_journal::metrics::Delay;
use quorate_journal::moment::Moment;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Chance, Latency, Length, NodeSet};
use quorate_lab::compare::Book;
use quorate_lab::mutex::MutexError;
use quorate_lab::mutex::Settings;
use quorate_lab::mutex::run::{Change, MutexSummary, Pattern, change};
use quorate_lab::{Algorithm, LabError, Mutex, Spec};
use std::io::{self, Write};

/// Options that only mutual exclusion understands.
#[derive(Args)]
#[command(next_help_heading = "Options of mutual exclusion")]
pub(crate) struct MutexArgs {
    /// How many requests there are, all nodes together; 10 unless given.
    #[arg(long, value_parser = whole::<u64>)]
    entries: Option<u64>,
    /// When nodes ask: one alone, all at once and again, or at random times; random unless given.
    #[arg(long, value_enum)]
    workload: Option<WorkloadArg>,
    /// Who asks, such as 1,3 or 2-5; everyone unless given (with the workload single: the last one).
    #[arg(long, value_name = "NODES")]
    requesters: Option<NodeSet>,
    /// How long a node stays inside; one message time unless given.
    #[arg(long)]
    hold: Option<Latency>,
    /// How long a node is content outside; chosen to suit the workload unless given.
    #[arg(long)]
    think: Option<Latency>,
    /// How likely a request is a try, which is denied rather than made to wait.
    #[arg(long = "try", value_name = "CHANCE")]
    tries: Option<Chance>,
    /// How likely a request is given up after a while.
    #[arg(long = "cancel", value_name = "CHANCE")]
    cancels: Option<Chance>,
    /// How likely a request that waits its turn only reads, beside others who do.
    #[arg(long, value_name = "CHANCE")]
    readers: Option<Chance>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum WorkloadArg {
    Single,
    All,
    Random,
}

impl From<WorkloadArg> for Pattern {
    fn from(workload: WorkloadArg) -> Self {
        match workload {
            WorkloadArg::Single => Self::Single,
            WorkloadArg::All => Self::All,
            WorkloadArg::Random => Self::Random,
        }
    }
}

impl Options for MutexArgs {
    fn given(&self) -> Option<&'static str> {
        let Self { entries, workload, requesters, hold, think, tries, cancels, readers } = self;
        let given = [
            (entries.is_some(), "entries"),
            (workload.is_some(), "workload"),
            (requesters.is_some(), "requesters"),
            (hold.is_some(), "hold"),
            (think.is_some(), "think"),
            (tries.is_some(), "try"),
            (cancels.is_some(), "cancel"),
            (readers.is_some(), "readers"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    fn workload(&self) -> Option<&'static str> {
        self.given()
    }
}

impl MutexArgs {
    /// A range of requesters that reaches beyond the group is refused before it is spelled out.
    fn requesters(&self, nodes: usize) -> Result<Vec<NodeId>, LabError> {
        let Some(requesters) = &self.requesters else { return Ok(Vec::new()) };
        match requesters.highest() {
            Some(node) if node.index() >= nodes => Err(MutexError::NoSuchRequester { node, nodes }.into()),
            Some(_) | None => Ok(requesters.iter().collect()),
        }
    }
}

impl Present for Mutex {
    const EXAMPLE: &'static str = "Three nodes ask at once; one message time is 1 ms";
    const CONTROL: &'static str = "acknowledgements and repetitions";
    const ADVICE: &'static str = "--workload all or more --entries";
    const PROGRESS: &'static str = "requests";

    fn changed(usual: Settings, args: &FamilyArgs, basics: Basics) -> anyhow::Result<Settings> {
        let MutexArgs { entries, workload, hold, think, tries, cancels, readers, .. } = args.mutex;
        let requesters = args.mutex.requesters(basics.nodes)?;
        Ok(Settings {
            entries: entries.unwrap_or(usual.entries),
            workload: workload.map_or(usual.workload, Pattern::from),
            requesters: if requesters.is_empty() { usual.requesters } else { requesters },
            hold: hold.or(usual.hold),
            think: think.or(usual.think),
            tries: tries.unwrap_or(usual.tries),
            cancels: cancels.unwrap_or(usual.cancels),
            readers: readers.unwrap_or(usual.readers),
            views: args.views.changed(usual.views),
        })
    }

    /// Between processes there is no oracle: the members keep the membership themselves.
    fn for_real(settings: &mut Settings) -> anyhow::Result<()> {
        settings.views.iter_mut().for_each(views::for_real);
        Ok(())
    }

    /// Everyone asks once, at once.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        let settings = Settings { entries: 3, workload: Pattern::All, ..Settings::default() };
        Spec { latency, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>, table: &mut Table<'_>) -> io::Result<()> {
        let Figures { spec, summary: mutex, .. } = figures;
        let (facts, book) = (spec.algorithm.facts, Book::of(spec.algorithm.entry(), spec));
        table.row("entries", mutex.entries.to_string(), "")?;
        let counted = mutex.others.map_or(mutex.entries, |others| others.entries);
        let expected = match book.total(counted).exact() {
            // What goes on when nobody wants in is in no formula.
            Some(_) if facts.restless => book.messages.to_owned(),
            // What is the same for every group needs no formula.
            Some(total) if counted > 0 && !book.keeper => {
                format!("{} = {}", number(Some(total as f64 / counted as f64)), book.messages)
            }
            Some(total) if counted > 0 => number(Some(total as f64 / counted as f64)),
            Some(_) | None => book.messages.to_owned(),
        };
        match (&mutex.others, &mutex.own) {
            (Some(others), Some(own)) => {
                table.row("messages an entry", number(others.messages_per_entry), &expected)?;
                table.row("  the coordinator's own", number(own.messages_per_entry), "0")?;
            }
            _ => table.row("messages an entry", number(mutex.messages_per_entry), &expected)?,
        }
        let delays =
            [("client delay", mutex.client_delay, book.client), ("synchronization delay", mutex.sync_delay, book.sync)];
        for (name, measured, book) in delays {
            let samples = measured.map_or(String::new(), |delay| format!("   ({})", count(delay.samples, "sample")));
            table.row(name, delay(measured, mutex.delay_unit), &format!("{book}{samples}"))?;
        }
        table.row("overtaken at most", mutex.overtaken_max.to_string(), "")?;
        if let Some(count) = mutex.out_of_order {
            let promise =
                if facts.order == ServiceOrder::HappenedBefore { "0: happened-before order" } else { "no promise" };
            table.row("out of order", count.to_string(), promise)?;
        }
        if let Some(views) = mutex.views {
            table.row("last view", views.epoch.to_string(), "")?;
            table.row("entries lost", views.lost.to_string(), "")?;
            let refused = format!("{} times, refused {}", views.accepted, count(views.refused, "time"));
            table.row("resource used", refused, "")?;
            if let Some(nanos) = views.recovery_ns {
                table.row("next entry after a crash", Length(Duration::from_nanos(nanos)).to_string(), "")?;
            }
        }
        Ok(())
    }

    fn not_judged(figures: &Figures<'_, Self>, out: &mut dyn Write) -> io::Result<()> {
        if figures.spec.algorithm.facts.order == ServiceOrder::HappenedBefore && figures.summary.out_of_order.is_none()
        {
            let why = match figures.spec.settings.views {
                Some(_) => "not judged: it is promised inside a view, and here views change or members freeze",
                None => "not judged: the group is too large for vector clocks",
            };
            property(Kind::Always, "happened-before-order", &paint::dim(why), out)?;
        }
        Ok(())
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
        matches!(change(moment), Some((_, _, Change::Leaves | Change::GivesUp)))
    }
}

fn delay(delay: Option<Delay>, unit: &str) -> String {
    match delay {
        None => "–".into(),
        Some(delay) => format!("{} {unit}", number(Some(delay.mean))),
    }
}
