//! Checks an algorithm: explores the reachable states of a small group, or takes random walks
//! through them, and writes counterexamples as journals.
//!
//! A family that the checker supports describes its clients and properties in [`CheckedFamily`];
//! the rest is generic.

mod options;

pub use options::{BehaviorArgs, parse_fault_count};

use crate::algorithm::Algorithm;
use crate::error::LabError;
use crate::experiment::header;
use crate::family::{FamilyLab, NodeOf};
use crate::mutex::Mutex;
use crate::registry::{Entry, Family};
use crate::spec::{LinkChoice, Spec, find_entry, option_value, quote_for_shell};
use crate::views::{MembershipService, ViewSettings};
use quorate_check::{
    Checker, Clients, Counterexample, CrashNotices, Effort, Findings, ReportProgress, Search, Setup, Timing, Verdict,
    Views, Walks,
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
    /// Whether the family's clients act in rounds, which `--rounds` limits.
    const ACTS_IN_ROUNDS: bool = true;
    /// Whether a crash may interrupt the sends of a step.
    const CRASH_INTERRUPTS_SENDS: bool = false;

    /// The behavior of clients and the group's setup, beyond the common options.
    type Behavior: Clone + fmt::Debug + Default + PartialEq;
    /// The family's clients in a check, with the properties that they judge.
    type CheckClients: Clients<Command = Self::Command, Event = Self::Event> + Clone + Sync;

    /// Returns the family's settings of the run that a counterexample belongs to.
    fn run_settings(check: &CheckSpec<Self>) -> Self::Settings;

    fn check_clients(check: &CheckSpec<Self>) -> Result<Self::CheckClients, LabError>;

    /// Which parties are notified when a node crashes or restarts.
    fn crash_notices(_check: &CheckSpec<Self>) -> CrashNotices {
        CrashNotices::Off
    }

    fn behavior(args: &BehaviorArgs, nodes: usize) -> Result<Self::Behavior, LabError>;

    /// Returns the command-line options that select this behavior.
    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String>;

    /// Completes the text "3 rounds" in a report, such as by " for 2 resources, victims: youngest".
    /// If clients do not act in rounds, it is the whole text.
    fn rounds_suffix(check: &CheckSpec<Self>) -> String;
}

/// A task that is generic over a checked family.
pub trait CheckTask {
    type Output;
    fn perform<F: CheckedFamily>(self) -> Self::Output;
}

/// A check to run, in the terms of the command line.
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

/// The default limit of simulated time in a check that models time.
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
                memory_limit: 4 << 30, // 4 GiB
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
                (self.setup.losses > 0 || self.setup.duplicates > 0) && !F::tolerates_loss(&spec)
            }
        }
    }

    /// The run that a counterexample belongs to, for a journal's header.
    pub(crate) fn spec(&self) -> Spec<F> {
        let links = if self.is_reliable() { LinkChoice::Reliable } else { LinkChoice::Bare };
        Spec { nodes: self.setup.nodes, links, settings: F::run_settings(self), ..Spec::new(self.algorithm) }
    }

    /// The requested setup, completed by what the algorithm and its family determine.
    fn complete_setup(&self) -> Setup {
        let setup = &self.setup;
        // Without crashes there is nothing to announce. Without restarts, saves take effect at
        // once, because no node reads them.
        Setup {
            has_fifo_links: setup.has_fifo_links || F::needs_fifo(&self.algorithm),
            crash_notices: if setup.crashes > 0 { F::crash_notices(self) } else { CrashNotices::Off },
            has_prompt_disks: setup.restarts == 0,
            crash_interrupts_sends: F::CRASH_INTERRUPTS_SENDS,
            ..setup.clone()
        }
    }

    /// The command that repeats this check, with the default number of threads and memory limit.
    pub fn command(&self) -> String {
        let Setup { nodes, has_fifo_links, losses, duplicates, crashes, restarts, early_timers, timing, views, .. } =
            &self.setup;
        let rounds = self.rounds.map_or_else(|| "unbounded".into(), |rounds| rounds.to_string());
        let mut words = vec![format!("quorate check {} --nodes {nodes}", self.algorithm)];
        if F::ACTS_IN_ROUNDS {
            words.push(format!("--rounds {rounds}"));
        }
        words.extend(F::behavior_flags(self));
        let mut add_if = |is_needed: bool, text: String| {
            if is_needed {
                words.push(text);
            }
        };
        add_if(*has_fifo_links, "--fifo".into());
        if let Some(Views { max_changes: changes, waits_for_leases }) = views {
            add_if(true, "--views".into());
            add_if(*changes != Views::default().max_changes, format!("--changes {changes}"));
            add_if(!waits_for_leases, format!("--membership {}", option_value(&MembershipService::Impatient)));
        }
        add_if(*losses > 0, format!("--loss {losses}"));
        add_if(*duplicates > 0, format!("--duplicate {duplicates}"));
        add_if(*crashes > 0, format!("--crashes {crashes}"));
        add_if(*restarts > 0, format!("--restarts {restarts}"));
        add_if(*early_timers > 0, format!("--early-timers {early_timers}"));
        add_if(self.links != LinkChoice::Auto, format!("--links {}", option_value(&self.links)));
        if let Some(Timing { drift_ppm, until, delay }) = timing {
            add_if(true, format!("--drift {drift_ppm}ppm --until {}", Length(until.since(Time::ZERO))));
            if let Some(span) = delay {
                add_if(true, format!("--delay {}", DurationRange(*span)));
            }
        }
        match self.effort.search {
            Search::Breadth => {}
            Search::Depth => add_if(true, "--dfs".into()),
            Search::Walks(Walks { count, steps, seed }) => {
                add_if(true, format!("--walks {count} --steps {steps} --seed {seed}"));
            }
        }
        add_if(!self.effort.reduce, "--no-reduction".into());
        add_if(self.effort.stop_at_first, "--stop-at-first".into());
        if let Some(properties) = &self.effort.properties {
            add_if(true, format!("--property {}", properties.join(",")));
        }
        words.join(" ")
    }

    /// The commands that write the shortest counterexample to this file and replay it. The first
    /// one exits with 1, so a semicolon joins them.
    pub fn command_with_trace(&self, file: &str) -> String {
        format!("{} --trace {}; {}", self.command(), quote_for_shell(file), replay_command(file))
    }
}

pub(crate) fn view_settings(views: Option<Views>) -> Option<ViewSettings> {
    let membership =
        |views: Views| if views.waits_for_leases { MembershipService::Oracle } else { MembershipService::Impatient };
    views.map(|views| ViewSettings { membership: membership(views), ..ViewSettings::default() })
}

pub fn replay_command(file: &str) -> String {
    format!("quorate replay {} --steps", quote_for_shell(file))
}

pub fn draw_command(file: &str) -> String {
    format!("quorate draw {}", quote_for_shell(file))
}

/// A finished check, which can replay its counterexamples.
pub struct CheckRun<F: CheckedFamily = Mutex> {
    pub findings: Findings,
    checker: Checker<NodeOf<F>, F::CheckClients>,
    spec: Spec<F>,
    command: String,
}

/// Runs a check. `report` receives its progress.
pub fn run<F: CheckedFamily>(check: &CheckSpec<F>, report: ReportProgress<'_>) -> Result<CheckRun<F>, LabError> {
    if !F::profile(&check.algorithm).is_checkable {
        return Err(not_checkable_error(find_entry(check.algorithm.name())?));
    }
    if check.rounds == Some(0) {
        return Err(CheckSpecError::NoRounds.into());
    }
    let spec = check.spec();
    spec.validate()?;
    let make_node = Arc::new(F::node_factory(&spec));
    let mut checker = Checker::new(make_node, F::check_clients(check)?, check.complete_setup())?;
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
pub fn not_checkable_error(entry: &Entry) -> LabError {
    let reason = if entry.profile().is_checkable {
        NotCheckableReason::Family(entry.family())
    } else {
        NotCheckableReason::Opaque
    };
    LabError::CheckSpec(CheckSpecError::NotCheckable { name: entry.name().to_owned(), reason })
}

/// Why the checker does not support an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCheckableReason {
    /// The nodes cannot be copied, compared and hashed.
    Opaque,
    Family(Family),
}

impl fmt::Display for NotCheckableReason {
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

    /// Replays a counterexample with fresh nodes and passes every moment to `observer`.
    pub fn replay<O: Observer<F::Command, F::Event>>(
        &self,
        example: &Counterexample,
        observer: O,
    ) -> Result<O, LabError> {
        self.checker.replay(example, observer).map_err(|reason| CheckSpecError::Replay(reason).into())
    }

    /// Writes a counterexample as a journal that can be replayed. Returns the number of lines.
    pub fn write(&self, example: &Counterexample, out: impl Write) -> Result<u64, LabError> {
        let header = Header { found_by: Some(self.command.clone()), ..header(&self.spec)? };
        let writer = Writer::new(out, &header);
        let (_, lines) = self.replay(example, writer)?.finish().map_err(LabError::Write)?;
        Ok(lines)
    }

    /// The violated properties, the one with the shortest counterexample first.
    pub fn violations(&self) -> Vec<(&Verdict, &Counterexample)> {
        let verdicts = self.findings.verdicts.iter();
        let mut broken: Vec<_> =
            verdicts.filter_map(|verdict| Some((verdict, verdict.counterexample.as_ref()?))).collect();
        broken.sort_by_key(|(_, example)| example.len());
        broken
    }

    /// Whether the search visited every reachable state and decided every property that it can.
    pub fn is_complete(&self) -> bool {
        self.findings.is_complete()
    }
}

/// Why a check cannot run, or its counterexample cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum CheckSpecError {
    #[error(
        "'{name}' cannot be checked exhaustively: {reason}. No state was explored; 'quorate sweep {name}' tries many seeds \
         instead."
    )]
    NotCheckable { name: String, reason: NotCheckableReason },
    #[error(
        "--rounds must be at least 1, because without requests there is nothing to check; got 0. Use --rounds 1 or --rounds unbounded."
    )]
    NoRounds,
    #[error("--property must name a property of this algorithm; got '{}'. The properties are {known}.", name.escape_debug())]
    UnknownProperty { name: String, known: String },
    #[error("cannot replay the counterexample: {0}. This is a bug in Quorate; please report it.")]
    Replay(String),
}
