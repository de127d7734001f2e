//! The election family in the lab.

use crate::error::LabError;
use crate::family::{Care, FamilyLab, Flag, Judge, Place};
use crate::spec::Spec;
use crate::typed::unheard;
use quorate_core::about::Profile;
use quorate_core::election::{Command, Event};
use quorate_core::{Bounds, Duration, NodeId, Time};
use quorate_registry::{AnyCodec, ElectionEntry, ElectionNode, Entry, Family};
use quorate_sim::election::{Campaigns, Change, ElectionSummary, Measures, Properties, Starters, change};
use quorate_sim::metrics::Messages;
use quorate_sim::moment::Moment;
use quorate_sim::property::Verdict;
use quorate_sim::role::Role;
use quorate_sim::run::Limits;
use serde::{Deserialize, Serialize};

/// One node is chosen, and everyone learns which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {}

/// Who starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Who starts, at the very beginning.
    pub starters: Starters,
}

/// In message times: faults that the seed chooses begin while leaders are elected and miss their first heartbeats.
const FAULT_WINDOW: u64 = 200;

/// In message times: whoever has no leader so long after the last fault will never have one. Candidates who try again and
/// again would go on for ever.
const PATIENCE: u64 = 20_000;

/// In message times: how long a leader whom everyone knows is watched, if its heartbeats never end.
const SETTLE: u64 = 20;

impl FamilyLab for Election {
    const FAMILY: Family = Family::Election;
    const COMMANDS: &'static [&'static str] = &[Command::Campaign.name()];
    const ROLES: &'static [(Role, &'static str)] = &[
        (Role::Idle, "took no part"),
        (Role::Waiting, "knows no leader"),
        (Role::Follows, "knows the leader"),
        (Role::Chosen, "is the leader"),
    ];
    const CHOSEN_BLOCKS: bool = false;
    const STANDS: Option<&'static str> = Some(Command::Campaign.name());

    type Entry = ElectionEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;
    type Users = Campaigns;
    type Measures = Measures;
    type Properties = Properties;
    type Summary = ElectionSummary;

    fn entry(entry: &'static Entry) -> Option<&'static ElectionEntry> {
        match entry {
            Entry::Election(entry) => Some(entry),
            Entry::Mutex(_) | Entry::Replica(_) => None,
        }
    }

    fn profile(entry: &ElectionEntry) -> &'static Profile {
        &entry.facts.profile
    }

    fn codec(_spec: &Spec<Self>, entry: &ElectionEntry) -> AnyCodec {
        entry.codec
    }

    fn copes_with_loss(_spec: &Spec<Self>, entry: &ElectionEntry) -> bool {
        entry.facts.tolerates_loss
    }

    fn validate(spec: &Spec<Self>, _entry: &ElectionEntry) -> Result<(), LabError> {
        let Starters::Named(named) = &spec.settings.starters else { return Ok(()) };
        match named.highest() {
            Some(node) if node.index() >= spec.nodes => Err(LabError::NoSuchStarter { node, nodes: spec.nodes }),
            Some(_) | None => Ok(()),
        }
    }

    fn maker(
        spec: &Spec<Self>,
        entry: &'static ElectionEntry,
    ) -> impl Fn(NodeId) -> ElectionNode + Send + Sync + 'static + use<> {
        let around = spec.surroundings();
        spec.linked(move |me| (entry.make)(me, &around))
    }

    fn in_words(words: &[&str], _node: NodeId, _number: u64) -> Result<Command, String> {
        match words {
            [word] if word.eq_ignore_ascii_case(Command::Campaign.name()) => Ok(Command::Campaign),
            _ => Err(unheard(words, Self::COMMANDS, Command::Campaign.name())),
        }
    }

    fn in_script(command: &Command) -> Option<&'static str> {
        Some(command.name())
    }

    fn scripted(_settings: &Settings) -> Settings {
        Settings::default()
    }

    fn smaller(spec: &Spec<Self>) -> Vec<Spec<Self>> {
        let alone = Settings { starters: Starters::Lowest };
        if spec.settings == alone { Vec::new() } else { vec![Spec { settings: alone, ..spec.clone() }] }
    }

    fn users(spec: &Spec<Self>) -> Campaigns {
        let users = match &spec.script {
            Some(script) if !script.commands.is_empty() => Campaigns::scripted(spec.nodes, script.commands.clone()),
            Some(_) | None => Campaigns::new(spec.nodes, spec.settings.starters.clone(), notice(spec)),
        };
        users.not_before(spec.faults_end())
    }

    fn measures(spec: &Spec<Self>, _entry: &ElectionEntry) -> Measures {
        Measures::new(spec.nodes)
    }

    fn properties(spec: &Spec<Self>, _entry: &ElectionEntry, _care: Care) -> Properties {
        let contest = !spec.is_scripted() && spec.settings.starters.may_be_several(spec.nodes);
        Properties::new(spec.nodes, contest)
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

    fn fault_window(spec: &Spec<Self>) -> Duration {
        spec.typical().times(FAULT_WINDOW)
    }

    fn limits(spec: &Spec<Self>) -> Limits {
        let usual = spec.usual_limits();
        let calm = spec.faults_end().unwrap_or(Time::ZERO);
        let until = usual.until.or(Some(calm + spec.typical().times(PATIENCE)));
        Limits { until, settle: spec.typical().times(SETTLE), ..usual }
    }

    fn flags(spec: &Spec<Self>) -> Vec<Flag> {
        let starters = format!("--starters {}", spec.settings.starters);
        Flag::unless(spec.is_scripted(), Place::Front, starters).into_iter().collect()
    }

    fn stands(moment: &Moment<'_, Command, Event>, before: &[Role]) -> Option<(NodeId, Role)> {
        let (_, node, change) = change(moment)?;
        let role = match change {
            Change::Campaigns => *before.get(node.index())?,
            Change::Begins(_) => Role::Waiting,
            Change::Learns { leader, .. } if leader == node => Role::Chosen,
            Change::Learns { .. } => Role::Follows,
            Change::Boots | Change::Dies => Role::Idle,
        };
        Some((node, role))
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
