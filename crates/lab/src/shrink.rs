//! Shrinking: a run that fails becomes the smallest one found that still fails in the same way.
//!
//! First the run gets smaller as it is, with other seeds if need be: fewer nodes, requests, clients. Then everything that
//! chance decided in it is written down as a script, so that single things can be left out: nodes, commands, faults, and
//! directions for single messages, timers and syncs. What is left is pulled together in time and rounded, until nothing
//! more can be left out.
//!
//! A candidate takes the place of the best one if the *same property* fails in it and it is smaller. One run is smaller than
//! another by, in this order: nodes; events up to the breach and lines of the script together; lines; the length of the
//! command that repeats it; all times and lengths of the script together, in milliseconds, of which a part of one counts for twenty; the length of the script; the time
//! until the breach.
//!
//! No candidate may lose more for good than its algorithm promises to bear, unless the first run did: what fails then is no flaw.
//! What must happen in the end may be missing in a smaller run for no other reason than in the first: a candidate is
//! refused if anything in it takes longer than anything did in the first, or if somebody is down, stands still, never leaves or is cut off at its end, or its time ran out, and none of that
//! was so in the first.

mod disks;
mod leaders;
mod nodes;
mod notes;
mod pace;
mod parts;
mod quiet;
mod search;
mod shake;
mod size;
mod start;
#[cfg(test)]
mod tests;
mod timers;
mod times;
mod trial;

pub use notes::Obstacle;

use crate::error::LabError;
use crate::family::{Care, FamilyLab, Judge};
use crate::replay::{spec_of, summarise_with};
use crate::spec::{LinkChoice, Spec};
use notes::{Noted, Notes};
use quorate_core::Duration;
use quorate_journal::property::{Kind, Violation};
use quorate_journal::record::Journal;
use quorate_journal::settings::{Chance, Latency, Length, Script};
use search::Search;
use std::io::BufRead;
use thiserror::Error;
use trial::{Failure, Tally};

/// How many runs are tried unless somebody says otherwise.
pub const TRIES: u64 = 20_000;

/// How much longer than the first one a run may take that is told by a script: clocks that drift round.
const SLACK: Duration = Duration::from_micros(10);

/// How many seeds of a journal's experiment are tried beside it, and how many of those that fail are made small.
const OTHER_SEEDS: u64 = 100;
const MOST_SEEDS: usize = 4;

#[derive(Clone, Debug)]
pub struct Request<F: FamilyLab> {
    pub spec: Spec<F>,
    /// The property that fails in it; the first one unless given.
    pub property: Option<String>,
    pub tries: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Figures {
    pub nodes: usize,
    /// How many commands users gave up to the breach.
    pub commands: u64,
    /// How many faults there were, those that the seed drew among them.
    pub faults: u64,
    pub directions: u64,
    /// How many inputs nodes took up to the breach, their first boots left out.
    pub events: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub tries: u64,
    pub best: Figures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Smallest,
    OutOfTries,
    Interrupted,
}

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

#[derive(Debug, Error)]
pub enum ShrinkError {
    #[error("{what} in this run, so there is nothing to shrink. '{sweep}' finds a seed that fails, if there is one.")]
    Holds { what: String, sweep: String },
    #[error("There is no property '{}' of this algorithm. Its properties are {known}.", name.escape_debug())]
    UnknownProperty { name: String, known: String },
    #[error("{what} in this journal, so there is nothing to shrink.")]
    JournalHolds { what: String },
    #[error(
        "This run repeats itself for ever, which no script can: what it breaks is that something happens at last. It was \
         found by '{found_by}', and its steps are already the fewest there are if that searched breadth-first. 'quorate \
         replay' shows them."
    )]
    Endless { found_by: String },
    #[error(
        "The simulator never tells nodes of suspicions and views, as this journal does, so no script repeats it. 'quorate \
         replay' does."
    )]
    Foreign,
    #[error(
        "The simulator does not do again what this journal tells: '{property}' holds there, though it was given the same \
         commands, faults, delays and losses. The journal itself is whole, and 'quorate replay' shows it{hint}."
    )]
    NotRepeated { property: String, hint: String },
    #[error(transparent)]
    Lab(#[from] LabError),
}

/// Makes a failing run small. `progress` hears of every try, and says whether to go on.
pub fn run<F: FamilyLab>(
    request: &Request<F>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Shrunk<F>, ShrinkError> {
    let Request { spec, property, tries } = request;
    spec.validate()?;
    check_property(spec, property.as_deref())?;
    let Some(failure) = trial::fails(spec, property.as_deref()) else {
        let what = nothing_fails(property.as_deref());
        let sweep = format!("{} --seeds 1000", Spec { seed: 1, ..spec.clone() }.command("sweep"));
        return Err(ShrinkError::Holds { what, sweep });
    };
    let mut search = Search::new(spec.clone(), failure, *tries, progress);
    search.make_fewer();
    search.make_scripted();
    search.make_explicit();
    search.make_faulted();
    search.refine();
    Ok(search.finish())
}

/// The first seed that fails among so many, beginning with that of the experiment. `progress` hears of every one that holds,
/// and says whether to go on.
pub fn first_failing<F: FamilyLab>(
    spec: &Spec<F>,
    seeds: u64,
    property: Option<&str>,
    mut progress: impl FnMut(u64) -> bool,
) -> Result<Option<u64>, ShrinkError> {
    spec.validate()?;
    check_property(spec, property)?;
    let mut all = (0..seeds).map(|place| (place, spec.seed.wrapping_add(place)));
    let found = all.find(|(place, seed)| {
        let candidate = Spec { seed: *seed, ..spec.clone() };
        trial::fails(&candidate, property).is_some() || !progress(*place)
    });
    // An interruption ends the search too, with a seed that need not fail.
    Ok(found
        .map(|(_, seed)| seed)
        .filter(|seed| trial::fails(&Spec { seed: *seed, ..spec.clone() }, property).is_some()))
}

/// Makes the run of a journal small, whoever wrote it. It is opened twice.
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
    let Some(recorded) = trial::failure(tally, &read.verdicts, property, false) else {
        return Err(ShrinkError::JournalHolds { what: nothing_fails(property) });
    };
    if header.found_by.is_none() && !header.recorded && trial::fails(&spec, Some(recorded.name)).is_some() {
        // A simulated run is repeated by its seed, which leaves more to choose from.
        return run(&Request { spec, property: Some(recorded.name.into()), tries }, progress);
    }
    let mut notes = Notes::<F>::up_to(recorded.violation.line);
    open()?.show_all(&mut notes).map_err(LabError::from)?;
    let noted = notes.finish();
    match noted.obstacle {
        Some(Obstacle::Endless) => {
            return Err(ShrinkError::Endless { found_by: header.found_by.unwrap_or_else(|| "quorate check".into()) });
        }
        Some(Obstacle::Foreign) => return Err(ShrinkError::Foreign),
        None => {}
    }
    let first = Figures {
        nodes: spec.nodes,
        commands: recorded.commands,
        faults: noted.script.faults.len() as u64,
        directions: 0,
        events: recorded.events,
    };
    let scripts = fast(explicit(&spec, noted, &recorded));
    let tried = |script: Spec<F>| trial::fails(&script, Some(recorded.name)).map(|failure| (script, failure));
    let Some((script, failure)) = scripts.into_iter().find_map(tried) else {
        return Err(ShrinkError::NotRepeated {
            property: recorded.name.into(),
            hint: if header.recorded {
                "; real clocks and delays have no place in a script".into()
            } else {
                String::new()
            },
        });
    };
    let mut search = Search::new(script, failure, tries, progress);
    search.begin_with(first);
    search.refine();
    // Seeds of the same experiment may fail in a simpler way.
    (1..=OTHER_SEEDS).filter(|seed| search.consider(Spec { seed: *seed, ..spec.clone() })).take(MOST_SEEDS).count();
    search.refine();
    Ok(search.finish())
}

/// A run that was stopped too early may leave a property undecided, so this does not say that it holds.
fn nothing_fails(property: Option<&str>) -> String {
    property.map_or_else(|| "No property fails".into(), |name| format!("'{name}' does not fail"))
}

fn check_property<F: FamilyLab>(spec: &Spec<F>, property: Option<&str>) -> Result<(), ShrinkError> {
    let verdicts = F::properties(spec, Care::Verdicts).verdicts();
    let known: Vec<_> =
        verdicts.iter().filter(|verdict| verdict.kind != Kind::Sometimes).map(|verdict| verdict.name).collect();
    match property {
        Some(name) if !known.contains(&name) => {
            Err(ShrinkError::UnknownProperty { name: name.into(), known: known.join(", ") })
        }
        Some(_) | None => Ok(()),
    }
}

/// The experiment in which a script says what users do and what goes wrong, and chance decides the rest as before. Pauses and
/// bad links are among that if it is to be full.
fn scripted<F: FamilyLab>(spec: &Spec<F>, noted: Noted, is_full: bool) -> Spec<F> {
    let mut script = Script { directions: Vec::new(), ..noted.script };
    if is_full {
        script.faults.extend(noted.shown);
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

fn explicit<F: FamilyLab>(spec: &Spec<F>, mut noted: Noted, failure: &Failure) -> Spec<F> {
    if failure.kind == Kind::Eventually {
        // What was still under way in the end may as well come: nothing may wait for it alone.
        noted.script.directions.retain(|direction| noted.pace.allows(direction));
    }
    let links = if spec.is_reliable() { LinkChoice::Reliable } else { LinkChoice::Bare };
    let mut explicit = Spec {
        latency: Latency::Fixed(spec.typical()),
        // Whoever relies on a bound breaks for another reason where nodes are told a shorter one.
        bound: if spec.needs_bounds() { Some(Length(spec.bound())) } else { spec.bound },
        processing: Latency::Fixed(Duration::ZERO),
        disk: Latency::Fixed(Duration::ZERO),
        loss: Chance::NEVER,
        duplicate: Chance::NEVER,
        fifo: false,
        links,
        faults: Vec::new(),
        script: Some(noted.script),
        script_path: None,
        random_faults: crate::chaos::FaultMix::default(),
        until: if failure.kind == Kind::Always { Some(Length(noted.end + SLACK)) } else { spec.until },
        settings: F::scripted(&spec.settings),
        ..spec.clone()
    };
    if (Spec { links: LinkChoice::Auto, ..explicit.clone() }).is_reliable() == explicit.is_reliable() {
        explicit.links = LinkChoice::Auto;
    }
    explicit
}

/// An experiment in which everything is told, with messages that are fast where nothing is told of them, and as it is. Where
/// messages are fast, those stand out that take long.
fn fast<F: FamilyLab>(spec: Spec<F>) -> [Spec<F>; 2] {
    [Spec { latency: Latency::Fixed(Duration::from_millis(1)), ..spec.clone() }, spec]
}

fn note<F: FamilyLab>(spec: &Spec<F>, failure: &Failure) -> Noted {
    let notes = Notes::<F>::up_to(failure.violation.line);
    crate::experiment::play(spec, notes).observer.finish()
}

/// Smaller numbers, the smallest first: a few, half as many, one less.
pub(crate) fn fewer(count: u64) -> impl Iterator<Item = u64> {
    let mut all: Vec<u64> = (1..=3).chain([count / 2, count.saturating_sub(1)]).filter(|less| *less < count).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
}

/// The same experiment with less of something that the family's settings ask for, the least first.
fn smaller<F: FamilyLab>(spec: &Spec<F>) -> Vec<Spec<F>> {
    let others = F::smaller(&spec.settings).into_iter().filter(|settings| *settings != spec.settings);
    others.map(|settings| Spec { settings, ..spec.clone() }).collect()
}

/// How much later the one is than the other, if it is.
fn less(later: Duration, earlier: Duration) -> Duration {
    Duration::from_nanos(later.nanos().saturating_sub(earlier.nanos()))
}

/// Whether nothing is left to chance but what directions might still say.
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
