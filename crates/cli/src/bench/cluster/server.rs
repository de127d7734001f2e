//! A server of the benchmark: one replica with its disk, its network, and a port for clients, in a
//! process of its own. It takes orders from standard input and reports to standard output.

use super::front_end::{FrontEnd, benchmark_ticket};
use super::message::{CallId, Machine, Notice, Order};
use super::meter::{CountingCodec, Meter};
use crate::CommandOutcome;
use crate::args::BenchServerArgs;
use anyhow::Context;
use quorate_core::NodeId;
use quorate_drive::{Clock, Disk, EngineParts, StartState};
use quorate_net::tls::{Identity, Security};
use quorate_net::{Ending, GroupName, Limits, OverflowPolicy, PeerSet, Runtime, disk_reports};
use quorate_replica::registers::Read;
use quorate_replica::{Addresses, Command, Durable, Event, Members, Replica, Settings};
use quorate_store::{DiskWriter, Origin, Owner, RetryDelays, Store, StoreError, create_founder, create_joiner};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The name of the algorithm in handshakes and data folders.
const ALGORITHM: &str = "bench-replica";
/// Maximum number of writes that wait for the disk.
const MAX_QUEUED_WRITES: usize = 1 << 16;

pub(super) fn group_name() -> anyhow::Result<GroupName> {
    Ok("bench".parse()?)
}

/// Runs a server until its standard input ends.
pub(crate) fn run(args: &BenchServerArgs) -> anyhow::Result<CommandOutcome> {
    // End with the process that started this one, even while SIGSTOP pauses this one.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    // The benchmark shows the end of this log if something fails.
    let _ = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_target(false)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .try_init();
    let ended = Server::open(args).and_then(Server::run);
    // As text, because the caller would report an `io::Error` as a failed write to the output.
    let reason = ended.err().map_or_else(|| "the node has stopped".to_owned(), |error| format!("{error:#}"));
    report(&Notice::Failed { reason });
    Ok(CommandOutcome::Fails)
}

/// Writes a line to standard output. If the benchmark does not read it, this process ends soon.
fn report(notice: &Notice) {
    let mut out = std::io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, notice).map_err(std::io::Error::from).and_then(|()| writeln!(out));
    let _ = out.flush();
}

struct Server {
    me: NodeId,
    security: Security,
    listener: TcpListener,
    client_listener: TcpListener,
    start_state: StartState<Durable>,
    disk: Disk<Durable>,
    reports: quorate_net::DiskReports,
    meter: Arc<Meter>,
    seed: u64,
}

impl Server {
    fn open(args: &BenchServerArgs) -> anyhow::Result<Self> {
        let me = NodeId::new(args.id).context("--id must be at least 1; got 0.")?;
        let group = group_name()?;
        let security = match &args.certs {
            None => Security::Plain,
            Some(folder) => Security::Tls(Identity::load(folder, me, &group)?),
        };
        let owner = Owner { cluster: group.cluster(ALGORITHM), node: me };
        let created = if args.joins {
            create_joiner::<Durable>(&args.data, owner)
        } else {
            create_founder::<Durable>(&args.data, owner)
        };
        match created {
            // A restarted server continues with its folder.
            Ok(()) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let (store, durable, recovery) = Store::<Durable>::open(&args.data, owner, quorate_store::Settings::default())?;
        let is_founder = store.identity().origin == Origin::Founded;
        let (on_report, reports) = disk_reports();
        let disk_writer = DiskWriter::start(store, MAX_QUEUED_WRITES, RetryDelays::default(), on_report)?;
        let start_state = StartState { durable, incarnation: recovery.incarnation, is_disk_blank: !is_founder };
        Ok(Self {
            me,
            security,
            listener: TcpListener::bind(args.listen)?,
            client_listener: TcpListener::bind(args.client_listen)?,
            start_state,
            meter: Arc::new(Meter::new(disk_writer.append_count())),
            disk: Disk::Writer(disk_writer),
            reports,
            seed: args.seed,
        })
    }

    fn run(self) -> anyhow::Result<()> {
        let (members, clients) = (self.listener.local_addr()?, self.client_listener.local_addr()?);
        report(&Notice::Listening { members, clients });
        let mut lines = std::io::BufReader::new(std::io::stdin()).lines();
        let first = lines.next().context("standard input ended before the first line")??;
        let Order::Start(peers) = serde_json::from_str(&first)? else {
            anyhow::bail!("the first line must name the members")
        };
        let (settings, network) = (self.replica_settings(members, &peers), self.network_settings(peers.clone())?);
        let runtime = Runtime {
            settings: network,
            listener: self.listener,
            node: Replica::<Machine>::new(self.me, settings),
            start_state: self.start_state,
            parts: EngineParts {
                me: self.me,
                clock: Clock::with_origin(0),
                seed: RandomState::new().hash_one("timers"),
                disk: self.disk,
                // Records nothing.
                recorder: (),
            },
            reports: self.reports,
            codec: CountingCodec(Arc::clone(&self.meter)),
        };
        let tokio_runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let _guard = tokio_runtime.enter();
        let (event_sender, events) = mpsc::unbounded_channel();
        let (handle, node) = runtime.prepare(move |events| {
            // Sending fails only if the process is about to end.
            let _ = event_sender.send((Clock::with_origin(0).now().nanos(), events));
        })?;
        let front_end = Arc::new(FrontEnd::new(self.security, handle));
        let controller = Arc::new(Controller { me: self.me, front_end, meter: self.meter, peers });
        start_threads(&controller, self.client_listener, events, lines)?;
        // Spawned as a task: tokio polls the sockets before each poll of the future of `block_on`
        // itself, but not before each poll of a task.
        match tokio_runtime.block_on(tokio::spawn(node))? {
            Ending::Stopped => Ok(()),
            Ending::Failed(failure) => anyhow::bail!("{failure:?}"),
            Ending::MessageLost(reason) => anyhow::bail!("{reason}"),
            Ending::TaskPanicked => anyhow::bail!("a task of the node panicked"),
        }
    }

    fn replica_settings(&self, address: SocketAddr, peers: &Addresses) -> Settings {
        // A server that joins is no founder, because its folder says that it has no log yet.
        let founders = Members { voters: peers.keys().copied().collect(), ..Members::default() };
        Settings { address: Some(address.to_string()), seed: self.seed, ..Settings::new(founders) }
    }

    fn network_settings(&self, peers: Addresses) -> anyhow::Result<quorate_net::Settings> {
        Ok(quorate_net::Settings {
            me: self.me,
            group: group_name()?,
            algorithm: ALGORITHM.into(),
            // All processes run the same program, so the version does not matter.
            message_format: 1,
            peers,
            peer_set: PeerSet::Changing,
            security: self.security.clone(),
            overflow: OverflowPolicy::Drop,
            reports_crashes: true,
            limits: Limits::default(),
        })
    }
}

/// The events of a turn, with the time at which the node emitted them.
type TimedEvents = (i64, Vec<Event<Machine>>);

/// Starts the threads of the front end and of the benchmark's orders. Each ends the process when it
/// ends.
fn start_threads(
    controller: &Arc<Controller>,
    listener: TcpListener,
    events: mpsc::UnboundedReceiver<TimedEvents>,
    orders: impl Iterator<Item = std::io::Result<String>> + Send + 'static,
) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let dispatcher = Arc::clone(controller);
    std::thread::Builder::new().name("front end".into()).spawn(move || {
        if let Err(error) = run_front_end(&dispatcher, listener, events) {
            report(&Notice::Failed { reason: error.to_string() });
        }
        std::process::exit(1);
    })?;
    let controller = Arc::clone(controller);
    std::thread::Builder::new().name("orders".into()).spawn(move || {
        orders.map_while(Result::ok).zip(1..).for_each(|(line, call)| controller.obey(&line, call));
        // The benchmark has ended. There is nothing to save.
        std::process::exit(0);
    })?;
    Ok(())
}

fn run_front_end(
    controller: &Arc<Controller>,
    listener: TcpListener,
    mut events: mpsc::UnboundedReceiver<TimedEvents>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let controller = Arc::clone(controller);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let dispatch = tokio::spawn(async move {
            tokio::spawn(Arc::clone(&controller.front_end).accept_clients(listener));
            while let Some((at_nanos, events)) = events.recv().await {
                controller.meter.record_answers(&events);
                let own = events.into_iter().filter_map(|event| controller.front_end.route(event));
                own.for_each(|event| controller.handle_event(at_nanos, event));
            }
        });
        Ok(dispatch.await?)
    })
}

/// Carries out the benchmark's orders, and reports to it.
struct Controller {
    me: NodeId,
    front_end: Arc<FrontEnd>,
    meter: Arc<Meter>,
    /// The addresses with which the server started, for members that have not reported theirs.
    peers: Addresses,
}

impl Controller {
    fn obey(&self, line: &str, call: CallId) {
        let ticket = benchmark_ticket(call);
        match serde_json::from_str(line) {
            Ok(Order::Count) => report(&Notice::Counted(self.meter.read(&self.front_end.handle))),
            // The answer to any query comes from a state that has caught up.
            Ok(Order::CatchUp) => self.front_end.request(Command::Query { ticket, query: Read { key: 0 } }),
            Ok(Order::Change { members, addresses }) => {
                self.front_end.request(Command::Change { ticket, members, addresses });
            }
            Ok(Order::Start(_)) => report(&Notice::Failed { reason: "the server has already started".into() }),
            Err(error) => report(&Notice::Failed { reason: format!("cannot parse '{line}': {error}") }),
        }
    }

    fn handle_event(&self, at_nanos: i64, event: Event<Machine>) {
        match event {
            Event::Leads { term } => {
                report(&Notice::Leads { term, at_nanos });
                self.front_end.announce_leader(Some(self.me));
            }
            Event::Follows { leader, term } => {
                report(&Notice::Follows { term, leader });
                self.front_end.announce_leader(leader);
            }
            Event::Configured { members, addresses, .. } => self.configure(&members, addresses),
            Event::Changed { .. } => report(&Notice::Changed),
            Event::Answered { .. } => report(&Notice::CaughtUp),
            Event::Refused { refusal, .. } => report(&Notice::NotDone { reason: refusal.to_string() }),
            Event::Unknown { .. } => report(&Notice::NotDone { reason: "the outcome is unknown".into() }),
            Event::Halted { reason } => {
                report(&Notice::Failed { reason });
                std::process::exit(1);
            }
            // The front end keeps or drops all others.
            Event::Attached { .. }
            | Event::Outcome { .. }
            | Event::Detached { .. }
            | Event::Retired
            | Event::Applied { .. }
            | Event::Restored(_) => {}
        }
    }

    /// Connects to all nodes that take part, also to those that leave by a change in progress.
    fn configure(&self, members: &Members, mut addresses: Addresses) {
        for node in members.voters.iter().chain(&members.learners) {
            if let Some(address) = self.peers.get(node) {
                addresses.entry(*node).or_insert_with(|| address.clone());
            }
        }
        if let Err(error) = self.front_end.handle.set_peers(addresses) {
            report(&Notice::Failed { reason: error.to_string() });
        }
    }
}
