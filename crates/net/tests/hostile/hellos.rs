//! Forged and replayed Hello frames, by which a dialling node introduces itself.

use crate::cluster::{Cluster, Endpoint, NodeOptions, TestNode, addresses, node};
use crate::fake_peer::{FakePeer, hello_frame};
use crate::log::Log;
use crate::proxy::Proxy;
use crate::within;
use bytes::BytesMut;
use quorate_core::Incarnation;
use quorate_net::frame::{Body, Dial, FRAME_LIMIT, Frame, Header, Hello, LinkEnd, ProcessNonce, Refusal};
use quorate_net::tls::Security;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a Hello to node 1 and returns the refusal with which the node must answer.
async fn send_refused_hello(cluster: &Cluster, header: Header, hello: Hello) -> Refusal {
    let mut fake_peer = FakePeer::connect(cluster.address(1), header).await;
    fake_peer.send(&Body::Hello(hello)).await;
    match fake_peer.receive().await {
        Some(Frame { body: Body::Refuse(refusal), .. }) => {
            fake_peer.wait_for_close().await;
            refusal
        }
        other => panic!("a forged Hello must be refused; the answer is {other:?}"),
    }
}

#[tokio::test]
async fn forged_hellos_are_refused_and_do_not_disturb_the_group() {
    let forge = |change: &dyn Fn(&mut Header, &mut Hello)| {
        let (mut header, mut hello) = hello_frame(2, 1);
        change(&mut header, &mut hello);
        (header, hello)
    };
    let cases: Vec<((Header, Hello), &str)> = vec![
        (forge(&|_, hello| hello.group = "other".into()), "belongs to group 'demo'"),
        (forge(&|header, _| header.group.0 ^= 1), "belongs to group 'demo'"),
        (forge(&|_, hello| hello.algorithm = "raft".into()), "runs chatter"),
        (forge(&|_, hello| hello.message_format = 9), "uses message format 1"),
        (forge(&|_, hello| hello.group_size = 4), "is configured for a group of 3 nodes"),
        (forge(&|header, _| header.sender = node(4)), "group of 3 nodes, and this node's number is higher"),
        (forge(&|header, _| header.sender = node(1)), "is also node 1"),
        (forge(&|_, hello| hello.to = node(3)), "the node at this address is node 1"),
        // The same incarnation of node 2, but another process.
        (forge(&|_, hello| hello.dial = Dial(u64::MAX)), "connected to another process with incarnation 0"),
        // Node 1 runs as incarnation 0, so no node can have been connected to a later one.
        (
            forge(&|_, hello| hello.known_end = Some(LinkEnd::first(Incarnation(7)))),
            "runs as incarnation 0, and this node has been",
        ),
    ];
    // A node writes at most ten warnings per second, so a new group starts every five cases.
    for cases in cases.chunks(5) {
        let log = Log::new();
        let mut cluster = Cluster::of_three(&NodeOptions::default(), Cluster::plain).await;
        let connections = |cluster: &Cluster| -> Vec<u64> {
            let links = cluster.nodes.iter().flat_map(|member| member.handle.links().into_values());
            links.map(|link| link.connections).collect()
        };
        let connections_before = connections(&cluster);
        for ((header, hello), expected) in cases {
            let refusal = send_refused_hello(&cluster, *header, hello.clone()).await;
            assert!(refusal.to_string().contains(expected), "{refusal} instead of {expected}");
            log.wait_for_line(&["WARN", "Refused", expected]).await;
            cluster.check_exchange().await;
        }
        assert_eq!(connections(&cluster), connections_before, "a forged Hello must not displace a connection");
        cluster.stop().await;
    }
}

#[tokio::test]
async fn an_older_incarnation_is_refused() {
    let log = Log::new();
    let mut cluster = Cluster::with_fake_peers(3, 2, &NodeOptions::default(), Cluster::plain).await;
    let (mut header, mut hello) = hello_frame(3, 1);
    header.incarnation = Incarnation(5);
    let (mut later, _, _) = FakePeer::connect_welcomed(cluster.address(1), header, hello.clone()).await;
    header.incarnation = Incarnation(4);
    (hello.dial, hello.process_nonce) = (Dial(9), ProcessNonce(1));
    assert_eq!(
        send_refused_hello(&cluster, header, hello).await,
        Refusal::OlderIncarnation { known_incarnation: Incarnation(5) }
    );
    log.wait_for_line(&["WARN", "Refused a process that claims to be node 3", "connected to incarnation 5"]).await;
    // The connection of the later incarnation is unaffected.
    later.send(&Body::Ping).await;
    later.send(&Body::Batch(crate::fake_peer::batch(&[(1, crate::chatter::Message::Question(8))]))).await;
    while !matches!(later.receive().await.expect("the later incarnation lost its connection").body, Body::Batch(_)) {}
    cluster.check_exchange().await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_node_of_another_group_is_refused_and_both_nodes_log_it() {
    let log = Log::new();
    let mut cluster = Cluster::of_three(&NodeOptions::default(), Cluster::plain).await;
    let (endpoint, options) = (Endpoint::new(), NodeOptions { group: "other", ..NodeOptions::default() });
    let foreign_node =
        TestNode::start(node(3), 0, &endpoint, addresses(node(3), &cluster.endpoints), Security::Plain, &options);
    log.wait_for_line(&["Refused a connection from", "the other node belongs to group 'demo'."]).await;
    log.wait_for_line(&["Cannot connect to node 1 at", "the other node belongs to group 'demo'.", "Trying again."])
        .await;
    cluster.check_exchange().await;
    foreign_node.crash().await;
    cluster.stop().await;
}

/// An attacker replays everything that a node once sent.
#[tokio::test]
async fn a_replayed_connection_changes_nothing() {
    let log = Log::new();
    let (endpoints, options) = ([Endpoint::new(), Endpoint::new()], NodeOptions::default());
    let proxy = Proxy::to(endpoints[1].address).await;
    let peer = |number, address: std::net::SocketAddr| BTreeMap::from([(node(number), address.to_string())]);
    let not_dialled = crate::proxy::closing_listener().await;
    let mut one = TestNode::start(node(1), 0, &endpoints[0], peer(2, proxy.address), Security::Plain, &options);
    let mut two = TestNode::start(node(2), 0, &endpoints[1], peer(1, not_dialled), Security::Plain, &options);
    one.send(node(2), 5).await;
    one.ask(node(2)).await;
    // Open a second connection, so that there are two to replay.
    proxy.cut_all();
    one.send(node(2), 5).await;
    one.ask(node(2)).await;
    two.wait_for_number(node(1), 0, 10).await;
    let recorded = proxy.recorded();
    assert_eq!(recorded.len(), 2);
    for bytes in &recorded {
        let mut stream = TcpStream::connect(endpoints[1].address).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let mut answer = BytesMut::new();
        let reply = within("the answer to a replay", async {
            loop {
                if let Some(frame) = Frame::next(&mut answer, FRAME_LIMIT).unwrap() {
                    return frame;
                }
                assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "no answer");
            }
        })
        .await;
        assert_eq!(reply.body, Body::Refuse(Refusal::OldDial));
    }
    log.wait_for_line(&["WARN", "Refused a process that claims to be node 1", "has seen this dial or a later one"])
        .await;
    one.send(node(2), 1).await;
    two.wait_for_number(node(1), 0, 11).await;
    two.ask(node(1)).await;
    assert_eq!(two.link(node(1)).connections, 2);
}
