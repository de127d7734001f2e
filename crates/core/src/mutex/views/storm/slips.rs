//! What may be wrong with the world in which a group has views. A storm must notice each.

use super::world::Mail;
use crate::group::Epoch;
use crate::mutex::Report;
use crate::mutex::prelude::*;
use crate::view::View;
use crate::wrap::{Content, Envelope};

/// One slip, made whenever there is occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// A member begins without the reports of the others: it has forged ones that say nothing.
    WaitsForNobody,
    /// Reports do not say that somebody is inside.
    ForgetsInsiders,
    /// Messages of older views count in the present one.
    HearsOldViews,
    /// The service does not wait for the end of a lease before it goes on without a member.
    EvictsTooEarly,
    /// A member is told of a lease for a stay that it does not know of yet.
    RenewsUnknownStays,
}

impl Slip {
    /// A report of one who wants nothing and knows nothing.
    pub(super) fn empty_report<M>(epoch: Epoch) -> Envelope<M, Report> {
        let floor = Floor { clock: Clock(0), fence: Fence { epoch: Epoch(0), counter: 0 } };
        let content = Content::Report(Report { standing: Standing::Idle, floor, queue: Vec::new() });
        Envelope { epoch, content }
    }

    /// What becomes of a letter, for one who knows of this view.
    pub(super) fn spoil<P: Succession>(self, mail: Mail<P>, known: Option<&View>) -> Mail<P> {
        match (self, mail, known) {
            (Self::ForgetsInsiders, Envelope { epoch, content: Content::Report(report) }, _) => {
                let standing = match report.standing {
                    Standing::Inside(_) => Standing::Idle,
                    Standing::Idle | Standing::Waiting { .. } => report.standing,
                };
                Envelope { epoch, content: Content::Report(Report { standing, ..report }) }
            }
            (Self::HearsOldViews, Envelope { epoch, content: Content::Inner(message) }, Some(known)) => {
                Envelope { epoch: epoch.max(known.epoch()), content: Content::Inner(message) }
            }
            (_, mail, _) => mail,
        }
    }
}
