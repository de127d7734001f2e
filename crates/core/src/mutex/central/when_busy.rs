//! What a coordinator does with a ticket that finds somebody inside: the three forms of the algorithm.

use super::super::{Case, Choice, Cost, Facts, Fairness, Load, Patience, Range, Service, ServiceOrder};
use super::{COST, FACTS};
use crate::about::Profile;
use crate::bounds::Bounds;
use crate::time::Span;

/// The way in which a coordinator is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBusy {
    /// It queues the ticket and says nothing.
    Block,
    /// It denies the ticket and keeps nothing of it; the client asks again after a while.
    Deny { wait: Span },
    /// It denies the ticket and queues it.
    DenyAndQueue,
}

impl WhenBusy {
    /// Denies; the client asks again after one to three message times, so that clients do not ask in step.
    pub fn deny(bounds: &Bounds) -> Self {
        Self::Deny { wait: Span::between(bounds.message, bounds.message.times(LONGEST_WAIT)) }
    }

    /// How a ticket is sent whose user is so patient: where nothing is queued, every ticket is a try.
    pub(super) const fn asks_with(self, patience: Patience) -> Patience {
        match self {
            Self::Block | Self::DenyAndQueue => patience,
            Self::Deny { .. } => Patience::Try,
        }
    }
}

/// How long a client waits at most before it asks again, in message times.
const LONGEST_WAIT: u64 = 3;

/// What the book says of it, if it denies.
pub const DENY_FACTS: Facts = Facts {
    profile: Profile {
        name: "central-deny",
        summary: "one coordinator, whose clients ask until it is free",
        ..PROFILE
    },
    cost: Cost {
        messages: "3 + 2/denial, own 0",
        sync: "2T…7T",
        total: |case, entries| match case.load {
            Load::Alone(_) => Range::exactly(3).times(entries),
            Load::Everyone | Load::Some => Range::at_least(3).times(entries),
        },
        // The release, a denial that just missed it, the wait, the ticket and the grant.
        sync_delay: |_| Range::between(2, 4 + LONGEST_WAIT),
        ..COST
    },
    order: ServiceOrder::None,
    fairness: Fairness::None,
    service: Service::Likely,
    form: &[choice("deny", false)],
    ..FACTS
};

/// What the book says of it, if it denies and queues.
pub const DENY_AND_QUEUE_FACTS: Facts = Facts {
    profile: Profile {
        name: "central-deny-and-queue",
        summary: "one coordinator denies at once whom it queues, and grants later",
        ..PROFILE
    },
    cost: Cost { messages: "3 or 4, own 0", total: with_denials, ..COST },
    form: &[choice("deny-and-queue", false)],
    ..FACTS
};

const PROFILE: Profile = FACTS.profile;

/// One denial for each entry that somebody was in the way of.
fn with_denials(case: &Case<'_>, entries: u64) -> Range {
    match case.load {
        Load::Alone(_) => Range::exactly(3).times(entries),
        Load::Everyone | Load::Some => Range::between(3, 4).times(entries),
    }
}

pub(super) const fn choice(value: &'static str, usual: bool) -> Choice {
    Choice { of: "central", option: "when-busy", value, usual }
}
