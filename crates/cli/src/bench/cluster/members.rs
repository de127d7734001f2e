//! `quorate bench members`: service while the members of a group change.

use super::group::{ChangeOutcome, GroupOptions, ServerGroup};
use super::load::{Load, LoadOptions};
use super::{CLIENT_TIMEOUT, SERVERS, client_count, milliseconds, servers};
use crate::args::BenchArgs;
use crate::bench::folder::TemporaryFolder;
use crate::bench::{Steps, conclude, format_met_or_missed, measurement_error};
use crate::output::output;
use crate::{CommandOutcome, paint, report};
use anyhow::Context;
use quorate_core::NodeId;
use quorate_replica::Members;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

/// Time for which the clients run before the first change and after each one.
const REST: Duration = Duration::from_millis(500);
/// Number of steps of the benchmark.
const STEPS: u64 = 5;
/// Maximum time until a learner has caught up and can be promoted.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Serialize)]
struct MembersReport {
    clients: u64,
    steps: Vec<Step>,
    longest_pause_ms: f64,
    acknowledged: u64,
    lost: u64,
    failed: Vec<String>,
    /// Number of times that a client has lost a server, or given it up.
    moves: u64,
    holds: bool,
}

#[derive(Serialize)]
struct Step {
    step: String,
    /// The time until the change was complete; the rest after it is not included.
    duration_ms: f64,
    /// Requests answered during the change and the rest after it.
    answered: u64,
    /// The longest time without an answer during the change and the rest after it.
    longest_pause_ms: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    let clients = client_count(args.clients)?;
    let folder = TemporaryFolder::new(args.folder.as_deref())?;
    let report = measure(&folder, clients).map_err(measurement_error)?;
    conclude(&report, args, print, report.holds)
}

fn measure(folder: &TemporaryFolder, clients: u64) -> anyhow::Result<MembersReport> {
    let options = GroupOptions { folder: folder.path(), is_encrypted: false, has_namespaces: false };
    let mut group = ServerGroup::found(SERVERS, &options)?;
    let options =
        LoadOptions { clients, is_spread: false, connect_timeout: CLIENT_TIMEOUT, answer_timeout: CLIENT_TIMEOUT };
    let load = Load::start(&group, options)?;
    load.warm_up(&mut group, 10)?;
    let mut changes = Changes { group, load, steps: Vec::new(), progress: Steps::new(STEPS) };
    changes.perform()?;
    let Changes { load, steps, group, .. } = changes;
    let moves = load.tally().moves;
    let result = load.finish()?;
    drop(group);
    Ok(MembersReport {
        clients,
        longest_pause_ms: steps.iter().map(|step| step.longest_pause_ms).fold(0.0, f64::max),
        steps,
        acknowledged: result.acknowledged,
        lost: result.lost,
        holds: result.failures.is_empty() && result.lost == 0,
        failed: result.failures,
        moves,
    })
}

/// The changes of members under load.
struct Changes {
    group: ServerGroup,
    load: Load,
    steps: Vec<Step>,
    progress: Steps,
}

impl Changes {
    fn perform(&mut self) -> anyhow::Result<()> {
        let founders = servers();
        self.step("no change", |_| Ok(()))?;
        let mut joiners = Vec::new();
        self.step("start servers 4 and 5", |changes| {
            for number in SERVERS + 1..=SERVERS + 2 {
                joiners.push(changes.group.start_joiner(number)?);
            }
            Ok(())
        })?;
        let all: Vec<_> = founders.iter().chain(&joiners).copied().collect();
        self.step("add 4 and 5 as learners", |changes| changes.change(&founders, &joiners))?;
        self.step("promote 4 and 5 to voters", |changes| {
            changes.change(&all, &[])?;
            joiners.iter().for_each(|joiner| changes.group.admit_clients(*joiner));
            Ok(())
        })?;
        let leader = self.group.wait_for_leader(|_| true)?.leader;
        let other = founders.iter().copied().find(|founder| *founder != leader).context("no founder is left.")?;
        let rest: Vec<_> = all.into_iter().filter(|node| ![leader, other].contains(node)).collect();
        self.step(&format!("remove {other}, and {leader}, which leads"), |changes| {
            changes.change(&rest, &[])?;
            // Their processes keep running: the others must do without their end.
            [leader, other].into_iter().for_each(|removed| changes.group.exclude_clients(removed));
            Ok(())
        })
    }

    /// Performs a step, lets the clients run for some time until one of them is answered, and
    /// records the step.
    fn step(&mut self, name: &str, perform: impl FnOnce(&mut Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.progress.clone().perform(name.to_owned(), || self.measure_step(name, perform))
    }

    fn measure_step(
        &mut self,
        name: &str,
        perform: impl FnOnce(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let answered_before = self.load.tally().answered;
        self.load.tally().longest_pause = Duration::ZERO;
        let started = Instant::now();
        perform(self).with_context(|| name.to_owned())?;
        let duration = started.elapsed();
        let answered_by_then = self.load.tally().answered;
        self.group.run_for(REST)?;
        let load = &self.load;
        self.group.wait_until("no client was answered", |_| load.tally().answered > answered_by_then)?;
        let (answered, longest_pause) = {
            let tally = self.load.tally();
            (tally.answered - answered_before, tally.pause_until(Instant::now()))
        };
        self.steps.push(Step {
            step: name.to_owned(),
            duration_ms: milliseconds(duration),
            answered,
            longest_pause_ms: milliseconds(longest_pause),
        });
        Ok(())
    }

    /// Changes the members. Asks again while a learner has not caught up, or the leader changes.
    fn change(&mut self, voters: &[NodeId], learners: &[NodeId]) -> anyhow::Result<()> {
        let set = |nodes: &[NodeId]| nodes.iter().copied().collect::<BTreeSet<_>>();
        let members = Members { voters: set(voters), learners: set(learners) };
        let nodes = [voters, learners].concat();
        let deadline = Instant::now() + CATCH_UP_TIMEOUT;
        loop {
            let leader = self.group.wait_for_leader(|_| true)?.leader;
            match self.group.change(leader, &members, &nodes)? {
                ChangeOutcome::Changed => return Ok(()),
                ChangeOutcome::NotChanged(reason) => anyhow::ensure!(Instant::now() < deadline, "{reason}."),
            }
            self.group.run_for(Duration::from_millis(10))?;
        }
    }
}

fn print(report: &MembersReport) -> anyhow::Result<()> {
    let mut out = output();
    let MembersReport { clients, steps, longest_pause_ms, acknowledged, lost, failed, moves, .. } = report;
    let clients = report::format_count(*clients, "client");
    writeln!(out, "Three servers in processes of their own grow to five and shrink to three, {clients}\n")?;
    let heading = format!("{:<32}{:>12}{:>16}{:>15}", "step", "duration", "answered", "longest pause");
    writeln!(out, "{}", paint::bold(&heading))?;
    for Step { step, duration_ms, answered, longest_pause_ms } in steps {
        writeln!(out, "{step:<32}{duration_ms:>9.1} ms{answered:>16}{longest_pause_ms:>12.1} ms")?;
    }
    let failures = failed.len() as u64;
    writeln!(out, "\nfailed requests: {failures} (at most 0)  {}", format_met_or_missed(failures == 0))?;
    failed.iter().try_for_each(|failure| writeln!(out, "  {failure}"))?;
    let acknowledged = report::format_count(*acknowledged, "request");
    writeln!(out, "{acknowledged} acknowledged, {lost} of them lost  {}", format_met_or_missed(*lost == 0))?;
    writeln!(out, "longest pause {longest_pause_ms:.1} ms; clients lost or gave up their server {moves} times")?;
    writeln!(
        out,
        "\nduration: until the change was complete. answered: until {} ms later. The removed servers keep running.\n\
         A client repeats a request at another server if its own one is silent for {} ms, or no member; it failed if that does not help.",
        REST.as_millis(),
        CLIENT_TIMEOUT.as_millis()
    )?;
    Ok(())
}
