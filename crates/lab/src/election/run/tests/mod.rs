//! Tales of elections told by hand, and elections that are wrong on purpose.

mod agreement;
mod reigns;
mod tales;
mod toys;

use quorate_core::{NodeId, Time};

fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("nodes are numbered from 1")
}

fn ms(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}
