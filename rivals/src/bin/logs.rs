//! The `logs` program: compares how fast Quorate's store and raft-engine make records durable.
//!
//! ```text
//! cd rivals && cargo run --release --features logs --bin logs
//! ```

use anyhow::Context;
use bytes::Bytes;
use clap::Parser;
use quorate_rivals::logs::{Log, Ours, RaftEngine};
use raft_engine::RecoveryMode;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Measures how many records per second two logs make durable.
#[derive(Parser)]
#[command(
    name = "logs",
    version,
    after_help = "Example:\n  logs --folder . --appends 1000\n\n\
    Both logs take turns on the same disk. Compare release builds only, and ratios only: a disk's speed changes."
)]
struct Args {
    /// A folder on the disk to measure. The program creates a temporary folder in it and removes
    /// it.
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// Number of appends per turn, each with one sync.
    #[arg(long, default_value_t = 500)]
    appends: usize,
    /// Number of turns of each log for each batch size; the median counts.
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Length of a record in bytes.
    #[arg(long, default_value_t = 100)]
    bytes: usize,
}

const BATCH_SIZES: [usize; 3] = [1, 16, 256];

/// The result of one turn.
#[derive(Clone, Copy)]
struct Figures {
    records_per_second: f64,
    /// Time of the longest append, such as one during a checkpoint.
    longest_ms: f64,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let temporary = tempfile::tempdir_in(&args.folder).context("cannot create a temporary folder")?;
    let mut out = io::stdout().lock();
    let Args { appends, turns, bytes, .. } = args;
    writeln!(out, "records of {bytes} bytes made durable per second, and the longest append in milliseconds")?;
    writeln!(out, "median of {turns} turns of {appends} appends each")?;
    let [ours, theirs] = [Ours::NAME, RaftEngine::NAME];
    writeln!(
        out,
        "{:>14}  {ours:>14} {:>8}  {theirs:>14} {:>8}  {:>6}",
        "records/sync", "longest", "longest", "ratio"
    )?;
    for batch_size in BATCH_SIZES {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for turn in 0..turns.max(1) {
            let at = |name: &str| temporary.path().join(format!("{name}-{batch_size}-{turn}"));
            ours.push(measure(&mut Ours::create(&at(Ours::NAME))?, batch_size, &args)?);
            let mut engine = RaftEngine::open(&at(RaftEngine::NAME), RecoveryMode::TolerateTailCorruption)?;
            theirs.push(measure(&mut engine, batch_size, &args)?);
        }
        let (ours, theirs) = (middle(ours), middle(theirs));
        writeln!(
            out,
            "{batch_size:>14}  {:>14.0} {:>8.1}  {:>14.0} {:>8.1}  {:>6.2}",
            ours.records_per_second,
            ours.longest_ms,
            theirs.records_per_second,
            theirs.longest_ms,
            ours.records_per_second / theirs.records_per_second
        )?;
    }
    Ok(())
}

fn measure<L: Log>(log: &mut L, batch_size: usize, args: &Args) -> anyhow::Result<Figures> {
    // Random bytes, so that compression does not help either log.
    let mut noise: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut byte = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 56) as u8
    };
    let records: Vec<Bytes> = (0..batch_size).map(|_| (0..args.bytes).map(|_| byte()).collect()).collect();
    log.append(&records)?;
    let mut longest_ms: f64 = 0.0;
    let started = Instant::now();
    for _ in 0..args.appends {
        let append_started = Instant::now();
        log.append(&records)?;
        longest_ms = longest_ms.max(append_started.elapsed().as_secs_f64() * 1_000.0);
    }
    let records_per_second = (batch_size * args.appends) as f64 / started.elapsed().as_secs_f64();
    Ok(Figures { records_per_second, longest_ms })
}

/// The turn with the median speed.
fn middle(mut turns: Vec<Figures>) -> Figures {
    turns.sort_by(|a, b| a.records_per_second.total_cmp(&b.records_per_second));
    turns.get(turns.len() / 2).copied().unwrap_or(Figures { records_per_second: 0.0, longest_ms: 0.0 })
}
