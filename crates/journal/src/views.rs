//! Views and leases that nodes receive, from a membership service or from their own membership
//! protocol.

use crate::moment::{Moment, ObservedEffect, ObservedInput};
use quorate_core::{MembershipNote, NodeId, Time};

/// Returns the view or lease that a node receives in this moment, with its time. It comes as an
/// input from a membership service, or as an effect from a node that runs the membership protocol
/// itself.
pub fn membership_note<'a, C, E>(moment: &Moment<'a, C, E>) -> Option<(Time, NodeId, MembershipNote<'a>)> {
    match *moment {
        Moment::Input { time, node, input: ObservedInput::View(view), .. } => {
            Some((time, node, MembershipNote::View(view)))
        }
        Moment::Input { time, node, input: ObservedInput::Lease(until), .. } => {
            Some((time, node, MembershipNote::Lease(until)))
        }
        Moment::Effect { time, node, effect: ObservedEffect::Membership(note) } => Some((time, node, note)),
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}
