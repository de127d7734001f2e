//! Elections on the command line.

use super::{Basics, FamilyArgs, Options, Present};
use crate::report::{Figures, Table, number};
use clap::Args;
use quorate_core::Duration;
use quorate_core::election::{Command, Event, Tally};
use quorate_lab::election::Settings;
use quorate_lab::{Election, Spec};
use quorate_sim::election::{Change, ElectionSummary, Starters, change};
use quorate_sim::moment::Moment;
use quorate_sim::settings::Latency;
use std::io::{self, Write};

/// Options that only elections understand.
#[derive(Args)]
#[command(next_help_heading = "Options of elections")]
pub(crate) struct ElectionArgs {
    /// Who starts, of the nodes that are up: lowest, highest, all, successor-of-highest, or nodes such as 2,5; all unless
    /// given.
    #[arg(long, value_name = "WHO")]
    starters: Option<Starters>,
}

impl Options for ElectionArgs {
    fn given(&self) -> Option<&'static str> {
        self.starters.as_ref().map(|_| "starters")
    }
}

impl Present for Election {
    const EXAMPLE: &'static str = "The first of three nodes starts an election; one message time is 1 ms";
    const CONTROL: &'static str = "heartbeats, acknowledgements and repetitions";
    const ADVICE: &'static str = "--starters all or more --nodes";
    const PROGRESS: &'static str = "nodes know";

    fn settings(args: &FamilyArgs, _basics: Basics) -> anyhow::Result<Settings> {
        Ok(Settings { starters: args.election.starters.clone().unwrap_or_default() })
    }

    fn example(algorithm: &str) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        Spec { latency, settings: Settings { starters: Starters::Lowest }, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>, table: &mut Table<'_>) -> io::Result<()> {
        let Figures { spec, entry, summary, .. } = figures;
        let cost = &entry.facts.cost;
        let nobody = || "–".to_owned();
        table.row("leader", summary.leader.map_or_else(nobody, |leader| leader.to_string()), "")?;
        table.row("epoch", summary.epoch.map_or_else(nobody, |epoch| epoch.to_string()), "")?;
        let Tally { election, announcement } = (cost.messages)(spec.nodes);
        let bound = if cost.exact { "" } else { "at most " };
        let found = format!("{bound}{election} if one starts");
        table.row("election messages", summary.election_messages.to_string(), &found)?;
        let told = format!("{bound}{announcement} if one starts; together {}", cost.formula);
        table.row("announcement messages", summary.announcement_messages.to_string(), &told)?;
        table.row("rounds", summary.rounds.to_string(), "1 if one starts")?;
        let time = match summary.time {
            Some(time) => format!("{} {}", number(Some(time)), summary.time_unit),
            None => nobody(),
        };
        table.row("time until all know", time, "")
    }

    fn not_judged(_figures: &Figures<'_, Self>, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn progress(_spec: &Spec<Self>, summary: &ElectionSummary) -> String {
        match summary.leader {
            Some(leader) => format!("; everyone knows leader {leader}"),
            None => "; there is no leader that everyone knows".into(),
        }
    }

    fn goal(spec: &Spec<Self>) -> u64 {
        spec.nodes as u64
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(change(moment), Some((_, _, Change::Learns { .. })))
    }
}
