//! `quorate bank`: bank tellers deposit into one account, with and without a lock.

mod json;
mod table;

use crate::args::BankArgs;
use crate::output::display_path;
use crate::picture::{self, CommandIo, Picture, PictureObserver};
use crate::{CommandOutcome, interrupt, progress};
use anyhow::{bail, ensure};
use quorate_demos::bank;
use quorate_demos::bank::BankSettings;
use quorate_demos::bank::NO_LOCK;
use quorate_demos::bank::SeedTotals;
use quorate_demos::bank::Statement;
use quorate_lab::FamilyTypes;
use quorate_lab::experiment::header;
use quorate_lab::mutex::MutexEntry;
use quorate_lab::{Mutex, Spec, find_entry};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Name on the command line of the case without a lock. The registry calls it [`NO_LOCK`].
const NO_LOCK_NAME: &str = "none";

/// One lock with its outcome.
struct LockRow {
    lock: &'static str,
    spec: Spec<Mutex>,
    result: LockOutcome,
}

/// Outcome of the runs with one lock.
enum LockOutcome {
    /// The account at the end of a single run.
    Once(Statement),
    /// Counts over the runs of several seeds.
    Many(SeedTotals),
    /// The algorithm has no group of the requested size. The text describes the possible sizes.
    NoGroup(&'static str),
}

impl LockRow {
    /// Returns the first seed with which the balance was wrong.
    fn first_wrong_seed(&self) -> Option<u64> {
        match &self.result {
            LockOutcome::Once(statement) => (!statement.is_correct()).then_some(self.spec.seed),
            LockOutcome::Many(totals) => totals.first_incorrect_seed,
            LockOutcome::NoGroup(_) => None,
        }
    }
}

/// The results of all locks.
struct BankReport<'a> {
    args: &'a BankArgs,
    settings: BankSettings,
    rows: Vec<LockRow>,
    pictures: &'a [Picture],
}

impl BankReport<'_> {
    /// Returns the rows with a wrong balance, each with the first seed that led to one. Without a
    /// lock a wrong balance is expected, so the row of this case counts only if `--lock` names it.
    fn failures(&self) -> impl Iterator<Item = (&LockRow, u64)> {
        let can_fail = |row: &&LockRow| row.lock != NO_LOCK_NAME || self.args.lock.is_some();
        self.rows.iter().filter(can_fail).filter_map(|row| Some((row, row.first_wrong_seed()?)))
    }

    /// Returns the command that repeats the run of this lock and seed.
    fn repeat_command(&self, row: &LockRow, seed: u64) -> String {
        let BankArgs { tellers, deposit, balance, latency, .. } = self.args;
        let mut words = vec![format!("quorate bank --lock {} --nodes {} --seed {seed}", row.lock, row.spec.nodes)];
        // Whether the value of each option is the default of `BankArgs`, and the option.
        let options = [
            (*tellers == 2, format!("--tellers {tellers}")),
            (*deposit == 10_000, format!("--deposit {deposit}")),
            (*balance == 1_000, format!("--balance {balance}")),
            (*latency == bank::LATENCY, format!("--latency {latency}")),
        ];
        words.extend(options.into_iter().filter_map(|(is_default, text)| (!is_default).then_some(text)));
        words.join(" ")
    }

    fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| match &row.result {
            LockOutcome::Many(totals) => totals.seeds == self.args.seeds,
            LockOutcome::Once(_) | LockOutcome::NoGroup(_) => true,
        })
    }

    fn outcome(&self) -> CommandOutcome {
        match self.failures().next() {
            Some(_) => CommandOutcome::Fails,
            None if self.is_complete() => CommandOutcome::Holds,
            None => CommandOutcome::Unfinished,
        }
    }
}

pub(crate) fn run(args: &BankArgs) -> anyhow::Result<CommandOutcome> {
    let settings = BankSettings::new(args.tellers, args.deposit, args.balance)?;
    let locks = find_locks(args.lock.as_deref())?;
    validate(args)?;
    let is_recorded = args.trace.is_some() || args.picture.is_wanted();
    let mut pictures = Ok(Vec::new());
    let rows = match locks[..] {
        [(lock, entry)] if is_recorded => {
            let spec = build_spec(args, &settings, entry)?;
            let (statement, drawn) = picture::draw::<Mutex, _>(&args.picture, &header(&spec)?, |pictures| {
                run_recorded(&spec, &settings, args.trace.as_deref(), pictures)
            })?;
            pictures = drawn;
            vec![LockRow { lock, spec, result: LockOutcome::Once(statement) }]
        }
        _ => run_locks(args, &settings, &locks)?,
    };
    // Print the result even if the picture could not be written.
    let report = BankReport { args, settings, rows, pictures: pictures.as_deref().unwrap_or_default() };
    if args.json {
        json::print(&report)?;
    } else if !args.picture.takes_stdout() {
        table::print(&report)?;
    }
    let outcome = report.outcome();
    pictures?;
    Ok(outcome)
}

/// Returns the locks to try, each with its name on the command line. Without a request, these are
/// the case without a lock and then every lock.
fn find_locks(requested: Option<&str>) -> anyhow::Result<Vec<(&'static str, &'static MutexEntry)>> {
    let find = |name: &str| -> anyhow::Result<&'static MutexEntry> {
        let entry = find_entry(name)?;
        match Mutex::entry(entry) {
            Some(entry) => Ok(entry),
            None => {
                bail!("'{name}' is of the {} family; --lock needs an algorithm of the mutex family.", entry.family())
            }
        }
    };
    match requested {
        Some(NO_LOCK_NAME | NO_LOCK) => Ok(vec![(NO_LOCK_NAME, find(NO_LOCK)?)]),
        Some(name) => {
            let entry = find(name)?;
            Ok(vec![(entry.facts.profile.name, entry)])
        }
        None => {
            let all = bank::locks().map(|entry| (entry.facts.profile.name, entry));
            Ok(std::iter::once((NO_LOCK_NAME, find(NO_LOCK)?)).chain(all).collect())
        }
    }
}

/// Rejects invalid options before anything runs.
fn validate(args: &BankArgs) -> anyhow::Result<()> {
    ensure!(args.seeds > 0, "--seeds must be at least 1; got 0.");
    args.picture.validate(&CommandIo {
        stdout_option: args.json.then_some("json"),
        journal: args.trace.as_deref(),
        ..CommandIo::default()
    })?;
    let is_one_run = args.lock.is_some() && args.seeds == 1;
    ensure!(
        is_one_run || (args.trace.is_none() && !args.picture.is_wanted()),
        "a journal or a picture shows a single run: choose one lock, such as --lock none, and leave out --seeds."
    );
    Ok(())
}

fn build_spec(args: &BankArgs, settings: &BankSettings, lock: &'static MutexEntry) -> anyhow::Result<Spec<Mutex>> {
    let nodes = bank::group_size(settings, lock, args.nodes)?;
    Ok(bank::spec(settings, lock.into(), nodes, args.seed, args.latency))
}

/// Runs once, observed by `pictures`, and writes the journal if there is a path for it.
fn run_recorded(
    spec: &Spec<Mutex>,
    settings: &BankSettings,
    journal: Option<&Path>,
    pictures: &mut PictureObserver<'_, Mutex>,
) -> anyhow::Result<Statement> {
    let journal: Box<dyn Write> = match journal {
        None => Box::new(io::sink()),
        Some(path) => {
            let failed = |error| anyhow::anyhow!("cannot write the journal {}: {error}.", display_path(path));
            Box::new(BufWriter::new(File::create(path).map_err(failed)?))
        }
    };
    Ok(bank::run_with_observer(spec, settings, journal, pictures)?.0)
}

/// Runs one lock after the other. After an interrupt, no further seed is run; but if each lock has
/// only one seed, an interrupt has no effect.
fn run_locks(
    args: &BankArgs,
    settings: &BankSettings,
    locks: &[(&'static str, &'static MutexEntry)],
) -> anyhow::Result<Vec<LockRow>> {
    interrupt::install_handler();
    let bar = progress::bar(args.seeds.saturating_mul(locks.len() as u64), "{pos}/{len} runs, {eta} left: {msg}");
    let mut rows = Vec::new();
    for (lock, entry) in locks {
        bar.set_message(*lock);
        let spec = build_spec(args, settings, entry)?;
        let result = match (entry.facts.check_group_size)(spec.nodes) {
            // A single lock is not skipped: its run reports that the size of the group is invalid.
            Err(sizes) if locks.len() > 1 => LockOutcome::NoGroup(sizes),
            Err(_) | Ok(()) if args.seeds == 1 => LockOutcome::Once(bank::run(&spec, settings)?),
            Err(_) | Ok(()) => LockOutcome::Many(bank::run_seeds(&spec, settings, args.seeds, || {
                bar.inc(1);
                !interrupt::was_requested()
            })?),
        };
        rows.push(LockRow { lock, spec, result });
    }
    bar.finish_and_clear();
    Ok(rows)
}
