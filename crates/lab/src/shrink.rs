//! Shrinking: finds a smaller run that violates the same property as a failing run.
//!
//! First the run gets smaller as it is, with other seeds if necessary: fewer nodes, requests,
//! clients. Then all random choices of the run are written as a script, so that single lines can be
//! removed: nodes, commands, faults, and directions for single messages, timers and syncs. The
//! remaining times are shortened and rounded, until nothing more can be removed.
//!
//! A candidate replaces the best run if the *same property* fails in it and it is smaller. Runs are
//! compared by, in this order: nodes; events up to the violation plus lines of the script; lines;
//! the length of the command that repeats the run; the sum of all times and durations of the script
//! in milliseconds, where a fraction of a millisecond counts as twenty; the length of the script;
//! the time until the violation.
//!
//! A candidate must not lose permanently more than its algorithm promises to tolerate, unless the
//! first run did, because such a failure is not a bug. A liveness property must not fail for a new
//! reason. So a candidate is rejected if anything in it takes longer than in the first run, or if
//! at its end a node is down, paused, partitioned or never releases, or the time ran out, unless
//! the same was true of the first run.

mod disks;
mod leaders;
mod nodes;
mod pace;
mod parts;
mod quiet;
mod recorder;
mod redraw;
mod search;
mod size;
mod start;
#[cfg(test)]
mod tests;
mod timers;
mod times;
mod trial;

pub use recorder::Obstacle;

use crate::error::LabError;
use crate::family::{FamilyLab, Judge, JudgingLevel};
use crate::replay::{spec_of, summarise_with};
use crate::spec::{LinkChoice, Spec};
use quorate_core::Duration;
use quorate_journal::property::{Kind, Violation};
use quorate_journal::record::Journal;
use quorate_journal::settings::{Chance, Latency, Length, Script};
use recorder::{ChoiceRecorder, RecordedChoices};
use search::Search;
use std::io::BufRead;
use thiserror::Error;
use trial::{Failure, Tally};

/// The default maximum number of tried runs.
pub const TRIES: u64 = 20_000;

/// How much longer than the first run its script may take: times are rounded if clocks drift.
const SLACK: Duration = Duration::from_micros(10);

/// Number of other seeds of a journal's experiment to try, and how many failing ones to shrink.
const OTHER_SEEDS: u64 = 100;
const MAX_FAILING_SEEDS: usize = 4;

/// A run to shrink.
#[derive(Clone, Debug)]
pub struct Request<F: FamilyLab> {
    pub spec: Spec<F>,
    /// The property to violate; `None` for the first that fails.
    pub property: Option<String>,
    pub tries: u64,
}

/// The size of a run, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Figures {
    pub nodes: usize,
    /// Number of commands of clients up to the violation.
    pub commands: u64,
    /// Number of faults, including those that the seed drew.
    pub faults: u64,
    pub directions: u64,
    /// Number of inputs up to the violation, without first starts.
    pub events: u64,
}

/// The state of the search after one more tried run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub tries: u64,
    pub best: Figures,
}

/// Why the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Nothing more can be removed.
    Smallest,
    OutOfTries,
    Interrupted,
}

/// The smallest run found.
#[derive(Clone, Debug)]
pub struct Shrunk<F: FamilyLab> {
    pub spec: Spec<F>,
    pub property: &'static str,
    pub kind: Kind,
    pub violation: Violation,
    pub before: Figures,
    pub after: Figures,
    pub tries: u64,
    pub end: End,
}

/// Why a run cannot be shrunk.
#[derive(Debug, Error)]
pub enum ShrinkError {
    #[error("{finding} in this run, so there is nothing to shrink. Use '{sweep}' to search for a failing seed.")]
    Holds { finding: String, sweep: String },
    #[error("--property must name a property of this algorithm; got '{}'. The properties are {known}.", name.escape_debug())]
    UnknownProperty { name: String, known: String },
    #[error("{finding} in this journal, so there is nothing to shrink.")]
    JournalHolds { finding: String },
    #[error(
        "cannot shrink a run that repeats forever, because no script can: it violates a liveness property. It was found by \
         '{found_by}', and has the fewest possible steps if that was a breadth-first search. Use 'quorate replay' to see \
         them."
    )]
    Endless { found_by: String },
    #[error(
        "cannot shrink this journal: the simulator does not deliver its suspicions or views, so that no script can repeat it. \
         Use 'quorate replay'."
    )]
    Foreign,
    #[error(
        "cannot repeat this journal in the simulator: '{property}' holds there with the same commands, faults, delays and \
         losses. The journal is intact; use 'quorate replay' to see it{hint}."
    )]
    NotRepeated { property: String, hint: String },
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Shrinks a failing run. `progress` is called for every tried run, and returns whether to
/// continue.
pub fn run<F: FamilyLab>(
    request: &Request<F>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Shrunk<F>, ShrinkError> {
    let Request { spec, property, tries } = request;
    spec.validate()?;
    check_property(spec, property.as_deref())?;
    let Some(failure) = trial::find_failure(spec, property.as_deref()) else {
        let finding = nothing_fails(property.as_deref());
        let sweep = format!("{} --seeds 1000", Spec { seed: 1, ..spec.clone() }.command("sweep"));
        return Err(ShrinkError::Holds { finding, sweep });
    };
    let mut search = Search::new(spec.clone(), failure, *tries, progress);
    search.reduce_random_run();
    search.make_scripted();
    search.make_explicit();
    search.script_faults_only();
    search.refine();
    Ok(search.finish())
}

/// Returns the first failing seed of `seeds` seeds, starting with that of the experiment.
/// `progress` is called for every seed that does not fail, and returns whether to continue.
pub fn first_failing<F: FamilyLab>(
    spec: &Spec<F>,
    seeds: u64,
    property: Option<&str>,
    mut progress: impl FnMut(u64) -> bool,
) -> Result<Option<u64>, ShrinkError> {
    spec.validate()?;
    check_property(spec, property)?;
    let mut seeds = (0..seeds).map(|index| (index, spec.seed.wrapping_add(index)));
    let found = seeds.find(|(index, seed)| {
        let candidate = Spec { seed: *seed, ..spec.clone() };
        trial::find_failure(&candidate, property).is_some() || !progress(*index)
    });
    // The search also ends if `progress` interrupts it, with a seed that need not fail.
    Ok(found
        .map(|(_, seed)| seed)
        .filter(|seed| trial::find_failure(&Spec { seed: *seed, ..spec.clone() }, property).is_some()))
}

/// Shrinks the run of any journal. Opens the journal twice.
pub fn run_journal<F, R>(
    mut open: impl FnMut() -> Result<Journal<R>, LabError>,
    property: Option<&str>,
    tries: u64,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Shrunk<F>, ShrinkError>
where
    F: FamilyLab,
    R: BufRead,
{
    let mut journal = open()?;
    let spec = spec_of::<F, R>(&journal)?;
    check_property(&spec, property)?;
    let header = journal.header().clone();
    let (read, tally) = summarise_with::<F, R, _>(&mut journal, Tally::<F>::new(spec.nodes))?;
    let Some(recorded) = trial::first_failure(tally, &read.verdicts, property, false) else {
        return Err(ShrinkError::JournalHolds { finding: nothing_fails(property) });
    };
    if header.found_by.is_none() && !header.recorded && trial::find_failure(&spec, Some(recorded.name)).is_some() {
        // A simulated run can be repeated by its seed, which allows more candidates.
        return run(&Request { spec, property: Some(recorded.name.into()), tries }, progress);
    }
    let mut recorder = ChoiceRecorder::<F>::up_to(recorded.violation.line);
    open()?.show_all(&mut recorder).map_err(LabError::from)?;
    let choices = recorder.finish();
    match choices.obstacle {
        Some(Obstacle::Endless) => {
            return Err(ShrinkError::Endless { found_by: header.found_by.unwrap_or_else(|| "quorate check".into()) });
        }
        Some(Obstacle::Foreign) => return Err(ShrinkError::Foreign),
        None => {}
    }
    let journal_figures = Figures {
        nodes: spec.nodes,
        commands: recorded.commands,
        faults: choices.script.faults.len() as u64,
        directions: 0,
        events: recorded.events,
    };
    let scripts = with_fast_messages(explicit(&spec, choices, &recorded));
    let failing = |script: Spec<F>| trial::find_failure(&script, Some(recorded.name)).map(|failure| (script, failure));
    let Some((script, failure)) = scripts.into_iter().find_map(failing) else {
        return Err(ShrinkError::NotRepeated {
            property: recorded.name.into(),
            hint: if header.recorded {
                "; a script cannot express real clocks and delays".into()
            } else {
                String::new()
            },
        });
    };
    let mut search = Search::new(script, failure, tries, progress);
    search.set_first_figures(journal_figures);
    search.refine();
    // Other seeds of the same experiment may fail in a simpler way.
    (1..=OTHER_SEEDS)
        .filter(|seed| search.try_other_run(Spec { seed: *seed, ..spec.clone() }))
        .take(MAX_FAILING_SEEDS)
        .count();
    search.refine();
    Ok(search.finish())
}

/// The text does not claim that the property holds, because a run that was stopped early may leave
/// it undecided.
fn nothing_fails(property: Option<&str>) -> String {
    property.map_or_else(|| "no property fails".into(), |name| format!("'{name}' does not fail"))
}

/// Rejects a name that is no property of the experiment.
fn check_property<F: FamilyLab>(spec: &Spec<F>, property: Option<&str>) -> Result<(), ShrinkError> {
    let verdicts = F::properties(spec, JudgingLevel::Verdicts).verdicts();
    let known: Vec<_> =
        verdicts.iter().filter(|verdict| verdict.kind != Kind::Sometimes).map(|verdict| verdict.name).collect();
    match property {
        Some(name) if !known.contains(&name) => {
            Err(ShrinkError::UnknownProperty { name: name.into(), known: known.join(", ") })
        }
        Some(_) | None => Ok(()),
    }
}

/// The experiment with a script for the clients and the faults; the remaining choices stay random.
/// `with_implied_faults` includes pauses and bad links.
fn scripted<F: FamilyLab>(spec: &Spec<F>, choices: RecordedChoices, with_implied_faults: bool) -> Spec<F> {
    let mut script = Script { directions: Vec::new(), ..choices.script };
    if with_implied_faults {
        script.faults.extend(choices.implied_faults);
        script.faults.sort_by_key(|timed| timed.at);
    }
    Spec {
        faults: Vec::new(),
        script: Some(script),
        script_path: None,
        random_faults: crate::chaos::FaultMix::default(),
        settings: F::scripted(&spec.settings),
        ..spec.clone()
    }
}

/// The experiment whose script fixes all recorded choices.
fn explicit<F: FamilyLab>(spec: &Spec<F>, mut choices: RecordedChoices, failure: &Failure) -> Spec<F> {
    if failure.kind == Kind::Eventually {
        // Messages that were in flight at the end may arrive, so that nothing waits only for them.
        choices.script.directions.retain(|direction| choices.pace.allows(direction));
    }
    let links = if spec.is_reliable() { LinkChoice::Reliable } else { LinkChoice::Bare };
    let mut explicit = Spec {
        latency: Latency::Fixed(spec.typical()),
        // An algorithm that relies on a bound must not fail because nodes know a shorter one.
        bound: if spec.needs_bounds() { Some(Length(spec.bound())) } else { spec.bound },
        processing: Latency::Fixed(Duration::ZERO),
        disk: Latency::Fixed(Duration::ZERO),
        loss: Chance::NEVER,
        duplicate: Chance::NEVER,
        fifo: false,
        links,
        faults: Vec::new(),
        script: Some(choices.script),
        script_path: None,
        random_faults: crate::chaos::FaultMix::default(),
        until: if failure.kind == Kind::Always { Some(Length(choices.end + SLACK)) } else { spec.until },
        settings: F::scripted(&spec.settings),
        ..spec.clone()
    };
    if (Spec { links: LinkChoice::Auto, ..explicit.clone() }).is_reliable() == explicit.is_reliable() {
        explicit.links = LinkChoice::Auto;
    }
    explicit
}

/// Two variants of an experiment without random choices: with fast messages by default, and as it
/// is. With fast messages, slow ones stand out.
fn with_fast_messages<F: FamilyLab>(spec: Spec<F>) -> [Spec<F>; 2] {
    [Spec { latency: Latency::Fixed(Duration::from_millis(1)), ..spec.clone() }, spec]
}

/// Runs the experiment and records its choices up to the violation.
fn record_choices<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> RecordedChoices {
    let recorder = ChoiceRecorder::<F>::up_to(failure.violation.line);
    crate::experiment::simulate(spec, recorder).observer.finish()
}

/// Smaller numbers, the smallest first: up to three, half, one less.
pub(crate) fn smaller_counts(count: u64) -> impl Iterator<Item = u64> {
    let mut counts: Vec<u64> =
        (1..=3).chain([count / 2, count.saturating_sub(1)]).filter(|smaller| *smaller < count).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter()
}

/// The same experiment with smaller settings of the family, the smallest first.
fn with_smaller_settings<F: FamilyLab>(spec: &Spec<F>) -> Vec<Spec<F>> {
    let others = F::smaller(&spec.settings).into_iter().filter(|settings| *settings != spec.settings);
    others.map(|settings| Spec { settings, ..spec.clone() }).collect()
}

/// How much later one time is than the other; zero if it is not.
fn saturating_difference(later: Duration, earlier: Duration) -> Duration {
    Duration::from_nanos(later.nanos().saturating_sub(earlier.nanos()))
}

/// Whether no random choices are left, except those that directions could fix.
fn is_explicit<F: FamilyLab>(spec: &Spec<F>) -> bool {
    let fixed = |latency| matches!(latency, Latency::Fixed(_));
    let is_scripted = spec.is_scripted() || F::is_silent(&spec.settings);
    is_scripted
        && spec.script.is_some()
        && spec.faults.is_empty()
        && fixed(spec.latency)
        && fixed(spec.processing)
        && fixed(spec.disk)
        && spec.loss.is_zero()
        && spec.duplicate.is_zero()
        && spec.random_faults.is_empty()
}
