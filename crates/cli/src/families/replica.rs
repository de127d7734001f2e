//! Replicated logs on the command line.

use super::{Basics, FamilyArgs, Options, Present};
use crate::args::whole;
use crate::report::{Figures, Table, number};
use clap::{Args, ValueEnum};
use quorate_core::Duration;
use quorate_journal::moment::{Done, Moment};
use quorate_journal::settings::{Latency, Length};
use quorate_lab::replica::{OPERATION, Settings, Summary};
use quorate_lab::{Algorithm, FamilyTypes, Replica, Spec};
use quorate_replica::{Event, Reads};
use std::io::{self, Write};

/// Options that only replicated logs understand.
#[derive(Args)]
#[command(next_help_heading = "Options of replicated logs")]
pub(crate) struct ReplicaArgs {
    /// How many nodes the group begins with, the others being spares; all of them unless given.
    #[arg(long, value_parser = whole::<usize>)]
    founders: Option<usize>,
    /// How many clients there are; 3 unless given.
    #[arg(long, value_parser = whole::<u64>)]
    clients: Option<u64>,
    /// How many reads, writes and compare-and-sets they do in all; 60 unless given.
    #[arg(long, value_parser = whole::<u64>)]
    operations: Option<u64>,
    /// On how many registers; 3 unless given.
    #[arg(long, value_parser = whole::<u64>)]
    keys: Option<u64>,
    /// How many times an operator changes the members or hands the leadership over; never unless given.
    #[arg(long, value_parser = whole::<u32>)]
    changes: Option<u32>,
    /// How reads are answered: by a round of heartbeats, or under a lease; quorum unless given.
    #[arg(long, value_enum)]
    reads: Option<ReadsArg>,
    /// The beat that replicas count waiting in; 10ms unless given.
    #[arg(long)]
    tick: Option<Length>,
    /// After how many entries the state is kept and the log before it let go; 20 unless given.
    #[arg(long, value_name = "ENTRIES", value_parser = whole::<u64>)]
    checkpoint_every: Option<u64>,
    /// How many entries before the checkpoint stay for those who lag behind; 5 unless given.
    #[arg(long, value_name = "ENTRIES", value_parser = whole::<u64>)]
    keep_entries: Option<u64>,
    /// How long a piece of a snapshot is; 100 unless given.
    #[arg(long, value_name = "BYTES", value_parser = whole::<usize>)]
    piece_bytes: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReadsArg {
    Quorum,
    Lease,
}

impl From<ReadsArg> for Reads {
    fn from(reads: ReadsArg) -> Self {
        match reads {
            ReadsArg::Quorum => Self::Quorum,
            ReadsArg::Lease => Self::Lease,
        }
    }
}

impl Options for ReplicaArgs {
    fn given(&self) -> Option<&'static str> {
        let Self { founders, clients, operations, keys, changes, reads, .. } = self;
        let Self { tick, checkpoint_every, keep_entries, piece_bytes, .. } = self;
        let given = [
            (founders.is_some(), "founders"),
            (clients.is_some(), "clients"),
            (operations.is_some(), "operations"),
            (keys.is_some(), "keys"),
            (changes.is_some(), "changes"),
            (reads.is_some(), "reads"),
            (tick.is_some(), "tick"),
            (checkpoint_every.is_some(), "checkpoint-every"),
            (keep_entries.is_some(), "keep-entries"),
            (piece_bytes.is_some(), "piece-bytes"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

impl Present for Replica {
    const EXAMPLE: &'static str = "Three replicas elect a leader, and a client writes once; one message time is 1 ms";
    const CONTROL: &'static str = "heartbeats, acknowledgements and repetitions";
    const ADVICE: &'static str = "more --seeds or --operations, with --chaos";
    const PROGRESS: &'static str = "operations";

    fn changed(usual: Settings, args: &FamilyArgs, basics: Basics) -> anyhow::Result<Settings> {
        let given = &args.replica;
        Ok(Settings {
            founders: given.founders.or(usual.founders),
            clients: given.clients.unwrap_or(usual.clients),
            operations: given.operations.unwrap_or(usual.operations),
            keys: given.keys.unwrap_or(usual.keys),
            changes: given.changes.unwrap_or(usual.changes),
            reads: given.reads.map_or(usual.reads, Reads::from),
            tick: given.tick.unwrap_or(usual.tick),
            checkpoint_every: given.checkpoint_every.unwrap_or(usual.checkpoint_every),
            keep_entries: given.keep_entries.unwrap_or(usual.keep_entries),
            piece_bytes: given.piece_bytes.unwrap_or(usual.piece_bytes),
            chaos: basics.chaos || usual.chaos,
        })
    }

    fn lasting(settings: &Settings, length: Duration) -> Option<Settings> {
        let Length(tick) = settings.tick;
        let rounds = length.nanos() / tick.times(OPERATION).nanos().max(1);
        Some(Settings { operations: rounds.max(1).saturating_mul(settings.clients), ..settings.clone() })
    }

    /// People do not ask again and again until they are answered, as clients do.
    fn by_hand(settings: &mut Settings) {
        settings.clients = 0;
    }

    /// One client, one wish that goes to the leader at once, and an end before the heartbeats go on and on.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        let disk = Latency::Fixed(Duration::from_micros(500));
        let settings = Settings { clients: 1, operations: 1, keys: 1, ..Settings::default() };
        let until = Some(Length(Duration::from_millis(149)));
        Spec { seed: 7, latency, disk, until, settings, ..Spec::new(algorithm) }
    }

    fn figures(figures: &Figures<'_, Self>, table: &mut Table<'_>) -> io::Result<()> {
        let Figures { spec, summary, .. } = figures;
        table.row("operations", summary.operations.to_string(), &format!("{} answered", summary.answered))?;
        let others = spec.settings.founders.unwrap_or(spec.nodes).saturating_sub(1);
        let book = format!("{} = 2(n−1) for a write alone", 2 * others);
        table.row("messages an operation", number(summary.messages_per_operation), &book)?;
        table.row("leaders", summary.leaders.to_string(), &format!("the last in term {}", summary.term))?;
        let time = Duration::from_nanos(summary.log_time_ns).to_string();
        table.row("entries", summary.entries.to_string(), &format!("log time {time}"))?;
        table.row("snapshots taken over", summary.snapshots.to_string(), "")?;
        table.row("reads under a lease", summary.leased.to_string(), "")?;
        table.row("fates unknown", summary.unknown.to_string(), "")?;
        table.row("changes of members", summary.changes.to_string(), &summary.members.to_string())
    }

    fn not_judged(_figures: &Figures<'_, Self>, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn progress(spec: &Spec<Self>, summary: &Summary) -> String {
        if spec.is_scripted() {
            return String::new();
        }
        format!("; {} of {} operations were answered", summary.answered, spec.settings.operations)
    }

    fn goal(spec: &Spec<Self>) -> u64 {
        spec.settings.operations
    }

    fn is_progress(moment: &Moment<'_, <Self as FamilyTypes>::Command, <Self as FamilyTypes>::Event>) -> bool {
        matches!(moment, Moment::Effect { effect: Done::Emit(Event::Answered { .. }), .. })
    }
}
