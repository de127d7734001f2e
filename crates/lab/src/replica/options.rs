//! Options that only replicated logs understand.

use super::{OPERATION, Replica, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{Basics, Options, whole};
use crate::registry::FamilyArgs;
use clap::{Args, ValueEnum};
use quorate_core::Duration;
use quorate_journal::settings::Length;
use quorate_replica::Reads;

/// Options that only replicated logs understand.
#[derive(Args)]
#[command(next_help_heading = "Options of replicated logs")]
pub struct ReplicaArgs {
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

impl OptionsFamily for Replica {
    type Args = ReplicaArgs;

    fn changed(usual: Settings, args: &FamilyArgs, basics: Basics) -> Result<Settings, LabError> {
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
}
