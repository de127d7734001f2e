//! Real nodes in one process. [`TestNode`] reads a node's events, and checks the order of the
//! messages that the node received.

use crate::chatter::{Chatter, Command, Event};
use crate::within;
use quorate_core::{Incarnation, NodeId};
use quorate_drive::{Clock, Disk, EngineParts, StartState};
use quorate_net::tls::Security;
use quorate_net::{
    Ending, Handle, Limits, LinkStats, OverflowPolicy, PeerSet, Postcard, Runtime, Settings, disk_reports,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub(crate) const ALGORITHM: &str = "chatter";
pub(crate) const MESSAGE_FORMAT: u32 = 1;
pub(crate) const GROUP: &str = "demo";
/// An address at which no process listens.
pub(crate) const UNREACHABLE_ADDRESS: &str = "127.0.0.1:1";

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

/// A listening socket, which outlives the node, so that a restarted node gets the same address.
pub(crate) struct Endpoint {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Endpoint {
    pub(crate) fn new() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap())
    }

    /// Listens at this address, which must be free.
    pub(crate) fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }
}

#[derive(Clone)]
pub(crate) struct NodeOptions {
    pub(crate) peer_set: PeerSet,
    pub(crate) overflow: OverflowPolicy,
    pub(crate) limits: Limits,
    pub(crate) group: &'static str,
}

impl Default for NodeOptions {
    fn default() -> Self {
        let limits = Limits {
            handshake_timeout: Duration::from_secs(2),
            min_backoff: Duration::from_millis(1),
            max_backoff: Duration::from_millis(20),
            ack_delay: Duration::from_millis(5),
            ..Limits::default()
        };
        Self { peer_set: PeerSet::Fixed, overflow: OverflowPolicy::Drop, limits, group: GROUP }
    }
}

pub(crate) struct TestNode {
    pub(crate) me: NodeId,
    pub(crate) handle: Handle<Command>,
    pub(crate) running: JoinHandle<Ending>,
    events: mpsc::UnboundedReceiver<Event>,
    /// The first and the last number received from each incarnation of each peer.
    received: BTreeMap<(NodeId, u64), (u64, u64)>,
    /// Peers whose next message may follow a gap in the numbers.
    gaps: BTreeSet<NodeId>,
    /// The events about suspicions so far.
    pub(crate) suspicions: Vec<Event>,
    /// The number of the last question that the node asked.
    last_question: u64,
    /// The last question that each peer answered.
    answered: BTreeMap<NodeId, u64>,
}

impl TestNode {
    pub(crate) fn start(
        me: NodeId,
        incarnation: u64,
        endpoint: &Endpoint,
        peers: BTreeMap<NodeId, String>,
        security: Security,
        options: &NodeOptions,
    ) -> Self {
        let settings = Settings {
            me,
            group: options.group.parse().unwrap(),
            algorithm: ALGORITHM.into(),
            message_format: MESSAGE_FORMAT,
            peers,
            peer_set: options.peer_set,
            security,
            overflow: options.overflow,
            reports_crashes: true,
            limits: options.limits,
        };
        let (_, reports) = disk_reports();
        let runtime: Runtime<Chatter, (), (), Postcard> = Runtime {
            settings,
            listener: endpoint.listener.try_clone().unwrap(),
            node: Chatter::default(),
            start_state: StartState { durable: (), incarnation: Incarnation(incarnation), is_disk_blank: false },
            parts: EngineParts { me, clock: Clock::start(), seed: 1, disk: Disk::None, recorder: () },
            reports,
            codec: Postcard,
        };
        let (sender, events) = mpsc::unbounded_channel();
        let on_events = move |events: Vec<Event>| {
            for event in events {
                let _ = sender.send(event);
            }
        };
        let (handle, running) = runtime.prepare(on_events).unwrap();
        Self {
            me,
            handle,
            running: tokio::spawn(running),
            events,
            received: BTreeMap::new(),
            gaps: BTreeSet::new(),
            suspicions: Vec::new(),
            last_question: 0,
            answered: BTreeMap::new(),
        }
    }

    /// Replaces the node's peers.
    pub(crate) fn set_peers(&self, peers: impl IntoIterator<Item = (u32, String)>) {
        let peers = peers.into_iter().map(|(number, address)| (node(number), address));
        self.handle.set_peers(peers.collect()).unwrap();
    }

    /// Allows one gap in the numbers from a peer: the link to it is about to be replaced.
    pub(crate) fn allow_gap(&mut self, peer: NodeId) {
        self.gaps.insert(peer);
    }

    pub(crate) fn forbid_gaps(&mut self) {
        self.gaps.clear();
    }

    pub(crate) async fn command(&self, command: Command) {
        within("space in the command queue", self.handle.command(command)).await.unwrap();
    }

    /// Commands the node to send `count` short numbered messages.
    pub(crate) async fn send(&self, to: NodeId, count: u64) {
        self.command(Command::Send { to, count, padding: 3 }).await;
    }

    /// Asks a node a question and waits for the answer.
    pub(crate) async fn ask(&mut self, to: NodeId) {
        let question = self.start_asking(to).await;
        let me = self.me;
        within(&format!("the answer of node {to} to node {me}"), async {
            while self.answered.get(&to) != Some(&question) {
                self.next_event().await;
            }
        })
        .await;
    }

    /// Asks a node questions until it has answered one of them. Questions may be lost. Meanwhile
    /// exchanges questions with `helper`.
    pub(crate) async fn ask_until_answered(&mut self, to: NodeId, helper: NodeId) {
        let first = self.start_asking(to).await;
        let me = self.me;
        within(&format!("an answer of node {to} to node {me}"), async {
            while self.answered.get(&to) < Some(&first) {
                self.ask(helper).await;
                self.start_asking(to).await;
            }
        })
        .await;
    }

    async fn start_asking(&mut self, to: NodeId) -> u64 {
        self.last_question += 1;
        let question = self.last_question;
        self.command(Command::Ask { to, question }).await;
        question
    }

    /// Waits until the node has received this number from an incarnation of a peer, and checks that
    /// it has received no higher one.
    pub(crate) async fn wait_for_number(&mut self, from: NodeId, incarnation: u64, number: u64) {
        let me = self.me;
        within(&format!("message {number} of node {from} to node {me}"), async {
            while self.last_number(from, incarnation) < number {
                self.next_event().await;
            }
        })
        .await;
        assert_eq!(self.last_number(from, incarnation), number, "node {me} received more than node {from} sent");
    }

    pub(crate) fn last_number(&self, from: NodeId, incarnation: u64) -> u64 {
        self.received.get(&(from, incarnation)).map_or(0, |(_, last)| *last)
    }

    pub(crate) fn first_number(&self, from: NodeId, incarnation: u64) -> Option<u64> {
        self.received.get(&(from, incarnation)).map(|(first, _)| *first)
    }

    /// The node's next event. Checks that the numbers from one incarnation of a peer are
    /// consecutive.
    pub(crate) async fn next_event(&mut self) -> Event {
        let event = self.events.recv().await.expect("the node has ended");
        if matches!(event, Event::Suspected(_) | Event::Trusted(_)) {
            self.suspicions.push(event.clone());
        }
        if let Event::Answered { from, question } = event {
            self.answered.insert(from, question);
        }
        if let Event::Received { from, incarnation, number } = event {
            let is_outdated = self.received.keys().any(|(peer, later)| *peer == from && *later > incarnation);
            assert!(
                !is_outdated,
                "node {} received from incarnation {incarnation} of node {from} after a later one",
                self.me
            );
            // The first message from an incarnation may have any number.
            let (_, last) = self.received.entry((from, incarnation)).or_insert((number, number - 1));
            let is_after_gap = number > *last + 1 && self.gaps.remove(&from);
            assert!(
                number == *last + 1 || is_after_gap,
                "message {number} from node {from} to node {} follows message {last}: one was lost, repeated or reordered",
                self.me
            );
            *last = number;
        }
        event
    }

    /// The node's next event about a suspicion.
    pub(crate) async fn next_suspicion(&mut self) -> Event {
        loop {
            if let event @ (Event::Suspected(_) | Event::Trusted(_)) = self.next_event().await {
                return event;
            }
        }
    }

    /// Waits until the node, which exchanges questions with `helper` meanwhile, is in this state.
    pub(crate) async fn ask_until(&mut self, helper: NodeId, state: &str, is_reached: impl Fn(&Self) -> bool) {
        within(state, async {
            while !is_reached(self) {
                self.ask(helper).await;
            }
        })
        .await;
    }

    pub(crate) fn link(&self, peer: NodeId) -> LinkStats {
        self.handle.links()[&peer]
    }

    /// Ends the node's tasks immediately, as a crash would.
    pub(crate) async fn crash(self) {
        self.running.abort();
        let _ = within("the end of a node", self.running).await;
    }

    pub(crate) async fn stop(self) -> Ending {
        self.handle.stop();
        within("the end of a node", self.running).await.unwrap()
    }
}

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<TestNode>,
    pub(crate) endpoints: Vec<Endpoint>,
}

impl Cluster {
    pub(crate) async fn of_three(options: &NodeOptions, security: impl Fn(NodeId) -> Security) -> Self {
        Self::with_fake_peers(3, 3, options, security).await
    }

    /// A group of `size` nodes, of which only the first `real_nodes` run. The test may connect fake
    /// peers in place of the others, which the nodes cannot dial.
    pub(crate) async fn with_fake_peers(
        size: u32,
        real_nodes: u32,
        options: &NodeOptions,
        security: impl Fn(NodeId) -> Security,
    ) -> Self {
        let endpoints: Vec<Endpoint> = (0..size).map(|_| Endpoint::new()).collect();
        let nodes = (1..=real_nodes).map(|number| {
            let me = node(number);
            let mut peers = addresses(me, &endpoints);
            let fake_peers = peers.iter_mut().filter(|(peer, _)| peer.number() > real_nodes);
            fake_peers.for_each(|(_, address)| *address = UNREACHABLE_ADDRESS.into());
            TestNode::start(me, 0, &endpoints[me.index()], peers, security(me), options)
        });
        let mut cluster = Self { nodes: nodes.collect(), endpoints };
        cluster.check_exchange().await;
        cluster
    }

    pub(crate) fn plain(_: NodeId) -> Security {
        Security::Plain
    }

    pub(crate) fn address(&self, number: u32) -> SocketAddr {
        self.endpoints[node(number).index()].address
    }

    /// Checks that every node gets an answer from every other. Before it asks, a node sends two
    /// numbered messages to the same peer, which must receive them in order.
    pub(crate) async fn check_exchange(&mut self) {
        let ids: Vec<NodeId> = self.nodes.iter().map(|member| member.me).collect();
        for member in &mut self.nodes {
            let me = member.me;
            for peer in ids.iter().filter(|peer| **peer != me) {
                member.send(*peer, 2).await;
                member.ask(*peer).await;
            }
        }
    }

    pub(crate) async fn stop(self) {
        for member in self.nodes {
            let ending = member.stop().await;
            assert!(matches!(ending, Ending::Stopped), "{ending:?}");
        }
    }
}

/// The addresses of all nodes but `me`.
pub(crate) fn addresses(me: NodeId, endpoints: &[Endpoint]) -> BTreeMap<NodeId, String> {
    let all =
        endpoints.iter().enumerate().map(|(index, endpoint)| (NodeId::from_index(index), endpoint.address.to_string()));
    all.filter(|(peer, _)| *peer != me).collect()
}
