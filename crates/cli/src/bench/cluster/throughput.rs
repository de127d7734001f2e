//! `quorate bench replica`: requests of many clients to three servers, beside the raw disk.

use super::group::{GroupOptions, ServerGroup};
use super::load::{Load, LoadOptions};
use super::message::Counters;
use super::meter::processor_nanos;
use super::{MAX_CLIENTS, SERVERS, servers};
use crate::args::BenchArgs;
use crate::bench::folder::TemporaryFolder;
use crate::bench::in_process::measure_raw_disk_rate;
use crate::bench::net::percentile;
use crate::bench::{Steps, conclude, format_met_or_missed, measurement_error};
use crate::output::{display_path, output};
use crate::{CommandOutcome, paint, report};
use anyhow::Context;
use quorate_core::NodeId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

/// Numbers of requests in flight to measure with by default, each on a connection of its own.
const IN_FLIGHT: [u64; 3] = [1, 64, 256];
/// Target: maximum number of messages between servers for each entry of the log, with this many
/// requests in flight or more.
const MAX_MESSAGES_PER_ENTRY: f64 = 4.0;
/// Number of entries that a leader appends ahead of the commit index.
const MAX_ENTRIES_IN_FLIGHT: f64 = 2.0;
const MIN_TARGET_IN_FLIGHT: u64 = 64;
/// Duration of one measurement.
const MEASURED: Duration = Duration::from_secs(1);
/// Number of answers to each client before a measurement.
const WARM_UP_ANSWERS: u64 = 10;
/// Without faults, no client needs another server.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct ThroughputReport {
    servers: u32,
    folder: String,
    /// Whether the clients use all servers instead of the leader.
    spread: bool,
    rows: Vec<Row>,
    /// Whether the target is met.
    holds: bool,
}

/// The best run with one kind of connections and one number of requests in flight.
#[derive(Serialize)]
struct Row {
    security: &'static str,
    in_flight: u64,
    /// Whether there is a target: under load, if no server forwards requests.
    has_target: bool,
    /// Records per second appended to a plain file, with `in_flight` records per sync.
    raw_per_second: f64,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Serialize)]
struct Figures {
    requests_per_second: f64,
    p50_us: f64,
    p99_us: f64,
    /// Entries of the log in the measured time.
    entries: f64,
    requests_per_entry: f64,
    /// Messages between servers, in all directions.
    messages_per_entry: f64,
    /// The same by kind. A commit is an append without entries.
    messages_per_entry_by_kind: BTreeMap<String, f64>,
    /// Syncs of an average server.
    syncs_per_entry: f64,
    /// Processor time for each request of a client, in microseconds.
    leader_us_per_request: f64,
    followers_us_per_request: Vec<f64>,
    clients_us_per_request: f64,
}

impl Row {
    /// Whether the target is met. The servers are not read at the same instant, so the messages of
    /// the entries in flight may be counted only at the end, or only at the beginning.
    fn meets_target(&self) -> bool {
        let Figures { entries, messages_per_entry, .. } = self.figures;
        let max_messages = MAX_MESSAGES_PER_ENTRY * (entries + MAX_ENTRIES_IN_FLIGHT);
        !self.has_target || messages_per_entry * entries <= max_messages
    }
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    let in_flight = if args.in_flight.is_empty() { IN_FLIGHT.to_vec() } else { args.in_flight.clone() };
    let is_valid = |count: &u64| (1..=MAX_CLIENTS).contains(count);
    if let Some(count) = in_flight.iter().find(|count| !is_valid(count)) {
        anyhow::bail!("--in-flight must be between 1 and {MAX_CLIENTS}; got {count}.");
    }
    let folder = TemporaryFolder::new(args.folder.as_deref())?;
    let report = measure(&folder, args, &in_flight).map_err(measurement_error)?;
    conclude(&report, args, |report| print(report, args.runs()), report.holds)
}

fn measure(folder: &TemporaryFolder, args: &BenchArgs, in_flight: &[u64]) -> anyhow::Result<ThroughputReport> {
    let securities = [("plain", false), ("TLS", true)];
    let steps = Steps::new(args.runs().saturating_mul((securities.len() * in_flight.len()) as u64));
    let mut rows = Vec::new();
    for (security, is_encrypted) in securities {
        let options = GroupOptions { folder: &folder.path().join(security), is_encrypted, has_namespaces: false };
        let mut group = ServerGroup::found(SERVERS, &options)?;
        for &in_flight in in_flight {
            let mut best: Option<Figures> = None;
            let mut raw_per_second = 0.0_f64;
            for _ in 0..args.runs() {
                let figures = steps.perform(format!("{in_flight} in flight, {security}"), || {
                    let raw = measure_raw_disk_rate(&folder.path().join("raw"), in_flight as usize)?;
                    raw_per_second = raw_per_second.max(raw);
                    measure_run(&mut group, in_flight, args.spread)
                })?;
                if best.as_ref().is_none_or(|best| figures.requests_per_second > best.requests_per_second) {
                    best = Some(figures);
                }
            }
            let figures = best.context("there was no run.")?;
            let has_target = in_flight >= MIN_TARGET_IN_FLIGHT && !args.spread;
            rows.push(Row { security, in_flight, has_target, raw_per_second, figures });
        }
    }
    let holds = rows.iter().all(Row::meets_target);
    Ok(ThroughputReport { servers: SERVERS, folder: display_path(folder.path()), spread: args.spread, rows, holds })
}

/// The state of all counters at one moment.
struct Reading {
    at: Instant,
    answered: u64,
    clients_nanos: u64,
    servers: BTreeMap<NodeId, Counters>,
}

impl Reading {
    fn take(group: &mut ServerGroup, load: &Load) -> anyhow::Result<Self> {
        let (at, answered, clients_nanos) = (Instant::now(), load.tally().answered, processor_nanos());
        Ok(Self { at, answered, clients_nanos, servers: group.count(&servers())? })
    }

    /// The highest index of an entry whose command was answered.
    fn last_answered_index(&self) -> u64 {
        self.servers.values().map(|counters| counters.answered_index).max().unwrap_or_default()
    }

    /// The growth of a counter of one server since an earlier reading.
    fn growth(&self, earlier: &Self, server: NodeId, counter: impl Fn(&Counters) -> u64) -> f64 {
        let read = |reading: &Self| reading.servers.get(&server).map(&counter).unwrap_or_default();
        read(self).saturating_sub(read(earlier)) as f64
    }
}

/// Lets clients send requests, and measures for some time.
fn measure_run(group: &mut ServerGroup, in_flight: u64, is_spread: bool) -> anyhow::Result<Figures> {
    let options =
        LoadOptions { clients: in_flight, is_spread, connect_timeout: CLIENT_TIMEOUT, answer_timeout: CLIENT_TIMEOUT };
    let load = Load::start(group, options)?;
    load.warm_up(group, WARM_UP_ANSWERS)?;
    let figures = loop {
        let leadership = group.wait_for_leader(|_| true)?;
        load.tally().latencies_nanos.clear();
        let before = Reading::take(group, &load)?;
        group.run_for(MEASURED)?;
        let mut latencies = std::mem::take(&mut load.tally().latencies_nanos);
        let after = Reading::take(group, &load)?;
        // The processor time belongs to the leader only if it led all the time.
        if group.leadership().is_some_and(|now| now.term == leadership.term) {
            latencies.sort_unstable();
            break build_figures(leadership.leader, &before, &after, &latencies);
        }
    };
    let result = load.finish()?;
    anyhow::ensure!(result.failures.is_empty(), "requests failed: {}.", result.failures.join("; "));
    anyhow::ensure!(result.lost == 0, "{} acknowledged requests were lost.", result.lost);
    Ok(figures)
}

fn build_figures(leader: NodeId, before: &Reading, after: &Reading, latencies_nanos: &[u64]) -> Figures {
    let requests = (after.answered - before.answered).max(1) as f64;
    let entries = (after.last_answered_index() - before.last_answered_index()).max(1) as f64;
    let total = |counter: &dyn Fn(&Counters) -> u64| -> f64 {
        servers().into_iter().map(|server| after.growth(before, server, counter)).sum()
    };
    let micros_per_request =
        |server: NodeId| after.growth(before, server, |counters| counters.processor_nanos) / 1_000.0 / requests;
    let kinds = after.servers.values().flat_map(|counters| counters.received.keys());
    let by_kind = |kind: &String| {
        let received = total(&|counters| counters.received.get(kind).copied().unwrap_or_default());
        (kind.clone(), received / entries)
    };
    Figures {
        requests_per_second: requests / (after.at - before.at).as_secs_f64(),
        p50_us: percentile(latencies_nanos, 50) as f64 / 1_000.0,
        p99_us: percentile(latencies_nanos, 99) as f64 / 1_000.0,
        entries,
        requests_per_entry: requests / entries,
        messages_per_entry: total(&|counters| counters.messages_sent) / entries,
        messages_per_entry_by_kind: kinds.map(by_kind).filter(|(_, messages)| *messages > 0.0).collect(),
        syncs_per_entry: total(&|counters| counters.syncs) / entries / f64::from(SERVERS),
        leader_us_per_request: micros_per_request(leader),
        followers_us_per_request: servers()
            .into_iter()
            .filter(|server| *server != leader)
            .map(micros_per_request)
            .collect(),
        clients_us_per_request: (after.clients_nanos - before.clients_nanos) as f64 / 1_000.0 / requests,
    }
}

fn print(report: &ThroughputReport, runs: u64) -> anyhow::Result<()> {
    let mut out = output();
    let clients = if report.spread { "clients of all servers" } else { "clients of the leader" };
    writeln!(out, "Three servers in processes of their own, each with its own log in {}", report.folder)?;
    let runs = report::format_count(runs, "run");
    writeln!(
        out,
        "({clients}, each with a connection and one request in flight; best of {runs} each;\n\
         raw disk: one file, with as many records per sync as requests in flight)\n"
    )?;
    let groups = format!("{:>75}{:>29}", "per entry of the log", "processor µs per request");
    writeln!(out, "{}", paint::bold(&groups))?;
    let heading = format!(
        "{:<6}{:>9}{:>12}{:>9}{:>9}{:>12}{:>9}{:>9}{:>7}{:>8}{:>12}{:>8}",
        "",
        "in flight",
        "requests",
        "p50 µs",
        "p99 µs",
        "raw disk",
        "requests",
        "messages",
        "syncs",
        "leader",
        "followers",
        "clients"
    );
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in &report.rows {
        let Row { security, in_flight, raw_per_second, figures, .. } = row;
        let Figures { requests_per_second, p50_us, p99_us, requests_per_entry, messages_per_entry, .. } = figures;
        let Figures { syncs_per_entry, leader_us_per_request, clients_us_per_request, .. } = figures;
        let followers: Vec<_> = figures.followers_us_per_request.iter().map(|micros| format!("{micros:.1}")).collect();
        let followers = followers.join("/");
        let verdict = if row.has_target { format_met_or_missed(row.meets_target()) } else { String::new() };
        writeln!(
            out,
            "{security:<6}{in_flight:>9}{requests_per_second:>10.0}/s{p50_us:>9.0}{p99_us:>9.0}{raw_per_second:>10.0}/s\
             {requests_per_entry:>9.1}{messages_per_entry:>9.2}{syncs_per_entry:>7.2}{leader_us_per_request:>8.1}\
             {followers:>12}{clients_us_per_request:>8.1}  {verdict}"
        )?;
    }
    let target = if report.spread {
        "no target, because followers forward requests".to_owned()
    } else {
        format!("at most {MAX_MESSAGES_PER_ENTRY} with {MIN_TARGET_IN_FLIGHT} or more in flight")
    };
    writeln!(out, "\nmessages between the servers for each entry ({target}):")?;
    for Row { security, in_flight, figures, .. } in &report.rows {
        let kinds = figures.messages_per_entry_by_kind.iter();
        let kinds: Vec<_> = kinds.map(|(kind, messages)| format!("{kind} {messages:.2}")).collect();
        writeln!(out, "  {security}, {in_flight} in flight: {}", kinds.join(", "))?;
    }
    writeln!(
        out,
        "\nEverything runs on this machine, and shares its processors and its disk. syncs: of an average server.\n\
         raw disk: the file grows with each sync, while servers write zeros ahead of their logs, so they can be faster.\n\
         messages: up to two entries in flight may be counted at one end of the measurement only.\n\
         --in-process measures three replicas on threads of one process instead: their messages pass through memory,\n\
         and one client in the same process proposes. It shows what the protocol and the disk cost, and what a change of\n\
         them gains, but no service is that fast: it leaves out the network, its encoding and checksums, and clients."
    )?;
    Ok(())
}
