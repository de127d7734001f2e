//! Reads a journal, or replays it: a replay creates the nodes that the journal's header describes
//! and feeds them every recorded input.

use crate::error::LabError;
use crate::experiment::Judges;
use crate::family::{FamilyLab, FamilyTypes};
use crate::registry::Entry;
use crate::spec::{Spec, find_entry};
use quorate_journal::metrics::MessageSummary;
use quorate_journal::moment::Observer;
use quorate_journal::property::{PropertyKind, Verdict};
use quorate_journal::record::Journal;
use quorate_journal::workload::Ending;
use std::io::BufRead;

/// The result of reading or replaying a journal.
#[derive(Clone, Debug)]
pub struct Replayed<F: FamilyLab> {
    pub spec: Spec<F>,
    /// The check command that found the run, if it is a counterexample.
    pub found_by: Option<String>,
    /// Whether real processes recorded the run.
    pub is_recorded: bool,
    /// Number of lines that were read. In a replay, the nodes reproduced all of them.
    pub lines: u64,
    pub messages: MessageSummary,
    pub summary: F::Summary,
    pub verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Replayed<F> {
    /// Whether the run violates no property. `sometimes` properties do not count.
    pub fn holds(&self) -> bool {
        !self.verdicts.iter().any(Verdict::is_violated)
    }

    /// Whether the run was stopped before it could decide every liveness property.
    pub fn is_cut_short(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.kind == PropertyKind::Eventually && verdict.holds.is_none())
    }
}

/// Returns the algorithm that a journal's header names.
pub fn entry_of<R: BufRead>(journal: &Journal<R>) -> Result<&'static Entry, LabError> {
    let header = journal.header();
    // The header names the algorithm twice; the name in the run's settings decides.
    let name = header.run.get("algorithm").and_then(|name| name.as_str()).unwrap_or(&header.algorithm);
    find_entry(name)
}

/// Reads the experiment from a journal's header, and checks that the header is consistent.
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

/// Rejects the journal of a single node or of the injected faults, because it is only a part of the
/// record of a run.
fn reject_single_node_journal<R: BufRead>(journal: &Journal<R>) -> Result<(), LabError> {
    let Some(live) = &journal.header().live else { return Ok(()) };
    let owner = match live.node {
        Some(node) => format!("incarnation {} of node {node}", live.incarnation),
        None => "the injected faults".into(),
    };
    Err(LabError::SingleJournal { owner })
}

/// Replays a journal and passes every moment to `observer`. Fails at the first line that the nodes
/// do not reproduce.
pub fn replay<F, R, O>(journal: &mut Journal<R>, mut observer: O) -> Result<(Replayed<F>, O), LabError>
where
    F: FamilyLab,
    R: BufRead,
    O: Observer<F::Command, F::Event>,
{
    let replayed = read_dyn(journal, &mut observer, |journal, spec, observers| {
        Ok(quorate_journal::replay::replay(journal, F::node_factory(spec), observers)?)
    })?;
    Ok((replayed, observer))
}

/// Reads the figures and verdicts of a journal, without replaying its nodes.
pub fn summarise<F: FamilyLab, R: BufRead>(journal: &mut Journal<R>) -> Result<Replayed<F>, LabError> {
    summarise_with(journal, ()).map(|(replayed, ())| replayed)
}

/// Like [`summarise`], but passes every moment to `observer`.
pub fn summarise_with<F, R, O>(journal: &mut Journal<R>, mut observer: O) -> Result<(Replayed<F>, O), LabError>
where
    F: FamilyLab,
    R: BufRead,
    O: Observer<F::Command, F::Event>,
{
    let replayed = read_dyn(journal, &mut observer, |journal, _, observers| {
        journal.show_all(observers)?;
        Ok(journal.line())
    })?;
    Ok((replayed, observer))
}

/// A caller's observer, and the judges. The observer is behind dynamic dispatch, so that reading is
/// compiled once per family.
type Observers<'a, F> = (&'a mut dyn Observer<<F as FamilyTypes>::Command, <F as FamilyTypes>::Event>, Judges<F>);

/// Passes a journal to observers, and returns its number of lines.
type ReadJournal<F, R> = fn(&mut Journal<R>, &Spec<F>, &mut Observers<'_, F>) -> Result<u64, LabError>;

fn read_dyn<F: FamilyLab, R: BufRead>(
    journal: &mut Journal<R>,
    observer: &mut dyn Observer<F::Command, F::Event>,
    read: ReadJournal<F, R>,
) -> Result<Replayed<F>, LabError> {
    reject_single_node_journal(journal)?;
    let spec = spec_of::<F, R>(journal)?;
    let mut observers = (observer, Judges::new(&spec));
    let lines = read(journal, &spec, &mut observers)?;
    let judges = &observers.1;
    Ok(Replayed {
        found_by: journal.header().found_by.clone(),
        is_recorded: journal.header().recorded,
        lines,
        messages: judges.messages.summary(),
        summary: judges.summary(),
        verdicts: judges.verdicts(cut_short_reason(&spec, journal, judges.inputs())),
        spec,
    })
}

/// The reason why the run of a journal that was read to its end cannot decide liveness properties;
/// `None` if it can, or if the journal does not record how the run ended. `inputs` is the number of
/// inputs in the run, which is limited.
pub fn cut_short_reason<F: FamilyLab, R: BufRead>(spec: &Spec<F>, journal: &Journal<R>, inputs: u64) -> Option<String> {
    let ending = journal.ending()?;
    let stopped = || "the run was stopped before everything was done".to_owned();
    // The header of a recorded run has no limits, because the clients stop the processes.
    let was_stopped_by_clients = journal.header().recorded && ending == Ending::Stopped;
    spec.cut_short_reason(ending, inputs).or_else(|| was_stopped_by_clients.then(stopped))
}
