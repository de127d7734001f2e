//! Settings of algorithms in views: the membership service and its leases.

mod options;

pub(crate) use options::{ViewArgs, select_replicated_membership};

use crate::error::{LabError, first_error};
use crate::family::FamilyLab;
use crate::flag::{FlagPosition, Flags};
use crate::spec::{Spec, option_value};
use quorate_core::Duration;
use quorate_core::membership::{LeaseTerms, OnClose};
use quorate_journal::settings::{Length, Ppm};
use quorate_sim::MembershipSettings;
use serde::{Deserialize, Serialize};

/// Shorter intervals make a run take too long.
const MIN_KEEPALIVE: Duration = Duration::from_micros(10);

/// How a group with views keeps its membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewSettings {
    pub membership: MembershipService,
    pub lease: Length,
    /// Delay from one lease renewal to the request for the next.
    pub keepalive: Length,
    /// Maximum deviation of a clock's rate from true time.
    pub drift_bound: Ppm,
    /// How the membership reacts to a connection that a member's kernel closed.
    pub on_close: OnClose,
}

/// The service that decides the membership.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MembershipService {
    /// A service of the simulator that never fails.
    #[default]
    Oracle,
    /// A faulty oracle that does not wait for leases to expire.
    Impatient,
    /// The members themselves, in a replicated log.
    Replica,
}

impl Default for ViewSettings {
    fn default() -> Self {
        let LeaseTerms { lease, keepalive, drift_ppm, on_close } = LeaseTerms::default();
        let drift_bound = i32::try_from(drift_ppm).ok().and_then(Ppm::new).unwrap_or_default();
        Self {
            membership: MembershipService::default(),
            lease: Length(lease),
            keepalive: Length(keepalive),
            drift_bound,
            on_close,
        }
    }
}

impl ViewSettings {
    /// Settings with leases that are shorter than many faults but long compared with messages of a
    /// few milliseconds. The drift bound covers all drift that a seed can choose.
    pub(crate) fn with_short_leases(on_close: OnClose) -> Self {
        Self {
            membership: MembershipService::default(),
            lease: Length(Duration::from_millis(100)),
            keepalive: Length(Duration::from_millis(20)),
            drift_bound: Ppm::new(200_000).unwrap_or_default(),
            on_close,
        }
    }

    /// Whether the members keep the membership in a replicated log.
    pub(crate) fn is_replicated(&self) -> bool {
        self.membership == MembershipService::Replica
    }

    pub fn lease_terms(&self) -> LeaseTerms {
        let Self { lease: Length(lease), keepalive: Length(keepalive), drift_bound, on_close, .. } = *self;
        LeaseTerms { lease, keepalive, drift_ppm: drift_bound.parts().unsigned_abs(), on_close }
    }

    /// The views that the simulator provides; `None` if the members keep them in a replicated log.
    pub(crate) fn simulator_views(&self) -> Option<MembershipSettings> {
        let waits_for_leases = match self.membership {
            MembershipService::Oracle => true,
            MembershipService::Impatient => false,
            MembershipService::Replica => return None,
        };
        Some(MembershipSettings { terms: self.lease_terms(), waits_for_leases })
    }

    /// Whether members may act throughout the run: there are no faults, and every lease is renewed
    /// in time. `false` if the members establish their group themselves, because clients send
    /// requests before it exists.
    pub(crate) fn is_steady<F: FamilyLab>(&self, spec: &Spec<F>) -> bool {
        let terms = self.lease_terms();
        let is_renewed_in_time =
            spec.round_trip().is_some_and(|round_trip| terms.keepalive + round_trip < terms.trusted_for());
        is_renewed_in_time && spec.is_fault_free() && !self.is_replicated()
    }

    pub(crate) fn validate(&self) -> Result<(), LabError> {
        let (terms, keepalive) = (self.lease_terms(), self.keepalive);
        let (minimum, trusted) = (Length(MIN_KEEPALIVE), Length(terms.trusted_for()));
        Ok(first_error([
            (self.drift_bound.parts() < 0, ViewError::NegativeDriftBound { bound: self.drift_bound }),
            (terms.keepalive < MIN_KEEPALIVE, ViewError::KeepaliveTooShort { keepalive, minimum }),
            (terms.keepalive >= terms.trusted_for(), ViewError::KeepaliveTooLong { keepalive, trusted }),
        ])?)
    }

    pub(crate) fn add_flags(&self, flags: &mut Flags) {
        let defaults = Self::default();
        flags.add_switch(true, FlagPosition::Front, "views");
        flags.add_unless_default(
            self.membership == defaults.membership,
            FlagPosition::Front,
            "membership",
            option_value(&self.membership),
        );
        flags.add_unless_default(self.lease == defaults.lease, FlagPosition::Front, "lease", self.lease);
        flags.add_unless_default(
            self.keepalive == defaults.keepalive,
            FlagPosition::Front,
            "keepalive",
            self.keepalive,
        );
        flags.add_unless_default(
            self.drift_bound == defaults.drift_bound,
            FlagPosition::Front,
            "drift-bound",
            self.drift_bound,
        );
        flags.add_unless_default(
            self.on_close == defaults.on_close,
            FlagPosition::Front,
            "on-close",
            option_value(&self.on_close),
        );
    }
}

/// An invalid setting of views.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error(
        "'{name}' cannot run in views. Faulty variants cannot, nor can algorithms that have no fences or interpret silence as \
         an answer; see 'quorate explain {name}'. Omit --views to run the textbook form."
    )]
    ViewsNotSupported { name: String },
    #[error(
        "--keepalive must be shorter than {trusted}, the time for which members trust a lease; got {keepalive}. Use a shorter \
         --keepalive or a longer --lease."
    )]
    KeepaliveTooLong { keepalive: Length, trusted: Length },
    #[error("--keepalive must be at least {minimum}; got {keepalive}.")]
    KeepaliveTooShort { keepalive: Length, minimum: Length },
    #[error("--drift-bound must not be negative, because it bounds drift in both directions; got {bound}. Use {}.", unsigned_ppm(*bound))]
    NegativeDriftBound { bound: Ppm },
}

fn unsigned_ppm(bound: Ppm) -> String {
    format!("{}ppm", bound.parts().unsigned_abs())
}
