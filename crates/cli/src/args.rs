//! Command-line arguments: the top-level parser and the arguments of small commands.

mod armies;
mod bank;
mod bench;
mod berkeley;
mod certs;
mod check;
mod compare;
mod detector;
mod draw;
mod form;
mod ignored_options;
mod live;
mod local;
mod node;
mod record;
mod run;
mod shrink;
mod voting_risk;
mod wait_for;

pub(crate) use armies::{ArmiesCheckArgs, ArmiesSimArgs};
pub(crate) use bank::BankArgs;
pub(crate) use bench::{BenchArgs, BenchFault, BenchSearch, BenchServerArgs, BenchSubject};
pub(crate) use berkeley::BerkeleyArgs;
pub(crate) use certs::CertsArgs;
pub(crate) use check::CheckArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use detector::DetectorSimArgs;
pub(crate) use draw::{DrawArgs, GalleryArgs, PictureArgs, ThemeArg};
pub(crate) use form::FormArgs;
pub(crate) use ignored_options::{no_effect, reject_ignored_options};
pub(crate) use live::LiveArgs;
pub(crate) use local::{CheckDemonstration, LocalCheckArgs, LocalSimArgs, RaceArgs, SimDemonstration};
pub(crate) use node::{LogLevel, NodeArgs, Peers, parse_addresses};
pub(crate) use quorate_lab::options::{parse_property, parse_whole};
pub(crate) use record::RecordArgs;
pub(crate) use run::RunArgs;
pub(crate) use shrink::ShrinkArgs;
pub(crate) use voting_risk::{MethodArg, SimulateArg, VotingRiskArgs};
pub(crate) use wait_for::WaitForArgs;

use crate::report::format_count;
use clap::{Args, Parser, Subcommand, ValueEnum};
use quorate_lab::LinkChoice;
use std::path::PathBuf;

/// Simulates, checks, draws and runs algorithms of distributed coordination.
#[derive(Parser)]
#[command(
    name = "quorate",
    version,
    after_help = "Examples:\n  quorate\n  quorate explain ricart-agrawala\n  quorate sim central --nodes 5 --steps\n  \
                  quorate sweep ricart-agrawala --seeds 10000 --loss 0.1 --duplicate 0.05\n  \
                  quorate check ricart-agrawala --nodes 3 --rounds 2\n  \
                  quorate run ricart-agrawala --nodes 5 --entries 100\n\n\
                  Without a command, quorate runs 'quorate demo'.\n\n\
                  Exit codes: 0 success, 1 a property fails, 2 the command or its input is invalid,\n\
                  3 a check or a run did not finish or is inconclusive."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

#[derive(Subcommand)]
pub(crate) enum CliCommand {
    /// Run three nodes that contend for a lock, and compare the figures with the literature.
    Demo(DemoArgs),
    /// List the algorithms.
    List(ListArgs),
    /// Explain an algorithm: its idea, rules, cost, assumptions and failures, with a small trace.
    Explain(ExplainArgs),
    /// Run an algorithm once in the simulator.
    Sim(SimArgs),
    /// Run an algorithm in real processes, and optionally kill, stop or partition them.
    Run(LiveArgs),
    /// Merge the journals of real nodes into one, in which every cause precedes its effects.
    Record(RecordArgs),
    /// Run an algorithm with many seeds, and report the first seed with which a property fails.
    Sweep(SweepArgs),
    /// Explore every reachable state of a small group, and report the shortest counterexample.
    Check(CheckArgs),
    /// Reduce a failing run to a smaller one that still fails, and save it as a script.
    Shrink(ShrinkArgs),
    /// Compare the algorithms of a family: expected, simulated and real figures side by side.
    Compare(CompareArgs),
    /// Deposit into one bank account from several nodes, without a lock and with every lock, and
    /// show how much money is lost.
    Bank(BankArgs),
    /// Compute the probability that voting admits two nodes at once, because voters forgot votes.
    VotingRisk(VotingRiskArgs),
    /// Find the deadlocks in a wait-for graph, explain them, choose victims, and draw the graph.
    WaitFor(WaitForArgs),
    /// Give every node of a recorded run its inputs again, and check that it acts as recorded.
    Replay(ReplayArgs),
    /// Print a journal as text or in figures, or show whether one step happened before another.
    Trace(TraceArgs),
    /// Draw a journal as a space-time diagram in SVG or text, or export it for Mermaid or ShiViz.
    Draw(DrawArgs),
    /// Draw every algorithm, and write a page that shows all the pictures.
    Gallery(GalleryArgs),
    /// Measure how fast Quorate is, against a baseline in the same run.
    Bench(BenchArgs),
    /// Run one server of a benchmark. 'quorate bench' starts it.
    #[command(hide = true)]
    BenchServer(BenchServerArgs),
    /// Run one node of a group of real processes, on any machine.
    Node(NodeArgs),
    /// Create the certificates with which the nodes of a group authenticate each other.
    Certs(CertsArgs),
}

#[derive(Args, Default)]
#[command(after_help = "Example:\n  quorate demo --seed 7")]
pub(crate) struct DemoArgs {
    /// Random seed. The same seed repeats the same run [default: 1]
    #[arg(long, value_parser = parse_whole::<u64>)]
    pub(crate) seed: Option<u64>,
    /// Print everything at once instead of line by line.
    #[arg(long)]
    pub(crate) fast: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate list\n  quorate list --fixtures --json")]
pub(crate) struct ListArgs {
    /// List the fixtures instead: faulty variants, which are wrong on purpose, and their correct
    /// twins.
    #[arg(long)]
    pub(crate) fixtures: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate explain ricart-agrawala\n  \
    quorate explain ricart-agrawala --svg ricart-agrawala.svg")]
pub(crate) struct ExplainArgs {
    /// Name of the algorithm, as 'quorate list' shows it.
    pub(crate) algorithm: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the explanation as a Markdown page, as in docs/algorithms.
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
    quorate sim ricart-agrawala --nodes 5 --latency fixed:1ms --workload all --steps\n  \
    quorate sim central --nodes 4 --fault \"crash 1 at 10ms\" --json\n  \
    quorate sim ricart-agrawala --loss 0.1 --fault \"cut 1 | 2,3 at 5ms for 20ms\" --trace run.journal\n  \
    quorate sim raft --nodes 5 --starters lowest --svg raft.svg\n  \
    quorate sim replica --nodes 5 --clients 4 --fault \"crash 1 at 500ms for 1s\"\n  \
    quorate sim race\n  \
    quorate sim armies --delay 2ms..5ms\n  \
    quorate sim detector --latency long-tail:2ms --loss 5% --svg detectors.svg\n\n\
    Faults:\n  crash 2 [torn] [at 10ms] [for 20ms]    restart 2 [blank] at 50ms\n  \
    pause 3 at 5ms for 20ms                resume 3 at 30ms\n  \
    cut 1,2 | 3 at 5ms for 20ms            cut 1 > 2 at 5ms            heal at 30ms\n  \
    skew 2 by 3ms                          drift 2 by 200ppm\n  \
    link 1 > 2 latency fixed:9ms           link 1 > 2 loss 0.5 at 5ms for 9ms\n  \
    disk 2 full at 5ms for 20ms            disk 2 fails at 5ms for 20ms\n  \
    close 2 at 40ms   (with --views)\n\n\
    A script (--script) has one fault, command or direction per line. A command is a word, a node, for some words a \
    text in quotation marks, and a time:\n  \
    acquire 2 at 5ms                       send 1 \"hello\" at 3ms      ask 1 \"P2 P3\" at 3ms\n\
    Commands are acquire, try, share, cancel and release for mutual exclusion; campaign and resign for elections; send \
    and leave for multicasts; ask, answer, give-up and look for the deadlock family; read, write and campaign for \
    replicas. A direction fixes a time that the seed would choose:\n  \
    message 3 of 1 > 2 takes 9ms           timer 5 of 2 takes 153ms    sync 2 of 1 takes 4ms\n\
    See docs/faults.md.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Demonstrations instead of an algorithm",
    subcommand_value_name = "local|race|armies|detector|berkeley"
)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    pub(crate) demonstration: Option<SimDemonstration>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Write the run's journal to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print every step, one line each.
    #[arg(long, conflicts_with = "json")]
    pub(crate) steps: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate sweep ricart-agrawala --seeds 1000000 --loss 0.1 --duplicate 0.05\n  \
    quorate sweep ricart-agrawala-clock-only --seeds 1000 --svg broken.svg\n  \
    quorate sweep raft --nodes 5 --seeds 1000 --random-faults crash=1,cut=1\n  \
    quorate sweep replica --nodes 5 --seeds 100 --chaos\n  \
    quorate sweep --family mutex --seeds 1000\n  \
    quorate sweep --family mutex --views --seeds 100\n\n\
    With --family, the command sweeps every algorithm of the family under several fault mixes, with --seeds seeds in \
    total for each algorithm. For mutual exclusion the mixes contain long-tailed delays, reordered messages, \
    non-blocking tries and clients that cancel; with --views also crashes, pauses, partitions, clock drift and loss. \
    The mixes of other families contain the faults that the algorithm tolerates.",
    mut_arg("algorithm", |algorithm| algorithm.required(false).required_unless_present("family")))]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Sweep every algorithm of this family instead of one algorithm, under several fault mixes.
    /// Options of the family apply to the algorithms that accept them; options of a single run are
    /// rejected.
    #[arg(long, value_name = "FAMILY", conflicts_with_all = RUN_ARGUMENTS)]
    pub(crate) family: Option<String>,
    /// Also sweep the family's fixtures: faulty variants, which are wrong on purpose, and their
    /// correct twins. Needs --family.
    #[arg(long, requires = "family")]
    pub(crate) fixtures: bool,
    /// Number of seeds to run, starting with --seed.
    #[arg(long, default_value_t = 1_000, value_parser = parse_whole::<u64>)]
    pub(crate) seeds: u64,
    /// Number of threads [default: the number of cores]
    #[arg(long, value_parser = parse_whole::<usize>)]
    pub(crate) threads: Option<usize>,
    /// Continue after a failure, and count all failures.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

/// The clap ids of the arguments that conflict with `--family`: a family's sweep chooses the
/// algorithms and their forms, the group, the first seed, the network and the faults itself.
const RUN_ARGUMENTS: [&str; 22] = [
    "algorithm",
    "nodes",
    "seed",
    "latency",
    "delay_bound",
    "processing",
    "disk",
    "loss",
    "duplicate",
    "fifo",
    "links",
    "faults",
    "script",
    "random_faults",
    "until",
    "chaos",
    "when_busy",
    "requests",
    "form",
    "quorums",
    "passing",
    "sequential",
];

#[derive(Args)]
#[command(after_help = "Example:\n  quorate sim central --trace run.journal && quorate replay run.journal --steps")]
pub(crate) struct ReplayArgs {
    /// Journal to read.
    pub(crate) file: PathBuf,
    /// Print every step, one line each.
    #[arg(long, conflicts_with = "json")]
    pub(crate) steps: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  quorate trace run.journal --clocks\n  quorate trace run.journal --summary --json\n  \
    quorate trace run.journal --before 4 9"
)]
pub(crate) struct TraceArgs {
    /// Journal to read.
    pub(crate) file: PathBuf,
    /// Print figures of the run instead of its steps.
    #[arg(long, conflicts_with_all = ["clocks", "before"])]
    pub(crate) summary: bool,
    /// Also print the vector clock of each step.
    #[arg(long)]
    pub(crate) clocks: bool,
    /// Report whether the step on the first line happened before the step on the second; 'quorate
    /// trace' shows the line numbers.
    #[arg(long, num_args = 2, value_names = ["LINE", "LINE"], value_parser = parse_whole::<u64>, conflicts_with = "clocks")]
    pub(crate) before: Option<Vec<u64>>,
    /// Print JSON. Steps always include their clocks.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum LinksArg {
    Auto,
    Bare,
    Reliable,
}

impl From<LinksArg> for LinkChoice {
    fn from(links: LinksArg) -> Self {
        match links {
            LinksArg::Auto => Self::Auto,
            LinksArg::Bare => Self::Bare,
            LinksArg::Reliable => Self::Reliable,
        }
    }
}

/// Maximum number of threads.
const MAX_THREADS: usize = 1_024;

/// Returns the number of threads to use: `requested`, or one per core. Fails if the number is out
/// of range.
pub(crate) fn thread_count(requested: Option<usize>) -> anyhow::Result<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = requested.unwrap_or(cores);
    anyhow::ensure!(
        (1..=MAX_THREADS).contains(&threads),
        "--threads must be between 1 and {MAX_THREADS}; got {threads}. This machine has {}.",
        format_count(cores as u64, "core")
    );
    Ok(threads)
}
