//! Groups of real processes on one machine: started, driven, hurt, recorded and judged.
//!
//! [`run`] is what `quorate run` does. It starts one process a node (`quorate node`), lets the same users ask that ask in
//! the simulator, kills, stops and cuts off processes as the experiment says, stops everything in good order, gathers the
//! journals of all lives of all processes into one, and reads from it what the simulator would have measured and judged.
//!
//! ```no_run
//! use quorate_lab::{Algorithm, Mutex, mutex};
//! use quorate_live::{Options, run, spec};
//!
//! let settings = mutex::Settings { entries: 20, ..Default::default() };
//! let spec = spec::<Mutex>(Algorithm::named("ricart-agrawala")?, 5, 1, settings);
//! let recorded = run(&spec, &Options::new("quorate"), &mut |_, _, _| {})?;
//! assert_eq!(recorded.read.summary.messages_per_entry, Some(8.0)); // 2(n−1), over TCP
//! # Ok::<(), quorate_live::LiveError>(())
//! ```
//!
//! What is run and how its users behave follows from the seed. When things happen does not: clocks, disks and networks
//! are real, so no two runs are the same. The journal of a run is, whenever it is read again.

mod agenda;
pub mod chaos;
mod child;
mod error;
mod folder;
mod judge;
mod launch;
mod lines;
mod member;
mod namespaces;
mod options;
mod run;
pub mod schedule;
mod stage;
#[cfg(test)]
mod tests;
mod whole;
mod world;

pub use error::{LiveError, Log};
pub use options::Options;
pub use run::{Recorded, run};
pub use stage::Counts;
pub use whole::write_whole;

use quorate_core::Duration;
use quorate_journal::settings::{Latency, Length};
use quorate_lab::registry::Family;
use quorate_lab::{Algorithm, FamilyLab, LinkChoice, Spec};

/// How long a message takes at most, for algorithms that are wrong where one takes longer. No network and no machine
/// promises that; this is so long that a busy one seldom breaks it.
const LONGEST: Duration = Duration::from_millis(250);

/// The experiment that real processes of this algorithm carry out; `quorate node` and `quorate run` agree on it.
///
/// TCP repeats and orders messages already, so nothing is put under the algorithm. Nobody knows how long messages will
/// take; the guess gives users their pace, and elections a bound to count their waits in.
pub fn spec<F: FamilyLab>(algorithm: Algorithm<F>, nodes: usize, seed: u64, settings: F::Settings) -> Spec<F> {
    let (least, most) = match F::FAMILY {
        Family::Mutex | Family::Multicast | Family::Deadlock | Family::Replica => (100, 900),
        Family::Election => (1_000, 9_000),
    };
    let latency = Latency::Uniform { least: Duration::from_micros(least), most: Duration::from_micros(most) };
    let guess = Spec { nodes, seed, latency, links: LinkChoice::Bare, settings, ..Spec::new(algorithm) };
    Spec { bound: guess.needs_bounds().then_some(Length(LONGEST)), ..guess }
}
