//! One run: set up, run to its end, measured and judged.

use crate::error::LabError;
use crate::family::{Care, FamilyLab, Judge};
use crate::spec::Spec;
use quorate_core::{NodeId, Time};
use quorate_sim::World;
use quorate_sim::journal::{FORMAT, Header, Writer};
use quorate_sim::metrics::{MessageSummary, Messages};
use quorate_sim::moment::{Happening, Moment, Observer, Taken};
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
    let Played { ending, events, observer: ((writer, observer), judges) } = play(spec, entry, observers);
    let (fingerprint, lines) = writer.finish().map_err(LabError::Write)?;
    let outcome = Outcome {
        ending,
        time: judges.end(),
        events,
        trace_hash: fingerprint.to_string(),
        lines,
        summary: judges.summary(),
        messages: judges.messages.summary(),
        verdicts: judges.verdicts(),
    };
    Ok((outcome, observer))
}

/// Runs an experiment for its verdicts alone, as fast as it goes.
pub(crate) fn judge<F: FamilyLab>(spec: &Spec<F>, entry: &'static F::Entry) -> (Vec<Verdict>, u64) {
    let played = play(spec, entry, F::properties(spec, entry, Care::Verdicts));
    (played.observer.verdicts(), played.events)
}

/// A run that somebody watched.
pub struct Played<O> {
    /// How it ended.
    pub ending: Ending,
    /// How many inputs nodes took.
    pub events: u64,
    /// What the observer knows now.
    pub observer: O,
}

/// Runs an experiment before any observer, and judges nothing.
pub fn play<F, O>(spec: &Spec<F>, entry: &'static F::Entry, mut observer: O) -> Played<O>
where
    F: FamilyLab,
    O: Observer<F::Command, F::Event>,
{
    let (ending, events) = play_before(spec, entry, &mut observer);
    Played { ending, events, observer }
}

/// The same before an observer of any type, so that a world is compiled once a family.
fn play_before<F: FamilyLab>(
    spec: &Spec<F>,
    entry: &'static F::Entry,
    observer: &mut dyn Observer<F::Command, F::Event>,
) -> (Ending, u64) {
    let mut world = World::new(&spec.setup(), F::maker(spec, entry), observer);
    let random = spec.random_faults.draw(spec.seed, spec.nodes, F::fault_window(spec));
    for fault in spec.all_faults().cloned().chain(random).chain(F::own_faults(spec)) {
        world.schedule(fault);
    }
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
    /// How it stood before the first node was stopped in good order, if none started since.
    stopped: Option<Stand<F>>,
}

/// What a run came to so far.
struct Stand<F: FamilyLab> {
    summary: F::Summary,
    verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Judges<F> {
    pub(crate) fn new(spec: &Spec<F>, entry: &'static F::Entry) -> Self {
        Self {
            spec: spec.clone(),
            messages: Messages::on(F::medium(spec, entry), spec.nodes),
            measures: F::measures(spec, entry),
            properties: F::properties(spec, entry, Care::Figures),
            stopped: None,
        }
    }

    /// The figures at the end of the run.
    pub(crate) fn summary(&self) -> F::Summary {
        self.stopped.as_ref().map_or_else(|| self.present_summary(), |stand| stand.summary.clone())
    }

    /// The verdicts at the end of the run. What must hold in the end must hold before the group is taken apart; what must
    /// always hold, until its last node is gone.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = self.properties.verdicts();
        for before in self.stopped.iter().flat_map(|stand| &stand.verdicts) {
            if before.kind == Kind::Eventually
                && let Some(verdict) = verdicts.iter_mut().find(|verdict| verdict.name == before.name)
            {
                *verdict = before.clone();
            }
        }
        verdicts
    }

    /// When the last thing happened.
    pub(crate) fn end(&self) -> Time {
        self.properties.end()
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
        Observer::<F::Command, F::Event>::observe(&mut self.messages, moment);
        self.measures.observe(moment);
        self.properties.observe(moment);
    }
}

/// The first line of a journal of such a run.
pub fn header<F: FamilyLab>(spec: &Spec<F>) -> Result<Header, LabError> {
    Ok(Header {
        journal: FORMAT,
        algorithm: spec.algorithm.clone(),
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
