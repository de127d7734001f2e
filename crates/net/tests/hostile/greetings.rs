//! Introductions that lie, and introductions that were true once.

use crate::impostor::{Impostor, greeting};
use crate::log::Log;
use crate::party::{Member, Party, Place, Style, addresses, node};
use crate::proxy::Proxy;
use crate::within;
use bytes::BytesMut;
use quorate_core::Incarnation;
use quorate_net::frame::{Birth, Body, Dial, FRAME_LIMIT, Frame, Header, Hello, Refusal};
use quorate_net::tls::Security;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn refusal(party: &Party, header: Header, hello: Hello) -> Refusal {
    let mut impostor = Impostor::connect(party.address(1), header).await;
    impostor.say(&Body::Hello(hello)).await;
    match impostor.hear().await {
        Some(Frame { body: Body::Refuse(refusal), .. }) => {
            impostor.is_closed().await;
            refusal
        }
        other => panic!("a liar was answered {other:?}"),
    }
}

#[tokio::test]
async fn liars_are_told_and_the_group_goes_on() {
    let lie = |tell: &dyn Fn(&mut Header, &mut Hello)| {
        let (mut header, mut hello) = greeting(2, 1);
        tell(&mut header, &mut hello);
        (header, hello)
    };
    let cases: Vec<((Header, Hello), &str)> = vec![
        (lie(&|_, hello| hello.group = "other".into()), "belongs to the group 'demo'"),
        (lie(&|header, _| header.group.0 ^= 1), "belongs to the group 'demo'"),
        (lie(&|_, hello| hello.algorithm = "raft".into()), "runs chatter"),
        (lie(&|_, hello| hello.format = 9), "writes messages in version 1"),
        (lie(&|_, hello| hello.members = 4), "knows a group of 3 nodes"),
        (lie(&|header, _| header.sender = node(4)), "knows a group of 3 nodes, and this one has a higher number"),
        (lie(&|header, _| header.sender = node(1)), "is node 1 as well"),
        (lie(&|_, hello| hello.to = node(3)), "Node 1 is at this address"),
        // The same life of node 2, and another process.
        (lie(&|_, hello| hello.dial = Dial(u64::MAX)), "met another process that said that it was life 0"),
        // Node 1 is life 0, and nobody has met a later one.
        (lie(&|_, hello| hello.knows = Some(Incarnation(7))), "is life 0 of itself, and this node has met a later one"),
    ];
    // One node writes only so many lines a second.
    for cases in cases.chunks(5) {
        let log = Log::new();
        let mut party = Party::of_three(&Style::default(), Party::plain).await;
        let connections = |party: &Party| -> Vec<u64> {
            let links = party.members.iter().flat_map(|member| member.handle.links().into_values());
            links.map(|link| link.connections).collect()
        };
        let before = connections(&party);
        for ((header, hello), expected) in cases {
            let refusal = refusal(&party, *header, hello.clone()).await;
            assert!(refusal.to_string().contains(expected), "{refusal} instead of {expected}");
            log.line(&["WARN", "was refused. It was told:", expected]).await;
            party.goes_on().await;
        }
        assert_eq!(connections(&party), before, "a liar came between two nodes");
        party.stop().await;
    }
}

#[tokio::test]
async fn an_older_life_is_refused() {
    let log = Log::new();
    let mut party = Party::with_guests(3, 2, &Style::default(), Party::plain).await;
    let (mut header, mut hello) = greeting(3, 1);
    header.incarnation = Incarnation(5);
    let (mut young, _, _) = Impostor::welcomed(party.address(1), header, hello.clone()).await;
    header.incarnation = Incarnation(4);
    (hello.dial, hello.birth) = (Dial(9), Birth(1));
    assert_eq!(refusal(&party, header, hello).await, Refusal::OldLife { known: Incarnation(5) });
    log.line(&["WARN", "says it is node 3 was refused", "has met life 5"]).await;
    // The life that was there before is still welcome to speak.
    young.say(&Body::Ping).await;
    young.say(&Body::Batch(crate::impostor::batch(&[(1, crate::chatter::Message::Question(8))]))).await;
    while !matches!(young.hear().await.expect("the young life was cut off").body, Body::Batch(_)) {}
    party.goes_on().await;
    party.stop().await;
}

#[tokio::test]
async fn a_node_of_another_group_is_refused_and_both_say_so() {
    let log = Log::new();
    let mut party = Party::of_three(&Style::default(), Party::plain).await;
    let (place, style) = (Place::new(), Style { group: "other", ..Style::default() });
    let stranger = Member::start(node(3), 0, &place, addresses(node(3), &party.places), Security::Plain, &style);
    log.line(&["A connection from", "was refused. It was told: \"The other node belongs to the group 'demo'."]).await;
    log.line(&["No connection to node 1 at", "The other node belongs to the group 'demo'.", "Trying again."]).await;
    party.goes_on().await;
    stranger.crash().await;
    party.stop().await;
}

/// Everything that a node once said is said again by somebody who listened.
#[tokio::test]
async fn a_conversation_that_is_played_again_changes_nothing() {
    let log = Log::new();
    let (places, style) = ([Place::new(), Place::new()], Style::default());
    let proxy = Proxy::to(places[1].address).await;
    let peer = |number, address: std::net::SocketAddr| BTreeMap::from([(node(number), address.to_string())]);
    let aside = crate::proxy::hole().await;
    let mut one = Member::start(node(1), 0, &places[0], peer(2, proxy.address), Security::Plain, &style);
    let mut two = Member::start(node(2), 0, &places[1], peer(1, aside), Security::Plain, &style);
    one.say(node(2), 5).await;
    one.ask(node(2)).await;
    // Another connection, so that there are two conversations to play.
    proxy.cut_all();
    one.say(node(2), 5).await;
    one.ask(node(2)).await;
    two.hear(node(1), 0, 10).await;
    let conversations = proxy.said();
    assert_eq!(conversations.len(), 2);
    for conversation in &conversations {
        let mut stream = TcpStream::connect(places[1].address).await.unwrap();
        let _ = stream.write_all(conversation).await;
        let mut answer = BytesMut::new();
        let first = within("the answer to a replay", async {
            loop {
                if let Some(frame) = Frame::next(&mut answer, FRAME_LIMIT).unwrap() {
                    return frame;
                }
                assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "no answer");
            }
        })
        .await;
        assert_eq!(first.body, Body::Refuse(Refusal::Stale));
    }
    log.line(&["WARN", "says it is node 1 was refused", "has seen this attempt or a later one"]).await;
    one.say(node(2), 1).await;
    two.hear(node(1), 0, 11).await;
    two.ask(node(1)).await;
    assert_eq!(two.link(node(1)).connections, 2);
}
