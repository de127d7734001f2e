//! The deadlock family in the simulator: its workload, measures and properties.
//!
//! This code sees commands, events and descriptions of messages, but not their contents, so it
//! works for every detector.

mod actual_waits;
mod measures;
mod properties;
mod requests;
mod workload;

pub use actual_waits::ActualWaits;
pub use measures::{DeadlockSummary, Measures};
pub use properties::{MessageBound, Properties};
pub use requests::{AcquireMode, Demand, WaitMode};
pub use workload::{CommandParser, Processes};

use quorate_core::deadlock::Event;
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect};

/// Returns the emitted event with its time and node; `None` for other moments.
pub fn emitted_event<'a, C>(moment: &Moment<'a, C, Event>) -> Option<(Time, NodeId, &'a Event)> {
    match moment {
        Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => Some((*time, *node, event)),
        Moment::Effect { .. } | Moment::Input { .. } | Moment::World { .. } => None,
    }
}
