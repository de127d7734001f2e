//! Replays a journal by name: builds the nodes that its header describes and lets them take every input again.

use crate::error::LabError;
use crate::experiment::Judges;
use crate::family::{FamilyLab, FamilyTypes};
use crate::registry::Entry;
use crate::spec::{Spec, entry};
use quorate_journal::metrics::MessageSummary;
use quorate_journal::moment::Observer;
use quorate_journal::property::{Kind, Verdict};
use quorate_journal::record::Journal;
use quorate_journal::workload::Ending;
use std::io::BufRead;

#[derive(Clone, Debug)]
pub struct Replayed<F: FamilyLab> {
    pub spec: Spec<F>,
    /// The command of the checker that found it, if it is a counterexample.
    pub found_by: Option<String>,
    /// Whether real processes did it.
    pub recorded: bool,
    /// How many lines were replayed, all of them as recorded.
    pub lines: u64,
    pub messages: MessageSummary,
    pub summary: F::Summary,
    pub verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Replayed<F> {
    /// Whether every property that one run can judge holds.
    pub fn holds(&self) -> bool {
        !self.verdicts.iter().any(Verdict::is_breach)
    }

    /// Whether the run was stopped before it could say what happens in the end.
    pub fn is_cut_short(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.kind == Kind::Eventually && verdict.holds.is_none())
    }
}

/// The algorithm that a journal's header names; its family is that of everything else in the journal.
pub fn entry_of<R: BufRead>(journal: &Journal<R>) -> Result<&'static Entry, LabError> {
    let header = journal.header();
    // What was run is told twice, and the algorithm of the run is what counts.
    let named = header.run.get("algorithm").and_then(|name| name.as_str()).unwrap_or(&header.algorithm);
    entry(named)
}

pub fn spec_of<F: FamilyLab, R: BufRead>(journal: &Journal<R>) -> Result<Spec<F>, LabError> {
    let header = journal.header();
    let spec = Spec::<F>::from_header(&header.run)?;
    spec.validate()?;
    if (header.nodes, header.seed, header.algorithm.as_str()) != (spec.nodes, spec.seed, spec.algorithm.name()) {
        return Err(LabError::Header("it contradicts itself about the algorithm, the nodes or the seed".into()));
    }
    if header.family != F::FAMILY.name() {
        return Err(LabError::Header("it contradicts itself about the algorithm's family".into()));
    }
    Ok(spec)
}

/// One life tells too little to be judged: what it heard stands elsewhere.
fn check_whole<R: BufRead>(journal: &Journal<R>) -> Result<(), LabError> {
    let Some(live) = &journal.header().live else { return Ok(()) };
    let whose = match live.node {
        Some(node) => format!("one node's life ({} of node {node})", live.incarnation),
        None => "what was done to the nodes".into(),
    };
    Err(LabError::OneLife { whose })
}

/// Replays a journal and shows it to one more observer.
pub fn replay<F, R, O>(journal: &mut Journal<R>, mut observer: O) -> Result<(Replayed<F>, O), LabError>
where
    F: FamilyLab,
    R: BufRead,
    O: Observer<F::Command, F::Event>,
{
    let replayed = read_before(journal, &mut observer, |journal, spec, observers| {
        Ok(quorate_journal::replay::replay(journal, F::maker(spec), observers)?)
    })?;
    Ok((replayed, observer))
}

/// Reads a journal for its figures and verdicts alone, whatever wrote it.
pub fn summarise<F: FamilyLab, R: BufRead>(journal: &mut Journal<R>) -> Result<Replayed<F>, LabError> {
    summarise_with(journal, ()).map(|(read, ())| read)
}

/// Reads a journal for its figures and verdicts, and shows it to one more observer.
pub fn summarise_with<F, R, O>(journal: &mut Journal<R>, mut observer: O) -> Result<(Replayed<F>, O), LabError>
where
    F: FamilyLab,
    R: BufRead,
    O: Observer<F::Command, F::Event>,
{
    let read = read_before(journal, &mut observer, |journal, _, observers| {
        journal.show_all(observers)?;
        Ok(journal.line())
    })?;
    Ok((read, observer))
}

/// An observer of any type, so that reading is compiled once a family, and those who judge.
type Observers<'a, F> = (&'a mut dyn Observer<<F as FamilyTypes>::Command, <F as FamilyTypes>::Event>, Judges<F>);

/// Shows a journal to observers, and returns how many lines it has.
type Read<F, R> = fn(&mut Journal<R>, &Spec<F>, &mut Observers<'_, F>) -> Result<u64, LabError>;

fn read_before<F: FamilyLab, R: BufRead>(
    journal: &mut Journal<R>,
    observer: &mut dyn Observer<F::Command, F::Event>,
    read: Read<F, R>,
) -> Result<Replayed<F>, LabError> {
    check_whole(journal)?;
    let spec = spec_of::<F, R>(journal)?;
    let mut observers = (observer, Judges::new(&spec));
    let lines = read(journal, &spec, &mut observers)?;
    let judges = &observers.1;
    Ok(Replayed {
        found_by: journal.header().found_by.clone(),
        recorded: journal.header().recorded,
        lines,
        messages: judges.messages.summary(),
        summary: judges.summary(),
        verdicts: judges.verdicts(cut_short(&spec, journal, judges.events())),
        spec,
    })
}

/// Why the run of a journal, which was read to its end, cannot say what would have happened in the end; nothing if it can.
pub fn cut_short<F: FamilyLab, R: BufRead>(spec: &Spec<F>, journal: &Journal<R>, events: u64) -> Option<String> {
    let ending = journal.ending()?;
    let stopped = || "the run was stopped before everything was done".to_owned();
    // The header of real processes has no limits: their users stop them.
    let of_processes = journal.header().recorded && ending == Ending::Stopped;
    spec.cut_short(ending, events).or_else(|| of_processes.then(stopped))
}
