//! `quorate bank`: tellers deposit into one account, with and without a lock.

mod json;
mod table;

use crate::args::BankArgs;
use crate::output::name;
use crate::picture::{self, Company, Easel, Picture};
use crate::{Verdict, interrupt, progress};
use anyhow::{bail, ensure};
use quorate_demos::bank;
use quorate_demos::bank::Count;
use quorate_demos::bank::NO_LOCK;
use quorate_demos::bank::Statement;
use quorate_demos::bank::Terms;
use quorate_lab::FamilyTypes;
use quorate_lab::experiment::header;
use quorate_lab::mutex::MutexEntry;
use quorate_lab::{Mutex, Spec, entry};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What users call it when there is no lock.
const NONE: &str = "none";

/// One lock, and what came of it.
struct Row {
    lock: &'static str,
    spec: Spec<Mutex>,
    result: Outcome,
}

/// What came of a lock.
enum Outcome {
    Once(Statement),
    Many(Count),
    /// There is no group of the size that was asked for.
    NoGroup(&'static str),
}

impl Row {
    /// The first seed after which the balance was wrong, if there is one.
    fn wrong(&self) -> Option<u64> {
        match &self.result {
            Outcome::Once(statement) => (!statement.is_right()).then_some(self.spec.seed),
            Outcome::Many(count) => count.first_wrong,
            Outcome::NoGroup(_) => None,
        }
    }
}

/// All that was done.
struct Day<'a> {
    args: &'a BankArgs,
    terms: Terms,
    rows: Vec<Row>,
    pictures: &'a [Picture],
}

impl Day<'_> {
    /// The rows that count: without a lock money may be lost, unless that was all that was asked for.
    fn wrong(&self) -> impl Iterator<Item = (&Row, u64)> {
        let counts = |row: &&Row| row.lock != NONE || self.args.lock.is_some();
        self.rows.iter().filter(counts).filter_map(|row| Some((row, row.wrong()?)))
    }

    /// The command that opens the bank once more, with this lock and this seed.
    fn again(&self, row: &Row, seed: u64) -> String {
        let BankArgs { tellers, deposit, balance, latency, .. } = self.args;
        let mut words = vec![format!("quorate bank --lock {} --nodes {} --seed {seed}", row.lock, row.spec.nodes)];
        let usual = [
            (*tellers == 2, format!("--tellers {tellers}")),
            (*deposit == 10_000, format!("--deposit {deposit}")),
            (*balance == 1_000, format!("--balance {balance}")),
            (*latency == bank::LATENCY, format!("--latency {latency}")),
        ];
        words.extend(usual.into_iter().filter_map(|(usual, text)| (!usual).then_some(text)));
        words.join(" ")
    }

    fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| match &row.result {
            Outcome::Many(count) => count.seeds == self.args.seeds,
            Outcome::Once(_) | Outcome::NoGroup(_) => true,
        })
    }

    fn verdict(&self) -> Verdict {
        match self.wrong().next() {
            Some(_) => Verdict::Fails,
            None if self.is_complete() => Verdict::Holds,
            None => Verdict::Unfinished,
        }
    }
}

pub(crate) fn run(args: &BankArgs) -> anyhow::Result<Verdict> {
    let terms = Terms::new(args.tellers, args.deposit, args.balance)?;
    let locks = locks(args.lock.as_deref())?;
    check(args)?;
    let is_recorded = args.trace.is_some() || args.picture.is_wanted();
    let mut pictures = Ok(Vec::new());
    let rows = match locks[..] {
        [(lock, entry)] if is_recorded => {
            let spec = spec(args, &terms, entry)?;
            let (statement, drawn) = picture::draw::<Mutex, _>(&args.picture, &header(&spec)?, |easel| {
                record(&spec, &terms, args.trace.as_deref(), easel)
            })?;
            pictures = drawn;
            vec![Row { lock, spec, result: Outcome::Once(statement) }]
        }
        _ => all_rows(args, &terms, &locks)?,
    };
    // What came of the deposits is told even if their picture could not be written.
    let day = Day { args, terms, rows, pictures: pictures.as_deref().unwrap_or_default() };
    if args.json {
        json::print(&day)?;
    } else if !args.picture.takes_stdout() {
        table::print(&day)?;
    }
    let verdict = day.verdict();
    pictures?;
    Ok(verdict)
}

/// Whose turn it is, each with the name that users know it by.
fn locks(wanted: Option<&str>) -> anyhow::Result<Vec<(&'static str, &'static MutexEntry)>> {
    let find = |name: &str| -> anyhow::Result<&'static MutexEntry> {
        let found = entry(name)?;
        match Mutex::entry(found) {
            Some(entry) => Ok(entry),
            None => bail!("'{name}' is of the {} family, and a lock is of the mutex family.", found.family()),
        }
    };
    match wanted {
        Some(NONE | NO_LOCK) => Ok(vec![(NONE, find(NO_LOCK)?)]),
        Some(name) => {
            let entry = find(name)?;
            Ok(vec![(entry.facts.profile.name, entry)])
        }
        None => {
            let all = bank::locks().map(|entry| (entry.facts.profile.name, entry));
            Ok(std::iter::once((NONE, find(NO_LOCK)?)).chain(all).collect())
        }
    }
}

/// Refuses what cannot be meant or done, before anything is run.
fn check(args: &BankArgs) -> anyhow::Result<()> {
    ensure!(args.seeds > 0, "Nothing is deposited in no seed: use --seeds 1000.");
    args.picture.check(&Company {
        speaks: args.json.then_some("json"),
        trace: args.trace.as_deref(),
        ..Company::default()
    })?;
    let is_one_run = args.lock.is_some() && args.seeds == 1;
    ensure!(
        is_one_run || (args.trace.is_none() && !args.picture.is_wanted()),
        "A journal or a picture is of one run: name one lock, such as --lock none, and leave out --seeds."
    );
    Ok(())
}

fn spec(args: &BankArgs, terms: &Terms, lock: &'static MutexEntry) -> anyhow::Result<Spec<Mutex>> {
    let nodes = bank::group_size(terms, lock, args.nodes)?;
    Ok(bank::spec(terms, lock.into(), nodes, args.seed, args.latency))
}

/// Runs before an easel, and writes the journal if it is wanted.
fn record(
    spec: &Spec<Mutex>,
    terms: &Terms,
    journal: Option<&Path>,
    easel: &mut Easel<'_, Mutex>,
) -> anyhow::Result<Statement> {
    let journal: Box<dyn Write> = match journal {
        None => Box::new(io::sink()),
        Some(path) => {
            let told = |error| anyhow::anyhow!("The journal {} could not be written: {error}.", name(path));
            Box::new(BufWriter::new(File::create(path).map_err(told)?))
        }
    };
    Ok(bank::run_before(spec, terms, journal, easel)?.0)
}

/// One lock after the other, until somebody interrupts.
fn all_rows(args: &BankArgs, terms: &Terms, locks: &[(&'static str, &'static MutexEntry)]) -> anyhow::Result<Vec<Row>> {
    interrupt::watch();
    let bar = progress::bar(args.seeds.saturating_mul(locks.len() as u64), "{pos}/{len} runs, {eta} left: {msg}");
    let mut rows = Vec::new();
    for (lock, entry) in locks {
        bar.set_message(*lock);
        let spec = spec(args, terms, entry)?;
        let result = match (entry.facts.fits)(spec.nodes) {
            Err(sizes) if locks.len() > 1 => Outcome::NoGroup(sizes),
            Err(_) | Ok(()) if args.seeds == 1 => Outcome::Once(bank::run(&spec, terms)?),
            Err(_) | Ok(()) => Outcome::Many(bank::count(&spec, terms, args.seeds, || {
                bar.inc(1);
                !interrupt::came()
            })?),
        };
        rows.push(Row { lock, spec, result });
    }
    bar.finish_and_clear();
    Ok(rows)
}
