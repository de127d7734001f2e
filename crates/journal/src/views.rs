//! Views and leases that nodes receive, from a membership service or from their own membership
//! protocol.

use crate::moment::{Done, Moment, Taken};
use quorate_core::{NodeId, Time, Told};

/// Returns the view or lease that a node receives in this moment, with its time. It comes as an
/// input from a membership service, or as an effect from a node that runs the membership protocol
/// itself.
pub fn told<'a, C, E>(moment: &Moment<'a, C, E>) -> Option<(Time, NodeId, Told<'a>)> {
    match *moment {
        Moment::Input { time, node, input: Taken::View(view), .. } => Some((time, node, Told::View(view))),
        Moment::Input { time, node, input: Taken::Lease(until), .. } => Some((time, node, Told::Lease(until))),
        Moment::Effect { time, node, effect: Done::Told(told) } => Some((time, node, told)),
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}
