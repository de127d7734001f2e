//! `quorate bench replica`: three replicas in this process beside the raw disk.

use super::{progress_bar, word};
use crate::Verdict;
use crate::args::BenchArgs;
use crate::output::{name, output};
use crate::{paint, report};
use quorate_core::{Duration, Group, Incarnation, NodeId};
use quorate_drive::Disk;
use quorate_drive::local::{Address, Running, Start, mailbox, start};
use quorate_replica::registers::{Change, Registers};
use quorate_replica::{Command, Durable, Event, Members, Proposal, Replica, Settings, Ticket};
use quorate_store::{ClusterId, Owner, Patience, Scribe, Store, StoreError, found};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const REPLICAS: usize = 3;
const IN_FLIGHT: [usize; 3] = [1, 16, 256];
/// What the replicas must reach of the raw rate with the most in flight.
const LEAST_SHARE: f64 = 1.0 / 3.0;
/// How long a measurement takes.
const SECONDS: f64 = 1.0;
/// What one command takes in the log, about.
const RECORD_BYTES: usize = 16;

#[derive(Serialize)]
struct Report {
    replicas: usize,
    folder: String,
    rows: Vec<Row>,
    holds: bool,
}

#[derive(Serialize, Default)]
struct Row {
    in_flight: usize,
    /// Records a second appended to a plain file, so many with each sync.
    raw_per_second: f64,
    /// Proposals answered a second, on disks.
    disk_per_second: f64,
    /// Proposals answered a second, without.
    memory_per_second: f64,
    /// With disks, over raw.
    share: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Verdict> {
    let folder = Folder::new(args.folder.as_deref())?;
    let bar = progress_bar(args.turns.saturating_mul(3 * IN_FLIGHT.len() as u64));
    let mut rows = Vec::new();
    for in_flight in IN_FLIGHT {
        let mut row = Row { in_flight, ..Row::default() };
        for turn in 0..args.turns {
            let measure = |best: &mut f64, what: &str, rate: &dyn Fn() -> anyhow::Result<f64>| {
                bar.set_message(format!("{in_flight} in flight, {what}"));
                *best = best.max(rate()?);
                bar.inc(1);
                anyhow::Ok(())
            };
            let place = |what: &str| folder.0.join(format!("{what}-{in_flight}-{turn}"));
            measure(&mut row.raw_per_second, "raw", &|| raw(&place("raw"), in_flight))?;
            measure(&mut row.disk_per_second, "with disks", &|| replicas(Some(&place("disk")), in_flight))?;
            measure(&mut row.memory_per_second, "without", &|| replicas(None, in_flight))?;
        }
        row.share = row.disk_per_second / row.raw_per_second;
        rows.push(row);
    }
    bar.finish_and_clear();
    let holds = rows.last().is_some_and(|row| row.share >= LEAST_SHARE);
    let found = Report { replicas: REPLICAS, folder: name(&folder.0).to_string(), rows, holds };
    if args.json {
        report::json(&found)?;
    } else {
        print(&found, args.turns)?;
    }
    Ok(Verdict::of(holds))
}

/// A folder for the measurement, gone when it is over.
struct Folder(PathBuf);

impl Folder {
    fn new(parent: Option<&Path>) -> anyhow::Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let path = parent.join(format!("quorate-bench-{}", std::process::id()));
        // The message alone: an error of a file, further down, is taken for one of the output.
        fs::create_dir(&path).map_err(|error| anyhow::anyhow!("{} could not be created: {error}.", name(&path)))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left for its owner to see.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Records appended to a file a second, so many with each sync.
fn raw(path: &Path, together: usize) -> anyhow::Result<f64> {
    let failed = |error| anyhow::anyhow!("{} could not be written: {error}.", name(path));
    let mut file = File::create(path).map_err(failed)?;
    let batch = vec![0x5A; together * RECORD_BYTES];
    let begin = Instant::now();
    let mut records = 0;
    while begin.elapsed().as_secs_f64() < SECONDS {
        file.write_all(&batch).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        records += together;
    }
    Ok(records as f64 / begin.elapsed().as_secs_f64())
}

type Node = Replica<Registers>;

/// Proposals answered a second by three replicas, so many under way at any time.
fn replicas(folder: Option<&Path>, in_flight: usize) -> anyhow::Result<f64> {
    let answered = Arc::new(AtomicU64::new(0));
    let mut nodes = start_group(folder, in_flight, &answered)?;
    if let Some(first) = nodes.first() {
        first.address().command(vec![Command::Campaign]);
    }
    let deadline = Instant::now() + std::time::Duration::from_secs(30);
    while answered.load(Ordering::Relaxed) < in_flight as u64 {
        anyhow::ensure!(Instant::now() < deadline, "The replicas answered nothing within 30 seconds.");
        std::thread::yield_now();
    }
    let (begin, before) = (Instant::now(), answered.load(Ordering::Relaxed));
    std::thread::sleep(std::time::Duration::from_secs_f64(SECONDS));
    let rate = (answered.load(Ordering::Relaxed) - before) as f64 / begin.elapsed().as_secs_f64();
    nodes.drain(..).for_each(|node| {
        node.stop();
    });
    Ok(rate)
}

fn start_group(
    folder: Option<&Path>,
    in_flight: usize,
    answered: &Arc<AtomicU64>,
) -> anyhow::Result<Vec<Running<Node>>> {
    let group = Group::of_size(REPLICAS);
    let settings = Settings { tick: Duration::from_millis(50), ..Settings::new(Members::voters(&group)) };
    let mailboxes: Vec<_> = group.iter().map(|me| (me, mailbox::<Node>())).collect();
    let addresses: BTreeMap<_, _> = mailboxes.iter().map(|(me, (address, _))| (*me, address.clone())).collect();
    let mut nodes = Vec::new();
    for (me, (address, letters)) in mailboxes {
        let (durable, disk) = match folder {
            None => (Durable::default(), Disk::None),
            Some(folder) => open(folder, me, &address)?,
        };
        let setup = Start { me, durable, incarnation: Incarnation::FIRST, disk, peers: addresses.clone() };
        let pump = Pump { address: address.clone(), answered: Arc::clone(answered), in_flight, next: 0 };
        let settings = settings.clone();
        nodes.push(start(setup, (address, letters), move || Replica::new(me, settings), pump.into_ear())?);
    }
    Ok(nodes)
}

fn open(folder: &Path, me: NodeId, address: &Address<Node>) -> anyhow::Result<(Durable, Disk<Durable>)> {
    let folder = folder.with_extension(format!("node-{me}"));
    let owner = Owner { cluster: ClusterId(1), node: me };
    let failed = |error: StoreError| anyhow::anyhow!("{error}");
    found::<Durable>(&folder, owner).map_err(failed)?;
    let (store, durable, _) =
        Store::<Durable>::open(&folder, owner, quorate_store::Settings::default()).map_err(failed)?;
    let scribe = Scribe::start(store, 1 << 16, Patience::default(), address.reporter()).map_err(failed)?;
    Ok((durable, Disk::Scribe(scribe)))
}

/// Users who keep so many proposals under way, wherever the leader is.
struct Pump {
    address: Address<Node>,
    answered: Arc<AtomicU64>,
    in_flight: usize,
    next: u64,
}

impl Pump {
    /// Everything that is answered in one turn is asked again as one batch.
    fn into_ear(mut self) -> impl FnMut(Vec<Event<Registers>>) + Send + 'static {
        move |events| {
            let mut done = 0;
            let mut again = 0;
            for event in events {
                match event {
                    Event::Answered { .. } => done += 1,
                    Event::Refused { .. } | Event::Unknown { .. } => again += 1,
                    Event::Leads { .. } => self.begin(),
                    Event::Changed { .. }
                    | Event::Follows { .. }
                    | Event::Applied(_)
                    | Event::Restored(_)
                    | Event::Halted { .. } => {}
                }
            }
            self.answered.fetch_add(done as u64, Ordering::Relaxed);
            self.ask(done + again);
        }
    }

    /// In a few batches, so that one is on its way while another is on the disks.
    fn begin(&mut self) {
        let batches = self.in_flight.min(BATCHES);
        for _ in 0..batches {
            self.ask(self.in_flight / batches);
        }
    }

    fn ask(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let proposals = (0..count).map(|_| {
            self.next += 1;
            let command = Change::Write { key: self.next % 1_000, value: self.next };
            Proposal { ticket: Ticket(self.next), command }
        });
        self.address.command(vec![Command::Propose(proposals.collect())]);
    }
}

const BATCHES: usize = 2;

fn print(found: &Report, turns: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(
        out,
        "Proposals answered by {REPLICAS} replicas in one process, each with a log of its own in {}",
        found.folder
    )?;
    let turns = report::count(turns, "turn");
    writeln!(out, "(best of {turns} each; raw: as many records appended to one file with each sync)\n")?;
    let heading = format!(
        "{:>10}{:>15}{:>15}{:>9}{:>10}{:>15}",
        "in flight", "raw disk", "replicas", "share", "at least", "without disk"
    );
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in &found.rows {
        let Row { in_flight, raw_per_second, disk_per_second, memory_per_second, share } = row;
        let is_last = *in_flight == IN_FLIGHT[IN_FLIGHT.len() - 1];
        let (least, judged) =
            if is_last { (format!("{LEAST_SHARE:.2}"), word(found.holds)) } else { Default::default() };
        writeln!(
            out,
            "{in_flight:>10}{raw_per_second:>13.0}/s{disk_per_second:>13.0}/s{share:>9.2}{least:>10}{memory_per_second:>13.0}/s  {judged}"
        )?;
    }
    Ok(())
}
