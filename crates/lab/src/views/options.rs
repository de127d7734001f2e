//! Options of algorithms that run in views.

use super::{Keeper, ViewSettings};
use crate::options::OptionsError;
use clap::{Args, ValueEnum};
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
    #[arg(long, value_enum, value_name = "WHO", requires = "views")]
    membership: Option<MembershipArg>,
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
    #[arg(long, value_enum, value_name = "WHAT", requires = "views")]
    on_close: Option<OnCloseArg>,
}

#[derive(Clone, Copy, ValueEnum)]
enum MembershipArg {
    Oracle,
    Impatient,
    Replica,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnCloseArg {
    Evict,
    Lease,
}

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
            membership: self.membership.map_or(usual.membership, Keeper::from),
            lease: self.lease.unwrap_or(usual.lease),
            keepalive: self.keepalive.unwrap_or(usual.keepalive),
            drift_bound: self.drift_bound.unwrap_or(usual.drift_bound),
            on_close: self.on_close.map_or(usual.on_close, OnClose::from),
        })
    }
}

impl ViewArgs {
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.membership.is_some(), "membership"),
            (self.lease.is_some(), "lease"),
            (self.keepalive.is_some(), "keepalive"),
            (self.drift_bound.is_some(), "drift-bound"),
            (self.on_close.is_some(), "on-close"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// There is no oracle outside of the simulator.
    pub(crate) fn refuse_oracles(&self) -> Result<(), OptionsError> {
        let name = match self.membership {
            Some(MembershipArg::Oracle) => "oracle",
            Some(MembershipArg::Impatient) => "impatient",
            Some(MembershipArg::Replica) | None => return Ok(()),
        };
        Err(OptionsError::no_effect(
            &format!("membership {name}"),
            "between real processes, which keep their membership themselves in a replicated log",
        ))
    }
}

/// Between processes there is no oracle: the members keep the membership themselves.
pub(crate) fn for_real(views: &mut ViewSettings) {
    views.membership = Keeper::Replica;
}

impl From<MembershipArg> for Keeper {
    fn from(membership: MembershipArg) -> Self {
        match membership {
            MembershipArg::Oracle => Self::Oracle,
            MembershipArg::Impatient => Self::Impatient,
            MembershipArg::Replica => Self::Replica,
        }
    }
}

impl From<OnCloseArg> for OnClose {
    fn from(on_close: OnCloseArg) -> Self {
        match on_close {
            OnCloseArg::Evict => Self::Evict,
            OnCloseArg::Lease => Self::Lease,
        }
    }
}
