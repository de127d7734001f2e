//! What nodes learn of their membership, whoever tells them.

use crate::moment::{Done, Moment, Taken};
use quorate_core::{NodeId, Time, Told};

/// What a node learns of its membership in this moment, if anything: from outside, or from the part of it that keeps the membership.
pub fn told<'a, C, E>(moment: &Moment<'a, C, E>) -> Option<(Time, NodeId, Told<'a>)> {
    match *moment {
        Moment::Input { time, node, input: Taken::View(view), .. } => Some((time, node, Told::View(view))),
        Moment::Input { time, node, input: Taken::Lease(until), .. } => Some((time, node, Told::Lease(until))),
        Moment::Effect { time, node, effect: Done::Told(told) } => Some((time, node, told)),
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}
