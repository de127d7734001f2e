//! What users type.

mod armies;
mod bank;
mod berkeley;
mod certs;
mod check;
mod compare;
mod detector;
mod draw;
mod effects;
mod form;
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
pub(crate) use berkeley::BerkeleyArgs;
pub(crate) use certs::CertsArgs;
pub(crate) use check::CheckArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use detector::DetectorSimArgs;
pub(crate) use draw::{DrawArgs, GalleryArgs, PictureArgs, ThemeArg};
pub(crate) use effects::{no_effect, refuse_ignored};
pub(crate) use form::FormArgs;
pub(crate) use live::LiveArgs;
pub(crate) use local::{LocalCheck, LocalCheckArgs, LocalSim, LocalSimArgs, RaceArgs};
pub(crate) use node::{LogLevel, NodeArgs, Peers, addresses};
pub(crate) use quorate_lab::options::whole;
pub(crate) use record::RecordArgs;
pub(crate) use run::RunArgs;
pub(crate) use shrink::ShrinkArgs;
pub(crate) use voting_risk::{ByArg, SimulateArg, VotingRiskArgs};
pub(crate) use wait_for::WaitForArgs;

use crate::bench::Contender;
use clap::{Args, Parser, Subcommand, ValueEnum};
use quorate_lab::LinkChoice;
use std::path::PathBuf;

/// Distributed coordination you can watch, prove and run.
#[derive(Parser)]
#[command(
    name = "quorate",
    version,
    after_help = "Examples:\n  quorate\n  quorate explain ricart-agrawala\n  quorate sim central --nodes 5 --steps\n  \
                  quorate sweep ricart-agrawala --seeds 10000 --loss 0.1 --duplicate 0.05\n  \
                  quorate check ricart-agrawala --nodes 3 --rounds 2\n  \
                  quorate run ricart-agrawala --nodes 5 --entries 100\n\n\
                  Exit codes: 0 all is well, 1 a property fails, 2 the command or its input is wrong,\n\
                  3 a check or a run did not finish, or cannot say."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Watch three nodes contend, and see the book's figures come out.
    Demo(DemoArgs),
    /// List the algorithms.
    List(ListArgs),
    /// Explain an algorithm: idea, rules, cost, assumptions, failures, a small trace.
    Explain(ExplainArgs),
    /// Run an algorithm once in the simulator.
    Sim(SimArgs),
    /// Run an algorithm in real processes, which can be killed, stopped and cut off from each other.
    Run(LiveArgs),
    /// Gather the journals that real nodes wrote into one, in which causes come before what they cause.
    Record(RecordArgs),
    /// Run an algorithm with many seeds, and find one that breaks it.
    Sweep(SweepArgs),
    /// Try every order of a small group, and find the shortest one that breaks it.
    Check(CheckArgs),
    /// Make a run that fails as small as it gets, and save it as a script.
    Shrink(ShrinkArgs),
    /// Put the algorithms of a family side by side: what the book says, what is simulated, and what is real.
    Compare(CompareArgs),
    /// Let tellers deposit into one account, with no lock and with every lock, and see what is lost.
    Bank(BankArgs),
    /// Tell how likely voting lets two in because voters forgot, by the formula and by simulation.
    VotingRisk(VotingRiskArgs),
    /// Search a wait-for graph for deadlocks, explain them, choose a victim, and draw it.
    WaitFor(WaitForArgs),
    /// Let every node of a recorded run take its inputs again, and compare what it does.
    Replay(ReplayArgs),
    /// Read a journal: as text, in figures, or to ask what happened before what.
    Trace(TraceArgs),
    /// Draw a journal: as a space-time diagram, as text, for Mermaid or for ShiViz.
    Draw(DrawArgs),
    /// Draw every algorithm, and a page that shows them all.
    Gallery(GalleryArgs),
    /// Measure how fast Quorate is.
    Bench(BenchArgs),
    /// Be one node of a group of real processes, on any machine.
    Node(NodeArgs),
    /// Make the certificates by which the nodes of a group know each other.
    Certs(CertsArgs),
}

#[derive(Args, Default)]
#[command(after_help = "Example:\n  quorate demo --seed 7")]
pub(crate) struct DemoArgs {
    /// What all chance follows from.
    #[arg(long, value_parser = whole::<u64>)]
    pub(crate) seed: Option<u64>,
    /// Print everything at once instead of line by line.
    #[arg(long)]
    pub(crate) fast: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate list\n  quorate list --fixtures --json")]
pub(crate) struct ListArgs {
    /// Show the protocols that are wrong on purpose instead.
    #[arg(long)]
    pub(crate) fixtures: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  quorate explain ricart-agrawala\n  quorate explain ricart-agrawala --svg ricart-agrawala.svg"
)]
pub(crate) struct ExplainArgs {
    /// The algorithm's name, as `quorate list` shows it.
    pub(crate) algorithm: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a page in Markdown, as in docs/algorithms.
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
    disk 2 full at 5ms for 20ms            disk 2 fails at 5ms for 20ms\n\n\
    A script has one fault or command a line: a command, a node, a time. Commands are acquire, try, share, cancel \
    and release in mutual exclusion, campaign and resign in elections, send and leave in multicasts, ask, answer, give-up and look with deadlocks, read, write and \
    campaign with replicas. It may also say what would be left to chance, a direction a line:\n  \
    message 3 of 1 > 2 takes 9ms           timer 5 of 2 takes 153ms    sync 2 of 1 takes 4ms",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Without an algorithm of a group",
    subcommand_value_name = "local|race|armies|detector|berkeley"
)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    pub(crate) local: Option<LocalSim>,
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
    A sweep of a family takes every algorithm of it through the same bad weather: long tails, any order of messages, tries, \
    users who give up; in views also crashes, pauses, partitions, drift and loss. Each algorithm gets --seeds seeds in all.",
    mut_arg("algorithm", |algorithm| algorithm.required(false).required_unless_present("family")))]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Sweep every algorithm of a family instead of one, in weather of all kinds. Options of the family go to the algorithms that take
    /// them; other options of a run are refused.
    #[arg(long, value_name = "FAMILY", conflicts_with_all = RUN_OPTIONS)]
    pub(crate) family: Option<String>,
    /// Sweep those of the family too that are wrong on purpose.
    #[arg(long, requires = "family")]
    pub(crate) fixtures: bool,
    /// How many seeds to run, beginning with --seed.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<u64>)]
    pub(crate) seeds: u64,
    /// How many threads to use; all cores unless given.
    #[arg(long, value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    /// Go on after a failure and count them all.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

/// What describes one run, and so not a whole family, which goes through weather of its own.
const RUN_OPTIONS: [&str; 22] = [
    "algorithm",
    "nodes",
    "seed",
    "latency",
    "bound",
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
    /// The journal.
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
    /// The journal.
    pub(crate) file: PathBuf,
    /// Print figures instead of steps.
    #[arg(long, conflicts_with_all = ["clocks", "before"])]
    pub(crate) summary: bool,
    /// Print each step's vector clock too.
    #[arg(long)]
    pub(crate) clocks: bool,
    /// Whether the step on the one line of the journal happened before the step on the other.
    #[arg(long, num_args = 2, value_names = ["LINE", "LINE"], value_parser = whole::<u64>, conflicts_with = "clocks")]
    pub(crate) before: Option<Vec<u64>>,
    /// Print JSON; of steps, always with their clocks.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  quorate bench sim\n  quorate bench check --json\n  quorate bench replica --folder .\n  \
    quorate bench net\n  quorate bench deadlock --waiters 1000\n\n\
    'bench check' compares with stateright if the program quorate-rivals was built in the same repository:\n  \
    cargo build --release --manifest-path rivals/Cargo.toml"
)]
pub(crate) struct BenchArgs {
    /// What to measure.
    pub(crate) subject: BenchSubject,
    /// How often each contender has its turn; its best counts.
    #[arg(long, default_value_t = 5, value_parser = whole::<u64>)]
    pub(crate) turns: u64,
    /// How many events each loop handles, 20000000 unless given. Only for 'bench sim'.
    #[arg(long, value_parser = whole::<u64>)]
    pub(crate) events: Option<u64>,
    /// How many wait in the end, one graph of each shape for each number; 1000,10000,100000 unless given. Only for 'bench deadlock'.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = whole::<u64>)]
    pub(crate) waiters: Vec<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where 'bench replica' writes, in a folder that is gone afterwards; the system's folder for temporary files unless
    /// given.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Measure memory in this process alone and print it; 'bench sim' starts itself so.
    #[arg(long, hide = true, value_name = "NODES")]
    pub(crate) memory_of: Option<usize>,
    /// Be the other process of a turn; 'bench net' starts itself so.
    #[arg(long, hide = true, requires = "partner_of")]
    pub(crate) partner: Option<Contender>,
    /// Where the first process listens.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub(crate) partner_of: Option<String>,
    /// On which core to run.
    #[arg(long, hide = true, value_parser = whole::<usize>)]
    pub(crate) partner_core: Option<usize>,
    /// Search once in this process alone and print the figures; 'bench check' starts itself so.
    #[arg(long, hide = true)]
    pub(crate) search: Option<BenchSearch>,
    /// With so many threads.
    #[arg(long, hide = true, requires = "search", default_value_t = 1, value_parser = whole::<usize>)]
    pub(crate) threads: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchSubject {
    /// The simulator, beside a bare binary-heap loop in the same run.
    Sim,
    /// The checker, beside stateright on the same nodes in the same run.
    Check,
    /// Three replicas with and without disks, beside the raw disk in the same run.
    Replica,
    /// Messages between two processes, plain and encrypted, beside a bare tokio loop in the same run.
    Net,
    /// The wait-for graph of a lock service, beside a fresh search with petgraph in the same run.
    Deadlock,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BenchSearch {
    /// Breadth first.
    Bfs,
    /// Depth first.
    Dfs,
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

/// More threads than any machine has cores for.
const MOST_THREADS: usize = 1_024;

/// How many threads to use; all cores unless told otherwise. `verb` is what needs them: a sweep, a check.
pub(crate) fn threads(wanted: Option<usize>, verb: &str) -> anyhow::Result<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = wanted.unwrap_or(cores);
    anyhow::ensure!(threads > 0, "A {verb} needs at least one thread: --threads {cores}.");
    anyhow::ensure!(
        threads <= MOST_THREADS,
        "{threads} threads are too many: at most {MOST_THREADS} fit, and --threads {cores} is as fast as it gets here."
    );
    Ok(threads)
}
