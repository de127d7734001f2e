//! What every algorithm of the family is written with.

pub(crate) use super::{
    Access, Case, Choice, Command, Cost, Event, Facts, Fairness, Floor, Load, Past, Patience, Phase, Range, Refusal,
    ServiceOrder, Standing, Succession, Wish,
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

/// The inputs that a textbook group ignores: it saves nothing, suspects nobody, and its members never change.
///
/// This is a pattern that names each of them, so that a match still fails to compile when there is a new input.
macro_rules! beyond_the_textbook {
    () => {
        $crate::protocol::Input::Saved(_)
            | $crate::protocol::Input::Suspect(_)
            | $crate::protocol::Input::Trust(_)
            | $crate::protocol::Input::DiskFull
            | $crate::protocol::Input::DiskFree
            | $crate::protocol::Input::View(_)
            | $crate::protocol::Input::Lease(_)
    };
}
pub(crate) use beyond_the_textbook;

/// What is left of a forgotten instance whose node keeps, in these two fields, the largest clock and the largest fence that it knows.
macro_rules! floor_in {
    ($clock:ident, $fence:ident) => {
        type Floor = Floor;

        fn floor(&self) -> Floor {
            Floor { clock: self.$clock, fence: self.$fence }
        }

        fn raise(&mut self, floor: &Floor) {
            self.$clock.witness(floor.clock);
            self.$fence.raise(floor.fence);
        }
    };
}
pub(crate) use floor_in;
