//! One run: set up, run to its end, measured and judged.

use crate::error::LabError;
use crate::family::{Care, FamilyLab, Judge};
use crate::spec::Spec;
use quorate_core::{NodeId, Time};
use quorate_sim::World;
use quorate_sim::journal::{FORMAT, Header, Writer};
use quorate_sim::metrics::{MessageSummary, Messages};
use quorate_sim::moment::{Moment, Observer};
use quorate_sim::property::{Kind, Verdict};
use quorate_sim::run::{self, Ending};
use std::io::{self, Write};

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome<F: FamilyLab> {
    /// How it ended.
    pub ending: Ending,
    /// When.
    pub time: Time,
    /// How many inputs nodes took.
    pub events: u64,
    /// The fingerprint of the whole journal, byte for byte.
    pub trace_hash: String,
    /// How many lines the journal has.
    pub lines: u64,
    /// Message counts.
    pub messages: MessageSummary,
    /// What the family measures.
    pub summary: F::Summary,
    /// What held and what did not.
    pub verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Outcome<F> {
    /// Whether every property that one run can judge holds.
    pub fn holds(&self) -> bool {
        self.breaches().next().is_none()
    }

    /// The properties that one run can judge and that do not hold.
    pub fn breaches(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| !verdict.holds && verdict.kind != Kind::Sometimes)
    }
}

/// Runs an experiment.
pub fn run<F: FamilyLab>(spec: &Spec<F>) -> Result<Outcome<F>, LabError> {
    run_with(spec, io::sink(), ()).map(|(outcome, ())| outcome)
}

/// Runs an experiment, writes its journal and shows it to one more observer.
pub fn run_with<F, O>(spec: &Spec<F>, journal: impl Write, observer: O) -> Result<(Outcome<F>, O), LabError>
where
    F: FamilyLab,
    O: Observer<F::Command, F::Event>,
{
    let entry = spec.validate()?;
    let header = header(spec)?;
    let observers = ((Writer::new(journal, &header), observer), Judges::new(spec, entry));
    let (ending, world) = play(spec, entry, observers);
    let events = world.events();
    let ((writer, observer), judges) = world.into_observer();
    let (fingerprint, lines) = writer.finish().map_err(LabError::Write)?;
    let outcome = Outcome {
        ending,
        time: judges.properties.end(),
        events,
        trace_hash: fingerprint.to_string(),
        lines,
        summary: judges.summary(spec),
        messages: judges.messages.summary(),
        verdicts: judges.properties.verdicts(),
    };
    Ok((outcome, observer))
}

/// Runs an experiment for its verdicts alone, as fast as it goes.
pub(crate) fn judge<F: FamilyLab>(spec: &Spec<F>, entry: &'static F::Entry) -> (Vec<Verdict>, u64) {
    let (_, world) = play(spec, entry, F::properties(spec, entry, Care::Verdicts));
    let events = world.events();
    (world.into_observer().verdicts(), events)
}

fn play<F, O>(spec: &Spec<F>, entry: &'static F::Entry, observer: O) -> (Ending, World<F::Node, O>)
where
    F: FamilyLab,
    O: Observer<F::Command, F::Event>,
{
    let mut world = World::new(&spec.setup(), F::maker(spec, entry), observer);
    let random = spec.random_faults.draw(spec.seed, spec.nodes, F::fault_window(spec));
    for fault in spec.all_faults().cloned().chain(random).chain(F::own_faults(spec)) {
        world.schedule(fault);
    }
    let mut users = F::users(spec);
    world.start();
    let ending = run::run(&mut world, &mut users, F::limits(spec));
    (ending, world)
}

/// Everyone who counts, measures and judges a run, whether it happens or is read from a journal.
pub(crate) struct Judges<F: FamilyLab> {
    pub(crate) messages: Messages,
    measures: F::Measures,
    pub(crate) properties: F::Properties,
}

impl<F: FamilyLab> Judges<F> {
    pub(crate) fn new(spec: &Spec<F>, entry: &'static F::Entry) -> Self {
        Self {
            messages: Messages::new(spec.nodes),
            measures: F::measures(spec, entry),
            properties: F::properties(spec, entry, Care::Figures),
        }
    }

    pub(crate) fn summary(&self, spec: &Spec<F>) -> F::Summary {
        F::summary(spec, &self.messages, &self.measures, &self.properties)
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for Judges<F> {
    const SIZES: bool = true;

    fn foresee(&self, node: NodeId) {
        Observer::<F::Command, F::Event>::foresee(&self.messages, node);
        self.measures.foresee(node);
        self.properties.foresee(node);
    }

    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        Observer::<F::Command, F::Event>::observe(&mut self.messages, moment);
        self.measures.observe(moment);
        self.properties.observe(moment);
    }
}

pub(crate) fn header<F: FamilyLab>(spec: &Spec<F>) -> Result<Header, LabError> {
    Ok(Header {
        journal: FORMAT,
        algorithm: spec.algorithm.clone(),
        family: F::FAMILY.to_string(),
        nodes: spec.nodes,
        seed: spec.seed,
        found_by: None,
        run: spec.to_header()?,
    })
}
