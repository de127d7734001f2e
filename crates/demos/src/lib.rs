//! Demonstrations: small stories around the algorithms, each with the command that tells it.
//!
//! No other library depends on this crate. A demonstration uses the simulator, the checker and the lab as any program
//! could, so what is here can change without touching them.
//!
//! | module | what it shows | command |
//! |---|---|---|
//! | [`local`] | two threads of one process lose an update, and the locks that prevent it; every interleaving | `quorate sim local`, `check local`, `sim race` |
//! | [`armies`] | two armies agree on a leader in any model of time, but on an instant only if delays are bounded | `quorate check armies`, `sim armies` |
//! | [`bank`] | overlapping deposits lose money without a lock, and none with one | `quorate bank` |
//! | [`berkeley`] | an elected leader keeps the clocks of a group together, and its successor goes on | `quorate sim berkeley` |
//! | [`detector`] | a failure detector that notices a crash sooner suspects more living nodes | `quorate sim detector` |
//! | [`voting_risk`] | how likely voters that forget their votes let two nodes in: formula and trials | `quorate voting-risk` |
//! | [`wait_for`] | a wait-for graph given as text: its deadlocks, and who gives up | `quorate wait-for` |

pub mod armies;
pub mod bank;
pub mod berkeley;
pub mod detector;
pub mod local;
#[cfg(test)]
mod rules;
pub mod voting_risk;
pub mod wait_for;
