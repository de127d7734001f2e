//! Replays a journal by name: builds the nodes that its header describes and lets them take every input again.

use crate::error::LabError;
use crate::experiment::{judges, maker};
use crate::spec::Spec;
use quorate_core::mutex::{Command, Event};
use quorate_sim::journal::Journal;
use quorate_sim::metrics::{MessageSummary, Messages};
use quorate_sim::moment::Observer;
use quorate_sim::mutex::{Measures, MutexSummary, Properties};
use quorate_sim::property::{Kind, Verdict};
use std::io::BufRead;

/// What a replay shows.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What was run.
    pub spec: Spec,
    /// The command of the checker that found it, if it is a counterexample.
    pub found_by: Option<String>,
    /// How many lines were replayed, all of them as recorded.
    pub lines: u64,
    /// Message counts.
    pub messages: MessageSummary,
    /// Entries and delays.
    pub mutex: MutexSummary,
    /// What holds and what does not.
    pub verdicts: Vec<Verdict>,
}

impl Replayed {
    /// Whether every property that one run can judge holds.
    pub fn holds(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds || verdict.kind == Kind::Sometimes)
    }
}

/// What a journal's header says was run.
pub fn spec_of<R: BufRead>(journal: &Journal<R>) -> Result<Spec, LabError> {
    let spec: Spec =
        serde_json::from_value(journal.header().run.clone()).map_err(|error| LabError::Header(error.to_string()))?;
    spec.validate()?;
    let header = journal.header();
    if (header.nodes, header.seed, header.algorithm.as_str()) != (spec.nodes, spec.seed, spec.algorithm.as_str()) {
        return Err(LabError::Header("it contradicts itself about the algorithm, the nodes or the seed".into()));
    }
    Ok(spec)
}

/// Replays a journal and shows it to one more observer.
pub fn replay<R, O>(journal: &mut Journal<R>, observer: O) -> Result<(Replayed, O), LabError>
where
    R: BufRead,
    O: Observer<Command, Event>,
{
    let spec = spec_of(journal)?;
    let mut observers = Observers::new(&spec, observer)?;
    let lines = quorate_sim::replay::replay(journal, maker(&spec, spec.validate()?), &mut observers.0)?;
    Ok(observers.conclude(spec, journal.header().found_by.clone(), lines))
}

/// Everyone who watches a journal go by.
struct Observers<O>((O, (Messages, (Measures, Properties))));

impl<O> Observers<O> {
    fn new(spec: &Spec, observer: O) -> Result<Self, LabError> {
        let entry = spec.validate()?;
        Ok(Self((observer, (Messages::new(spec.nodes), judges(spec, entry)))))
    }

    fn conclude(self, spec: Spec, found_by: Option<String>, lines: u64) -> (Replayed, O) {
        let (observer, (messages, (measures, properties))) = self.0;
        let (unit, unit_name) = spec.delay_unit();
        let replayed = Replayed {
            found_by,
            lines,
            mutex: measures.summary(&messages, &properties, unit, unit_name),
            messages: messages.summary(),
            verdicts: properties.verdicts(),
            spec,
        };
        (replayed, observer)
    }
}

/// Reads a journal for its figures and verdicts alone, whatever wrote it.
pub fn summarise<R: BufRead>(journal: &mut Journal<R>) -> Result<Replayed, LabError> {
    let spec = spec_of(journal)?;
    let mut observers = Observers::new(&spec, ())?;
    journal.show_all(&mut observers.0)?;
    Ok(observers.conclude(spec, journal.header().found_by.clone(), journal.line()).0)
}
