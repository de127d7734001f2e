//! The servers of a benchmark: starts their processes, injects faults, and follows their reports.

use super::message::{Counters, Notice, Order};
use super::server::group_name;
use crate::interrupt;
use anyhow::Context;
use quorate_core::NodeId;
use quorate_drive::Clock;
use quorate_journal::settings::Cut;
use quorate_live::LiveError;
use quorate_live::processes::{Child, Namespaces, Output, Report, Serial};
use quorate_net::certificates::{Days, Folder};
use quorate_net::tls::{Identity, Security};
use quorate_replica::{Addresses, Members};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time for any step of the group, such as an election or the start of a process.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval at which a wait notices an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The port for clients of a server in a network namespace.
const NAMESPACE_CLIENT_PORT: u16 = 7_001;

/// The addresses at which clients reach the servers, shared with the clients.
#[derive(Clone, Default)]
pub(super) struct ClientAddresses(Arc<Mutex<BTreeMap<NodeId, SocketAddr>>>);

impl ClientAddresses {
    /// The addresses now.
    pub(super) fn list(&self) -> BTreeMap<NodeId, SocketAddr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<NodeId, SocketAddr>)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A leader, and when its server reported that it leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leadership {
    pub(super) leader: NodeId,
    pub(super) term: u64,
    /// Nanoseconds since the machine was booted.
    pub(super) since_nanos: i64,
}

/// The outcome of an order to change the members.
#[derive(Clone, Debug)]
pub(super) enum ChangeOutcome {
    Changed,
    NotChanged(String),
}

/// The servers and what they have reported.
pub(super) struct ServerGroup {
    /// The servers; before `namespaces`, so that the processes end first.
    servers: BTreeMap<NodeId, Server>,
    folder: PathBuf,
    certificates: Option<PathBuf>,
    namespaces: Option<Namespaces>,
    seed: u64,
    last_serial: u64,
    sender: Sender<Report>,
    reports: Receiver<Report>,
    pub(super) clients: ClientAddresses,
}

/// One server, and what its process has reported.
struct Server {
    child: Option<Child>,
    serial: Serial,
    joins: bool,
    addresses: Option<(SocketAddr, SocketAddr)>,
    leadership: Option<Leadership>,
    counters: Option<Counters>,
    /// Whether the server has caught up; `None` if the benchmark has not asked.
    has_caught_up: Option<bool>,
    change: Option<ChangeOutcome>,
}

/// Where the servers run, and how they communicate.
pub(super) struct GroupOptions<'a> {
    pub(super) folder: &'a Path,
    pub(super) is_encrypted: bool,
    /// Whether each server has a network namespace of its own, so that it can be cut off.
    pub(super) has_namespaces: bool,
}

/// The node whose certificate the clients use, and the namespace in which they run. No server has
/// this number.
pub(super) const CLIENT: u32 = 6;
/// Maximum number of servers.
const MAX_SERVERS: u32 = 5;

fn node(number: u32) -> NodeId {
    NodeId::from_index(number as usize - 1)
}

impl ServerGroup {
    /// Starts the servers 1 to `founders`, and waits until one of them leads.
    pub(super) fn found(founders: u32, options: &GroupOptions<'_>) -> anyhow::Result<Self> {
        let folder = options.folder.to_owned();
        std::fs::create_dir_all(&folder).map_err(|error| anyhow::anyhow!("cannot create a folder: {error}."))?;
        let certificates = options.is_encrypted.then(|| folder.join("certificates"));
        if let Some(certificates) = &certificates {
            let nodes: Vec<_> = (1..=MAX_SERVERS).chain([CLIENT]).map(node).collect();
            Folder::new(certificates).make(&group_name()?, &nodes, Days::default())?;
        }
        let namespaces = match options.has_namespaces {
            true => Some(set_up_namespaces()?),
            false => None,
        };
        let (sender, reports) = channel();
        let mut group = Self {
            servers: BTreeMap::new(),
            folder,
            certificates,
            namespaces,
            // Equal seeds would give every group the same election timeouts.
            seed: RandomState::new().hash_one("seed"),
            last_serial: 0,
            sender,
            reports,
            clients: ClientAddresses::default(),
        };
        let nodes: Vec<_> = (1..=founders).map(node).collect();
        for founder in &nodes {
            group.launch(*founder, false)?;
        }
        for founder in &nodes {
            group.wait_for(*founder, "did not start", |server| server.addresses.is_some())?;
        }
        let addresses = group.addresses(&nodes);
        nodes.iter().for_each(|founder| group.order(*founder, &Order::Start(addresses.clone())));
        nodes.iter().for_each(|founder| group.admit_clients(*founder));
        group.wait_for_leader(|_| true)?;
        Ok(group)
    }

    /// The identity of clients.
    pub(super) fn client_security(&self) -> anyhow::Result<Security> {
        Ok(match &self.certificates {
            None => Security::Plain,
            Some(folder) => Security::Tls(Identity::load(folder, node(CLIENT), &group_name()?)?),
        })
    }

    /// The network namespace in which clients must run, if any.
    pub(super) fn client_namespace(&self) -> Option<PathBuf> {
        self.namespaces.as_ref().map(|namespaces| namespaces.path(node(CLIENT)))
    }

    /// Starts a server that is no member yet.
    pub(super) fn start_joiner(&mut self, number: u32) -> anyhow::Result<NodeId> {
        let joiner = node(number);
        self.launch(joiner, true)?;
        self.wait_for(joiner, "did not start", |server| server.addresses.is_some())?;
        let nodes: Vec<_> = self.servers.keys().copied().collect();
        self.order(joiner, &Order::Start(self.addresses(&nodes)));
        Ok(joiner)
    }

    /// Lets clients use a server.
    pub(super) fn admit_clients(&self, server: NodeId) {
        if let Some((_, clients)) = self.servers.get(&server).and_then(|server| server.addresses) {
            self.clients.change(|addresses| {
                addresses.insert(server, clients);
            });
        }
    }

    /// The addresses at which these servers reach each other.
    pub(super) fn addresses(&self, nodes: &[NodeId]) -> Addresses {
        let address = |node: &NodeId| Some((*node, self.servers.get(node)?.addresses?.0.to_string()));
        nodes.iter().filter_map(address).collect()
    }

    fn launch(&mut self, id: NodeId, joins: bool) -> anyhow::Result<()> {
        self.last_serial += 1;
        let serial = Serial(self.last_serial);
        let (members, clients) = self.listen_addresses(id);
        let program = std::env::current_exe().map_err(|error| anyhow::anyhow!("cannot find this program: {error}."))?;
        let mut command = match &self.namespaces {
            None => Command::new(program),
            Some(namespaces) => {
                let mut command = namespaces.command_in(id);
                command.arg(program);
                command
            }
        };
        command.arg("bench-server").args([format!("--id={id}"), format!("--seed={}", self.seed)]);
        command.args([format!("--listen={members}"), format!("--client-listen={clients}")]);
        command.arg("--data").arg(self.folder.join(format!("server-{id}"))).args(joins.then_some("--joins"));
        if let Some(certificates) = &self.certificates {
            command.arg("--certs").arg(certificates);
        }
        let log = self.folder.join(format!("server-{id}.log"));
        let child = Child::start(command, (id, serial), log, &self.sender)
            .map_err(|error| anyhow::anyhow!("cannot start server {id}: {error}."))?;
        let server = Server {
            child: Some(child),
            serial,
            joins,
            addresses: None,
            leadership: None,
            counters: None,
            has_caught_up: None,
            change: None,
        };
        self.servers.insert(id, server);
        Ok(())
    }

    /// The addresses at which a server listens: those of its earlier process, if there was one.
    fn listen_addresses(&self, id: NodeId) -> (SocketAddr, SocketAddr) {
        if let Some(addresses) = self.servers.get(&id).and_then(|server| server.addresses) {
            return addresses;
        }
        if let Some(address) = self.namespaces.as_ref().and_then(|all| all.listen_address(id).parse().ok()) {
            let address: SocketAddr = address;
            return (address, SocketAddr::new(address.ip(), NAMESPACE_CLIENT_PORT));
        }
        // An address for each server: with a shared one, an outgoing connection could take the port
        // of a server that is down.
        let last = if cfg!(target_os = "linux") { id.number() as u8 } else { 1 };
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, u8::from(last > 1), last)), 0);
        (address, address)
    }

    fn order(&self, id: NodeId, order: &Order) {
        let child = self.servers.get(&id).and_then(|server| server.child.as_ref());
        if let (Some(child), Ok(line)) = (child, serde_json::to_string(order)) {
            child.send_line(line);
        }
    }

    /// Handles the reports that have arrived, and waits a moment if there is none.
    fn poll(&mut self) -> anyhow::Result<()> {
        interrupt::check()?;
        if let Ok(first) = self.reports.recv_timeout(POLL_INTERVAL) {
            let mut next = Some(first);
            while let Some(report) = next {
                self.handle_report(report)?;
                next = self.reports.try_recv().ok();
            }
        }
        Ok(())
    }

    fn handle_report(&mut self, Report { node, serial, output }: Report) -> anyhow::Result<()> {
        let Some(server) = self.servers.get_mut(&node).filter(|server| server.serial == serial) else { return Ok(()) };
        // The last lines of a killed process do not matter.
        let Some(child) = &server.child else { return Ok(()) };
        let line = match output {
            Output::Line(line) => line,
            Output::Closed => anyhow::bail!("server {node} ended unexpectedly.{}", child.log_tail()),
        };
        match serde_json::from_str(&line).with_context(|| format!("server {node} wrote '{line}'"))? {
            Notice::Listening { members, clients } => server.addresses = Some((members, clients)),
            Notice::Leads { term, at_nanos } => {
                server.leadership = Some(Leadership { leader: node, term, since_nanos: at_nanos });
            }
            Notice::Follows { .. } => server.leadership = None,
            Notice::Counted(counters) => server.counters = Some(counters),
            Notice::CaughtUp => server.has_caught_up = Some(true),
            Notice::Changed => server.change = Some(ChangeOutcome::Changed),
            Notice::NotDone { .. } if server.has_caught_up == Some(false) => self.order(node, &Order::CatchUp),
            Notice::NotDone { reason } => server.change = Some(ChangeOutcome::NotChanged(reason)),
            Notice::Failed { reason } => anyhow::bail!("server {node} failed: {reason}.{}", child.log_tail()),
        }
        Ok(())
    }

    /// Handles reports until the condition holds. `problem` says what has not happened at a
    /// timeout.
    pub(super) fn wait_until(
        &mut self,
        problem: &str,
        mut condition: impl FnMut(&mut Self) -> bool,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + STEP_TIMEOUT;
        while !condition(self) {
            let has_time = Instant::now() < deadline;
            anyhow::ensure!(has_time, "{problem} within {} s.{}", STEP_TIMEOUT.as_secs(), self.log_tails());
            self.poll()?;
        }
        Ok(())
    }

    /// The ends of the logs of all servers.
    fn log_tails(&self) -> String {
        let tails = self.servers.iter().filter_map(|(id, server)| Some((id, server.child.as_ref()?.log_tail())));
        tails.map(|(id, tail)| format!("\nServer {id}:{tail}")).collect()
    }

    /// Handles reports for some time.
    pub(super) fn run_for(&mut self, duration: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + duration;
        while Instant::now() < end {
            self.poll()?;
        }
        Ok(())
    }

    fn wait_for(&mut self, id: NodeId, problem: &str, holds: impl Fn(&Server) -> bool) -> anyhow::Result<()> {
        self.wait_until(&format!("server {id} {problem}"), |group| group.servers.get(&id).is_some_and(&holds))
    }

    /// The leader of the latest term, if its process runs and has not reported that it follows.
    pub(super) fn leadership(&self) -> Option<Leadership> {
        let running = self.servers.values().filter(|server| server.child.is_some());
        running.filter_map(|server| server.leadership).max_by_key(|leadership| leadership.term)
    }

    /// Waits until a server leads for which the condition holds.
    pub(super) fn wait_for_leader(&mut self, condition: impl Fn(Leadership) -> bool) -> anyhow::Result<Leadership> {
        let mut found = None;
        self.wait_until("no server became leader", |group| {
            found = group.leadership().filter(|leadership| condition(*leadership));
            found.is_some()
        })?;
        found.context("no server leads.")
    }

    /// Waits until these servers have applied all entries committed before now.
    pub(super) fn catch_up(&mut self, nodes: &[NodeId]) -> anyhow::Result<()> {
        for id in nodes {
            if let Some(server) = self.servers.get_mut(id) {
                server.has_caught_up = Some(false);
            }
            self.order(*id, &Order::CatchUp);
        }
        nodes
            .iter()
            .try_for_each(|id| self.wait_for(*id, "did not catch up", |server| server.has_caught_up == Some(true)))
    }

    /// The counters of these servers.
    pub(super) fn count(&mut self, nodes: &[NodeId]) -> anyhow::Result<BTreeMap<NodeId, Counters>> {
        for id in nodes {
            if let Some(server) = self.servers.get_mut(id) {
                server.counters = None;
            }
            self.order(*id, &Order::Count);
        }
        let mut counted = BTreeMap::new();
        for id in nodes {
            self.wait_for(*id, "reported no counters", |server| server.counters.is_some())?;
            let counters = self.servers.get_mut(id).and_then(|server| server.counters.take());
            counted.insert(*id, counters.context("a server reported no counters.")?);
        }
        Ok(counted)
    }

    /// Orders the leader to change the members, to these with the addresses of `nodes`, and returns
    /// the outcome.
    pub(super) fn change(
        &mut self,
        leader: NodeId,
        members: &Members,
        nodes: &[NodeId],
    ) -> anyhow::Result<ChangeOutcome> {
        if let Some(server) = self.servers.get_mut(&leader) {
            server.change = None;
        }
        self.order(leader, &Order::Change { members: members.clone(), addresses: self.addresses(nodes) });
        let mut outcome = None;
        self.wait_until("the members did not change", |group| {
            outcome = group.servers.get(&leader).and_then(|server| server.change.clone());
            outcome.is_some()
        })?;
        outcome.context("the members did not change.")
    }

    fn child(&mut self, id: NodeId) -> anyhow::Result<&mut Child> {
        let child = self.servers.get_mut(&id).and_then(|server| server.child.as_mut());
        child.with_context(|| format!("server {id} does not run."))
    }

    /// Kills a server with SIGKILL, and returns when its process has ended.
    pub(super) fn kill(&mut self, id: NodeId) -> anyhow::Result<()> {
        let failed = |error| anyhow::anyhow!("cannot kill server {id}: {error}.");
        let child = self.child(id)?;
        child.kill().map_err(failed)?;
        child.wait().map_err(failed)?;
        if let Some(server) = self.servers.get_mut(&id) {
            server.child = None;
        }
        Ok(())
    }

    /// Lets no further client connect to a server.
    pub(super) fn exclude_clients(&self, id: NodeId) {
        self.clients.change(|addresses| {
            addresses.remove(&id);
        });
    }

    /// Starts the process of a killed server again.
    pub(super) fn restart(&mut self, id: NodeId) -> anyhow::Result<()> {
        let joins = self.servers.get(&id).is_some_and(|server| server.joins);
        self.launch(id, joins)?;
        self.wait_for(id, "did not restart", |server| server.addresses.is_some())?;
        let nodes: Vec<_> = self.servers.keys().copied().collect();
        self.order(id, &Order::Start(self.addresses(&nodes)));
        Ok(())
    }

    pub(super) fn pause(&mut self, id: NodeId) -> anyhow::Result<()> {
        self.child(id)?.pause().map_err(|error| anyhow::anyhow!("cannot pause server {id}: {error}."))
    }

    pub(super) fn resume(&mut self, id: NodeId) -> anyhow::Result<()> {
        self.child(id)?.resume().map_err(|error| anyhow::anyhow!("cannot resume server {id}: {error}."))
    }

    /// Cuts a server off from the others, but not from the clients.
    pub(super) fn cut(&mut self, id: NodeId) -> anyhow::Result<()> {
        let cut = self.cut_of(id)?;
        Ok(self.namespaces.as_mut().context("the servers have no namespaces.")?.sever(&cut)?)
    }

    /// Ends the cut of a server.
    pub(super) fn heal(&mut self, id: NodeId) -> anyhow::Result<()> {
        let cut = self.cut_of(id)?;
        Ok(self.namespaces.as_mut().context("the servers have no namespaces.")?.mend(&cut)?)
    }

    fn cut_of(&self, id: NodeId) -> anyhow::Result<Cut> {
        let others: Vec<_> = self.servers.keys().filter(|other| **other != id).map(ToString::to_string).collect();
        format!("{id} | {}", others.join(",")).parse().map_err(|error| anyhow::anyhow!("{error}"))
    }
}

fn set_up_namespaces() -> anyhow::Result<Namespaces> {
    Namespaces::set_up(CLIENT as usize, &interrupt::was_requested).map_err(|error| match error {
        LiveError::Interrupted => interrupt::Interrupted.into(),
        LiveError::Network { reason, .. } => anyhow::anyhow!(
            "--fault cut needs Linux, root, the program ip and a kernel with network namespaces, veth and bridges: \
             {reason}. No server was started."
        ),
        error => error.into(),
    })
}

/// The time on the clock that the servers use, in nanoseconds since the machine was booted.
pub(super) fn now_nanos() -> i64 {
    Clock::with_origin(0).now().nanos()
}
