//! Arguments of `quorate compare`.

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
    The expected figures are those of the literature. They are for groups without faults, with delays in \
    message times (T). In the simulator every message takes 1 ms, so that simulated delays are in T too. Real delays \
    are in milliseconds and include the overhead of the machine.\n\n\
    Workloads range from idle to saturated: single (one node requests the lock), pair (two nodes take turns), \
    random:LOAD (all nodes request at random times) and all (all nodes request at once, and again after each release). \
    With random, a node holds the lock for T and then pauses. With a load of 10%, each of n nodes pauses for 10 n T on \
    average, so that the lock would be held about a tenth of the time if no node ever had to wait. Because a handover \
    takes time as well, a load of 50%, the default of random, keeps most algorithms saturated.\n\n\
    --failures crashes one node per run in the simulator, at many instants: the coordinator (if there is one), the \
    holder of the lock, a waiter or an idle node. The node stays down, or restarts without its state. The result shows \
    whether the other nodes continue, stop, or are unsafe (two nodes hold the lock).\n\n\
    Elections are measured over all arrangements of up to 8 nodes on a ring, and over samples of larger rings.\n\n\
    Multicasts are measured one at a time: the number of messages that one multicast takes, and the message times \
    until the last member has delivered it.\n\n\
    Exit codes: 0 success, 1 a property fails or a figure differs from the expected one although it must be equal, 2 \
    the command is invalid or a process failed, 3 the command was interrupted.")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) options: CompareOptions,
    /// Print JSON.
    // The display orders of `CompareOptions` end at 14.
    #[arg(long, display_order = 15)]
    pub(crate) json: bool,
    /// Draw the comparison as SVG into this file, with the expected figures as lines; - is standard
    /// output.
    #[arg(long, value_name = "FILE", help_heading = "Pictures")]
    svg: Option<PathBuf>,
    /// Colours of the picture: light, dark, or auto, which follows the viewer's setting [default:
    /// auto]
    #[arg(long, value_enum, help_heading = "Pictures")]
    theme: Option<ThemeArg>,
}

impl CompareArgs {
    pub(crate) fn picture(&self) -> anyhow::Result<Option<FigurePlan>> {
        FigurePlan::from_options(self.svg.as_deref(), self.theme, self.json)
    }
}
