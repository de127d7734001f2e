//! The multicast family in the simulator: its workload, measures and properties.
//!
//! This code sees only commands and events, so that it works for every algorithm.

mod group_state;
mod in_flight;
mod measures;
mod message;
mod numbers;
mod order;
mod pending_requests;
mod promises;
mod properties;
mod view_record;
mod violations;
mod workload;

pub use measures::{Measures, MulticastSummary, Receiver, ViewSummary};
pub use promises::{Promises, Property};
pub use properties::Properties;
pub use workload::{Demand, Pattern, Senders};
