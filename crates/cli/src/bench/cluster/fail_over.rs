//! `quorate bench fail-over`: how long clients wait for service after a fault of the leader.

use super::group::{GroupOptions, ServerGroup, now_nanos};
use super::load::{Load, LoadOptions};
use super::{CLIENT_TIMEOUT, SERVERS, client_count, median, milliseconds, servers};
use crate::args::{BenchArgs, BenchFault};
use crate::bench::folder::TemporaryFolder;
use crate::bench::{Steps, conclude, format_met_or_missed, measurement_error};
use crate::output::output;
use crate::{CommandOutcome, paint, report};
use anyhow::Context;
use quorate_core::NodeId;
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

const ROUNDS: u64 = 50;
const REST: Duration = Duration::from_millis(1_200);

/// Targets for the time without service after a fault of the leader, in milliseconds.
struct Targets {
    median: Option<f64>,
    worst: f64,
}

impl BenchFault {
    const fn targets(self) -> Targets {
        match self {
            Self::Kill => Targets { median: Some(200.0), worst: 450.0 },
            Self::Stop | Self::Cut => Targets { median: None, worst: 1_000.0 },
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Cut => "cut",
        }
    }

    /// A sentence about the fault, for people.
    const fn description(self) -> &'static str {
        match self {
            Self::Kill => "SIGKILL ends the leader's process; it is restarted with its data",
            Self::Stop => "SIGSTOP pauses the leader's process; it continues later",
            Self::Cut => "the network drops all packets between the leader and the other servers, not those of clients",
        }
    }
}

#[derive(Serialize)]
struct FailOverReport {
    fault: &'static str,
    clients: u64,
    rest_ms: f64,
    rounds: Vec<Round>,
    median_ms: f64,
    worst_ms: f64,
    acknowledged: u64,
    lost: u64,
    failed: Vec<String>,
    holds: bool,
}

#[derive(Serialize)]
struct Round {
    round: u64,
    /// The leader, which the fault hits.
    leader: NodeId,
    new_leader: NodeId,
    /// From the fault until the new leader's server reported that it leads.
    election_ms: f64,
    /// From the fault to the first answer to a request that a client sent after it.
    service_ms: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    let rounds = args.rounds.unwrap_or(ROUNDS);
    anyhow::ensure!(rounds > 0, "--rounds must be at least 1; got 0.");
    let clients = client_count(args.clients)?;
    let fault = args.fault.unwrap_or(BenchFault::Kill);
    let rest = args.rest.map_or(REST, |rest| Duration::from_nanos(rest.0.nanos()));
    let folder = TemporaryFolder::new(args.folder.as_deref())?;
    let report = measure(&folder, FaultPlan { fault, rounds, rest, clients }).map_err(measurement_error)?;
    conclude(&report, args, |report| print(report, fault), report.holds)
}

#[derive(Clone, Copy)]
struct FaultPlan {
    fault: BenchFault,
    rounds: u64,
    rest: Duration,
    clients: u64,
}

fn measure(folder: &TemporaryFolder, plan: FaultPlan) -> anyhow::Result<FailOverReport> {
    let FaultPlan { fault, rounds, rest, clients } = plan;
    let options = GroupOptions { folder: folder.path(), is_encrypted: false, has_namespaces: fault == BenchFault::Cut };
    let mut group = ServerGroup::found(SERVERS, &options)?;
    let options =
        LoadOptions { clients, is_spread: false, connect_timeout: CLIENT_TIMEOUT, answer_timeout: CLIENT_TIMEOUT };
    let load = Load::start(&group, options)?;
    load.warm_up(&mut group, 10)?;
    let steps = Steps::new(rounds);
    let mut measured = Vec::new();
    for number in 1..=rounds {
        group.run_for(rest)?;
        let name = format!("round {number}");
        let round = steps.perform(name.clone(), || measure_round(&mut group, &load, fault, number).context(name))?;
        measured.push(round);
    }
    let result = load.finish()?;
    let median_ms = median(measured.iter().map(|round| round.service_ms)).unwrap_or_default();
    let worst_ms = measured.iter().map(|round| round.service_ms).fold(0.0, f64::max);
    let targets = fault.targets();
    let is_fast = targets.median.is_none_or(|max| median_ms <= max) && worst_ms <= targets.worst;
    Ok(FailOverReport {
        fault: fault.name(),
        clients,
        rest_ms: milliseconds(rest),
        rounds: measured,
        median_ms,
        worst_ms,
        acknowledged: result.acknowledged,
        lost: result.lost,
        holds: is_fast && result.lost == 0 && result.failures.is_empty(),
        failed: result.failures,
    })
}

/// Injects a fault into the leader, waits for service, and repairs the leader.
fn measure_round(group: &mut ServerGroup, load: &Load, fault: BenchFault, number: u64) -> anyhow::Result<Round> {
    let before = group.wait_for_leader(|_| true)?;
    let victim = before.leader;
    load.tally().latencies_nanos.clear();
    let fault_nanos = now_nanos();
    load.tally().watch(victim);
    match fault {
        BenchFault::Kill => group.kill(victim)?,
        BenchFault::Stop => group.pause(victim)?,
        BenchFault::Cut => group.cut(victim)?,
    }
    let mut outage = None;
    group.wait_until("no client was answered", |_| {
        outage = load.tally().outage();
        outage.is_some()
    })?;
    let after = group.wait_for_leader(|after| after.leader != victim && after.term > before.term)?;
    match fault {
        BenchFault::Kill => group.restart(victim)?,
        BenchFault::Stop => group.resume(victim)?,
        BenchFault::Cut => group.heal(victim)?,
    }
    group.catch_up(&servers())?;
    Ok(Round {
        round: number,
        leader: victim,
        new_leader: after.leader,
        election_ms: (after.since_nanos - fault_nanos) as f64 / 1e6,
        service_ms: milliseconds(outage.context("no client was answered.")?),
    })
}

fn print(report: &FailOverReport, fault: BenchFault) -> anyhow::Result<()> {
    let mut out = output();
    let FailOverReport { clients, rest_ms, rounds, median_ms, worst_ms, acknowledged, lost, failed, .. } = report;
    let clients = report::format_count(*clients, "client");
    writeln!(out, "Three servers in processes of their own, {clients}, {rest_ms:.0} ms between recovery and fault")?;
    writeln!(out, "(fault: {})\n", fault.description())?;
    let heading = format!("{:>6}{:>8}{:>12}{:>14}{:>14}", "round", "leader", "new leader", "elected", "in service");
    writeln!(out, "{}", paint::bold(&heading))?;
    for Round { round, leader, new_leader, election_ms, service_ms } in rounds {
        writeln!(out, "{round:>6}{leader:>8}{new_leader:>12}{election_ms:>11.1} ms{service_ms:>11.1} ms")?;
    }
    let targets = fault.targets();
    let verdict = |value: f64, target: Option<f64>| match target {
        Some(max) => format!("(at most {max:.0} ms)  {}", format_met_or_missed(value <= max)),
        None => String::new(),
    };
    writeln!(out, "\nmedian {median_ms:.1} ms {}", verdict(*median_ms, targets.median))?;
    writeln!(out, "worst  {worst_ms:.1} ms {}", verdict(*worst_ms, Some(targets.worst)))?;
    let acknowledged = report::format_count(*acknowledged, "request");
    let is_kept = *lost == 0;
    writeln!(out, "{acknowledged} acknowledged, {lost} of them lost  {}", format_met_or_missed(is_kept))?;
    for failure in failed {
        writeln!(out, "failed: {failure}")?;
    }
    writeln!(
        out,
        "\nelected: from the fault until the new leader reported that it leads. in service: until a client received\n\
         the answer to a request that it sent after the fault. Clients give up a silent server after {} ms.",
        CLIENT_TIMEOUT.as_millis()
    )?;
    Ok(())
}
