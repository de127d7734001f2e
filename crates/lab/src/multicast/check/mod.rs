//! Ordered multicast under the checker.

mod history;
mod judges;
mod senders;

pub use senders::Senders;

use crate::check::{BehaviorArgs, CheckSpec, CheckedFamily, view_settings};
use crate::error::LabError;
use crate::family::ScriptFamily;
use crate::figures::format_count;
use crate::multicast::{Multicast, MulticastError, Settings, promises_with};
use quorate_core::Group;
use quorate_core::multicast::Delivery;

/// The behavior of clients and the setup of the group in a check.
#[derive(Clone, Debug, PartialEq)]
pub struct SendBehavior {
    /// The settings of a run. A check has one group, and no member leaves voluntarily.
    pub settings: Settings,
}

impl Default for SendBehavior {
    /// Two messages, one from each of the first two nodes. The orders of more messages take long to
    /// explore.
    fn default() -> Self {
        Self { settings: Settings { messages: 2, ..Settings::default() } }
    }
}

impl CheckedFamily for Multicast {
    const ACTS_IN_ROUNDS: bool = false;
    /// Reliable multicast must handle a sender that crashes in the middle of its sends.
    const CRASH_INTERRUPTS_SENDS: bool = true;

    type Behavior = SendBehavior;
    type CheckClients = Senders;

    fn run_settings(check: &CheckSpec<Self>) -> Settings {
        let defaults = Settings::default();
        Settings {
            views: view_settings(check.setup.views),
            traffic: defaults.traffic,
            groups: defaults.groups,
            leaves: defaults.leaves,
            ..check.behavior.settings.clone()
        }
    }

    fn check_clients(check: &CheckSpec<Self>) -> Result<Senders, LabError> {
        let spec = check.spec();
        let named_senders: Group = spec.settings.senders.iter().copied().collect();
        let senders = if named_senders.is_empty() { spec.group() } else { named_senders };
        let promises = promises_with(&spec, spec.algorithm.entry(), check.setup.crashes == 0);
        Ok(Senders::new(senders, spec.settings.messages, promises)?)
    }

    fn behavior(args: &BehaviorArgs, nodes: usize) -> Result<SendBehavior, LabError> {
        if let Some(option) = args.multicast.not_applicable_to_checks() {
            return Err(MulticastError::NotInChecks { option }.into());
        }
        Ok(SendBehavior { settings: args.multicast.applied_to(SendBehavior::default().settings, nodes)? })
    }

    fn behavior_flags(check: &CheckSpec<Self>) -> Vec<String> {
        let spec = check.spec();
        // The common options describe view changes.
        let spec = crate::spec::Spec { settings: Settings { views: None, ..spec.settings.clone() }, ..spec };
        Self::flags(&spec).into_iter().map(|flag| flag.to_string()).collect()
    }

    fn rounds_suffix(check: &CheckSpec<Self>) -> String {
        let settings = &check.behavior.settings;
        let uniform = if settings.delivery == Delivery::Uniform { ", uniform" } else { "" };
        let relay = if settings.relay { ", relayed" } else { "" };
        format!("{}{uniform}{relay}", format_count(settings.messages, "message"))
    }
}
