//! Arguments of `quorate wait-for`.

use super::draw::ThemeArg;
use clap::{Args, ValueEnum};
use quorate_core::deadlock::Policy;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate wait-for --example printer-and-scanner\n  \
    quorate wait-for --example philosophers --svg philosophers.svg\n  \
    quorate wait-for --example printer-and-scanner --victim youngest --json\n\n\
    A graph file has one statement per line. Comments start with #.\n  \
    P1 -> P2, P3         P1 waits until both P2 and P3 release\n  \
    P1 -> P2 | P3        P1 waits until P2 or P3 releases\n  \
    P1 holds printer     P1 holds a lock\n  \
    P2 wants printer     P2 waits for the holder, and for all that asked for the lock earlier\n  \
    pool has 2 permits   a semaphore: a process that wants it waits for one of its holders\n  \
    P1 began 12          start time of P1, for --victim youngest\n  \
    P1 has priority 3    priority of P1, for --victim lowest-priority\n\n\
    Names consist of letters, digits and the characters - _ . : ; / without spaces, such as\n\
    table:employees;row:15. See docs/deadlocks.md.\n\n\
    Exit codes: 0 there is no deadlock, 1 there is one, 2 the command or the graph is invalid.")]
pub(crate) struct WaitForArgs {
    /// File with the graph; - is standard input.
    #[arg(required_unless_present = "example")]
    pub(crate) file: Option<PathBuf>,
    /// Use this built-in graph, also found in docs/wait-for, instead of a file.
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "file")]
    pub(crate) example: Option<ExampleArg>,
    /// Process to abort in a deadlock: the one that began last, holds the fewest locks, or has the
    /// lowest priority. Ties go to the name that sorts last.
    #[arg(long, value_enum, default_value = "fewest-locks")]
    pub(crate) victim: VictimArg,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the graph as SVG into this file, with the cycle or knot marked; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    pub(crate) svg: Option<PathBuf>,
    /// Colours of the picture: light, dark, or auto, which follows the viewer's setting [default:
    /// auto]
    #[arg(long, value_enum, help_heading = "Pictures")]
    pub(crate) theme: Option<ThemeArg>,
}

/// The built-in graphs of docs/wait-for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExampleArg {
    PrinterAndScanner,
    Philosophers,
    OrCycle,
    Knot,
    Semaphore,
}

impl ExampleArg {
    /// Returns the text of the graph file.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::PrinterAndScanner => include_str!("../../../../docs/wait-for/printer-and-scanner.txt"),
            Self::Philosophers => include_str!("../../../../docs/wait-for/philosophers.txt"),
            Self::OrCycle => include_str!("../../../../docs/wait-for/or-cycle.txt"),
            Self::Knot => include_str!("../../../../docs/wait-for/knot.txt"),
            Self::Semaphore => include_str!("../../../../docs/wait-for/semaphore.txt"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VictimArg {
    Youngest,
    FewestLocks,
    LowestPriority,
}

impl From<VictimArg> for Policy {
    fn from(victim: VictimArg) -> Self {
        match victim {
            VictimArg::Youngest => Self::Youngest,
            VictimArg::FewestLocks => Self::FewestLocks,
            VictimArg::LowestPriority => Self::LowestPriority,
        }
    }
}
