//! One run: set up, run to its end, measured and judged.

use crate::error::LabError;
use crate::scripted::{Script, Users};
use crate::spec::Spec;
use quorate_core::mutex::{Command, Event, ServiceOrder};
use quorate_core::wrap::Reliable;
use quorate_core::{NodeId, Time};
use quorate_registry::{Entry, Erased, MutexNode};
use quorate_sim::World;
use quorate_sim::journal::{FORMAT, Header, Writer};
use quorate_sim::metrics::{MessageSummary, Messages};
use quorate_sim::moment::Observer;
use quorate_sim::mutex::{Expectations, Measures, MutexSummary, OrderWatch, Pattern, Properties, Requests};
use quorate_sim::property::{Kind, Verdict};
use quorate_sim::run::{self, Ending};
use std::io::{self, Write};

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
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
    /// Entries and delays.
    pub mutex: MutexSummary,
    /// What held and what did not.
    pub verdicts: Vec<Verdict>,
}

impl Outcome {
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
pub fn run(spec: &Spec) -> Result<Outcome, LabError> {
    run_with(spec, io::sink(), ()).map(|(outcome, ())| outcome)
}

/// Runs an experiment, writes its journal and shows it to one more observer.
pub fn run_with<O>(spec: &Spec, journal: impl Write, observer: O) -> Result<(Outcome, O), LabError>
where
    O: Observer<Command, Event>,
{
    let entry = spec.validate()?;
    let header = header(spec, entry)?;
    let observers = ((Writer::new(journal, &header), observer), (Messages::new(spec.nodes), judges(spec, entry)));
    let (ending, world) = play(spec, entry, observers);
    let events = world.events();
    let ((writer, observer), (messages, (measures, properties))) = world.into_observer();
    let (fingerprint, lines) = writer.finish().map_err(LabError::Write)?;
    let (unit, unit_name) = spec.delay_unit();
    let outcome = Outcome {
        ending,
        time: properties.end(),
        events,
        trace_hash: fingerprint.to_string(),
        lines,
        mutex: measures.summary(&messages, &properties, unit, unit_name),
        messages: messages.summary(),
        verdicts: properties.verdicts(),
    };
    Ok((outcome, observer))
}

/// Runs an experiment for its verdicts alone, as fast as it goes.
pub(crate) fn judge(spec: &Spec, entry: &'static Entry) -> (Vec<Verdict>, u64) {
    let (_, world) = play(spec, entry, properties(spec, entry, OrderWatch::Ignored));
    let events = world.events();
    (world.into_observer().verdicts(), events)
}

fn play<O>(spec: &Spec, entry: &'static Entry, observer: O) -> (Ending, World<MutexNode, O>)
where
    O: Observer<Command, Event>,
{
    let mut world = World::new(&spec.setup(), maker(spec, entry), observer);
    let window = spec.typical().times(4 * spec.entries.clamp(4, 1_000));
    let random = spec.random_faults.draw(spec.seed, spec.nodes, window);
    for fault in spec.all_faults().cloned().chain(random) {
        world.schedule(fault);
    }
    let mut users = match &spec.script {
        Some(script) if !script.commands.is_empty() => Users::Script(Script::new(script.commands.clone())),
        _ => Users::Workload(Box::new(Requests::new(spec.nodes, spec.seed, spec.demand()))),
    };
    world.start();
    let ending = run::run(&mut world, &mut users, spec.limits());
    (ending, world)
}

/// Makes nodes, with the reliable-link layer under them if the experiment wants it.
pub(crate) fn maker(spec: &Spec, entry: &'static Entry) -> impl Fn(NodeId) -> MutexNode + Send + Sync + 'static {
    let group = spec.group();
    let retransmission = spec.is_reliable().then(|| spec.retransmission());
    move |me| {
        let node = (entry.make)(me, group.clone());
        match retransmission {
            Some(retransmission) => Erased::new(Reliable::new(me, node, retransmission)),
            None => node,
        }
    }
}

/// What measures a run and what judges it.
pub(crate) fn judges(spec: &Spec, entry: &Entry) -> (Measures, Properties) {
    let keeper = (entry.facts.keeper)(&spec.group());
    let settled = spec.typical().times(2) + spec.processing.typical().times(2);
    (Measures::new(spec.nodes, keeper, settled), properties(spec, entry, OrderWatch::Counted))
}

/// The largest group whose order is watched: the vector clocks of all that is under way must fit in memory.
const MOST_ORDERED: usize = 256;

/// `order` is what is made of the order of requests where the algorithm does not promise it.
fn properties(spec: &Spec, entry: &Entry, order: OrderWatch) -> Properties {
    let scripted = spec.script.as_ref().is_some_and(|script| !script.commands.is_empty());
    let requesters = if spec.requesters.is_empty() { spec.nodes } else { spec.requesters.len() };
    let expects = Expectations {
        fences: entry.facts.fences,
        order: match entry.facts.order {
            _ if spec.nodes > MOST_ORDERED => OrderWatch::Ignored,
            ServiceOrder::HappenedBefore => OrderWatch::Promised,
            ServiceOrder::Arrival | ServiceOrder::None => order,
        },
        contention: !scripted && spec.workload != Pattern::Single && requesters > 1 && spec.entries > 1,
    };
    Properties::new(spec.nodes, expects)
}

pub(crate) fn header(spec: &Spec, entry: &Entry) -> Result<Header, LabError> {
    Ok(Header {
        journal: FORMAT,
        algorithm: spec.algorithm.clone(),
        family: entry.family().to_string(),
        nodes: spec.nodes,
        seed: spec.seed,
        found_by: None,
        run: serde_json::to_value(spec).map_err(|error| LabError::Header(error.to_string()))?,
    })
}
