//! Options of algorithms that run in views.

use super::{MembershipService, ViewSettings};
use crate::options::{OptionsError, first_given, parse_one_of};
use crate::spec::option_value;
use clap::Args;
use quorate_core::membership::OnClose;
use quorate_journal::settings::{Length, Ppm};

/// Whether and how an algorithm runs in views.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Options of groups with views")]
pub(crate) struct ViewArgs {
    /// Run in views with leases, so that the group continues without members that crash, pause or
    /// are partitioned.
    #[arg(long)]
    views: bool,
    /// The membership service: an oracle that never fails, a replicated log of the members, or a
    /// faulty oracle that does not wait for leases and so breaks mutual exclusion [default: oracle]
    #[arg(long, value_name = "SERVICE", requires = "views", value_parser = parse_one_of(MEMBERSHIP_SERVICES))]
    membership: Option<MembershipService>,
    /// Duration of a member's lease [default: 2s]
    #[arg(long, value_name = "DURATION", requires = "views")]
    lease: Option<Length>,
    /// Delay from a lease renewal to a member's next renewal request [default: 400ms]
    #[arg(long, value_name = "DURATION", requires = "views")]
    keepalive: Option<Length>,
    /// Assumed maximum deviation of a clock's rate from true time [default: 500ppm]
    #[arg(long, value_name = "DRIFT", requires = "views")]
    drift_bound: Option<Ppm>,
    /// How to treat a member whose connection was closed: remove it at once, or when its lease
    /// expires [default: evict]
    #[arg(long, value_name = "REACTION", requires = "views", value_parser = parse_one_of(ON_CLOSE))]
    on_close: Option<OnClose>,
}

const MEMBERSHIP_SERVICES: [(&str, MembershipService); 3] = [
    ("oracle", MembershipService::Oracle),
    ("impatient", MembershipService::Impatient),
    ("replica", MembershipService::Replica),
];
const ON_CLOSE: [(&str, OnClose); 2] = [("evict", OnClose::Evict), ("lease", OnClose::Lease)];

impl ViewArgs {
    /// The settings of views; `None` without `--views`.
    pub(crate) fn settings(&self) -> Option<ViewSettings> {
        self.applied_to(None)
    }

    /// Returns `settings` with the changes that these options request.
    pub(crate) fn applied_to(&self, settings: Option<ViewSettings>) -> Option<ViewSettings> {
        let defaults = settings.unwrap_or_default();
        if !self.views {
            return settings;
        }
        Some(ViewSettings {
            membership: self.membership.unwrap_or(defaults.membership),
            lease: self.lease.unwrap_or(defaults.lease),
            keepalive: self.keepalive.unwrap_or(defaults.keepalive),
            drift_bound: self.drift_bound.unwrap_or(defaults.drift_bound),
            on_close: self.on_close.unwrap_or(defaults.on_close),
        })
    }

    /// The first given option besides `--views`.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        first_given!(self; membership, lease, keepalive, drift_bound = "drift-bound", on_close = "on-close")
    }

    /// Rejects oracles, which exist only in the simulator.
    pub(crate) fn reject_simulated_membership(&self) -> Result<(), OptionsError> {
        let Some(oracle @ (MembershipService::Oracle | MembershipService::Impatient)) = self.membership else {
            return Ok(());
        };
        Err(OptionsError::no_effect(
            &format!("membership {}", option_value(&oracle)),
            "between real processes, which keep their membership themselves in a replicated log",
        ))
    }
}

/// Keeps the membership in a replicated log, because real processes have no oracle.
pub(crate) fn select_replicated_membership(views: &mut ViewSettings) {
    views.membership = MembershipService::Replica;
}
