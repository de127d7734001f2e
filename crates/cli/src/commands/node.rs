//! `quorate node`: runs one node of a group in this process.

mod console;
mod disk;
mod printer;

use super::demonstration;
use crate::CommandOutcome;
use crate::args::NodeArgs;
use crate::args::{LogLevel, Peers, parse_addresses};
use crate::output::display_path;
use anyhow::{Context, bail, ensure};
use console::{Console, Stopper};
use disk::{FolderAction, OpenedDisk};
use printer::Printer;
use quorate_core::{Incarnation, NodeId};
use quorate_drive::{Clock, EngineParts, Failure, LiveJournal, Recorder, boot_id};
use quorate_journal::record::LiveHeader;
use quorate_lab::options::CommonOptions;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::{Algorithm, FamilyLab, NodeOf, Spec, experiment, find_entry};
use quorate_net::tls::{Identity, Security, check_plain_tcp};
use quorate_net::{Ending, Limits, OverflowPolicy, PeerSet, Runtime, Settings, disk_reports};
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::SystemTime;

/// Version of the wire format of messages.
const MESSAGE_FORMAT: u32 = 1;

pub(crate) fn run(args: &NodeArgs) -> anyhow::Result<CommandOutcome> {
    demonstration::reject_name(&args.algorithm)?;
    dispatch_to_family(find_entry(&args.algorithm)?, args)
}

impl Task for &NodeArgs {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        let (printer, log) = (Printer::to_output().map_err(start_error)?, Printer::to_error().map_err(start_error)?);
        log_to_standard_error(self.log, log.clone());
        let outcome = self.start::<F>(entry, &printer);
        printer.finish();
        log.finish();
        outcome
    }
}

impl NodeArgs {
    fn start<F: FamilyLab>(&self, entry: &'static F::Entry, printer: &Printer) -> anyhow::Result<CommandOutcome> {
        if self.peers == Peers::FromInput {
            // Started by another process: end with it, even while SIGSTOP pauses this process.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        }
        self.families.reject_other_families(F::FAMILY, &self.algorithm)?;
        let me = NodeId::new(self.id).context("--id must be at least 1; got 0.")?;
        let nodes = match &self.peers {
            Peers::Known(peers) => peers.len() + 1,
            Peers::FromInput => self.nodes.unwrap_or(1),
        };
        let algorithm = Algorithm::from(entry);
        // If the peers come from standard input, the size of the group is not certain yet.
        let provisional_spec = quorate_live::spec::<F>(algorithm, nodes, self.seed, self.settings::<F>(nodes)?);
        ensure!(
            self.data.is_some() || !F::codec(&provisional_spec).has_durable_state(),
            "'{}' needs durable state: a node that forgets it can violate the guarantees of the whole group. Give it a \
             folder with --data.",
            self.algorithm
        );
        let listener = self.listen()?;
        let console = Console::new(self.json, printer.clone());
        console.print_listening(listener.local_addr().map_err(start_error)?);
        let peers = self.resolve_peers(me, &console)?;
        let nodes = peers.len() + 1;
        let spec = quorate_live::spec::<F>(algorithm, nodes, self.seed, self.settings::<F>(nodes)?);
        spec.validate()?;
        Process { args: self, me, spec, listener, peers, console }.run()
    }

    /// Returns the settings of a group of this size. Fails if the options are invalid, for example
    /// if they choose a membership service that exists only in the simulator.
    fn settings<F: FamilyLab>(&self, nodes: usize) -> anyhow::Result<F::Settings> {
        self.families.reject_simulated_membership()?;
        let mut settings = F::settings(&self.families, CommonOptions { nodes, has_chaos: false })?;
        // With peers on the command line, a person controls the node; otherwise, another process.
        if self.peers != Peers::FromInput {
            F::adapt_to_manual_use(&mut settings);
        }
        F::adapt_to_real_processes(&mut settings);
        Ok(settings)
    }
}

/// The node of this process with its settings.
struct Process<'a, F: FamilyLab> {
    args: &'a NodeArgs,
    me: NodeId,
    spec: Spec<F>,
    listener: TcpListener,
    peers: BTreeMap<NodeId, String>,
    console: Console,
}

impl<F: FamilyLab> Process<'_, F> {
    fn run(self) -> anyhow::Result<CommandOutcome> {
        // Find errors before the data folder counts a new incarnation.
        let security = load_security(self.args, self.me)?;
        if let Some(path) = self.args.trace.as_ref().filter(|path| path.exists()) {
            return Err(journal_exists_error(path));
        }
        let (on_report, reports) = disk_reports();
        let cluster = self.args.group.cluster(&self.args.algorithm);
        let codec = F::codec(&self.spec);
        let opened = match &self.args.data {
            Some(folder) => disk::open(folder, self.args.folder_action(), cluster, self.me, codec, on_report)?,
            None => OpenedDisk::without_disk(self.args.incarnation.map_or_else(incarnation_from_clock, Incarnation)),
        };
        let clock = Clock::with_origin(self.args.origin.unwrap_or(0));
        match &self.args.trace {
            // The recorder `()` records nothing.
            None => self.drive(opened, security, clock, reports, ()),
            Some(path) => {
                let failed = |error: io::Error| match error.kind() {
                    io::ErrorKind::AlreadyExists => journal_exists_error(path),
                    _ => anyhow::anyhow!("cannot write the journal {}: {error}.", display_path(path)),
                };
                let header = self.journal_header(&opened, clock)?;
                let file = File::options().write(true).create_new(true).open(path).map_err(failed)?;
                self.drive(opened, security, clock, reports, LiveJournal::new(file, &header))
            }
        }
    }

    fn journal_header(&self, opened: &OpenedDisk, clock: Clock) -> anyhow::Result<quorate_journal::record::Header> {
        let live = LiveHeader {
            node: Some(self.me),
            incarnation: opened.start_state.incarnation,
            group: self.args.group.to_string(),
            boot: boot_id(),
            nanos_since_boot: clock.origin_nanos(),
            wall_clock_offset: clock.wall_clock_offset_nanos(),
            found_writes: opened.writes,
        };
        // Without --origin the clock counts from the boot, so the header asks readers of the
        // journal to display the start of this process as 0.
        let displayed_zero = if self.args.origin.is_some() { 0 } else { clock.now().nanos() };
        Ok(quorate_journal::record::Header {
            live: Some(live),
            origin: displayed_zero,
            ..experiment::header(&self.spec)?
        })
    }

    /// Runs the node until it stops.
    fn drive<O>(
        self,
        opened: OpenedDisk,
        security: Security,
        clock: Clock,
        reports: quorate_net::DiskReports,
        recorder: O,
    ) -> anyhow::Result<CommandOutcome>
    where
        O: Recorder<F::Command, F::Event> + Send + 'static,
    {
        let OpenedDisk { start_state, disk, .. } = opened;
        let incarnation = start_state.incarnation;
        let overflow = if F::tolerates_loss(&self.spec) { OverflowPolicy::Drop } else { OverflowPolicy::End };
        let settings = Settings {
            me: self.me,
            group: self.args.group.clone(),
            algorithm: self.args.algorithm.clone(),
            message_format: MESSAGE_FORMAT,
            peers: self.peers,
            peer_set: PeerSet::Fixed,
            security,
            overflow,
            reports_crashes: F::needs_crash_notices(&self.spec),
            limits: Limits::default(),
        };
        // A random seed from the system: nodes with equal seeds would draw equal timeouts.
        let seed = RandomState::new().hash_one(self.me.number());
        let node: NodeOf<F> = F::node_factory(&self.spec)(self.me);
        let runtime = Runtime {
            settings,
            listener: self.listener,
            node,
            start_state,
            parts: EngineParts { me: self.me, clock, seed, disk, recorder },
            reports,
            codec: F::codec(&self.spec),
        };
        let tokio_runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(start_error)?;
        let guard = tokio_runtime.enter();
        self.console.print_started(incarnation);
        let (retired, has_retired) = std::sync::mpsc::channel();
        let printer = self.console.event_printer::<F>(clock, retired);
        let (handle, node) = runtime.prepare(printer).map_err(start_error)?;
        let stopper = Stopper::<F>::new(handle.clone(), has_retired);
        let signal_stopper = stopper.clone();
        let _ = ctrlc::set_handler(move || signal_stopper.stop());
        self.console.spawn_reader::<F>(&stopper, self.me, incarnation);
        // Spawned as a task, because tokio polls the sockets (a system call) before each poll of
        // the future of `block_on` itself, but not before each poll of a task.
        let ending = tokio_runtime.block_on(tokio::spawn(node)).context("the task of the node panicked")?;
        // Do not wait for a pending name lookup.
        drop(guard);
        tokio_runtime.shutdown_background();
        match ending {
            Ending::Stopped => {
                self.console.print_stopped(&handle.links());
                Ok(CommandOutcome::Holds)
            }
            Ending::Failed(Failure::Disk(Some(error))) => {
                self.console.fail(format_args!("{error} The node has stopped."))
            }
            Ending::Failed(Failure::Disk(None)) => {
                self.console.fail(format_args!("The thread that writes to the disk panicked, so the node has stopped."))
            }
            Ending::Failed(Failure::Journal(error)) => self.console.fail(format_args!(
                "Cannot write the journal: {error}. The node has stopped. It sent and printed nothing that the journal \
                 lacks."
            )),
            Ending::TaskPanicked => {
                self.console.fail(format_args!("A task of the node panicked, so the node has stopped."))
            }
            Ending::MessageLost(reason) => self.console.fail(format_args!(
                "{reason} {} assumes that no message is lost, so the node has stopped.",
                self.args.algorithm
            )),
        }
    }
}

impl NodeArgs {
    fn folder_action(&self) -> FolderAction {
        match (self.new, self.data_was_lost) {
            (true, _) => FolderAction::CreateNew,
            (false, true) => FolderAction::ReplaceLost,
            (false, false) => FolderAction::UseExisting,
        }
    }

    fn listen(&self) -> anyhow::Result<TcpListener> {
        let resolved = self.listen.to_socket_addrs();
        let addresses: Vec<SocketAddr> = resolved
            .map_err(|error| {
                anyhow::anyhow!(
                    "--listen: '{}' is not an address ({error}); write for example 127.0.0.1:7001.",
                    self.listen.escape_debug()
                )
            })?
            .collect();
        if self.certs.is_none() {
            addresses.iter().try_for_each(|address| check_plain_tcp(*address, self.insecure_plain_tcp))?;
        }
        TcpListener::bind(&addresses[..]).map_err(|error| {
            anyhow::anyhow!("cannot listen on {}: {error}. Choose another address with --listen.", self.listen)
        })
    }

    /// Returns the addresses of all other nodes. May wait for a line of standard input. Fails if
    /// the ids have gaps, if the number of nodes differs from `--nodes`, or if an address needs
    /// certificates that the node does not have.
    fn resolve_peers(&self, me: NodeId, console: &Console) -> anyhow::Result<BTreeMap<NodeId, String>> {
        let mut peers = match &self.peers {
            Peers::Known(peers) => peers.clone(),
            Peers::FromInput => {
                parse_addresses(&console.read_first_line()?).map_err(|error| anyhow::anyhow!("{error}"))?
            }
        };
        // The list may include this node: `quorate run` sends the same one to every node.
        peers.remove(&me);
        let nodes = peers.len() + 1;
        if let Some(unexpected) = peers.keys().chain([&me]).find(|node| node.index() >= nodes) {
            bail!(
                "a group of {nodes} nodes has the ids 1 to {nodes}, but --id or --peers names node {unexpected}. --peers \
                 must list every node except this one."
            );
        }
        if let Some(expected) = self.nodes {
            ensure!(expected == nodes, "--nodes is {expected}, but the list of peers has {nodes} nodes with this one.");
        }
        if self.certs.is_none() && !self.insecure_plain_tcp {
            for address in peers.values_mut() {
                *address = resolve_loopback(address)?;
            }
        }
        Ok(peers)
    }
}

/// Resolves an address that must be of this machine, and fails otherwise. The node uses the result,
/// because a later lookup of the name might return another machine.
fn resolve_loopback(address: &str) -> anyhow::Result<String> {
    let is_insecure_allowed = false;
    let resolved_addresses = address.to_socket_addrs().map_err(|error| {
        anyhow::anyhow!(
            "cannot resolve the peer address {address} ({error}); without --certs it must be of this machine."
        )
    })?;
    let mut first = None;
    for resolved in resolved_addresses {
        check_plain_tcp(resolved, is_insecure_allowed)?;
        first.get_or_insert(resolved);
    }
    first.map(|address| address.to_string()).with_context(|| format!("the peer address {address} has no IP address."))
}

fn load_security(args: &NodeArgs, me: NodeId) -> anyhow::Result<Security> {
    match &args.certs {
        None => Ok(Security::Plain),
        Some(folder) => Ok(Security::Tls(Identity::load(folder, me, &args.group)?)),
    }
}

/// Returns the error for a journal that exists, which the node never overwrites.
fn journal_exists_error(path: &std::path::Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{} exists already, and may be the journal of an earlier incarnation. Give --trace another file name.",
        display_path(path)
    )
}

/// Returns the error for a system resource that the node needs and did not get.
fn start_error(error: io::Error) -> anyhow::Error {
    anyhow::anyhow!("cannot start the node: {error}. It sent no message.")
}

/// Returns an incarnation for a node without a data folder: the time in milliseconds, which is
/// above all earlier incarnations unless the clock was set back.
fn incarnation_from_clock() -> Incarnation {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // The fallback is any large number: no real clock reaches a time at which it would be used.
    Incarnation(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX >> 20))
}

fn log_to_standard_error(level: LogLevel, printer: Printer) {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    let has_colours = io::IsTerminal::is_terminal(&io::stderr());
    // A test may have set a subscriber already.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(has_colours)
        .with_writer(printer)
        .try_init();
}
