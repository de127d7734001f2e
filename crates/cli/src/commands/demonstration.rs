//! The names of demonstrations, which are not algorithms.

use super::detector;
use quorate_demos::{armies, local};

/// Rejects the name of a demonstration as an algorithm. clap parses it as one if options precede
/// it, and in commands that have no such demonstration.
pub(crate) fn reject_name(name: &str) -> anyhow::Result<()> {
    let sim = format!("Write 'quorate sim {name}' and its own options after it.");
    let (kind, remedy) = match name {
        "berkeley" | "race" => ("demonstration", sim),
        detector::DEMONSTRATION_NAME => (
            "demonstration",
            format!(
                "{sim} To run an election with a failure detector, use --detector heartbeat or --detector accrual."
            ),
        ),
        _ if name == armies::PROFILE.name || name == local::PROFILE.name => (
            if name == local::PROFILE.name { "demonstration with threads of one process" } else { "demonstration" },
            format!(
                "Write 'quorate check {name}', 'quorate sim {name}' or 'quorate explain {name}', and its own options \
                 after it."
            ),
        ),
        _ => return Ok(()),
    };
    anyhow::bail!("'{name}' is a {kind}, not an algorithm. {remedy}")
}
