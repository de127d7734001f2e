//! Peers that are added, moved to another address, removed and added again while the nodes run.

use crate::certificates::Certificates;
use crate::chatter::{Command, Event};
use crate::cluster::{Cluster, Endpoint, NodeOptions, TestNode, UNREACHABLE_ADDRESS, node};
use crate::fake_peer::{FakePeer, batch, hello_frame, number_message};
use crate::log::Log;
use crate::memory;
use crate::proxy::{Proxy, closing_listener};
use crate::within;
use quorate_core::{Incarnation, NodeId};
use quorate_net::frame::{Body, Dial, Frame, Generation, LinkEnd, Refusal};
use quorate_net::tls::Security;
use quorate_net::{PeerSet, PeersAreFixed, Traffic};
use std::collections::BTreeMap;
use std::time::Duration;

/// The incarnation of all nodes that do not restart.
const INCARNATION: u64 = 0;

/// The text with which a node refuses a node that is not its peer.
const NOT_A_PEER: &str = "this node is not among the peers of the other node";

fn options() -> NodeOptions {
    let mut options = NodeOptions { peer_set: PeerSet::Changing, ..NodeOptions::default() };
    // No connection ends because it is idle.
    options.limits.idle_timeout = Duration::from_secs(600);
    options
}

/// Nodes 1 to n with their endpoints, of which each starts without peers.
struct Group {
    nodes: Vec<TestNode>,
    endpoints: Vec<Endpoint>,
}

impl Group {
    fn start(size: u32, security: impl Fn(NodeId) -> Security) -> Self {
        let endpoints: Vec<Endpoint> = (0..size).map(|_| Endpoint::new()).collect();
        let nodes = endpoints.iter().zip(1..).map(|(endpoint, number)| {
            let me = node(number);
            TestNode::start(me, INCARNATION, endpoint, BTreeMap::new(), security(me), &options())
        });
        Self { nodes: nodes.collect(), endpoints }
    }

    /// A group whose nodes know each other and have exchanged messages.
    async fn connected(size: u32) -> Self {
        let mut group = Self::start(size, Cluster::plain);
        for index in 0..size {
            group.nodes[index as usize].set_peers(group.addresses(1..=size));
        }
        group.check_exchange().await;
        group
    }

    /// These nodes with their addresses.
    fn addresses(&self, numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, String)> {
        let address = |number: u32| self.endpoints[node(number).index()].address.to_string();
        numbers.into_iter().map(|number| (number, address(number))).collect()
    }

    fn node(&mut self, number: u32) -> &mut TestNode {
        &mut self.nodes[node(number).index()]
    }

    /// Makes these the peers of a node, besides itself.
    fn set_peers(&self, number: u32, peers: impl IntoIterator<Item = u32>) {
        self.nodes[node(number).index()].set_peers(self.addresses(peers));
    }

    async fn check_exchange(&mut self) {
        let mut cluster = Cluster { nodes: std::mem::take(&mut self.nodes), endpoints: Vec::new() };
        cluster.check_exchange().await;
        self.nodes = cluster.nodes;
    }

    async fn stop(self) {
        Cluster { nodes: self.nodes, endpoints: self.endpoints }.stop().await;
    }
}

/// Adds node 3 to a group of two that exchange messages. Node 3 knows no node at first.
async fn add_a_node_under_traffic(log: &Log, mut group: Group) {
    group.set_peers(1, [2]);
    group.set_peers(2, [1]);
    group.node(1).ask(node(2)).await;
    for round in 1..=30 {
        group.node(1).send(node(2), 20).await;
        group.node(2).send(node(1), 20).await;
        match round {
            // The new node refuses its peers as long as it does not know them.
            10 => {
                group.set_peers(1, [2, 3]);
                group.set_peers(2, [1, 3]);
                log.wait_for_line(&["INFO", "Cannot connect to node 3", NOT_A_PEER]).await;
                log.wait_for_line(&["INFO", "Refused a connection from 127.0.0.1", NOT_A_PEER]).await;
                group.node(1).send(node(3), 5).await;
            }
            20 => group.set_peers(3, [1, 2]),
            _ => {}
        }
    }
    // Messages from before the first connection go to the new node as well.
    group.node(3).wait_for_number(node(1), INCARNATION, 5).await;
    group.check_exchange().await;
    group.node(2).wait_for_number(node(1), INCARNATION, 30 * 20 + 2).await;
    group.node(1).wait_for_number(node(2), INCARNATION, 30 * 20 + 2).await;
    assert_eq!(group.node(1).link(node(2)).connections, 1, "the old peers must keep their connection");
    let links: Vec<Vec<NodeId>> =
        group.nodes.iter().map(|member| member.handle.links().into_keys().collect()).collect();
    assert_eq!(links, [[2, 3], [1, 3], [1, 2]].map(|peers| peers.map(node).to_vec()));
    group.stop().await;
}

#[tokio::test]
async fn a_node_that_knows_no_node_is_added_while_traffic_flows() {
    let log = Log::new();
    add_a_node_under_traffic(&log, Group::start(3, Cluster::plain)).await;
}

#[tokio::test]
async fn a_node_is_added_to_an_encrypted_group() {
    let log = Log::new();
    let certificates = Certificates::new();
    add_a_node_under_traffic(&log, Group::start(3, |node| certificates.security(node))).await;
}

/// The acceptor learns of its peer, but cannot dial it.
#[tokio::test]
async fn a_refused_node_dials_again_until_it_is_a_peer() {
    let log = Log::new();
    let mut group = Group::start(2, Cluster::plain);
    group.set_peers(1, [2]);
    log.wait_for_line(&["Cannot connect to node 2", NOT_A_PEER]).await;
    group.node(2).set_peers([(1, UNREACHABLE_ADDRESS.to_owned())]);
    group.node(1).ask(node(2)).await;
    group.check_exchange().await;
    // The dialler logs a refusal that repeats only once.
    assert_eq!(log.all().iter().filter(|line| line.contains("Cannot connect") && line.contains(NOT_A_PEER)).count(), 1);
    group.stop().await;
}

#[tokio::test]
async fn a_node_with_fixed_peers_refuses_a_change() {
    let cluster = Cluster::of_three(&NodeOptions::default(), Cluster::plain).await;
    let one = &cluster.nodes[0];
    assert_eq!(one.handle.set_peers(BTreeMap::new()), Err(PeersAreFixed));
    assert_eq!(one.handle.links().len(), 2);
    cluster.stop().await;
}

/// Node 1 reaches node 2 through one of two proxies; node 2 cannot dial node 1. When a proxy stops
/// forwarding, only the other address leads to node 2.
#[tokio::test]
async fn a_change_of_the_address_loses_and_repeats_nothing() {
    let log = Log::new();
    let endpoints = [Endpoint::new(), Endpoint::new()];
    let proxies = [Proxy::to(endpoints[1].address).await, Proxy::to(endpoints[1].address).await];
    let options = options();
    let start = |number: u32, peer: u32, address: String| {
        let endpoint = &endpoints[node(number).index()];
        let peers = BTreeMap::from([(node(peer), address)]);
        TestNode::start(node(number), INCARNATION, endpoint, peers, Security::Plain, &options)
    };
    let mut one = start(1, 2, proxies[0].address.to_string());
    let mut two = start(2, 1, closing_listener().await.to_string());
    one.ask(node(2)).await;
    for round in 1..=20 {
        let [old, new] = if round % 2 == 1 { [&proxies[0], &proxies[1]] } else { [&proxies[1], &proxies[0]] };
        // Some of these messages pass the old proxy, and some are not acknowledged.
        one.send(node(2), 30).await;
        two.send(node(1), 30).await;
        old.set_frozen(true);
        one.send(node(2), 30).await;
        two.send(node(1), 30).await;
        assert!(one.link(node(2)).held_bytes > 0 || two.link(node(1)).held_bytes > 0);
        one.set_peers([(2, new.address.to_string())]);
        // Later messages follow on the new connection.
        one.send(node(2), 10).await;
        one.wait_for_number(node(2), INCARNATION, 60 * round).await;
        two.wait_for_number(node(1), INCARNATION, 70 * round).await;
        assert_eq!(one.link(node(2)).connections, round + 1, "the connection must be replaced once");
        // Also frees the connections that the nodes have closed.
        old.set_frozen(false);
    }
    log.wait_for_line(&["Node 2 has a new address", &proxies[1].address.to_string()]).await;
    assert_eq!(one.link(node(2)).dropped_at_restart + two.link(node(1)).dropped_at_restart, 0);
    assert!(one.suspicions.is_empty() && two.suspicions.is_empty());
    one.crash().await;
    two.crash().await;
}

#[tokio::test]
async fn a_new_address_is_dialled_at_once() {
    let _log = Log::new();
    let endpoints = [Endpoint::new(), Endpoint::new()];
    let mut options = options();
    // The test fails if the node waits for its backoff.
    (options.limits.min_backoff, options.limits.max_backoff) = (crate::DEADLINE * 10, crate::DEADLINE * 10);
    let two_in_vain = BTreeMap::from([(node(2), UNREACHABLE_ADDRESS.to_owned())]);
    let one_in_vain = BTreeMap::from([(node(1), UNREACHABLE_ADDRESS.to_owned())]);
    let mut one = TestNode::start(node(1), INCARNATION, &endpoints[0], two_in_vain, Security::Plain, &options);
    let two = TestNode::start(node(2), INCARNATION, &endpoints[1], one_in_vain, Security::Plain, &options);
    one.send(node(2), 1).await;
    one.set_peers([(2, endpoints[1].address.to_string())]);
    one.ask(node(2)).await;
    one.crash().await;
    two.crash().await;
}

/// No process listens at the peer's new address yet, which proves nothing about the peer.
#[tokio::test]
async fn a_peer_is_not_suspected_at_an_address_where_it_never_listened() {
    let log = Log::new();
    let mut group = Group::connected(3).await;
    let mut peers = group.addresses([2, 3]);
    peers[0].1 = UNREACHABLE_ADDRESS.to_owned();
    // Node 2 must not dial node 1 either.
    group.set_peers(2, [3]);
    group.node(1).set_peers(peers);
    log.wait_for_line(&["Cannot connect to node 2 at 127.0.0.1:1"]).await;
    group.node(1).ask(node(3)).await;
    assert_eq!(group.node(1).suspicions, []);
    group.set_peers(1, [2, 3]);
    group.set_peers(2, [1, 3]);
    ask_on_new_link(&mut group).await;
    group.stop().await;
}

/// Nodes 1 and 2 exchange messages while one of them, or both, removes the other and adds it again.
/// The processes run on. Messages may be lost around the removal, but none is repeated or
/// reordered, and the new link works in both directions.
#[tokio::test]
async fn a_peer_that_is_removed_under_load_can_be_added_again() {
    let log = Log::new();
    let mut group = Group::connected(3).await;
    for (round, removing) in [&[1][..], &[2], &[1, 2]].into_iter().cycle().take(30).enumerate() {
        let sent = group.node(2).last_number(node(1), INCARNATION);
        group.node(1).send(node(2), 100).await;
        group.node(2).send(node(1), 100).await;
        // A change of the peers overtakes queued commands, and these must be carried out before.
        for number in [1, 2] {
            group.node(number).ask(node(3)).await;
        }
        // In every other group of rounds, the removed peer is added again at once.
        let waits_for_removal = (round / 3) % 2 == 0;
        for number in removing {
            group.set_peers(*number, [3]);
        }
        if waits_for_removal {
            // What was sent before the removal arrives, unless the receiver removed its peer, too.
            if removing == [1] {
                group.node(2).wait_for_number(node(1), INCARNATION, sent + 100).await;
            }
            for number in removing {
                group.node(*number).ask_until(node(3), "the removal", |member| member.handle.links().len() == 1).await;
            }
            // Messages while one of the nodes is not a peer: dropped, or held until the link is
            // replaced.
            group.node(1).send(node(2), 10).await;
            group.node(2).send(node(1), 10).await;
        }
        for number in removing {
            group.set_peers(*number, [1, 2, 3]);
        }
        ask_on_new_link(&mut group).await;
        group.check_exchange().await;
        for number in [1, 2] {
            // Its answer comes after the events of the exchange.
            group.node(number).ask(node(3)).await;
            group.node(number).forbid_gaps();
        }
    }
    log.wait_for_line(&["removed this node from its peers and added it again; dropped"]).await;
    assert!(group.nodes.iter().all(|member| member.suspicions.is_empty()));
    group.stop().await;
}

/// Nodes 1 and 2 ask each other until each has an answer on the new link. A message that a node
/// sends before it learns that the other has replaced the link is lost.
async fn ask_on_new_link(group: &mut Group) {
    for (number, peer) in [(1, 2), (2, 1)] {
        group.node(number).allow_gap(node(peer));
        group.node(number).ask_until_answered(node(peer), node(3)).await;
    }
}

#[tokio::test]
async fn a_removed_peer_is_refused_and_its_crash_is_not_reported() {
    let log = Log::new();
    let mut group = Group::connected(3).await;
    group.set_peers(1, [3]);
    log.wait_for_line(&["The connection to node 1 ended: the peer ended it (it removed this node from its peers)"])
        .await;
    log.wait_for_line(&["Cannot connect to node 1", NOT_A_PEER]).await;
    group.node(1).send(node(2), 1).await;
    log.wait_for_line(&["INFO", "Dropped a message to node 2, which is not a peer of this node."]).await;
    // Node 2 crashes, and its listener is closed. Node 3, which still has it as a peer, notices.
    group.nodes.remove(1).crash().await;
    let address = group.endpoints.remove(1).address;
    let [one, three] = &mut group.nodes[..] else { panic!() };
    assert_eq!(within("a suspicion", three.next_suspicion()).await, Event::Suspected(node(2)));
    one.ask(node(3)).await;
    assert_eq!(one.suspicions, []);
    // If a suspected peer is removed, repaired and added again, the suspicion ends.
    let peers = || [(1, group.endpoints[0].address.to_string()), (2, address.to_string())];
    three.set_peers(peers().into_iter().take(1));
    three.ask(node(1)).await;
    let endpoint = Endpoint::at(address);
    let restarted = TestNode::start(node(2), 1, &endpoint, BTreeMap::new(), Security::Plain, &options());
    restarted.set_peers([(3, group.endpoints[1].address.to_string())]);
    three.set_peers(peers());
    assert_eq!(within("trust", three.next_suspicion()).await, Event::Trusted(node(2)));
    three.ask(node(2)).await;
    restarted.crash().await;
    group.stop().await;
}

/// A fake node 3 connects to node 1 with this dial, and knows the given end of node 1.
async fn connect_fake_peer(group: &Group, dial: u64, known_end: Option<LinkEnd>) -> (FakePeer, Generation, u64) {
    let (header, mut hello) = hello_frame(3, 1);
    (hello.dial, hello.known_end) = (Dial(dial), known_end);
    let (fake_peer, header, welcome) = FakePeer::connect_welcomed(group.endpoints[0].address, header, hello).await;
    (fake_peer, welcome.generation, header.acknowledged)
}

#[tokio::test]
async fn a_peer_that_is_added_again_gets_a_new_link() {
    let _log = Log::new();
    let mut group = Group::connected(2).await;
    let fake_address = (3, UNREACHABLE_ADDRESS.to_owned());
    let with_fake_peer = || group.addresses([2]).into_iter().chain([fake_address.clone()]).collect::<Vec<_>>();
    let with_fake_peer = with_fake_peer();
    group.node(1).set_peers(with_fake_peer.clone());
    group.node(1).ask(node(2)).await;
    let (mut fake_peer, generation, acknowledged) = connect_fake_peer(&group, 1, None).await;
    assert!(generation > Generation::FIRST && acknowledged == 0);
    fake_peer.send(&Body::Batch(batch(&[(7, number_message(1)), (8, number_message(2))]))).await;
    group.node(1).wait_for_number(node(3), INCARNATION, 2).await;
    let known_end = LinkEnd { incarnation: Incarnation(INCARNATION), generation };
    let (mut fake_peer, same_generation, acknowledged) = connect_fake_peer(&group, 2, Some(known_end)).await;
    assert_eq!((same_generation, acknowledged), (generation, 8));
    // The fake peer does not acknowledge this message, so its connection closes after the drain
    // time. Until then, the node reads but ignores what the fake peer sends.
    group.node(1).send(node(3), 1).await;
    group.node(1).ask(node(2)).await;
    group.set_peers(1, [2]);
    group.node(1).ask(node(2)).await;
    fake_peer.send(&Body::Batch(batch(&[(9, number_message(3))]))).await;
    within("the end of the drain time", fake_peer.wait_for_close()).await;
    group.node(1).ask(node(2)).await;
    assert_eq!(group.node(1).last_number(node(3), INCARNATION), 2);
    let (header, mut hello) = hello_frame(3, 1);
    (hello.dial, hello.known_end) = (Dial(3), Some(known_end));
    let mut refused = FakePeer::connect(group.endpoints[0].address, header).await;
    refused.send(&Body::Hello(hello)).await;
    assert!(matches!(refused.receive().await, Some(Frame { body: Body::Refuse(Refusal::NotAPeer), .. })));
    // The new link has a later generation, acknowledges nothing, and sends no old message.
    group.node(1).set_peers(with_fake_peer);
    group.node(1).ask(node(2)).await;
    let (mut fake_peer, new_generation, acknowledged) = connect_fake_peer(&group, 4, Some(known_end)).await;
    assert!(new_generation > generation && acknowledged == 0);
    group.node(1).command(Command::Ask { to: node(3), question: 1 }).await;
    let Some(Frame { body: Body::Batch(question), .. }) = fake_peer.receive().await else { panic!("no batch") };
    let numbers = quorate_net::frame::BatchReader::new(&question).map(|message| message.unwrap().0);
    assert_eq!(numbers.count(), 1, "the new link must only send the question");
    // Everything is acknowledged, so the node says goodbye.
    let last = u64::from_le_bytes(*question.first_chunk().unwrap());
    fake_peer.header.acknowledged = last;
    fake_peer.send(&Body::Ping).await;
    group.set_peers(1, [2]);
    let bye = within("a Bye", async {
        loop {
            if let Body::Bye(reason) = fake_peer.receive().await.expect("no Bye").body {
                return reason;
            }
        }
    });
    assert_eq!(bye.await, "it removed this node from its peers");
    group.stop().await;
}

#[tokio::test]
async fn traffic_is_counted_for_each_link_and_in_total() {
    let _log = Log::new();
    let mut group = Group::connected(3).await;
    let before = group.node(1).link(node(2)).traffic;
    group.node(1).send(node(2), 1_000).await;
    group.node(1).ask(node(2)).await;
    let after = group.node(1).link(node(2)).traffic;
    // The question and its answer count, too.
    assert_eq!(after.messages_sent - before.messages_sent, 1_001);
    assert_eq!(after.messages_received - before.messages_received, 1);
    assert!((1..=1_001).contains(&(after.batches_sent - before.batches_sent)), "{before:?}, {after:?}");
    let received = group.node(2).link(node(1)).traffic;
    assert_eq!((received.messages_received, received.batches_received), (after.messages_sent, after.batches_sent));
    let total = group.node(1).handle.traffic();
    let sum = group.node(1).handle.links().values().fold(Traffic::default(), |sum, link| Traffic {
        messages_sent: sum.messages_sent + link.traffic.messages_sent,
        batches_sent: sum.batches_sent + link.traffic.batches_sent,
        messages_received: sum.messages_received + link.traffic.messages_received,
        batches_received: sum.batches_received + link.traffic.batches_received,
    });
    assert_eq!(total, sum);
    // The total keeps the traffic on the link to a removed peer.
    group.set_peers(1, [3]);
    group.node(1).ask(node(3)).await;
    assert!(group.node(1).handle.traffic().messages_sent > total.messages_sent);
    group.stop().await;
}

/// Number of changes of the set of peers in the next test.
const CYCLES: u32 = 600;
/// Maximum growth of this process's memory in that test. A link that was never freed would keep its
/// buffer of 64 KiB, because each gets a message.
const MAX_GROWN_BYTES: u64 = 12 << 20;

#[tokio::test]
async fn many_added_and_removed_peers_leave_nothing_behind() {
    let _log = Log::new();
    let mut group = Group::connected(3).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let tasks_before = tasks();
    let mut grown_from = 0;
    for cycle in 0..CYCLES {
        if cycle == CYCLES / 6 {
            grown_from = memory::current();
        }
        // Node 2 comes and goes. A node that never answers comes once and goes.
        let (stranger, address) = (100 + cycle, UNREACHABLE_ADDRESS.to_owned());
        let mut peers = group.addresses(if cycle % 2 == 0 { vec![2, 3] } else { vec![3] });
        peers.push((stranger, address));
        group.node(1).set_peers(peers);
        group.node(1).allow_gap(node(2));
        group.node(2).allow_gap(node(1));
        group.node(1).command(Command::Send { to: node(2), count: 1, padding: 10_000 }).await;
        group.node(1).command(Command::Send { to: node(stranger), count: 1, padding: 10_000 }).await;
        group.node(1).ask(node(3)).await;
    }
    group.set_peers(1, [2, 3]);
    group.node(1).ask(node(3)).await;
    group.node(1).ask_until(node(3), "the end of the removed peers' tasks", |_| tasks() <= tasks_before).await;
    assert_eq!(group.node(1).handle.links().into_keys().collect::<Vec<_>>(), [2, 3].map(node));
    group.node(1).ask(node(2)).await;
    let grown_bytes = memory::current().saturating_sub(grown_from);
    assert!(grown_bytes < MAX_GROWN_BYTES, "{CYCLES} changes cost {grown_bytes} bytes");
    group.stop().await;
}
