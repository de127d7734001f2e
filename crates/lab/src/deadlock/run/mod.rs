//! The deadlock family in the simulator: who asks whom, what is measured, what must hold.
//!
//! All of it is written once for the family. It sees commands and events, never a detector.

mod asking;
mod measures;
mod properties;
mod truth;
mod workload;

pub use asking::{Asking, Demand, Taking};
pub use measures::{DeadlockSummary, Measures};
pub use properties::{Bound, Properties};
pub use truth::Truth;
pub use workload::{Processes, Reader};

use quorate_core::deadlock::Event;
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Done, Moment};

pub fn told<'a, C>(moment: &Moment<'a, C, Event>) -> Option<(Time, NodeId, &'a Event)> {
    match moment {
        Moment::Effect { time, node, effect: Done::Emit(event) } => Some((*time, *node, event)),
        Moment::Effect { .. } | Moment::Input { .. } | Moment::World { .. } => None,
    }
}
