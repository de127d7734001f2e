//! What users type after `quorate compare`.

use super::draw::ThemeArg;
use crate::picture::FigurePlan;
use clap::Args;
use quorate_lab::compare::CompareOptions;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate compare mutex\n  \
    quorate compare mutex --nodes 4,9,16,25,49 --svg mutex.svg\n  \
    quorate compare mutex --algorithms central,ricart-agrawala --nodes 2-16 --workload all --json\n  \
    quorate compare mutex --algorithms central --nodes 3 --entries 20 --real\n  \
    quorate compare mutex --failures\n  \
    quorate compare election --nodes 4,7 --starters one,all\n  \
    quorate compare multicast --nodes 2,8,64\n\n\
    The book's figures are for groups without faults, and its delays are in message times (T). In the simulator every \
    message takes 1 ms, so delays come out in T. Real delays are in milliseconds, and part of each is the machine's own.\n\n\
    Workloads go from idle to saturated: single (one node asks alone), pair (two take turns), random:LOAD (everyone asks at \
    random times) and all (everyone asks at once, and again after leaving). A load of 10% means that somebody would be inside a tenth of the \
    time if nobody ever had to wait: each of n nodes is content for n T / 10% on the average. Because a handover takes \
    time as well, a load of 50%, which is meant by random alone, keeps most algorithms busy all the time.\n\n\
    --failures lets a node fail in the simulator while another is inside and a third one waits, at many instants, and tells \
    whether the others go on, stop, or are unsafe (two inside).\n\n\
    Elections are counted over all orders in which up to 8 nodes can sit round a ring, and over samples of larger rings.\n\n\
    Multicasts are counted while nobody else sends: the messages that one takes, and the message times until the last member has \
    delivered it.\n\n\
    Exit codes: 0 all is well, 1 a property fails or a figure is not the book's although it must be, 2 the command is \
    wrong or a process failed, 3 somebody interrupted it.")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) options: CompareOptions,
    /// Print JSON.
    #[arg(long, display_order = 15)]
    pub(crate) json: bool,
    /// Draw it into this file, with the book's figures as lines; - is standard output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    svg: Option<PathBuf>,
    /// Dark on light, light on dark, or as whoever looks at it prefers.
    #[arg(long, value_enum, help_heading = "Pictures")]
    theme: Option<ThemeArg>,
}

impl CompareArgs {
    pub(crate) fn picture(&self) -> anyhow::Result<Option<FigurePlan>> {
        FigurePlan::of(self.svg.as_deref(), self.theme, self.json)
    }
}
