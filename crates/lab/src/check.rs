//! Checks an algorithm by name: every order of a small group, and what breaks written down as a journal.

use crate::error::LabError;
use crate::experiment::header;
use crate::family::FamilyLab;
use crate::mutex::{Keeper, Mutex, Settings, ViewSettings};
use crate::spec::{LinkChoice, Spec, entry, shell_word, word};
use quorate_check::mutex::Contenders;
use quorate_check::{
    CheckError, Checker, Counterexample, Effort, Findings, Report, Search, Setup, Timing, Verdict, Views, Walks,
};
use quorate_core::mutex::{Command, Event, ServiceOrder};
use quorate_core::{Duration, Time};
use quorate_registry::{Entry, Family, MutexEntry, MutexNode};
use quorate_sim::journal::{Header, Writer};
use quorate_sim::moment::Observer;
use quorate_sim::settings::Length;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// What to check, in the words of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSpec {
    /// The algorithm's name.
    pub algorithm: String,
    /// How many requests each node makes; without end if not given.
    pub rounds: Option<u8>,
    /// A request may be a try.
    pub tries: bool,
    /// A request may be given up.
    pub cancels: bool,
    /// A request may be one that only reads.
    pub readers: bool,
    /// Whether a reliable-link layer is put under the algorithm.
    pub links: LinkChoice,
    /// The group, and what may happen to it.
    pub setup: Setup,
    /// How to search.
    pub effort: Effort,
}

/// How far time is followed unless said otherwise.
pub const USUAL_HORIZON: Duration = Duration::from_secs(3);

impl CheckSpec {
    /// A check of three nodes of this algorithm, one request each, with nothing going wrong.
    pub fn new(algorithm: &str) -> Self {
        Self {
            algorithm: algorithm.to_owned(),
            rounds: Some(1),
            tries: false,
            cancels: false,
            readers: false,
            links: LinkChoice::Auto,
            setup: Setup::new(3),
            effort: Effort {
                search: Search::Breadth,
                threads: 1,
                memory: 4 << 30,
                reduce: true,
                first: false,
                properties: None,
            },
        }
    }

    /// Whether the reliable-link layer is in.
    pub fn is_reliable(&self) -> bool {
        match self.links {
            LinkChoice::Bare => false,
            LinkChoice::Reliable => true,
            LinkChoice::Auto => self.setup.losses > 0 || self.setup.duplicates > 0,
        }
    }

    /// The run that a counterexample is one of, as a journal's header tells it.
    fn spec(&self) -> Spec<Mutex> {
        let links = if self.is_reliable() { LinkChoice::Reliable } else { LinkChoice::Bare };
        let entries = u64::from(self.rounds.unwrap_or(1)) * self.setup.nodes as u64;
        let membership = |views: Views| if views.waits { Keeper::Oracle } else { Keeper::Impatient };
        let settings_of = |views| ViewSettings { membership: membership(views), ..ViewSettings::default() };
        let settings = Settings { entries, views: self.setup.views.map(settings_of), ..Settings::default() };
        Spec { nodes: self.setup.nodes, links, settings, ..Spec::new(&self.algorithm) }
    }

    fn users(&self, entry: &MutexEntry) -> Contenders {
        Contenders {
            rounds: self.rounds,
            tries: self.tries,
            cancels: self.cancels,
            readers: self.readers,
            shares: entry.facts.shares,
            fences: entry.facts.fences,
            // What is promised of the order of requests is promised inside a view.
            order: entry.facts.order == ServiceOrder::HappenedBefore && self.setup.views.is_none(),
            service: entry.facts.service,
            views: self.setup.views.is_some(),
        }
    }

    /// The command that repeats this check.
    pub fn command(&self) -> String {
        let Setup { nodes, fifo, losses, duplicates, crashes, restarts, hasty_timers, timing, views } = &self.setup;
        let rounds = self.rounds.map_or_else(|| "unbounded".into(), |rounds| rounds.to_string());
        let mut words = vec![format!("quorate check {} --nodes {nodes} --rounds {rounds}", self.algorithm)];
        let mut flag = |differs: bool, text: String| {
            if differs {
                words.push(text);
            }
        };
        flag(self.tries, "--try".into());
        flag(self.cancels, "--cancel".into());
        flag(self.readers, "--readers".into());
        flag(*fifo, "--fifo".into());
        if let Some(Views { changes, waits }) = views {
            flag(true, "--views".into());
            flag(*changes != Views::default().changes, format!("--changes {changes}"));
            flag(!waits, format!("--membership {}", word(&Keeper::Impatient)));
        }
        flag(*losses > 0, format!("--loss {losses}"));
        flag(*duplicates > 0, format!("--duplicate {duplicates}"));
        flag(*crashes > 0, format!("--crashes {crashes}"));
        flag(*restarts > 0, format!("--restarts {restarts}"));
        flag(*hasty_timers > 0, format!("--hasty-timers {hasty_timers}"));
        flag(self.links != LinkChoice::Auto, format!("--links {}", word(&self.links)));
        if let Some(Timing { drift_ppm, until }) = timing {
            flag(true, format!("--drift {drift_ppm}ppm --until {}", Length(until.since(Time::ZERO))));
        }
        match self.effort.search {
            Search::Breadth => {}
            Search::Depth => flag(true, "--dfs".into()),
            Search::Walks(Walks { count, steps, seed }) => {
                flag(true, format!("--walks {count} --steps {steps} --seed {seed}"));
            }
        }
        flag(!self.effort.reduce, "--no-reduction".into());
        flag(self.effort.first, "--first".into());
        if let Some(properties) = &self.effort.properties {
            flag(true, format!("--property {}", properties.join(",")));
        }
        words.join(" ")
    }

    /// The commands that write the shortest counterexample to this file, and replay it.
    pub fn command_with_trace(&self, file: &str) -> String {
        format!("{} --trace {} && {}", self.command(), shell_word(file), replay_command(file))
    }
}

/// The command that shows a counterexample in this file again, step by step.
pub fn replay_command(file: &str) -> String {
    format!("quorate replay {} --steps", shell_word(file))
}

/// The command that draws the run whose journal is in this file.
pub fn draw_command(file: &str) -> String {
    format!("quorate draw {}", shell_word(file))
}

/// A check that was run.
pub struct CheckRun {
    /// What it found.
    pub findings: Findings,
    checker: Checker<MutexNode, Contenders>,
    spec: Spec<Mutex>,
    command: String,
}

/// Runs a check.
pub fn run(check: &CheckSpec, report: Report<'_>) -> Result<CheckRun, LabError> {
    let entry = checkable(&check.algorithm)?;
    if check.rounds == Some(0) {
        return Err(LabError::NoRounds);
    }
    let spec = check.spec();
    spec.validate()?;
    let make = Arc::new(Mutex::maker(&spec, entry));
    let setup = Setup { fifo: check.setup.fifo || Mutex::needs_fifo(entry), ..check.setup.clone() };
    let mut checker = Checker::new(make, check.users(entry), setup)?;
    if let Some(wanted) = &check.effort.properties {
        let known = checker.properties();
        if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(LabError::UnknownProperty { name: name.clone(), known: known.join(", ") });
        }
    }
    let findings = checker.run(&check.effort, report);
    Ok(CheckRun { findings, checker, spec, command: check.command() })
}

/// The algorithm, if the checker can go through its states. Nothing of it was made or copied before that is known.
fn checkable(name: &str) -> Result<&'static MutexEntry, LabError> {
    let entry = entry(name)?;
    match entry {
        Entry::Mutex(mutex) if mutex.facts.profile.checkable => Ok(mutex),
        Entry::Mutex(_) | Entry::Election(_) | Entry::Replica(_) => {
            let why = if entry.profile().checkable { Unchecked::Family(entry.family()) } else { Unchecked::Opaque };
            Err(LabError::NotCheckable { name: name.to_owned(), why })
        }
    }
}

/// Why an algorithm cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// Its nodes cannot be copied, compared and hashed.
    Opaque,
    /// The checker does not know what to ask of this family.
    Family(Family),
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opaque => f.write_str("its nodes cannot be copied, compared and hashed"),
            Self::Family(family) => write!(f, "the checker does not know yet what the {family} family promises"),
        }
    }
}

impl CheckRun {
    /// The run that counterexamples are runs of.
    pub fn spec(&self) -> &Spec<Mutex> {
        &self.spec
    }

    /// Shows a counterexample to an observer.
    pub fn show<O: Observer<Command, Event>>(&self, example: &Counterexample, observer: O) -> Result<O, LabError> {
        self.checker.play(example, observer).map_err(LabError::Play)
    }

    /// Writes a counterexample as a journal, which replays like that of any run. Returns the number of lines.
    pub fn write(&self, example: &Counterexample, out: impl Write) -> Result<u64, LabError> {
        let header = Header { found_by: Some(self.command.clone()), ..header(&self.spec)? };
        let writer = Writer::new(out, &header);
        let (_, lines) = self.show(example, writer)?.finish().map_err(LabError::Write)?;
        Ok(lines)
    }

    /// The properties that are broken, those with the shortest counterexamples first.
    pub fn broken(&self) -> Vec<(&Verdict, &Counterexample)> {
        let verdicts = self.findings.verdicts.iter();
        let mut broken: Vec<_> =
            verdicts.filter_map(|verdict| Some((verdict, verdict.counterexample.as_ref()?))).collect();
        broken.sort_by_key(|(_, example)| example.len());
        broken
    }

    /// Whether every reachable state was seen, and every property judged that can be.
    pub fn is_complete(&self) -> bool {
        self.findings.is_complete()
    }
}

impl From<CheckError> for LabError {
    fn from(error: CheckError) -> Self {
        Self::Check(error)
    }
}
