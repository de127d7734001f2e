//! One run: set up, simulated to its end, measured and judged.

use crate::error::LabError;
use crate::family::{FamilyLab, Judge, JudgingLevel};
use crate::spec::Spec;
use quorate_core::{NodeId, Time};
use quorate_journal::metrics::{MessageCounts, MessageSummary};
use quorate_journal::moment::{Moment, ObservedInput, Observer, WorldEvent};
use quorate_journal::property::{PropertyKind, Verdict};
use quorate_journal::record::{FORMAT, Header, Writer};
use quorate_journal::settings::TimedFault;
use quorate_journal::workload::Ending;
use quorate_sim::World;
use quorate_sim::run;
use std::io::{self, Write};

/// The result of one run.
#[derive(Clone, Debug)]
pub struct Outcome<F: FamilyLab> {
    pub ending: Ending,
    /// Simulated time at the end.
    pub time: Time,
    /// Number of inputs that nodes consumed.
    pub inputs: u64,
    /// Fingerprint of the journal's bytes.
    pub journal_hash: String,
    pub journal_lines: u64,
    pub messages: MessageSummary,
    pub summary: F::Summary,
    pub verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Outcome<F> {
    /// Whether the run violated no property that a single run can judge.
    pub fn holds(&self) -> bool {
        self.violated_verdicts().next().is_none()
    }

    /// Whether the run was stopped before it could decide every liveness property.
    pub fn is_cut_short(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.kind == PropertyKind::Eventually && verdict.holds.is_none())
    }

    /// The violated properties, among those that a single run can judge.
    pub fn violated_verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| verdict.is_violated())
    }
}

/// Runs an experiment and judges it.
pub fn run<F: FamilyLab>(spec: &Spec<F>) -> Result<Outcome<F>, LabError> {
    run_with(spec, io::sink(), ()).map(|(outcome, ())| outcome)
}

/// Like [`run`](fn@run), but also writes the journal and passes every moment to `observer`.
pub fn run_with<F, O>(spec: &Spec<F>, mut journal: impl Write, mut observer: O) -> Result<(Outcome<F>, O), LabError>
where
    F: FamilyLab,
    O: Observer<F::Command, F::Event>,
{
    let outcome = run_dyn(spec, &mut journal, &mut observer)?;
    Ok((outcome, observer))
}

/// Like [`run_with`] with dynamic dispatch, so that the code is compiled once per family.
fn run_dyn<F: FamilyLab>(
    spec: &Spec<F>,
    journal: &mut dyn Write,
    observer: &mut dyn Observer<F::Command, F::Event>,
) -> Result<Outcome<F>, LabError> {
    spec.validate()?;
    let header = header(spec)?;
    let mut observers = ((Writer::new(journal, &header), observer), Judges::new(spec));
    let FinishedRun { ending, inputs, .. } = simulate_dyn(spec, &mut observers);
    let ((writer, _), judges) = observers;
    let (fingerprint, journal_lines) = writer.finish_with(Some(ending)).map_err(LabError::Write)?;
    Ok(Outcome {
        ending,
        time: judges.end,
        inputs,
        journal_hash: fingerprint.to_string(),
        journal_lines,
        summary: judges.summary(),
        messages: judges.messages.summary(),
        verdicts: judges.verdicts(spec.cut_short_reason(ending, inputs)),
    })
}

/// Runs an experiment for its verdicts only, as fast as possible. Also returns the number of
/// inputs.
pub(crate) fn judge<F: FamilyLab>(spec: &Spec<F>) -> (Vec<Verdict>, u64) {
    let run = simulate(spec, F::properties(spec, JudgingLevel::Verdicts));
    (mark_undecided(run.observer.verdicts(), spec.cut_short_reason(run.ending, run.inputs)), run.inputs)
}

/// Marks liveness verdicts as undecided if the run was cut short.
pub(crate) fn mark_undecided(verdicts: Vec<Verdict>, cut_short_reason: Option<String>) -> Vec<Verdict> {
    match cut_short_reason {
        Some(reason) => verdicts.into_iter().map(|verdict| verdict.of_stopped_run(&reason)).collect(),
        None => verdicts,
    }
}

/// The result of [`simulate`].
pub struct FinishedRun<O> {
    pub ending: Ending,
    pub inputs: u64,
    /// All faults of the run, including those that the clients injected.
    pub faults: Vec<TimedFault>,
    pub observer: O,
}

/// Runs an experiment with any observer, and judges nothing.
pub fn simulate<F, O>(spec: &Spec<F>, mut observer: O) -> FinishedRun<O>
where
    F: FamilyLab,
    O: Observer<F::Command, F::Event>,
{
    let FinishedRun { ending, inputs, faults, observer: () } = simulate_dyn(spec, &mut observer);
    FinishedRun { ending, inputs, faults, observer }
}

/// Like [`simulate`] with dynamic dispatch, so that the simulator is compiled once per family.
fn simulate_dyn<F: FamilyLab>(spec: &Spec<F>, observer: &mut dyn Observer<F::Command, F::Event>) -> FinishedRun<()> {
    let mut world = World::new(&spec.setup(), F::node_factory(spec), observer);
    spec.every_fault().into_iter().for_each(|fault| world.schedule_fault(fault));
    // The script's directions fix choices that would otherwise be random.
    world.set_directions(spec.directions());
    if let Some(views) = F::simulated_views(spec) {
        world.add_membership_service(&views, spec.seed);
    }
    if F::needs_crash_notices(spec) {
        world.enable_crash_notices(F::crash_notice_delay(spec));
    }
    let mut clients = F::clients(spec);
    world.start();
    let ending = run::run(&mut world, &mut clients, F::limits(spec));
    FinishedRun { ending, inputs: world.taken_inputs(), faults: world.scheduled_faults().to_vec(), observer: () }
}

/// The observers that count, measure and judge a run, whether it is simulated or read from a
/// journal.
pub(crate) struct Judges<F: FamilyLab> {
    spec: Spec<F>,
    pub(crate) messages: MessageCounts,
    measures: F::Measures,
    properties: F::Properties,
    inputs: u64,
    end: Time,
    /// The results before the first orderly stop of a node, if no node has started since.
    results_before_stop: Option<ResultsBeforeStop<F>>,
}

/// Results before the group shuts down.
struct ResultsBeforeStop<F: FamilyLab> {
    summary: F::Summary,
    verdicts: Vec<Verdict>,
}

impl<F: FamilyLab> Judges<F> {
    pub(crate) fn new(spec: &Spec<F>) -> Self {
        Self {
            spec: spec.clone(),
            messages: MessageCounts::with_medium(F::medium(spec), spec.nodes),
            measures: F::measures(spec),
            properties: F::properties(spec, JudgingLevel::Figures),
            inputs: 0,
            end: Time::ZERO,
            results_before_stop: None,
        }
    }

    pub(crate) fn summary(&self) -> F::Summary {
        self.results_before_stop.as_ref().map_or_else(|| self.current_summary(), |results| results.summary.clone())
    }

    /// Returns the verdicts at the end of the run. `cut_short_reason` tells why the run cannot
    /// decide liveness properties, if it cannot. An `eventually` property must hold before the
    /// group shuts down; an `always` property must hold until the last node has stopped.
    pub(crate) fn verdicts(&self, cut_short_reason: Option<String>) -> Vec<Verdict> {
        let mut verdicts = self.properties.verdicts();
        for before in self.results_before_stop.iter().flat_map(|results| &results.verdicts) {
            if before.kind == PropertyKind::Eventually
                && let Some(verdict) = verdicts.iter_mut().find(|verdict| verdict.name == before.name)
            {
                *verdict = before.clone();
            }
        }
        mark_undecided(verdicts, cut_short_reason)
    }

    pub(crate) fn inputs(&self) -> u64 {
        self.inputs
    }

    fn current_summary(&self) -> F::Summary {
        F::summary(&self.spec, &self.messages, &self.measures, &self.properties)
    }

    /// Saves the results at the first orderly stop of a node, and discards them when a node starts.
    fn record_stop(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        match moment {
            Moment::World { event: WorldEvent::Ended { .. }, .. } if self.results_before_stop.is_none() => {
                let (summary, verdicts) = (self.current_summary(), self.properties.verdicts());
                self.results_before_stop = Some(ResultsBeforeStop { summary, verdicts });
            }
            Moment::Input { input: ObservedInput::Start { .. }, .. } => self.results_before_stop = None,
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for Judges<F> {
    fn reads_sizes(&self) -> bool {
        true
    }

    fn prefetch(&self, node: NodeId) {
        Observer::<F::Command, F::Event>::prefetch(&self.messages, node);
        self.measures.prefetch(node);
        self.properties.prefetch(node);
    }

    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        self.record_stop(moment);
        self.end = moment.time();
        self.inputs += u64::from(matches!(moment, Moment::Input { .. }));
        Observer::<F::Command, F::Event>::observe(&mut self.messages, moment);
        self.measures.observe(moment);
        self.properties.observe(moment);
    }
}

/// Returns the first line of the journal of a run of this experiment.
pub fn header<F: FamilyLab>(spec: &Spec<F>) -> Result<Header, LabError> {
    Ok(Header {
        journal: FORMAT,
        algorithm: spec.algorithm.to_string(),
        family: F::FAMILY.to_string(),
        nodes: spec.nodes,
        seed: spec.seed,
        found_by: None,
        // Set when the journals of real processes are gathered into one.
        recorded: false,
        origin: 0,
        live: None,
        run: spec.to_header()?,
    })
}
