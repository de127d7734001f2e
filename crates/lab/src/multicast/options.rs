//! Options that only ordered multicast understands.

use super::run::{Pattern, Property};
use super::{Carrier, Multicast, MulticastError, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{Basics, Options, OptionsError, first_given, one_of, whole};
use crate::registry::FamilyArgs;
use crate::views;
use clap::{Args, ValueEnum};
use quorate_core::multicast::{Delivery, Sequencing};
use quorate_core::{Group, NodeId};
use quorate_journal::settings::{Latency, NodeSet, nearest};
use std::str::FromStr;

/// Options that only ordered multicast understands.
#[derive(Args)]
#[command(next_help_heading = "Options of multicast")]
pub struct MulticastArgs {
    /// How many multicasts there are, all senders together; 20 unless given.
    #[arg(long, value_parser = whole::<u64>)]
    messages: Option<u64>,
    /// When nodes send: one after another, at random times, or as fast as they may; random unless given.
    #[arg(long, value_parser = one_of(TRAFFIC))]
    traffic: Option<Pattern>,
    /// Who sends, such as 1,3 or 2-5; everyone unless given.
    #[arg(long, value_name = "NODES")]
    senders: Option<NodeSet>,
    /// How many bytes a message says at least; a few unless given.
    #[arg(long, value_name = "BYTES", value_parser = whole::<usize>)]
    payload: Option<usize>,
    /// How long a sender is silent before it sends the next; chosen to suit the traffic unless given.
    #[arg(long, value_name = "LATENCY")]
    interval: Option<Latency>,
    /// Deliver a message only when every member holds it, so that whatever anybody hears, even one that dies then, all hear.
    #[arg(long)]
    uniform: bool,
    /// Whoever receives a message passes it on, so that all get it although its sender dies midway.
    #[arg(long)]
    relay: bool,
    /// The way of a message where one member numbers them: to all, and its number from the sequencer, or to all by way of the
    /// sequencer; to-all unless given.
    #[arg(long, value_name = "WAY", value_parser = one_of(SEQUENCING))]
    sequencing: Option<Sequencing>,
    /// How many messages a member may have under way before it must wait; 64 unless given.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>)]
    window: Option<u64>,
    /// What carries a message to all: as many messages as there are receivers, one that those hear whom it is for, or one that
    /// everyone hears; unicast unless given.
    #[arg(long, value_enum)]
    medium: Option<MediumArg>,
    /// Several groups, each with an order of its own, such as '1-3 2-4'; one of everyone unless given.
    #[arg(long, value_name = "GROUPS")]
    groups: Option<Groups>,
    /// How many members leave as they please, where the group has views; none unless given.
    #[arg(long, value_name = "COUNT", value_parser = whole::<usize>)]
    leaves: Option<usize>,
    /// How many bytes of the state a newcomer is sent at a time; 65536 unless given.
    #[arg(long, value_name = "BYTES", value_parser = whole::<usize>)]
    piece: Option<usize>,
    /// Judge this too although the algorithm does not promise it, such as causal,total: integrity, agreement, validity, fifo,
    /// causal, total, uniform, view-synchrony, delivered.
    #[arg(long, value_name = "PROPERTIES", value_delimiter = ',', value_parser = known_property)]
    judge: Vec<Property>,
}

const TRAFFIC: [(&str, Pattern); 3] =
    [("single", Pattern::Single), ("random", Pattern::Random), ("flood", Pattern::Flood)];
const SEQUENCING: [(&str, Sequencing); 2] = [("to-all", Sequencing::ToAll), ("via", Sequencing::Via)];

/// What carries a message to all.
#[derive(Clone, Copy, ValueEnum)]
pub enum MediumArg {
    Unicast,
    Multicast,
    Broadcast,
}

impl From<MediumArg> for Carrier {
    fn from(medium: MediumArg) -> Self {
        match medium {
            MediumArg::Unicast => Self::Unicast,
            MediumArg::Multicast => Self::Multicast,
            MediumArg::Broadcast => Self::Broadcast,
        }
    }
}

/// Groups by their members: `1-3 2-4`.
#[derive(Clone)]
struct Groups(Vec<NodeSet>);

impl FromStr for Groups {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read =
            |words: &str| words.parse().map_err(|error: quorate_journal::settings::SettingError| error.to_string());
        let groups: Vec<NodeSet> = text.split_whitespace().map(read).collect::<Result<_, _>>()?;
        if groups.is_empty() {
            return Err("No group is named; write for example '1-3 2-4'.".to_owned());
        }
        Ok(Self(groups))
    }
}

fn known_property(name: &str) -> Result<Property, String> {
    let names = Property::ALL.map(Property::name);
    let found = Property::ALL.into_iter().find(|property| property.name() == name);
    found.ok_or_else(|| {
        let close = nearest(name, names);
        let hint = close.map(|close| format!(" Did you mean '{close}'?")).unwrap_or_default();
        format!("there is no property '{}'.{hint} Properties are {}.", name.escape_debug(), names.join(", "))
    })
}

impl Options for MulticastArgs {
    fn given(&self) -> Option<&'static str> {
        first_given!(
            self; messages, traffic, senders, payload, interval, uniform, relay, sequencing, window, medium, groups,
            leaves, piece, judge
        )
    }

    fn workload(&self) -> Option<&'static str> {
        first_given!(self; messages, traffic, senders, interval)
    }
}

impl MulticastArgs {
    /// The first option given that is about times, groups or runs, of which a check knows nothing.
    pub(crate) fn means_nothing_to_checks(&self) -> Option<&'static str> {
        first_given!(self; traffic, interval, groups, leaves, medium, judge)
    }

    /// These settings, changed as the options say; views are said elsewhere.
    pub(crate) fn changed(&self, usual: Settings, nodes: usize) -> Result<Settings, LabError> {
        let senders = self.senders.as_ref().map(|senders| spelled_out(senders, nodes)).transpose()?;
        let members =
            |members: &NodeSet| spelled_out(members, nodes).map(|members| members.into_iter().collect::<Group>());
        let groups = self.groups.as_ref().map(|Groups(groups)| groups.iter().map(members).collect::<Result<_, _>>());
        let groups = groups.transpose()?;
        if self.interval.is_some() && self.traffic == Some(Pattern::Flood) {
            return Err(OptionsError::no_effect("interval", "beside --traffic flood, which never pauses").into());
        }
        Ok(Settings {
            messages: self.messages.unwrap_or(usual.messages),
            traffic: self.traffic.unwrap_or(usual.traffic),
            senders: senders.unwrap_or(usual.senders),
            payload: self.payload.unwrap_or(usual.payload),
            interval: self.interval.or(usual.interval),
            delivery: if self.uniform { Delivery::Uniform } else { usual.delivery },
            relay: self.relay || usual.relay,
            sequencing: self.sequencing.unwrap_or(usual.sequencing),
            window: self.window.unwrap_or(usual.window),
            medium: self.medium.map_or(usual.medium, Carrier::from),
            groups: groups.unwrap_or(usual.groups),
            leaves: self.leaves.unwrap_or(usual.leaves),
            piece: self.piece.unwrap_or(usual.piece),
            judge: if self.judge.is_empty() { usual.judge } else { self.judge.clone() },
            views: usual.views,
        })
    }
}

/// A range of nodes that reaches beyond the group is refused before it is spelled out.
fn spelled_out(named: &NodeSet, nodes: usize) -> Result<Vec<NodeId>, LabError> {
    match named.highest() {
        Some(node) if node.index() >= nodes => Err(MulticastError::NoSuchSender { node, nodes }.into()),
        Some(_) | None => Ok(named.iter().collect()),
    }
}

impl OptionsFamily for Multicast {
    type Args = MulticastArgs;

    fn changed(usual: Settings, args: &FamilyArgs, basics: Basics) -> Result<Settings, LabError> {
        let views = args.views.changed(usual.views);
        Ok(Settings { views, ..args.multicast.changed(usual, basics.nodes)? })
    }

    fn by_hand(settings: &mut Settings) {
        settings.messages = 0;
    }

    /// Between processes there is no oracle: the members keep the membership themselves.
    fn for_real(settings: &mut Settings) {
        settings.views.iter_mut().for_each(views::for_real);
    }
}
