//! Peers that do not read: what waits for them is bounded, and so is who waits with it.

use crate::chatter::Command;
use crate::impostor::{Impostor, greeting};
use crate::log::Log;
use crate::party::{Party, Style, node};
use crate::within;
use quorate_net::frame::{Body, encode};
use quorate_net::{Ending, Overflow};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const HELD: usize = 16 * MIB;

fn style(overflow: Overflow) -> Style {
    let mut style = Style { overflow, ..Style::default() };
    (style.limits.crowded_bytes, style.limits.held_bytes) = (256 * KIB, MIB);
    style.limits.commands = 2;
    style
}

/// Node 3 is welcomed by node 1 and reads no further.
async fn deaf(party: &Party) -> Impostor {
    let (header, hello) = greeting(3, 1);
    Impostor::welcomed(party.address(1), header, hello).await.0
}

/// Says that node 3 lives, as long as somebody hears it.
async fn sign_of_life(mut stream: OwnedWriteHalf, every: Duration) {
    let (header, _) = greeting(3, 1);
    while stream.write_all(&encode(&header, &Body::Ping)).await.is_ok() {
        tokio::time::sleep(every).await;
    }
}

async fn crowded(party: &mut Party, style: &Style) {
    let crowding = async {
        while party.members[0].link(node(3)).held_bytes < style.limits.crowded_bytes {
            party.members[1].ask(node(1)).await;
        }
    };
    within("a crowded link", crowding).await;
}

#[tokio::test]
async fn what_a_deaf_peer_does_not_take_is_dropped_with_a_line() {
    let log = Log::new();
    let mut style = style(Overflow::Drop);
    // A peer that says it lives and takes nothing is given up after a while.
    (style.limits.silence, style.limits.ping_every) = (Duration::from_millis(400), Duration::from_millis(100));
    // More than the system itself keeps for a connection.
    style.limits.held_bytes = HELD;
    let mut party = Party::with_guests(3, 2, &style, Party::plain).await;
    // It says that it lives all the while, and never reads.
    let (_unread, speaking) = deaf(&party).await.stream.into_split();
    tokio::spawn(sign_of_life(speaking, style.limits.silence / 8));
    for _ in 0..64 {
        party.members[0].command(Command::Say { to: node(3), count: 16, ballast: 32 * KIB }).await;
        party.members[0].ask(node(2)).await;
        assert!(party.members[0].link(node(3)).held_bytes <= HELD);
    }
    log.line(&["WARN", "messages to node 3 found no place", "They are dropped"]).await;
    assert!(party.members[0].link(node(3)).overflowed > 100, "{:?}", party.members[0].link(node(3)));
    assert!(log.count("They are dropped") < 10, "one line until there is room again");
    log.line(&["The connection to node 3 is over: the peer took nothing for 400ms", "Nothing is lost"]).await;
    party.goes_on().await;
    assert!(party.members[0].link(node(3)).held_bytes <= HELD);
    party.stop().await;
}

#[tokio::test]
async fn a_peer_that_never_speaks_again_is_given_up() {
    let log = Log::new();
    let mut style = Style::default();
    (style.limits.silence, style.limits.ping_every) = (Duration::from_millis(300), Duration::from_millis(50));
    let mut party = Party::with_guests(3, 2, &style, Party::plain).await;
    let mut impostor = deaf(&party).await;
    impostor.is_closed().await;
    log.line(&["The connection to node 3 is over: nothing came from the peer for 300ms", "Nothing is lost"]).await;
    party.goes_on().await;
    party.stop().await;
}

#[tokio::test]
async fn users_wait_for_a_deaf_peer_before_a_node_gives_up() {
    let _log = Log::new();
    let style = style(Overflow::End);
    let mut party = Party::with_guests(3, 2, &style, Party::plain).await;
    let _impostor = deaf(&party).await;
    // Commands are taken until the link is crowded, and then the user waits, though the node does not.
    let handle = party.members[0].handle.clone();
    let user = tokio::spawn(async move {
        for _ in 0..10_000 {
            let said = handle.command(Command::Say { to: node(3), count: 1, ballast: 32 * KIB }).await;
            if said.is_err() {
                return;
            }
        }
    });
    crowded(&mut party, &style).await;
    // What is under way from the link to the system's own buffers has come to rest when nothing changes any more.
    let mut before = 0;
    for _ in 0..200 {
        party.members[1].ask(node(1)).await;
        let held = party.members[0].link(node(3)).held_bytes;
        assert!(held < style.limits.crowded_bytes + 64 * KIB, "{held} bytes wait, and users go on");
        before = held;
    }
    assert!(before >= style.limits.crowded_bytes, "the link is not crowded, and the user waits: {before}");
    assert!(!user.is_finished(), "10,000 commands went to a peer that does not read");
    // Others go on, until what they make node 1 say finds no place.
    let [one, two] = &mut party.members[..] else { panic!() };
    for _ in 0..64 {
        two.command(Command::Favour { of: node(1), to: node(3), ballast: 32 * KIB }).await;
    }
    let ending = within("the end of node 1", &mut one.running).await.unwrap();
    let Ending::Overflowed(sentence) = ending else { panic!("{ending:?}") };
    assert!(sentence.contains("messages to node 3 found no place"), "{sentence}");
    within("the end of the waiting", user).await.unwrap();
}

/// A link that was crowded, and whose peer comes back and reads: users go on by themselves.
#[tokio::test]
async fn users_go_on_when_the_peer_reads_again() {
    let _log = Log::new();
    let style = style(Overflow::End);
    let mut party = Party::with_guests(3, 2, &style, Party::plain).await;
    let impostor = deaf(&party).await;
    let handle = party.members[0].handle.clone();
    let user = tokio::spawn(async move {
        for _ in 0..500 {
            handle.command(Command::Say { to: node(3), count: 1, ballast: 32 * KIB }).await.unwrap();
        }
    });
    crowded(&mut party, &style).await;
    // Another life of node 3, and this one listens and acknowledges.
    drop(impostor);
    let peers = crate::party::addresses(node(3), &party.places);
    let security = quorate_net::tls::Security::Plain;
    let three = crate::party::Member::start(node(3), 1, &party.places[2], peers, security, &style);
    within("the end of the waiting", user).await.unwrap();
    party.members.push(three);
    party.goes_on().await;
    party.stop().await;
}
