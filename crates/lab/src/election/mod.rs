//! The election family in the lab.

mod algorithms;
mod assumptions;
pub mod check;
mod compare;
mod detector;
mod entry;
mod error;
mod flags;
mod options;
mod present;
mod regions;
pub mod run;
mod storms;
pub mod survey;
mod upheaval;
mod weather;

pub use detector::Detector;
pub use entry::{ElectionEntry, ElectionNode};
pub use error::ElectionError;
pub use options::ElectionArgs;
pub use regions::overlay;

use crate::check::CheckTask;
use crate::election::run::{
    Attribute, Campaigns, ElectionSummary, Expectation, Measures, Properties, Seating, Starters,
};
use crate::error::LabError;
use crate::family::{Care, FamilyTypes, Judge, JudgeFamily, RunFamily, ScriptFamily};
use crate::flag::Flags;
use crate::registry::{Entry, Family};
use crate::spec::Spec;
use crate::typed::unheard;
use quorate_core::about::Profile;
use quorate_core::election::{
    Announce, COMMANDS, Command, Courtesy, Event, Links, Model, Plan, Prefer, Repair, Ring, Shape, Splits, Tenure,
};
use quorate_core::{Bounds, Duration, Group, NodeId, Time};
use quorate_erased::AnyCodec;
use quorate_journal::metrics::Messages;
use quorate_journal::property::Verdict;
use quorate_journal::settings::{Fault, Length, Level, TimedFault};
use quorate_sim::run::Limits;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// One node is chosen, and everyone learns which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {}

/// Who starts, and how the group elects. Journals of earlier versions say no more than who starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Who starts, at the very beginning.
    pub starters: Starters,
    /// How nodes sit round the ring.
    #[serde(default)]
    pub order: Seating,
    /// What is compared.
    #[serde(default)]
    pub attribute: Attribute,
    /// Which end of the order wins.
    #[serde(default)]
    pub prefer: Prefer,
    /// How a winner on a ring is made known.
    #[serde(default)]
    pub announce: Announce,
    /// How an election on a ring gets over a crash.
    #[serde(default)]
    pub repair: Repair,
    /// Whether a bully tells lower nodes that an election is under way.
    #[serde(default)]
    pub tell_lower: bool,
    /// Whether a bully that has won tells everyone.
    #[serde(default)]
    pub broadcast: bool,
    /// For how long a vote binds, where leaders lead by leases; some twenty round trips unless given.
    #[serde(default)]
    pub lease: Option<Length>,
    /// By how much clocks are off at most, in millionths, as far as nodes are told; one in a thousand unless given.
    #[serde(default)]
    pub drift_ppm: Option<u32>,
    /// How many nodes crash and come back, at most, while more than half of the group stays up.
    #[serde(default)]
    pub upheaval: u64,
    /// Who tells nodes that another one is dead.
    #[serde(default)]
    pub detector: Detector,
    /// From one heartbeat to the next; ten message times unless given.
    #[serde(default)]
    pub heartbeat: Option<Length>,
    /// For how long a node may be silent by a fixed bound; a heartbeat and what may delay it unless given.
    #[serde(default)]
    pub silence: Option<Length>,
    /// At which level of suspicion an accrual detector takes a node for dead; 8 unless given.
    #[serde(default)]
    pub threshold: Option<Level>,
    /// How many bits ids have, in an overlay; 32 unless given.
    #[serde(default)]
    pub id_bits: Option<u32>,
    /// How many of them name a region that has its own leader; 3 unless given.
    #[serde(default)]
    pub reserved_bits: Option<u32>,
    /// How many others a leader of a region may have to serve: as few bits name a region as keep that bound.
    #[serde(default)]
    pub load_bound: Option<usize>,
}

/// In message times: faults that the seed chooses begin while leaders are elected and miss their first heartbeats.
const FAULT_WINDOW: u64 = 200;

/// In message times: whoever has no leader so long after the last fault will never have one. Candidates who try again and
/// again would go on for ever.
const PATIENCE: u64 = 20_000;

/// In message times for each node: nothing takes longer on a ring, run after run.
const ROUNDS: u64 = 40;

/// In message times: how long a leader whom everyone knows is watched, if its heartbeats never end.
const SETTLE: u64 = 20;

/// In heartbeats: for how much longer it is watched whether anybody is suspected all the same.
const BEATS: u64 = 5;

impl FamilyTypes for Election {
    const FAMILY: Family = Family::Election;

    type Entry = ElectionEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;

    fn entry(entry: &'static Entry) -> Option<&'static ElectionEntry> {
        let Entry::Election(entry) = entry else { return None };
        Some(entry)
    }

    fn algorithms() -> Vec<ElectionEntry> {
        algorithms::algorithms()
    }

    fn fixtures() -> Vec<ElectionEntry> {
        algorithms::fixtures()
    }

    fn profile(entry: &ElectionEntry) -> &'static Profile {
        &entry.facts.profile
    }

    fn codec_of(entry: &ElectionEntry) -> AnyCodec {
        entry.codec.clone()
    }
}

impl RunFamily for Election {
    type Users = Campaigns;

    fn codec(spec: &Spec<Self>) -> AnyCodec {
        let codec = spec.algorithm.codec.clone();
        if spec.settings.detector.beats() { codec.watched() } else { codec }
    }

    fn copes_with_loss(spec: &Spec<Self>) -> bool {
        spec.algorithm.facts.tolerates_loss
    }

    fn needs_fifo(entry: &ElectionEntry) -> bool {
        entry.facts.links == Links::Fifo
    }

    fn needs_bounds(entry: &ElectionEntry) -> bool {
        entry.facts.model == Model::Synchronous
    }

    fn hears_of_deaths(spec: &Spec<Self>) -> bool {
        let Settings { repair, detector, .. } = &spec.settings;
        let listens = |entry: &ElectionEntry| match entry.facts.shape {
            Shape::Ring => *repair == Repair::Detector,
            Shape::Bully | Shape::Groups | Shape::Regions => true,
            Shape::Votes => false,
        };
        *detector == Detector::Oracle && listens(&spec.algorithm)
    }

    fn validate(spec: &Spec<Self>) -> Result<(), LabError> {
        own_options(&spec.settings, spec.algorithm.entry())?;
        let Plan { tenure, bounds, .. } = plan(spec);
        if spec.algorithm.facts.leases && tenure.trusted() <= bounds.answer() {
            return Err(ElectionError::LeaseTooShort {
                trusted: Length(tenure.trusted()),
                answer: Length(bounds.answer()),
            }
            .into());
        }
        if let Starters::Named(named) = &spec.settings.starters
            && !spec.is_scripted()
            && named.iter().all(|node| absent(spec).contains(node))
        {
            return Err(ElectionError::NobodyStarts { starters: named.to_string() }.into());
        }
        detector::validate(spec)?;
        let Settings { order, attribute, .. } = &spec.settings;
        if order.ring(spec.nodes, spec.seed).is_none() {
            return Err(ElectionError::NoSuchOrder { order: order.to_string(), nodes: spec.nodes }.into());
        }
        regions::check(spec)?;
        if let Attribute::Given(given) = attribute
            && given.len() != spec.nodes
        {
            return Err(ElectionError::NotEveryAttribute { given: given.len(), nodes: spec.nodes }.into());
        }
        let Starters::Named(named) = &spec.settings.starters else { return Ok(()) };
        match named.highest() {
            Some(node) if node.index() >= spec.nodes => {
                Err(ElectionError::NoSuchStarter { node, nodes: spec.nodes }.into())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn maker(spec: &Spec<Self>) -> impl Fn(NodeId) -> ElectionNode + Send + Sync + 'static + use<> {
        let plan = Arc::new(plan(spec));
        let algorithm = spec.algorithm;
        detector::watched(spec, spec.linked(move |me| (algorithm.make)(me, &plan)))
    }

    fn calm(settings: &Settings) -> Settings {
        Settings { upheaval: 0, ..settings.clone() }
    }

    fn users(spec: &Spec<Self>) -> Campaigns {
        let users = match &spec.script {
            Some(script) if !script.commands.is_empty() => Campaigns::scripted(spec.nodes, script.commands.clone()),
            Some(_) | None => {
                let Plan { ring, ranking, .. } = plan(spec);
                Campaigns::new(spec.settings.starters.clone(), ring, ranking, notice(spec))
            }
        };
        let users = if spec.settings.detector == Detector::Oracle { users } else { users.oblivious() };
        // Word of the last fault is still under way when it is over.
        let late = if Self::hears_of_deaths(spec) { notice(spec) } else { Duration::ZERO };
        users.not_before(spec.faults_end().map(|end| end + late)).expecting(expectation(spec))
    }

    fn fault_window(spec: &Spec<Self>) -> Duration {
        spec.typical().times(FAULT_WINDOW)
    }

    fn own_faults(spec: &Spec<Self>) -> Vec<TimedFault> {
        upheaval::draw(spec)
    }

    fn weather(entry: &'static ElectionEntry) -> Vec<Spec<Self>> {
        if entry.facts.leases { storms::weather(entry) } else { weather::weather(entry) }
    }

    fn limits(spec: &Spec<Self>) -> Limits {
        let usual = spec.usual_limits();
        let calm = spec.faults_end().unwrap_or(Time::ZERO);
        let nodes = spec.nodes as u64;
        let until = usual.until.or(Some(calm + spec.typical().times(PATIENCE.max(ROUNDS * nodes))));
        let facts = spec.algorithm.facts;
        let checks = facts.shape == Shape::Groups && spec.is_calm();
        let is_restless = facts.leases || checks || spec.settings.detector.beats();
        let settle = if is_restless { SETTLE } else { SETTLE.max(ROUNDS * nodes) };
        Limits { until, settle: spec.typical().times(settle) + detector::period(spec).times(BEATS), ..usual }
    }

    fn as_checked<T: CheckTask>(task: T) -> Option<T::Output> {
        Some(task.perform::<Self>())
    }
}

impl ScriptFamily for Election {
    const COMMANDS: &'static [&'static str] = &[Command::Campaign.name(), Command::Resign.name()];
    const STANDS: Option<&'static str> = Some(Command::Campaign.name());

    fn in_words(words: &[&str], _node: NodeId, _number: u64) -> Result<Command, String> {
        let known = |word: &str| COMMANDS.into_iter().find(|command| command.name().eq_ignore_ascii_case(word));
        let command = if let [word] = words { known(word) } else { None };
        command.ok_or_else(|| unheard(words, Self::COMMANDS, "campaign or resign"))
    }

    fn in_script(command: &Command) -> Option<Cow<'static, str>> {
        Some(command.name().into())
    }

    fn scripted(settings: &Settings) -> Settings {
        Settings { starters: Starters::default(), ..settings.clone() }
    }

    fn smaller(spec: &Spec<Self>) -> Vec<Spec<Self>> {
        let own = &spec.settings;
        let alone = Settings { starters: Starters::Lowest, ..own.clone() };
        let in_order = Settings { order: Seating::Numbers, attribute: Attribute::Id, ..own.clone() };
        let calmer = Settings { upheaval: own.upheaval.saturating_sub(1), ..own.clone() };
        let all = [alone, in_order, calmer].into_iter().filter(|settings| settings != own);
        all.map(|settings| Spec { settings, ..spec.clone() }).collect()
    }

    fn flags(spec: &Spec<Self>) -> Flags {
        flags::flags(spec)
    }
}

impl JudgeFamily for Election {
    type Measures = Measures;
    type Properties = Properties;
    type Summary = ElectionSummary;

    fn broken_assumptions(spec: &Spec<Self>) -> Vec<&'static str> {
        assumptions::broken(spec, spec.algorithm.entry())
    }

    fn measures(spec: &Spec<Self>) -> Measures {
        let measures = Measures::new(spec.nodes).expecting(expected_of(spec.algorithm.entry()));
        match spec.algorithm.facts.shape {
            Shape::Regions => measures.among(overlay(spec)),
            Shape::Ring | Shape::Bully | Shape::Groups | Shape::Votes => measures,
        }
    }

    fn properties(spec: &Spec<Self>, _care: Care) -> Properties {
        let contest = !spec.is_scripted() && spec.settings.starters.may_be_several(spec.nodes);
        Properties::new(spec.nodes, contest)
            .with_leases(spec.algorithm.facts.leases)
            .expecting(expected_of(spec.algorithm.entry()))
    }

    fn summary(
        spec: &Spec<Self>,
        _messages: &Messages,
        measures: &Measures,
        _properties: &Properties,
    ) -> ElectionSummary {
        let (unit, unit_name) = spec.delay_unit();
        measures.summary(unit, unit_name)
    }
}

impl Judge<Command, Event> for Properties {
    fn verdicts(&self) -> Vec<Verdict> {
        self.verdicts()
    }

    fn end(&self) -> Time {
        self.end()
    }
}

/// A dead leader is missed when two messages that should have been answered were not.
fn notice(spec: &Spec<Election>) -> Duration {
    let Bounds { message, processing } = spec.surroundings().bounds;
    (message + processing).times(4)
}

/// An option that means nothing to an algorithm is a mistake that somebody wants to hear of.
fn own_options(settings: &Settings, entry: &ElectionEntry) -> Result<(), LabError> {
    let usual = Settings::default();
    let facts = entry.facts;
    let (on_ring, bullies) = (facts.shape == Shape::Ring, facts.shape == Shape::Bully);
    let (ring, bully, lease, rank) = ("on a ring", "like bully", "by leases", "that compare ranks");
    let ranks = facts.shape != Shape::Votes || facts.leases;
    let options = [
        ("order", on_ring, settings.order == usual.order, ring),
        ("attribute", ranks, settings.attribute == usual.attribute, rank),
        ("prefer", ranks, settings.prefer == usual.prefer, rank),
        ("announce", on_ring, settings.announce == usual.announce, ring),
        ("repair", on_ring, settings.repair == usual.repair, ring),
        ("tell-lower", bullies, settings.tell_lower == usual.tell_lower, bully),
        ("broadcast", bullies, settings.broadcast == usual.broadcast, bully),
        ("master-lease", facts.leases, settings.lease == usual.lease, lease),
        ("master-drift-bound", facts.leases, settings.drift_ppm == usual.drift_ppm, lease),
    ];
    let foreign = options.into_iter().find(|(_, is_own, is_usual, _)| !is_own && !is_usual);
    foreign.map_or(Ok(()), |(option, _, _, of)| {
        Err(ElectionError::ForeignOption { option, name: facts.profile.name, of }.into())
    })
}

/// What the nodes of an experiment are told.
pub fn plan(spec: &Spec<Election>) -> Plan {
    let Settings { order, attribute, prefer, announce, repair, tell_lower, broadcast, lease, drift_ppm, .. } =
        &spec.settings;
    let bounds = spec.surroundings().bounds;
    let usual = Tenure::usual(&bounds);
    Plan {
        ring: order.ring(spec.nodes, spec.seed).unwrap_or(Ring::of_size(spec.nodes)),
        ranking: attribute.ranking(spec.nodes, spec.seed, *prefer),
        absent: absent(spec),
        announce: *announce,
        repair: *repair,
        courtesy: Courtesy { tell_lower: *tell_lower, broadcast: *broadcast },
        tenure: Tenure {
            lease: lease.map_or(usual.lease, |Length(lease)| lease),
            drift_ppm: drift_ppm.unwrap_or(usual.drift_ppm),
        },
        overlay: overlay(spec),
        seed: spec.seed,
        ..Plan::new(spec.nodes, bounds)
    }
}

/// What a group that elects like this comes to.
pub(crate) fn expected_of(entry: &ElectionEntry) -> Expectation {
    match entry.facts.splits {
        Splits::Never | Splits::WhileCut => Expectation::OneForAll,
        Splits::ByDesign => Expectation::OneForEach,
    }
}

fn expectation(spec: &Spec<Election>) -> Expectation {
    expected_of(&spec.algorithm)
}

/// Who is down before anything happens.
pub fn absent(spec: &Spec<Election>) -> Group {
    let at_once = spec.all_faults().filter(|timed| timed.at == Duration::ZERO);
    let crashes = at_once.filter_map(|timed| match timed.fault {
        Fault::Crash { node, .. } => Some(node),
        _ => None,
    });
    crashes.collect()
}
