//! Options of algorithms that run in views.

use super::{Keeper, ViewSettings};
use crate::options::{OptionsError, first_given, one_of};
use crate::spec::word;
use clap::Args;
use quorate_core::membership::OnClose;
use quorate_journal::settings::{Length, Ppm};

/// That an algorithm runs in views, and how.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Options of groups with views")]
pub(crate) struct ViewArgs {
    /// Run in views with leases, so that the group goes on without members that crash, stand still or are cut off.
    #[arg(long)]
    views: bool,
    /// Who says who is in: an oracle that never fails, the members themselves by a replicated log, or an oracle that does not
    /// wait for leases and so lets two in; oracle unless given.
    #[arg(long, value_name = "WHO", requires = "views", value_parser = one_of(KEEPERS))]
    membership: Option<Keeper>,
    /// How long a member's lease is; 2s unless given.
    #[arg(long, value_name = "LENGTH", requires = "views")]
    lease: Option<Length>,
    /// How long after a renewal of its lease a member asks for the next one; 400ms unless given.
    #[arg(long, value_name = "LENGTH", requires = "views")]
    keepalive: Option<Length>,
    /// How much faster or slower than true time clocks are taken to run at most; 500ppm unless given.
    #[arg(long, value_name = "DRIFT", requires = "views")]
    drift_bound: Option<Ppm>,
    /// What is made of a member whose connection was closed: it is out at once, or when its lease has run out; evict unless given.
    #[arg(long, value_name = "WHAT", requires = "views", value_parser = one_of(ON_CLOSE))]
    on_close: Option<OnClose>,
}

const KEEPERS: [(&str, Keeper); 3] =
    [("oracle", Keeper::Oracle), ("impatient", Keeper::Impatient), ("replica", Keeper::Replica)];
const ON_CLOSE: [(&str, OnClose); 2] = [("evict", OnClose::Evict), ("lease", OnClose::Lease)];

impl ViewArgs {
    pub(crate) fn settings(&self) -> Option<ViewSettings> {
        self.changed(None)
    }

    pub(crate) fn changed(&self, before: Option<ViewSettings>) -> Option<ViewSettings> {
        let usual = before.unwrap_or_default();
        if !self.views {
            return before;
        }
        Some(ViewSettings {
            membership: self.membership.unwrap_or(usual.membership),
            lease: self.lease.unwrap_or(usual.lease),
            keepalive: self.keepalive.unwrap_or(usual.keepalive),
            drift_bound: self.drift_bound.unwrap_or(usual.drift_bound),
            on_close: self.on_close.unwrap_or(usual.on_close),
        })
    }

    pub(crate) fn given(&self) -> Option<&'static str> {
        first_given!(self; membership, lease, keepalive, drift_bound = "drift-bound", on_close = "on-close")
    }

    /// There is no oracle outside of the simulator.
    pub(crate) fn refuse_oracles(&self) -> Result<(), OptionsError> {
        let Some(oracle @ (Keeper::Oracle | Keeper::Impatient)) = self.membership else { return Ok(()) };
        Err(OptionsError::no_effect(
            &format!("membership {}", word(&oracle)),
            "between real processes, which keep their membership themselves in a replicated log",
        ))
    }
}

/// Between processes there is no oracle: the members keep the membership themselves.
pub(crate) fn for_real(views: &mut ViewSettings) {
    views.membership = Keeper::Replica;
}
