//! Command-line options of mutual exclusion.

use super::run::Pattern;
use super::{Mutex, MutexError, Settings};
use crate::error::LabError;
use crate::family::OptionsFamily;
use crate::options::{CommonOptions, Options, first_given, parse_one_of, parse_whole};
use crate::registry::FamilyArgs;
use crate::views;
use clap::Args;
use quorate_core::NodeId;
use quorate_journal::settings::{Chance, Latency, NodeSet};

/// Options that only mutual exclusion accepts.
#[derive(Args)]
#[command(next_help_heading = "Options of mutual exclusion")]
pub struct MutexArgs {
    /// Number of requests, all nodes together [default: 10]
    #[arg(long, value_parser = parse_whole::<u64>)]
    entries: Option<u64>,
    /// When nodes send requests: one node alone, all at the start and after each of their releases,
    /// or all at random times [default: random]
    #[arg(long, value_parser = parse_one_of(WORKLOADS))]
    workload: Option<Pattern>,
    /// Nodes that send requests, such as 1,3 or 2-5 [default: all (with the workload single: the
    /// last node)]
    #[arg(long, value_name = "NODES")]
    requesters: Option<NodeSet>,
    /// How long a node holds the lock [default: one message time]
    #[arg(long)]
    hold: Option<Latency>,
    /// How long a node waits before its next request. The default depends on the workload.
    #[arg(long)]
    think: Option<Latency>,
    /// Probability that a request is a try, which the algorithm grants or denies at once [default:
    /// 0]
    #[arg(long = "try", value_name = "CHANCE")]
    tries: Option<Chance>,
    /// Probability that a request is cancelled after some time [default: 0]
    #[arg(long = "cancel", value_name = "CHANCE")]
    cancels: Option<Chance>,
    /// Probability that a blocking request is shared, for reading [default: 0]
    #[arg(long, value_name = "CHANCE")]
    readers: Option<Chance>,
}

const WORKLOADS: [(&str, Pattern); 3] =
    [("single", Pattern::Single), ("all", Pattern::All), ("random", Pattern::Random)];

impl Options for MutexArgs {
    fn first_given(&self) -> Option<&'static str> {
        first_given!(self; entries, workload, requesters, hold, think, tries = "try", cancels = "cancel", readers)
    }

    fn first_workload_option(&self) -> Option<&'static str> {
        self.first_given()
    }
}

impl MutexArgs {
    /// Returns the given requesters; empty if the option is missing. Rejects a range beyond the
    /// group before expanding it.
    fn requesters(&self, nodes: usize) -> Result<Vec<NodeId>, LabError> {
        let Some(requesters) = &self.requesters else { return Ok(Vec::new()) };
        match requesters.highest() {
            Some(node) if node.index() >= nodes => Err(MutexError::NoSuchRequester { node, nodes }.into()),
            Some(_) | None => Ok(requesters.iter().collect()),
        }
    }
}

impl OptionsFamily for Mutex {
    type Args = MutexArgs;

    fn with_options(defaults: Settings, args: &FamilyArgs, common: CommonOptions) -> Result<Settings, LabError> {
        let MutexArgs { entries, workload, hold, think, tries, cancels, readers, .. } = args.mutex;
        let requesters = args.mutex.requesters(common.nodes)?;
        Ok(Settings {
            entries: entries.unwrap_or(defaults.entries),
            workload: workload.unwrap_or(defaults.workload),
            requesters: if requesters.is_empty() { defaults.requesters } else { requesters },
            hold: hold.or(defaults.hold),
            think: think.or(defaults.think),
            tries: tries.unwrap_or(defaults.tries),
            cancels: cancels.unwrap_or(defaults.cancels),
            readers: readers.unwrap_or(defaults.readers),
            views: args.views.applied_to(defaults.views),
        })
    }

    /// Selects membership in a replicated log, because the other services exist only in the
    /// simulator.
    fn adapt_to_real_processes(settings: &mut Settings) {
        settings.views.iter_mut().for_each(views::select_replicated_membership);
    }
}
