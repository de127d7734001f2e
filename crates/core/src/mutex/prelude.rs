//! Imports and macros shared by all algorithms of the family.

pub(crate) use super::{
    Access, Case, Choice, ClientState, Command, Cost, Event, Facts, Fairness, Floor, Intent, Load, Patience, Phase,
    Range, Refusal, ServiceOrder, ViewStart, ViewTransition,
};
pub(crate) use crate::about::Profile;
pub(crate) use crate::clock::{Clock, Stamp};
pub(crate) use crate::describe::Describe;
pub(crate) use crate::effects::Effects;
pub(crate) use crate::fence::Fence;
pub(crate) use crate::fixed::Fixed;
pub(crate) use crate::group::Group;
pub(crate) use crate::node::NodeId;
pub(crate) use crate::protocol::{Input, Never, Protocol};
pub(crate) use crate::time::{Duration, Span, Time};
pub(crate) use crate::wrap::OneOfMany;
pub(crate) use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
pub(crate) use alloc::vec::Vec;

/// Matches the inputs that the textbook algorithms ignore: they save nothing, use no failure
/// detector, and run in a fixed group.
///
/// The pattern lists every such input, so adding a variant to `Input` makes the matches that use it
/// fail to compile.
macro_rules! ignored_inputs {
    () => {
        $crate::protocol::Input::Saved(_)
            | $crate::protocol::Input::Suspect(_)
            | $crate::protocol::Input::Trust(_)
            | $crate::protocol::Input::DiskFull
            | $crate::protocol::Input::DiskFree
            | $crate::protocol::Input::View(_)
            | $crate::protocol::Input::Lease(_)
            | $crate::protocol::Input::EndOfTurn
    };
}
pub(crate) use ignored_inputs;

/// Implements the floor methods of [`OneOfMany`], the trait of algorithms that the wrapper `Many`
/// runs once per resource, for a node that keeps its clock and its fence in these two fields.
macro_rules! floor_from_fields {
    ($clock:ident, $fence:ident) => {
        type Floor = Floor;

        fn floor(&self) -> Floor {
            Floor { clock: self.$clock, fence: self.$fence }
        }

        fn raise_floor(&mut self, floor: &Floor) {
            self.$clock.witness(floor.clock);
            self.$fence.raise(floor.fence);
        }
    };
}
pub(crate) use floor_from_fields;
