//! `quorate bench replica --in-process`: measures three replicas in this process beside the raw
//! disk.

use super::folder::TemporaryFolder;
use super::{Steps, conclude, format_met_or_missed};
use crate::CommandOutcome;
use crate::args::BenchArgs;
use crate::output::{display_path, output};
use crate::{paint, report};
use quorate_core::{Duration, Group, Incarnation, NodeId};
use quorate_drive::Disk;
use quorate_drive::local::{Address, NodeSetup, RunningNode, create_mailbox, start};
use quorate_replica::registers::{Change, Registers};
use quorate_replica::{Command, Durable, Event, Members, Proposal, Replica, Settings, Ticket};
use quorate_store::{ClusterId, DiskWriter, Owner, RetryDelays, Store, StoreError, create_founder};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const REPLICAS: usize = 3;
/// Numbers of proposals in flight to measure with.
const IN_FLIGHT: [usize; 3] = [1, 16, 256];
/// Target: minimum rate of the replicas relative to the raw disk, with the most proposals in
/// flight.
const MIN_RATE_RATIO: f64 = 1.0 / 3.0;
/// Maximum number of batches in which a new leader's client sends its first proposals.
const FIRST_BATCHES: usize = 2;
/// Duration of one measurement in seconds.
const MEASURED_SECONDS: f64 = 1.0;
/// Number of keys to which the proposals write in turn.
const KEYS: u64 = 1_000;
/// Approximate size of one command in the log, in bytes.
const RECORD_BYTES: usize = 16;
/// Maximum number of writes that wait for a disk.
const MAX_QUEUED_WRITES: usize = 1 << 16;

#[derive(Serialize)]
struct ReplicaBenchReport {
    replicas: usize,
    folder: String,
    rows: Vec<InFlightRow>,
    /// Whether the target is met.
    holds: bool,
}

#[derive(Serialize, Default)]
struct InFlightRow {
    in_flight: usize,
    /// Records per second appended to a plain file, with `in_flight` records per sync.
    raw_per_second: f64,
    /// Proposals answered per second by replicas with disks.
    disk_per_second: f64,
    /// Proposals answered per second by replicas without disks.
    memory_per_second: f64,
    /// Rate with disks relative to the raw rate.
    #[serde(rename = "share")]
    rate_ratio: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    let folder = TemporaryFolder::new(args.folder.as_deref())?;
    const CONTENDERS: usize = 3;
    let steps = Steps::new(args.runs().saturating_mul((CONTENDERS * IN_FLIGHT.len()) as u64));
    let mut rows = Vec::new();
    for in_flight in IN_FLIGHT {
        let mut row = InFlightRow { in_flight, ..InFlightRow::default() };
        for run in 0..args.runs() {
            let measure = |best: &mut f64, contender: &str, rate: &dyn Fn() -> anyhow::Result<f64>| {
                *best = best.max(steps.perform(format!("{in_flight} in flight, {contender}"), rate)?);
                anyhow::Ok(())
            };
            let path = |name: &str| folder.path().join(format!("{name}-{in_flight}-{run}"));
            measure(&mut row.raw_per_second, "raw", &|| measure_raw_disk_rate(&path("raw"), in_flight))?;
            measure(&mut row.disk_per_second, "with disks", &|| measure_replica_rate(Some(&path("disk")), in_flight))?;
            measure(&mut row.memory_per_second, "without disks", &|| measure_replica_rate(None, in_flight))?;
        }
        row.rate_ratio = row.disk_per_second / row.raw_per_second;
        rows.push(row);
    }
    let holds = rows.last().is_some_and(|row| row.rate_ratio >= MIN_RATE_RATIO);
    let report =
        ReplicaBenchReport { replicas: REPLICAS, folder: display_path(folder.path()).to_string(), rows, holds };
    conclude(&report, args, |report| print(report, args.runs()), holds)
}

/// Returns the records per second appended to a file, with `per_sync` records in each sync.
pub(super) fn measure_raw_disk_rate(path: &Path, per_sync: usize) -> anyhow::Result<f64> {
    let failed = |error| anyhow::anyhow!("cannot write {}: {error}.", display_path(path));
    let mut file = File::create(path).map_err(failed)?;
    let batch = vec![0x5A; per_sync * RECORD_BYTES];
    let started = Instant::now();
    let mut records = 0;
    while started.elapsed().as_secs_f64() < MEASURED_SECONDS {
        file.write_all(&batch).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        records += per_sync;
    }
    Ok(records as f64 / started.elapsed().as_secs_f64())
}

type Node = Replica<Registers>;

/// Returns the proposals per second that three replicas answer, with `in_flight` proposals in
/// flight. The path of each replica's data folder begins with `data_prefix`; without it, the
/// replicas have no disks.
fn measure_replica_rate(data_prefix: Option<&Path>, in_flight: usize) -> anyhow::Result<f64> {
    let answered = Arc::new(AtomicU64::new(0));
    let mut nodes = start_group(data_prefix, in_flight, &answered)?;
    if let Some(first) = nodes.first() {
        first.address().send_commands(vec![Command::Campaign]);
    }
    // Measure only after the election, once `in_flight` proposals have been answered.
    let deadline = Instant::now() + std::time::Duration::from_secs(30);
    while answered.load(Ordering::Relaxed) < in_flight as u64 {
        anyhow::ensure!(Instant::now() < deadline, "the replicas did not answer within 30 s.");
        std::thread::yield_now();
    }
    let (started, before) = (Instant::now(), answered.load(Ordering::Relaxed));
    std::thread::sleep(std::time::Duration::from_secs_f64(MEASURED_SECONDS));
    let rate = (answered.load(Ordering::Relaxed) - before) as f64 / started.elapsed().as_secs_f64();
    nodes.drain(..).for_each(|node| {
        node.stop();
    });
    Ok(rate)
}

fn start_group(
    data_prefix: Option<&Path>,
    in_flight: usize,
    answered: &Arc<AtomicU64>,
) -> anyhow::Result<Vec<RunningNode<Node>>> {
    let group = Group::of_size(REPLICAS);
    let settings = Settings { tick: Duration::from_millis(50), ..Settings::new(Members::voters(&group)) };
    let mailboxes: Vec<_> = group.iter().map(|me| (me, create_mailbox::<Node>())).collect();
    let addresses: BTreeMap<_, _> = mailboxes.iter().map(|(me, (address, _))| (*me, address.clone())).collect();
    let mut nodes = Vec::new();
    for (me, (address, inbox)) in mailboxes {
        let (durable, disk) = match data_prefix {
            None => (Durable::default(), Disk::None),
            Some(prefix) => open_disk(prefix, me, &address)?,
        };
        let setup = NodeSetup { me, durable, incarnation: Incarnation::FIRST, disk, peers: addresses.clone() };
        let load =
            LoadGenerator { address: address.clone(), answered: Arc::clone(answered), in_flight, last_proposal: 0 };
        let settings = settings.clone();
        nodes.push(start(setup, (address, inbox), move || Replica::new(me, settings), load.into_handler())?);
    }
    Ok(nodes)
}

fn open_disk(prefix: &Path, me: NodeId, address: &Address<Node>) -> anyhow::Result<(Durable, Disk<Durable>)> {
    let folder = prefix.with_extension(format!("node-{me}"));
    let owner = Owner { cluster: ClusterId(1), node: me };
    let failed = |error: StoreError| anyhow::anyhow!("{error}");
    create_founder::<Durable>(&folder, owner).map_err(failed)?;
    let (store, durable, _) =
        Store::<Durable>::open(&folder, owner, quorate_store::Settings::default()).map_err(failed)?;
    let disk_writer =
        DiskWriter::start(store, MAX_QUEUED_WRITES, RetryDelays::default(), address.reporter()).map_err(failed)?;
    Ok((durable, Disk::Writer(disk_writer)))
}

/// A client of one replica that keeps `in_flight` proposals in flight while the replica leads.
struct LoadGenerator {
    address: Address<Node>,
    /// Number of answered proposals, which all clients count together.
    answered: Arc<AtomicU64>,
    in_flight: usize,
    /// Number of the last proposal.
    last_proposal: u64,
}

impl LoadGenerator {
    /// Returns the event handler. It sends the first proposals when the replica becomes leader.
    /// After that, each call sends one batch, with a new proposal for each one that the call's
    /// events report as answered, refused or unknown.
    fn into_handler(mut self) -> impl FnMut(Vec<Event<Registers>>) + Send + 'static {
        move |events| {
            let (mut answered, mut unanswered) = (0, 0);
            for event in events {
                match event {
                    Event::Answered { .. } => answered += 1,
                    Event::Refused { .. } | Event::Unknown { .. } => unanswered += 1,
                    Event::Leads { .. } => self.propose_first(),
                    Event::Changed { .. }
                    | Event::Attached { .. }
                    | Event::Outcome { .. }
                    | Event::Detached { .. }
                    | Event::Configured { .. }
                    | Event::Retired
                    | Event::Follows { .. }
                    | Event::Applied { .. }
                    | Event::Restored(_)
                    | Event::Halted { .. } => {}
                }
            }
            self.answered.fetch_add(answered as u64, Ordering::Relaxed);
            self.propose(answered + unanswered);
        }
    }

    /// Proposes the first commands in several batches, so that the replicas can send one batch
    /// while they write another to their disks.
    fn propose_first(&mut self) {
        let batches = self.in_flight.min(FIRST_BATCHES);
        for _ in 0..batches {
            self.propose(self.in_flight / batches);
        }
    }

    fn propose(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let proposals = (0..count).map(|_| {
            self.last_proposal += 1;
            let command = Change::Write { key: self.last_proposal % KEYS, value: self.last_proposal };
            Proposal { ticket: Ticket(self.last_proposal), command }
        });
        self.address.send_commands(vec![Command::Propose(proposals.collect())]);
    }
}

fn print(report: &ReplicaBenchReport, runs: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(
        out,
        "Proposals answered by {REPLICAS} replicas in one process, each with its own log in {}",
        report.folder
    )?;
    let runs = report::format_count(runs, "run");
    writeln!(out, "(best of {runs} each; raw disk: one file, with as many records per sync as proposals in flight)\n")?;
    let heading = format!(
        "{:>10}{:>15}{:>15}{:>9}{:>10}{:>15}",
        "in flight", "raw disk", "replicas", "ratio", "at least", "without disk"
    );
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in &report.rows {
        let InFlightRow { in_flight, raw_per_second, disk_per_second, memory_per_second, rate_ratio } = row;
        let is_last = *in_flight == IN_FLIGHT[IN_FLIGHT.len() - 1];
        let (min, verdict) = if is_last {
            (format!("{MIN_RATE_RATIO:.2}"), format_met_or_missed(report.holds))
        } else {
            Default::default()
        };
        writeln!(
            out,
            "{in_flight:>10}{raw_per_second:>13.0}/s{disk_per_second:>13.0}/s{rate_ratio:>9.2}{min:>10}{memory_per_second:>13.0}/s  {verdict}"
        )?;
    }
    writeln!(
        out,
        "\nThe replicas run on threads of this process and pass their messages through memory; one client in this\n\
         process proposes. Without --in-process, clients use three processes over TCP, as a service would run them."
    )?;
    Ok(())
}
