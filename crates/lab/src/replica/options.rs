//! Command-line options of replicated logs.

use super::{OPERATION_TICKS, Replica, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{CommonOptions, Options, OptionsError, first_given, parse_one_of, parse_whole};
use crate::registry::FamilyArgs;
use clap::Args;
use quorate_core::Duration;
use quorate_journal::settings::Length;
use quorate_replica::ReadMode;

/// Options that only replicated logs accept.
#[derive(Args)]
#[command(next_help_heading = "Options of replicated logs")]
pub struct ReplicaArgs {
    /// Number of initial members; the other nodes are spares [default: all nodes]
    #[arg(long, value_parser = parse_whole::<usize>)]
    founders: Option<usize>,
    /// Number of clients [default: 3]
    #[arg(long, value_parser = parse_whole::<u64>)]
    clients: Option<u64>,
    /// Number of reads, writes and compare-and-sets, all clients together [default: 60]
    #[arg(long, value_parser = parse_whole::<u64>)]
    operations: Option<u64>,
    /// Number of registers [default: 3]
    #[arg(long, value_parser = parse_whole::<u64>)]
    keys: Option<u64>,
    /// Number of times that an operator changes the members or transfers the leadership [default:
    /// 0]
    #[arg(long, value_parser = parse_whole::<u32>)]
    changes: Option<u32>,
    /// How reads are answered: by a round of heartbeats, or under a lease [default: quorum]
    #[arg(long, value_parser = parse_one_of(READS))]
    reads: Option<ReadMode>,
    /// Time unit of replicas for heartbeats and timeouts [default: 10ms]
    #[arg(long)]
    tick: Option<Length>,
    /// Number of entries after which a replica makes a checkpoint and truncates its log [default:
    /// 20]
    #[arg(long, value_name = "ENTRIES", value_parser = parse_whole::<u64>)]
    checkpoint_every: Option<u64>,
    /// Number of entries before the checkpoint that stay for replicas that lag behind [default: 5]
    #[arg(long, value_name = "ENTRIES", value_parser = parse_whole::<u64>)]
    keep_entries: Option<u64>,
    /// Maximum number of bytes in a piece of a snapshot [default: 100]
    #[arg(long, value_name = "BYTES", value_parser = parse_whole::<usize>)]
    piece_bytes: Option<usize>,
}

const READS: [(&str, ReadMode); 2] = [("quorum", ReadMode::Quorum), ("lease", ReadMode::Lease)];

impl Options for ReplicaArgs {
    fn first_given(&self) -> Option<&'static str> {
        first_given!(
            self; founders, clients, operations, keys, changes, reads, tick, checkpoint_every = "checkpoint-every",
            keep_entries = "keep-entries", piece_bytes = "piece-bytes"
        )
    }
}

impl OptionsFamily for Replica {
    type Args = ReplicaArgs;

    fn with_options(defaults: Settings, args: &FamilyArgs, common: CommonOptions) -> Result<Settings, LabError> {
        let given = &args.replica;
        if let (Some(0), Some(option)) = (given.clients, first_given!(given; operations, keys)) {
            return Err(OptionsError::no_effect(option, "with --clients 0, because there are no requests").into());
        }
        Ok(Settings {
            founders: given.founders.or(defaults.founders),
            clients: given.clients.unwrap_or(defaults.clients),
            operations: given.operations.unwrap_or(defaults.operations),
            keys: given.keys.unwrap_or(defaults.keys),
            changes: given.changes.unwrap_or(defaults.changes),
            reads: given.reads.unwrap_or(defaults.reads),
            tick: given.tick.unwrap_or(defaults.tick),
            checkpoint_every: given.checkpoint_every.unwrap_or(defaults.checkpoint_every),
            keep_entries: given.keep_entries.unwrap_or(defaults.keep_entries),
            piece_bytes: given.piece_bytes.unwrap_or(defaults.piece_bytes),
            chaos: common.has_chaos || defaults.chaos,
        })
    }

    fn with_duration(settings: &Settings, length: Duration) -> Option<Settings> {
        let Length(tick) = settings.tick;
        let rounds = length.nanos() / tick.times(OPERATION_TICKS).nanos().max(1);
        Some(Settings { operations: rounds.max(1).saturating_mul(settings.clients), ..settings.clone() })
    }

    /// Removes the simulated clients, because people type the requests.
    fn adapt_to_manual_use(settings: &mut Settings) {
        settings.clients = 0;
    }
}
