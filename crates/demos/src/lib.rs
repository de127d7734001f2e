//! Demonstrations: small scenarios around the algorithms, each with the command that runs it.
//!
//! No other library depends on this crate. A demonstration uses the simulator, the checker and the
//! lab as any program could, so it can change without touching them.
//!
//! | module | what it shows | command |
//! |---|---|---|
//! | [`local`] | two threads of one process lose an update in some interleavings, but with a lock in none | `quorate sim local`, `check local`, `sim race` |
//! | [`armies`] | two armies agree on a leader in any timing model, but on an instant only if delays are bounded | `quorate check armies`, `sim armies` |
//! | [`bank`] | deposits that overlap lose money; a lock prevents it | `quorate bank` |
//! | [`berkeley`] | an elected leader keeps the clocks of a group together, and its successor continues | `quorate sim berkeley` |
//! | [`detector`] | a failure detector that notices a crash sooner suspects more live nodes | `quorate sim detector` |
//! | [`voting_risk`] | the probability that voters that forget their votes grant entry to two nodes: formula and trials | `quorate voting-risk` |
//! | [`wait_for`] | a wait-for graph given as text: its deadlocks, and their victims | `quorate wait-for` |

pub mod armies;
pub mod bank;
pub mod berkeley;
pub mod detector;
pub mod local;
#[cfg(test)]
mod rules;
pub mod voting_risk;
pub mod wait_for;
