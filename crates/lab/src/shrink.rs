//! Shrinking: finds a smaller run that violates the same property as a failing run, the first run.
//!
//! First the search tries fewer nodes, requests and clients, with other seeds if necessary. Then it
//! writes all random choices of the run as a script, so that it can remove single nodes, commands,
//! faults, and directions for single messages, timers and syncs. It shortens and rounds the
//! remaining times, until nothing more can be removed.
//!
//! A candidate replaces the best run if the *same property* fails in it and it is smaller. Runs are
//! compared by, in this order: nodes; events up to the violation plus lines of the script; lines;
//! the length of the command that repeats the run; the sum of all times and durations of the script
//! in milliseconds, where any fraction of a millisecond counts as 20 ms; the length of the script;
//! the time until the violation; the seed.
//!
//! A candidate must not permanently lose more, such as disks, than its algorithm promises to
//! tolerate, unless the first run did, because such a failure is not a bug. A liveness property
//! must not fail for a new reason. So a candidate that violates one is rejected if anything in it
//! takes longer than 10 ms and longer than in the first run. It is also rejected if at its end a
//! node is down, paused or partitioned or never leaves the critical section, a bad link or a full
//! disk persists, or the time ran out, unless the same was true of the first run.

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
use quorate_journal::property::{PropertyKind, Violation};
use quorate_journal::record::Journal;
use quorate_journal::settings::{Chance, Latency, Length, Script};
use recorder::{ChoiceRecorder, RecordedChoices};
use search::Search;
use std::io::BufRead;
use thiserror::Error;
use trial::{Failure, FailureRecorder};

/// The default maximum number of tried runs.
pub const DEFAULT_MAX_RUNS: u64 = 20_000;

/// How much longer than the first run its script may take, because times are rounded if clocks
/// drift.
const SLACK: Duration = Duration::from_micros(10);

/// Number of other seeds of a journal's experiment to try.
const OTHER_SEEDS: u64 = 100;
/// Maximum number of failing seeds among these to shrink.
const MAX_FAILING_SEEDS: usize = 4;

/// A run to shrink.
#[derive(Clone, Debug)]
pub struct ShrinkRequest<F: FamilyLab> {
    pub spec: Spec<F>,
    /// The property to violate; `None` for the first that fails.
    pub property: Option<String>,
    /// Maximum number of candidates to run.
    pub max_runs: u64,
}

/// The size of a run, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct RunFigures {
    pub nodes: usize,
    /// Number of commands of clients up to the violation.
    pub commands: u64,
    /// Number of faults, including those that the seed drew.
    pub faults: u64,
    /// Number of script lines that each fix one choice, such as the delay of one message.
    pub directions: u64,
    /// Number of inputs up to the violation, without first starts.
    pub events: u64,
}

/// The state of the search when it tries one more run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Number of tried runs, including this one.
    pub tried_runs: u64,
    /// The best run before this one.
    pub best: RunFigures,
}

/// Why the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// Nothing more can be removed.
    Smallest,
    #[serde(rename = "out-of-tries")]
    OutOfRuns,
    Interrupted,
}

/// The smallest run found.
#[derive(Clone, Debug)]
pub struct Shrunk<F: FamilyLab> {
    pub spec: Spec<F>,
    pub property: &'static str,
    pub kind: PropertyKind,
    pub violation: Violation,
    pub before: RunFigures,
    pub after: RunFigures,
    pub tried_runs: u64,
    pub end: SearchEnd,
}

/// Why a run cannot be shrunk.
#[derive(Debug, Error)]
pub enum ShrinkError {
    #[error("{finding} in this run, so there is nothing to shrink. Use '{sweep}' to search for a failing seed.")]
    NothingFails { finding: String, sweep: String },
    #[error("--property must name a property of this algorithm; got '{}'. The properties are {known}.", name.escape_debug())]
    UnknownProperty { name: String, known: String },
    #[error("{finding} in this journal, so there is nothing to shrink.")]
    NothingFailsInJournal { finding: String },
    #[error(
        "cannot shrink a run that repeats forever, because no script can: it violates a liveness property. It was found by \
         '{found_by}', and has the fewest possible steps if that was a breadth-first search. Use 'quorate replay' to see \
         them."
    )]
    Endless { found_by: String },
    #[error(
        "cannot shrink this journal: the simulator does not deliver its suspicions or views, so no script can repeat it. \
         Use 'quorate replay'."
    )]
    ExternalInputs,
    #[error(
        "cannot repeat this journal in the simulator: '{property}' holds there with the same commands, faults, delays and \
         losses. The journal is intact; use 'quorate replay' to see it{hint}."
    )]
    NotRepeatable { property: String, hint: String },
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Shrinks a failing run. `progress` is called for every tried run, and returns whether to
/// continue.
pub fn run<F: FamilyLab>(
    request: &ShrinkRequest<F>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Shrunk<F>, ShrinkError> {
    let ShrinkRequest { spec, property, max_runs } = request;
    spec.validate()?;
    check_property(spec, property.as_deref())?;
    let Some(failure) = trial::find_failure(spec, property.as_deref()) else {
        let finding = describe_no_failure(property.as_deref());
        let sweep = format!("{} --seeds 1000", Spec { seed: 1, ..spec.clone() }.command("sweep"));
        return Err(ShrinkError::NothingFails { finding, sweep });
    };
    let mut search = Search::new(spec.clone(), failure, *max_runs, progress);
    search.reduce_random_run();
    search.script_and_reduce();
    search.fix_random_choices();
    search.script_faults_only();
    search.refine();
    Ok(search.finish())
}

/// Returns the first failing seed of `seeds` seeds, starting with the seed of `spec`.
/// `progress` is called with the index, from 0, of every seed that does not fail, and returns
/// whether to continue.
pub fn find_failing_seed<F: FamilyLab>(
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

/// Shrinks the run of a journal. Opens the journal up to two times.
pub fn shrink_journal<F, R>(
    mut open: impl FnMut() -> Result<Journal<R>, LabError>,
    property: Option<&str>,
    max_runs: u64,
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
    // Affects only `Failure::blockers`, and the search uses those of the repeated run.
    let is_out_of_time = false;
    let (replayed, recorder) = summarise_with::<F, R, _>(&mut journal, FailureRecorder::<F>::new(spec.nodes))?;
    let Some(recorded_failure) = trial::first_failure(recorder, &replayed.verdicts, property, is_out_of_time) else {
        return Err(ShrinkError::NothingFailsInJournal { finding: describe_no_failure(property) });
    };
    if header.found_by.is_none()
        && !header.recorded
        && trial::find_failure(&spec, Some(recorded_failure.property)).is_some()
    {
        // A simulated run can be repeated by its seed, which allows more candidates.
        return run(&ShrinkRequest { spec, property: Some(recorded_failure.property.into()), max_runs }, progress);
    }
    let mut recorder = ChoiceRecorder::<F>::up_to(recorded_failure.violation.line, &spec);
    open()?.show_all(&mut recorder).map_err(LabError::from)?;
    let choices = recorder.finish();
    match choices.obstacle {
        Some(Obstacle::Endless) => {
            return Err(ShrinkError::Endless { found_by: header.found_by.unwrap_or_else(|| "quorate check".into()) });
        }
        Some(Obstacle::ExternalInputs) => return Err(ShrinkError::ExternalInputs),
        None => {}
    }
    let journal_figures = RunFigures {
        nodes: spec.nodes,
        commands: recorded_failure.commands,
        faults: choices.script.faults.len() as u64,
        directions: 0,
        events: recorded_failure.events,
    };
    let scripts = with_fast_messages(fix_choices(&spec, choices, &recorded_failure));
    let find_failing = |script: Spec<F>| {
        trial::find_failure(&script, Some(recorded_failure.property)).map(|failure| (script, failure))
    };
    let Some((script, failure)) = scripts.into_iter().find_map(find_failing) else {
        return Err(ShrinkError::NotRepeatable {
            property: recorded_failure.property.into(),
            hint: if header.recorded {
                "; a script cannot express real clocks and delays".into()
            } else {
                String::new()
            },
        });
    };
    let mut search = Search::new(script, failure, max_runs, progress);
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

/// Describes that nothing failed. The text does not claim that the property holds, because a run
/// that was stopped early may leave it undecided.
fn describe_no_failure(property: Option<&str>) -> String {
    property.map_or_else(|| "no property fails".into(), |name| format!("'{name}' does not fail"))
}

/// Rejects a name that is no property of the experiment.
fn check_property<F: FamilyLab>(spec: &Spec<F>, property: Option<&str>) -> Result<(), ShrinkError> {
    let verdicts = F::properties(spec, JudgingLevel::Verdicts).verdicts();
    let known: Vec<_> =
        verdicts.iter().filter(|verdict| verdict.kind != PropertyKind::Sometimes).map(|verdict| verdict.name).collect();
    match property {
        Some(name) if !known.contains(&name) => {
            Err(ShrinkError::UnknownProperty { name: name.into(), known: known.join(", ") })
        }
        Some(_) | None => Ok(()),
    }
}

/// The experiment with a script for the clients and the faults; the remaining choices stay random.
/// With `with_implied_faults`, the script includes pauses and bad links.
fn with_script<F: FamilyLab>(spec: &Spec<F>, choices: RecordedChoices, with_implied_faults: bool) -> Spec<F> {
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
        settings: F::scripted_settings(&spec.settings),
        ..spec.clone()
    }
}

/// The experiment whose script fixes all recorded choices.
fn fix_choices<F: FamilyLab>(spec: &Spec<F>, mut choices: RecordedChoices, failure: &Failure) -> Spec<F> {
    if failure.kind == PropertyKind::Eventually {
        // Drop the directions that delay pending messages, timers and syncs longer than completed
        // ones took: the property could fail only because of such a delay.
        choices.script.directions.retain(|direction| choices.pace.allows(direction));
    }
    let links = if spec.is_reliable() { LinkChoice::Reliable } else { LinkChoice::Bare };
    let mut fixed = Spec {
        latency: Latency::Fixed(spec.message_time()),
        // An algorithm that relies on a bound must not fail because nodes know a shorter one.
        delay_bound: if spec.needs_bounds() { Some(Length(spec.assumed_delay_bound())) } else { spec.delay_bound },
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
        until: if failure.kind == PropertyKind::Always { Some(Length(choices.end + SLACK)) } else { spec.until },
        settings: F::scripted_settings(&spec.settings),
        ..spec.clone()
    };
    if (Spec { links: LinkChoice::Auto, ..fixed.clone() }).is_reliable() == fixed.is_reliable() {
        fixed.links = LinkChoice::Auto;
    }
    fixed
}

/// Two variants of an experiment without random choices: with messages of 1 ms by default, which is
/// easier to read, and as it is.
fn with_fast_messages<F: FamilyLab>(spec: Spec<F>) -> [Spec<F>; 2] {
    [Spec { latency: Latency::Fixed(Duration::from_millis(1)), ..spec.clone() }, spec]
}

/// Runs the experiment and records its choices up to the violation.
fn record_choices<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> RecordedChoices {
    let recorder = ChoiceRecorder::<F>::up_to(failure.violation.line, spec);
    crate::experiment::simulate(spec, recorder).observer.finish()
}

/// Returns smaller numbers, the smallest first: 1 to 3, half of `count`, and one less.
pub(crate) fn smaller_counts(count: u64) -> impl Iterator<Item = u64> {
    let mut counts: Vec<u64> =
        (1..=3).chain([count / 2, count.saturating_sub(1)]).filter(|smaller| *smaller < count).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter()
}

/// Variants of the experiment with smaller settings of the family.
fn with_smaller_settings<F: FamilyLab>(spec: &Spec<F>) -> Vec<Spec<F>> {
    let others = F::smaller_settings(&spec.settings).into_iter().filter(|settings| *settings != spec.settings);
    others.map(|settings| Spec { settings, ..spec.clone() }).collect()
}

/// How much later one time is than the other; zero if it is not later.
fn saturating_difference(later: Duration, earlier: Duration) -> Duration {
    Duration::from_nanos(later.nanos().saturating_sub(earlier.nanos()))
}

/// Whether clients and faults follow a script, latencies are fixed, and no message is lost or
/// duplicated by chance. Directions can fix further choices, such as the delays of timers.
fn has_fixed_choices<F: FamilyLab>(spec: &Spec<F>) -> bool {
    let is_fixed = |latency| matches!(latency, Latency::Fixed(_));
    let is_scripted = spec.is_scripted() || F::has_idle_clients(&spec.settings);
    is_scripted
        && spec.script.is_some()
        && spec.faults.is_empty()
        && is_fixed(spec.latency)
        && is_fixed(spec.processing)
        && is_fixed(spec.disk)
        && spec.loss.is_zero()
        && spec.duplicate.is_zero()
        && spec.random_faults.is_empty()
}
