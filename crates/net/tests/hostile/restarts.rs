//! Nodes that dial each other at the same time, and nodes that restart as another incarnation.

use crate::chatter::Event;
use crate::cluster::{Cluster, Endpoint, NodeOptions, TestNode, addresses, node};
use crate::log::Log;
use crate::proxy::{Proxy, wait_for_connections};
use crate::within;
use quorate_net::tls::Security;
use std::collections::BTreeMap;

#[tokio::test]
async fn of_crossing_dials_one_connection_remains() {
    let _log = Log::new();
    let options = NodeOptions::default();
    for round in 0..60 {
        let endpoints = [Endpoint::new(), Endpoint::new()];
        let proxies = [Proxy::to(endpoints[1].address).await, Proxy::to(endpoints[0].address).await];
        let start = |number: u32| {
            let me = node(number);
            let (peer, address) = (node(3 - number), proxies[me.index()].address.to_string());
            TestNode::start(me, 0, &endpoints[me.index()], BTreeMap::from([(peer, address)]), Security::Plain, &options)
        };
        let (mut one, mut two) = (start(1), start(2));
        // Messages sent before the first connection cross too.
        one.send(node(2), 3).await;
        two.send(node(1), 3).await;
        tokio::join!(one.ask(node(2)), two.ask(node(1)));
        wait_for_connections(&[&proxies[0], &proxies[1]], 1).await;
        let before = (one.link(node(2)).connections, two.link(node(1)).connections);
        tokio::join!(one.ask(node(2)), two.ask(node(1)));
        let after = (one.link(node(2)).connections, two.link(node(1)).connections);
        assert_eq!(before, after, "round {round}: connected nodes must keep their connection");
        assert!(before.0 <= 2 && before.1 <= 2, "round {round}: {before:?} connections, at most 2 expected");
        one.wait_for_number(node(2), 0, 3).await;
        two.wait_for_number(node(1), 0, 3).await;
        one.crash().await;
        two.crash().await;
    }
}

#[tokio::test]
async fn in_a_group_that_starts_together_each_pair_has_one_connection() {
    let _log = Log::new();
    let mut cluster = Cluster::with_fake_peers(7, 7, &NodeOptions::default(), Cluster::plain).await;
    cluster.check_exchange().await;
    let mut connection_ends = 0;
    for member in &cluster.nodes {
        let links = member.handle.links();
        assert!(links.values().all(|link| link.is_connected), "node {}: {links:?}", member.me);
        connection_ends += links.values().map(|link| link.connections).sum::<u64>();
    }
    // Seven nodes form 21 pairs. A connection has two ends; if dials crossed, one side may have had
    // a second connection for a short time.
    assert!(connection_ends <= 3 * 21, "{connection_ends} ends of connections for 21 pairs");
    cluster.stop().await;
}

/// A node crashes and restarts repeatedly while all nodes exchange messages.
#[tokio::test]
async fn a_new_incarnation_receives_no_message_for_the_previous_one() {
    let log = Log::new();
    let options = NodeOptions::default();
    let mut cluster = Cluster::of_three(&options, Cluster::plain).await;
    for incarnation in 1..=8 {
        // Some of these messages are in flight when node 3 crashes, and some are still queued.
        for member in &cluster.nodes[..2] {
            member.send(node(3), 50).await;
        }
        cluster.nodes[2].send(node(1), 50).await;
        let previous = cluster.nodes.pop().unwrap();
        previous.crash().await;
        cluster.nodes[0].send(node(3), 5).await;
        let peers = addresses(node(3), &cluster.endpoints);
        let restarted = TestNode::start(node(3), incarnation, &cluster.endpoints[2], peers, Security::Plain, &options);
        cluster.nodes.push(restarted);
        // The new incarnation does not receive messages from before its connection, so it sends
        // first.
        for peer in [1, 2] {
            cluster.nodes[2].ask(node(peer)).await;
        }
        cluster.check_exchange().await;
        let [one, two, restarted] = &mut cluster.nodes[..] else { panic!() };
        restarted.send(node(1), 7).await;
        restarted.send(node(2), 7).await;
        // Seven, and two that `check_exchange` sent.
        one.wait_for_number(node(3), incarnation, 9).await;
        two.wait_for_number(node(3), incarnation, 9).await;
        assert_eq!(
            (one.first_number(node(3), incarnation), two.first_number(node(3), incarnation)),
            (Some(1), Some(1))
        );
        let first = restarted.first_number(node(1), 0);
        assert!(first > Some(1), "the first message that the new incarnation received has number {first:?}");
    }
    log.wait_for_line(&["Node 3 restarted as incarnation 8; dropped", "messages to its previous incarnation"]).await;
    assert!(cluster.nodes[0].link(node(3)).dropped_at_restart > 0);
    cluster.stop().await;
}

/// A refused connection proves that the process has ended; a mere lack of answers proves nothing.
#[tokio::test]
async fn a_crashed_process_is_suspected_and_a_silent_one_is_not() {
    let _log = Log::new();
    let options = NodeOptions::default();
    let mut cluster = Cluster::of_three(&options, Cluster::plain).await;
    // Node 2 crashes, and its listener stays: the kernel still accepts connections for it, as it
    // does for a suspended process.
    cluster.nodes.remove(1).crash().await;
    // Node 3, which is now at index 1, crashes, and its listener is closed.
    cluster.nodes.remove(1).crash().await;
    let endpoint = cluster.endpoints.pop().unwrap();
    let address = endpoint.address;
    drop(endpoint);
    let one = &mut cluster.nodes[0];
    let first = within("a suspicion of node 3", one.next_suspicion()).await;
    assert_eq!(first, Event::Suspected(node(3)));
    let endpoint = Endpoint::at(address);
    let restarted =
        TestNode::start(node(3), 1, &endpoint, addresses(node(3), &cluster.endpoints), Security::Plain, &options);
    let next = within("trust in node 3", one.next_suspicion()).await;
    assert_eq!(next, Event::Trusted(node(3)));
    restarted.crash().await;
}
