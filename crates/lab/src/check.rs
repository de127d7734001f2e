//! Checks an algorithm exhaustively: explores every schedule of a small group, and writes
//! counterexamples as journals.
//!
//! A family that the checker supports describes its clients and properties in [`CheckedFamily`];
//! the rest is generic.

mod options;

pub use options::{BehaviorArgs, parse_small_count};

use crate::algorithm::Algorithm;
use crate::error::LabError;
use crate::experiment::header;
use crate::family::{FamilyLab, NodeOf};
use crate::mutex::Mutex;
use crate::registry::{Entry, Family};
use crate::spec::{LinkChoice, Spec, entry, option_value, shell_word};
use crate::views::{MembershipService, ViewSettings};
use quorate_check::{
    Checker, Clients, Counterexample, CrashNotices, Effort, Findings, Report, Search, Setup, Timing, Verdict, Views,
    Walks,
};
use quorate_core::{Duration, Time};
use quorate_journal::moment::Observer;
use quorate_journal::record::{Header, Writer};
use quorate_journal::settings::{DurationRange, Length};
use std::fmt;
use std::hash::Hash;
use std::io::Write;
use std::sync::Arc;

/// A family whose algorithms the checker supports.
pub trait CheckedFamily: FamilyLab<Event: Eq + Hash> {
    /// Whether its clients act in rounds.
    const IN_ROUNDS: bool = true;
    /// Whether a crash may interrupt the sends of a step.
    const CRASH_INTERRUPTS_SENDS: bool = false;

    /// The behaviour of clients and the group's setup, beyond the common options.
    type Behavior: Clone + fmt::Debug + Default + PartialEq;
    /// Its clients, with the properties that they judge.
    type CheckClients: Clients<Command = Self::Command, Event = Self::Event> + Clone + Sync;

    /// Returns the family's settings of the run that a counterexample belongs to.
    fn run_settings(check: &CheckSpec<Self>) -> Self::Settings;

    fn check_clients(check: &CheckSpec<Self>) -> Result<Self::CheckClients, LabError>;

    /// Which nodes receive notices of crashes.
    fn crash_notices(_check: &CheckSpec<Self>) -> CrashNotices {
        CrashNotices::Off
    }

    fn behavior(args: &BehaviorArgs, nodes: usize) -> Result<Self::Behavior, LabError>;

    /// Returns the command-line options that select this behaviour.
    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String>;

    /// Text that follows the number of rounds.
    fn in_rounds(check: &CheckSpec<Self>) -> String;
}

/// A task that is generic over a checked family.
pub trait CheckTask {
    type Output;
    fn perform<F: CheckedFamily>(self) -> Self::Output;
}

/// What to check, in the terms of the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckSpec<F: CheckedFamily = Mutex> {
    pub algorithm: Algorithm<F>,
    /// Number of requests or elections per client; `None` for no limit.
    pub rounds: Option<u8>,
    pub behavior: F::Behavior,
    pub links: LinkChoice,
    pub setup: Setup,
    pub effort: Effort,
}

/// The default limit of simulated time.
pub const DEFAULT_HORIZON: Duration = Duration::from_secs(3);

impl<F: CheckedFamily> CheckSpec<F> {
    /// A check of three nodes of this algorithm, with one round per client and no faults.
    pub fn new(algorithm: impl Into<Algorithm<F>>) -> Self {
        Self {
            algorithm: algorithm.into(),
            rounds: Some(1),
            behavior: F::Behavior::default(),
            links: LinkChoice::Auto,
            setup: Setup::new(3),
            effort: Effort {
                search: Search::Breadth,
                threads: 1,
                memory: 4 << 30, // 4 GiB
                reduce: true,
                stop_at_first: false,
                properties: None,
            },
        }
    }

    pub fn named(algorithm: &str) -> Result<Self, LabError> {
        Algorithm::named(algorithm).map(Self::new)
    }

    /// Whether the checked nodes use reliable links.
    pub fn is_reliable(&self) -> bool {
        match self.links {
            LinkChoice::Bare => false,
            LinkChoice::Reliable => true,
            LinkChoice::Auto => {
                let spec = Spec { settings: F::run_settings(self), ..Spec::new(self.algorithm) };
                (self.setup.losses > 0 || self.setup.duplicates > 0) && !F::copes_with_loss(&spec)
            }
        }
    }

    /// The run that a counterexample belongs to, for a journal's header.
    pub(crate) fn spec(&self) -> Spec<F> {
        let links = if self.is_reliable() { LinkChoice::Reliable } else { LinkChoice::Bare };
        Spec { nodes: self.setup.nodes, links, settings: F::run_settings(self), ..Spec::new(self.algorithm) }
    }

    /// The setup, with what the algorithm and its family determine.
    fn complete_setup(&self) -> Setup {
        let setup = &self.setup;
        // Without crashes there is nothing to announce. Without restarts, saves take effect at
        // once, because no node reads them.
        Setup {
            fifo: setup.fifo || F::needs_fifo(&self.algorithm),
            crash_notices: if setup.crashes > 0 { F::crash_notices(self) } else { CrashNotices::Off },
            prompt_disks: setup.restarts == 0,
            crash_interrupts_sends: F::CRASH_INTERRUPTS_SENDS,
            ..setup.clone()
        }
    }

    /// The command that repeats this check.
    pub fn command(&self) -> String {
        let Setup { nodes, fifo, losses, duplicates, crashes, restarts, early_timers, timing, views, .. } = &self.setup;
        let rounds = self.rounds.map_or_else(|| "unbounded".into(), |rounds| rounds.to_string());
        let mut words = vec![format!("quorate check {} --nodes {nodes}", self.algorithm)];
        if F::IN_ROUNDS {
            words.push(format!("--rounds {rounds}"));
        }
        words.extend(F::behavior_flags(self));
        let mut flag = |is_needed: bool, text: String| {
            if is_needed {
                words.push(text);
            }
        };
        flag(*fifo, "--fifo".into());
        if let Some(Views { changes, waits_for_leases }) = views {
            flag(true, "--views".into());
            flag(*changes != Views::default().changes, format!("--changes {changes}"));
            flag(!waits_for_leases, format!("--membership {}", option_value(&MembershipService::Impatient)));
        }
        flag(*losses > 0, format!("--loss {losses}"));
        flag(*duplicates > 0, format!("--duplicate {duplicates}"));
        flag(*crashes > 0, format!("--crashes {crashes}"));
        flag(*restarts > 0, format!("--restarts {restarts}"));
        flag(*early_timers > 0, format!("--early-timers {early_timers}"));
        flag(self.links != LinkChoice::Auto, format!("--links {}", option_value(&self.links)));
        if let Some(Timing { drift_ppm, until, delay }) = timing {
            flag(true, format!("--drift {drift_ppm}ppm --until {}", Length(until.since(Time::ZERO))));
            if let Some(span) = delay {
                flag(true, format!("--delay {}", DurationRange(*span)));
            }
        }
        match self.effort.search {
            Search::Breadth => {}
            Search::Depth => flag(true, "--dfs".into()),
            Search::Walks(Walks { count, steps, seed }) => {
                flag(true, format!("--walks {count} --steps {steps} --seed {seed}"));
            }
        }
        flag(!self.effort.reduce, "--no-reduction".into());
        flag(self.effort.stop_at_first, "--stop-at-first".into());
        if let Some(properties) = &self.effort.properties {
            flag(true, format!("--property {}", properties.join(",")));
        }
        words.join(" ")
    }

    /// The commands that write the shortest counterexample to this file and replay it.
    pub fn command_with_trace(&self, file: &str) -> String {
        format!("{} --trace {} && {}", self.command(), shell_word(file), replay_command(file))
    }
}

pub(crate) fn view_settings(views: Option<Views>) -> Option<ViewSettings> {
    let membership =
        |views: Views| if views.waits_for_leases { MembershipService::Oracle } else { MembershipService::Impatient };
    views.map(|views| ViewSettings { membership: membership(views), ..ViewSettings::default() })
}

pub fn replay_command(file: &str) -> String {
    format!("quorate replay {} --steps", shell_word(file))
}

pub fn draw_command(file: &str) -> String {
    format!("quorate draw {}", shell_word(file))
}

/// A finished check, which can play its counterexamples.
pub struct CheckRun<F: CheckedFamily = Mutex> {
    pub findings: Findings,
    checker: Checker<NodeOf<F>, F::CheckClients>,
    spec: Spec<F>,
    command: String,
}

/// Runs a check. `report` receives its progress.
pub fn run<F: CheckedFamily>(check: &CheckSpec<F>, report: Report<'_>) -> Result<CheckRun<F>, LabError> {
    if !F::profile(&check.algorithm).checkable {
        return Err(uncheckable(entry(check.algorithm.name())?));
    }
    if check.rounds == Some(0) {
        return Err(CheckSpecError::NoRounds.into());
    }
    let spec = check.spec();
    spec.validate()?;
    let make = Arc::new(F::maker(&spec));
    let mut checker = Checker::new(make, F::check_clients(check)?, check.complete_setup())?;
    if let Some(requested) = &check.effort.properties {
        let known = checker.properties();
        if let Some(name) = requested.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(CheckSpecError::UnknownProperty { name: name.clone(), known: known.join(", ") }.into());
        }
    }
    let findings = checker.run(&check.effort, report);
    Ok(CheckRun { findings, checker, spec, command: check.command() })
}

/// Returns the error for an algorithm that the checker does not support.
pub fn uncheckable(entry: &Entry) -> LabError {
    let why = if entry.profile().checkable { Unchecked::Family(entry.family()) } else { Unchecked::Opaque };
    LabError::CheckSpec(CheckSpecError::NotCheckable { name: entry.name().to_owned(), why })
}

/// Why the checker does not support an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// The nodes' state cannot be inspected.
    Opaque,
    Family(Family),
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opaque => f.write_str("its nodes cannot be copied, compared and hashed"),
            Self::Family(family) => write!(f, "the checker does not support the {family} family yet"),
        }
    }
}

impl<F: CheckedFamily> CheckRun<F> {
    pub fn spec(&self) -> &Spec<F> {
        &self.spec
    }

    /// Plays a counterexample with real nodes and passes every moment to `observer`.
    pub fn show<O: Observer<F::Command, F::Event>>(
        &self,
        example: &Counterexample,
        observer: O,
    ) -> Result<O, LabError> {
        self.checker.replay(example, observer).map_err(|reason| CheckSpecError::Play(reason).into())
    }

    /// Writes a counterexample as a journal that can be replayed. Returns the number of lines.
    pub fn write(&self, example: &Counterexample, out: impl Write) -> Result<u64, LabError> {
        let header = Header { found_by: Some(self.command.clone()), ..header(&self.spec)? };
        let writer = Writer::new(out, &header);
        let (_, lines) = self.show(example, writer)?.finish().map_err(LabError::Write)?;
        Ok(lines)
    }

    /// The violated properties, the one with the shortest counterexample first.
    pub fn broken(&self) -> Vec<(&Verdict, &Counterexample)> {
        let verdicts = self.findings.verdicts.iter();
        let mut broken: Vec<_> =
            verdicts.filter_map(|verdict| Some((verdict, verdict.counterexample.as_ref()?))).collect();
        broken.sort_by_key(|(_, example)| example.len());
        broken
    }

    /// Whether every reachable state was visited and every property was judged.
    pub fn is_complete(&self) -> bool {
        self.findings.is_complete()
    }
}

/// Why a check cannot run.
#[derive(Debug, thiserror::Error)]
pub enum CheckSpecError {
    #[error(
        "'{name}' cannot be checked exhaustively: {why}. No state was explored; 'quorate sweep {name}' tries many seeds \
         instead."
    )]
    NotCheckable { name: String, why: Unchecked },
    #[error(
        "--rounds must be at least 1, because without requests there is nothing to check; got 0. Use --rounds 1 or --rounds unbounded."
    )]
    NoRounds,
    #[error("--property must name a property of this algorithm; got '{}'. The properties are {known}.", name.escape_debug())]
    UnknownProperty { name: String, known: String },
    #[error("cannot play the counterexample: {0}. This is a bug in Quorate; please report it.")]
    Play(String),
}
