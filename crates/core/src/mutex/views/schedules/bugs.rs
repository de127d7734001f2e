//! Bugs that tests inject into the simulated world around a group with views. The schedules must
//! find each of them.

use super::world::ViewEnvelope;
use crate::group::Epoch;
use crate::mutex::Report;
use crate::mutex::prelude::*;
use crate::view::View;
use crate::wrap::{Content, Envelope};

/// One bug, which takes effect at every opportunity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// A member begins a view without the reports of the others: it receives forged empty ones.
    ForgesReports,
    /// Reports omit that a node is in the critical section.
    OmitsHolders,
    /// Messages of older views count in the current one.
    AcceptsOldViews,
    /// The service does not wait for the end of a lease before it removes a member.
    EvictsTooEarly,
    /// A member receives a lease for a stay that it does not know yet.
    RenewsUnknownStays,
}

impl Bug {
    /// Returns a message with the report of an idle node that has seen no entry.
    pub(super) fn empty_report<M>(epoch: Epoch) -> Envelope<M, Report> {
        let floor = Floor { clock: Clock(0), fence: Fence { epoch: Epoch(0), counter: 0 } };
        let content = Content::Report(Report { client_state: ClientState::Idle, floor, queue: Vec::new() });
        Envelope { epoch, content }
    }

    /// Applies the bug to a message for a node that knows this view. The bugs that do not change
    /// messages leave it as it is.
    pub(super) fn apply<P: ViewTransition>(
        self,
        message: ViewEnvelope<P>,
        known_view: Option<&View>,
    ) -> ViewEnvelope<P> {
        match (self, message, known_view) {
            (Self::OmitsHolders, Envelope { epoch, content: Content::Report(report) }, _) => {
                let client_state = match report.client_state {
                    ClientState::Inside(_) => ClientState::Idle,
                    ClientState::Idle | ClientState::Waiting { .. } => report.client_state,
                };
                Envelope { epoch, content: Content::Report(Report { client_state, ..report }) }
            }
            (Self::AcceptsOldViews, Envelope { epoch, content: Content::Inner(message) }, Some(known_view)) => {
                Envelope { epoch: epoch.max(known_view.epoch()), content: Content::Inner(message) }
            }
            (_, message, _) => message,
        }
    }
}
