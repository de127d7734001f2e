//! Algorithms in views: who keeps the membership, and on what terms.

mod options;

pub(crate) use options::{ViewArgs, for_real};

use crate::error::{LabError, first_mistake};
use crate::family::FamilyLab;
use crate::flag::{Flags, Place};
use crate::spec::{Spec, word};
use quorate_core::Duration;
use quorate_core::membership::{OnClose, Terms};
use quorate_journal::settings::{Length, Ppm};
use quorate_sim::Views;
use serde::{Deserialize, Serialize};

/// With shorter ones a run takes for ever.
const LEAST_KEEPALIVE: Duration = Duration::from_micros(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewSettings {
    pub membership: Keeper,
    pub lease: Length,
    /// How long after a renewal the next one is asked for.
    pub keepalive: Length,
    /// How much faster or slower than true time a clock runs at most.
    pub drift_bound: Ppm,
    /// What is made of a connection that a member's kernel has closed.
    pub on_close: OnClose,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keeper {
    #[default]
    Oracle,
    /// Somebody who does not wait for leases to run out: wrong on purpose.
    Impatient,
    /// The members themselves, by a replicated log.
    Replica,
}

impl Default for ViewSettings {
    fn default() -> Self {
        let Terms { lease, keepalive, drift_ppm, on_close } = Terms::default();
        let drift_bound = i32::try_from(drift_ppm).ok().and_then(Ppm::new).unwrap_or_default();
        Self {
            membership: Keeper::default(),
            lease: Length(lease),
            keepalive: Length(keepalive),
            drift_bound,
            on_close,
        }
    }
}

impl ViewSettings {
    /// Leases that faults outlast, though they are long beside messages of a few milliseconds; clocks may drift as far as a seed lets
    /// them.
    pub(crate) fn short(on_close: OnClose) -> Self {
        Self {
            membership: Keeper::default(),
            lease: Length(Duration::from_millis(100)),
            keepalive: Length(Duration::from_millis(20)),
            drift_bound: Ppm::new(200_000).unwrap_or_default(),
            on_close,
        }
    }

    /// Whether the members keep their membership themselves, in a replicated log.
    pub(crate) fn is_replicated(&self) -> bool {
        self.membership == Keeper::Replica
    }

    pub fn terms(&self) -> Terms {
        let Self { lease: Length(lease), keepalive: Length(keepalive), drift_bound, on_close, .. } = *self;
        Terms { lease, keepalive, drift_ppm: drift_bound.parts().unsigned_abs(), on_close }
    }

    pub(crate) fn in_world(&self) -> Option<Views> {
        let views = |waits| Some(Views { terms: self.terms(), waits });
        match self.membership {
            Keeper::Oracle => views(true),
            Keeper::Impatient => views(false),
            Keeper::Replica => None,
        }
    }

    /// Whether members act from the beginning to the end: nothing goes wrong, and every lease is renewed in time. Where the members found
    /// their group themselves, users ask before it stands.
    pub(crate) fn is_steady<F: FamilyLab>(&self, spec: &Spec<F>) -> bool {
        let terms = self.terms();
        let renewed = spec.round_trip().is_some_and(|answer| terms.keepalive + answer < terms.trusted());
        renewed && spec.is_calm() && !self.is_replicated()
    }

    pub(crate) fn validate(&self) -> Result<(), LabError> {
        let (terms, keepalive) = (self.terms(), self.keepalive);
        let (least, trusted) = (Length(LEAST_KEEPALIVE), Length(terms.trusted()));
        Ok(first_mistake([
            (self.drift_bound.parts() < 0, ViewError::NegativeDriftBound { bound: self.drift_bound }),
            (terms.keepalive < LEAST_KEEPALIVE, ViewError::HastyKeepalive { keepalive, least }),
            (terms.keepalive >= terms.trusted(), ViewError::LateKeepalive { keepalive, trusted }),
        ])?)
    }

    pub(crate) fn flags(&self, flags: &mut Flags) {
        let usual = Self::default();
        flags.switch(true, Place::Front, "views");
        flags.unless(self.membership == usual.membership, Place::Front, "membership", word(&self.membership));
        flags.unless(self.lease == usual.lease, Place::Front, "lease", self.lease);
        flags.unless(self.keepalive == usual.keepalive, Place::Front, "keepalive", self.keepalive);
        flags.unless(self.drift_bound == usual.drift_bound, Place::Front, "drift-bound", self.drift_bound);
        flags.unless(self.on_close == usual.on_close, Place::Front, "on-close", word(&self.on_close));
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error(
        "'{name}' cannot run in views: it takes silence for an answer, or has no fences, or is wrong on purpose; 'quorate explain \
         {name}' tells about it. Without --views it runs as in the book."
    )]
    NoViews { name: String },
    #[error(
        "A keepalive every {keepalive} is too late for leases that members trust for {trusted}: give a shorter --keepalive, or a \
         longer --lease."
    )]
    LateKeepalive { keepalive: Length, trusted: Length },
    #[error("A keepalive every {keepalive} leaves no time for anything else: give a --keepalive of {least} or more.")]
    HastyKeepalive { keepalive: Length, least: Length },
    #[error("--drift-bound {bound} has a direction, but clocks may be off either way: give {} instead.", unsigned(*bound))]
    NegativeDriftBound { bound: Ppm },
}

fn unsigned(bound: Ppm) -> String {
    format!("{}ppm", bound.parts().unsigned_abs())
}
