//! Runs experiments with groups of real processes on one machine.
//!
//! [`run`] implements `quorate run`. It starts one process per node (`quorate node`), drives them
//! with the simulator's clients, kills, pauses and partitions processes as the experiment says, and
//! stops all of them properly. Then it gathers the journals of all incarnations into one, and
//! measures and checks it as the simulator would.
//!
//! ```no_run
//! use quorate_lab::{Algorithm, Mutex, mutex};
//! use quorate_live::{Options, run, spec};
//!
//! let settings = mutex::Settings { entries: 20, ..Default::default() };
//! let spec = spec::<Mutex>(Algorithm::named("ricart-agrawala")?, 5, 1, settings);
//! let outcome = run(&spec, &Options::new("quorate"), &mut |_, _, _| {})?;
//! assert_eq!(outcome.replayed.summary.messages_per_entry, Some(8.0)); // 2(n−1), over TCP
//! # Ok::<(), quorate_live::LiveError>(())
//! ```
//!
//! The seed determines the experiment and its clients, but not the timing: clocks, disks and
//! networks are real, so no two runs are the same. The journal of a run gives the same results
//! whenever it is read.

mod atomic_write;
pub mod chaos;
mod child;
mod error;
mod fault_journal;
mod folder;
mod group;
mod judge;
mod launch;
mod namespaces;
mod node;
mod node_output;
mod options;
mod run;
pub mod schedule;
#[cfg(test)]
mod tests;
mod timed_queue;

pub use atomic_write::write_atomically;
pub use error::{LiveError, LogTail};
pub use group::Counts;
pub use options::Options;
pub use run::{LiveOutcome, run};

/// Child processes and their networks, for other groups of processes than those of [`run`].
pub mod processes {
    pub use crate::child::{Child, Output, Report, Serial};
    pub use crate::namespaces::Namespaces;
}

use quorate_core::Duration;
use quorate_journal::settings::{Latency, Length};
use quorate_lab::registry::Family;
use quorate_lab::{Algorithm, FamilyLab, LinkChoice, Spec};

/// The bound on message delays for algorithms that assume one. No real network guarantees it, but a
/// delay this long is rare even on a busy machine.
const DELAY_BOUND: Duration = Duration::from_millis(250);

/// The experiment that `quorate run` and its `quorate node` processes both derive from the same
/// arguments.
///
/// The links of `quorate-net` already retransmit and order messages, so the nodes run without the
/// `Reliable` wrapper. The latency is only an estimate: clients derive their pace from it.
/// Elections also derive their timeouts from it, so their estimate is longer.
pub fn spec<F: FamilyLab>(algorithm: Algorithm<F>, nodes: usize, seed: u64, settings: F::Settings) -> Spec<F> {
    let (min_micros, max_micros) = match F::FAMILY {
        Family::Mutex | Family::Multicast | Family::Deadlock | Family::Replica => (100, 900),
        Family::Election => (1_000, 9_000),
    };
    let latency = Latency::Uniform { min: Duration::from_micros(min_micros), max: Duration::from_micros(max_micros) };
    let without_bound = Spec { nodes, seed, latency, links: LinkChoice::Bare, settings, ..Spec::new(algorithm) };
    Spec { delay_bound: without_bound.needs_bounds().then_some(Length(DELAY_BOUND)), ..without_bound }
}
