//! One run: set up, run to its end, measured and judged.

use crate::error::LabError;
use crate::family::{Care, FamilyLab, Judge};
use crate::spec::Spec;
use quorate_core::{NodeId, Time};
use quorate_journal::metrics::{MessageSummary, Messages};
use quorate_journal::moment::{Happening, Moment, Observer, Taken};
use quorate_journal::property::{Kind, Verdict};
use quorate_journal::record::{FORMAT, Header, Writer};
use quorate_journal::workload::Ending;
use quorate_sim::World;
use quorate_sim::run;
use std::io::{self, Write};

#[derive(Clone, Debug)]
pub struct Outcome<F: FamilyLab> {
    pub ending: Ending,
    pub time: Time,
    /// How many inputs nodes took.
    pub events: u64,
    /// The fingerprint of the whole journal, byte for byte.
    pub trace_hash: String,
    pub lines: u64,
    pub messages: MessageSummary,
    pub summary: F::Summary,
    pub verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Outcome<F> {
    /// Whether every property that one run can judge holds.
    pub fn holds(&self) -> bool {
        self.breaches().next().is_none()
    }

    /// Whether the run was stopped before it could say what happens in the end.
    pub fn is_cut_short(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.kind == Kind::Eventually && verdict.holds.is_none())
    }

    /// The properties that one run can judge and that do not hold.
    pub fn breaches(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| verdict.is_breach())
    }
}

pub fn run<F: FamilyLab>(spec: &Spec<F>) -> Result<Outcome<F>, LabError> {
    run_with(spec, io::sink(), ()).map(|(outcome, ())| outcome)
}

/// Runs an experiment, writes its journal and shows it to one more observer.
pub fn run_with<F, O>(spec: &Spec<F>, mut journal: impl Write, mut observer: O) -> Result<(Outcome<F>, O), LabError>
where
    F: FamilyLab,
    O: Observer<F::Command, F::Event>,
{
    let outcome = run_before(spec, &mut journal, &mut observer)?;
    Ok((outcome, observer))
}

/// The same with a journal and an observer of any type, so that it is compiled once a family.
fn run_before<F: FamilyLab>(
    spec: &Spec<F>,
    journal: &mut dyn Write,
    observer: &mut dyn Observer<F::Command, F::Event>,
) -> Result<Outcome<F>, LabError> {
    spec.validate()?;
    let header = header(spec)?;
    let mut observers = ((Writer::new(journal, &header), observer), Judges::new(spec));
    let (ending, events) = play_before(spec, &mut observers);
    let ((writer, _), judges) = observers;
    let (fingerprint, lines) = writer.finish_with(Some(ending)).map_err(LabError::Write)?;
    Ok(Outcome {
        ending,
        time: judges.end,
        events,
        trace_hash: fingerprint.to_string(),
        lines,
        summary: judges.summary(),
        messages: judges.messages.summary(),
        verdicts: judges.verdicts(spec.cut_short(ending, events)),
    })
}

/// Runs an experiment for its verdicts alone, as fast as it goes.
pub(crate) fn judge<F: FamilyLab>(spec: &Spec<F>) -> (Vec<Verdict>, u64) {
    let played = play(spec, F::properties(spec, Care::Verdicts));
    (decided(played.observer.verdicts(), spec.cut_short(played.ending, played.events)), played.events)
}

/// The verdicts of a run, which cannot say what would have happened in the end if it was cut short before.
pub(crate) fn decided(verdicts: Vec<Verdict>, cut_short: Option<String>) -> Vec<Verdict> {
    match cut_short {
        Some(why) => verdicts.into_iter().map(|verdict| verdict.of_stopped_run(&why)).collect(),
        None => verdicts,
    }
}

pub struct Played<O> {
    pub ending: Ending,
    pub events: u64,
    pub observer: O,
}

/// Runs an experiment before any observer, and judges nothing.
pub fn play<F, O>(spec: &Spec<F>, mut observer: O) -> Played<O>
where
    F: FamilyLab,
    O: Observer<F::Command, F::Event>,
{
    let (ending, events) = play_before(spec, &mut observer);
    Played { ending, events, observer }
}

/// The same before an observer of any type, so that a world is compiled once a family.
fn play_before<F: FamilyLab>(spec: &Spec<F>, observer: &mut dyn Observer<F::Command, F::Event>) -> (Ending, u64) {
    let mut world = World::new(&spec.setup(), F::maker(spec), observer);
    spec.every_fault().into_iter().for_each(|fault| world.schedule(fault));
    world.direct(spec.directions());
    if let Some(views) = F::views(spec) {
        world.keep_views(&views, spec.seed);
    }
    if F::hears_of_deaths(spec) {
        world.tell_deaths();
    }
    let mut users = F::users(spec);
    world.start();
    let ending = run::run(&mut world, &mut users, F::limits(spec));
    (ending, world.events())
}

/// Everyone who counts, measures and judges a run, whether it happens or is read from a journal.
pub(crate) struct Judges<F: FamilyLab> {
    spec: Spec<F>,
    pub(crate) messages: Messages,
    measures: F::Measures,
    properties: F::Properties,
    events: u64,
    end: Time,
    /// How it stood before the first node was stopped in good order, if none started since.
    stopped: Option<Stand<F>>,
}

struct Stand<F: FamilyLab> {
    summary: F::Summary,
    verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Judges<F> {
    pub(crate) fn new(spec: &Spec<F>) -> Self {
        Self {
            spec: spec.clone(),
            messages: Messages::on(F::medium(spec), spec.nodes),
            measures: F::measures(spec),
            properties: F::properties(spec, Care::Figures),
            events: 0,
            end: Time::ZERO,
            stopped: None,
        }
    }

    pub(crate) fn summary(&self) -> F::Summary {
        self.stopped.as_ref().map_or_else(|| self.present_summary(), |stand| stand.summary.clone())
    }

    /// The verdicts at the end of the run, and if it was cut short, why. What must hold in the end must hold before the group is taken apart; what must
    /// always hold, until its last node is gone.
    pub(crate) fn verdicts(&self, cut_short: Option<String>) -> Vec<Verdict> {
        let mut verdicts = self.properties.verdicts();
        for before in self.stopped.iter().flat_map(|stand| &stand.verdicts) {
            if before.kind == Kind::Eventually
                && let Some(verdict) = verdicts.iter_mut().find(|verdict| verdict.name == before.name)
            {
                *verdict = before.clone();
            }
        }
        decided(verdicts, cut_short)
    }

    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    fn present_summary(&self) -> F::Summary {
        F::summary(&self.spec, &self.messages, &self.measures, &self.properties)
    }

    fn note_stops(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        match moment {
            Moment::World { what: Happening::Ended { .. }, .. } if self.stopped.is_none() => {
                let (summary, verdicts) = (self.present_summary(), self.properties.verdicts());
                self.stopped = Some(Stand { summary, verdicts });
            }
            Moment::Input { input: Taken::Start { .. }, .. } => self.stopped = None,
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for Judges<F> {
    fn reads_sizes(&self) -> bool {
        true
    }

    fn foresee(&self, node: NodeId) {
        Observer::<F::Command, F::Event>::foresee(&self.messages, node);
        self.measures.foresee(node);
        self.properties.foresee(node);
    }

    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        self.note_stops(moment);
        self.end = moment.time();
        self.events += u64::from(matches!(moment, Moment::Input { .. }));
        Observer::<F::Command, F::Event>::observe(&mut self.messages, moment);
        self.measures.observe(moment);
        self.properties.observe(moment);
    }
}

/// The first line of a journal of such a run.
pub fn header<F: FamilyLab>(spec: &Spec<F>) -> Result<Header, LabError> {
    Ok(Header {
        journal: FORMAT,
        algorithm: spec.algorithm.to_string(),
        family: F::FAMILY.to_string(),
        nodes: spec.nodes,
        seed: spec.seed,
        found_by: None,
        recorded: false,
        origin: 0,
        live: None,
        run: spec.to_header()?,
    })
}
