//! The election family in the lab.

mod algorithms;
mod assumptions;
pub mod check;
mod compare;
mod detector;
mod error;
mod lease_stress;
mod options;
mod outages;
mod present;
mod regions;
pub mod run;
mod stress;
pub mod survey;

pub use algorithms::{ElectionEntry, ElectionNode};
pub use detector::Detector;
pub use error::ElectionError;
pub use options::ElectionArgs;
pub use regions::overlay;

use crate::check::CheckTask;
use crate::election::run::{
    Attribute, Campaigns, ElectionSummary, Expectation, Measures, Properties, RingOrder, Starters,
};
use crate::error::LabError;
use crate::family::{Judge, JudgeFamily, JudgingLevel, RunFamily, ScriptFamily};
use crate::flag::{FlagPosition, Flags};
use crate::spec::{Spec, option_value};
use crate::typed::invalid_command;
use quorate_core::election::{
    AnnouncementMode, BullyOptions, COMMANDS, Command, Event, LeaseSettings, Links, Model, Plan, Preference, Repair,
    Ring, Splits, Structure,
};
use quorate_core::{Bounds, Duration, Group, NodeId, Time};
use quorate_erased::AnyCodec;
use quorate_journal::metrics::MessageCounts;
use quorate_journal::property::Verdict;
use quorate_journal::settings::{Fault, Length, Level, TimedFault};
use quorate_sim::run::Limits;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The family of leader elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {}

/// Which nodes start elections, and how the group elects. [`ElectionArgs`] describes each setting
/// and its default. Journals of earlier versions have only `starters`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub starters: Starters,
    #[serde(default)]
    pub order: RingOrder,
    #[serde(default)]
    pub attribute: Attribute,
    #[serde(default)]
    pub prefer: Preference,
    #[serde(default)]
    pub announce: AnnouncementMode,
    #[serde(default)]
    pub repair: Repair,
    /// Whether bully nodes notify lower nodes of a running election.
    #[serde(default)]
    pub tell_lower: bool,
    /// Whether a bully node that has won notifies all nodes, including higher ones.
    #[serde(default)]
    pub broadcast: bool,
    /// Duration for which a vote for a leader binds the voter.
    #[serde(default)]
    pub lease: Option<Length>,
    #[serde(default)]
    pub drift_ppm: Option<u32>,
    /// Number of crashes with restarts that the seed chooses.
    #[serde(default)]
    #[serde(rename = "upheaval")]
    pub crashes: u64,
    #[serde(default)]
    pub detector: Detector,
    /// Interval between heartbeats.
    #[serde(default)]
    pub heartbeat: Option<Length>,
    /// Silence after which the heartbeat detector suspects a node.
    #[serde(default)]
    pub silence: Option<Length>,
    /// Suspicion level at which the accrual detector suspects a node.
    #[serde(default)]
    pub threshold: Option<Level>,
    #[serde(default)]
    pub id_bits: Option<u32>,
    /// Number of id bits that identify a region.
    #[serde(default)]
    pub reserved_bits: Option<u32>,
    /// Maximum number of nodes that a super-peer serves.
    #[serde(default)]
    pub load_bound: Option<usize>,
}

/// The period in which seed-chosen faults begin, in message times: about the time in which the
/// group elects leaders and they send their first heartbeats.
const FAULT_WINDOW: u64 = 200;

/// A run without a time limit ends at the latest this long after its last fault, in message times;
/// in a large group, later. Otherwise candidates that retry could continue forever.
const MAX_TIME_AFTER_FAULTS: u64 = 20_000;

/// Maximum number of crashes that `--churn` accepts. Each is followed by a restart.
const MAX_CRASHES: u64 = 100_000;

/// Upper bound on the duration of an election on a ring, in message times per node.
const ELECTION_BOUND_PER_NODE: u64 = 40;

/// Time for which a run continues after all nodes know the leader, in message times, if nodes never
/// stop sending messages such as heartbeats.
const SETTLING_TIME: u64 = 20;

/// Time added to `SETTLING_TIME`, in heartbeat intervals, to detect wrong suspicions.
const SETTLING_HEARTBEATS: u64 = 5;

impl RunFamily for Election {
    type Clients = Campaigns;

    fn codec(spec: &Spec<Self>) -> AnyCodec {
        let codec = spec.algorithm.codec.clone();
        if spec.settings.detector.sends_heartbeats() { codec.with_failure_detector() } else { codec }
    }

    fn tolerates_loss(spec: &Spec<Self>) -> bool {
        spec.algorithm.facts.tolerates_loss
    }

    fn needs_fifo(entry: &ElectionEntry) -> bool {
        entry.facts.links == Links::Fifo
    }

    fn needs_bounds(entry: &ElectionEntry) -> bool {
        entry.facts.model == Model::Synchronous
    }

    fn needs_crash_notices(spec: &Spec<Self>) -> bool {
        let Settings { repair, detector, .. } = &spec.settings;
        let uses_crash_reports = |entry: &ElectionEntry| match entry.facts.structure {
            Structure::Ring => *repair == Repair::Detector,
            Structure::Bully | Structure::Groups | Structure::Regions => true,
            Structure::Votes => false,
        };
        *detector == Detector::Oracle && uses_crash_reports(&spec.algorithm)
    }

    fn validate(spec: &Spec<Self>) -> Result<(), LabError> {
        reject_inapplicable_options(&spec.settings, spec.algorithm.entry())?;
        let crashes = spec.settings.crashes;
        if crashes > MAX_CRASHES {
            return Err(ElectionError::TooManyCrashes { crashes, maximum: MAX_CRASHES }.into());
        }
        let Plan { lease_settings, bounds, .. } = plan(spec);
        if spec.algorithm.facts.has_leases && lease_settings.trusted_duration() <= bounds.round_trip() {
            return Err(ElectionError::LeaseTooShort {
                lease: Length(lease_settings.lease),
                trusted: Length(lease_settings.trusted_duration()),
                round_trip: Length(bounds.round_trip()),
            }
            .into());
        }
        if let Starters::Named(named) = &spec.settings.starters
            && !spec.is_scripted()
            && named.iter().all(|node| nodes_down_at_start(spec).contains(node))
        {
            return Err(ElectionError::NoLiveStarter { starters: named.to_string() }.into());
        }
        detector::validate(spec)?;
        let Settings { order, attribute, .. } = &spec.settings;
        if order.ring(spec.nodes, spec.seed).is_none() {
            return Err(ElectionError::InvalidOrder { order: order.to_string(), nodes: spec.nodes }.into());
        }
        regions::validate(spec)?;
        if let Attribute::Given(given) = attribute
            && given.len() != spec.nodes
        {
            return Err(ElectionError::WrongAttributeCount { given: given.len(), nodes: spec.nodes }.into());
        }
        let Starters::Named(named) = &spec.settings.starters else { return Ok(()) };
        match named.highest() {
            Some(node) if node.index() >= spec.nodes => {
                Err(ElectionError::NoSuchStarter { node, nodes: spec.nodes }.into())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn node_factory(spec: &Spec<Self>) -> impl Fn(NodeId) -> ElectionNode + Send + Sync + 'static + use<> {
        let plan = Arc::new(plan(spec));
        let algorithm = spec.algorithm;
        detector::with_detector(spec, spec.with_links(move |me| (algorithm.make)(me, &plan)))
    }

    fn without_random_faults(settings: &Settings) -> Settings {
        Settings { crashes: 0, ..settings.clone() }
    }

    fn clients(spec: &Spec<Self>) -> Campaigns {
        let clients = match &spec.script {
            Some(script) if !script.commands.is_empty() => Campaigns::scripted(spec.nodes, script.commands.clone()),
            Some(_) | None => {
                let Plan { ring, ranking, .. } = plan(spec);
                Campaigns::new(spec.settings.starters.clone(), ring, ranking, notice_delay(spec))
            }
        };
        let clients = if spec.settings.detector == Detector::Oracle { clients } else { clients.without_notices() };
        // A notice of the last fault may still be in flight when the fault ends.
        let last_notice_delay = if Self::needs_crash_notices(spec) { notice_delay(spec) } else { Duration::ZERO };
        clients
            .ending_no_earlier_than(spec.faults_end().map(|end| end + last_notice_delay))
            .expecting(expectation_of(&spec.algorithm))
    }

    fn fault_window(spec: &Spec<Self>) -> Duration {
        spec.message_time().times(FAULT_WINDOW)
    }

    fn family_faults(spec: &Spec<Self>) -> Vec<TimedFault> {
        outages::draw(spec)
    }

    fn stress_specs(entry: &'static ElectionEntry) -> Vec<Spec<Self>> {
        if entry.facts.has_leases { lease_stress::stress_specs(entry) } else { stress::stress_specs(entry) }
    }

    fn limits(spec: &Spec<Self>) -> Limits {
        let defaults = spec.default_limits();
        let faults_end = spec.faults_end().unwrap_or(Time::ZERO);
        let nodes = spec.nodes as u64;
        let max_time = defaults.max_time.or(Some(
            faults_end + spec.message_time().times(MAX_TIME_AFTER_FAULTS.max(ELECTION_BOUND_PER_NODE * nodes)),
        ));
        let facts = spec.algorithm.facts;
        // Nodes that form groups ask each other periodically forever. After faults they may need
        // several intervals to notice a change, so runs with faults settle for longer.
        let has_stable_groups = facts.structure == Structure::Groups && spec.is_fault_free();
        let settles_briefly = facts.has_leases || has_stable_groups || spec.settings.detector.sends_heartbeats();
        let settle = if settles_briefly { SETTLING_TIME } else { SETTLING_TIME.max(ELECTION_BOUND_PER_NODE * nodes) };
        Limits {
            max_time,
            max_settling: spec.message_time().times(settle) + detector::period(spec).times(SETTLING_HEARTBEATS),
            ..defaults
        }
    }

    fn perform_check_task<T: CheckTask>(task: T) -> Option<T::Output> {
        Some(task.perform::<Self>())
    }
}

impl ScriptFamily for Election {
    const COMMANDS: &'static [&'static str] = &[Command::Campaign.name(), Command::Resign.name()];
    const CANDIDACY_COMMAND: Option<&'static str> = Some(Command::Campaign.name());

    fn parse_words(words: &[&str], _node: NodeId, _number: u64) -> Result<Command, String> {
        let find_command = |word: &str| COMMANDS.into_iter().find(|command| command.name().eq_ignore_ascii_case(word));
        let command = if let [word] = words { find_command(word) } else { None };
        command.ok_or_else(|| invalid_command(words, Self::COMMANDS, "campaign or resign"))
    }

    fn script_command(command: &Command) -> Option<Cow<'static, str>> {
        Some(command.name().into())
    }

    fn scripted_settings(settings: &Settings) -> Settings {
        Settings { starters: Starters::default(), ..settings.clone() }
    }

    fn smaller_settings(settings: &Settings) -> Vec<Settings> {
        let one_starter = Settings { starters: Starters::Lowest, ..settings.clone() };
        let by_number = Settings { order: RingOrder::Numbers, attribute: Attribute::Id, ..settings.clone() };
        let fewer_crashes = Settings { crashes: settings.crashes.saturating_sub(1), ..settings.clone() };
        vec![one_starter, by_number, fewer_crashes]
    }

    fn flags(spec: &Spec<Self>) -> Flags {
        let settings = &spec.settings;
        let defaults = Settings::default();
        let mut flags = Flags::default();
        flags.add_unless_default(spec.is_scripted(), FlagPosition::Front, "starters", &settings.starters);
        flags.add_unless_default(settings.order == defaults.order, FlagPosition::Front, "order", &settings.order);
        flags.add_unless_default(
            settings.attribute == defaults.attribute,
            FlagPosition::Front,
            "attribute",
            &settings.attribute,
        );
        flags.add_unless_default(
            settings.prefer == defaults.prefer,
            FlagPosition::Front,
            "prefer",
            option_value(&settings.prefer),
        );
        flags.add_unless_default(
            settings.announce == defaults.announce,
            FlagPosition::Front,
            "announce",
            option_value(&settings.announce),
        );
        flags.add_unless_default(
            settings.repair == defaults.repair,
            FlagPosition::Front,
            "repair",
            option_value(&settings.repair),
        );
        flags.add_switch(settings.tell_lower, FlagPosition::Front, "tell-lower");
        flags.add_switch(settings.broadcast, FlagPosition::Front, "broadcast");
        flags.add_unless_default(
            settings.detector == defaults.detector,
            FlagPosition::Front,
            "detector",
            option_value(&settings.detector),
        );
        flags.add_if_given(FlagPosition::Times, "heartbeat", settings.heartbeat);
        flags.add_if_given(FlagPosition::Times, "silence", settings.silence);
        flags.add_if_given(FlagPosition::Times, "threshold", settings.threshold);
        flags.add_if_given(FlagPosition::Times, "leader-lease", settings.lease);
        flags.add_if_given(FlagPosition::Front, "id-bits", settings.id_bits);
        flags.add_if_given(FlagPosition::Front, "reserved-bits", settings.reserved_bits);
        flags.add_if_given(FlagPosition::Front, "load-bound", settings.load_bound);
        flags.add_if_given(
            FlagPosition::Times,
            "leader-drift-bound",
            settings.drift_ppm.map(|parts| format!("{parts}ppm")),
        );
        flags.add_unless_default(settings.crashes == 0, FlagPosition::Links, "churn", settings.crashes);
        flags
    }
}

impl JudgeFamily for Election {
    type Measures = Measures;
    type Properties = Properties;
    type Summary = ElectionSummary;

    fn broken_assumptions(spec: &Spec<Self>) -> Vec<&'static str> {
        assumptions::broken_assumptions(spec, spec.algorithm.entry())
    }

    fn measures(spec: &Spec<Self>) -> Measures {
        let measures = Measures::new(spec.nodes).expecting(expectation_of(spec.algorithm.entry()));
        match spec.algorithm.facts.structure {
            Structure::Regions => measures.with_overlay(overlay(spec)),
            Structure::Ring | Structure::Bully | Structure::Groups | Structure::Votes => measures,
        }
    }

    fn properties(spec: &Spec<Self>, _level: JudgingLevel) -> Properties {
        let has_several_starters = !spec.is_scripted() && spec.settings.starters.may_select_several(spec.nodes);
        Properties::new(spec.nodes, has_several_starters)
            .with_leases(spec.algorithm.facts.has_leases)
            .expecting(expectation_of(spec.algorithm.entry()))
    }

    fn summary(
        spec: &Spec<Self>,
        _messages: &MessageCounts,
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
}

/// The delay until clients notice a crashed leader: two requests and their missing answers.
fn notice_delay(spec: &Spec<Election>) -> Duration {
    let Bounds { message, processing } = spec.environment().bounds;
    (message + processing).times(4)
}

/// Rejects options that do not apply to the algorithm.
fn reject_inapplicable_options(settings: &Settings, entry: &ElectionEntry) -> Result<(), LabError> {
    let defaults = Settings::default();
    let facts = entry.facts;
    let (is_ring, is_bully) = (facts.structure == Structure::Ring, facts.structure == Structure::Bully);
    let (has_regions, super_peers) = (facts.structure == Structure::Regions, "of super-peers");
    let (ring, bully, lease, rank) = ("on a ring", "like bully", "by leases", "that compare ranks");
    // Ranks do not decide votes, but a leader with a lease chooses its successor by rank.
    let compares_ranks = facts.structure != Structure::Votes || facts.has_leases;
    // Each option, whether the algorithm accepts it, whether its value is the default, and which
    // elections accept it.
    let options = [
        ("order", is_ring, settings.order == defaults.order, ring),
        ("attribute", compares_ranks, settings.attribute == defaults.attribute, rank),
        ("prefer", compares_ranks, settings.prefer == defaults.prefer, rank),
        ("announce", is_ring, settings.announce == defaults.announce, ring),
        ("repair", is_ring, settings.repair == defaults.repair, ring),
        ("tell-lower", is_bully, settings.tell_lower == defaults.tell_lower, bully),
        ("broadcast", is_bully, settings.broadcast == defaults.broadcast, bully),
        ("id-bits", has_regions, settings.id_bits == defaults.id_bits, super_peers),
        ("reserved-bits", has_regions, settings.reserved_bits == defaults.reserved_bits, super_peers),
        ("load-bound", has_regions, settings.load_bound == defaults.load_bound, super_peers),
        ("leader-lease", facts.has_leases, settings.lease == defaults.lease, lease),
        ("leader-drift-bound", facts.has_leases, settings.drift_ppm == defaults.drift_ppm, lease),
    ];
    let unsupported = options.into_iter().find(|(_, is_supported, is_default, _)| !is_supported && !is_default);
    unsupported.map_or(Ok(()), |(option, _, _, elections)| {
        Err(ElectionError::OptionNotApplicable { option, name: facts.profile.name, elections }.into())
    })
}

/// Returns the election plan of an experiment. An invalid ring order, which validation rejects, is
/// replaced by the order of node numbers.
pub fn plan(spec: &Spec<Election>) -> Plan {
    let Settings { order, attribute, prefer, announce, repair, tell_lower, broadcast, lease, drift_ppm, .. } =
        &spec.settings;
    let bounds = spec.environment().bounds;
    let defaults = LeaseSettings::default_for(&bounds);
    Plan {
        ring: order.ring(spec.nodes, spec.seed).unwrap_or(Ring::of_size(spec.nodes)),
        ranking: attribute.ranking(spec.nodes, spec.seed, *prefer),
        absent: nodes_down_at_start(spec),
        announcement: *announce,
        repair: *repair,
        bully: BullyOptions { notifies_lower: *tell_lower, announces_to_all: *broadcast },
        lease_settings: LeaseSettings {
            lease: lease.map_or(defaults.lease, |Length(lease)| lease),
            drift_ppm: drift_ppm.unwrap_or(defaults.drift_ppm),
        },
        overlay: overlay(spec),
        seed: spec.seed,
        ..Plan::new(spec.nodes, bounds)
    }
}

/// The agreement that an algorithm promises.
pub(crate) fn expectation_of(entry: &ElectionEntry) -> Expectation {
    match entry.facts.splits {
        Splits::Never | Splits::WhilePartitioned => Expectation::SameLeader,
        Splits::ByDesign => Expectation::SomeLeader,
    }
}

/// Returns the nodes that faults of the experiment crash at time 0.
pub fn nodes_down_at_start(spec: &Spec<Election>) -> Group {
    let at_start = spec.explicit_faults().filter(|timed| timed.at == Duration::ZERO);
    let crashes = at_start.filter_map(|timed| match timed.fault {
        Fault::Crash { node, .. } => Some(node),
        _ => None,
    });
    crashes.collect()
}
