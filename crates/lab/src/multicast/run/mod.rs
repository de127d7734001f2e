//! The multicast family in the simulator: its workload, measures and properties.
//!
//! This code sees commands, events and descriptions of the messages between nodes, but not the
//! contents of these messages, so it works for every algorithm.

mod group_state;
mod in_flight;
mod measures;
mod message;
mod numbers;
mod order;
mod pending_requests;
mod properties;
mod property_set;
mod view_record;
mod violations;
mod workload;

pub use measures::{Measures, MulticastSummary, Receiver, ViewSummary};
pub use properties::Properties;
pub use property_set::{Property, PropertySet};
pub use workload::{Demand, Senders, Traffic};
