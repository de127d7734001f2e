//! What users type.

mod check;

pub(crate) use check::CheckArgs;

use crate::output::name;
use clap::{Args, Parser, Subcommand, ValueEnum};
use quorate_lab::{FaultMix, LinkChoice, Spec};
use quorate_sim::mutex::Pattern;
use quorate_sim::settings::{Chance, Latency, Length, NodeSet, Script, TimedFault};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::num::{IntErrorKind, ParseIntError};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Distributed coordination you can watch, prove and run.
#[derive(Parser)]
#[command(
    name = "quorate",
    version,
    after_help = "Examples:\n  quorate\n  quorate explain ricart-agrawala\n  quorate sim central --nodes 5 --steps\n  \
                  quorate sweep ricart-agrawala --seeds 10000 --loss 0.1 --duplicate 0.05\n  \
                  quorate check ricart-agrawala --nodes 3 --rounds 2\n\n\
                  Exit codes: 0 all is well, 1 a property fails, 2 the command or its input is wrong,\n\
                  3 a check did not finish."
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
    /// Run an algorithm with many seeds, and find one that breaks it.
    Sweep(SweepArgs),
    /// Try every order of a small group, and find the shortest one that breaks it.
    Check(CheckArgs),
    /// Let every node of a recorded run take its inputs again, and compare what it does.
    Replay(ReplayArgs),
    /// Read a journal: as text, in figures, or to ask what happened before what.
    Trace(TraceArgs),
    /// Measure how fast Quorate is.
    Bench(BenchArgs),
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
#[command(after_help = "Example:\n  quorate explain ricart-agrawala")]
pub(crate) struct ExplainArgs {
    /// The algorithm's name, as `quorate list` shows it.
    pub(crate) algorithm: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a page in Markdown, as in docs/algorithms.
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate sim ricart-agrawala --nodes 5 --latency fixed:1ms --workload all --steps\n  \
    quorate sim central --nodes 4 --fault \"crash 1 at 10ms\" --json\n  \
    quorate sim ricart-agrawala --loss 0.1 --fault \"cut 1 | 2,3 at 5ms for 20ms\" --trace run.journal\n\n\
    Faults:\n  crash 2 [torn] [at 10ms] [for 20ms]    restart 2 [blank] at 50ms\n  \
    pause 3 at 5ms for 20ms                resume 3 at 30ms\n  \
    cut 1,2 | 3 at 5ms for 20ms            cut 1 > 2 at 5ms            heal at 30ms\n  \
    skew 2 by 3ms                          drift 2 by 200ppm\n  \
    link 1 > 2 latency fixed:9ms           link 1 > 2 loss 0.5 at 5ms for 9ms\n\n\
    A script has one fault or command a line: acquire, try, cancel or release, a node, a time.")]
pub(crate) struct SimArgs {
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
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate sweep ricart-agrawala --seeds 1000000 --loss 0.1 --duplicate 0.05\n  \
    quorate sweep ricart-agrawala-clock-only --seeds 1000")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
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
}

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
#[command(after_help = "Examples:\n  quorate bench sim\n  quorate bench check --json\n\n\
    'bench check' compares with stateright if it finds the program quorate-rivals beside quorate:\n  \
    cargo build --release -p quorate-rivals")]
pub(crate) struct BenchArgs {
    /// What to measure.
    pub(crate) subject: BenchSubject,
    /// How often each contender has its turn; its best counts.
    #[arg(long, default_value_t = 5, value_parser = whole::<u64>)]
    pub(crate) turns: u64,
    /// How many events each loop handles, 20000000 unless given. Only for 'bench sim'.
    #[arg(long, value_parser = whole::<u64>)]
    pub(crate) events: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure memory in this process alone and print it; 'bench sim' starts itself so.
    #[arg(long, hide = true, value_name = "NODES")]
    pub(crate) memory_of: Option<usize>,
    /// Search once in this process alone and print the figures; 'bench check' starts itself so.
    #[arg(long, hide = true)]
    pub(crate) search: Option<BenchSearch>,
    /// With so many threads.
    #[arg(long, hide = true, requires = "search", default_value_t = 1, value_parser = whole::<usize>)]
    pub(crate) threads: usize,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BenchSubject {
    /// The simulator, beside a bare binary-heap loop in the same run.
    Sim,
    /// The checker, beside stateright on the same nodes in the same run.
    Check,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BenchSearch {
    /// Breadth first.
    Bfs,
    /// Depth first.
    Dfs,
}

/// What to run. Journals remember all of it.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// The algorithm's name, as `quorate list` shows it.
    algorithm: String,
    /// How many nodes there are, numbered from 1.
    #[arg(long, default_value_t = 3, value_parser = whole::<usize>)]
    nodes: usize,
    /// What all chance follows from.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    seed: u64,
    /// How many requests there are, all nodes together.
    #[arg(long, default_value_t = 10, value_parser = whole::<u64>)]
    entries: u64,
    /// When nodes ask: one alone, all at once and again, or at random times.
    #[arg(long, value_enum, default_value = "random")]
    workload: WorkloadArg,
    /// Who asks, such as 1,3 or 2-5; everyone unless given (with the workload single: the last one).
    #[arg(long, value_name = "NODES")]
    requesters: Option<NodeSet>,
    /// How long a message takes: fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
    #[arg(long, default_value = "uniform:1ms..5ms")]
    latency: Latency,
    /// How long a node is busy with each input.
    #[arg(long, default_value = "fixed:0ms")]
    processing: Latency,
    /// How long a sync of a node's disk takes.
    #[arg(long, default_value = "fixed:0ms")]
    disk: Latency,
    /// How long a node stays inside; one message time unless given.
    #[arg(long)]
    hold: Option<Latency>,
    /// How long a node is content outside; chosen to suit the workload unless given.
    #[arg(long)]
    think: Option<Latency>,
    /// How likely a message is lost: 0.1 or 10%.
    #[arg(long, default_value = "0")]
    loss: Chance,
    /// How likely a message arrives twice.
    #[arg(long, default_value = "0")]
    duplicate: Chance,
    /// Links keep the order of messages.
    #[arg(long)]
    fifo: bool,
    /// Whether a layer that repeats and orders messages is put under the algorithm; auto: where messages can be lost.
    #[arg(long, value_enum, default_value = "auto")]
    links: LinksArg,
    /// How likely a request is a try, which is denied rather than made to wait.
    #[arg(long = "try", default_value = "0", value_name = "CHANCE")]
    tries: Chance,
    /// How likely a request is given up after a while.
    #[arg(long = "cancel", default_value = "0", value_name = "CHANCE")]
    cancels: Chance,
    /// Something that goes wrong, such as "crash 2 at 10ms". May be repeated.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<TimedFault>,
    /// A file of faults and commands, one a line.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Faults that the seed chooses, such as pause=2,cut=1 (also crash, deaf, skew, drift).
    #[arg(long, default_value = "", value_name = "MIX", hide_default_value = true)]
    random_faults: FaultMix,
    /// When the run is stopped at the latest, in simulated time.
    #[arg(long, value_name = "LENGTH")]
    until: Option<Length>,
}

#[derive(Clone, Copy, ValueEnum)]
enum WorkloadArg {
    Single,
    All,
    Random,
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

impl RunArgs {
    /// Whether this file is the script that the run is read from.
    pub(crate) fn is_script(&self, path: &Path) -> bool {
        let resolved = |path: &Path| path.canonicalize().ok();
        self.script.as_deref().is_some_and(|script| resolved(script).is_some() && resolved(script) == resolved(path))
    }

    /// The experiment that these arguments describe.
    pub(crate) fn spec(&self) -> anyhow::Result<Spec> {
        let script_path = self.script.as_ref().map(|path| path.display().to_string());
        let spec = Spec {
            algorithm: self.algorithm.clone(),
            nodes: self.nodes,
            seed: self.seed,
            entries: self.entries,
            workload: match self.workload {
                WorkloadArg::Single => Pattern::Single,
                WorkloadArg::All => Pattern::All,
                WorkloadArg::Random => Pattern::Random,
            },
            requesters: self.requesters()?,
            latency: self.latency,
            processing: self.processing,
            disk: self.disk,
            hold: self.hold,
            think: self.think,
            loss: self.loss,
            duplicate: self.duplicate,
            fifo: self.fifo,
            links: self.links.into(),
            tries: self.tries,
            cancels: self.cancels,
            faults: self.faults.clone(),
            script: self.script.as_deref().map(|path| read_script(path, self.nodes)).transpose()?,
            script_path,
            random_faults: self.random_faults.clone(),
            until: self.until,
        };
        spec.validate()?;
        Ok(spec)
    }

    /// A range of requesters that reaches beyond the group is refused before it is spelled out.
    fn requesters(&self) -> anyhow::Result<Vec<quorate_core::NodeId>> {
        let Some(requesters) = &self.requesters else { return Ok(Vec::new()) };
        match requesters.highest() {
            Some(node) if node.index() >= self.nodes => {
                Err(quorate_lab::LabError::NoSuchRequester { node, nodes: self.nodes }.into())
            }
            _ => Ok(requesters.iter().collect()),
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

/// A whole number that is not negative, or what to write instead.
fn whole<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<N>());
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("'{}' is too large; at most {most} fits.", text.escape_debug()),
        _ => format!("'{}' is not a whole number; write for example 7.", text.escape_debug()),
    })
}

fn read_script(path: &Path, nodes: usize) -> anyhow::Result<Script> {
    let text =
        read_text(path).map_err(|error| anyhow::anyhow!("The script {} could not be read: {error}.", name(path)))?;
    let names = quorate_core::mutex::COMMANDS.map(|command| command.name());
    let read = Script::parse(&text, &names).and_then(|script| script.validate(nodes).map(|()| script));
    read.map_err(|error| anyhow::anyhow!("In the script {}: {error}", name(path)))
}

/// No script is longer: what seems so is no script.
const MOST_SCRIPT: u64 = 16 << 20;

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MOST_SCRIPT).read_to_string(&mut text)?;
    if read as u64 == MOST_SCRIPT {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "it is longer than 16 MiB"));
    }
    Ok(text)
}
