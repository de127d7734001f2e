//! Deadlocks on the command line.

mod args;

pub(crate) use args::DeadlockArgs;

use super::{Around, Basics, FamilyArgs, Present};
use crate::report::{Figures, Table, number};
use quorate_core::Duration;
use quorate_core::about::About;
use quorate_core::deadlock::{Command, Event, Facts, Policy};
use quorate_journal::moment::{Done, Moment};
use quorate_journal::settings::Latency;
use quorate_lab::deadlock::Settings;
use quorate_lab::deadlock::run::DeadlockSummary;
use quorate_lab::{Algorithm, Deadlock, Spec};
use quorate_registry::DeadlockEntry;
use std::io::{self, Write};

/// With this seed three processes that ask once come to wait for each other, under every detector.
const EXAMPLE_SEED: u64 = 3;

impl Present for Deadlock {
    const EXAMPLE: &'static str = "Three processes ask each other; one message time is 1 ms";
    const CONTROL: &'static str = "requests and answers of the processes";
    const ADVICE: &'static str = "more --asks or a larger --fan-out";
    const PROGRESS: &'static str = "waits";

    fn changed(usual: Settings, args: &FamilyArgs, _basics: Basics) -> anyhow::Result<Settings> {
        Ok(args.deadlock.changed(usual))
    }

    fn by_hand(settings: &mut Settings) {
        settings.rounds = 0;
    }

    fn around(entry: &DeadlockEntry) -> Option<Around> {
        let [asking, taking, resolving] = Facts::sources_around().map(About::of_source);
        let rules = [asking.rules, taking.rules, resolving.rules].concat();
        let title = "Rules around it: processes that ask (RQ) or take resources (LK), and who gives up (RS)";
        entry.facts.profile.flaw.is_none().then_some(Around { title, about: About { rules, ..resolving } })
    }

    /// A deadlock that is found and resolved.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let settings = Settings { fan_out: 1, victim: Some(Policy::Youngest), ..Settings::default() };
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec { latency, seed: EXAMPLE_SEED, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>, table: &mut Table<'_>) -> io::Result<()> {
        let Figures { spec, summary, .. } = figures;
        let unit = summary.delay_unit;
        let in_unit = |value: Option<f64>| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{} {unit}", number(Some(value))))
        };
        table.row("waits of one for another", summary.waits.to_string(), "")?;
        table.row("  between two sites", summary.waits_between_sites.to_string(), "")?;
        table.row("deadlocks told", summary.deadlocks_told.to_string(), "")?;
        table.row("  that were none", summary.phantoms_told.to_string(), "0")?;
        table.row("gave up", summary.gave_up.to_string(), "")?;
        let stuck = if summary.stuck_at_end.is_empty() { "nobody".to_owned() } else { summary.stuck_at_end.join(", ") };
        table.row("wait for ever", stuck, "")?;
        table.row(
            "messages to find them",
            summary.detector_messages.to_string(),
            &format!("a look {}", spec.algorithm.facts.formula),
        )?;
        table.row("messages to resolve them", summary.resolution_messages.to_string(), "")?;
        table.row("from stuck to told", in_unit(summary.delay_mean), "")?;
        table.row("  the slowest", in_unit(summary.delay_most), "")?;
        for (place, report) in summary.reports.iter().enumerate() {
            table.row(if place == 0 { "told" } else { "" }, String::new(), report)?;
        }
        Ok(())
    }

    fn not_judged(_figures: &Figures<'_, Self>, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn progress(_spec: &Spec<Self>, summary: &DeadlockSummary) -> String {
        format!("; {} of one for another so far", crate::report::count(summary.waits, "wait"))
    }

    fn goal(spec: &Spec<Self>) -> u64 {
        spec.settings.rounds.saturating_mul(spec.settings.processes.unwrap_or(spec.nodes) as u64)
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(moment, Moment::Effect { effect: Done::Emit(Event::Waits { who, .. }), .. } if !who.is_resource())
    }
}
