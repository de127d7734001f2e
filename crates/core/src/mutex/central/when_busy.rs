//! The coordinator's answer to a ticket that arrives while another is granted: the three forms of
//! the algorithm.

use super::super::{Case, Choice, Cost, Facts, Fairness, Load, Patience, Range, Service, ServiceOrder};
use super::{COST, FACTS};
use crate::about::Profile;
use crate::bounds::Bounds;
use crate::time::Span;

/// The coordinator's answer to a ticket that arrives while another is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBusy {
    /// Queue the ticket and send no answer.
    Block,
    /// Deny the ticket and keep no state of it; the requester retries after a delay.
    Deny { delay: Span },
    /// Deny the ticket and queue it.
    DenyAndQueue,
}

impl WhenBusy {
    /// The denying form. A requester retries after a random time of one to three message times, so
    /// that requesters seldom retry at the same time.
    pub fn deny(bounds: &Bounds) -> Self {
        Self::Deny { delay: Span::between(bounds.message, bounds.message.times(MAX_DELAY_IN_MESSAGE_TIMES)) }
    }

    /// Returns the patience that the request message carries, for a request with this patience:
    /// without a queue, the node sends every ticket as a try.
    pub(super) const fn message_patience(self, patience: Patience) -> Patience {
        match self {
            Self::Block | Self::DenyAndQueue => patience,
            Self::Deny { .. } => Patience::Try,
        }
    }
}

/// Longest delay before a requester retries, in message times.
const MAX_DELAY_IN_MESSAGE_TIMES: u64 = 3;

/// Expected figures of the denying form.
pub const DENY_FACTS: Facts = Facts {
    profile: Profile {
        name: "central-deny",
        summary: "one coordinator denies while busy; nodes retry until it grants",
        ..PROFILE
    },
    cost: Cost {
        messages_formula: "3 + 2/denial, own 0",
        sync_delay_formula: "2T…7T",
        message_count: |case, entries| match case.load {
            Load::OneNode(_) => Range::exactly(3).times(entries),
            Load::AllNodes | Load::SomeNodes => Range::at_least(3).times(entries),
        },
        // At best the release and the grant; at worst the release, the denial of a ticket that
        // arrived right before it, the delay, the ticket and the grant.
        sync_delay: |_| Range::between(2, 4 + MAX_DELAY_IN_MESSAGE_TIMES),
        ..COST
    },
    order: ServiceOrder::None,
    fairness: Fairness::None,
    service: Service::AlmostCertain,
    variant_choices: &[when_busy_choice("deny")],
    ..FACTS
};

/// Expected figures of the form that denies and queues.
pub const DENY_AND_QUEUE_FACTS: Facts = Facts {
    profile: Profile {
        name: "central-deny-and-queue",
        summary: "one coordinator denies and queues while busy, and grants later",
        ..PROFILE
    },
    cost: Cost { messages_formula: "3 or 4, own 0", message_count: messages_with_denials, ..COST },
    variant_choices: &[when_busy_choice("deny-and-queue")],
    ..FACTS
};

const PROFILE: Profile = FACTS.profile;

/// Returns the number of messages of entries: three each, and a denial for each entry whose ticket
/// was queued.
fn messages_with_denials(case: &Case<'_>, entries: u64) -> Range {
    match case.load {
        Load::OneNode(_) => Range::exactly(3).times(entries),
        Load::AllNodes | Load::SomeNodes => Range::between(3, 4).times(entries),
    }
}

/// The value of the option `--when-busy` that selects a form.
pub(super) const fn when_busy_choice(value: &'static str) -> Choice {
    Choice { algorithm: "central", option: "when-busy", value, is_default: false }
}
