//! Arguments of `quorate bench`, and of the servers that it starts.

use super::parse_whole;
use crate::bench::NetContender;
use clap::{Args, ValueEnum};
use quorate_journal::settings::Length;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  quorate bench sim\n  quorate bench check --json\n  quorate bench replica --folder .\n  \
    quorate bench fail-over --fault stop --rounds 10\n  quorate bench members\n  quorate bench net\n  quorate bench deadlock --waiters 1000\n\n\
    'bench check' also measures stateright if the program quorate-rivals was built in the same repository:\n  \
    cargo build --release --manifest-path rivals/Cargo.toml\n\n\
    Exit codes: 0 all targets are met, 1 one is missed, 2 the command is invalid or a measurement failed,\n\
    3 the benchmark was interrupted."
)]
pub(crate) struct BenchArgs {
    /// Part of Quorate to measure.
    pub(crate) subject: BenchSubject,
    /// Number of times each contender is measured. The best result of each is printed. Not for
    /// 'bench fail-over' and 'bench members' [default: 5]
    #[arg(long, alias = "turns", value_parser = parse_whole::<u64>)]
    runs: Option<u64>,
    /// Number of events that the simulator and the bare loop each handle in a ring of 1,000 nodes;
    /// a quarter of it in a ring of a million. Only for 'bench sim' [default: 20000000]
    #[arg(long, value_parser = parse_whole::<u64>)]
    pub(crate) events: Option<u64>,
    /// Numbers of waiters that a graph grows to. Each number is measured with several kinds of
    /// graphs: queues, chains, hot locks and random waits. Only for 'bench deadlock' [default:
    /// 1000,10000,100000]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse_whole::<u64>)]
    pub(crate) waiters: Vec<u64>,
    /// Measure three replicas on threads of this process instead, with and without disks. Only for
    /// 'bench replica'
    #[arg(long)]
    pub(crate) in_process: bool,
    /// Distribute the clients over all members instead of connecting them to the leader. Only for
    /// 'bench replica'
    #[arg(long)]
    pub(crate) spread: bool,
    /// Numbers of requests in flight to measure with, each on a connection of its own. Only for
    /// 'bench replica' [default: 1,64,256]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse_whole::<u64>)]
    pub(crate) in_flight: Vec<u64>,
    /// Fault of the leader. Only for 'bench fail-over' [default: kill]
    #[arg(long)]
    pub(crate) fault: Option<BenchFault>,
    /// Number of faults. Only for 'bench fail-over' [default: 50]
    #[arg(long, value_parser = parse_whole::<u64>)]
    pub(crate) rounds: Option<u64>,
    /// Time between the recovery from a fault and the next fault. Only for 'bench fail-over'
    /// [default: 1.2s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) rest: Option<Length>,
    /// Number of clients, each with one request in flight. Only for 'bench fail-over' and 'bench
    /// members' [default: 16]
    #[arg(long, value_parser = parse_whole::<u64>)]
    pub(crate) clients: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder in which the replicas of 'bench replica', 'bench fail-over' and 'bench members' have
    /// their data while the benchmark runs [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Print the memory in bytes per node that a simulation of this number of nodes takes in this
    /// process. 'bench sim' starts itself with this option.
    #[arg(long, hide = true, value_name = "NODES")]
    pub(crate) memory_of: Option<usize>,
    /// Run as the second process of a measurement. 'bench net' starts itself with this option.
    #[arg(long, hide = true, requires = "partner_of")]
    pub(crate) partner: Option<NetContender>,
    /// Address on which the first process listens.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub(crate) partner_of: Option<String>,
    /// CPU core to run on.
    #[arg(long, hide = true, value_parser = parse_whole::<usize>)]
    pub(crate) partner_core: Option<usize>,
    /// Search once in this process alone and print the figures. 'bench check' starts itself with
    /// this option.
    #[arg(long, hide = true)]
    pub(crate) search: Option<BenchSearch>,
    /// Number of threads of the search. Needs --search.
    #[arg(long, hide = true, requires = "search", default_value_t = 1, value_parser = parse_whole::<usize>)]
    pub(crate) threads: usize,
}

impl BenchArgs {
    /// Number of times each contender is measured.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.unwrap_or(5)
    }

    /// The first option that is given and does not apply to the subject, with the subjects to which
    /// it applies.
    pub(crate) fn ignored_option(&self) -> Option<(&'static str, &'static [BenchSubject])> {
        use BenchSubject::{Check, Deadlock, FailOver, Members, Net, Replica, Sim};
        // The first process of 'bench net' passes the folder of its certificates to its partner.
        let has_folder = self.folder.is_some() && self.partner.is_none();
        let options: [(&str, bool, &[BenchSubject]); 11] = [
            ("--runs", self.runs.is_some(), &[Sim, Check, Replica, Net, Deadlock]),
            ("--folder", has_folder, &[Replica, FailOver, Members]),
            ("--events", self.events.is_some(), &[Sim]),
            ("--waiters", !self.waiters.is_empty(), &[Deadlock]),
            ("--in-process", self.in_process, &[Replica]),
            ("--spread", self.spread, &[Replica]),
            ("--in-flight", !self.in_flight.is_empty(), &[Replica]),
            ("--fault", self.fault.is_some(), &[FailOver]),
            ("--rounds", self.rounds.is_some(), &[FailOver]),
            ("--rest", self.rest.is_some(), &[FailOver]),
            ("--clients", self.clients.is_some(), &[FailOver, Members]),
        ];
        let is_ignored = |subjects: &[BenchSubject]| !subjects.contains(&self.subject);
        let ignored = options.into_iter().find(|(_, is_given, subjects)| *is_given && is_ignored(subjects));
        ignored.map(|(option, _, subjects)| (option, subjects))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFault {
    /// SIGKILL ends the leader's process, as a crash would. It is then restarted.
    Kill,
    /// SIGSTOP pauses the leader's process, as a long pause of a virtual machine would.
    Stop,
    /// The network drops all packets between the leader and the other servers, but not those of
    /// clients. Needs Linux, root and the program ip.
    Cut,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchSubject {
    /// The simulator, beside a bare loop with a binary heap.
    Sim,
    /// The checker, beside stateright on the same nodes.
    Check,
    /// Three replicas in three processes under load, beside the raw disk.
    Replica,
    /// The time without service after the leader is killed, paused or cut off.
    FailOver,
    /// Service while the group grows from three members to five and shrinks again.
    Members,
    /// Messages between two processes, plain and encrypted, beside a bare tokio loop.
    Net,
    /// The incremental wait-for graph, beside a fresh search with petgraph for each wait.
    Deadlock,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BenchSearch {
    /// Breadth first.
    Bfs,
    /// Depth first.
    Dfs,
}

/// Arguments of a server that 'quorate bench' starts.
#[derive(Args)]
pub(crate) struct BenchServerArgs {
    /// Number of this server.
    #[arg(long, value_parser = parse_whole::<u32>)]
    pub(crate) id: u32,
    /// Seed of the group's election timeouts.
    #[arg(long, value_parser = parse_whole::<u64>)]
    pub(crate) seed: u64,
    /// Address for the other servers.
    #[arg(long)]
    pub(crate) listen: SocketAddr,
    /// Address for clients.
    #[arg(long)]
    pub(crate) client_listen: SocketAddr,
    /// Data folder, which is created if it does not exist.
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Folder of certificates, for TLS.
    #[arg(long)]
    pub(crate) certs: Option<PathBuf>,
    /// Wait for the admission to a group that exists.
    #[arg(long)]
    pub(crate) joins: bool,
}
