//! The multicast family in the simulator: who sends, what is measured, what must hold.
//!
//! All of it is written once for the family. It sees commands and events, never an algorithm.

mod asked;
mod breaches;
mod chapter;
mod groups;
mod measures;
mod message;
mod numbers;
mod order;
mod promises;
mod properties;
mod transit;
mod workload;

pub use measures::{Measures, MulticastSummary, Receiver, ViewSummary};
pub use promises::{Promises, Property};
pub use properties::Properties;
pub use workload::{Demand, Pattern, Senders};
