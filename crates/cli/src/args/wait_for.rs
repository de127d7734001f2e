//! The options of `quorate wait-for`.

use super::draw::ThemeArg;
use clap::{Args, ValueEnum};
use quorate_core::deadlock::Policy;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate wait-for --example printer-and-scanner\n  \
    quorate wait-for --example philosophers --svg philosophers.svg\n  \
    quorate wait-for --example printer-and-scanner --victim youngest --json\n\n\
    A graph has one statement a line, and # before comments:\n  \
    P1 -> P2, P3         P1 waits for P2 and P3      until both have let go\n  \
    P1 -> P2 | P3        P1 waits for P2 or P3       until one of them has\n  \
    P1 holds printer     P2 wants printer            and waits for P1, and for whoever wanted it before\n  \
    pool has 2 permits                               a semaphore: who wants it waits for one of its holders\n  \
    P1 began 12          P1 has priority 3           for the choice of a victim\n\n\
    Names have letters, digits and -_.:;/, such as table:employees;row:15. docs/deadlocks.md tells more.\n\n\
    Exit codes: 0 nobody is stuck, 1 there is a deadlock, 2 the command or the graph is wrong.")]
pub(crate) struct WaitForArgs {
    /// The graph; - is standard input.
    #[arg(required_unless_present = "example")]
    pub(crate) file: Option<PathBuf>,
    /// Take a graph of docs/wait-for instead.
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "file")]
    pub(crate) example: Option<ExampleArg>,
    /// Who gives up in a deadlock: whoever began last, holds the fewest locks, or has the lowest priority. The last by name, if several do.
    #[arg(long, value_enum, default_value = "fewest-locks")]
    pub(crate) victim: VictimArg,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the graph into this file, with cycle or knot marked; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    pub(crate) svg: Option<PathBuf>,
    /// Dark on light, light on dark, or as whoever looks at it prefers.
    #[arg(long, value_enum, help_heading = "Pictures")]
    pub(crate) theme: Option<ThemeArg>,
}

/// The graphs of the documents.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExampleArg {
    PrinterAndScanner,
    Philosophers,
    OrCycle,
    Knot,
    Semaphore,
}

impl ExampleArg {
    /// Its text.
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
