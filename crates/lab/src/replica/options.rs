//! Options that only replicated logs understand.

use super::{OPERATION, Replica, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{Basics, Options, OptionsError, first_given, one_of, whole};
use crate::registry::FamilyArgs;
use clap::Args;
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
    #[arg(long, value_parser = one_of(READS))]
    reads: Option<Reads>,
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

const READS: [(&str, Reads); 2] = [("quorum", Reads::Quorum), ("lease", Reads::Lease)];

impl Options for ReplicaArgs {
    fn given(&self) -> Option<&'static str> {
        first_given!(
            self; founders, clients, operations, keys, changes, reads, tick, checkpoint_every = "checkpoint-every",
            keep_entries = "keep-entries", piece_bytes = "piece-bytes"
        )
    }
}

impl OptionsFamily for Replica {
    type Args = ReplicaArgs;

    fn changed(usual: Settings, args: &FamilyArgs, basics: Basics) -> Result<Settings, LabError> {
        let given = &args.replica;
        if let (Some(0), Some(option)) = (given.clients, first_given!(given; operations, keys)) {
            return Err(OptionsError::no_effect(option, "beside --clients 0: nobody asks for anything").into());
        }
        Ok(Settings {
            founders: given.founders.or(usual.founders),
            clients: given.clients.unwrap_or(usual.clients),
            operations: given.operations.unwrap_or(usual.operations),
            keys: given.keys.unwrap_or(usual.keys),
            changes: given.changes.unwrap_or(usual.changes),
            reads: given.reads.unwrap_or(usual.reads),
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
