//! Command-line options of ordered multicast.

use super::run::{Property, Traffic};
use super::{Multicast, MulticastError, MulticastMedium, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{CommonOptions, Options, OptionsError, first_given, parse_one_of, parse_whole};
use crate::registry::FamilyArgs;
use crate::views;
use clap::{Args, ValueEnum};
use quorate_core::multicast::{Delivery, Sequencing};
use quorate_core::{Group, NodeId};
use quorate_journal::settings::{Latency, NodeSet, nearest};
use std::str::FromStr;

/// Options that only ordered multicast accepts.
#[derive(Args)]
#[command(next_help_heading = "Options of multicast")]
pub struct MulticastArgs {
    /// Number of multicasts, all senders together [default: 20]
    #[arg(long, value_parser = parse_whole::<u64>)]
    messages: Option<u64>,
    /// When nodes send: one after another, at random times, or as fast as possible [default:
    /// random]
    #[arg(long, value_parser = parse_one_of(TRAFFIC))]
    traffic: Option<Traffic>,
    /// Nodes that send, such as 1,3 or 2-5 [default: all]
    #[arg(long, value_name = "NODES")]
    senders: Option<NodeSet>,
    /// Minimum payload of a message, in bytes [default: a few bytes]
    #[arg(long, value_name = "BYTES", value_parser = parse_whole::<usize>)]
    payload: Option<usize>,
    /// Pause of a sender before its next message. The default depends on the traffic.
    #[arg(long, value_name = "LATENCY")]
    interval: Option<Latency>,
    /// Deliver a message only when every member has it. Then all members deliver each message that
    /// any member delivers, even one that crashes.
    #[arg(long)]
    uniform: bool,
    /// Every receiver relays a message, so that all members get it even if its sender crashes.
    #[arg(long)]
    relay: bool,
    /// How a message is sequenced: it goes to all and its number comes from the sequencer, or it
    /// goes via the sequencer to all [default: to-all]
    #[arg(long, value_name = "MODE", value_parser = parse_one_of(SEQUENCING))]
    sequencing: Option<Sequencing>,
    /// Maximum number of messages that a member may have in flight [default: 64]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u64>)]
    window: Option<u64>,
    /// The medium of a multicast: one message per receiver, one message that its receivers get, or
    /// one message that all nodes get [default: unicast]
    #[arg(long, value_enum)]
    medium: Option<MediumArg>,
    /// Several groups, each with its own order, such as "1-3 2-4" [default: one group of all nodes]
    #[arg(long, value_name = "GROUPS")]
    groups: Option<Groups>,
    /// Number of members that leave voluntarily, in a group with views [default: 0]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<usize>)]
    leaves: Option<usize>,
    /// Maximum number of bytes of the state that one message to a joiner carries [default: 65536]
    #[arg(long, value_name = "BYTES", value_parser = parse_whole::<usize>)]
    piece: Option<usize>,
    /// Properties to judge although the algorithm does not promise them, such as causal,total. The
    /// properties are integrity, agreement, validity, fifo, causal, total, uniform, view-synchrony
    /// and delivered.
    #[arg(long, value_name = "PROPERTIES", value_delimiter = ',', value_parser = parse_property)]
    judge: Vec<Property>,
}

const TRAFFIC: [(&str, Traffic); 3] =
    [("single", Traffic::Single), ("random", Traffic::Random), ("flood", Traffic::Flood)];
const SEQUENCING: [(&str, Sequencing); 2] = [("to-all", Sequencing::ToAll), ("via", Sequencing::ThroughSequencer)];

/// The medium of a multicast.
#[derive(Clone, Copy, ValueEnum)]
pub enum MediumArg {
    Unicast,
    Multicast,
    Broadcast,
}

impl From<MediumArg> for MulticastMedium {
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
        let parse_group =
            |words: &str| words.parse().map_err(|error: quorate_journal::settings::SettingError| error.to_string());
        let groups: Vec<NodeSet> = text.split_whitespace().map(parse_group).collect::<Result<_, _>>()?;
        if groups.is_empty() {
            return Err(format!("'{}' is not a list of groups; write for example '1-3 2-4'.", text.escape_debug()));
        }
        Ok(Self(groups))
    }
}

fn parse_property(name: &str) -> Result<Property, String> {
    let names = Property::ALL.map(Property::name);
    let found = Property::ALL.into_iter().find(|property| property.name() == name);
    found.ok_or_else(|| {
        let nearest_name = nearest(name, names);
        let hint = nearest_name.map_or_else(|| ".".into(), |nearest_name| format!("; did you mean '{nearest_name}'?"));
        format!("'{}' is not a property{hint} Properties are {}.", name.escape_debug(), names.join(", "))
    })
}

impl Options for MulticastArgs {
    fn first_given(&self) -> Option<&'static str> {
        first_given!(
            self; messages, traffic, senders, payload, interval, uniform, relay, sequencing, window, medium, groups,
            leaves, piece, judge
        )
    }

    fn first_workload_option(&self) -> Option<&'static str> {
        first_given!(self; messages, traffic, senders, interval)
    }
}

impl MulticastArgs {
    /// The first given option that checks do not support.
    pub(crate) fn not_applicable_to_checks(&self) -> Option<&'static str> {
        first_given!(self; traffic, payload, interval, groups, leaves, medium, judge)
    }

    /// Returns `defaults` with the changes that these options request. The options of views are
    /// separate.
    pub(crate) fn applied_to(&self, defaults: Settings, nodes: usize) -> Result<Settings, LabError> {
        let senders = self.senders.as_ref().map(|senders| expand_nodes("senders", senders, nodes)).transpose()?;
        let expand_group = |members: &NodeSet| {
            expand_nodes("groups", members, nodes).map(|members| members.into_iter().collect::<Group>())
        };
        let groups =
            self.groups.as_ref().map(|Groups(groups)| groups.iter().map(expand_group).collect::<Result<_, _>>());
        let groups = groups.transpose()?;
        if self.interval.is_some() && self.traffic == Some(Traffic::Flood) {
            return Err(OptionsError::no_effect("interval", "with --traffic flood, which never pauses").into());
        }
        Ok(Settings {
            messages: self.messages.unwrap_or(defaults.messages),
            traffic: self.traffic.unwrap_or(defaults.traffic),
            senders: senders.unwrap_or(defaults.senders),
            payload: self.payload.unwrap_or(defaults.payload),
            interval: self.interval.or(defaults.interval),
            delivery: if self.uniform { Delivery::Uniform } else { defaults.delivery },
            relay: self.relay || defaults.relay,
            sequencing: self.sequencing.unwrap_or(defaults.sequencing),
            window: self.window.unwrap_or(defaults.window),
            medium: self.medium.map_or(defaults.medium, MulticastMedium::from),
            groups: groups.unwrap_or(defaults.groups),
            leaves: self.leaves.unwrap_or(defaults.leaves),
            piece: self.piece.unwrap_or(defaults.piece),
            judge: if self.judge.is_empty() { defaults.judge } else { self.judge.clone() },
            views: defaults.views,
        })
    }
}

/// Expands ranges of nodes. Fails, without expanding them, if a range goes beyond the group.
fn expand_nodes(option: &'static str, named: &NodeSet, nodes: usize) -> Result<Vec<NodeId>, LabError> {
    match named.highest() {
        Some(node) if node.index() >= nodes => Err(MulticastError::NoSuchNode { option, node, nodes }.into()),
        Some(_) | None => Ok(named.iter().collect()),
    }
}

impl OptionsFamily for Multicast {
    type Args = MulticastArgs;

    fn with_options(defaults: Settings, args: &FamilyArgs, common: CommonOptions) -> Result<Settings, LabError> {
        let views = args.views.applied_to(defaults.views);
        Ok(Settings { views, ..args.multicast.applied_to(defaults, common.nodes)? })
    }

    fn adapt_to_manual_use(settings: &mut Settings) {
        settings.messages = 0;
    }

    /// Selects the replicated membership service, because only the simulator has an oracle.
    fn adapt_to_real_processes(settings: &mut Settings) {
        settings.views.iter_mut().for_each(views::select_replicated_membership);
    }
}
