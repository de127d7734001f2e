//! Connections that are cut or damaged at every place: nothing is lost, repeated or reordered.

use crate::log::Log;
use crate::papers::Papers;
use crate::party::{Member, Party, Place, Style, node};
use crate::proxy::{Harm, Proxy, Way, hole};
use crate::within;
use quorate_net::tls::Security;
use std::collections::BTreeMap;
use std::time::Duration;

/// Two nodes, the first of which dials the second through a bad network.
struct Pair {
    one: Member,
    two: Member,
    proxy: Proxy,
    said: u64,
    is_encrypted: bool,
    _places: [Place; 2],
}

impl Pair {
    async fn new(security: impl Fn(quorate_core::NodeId) -> Security) -> Self {
        let places = [Place::new(), Place::new()];
        let proxy = Proxy::to(places[1].address).await;
        let mut style = Style::default();
        style.limits.longest_pause = Duration::from_millis(2);
        let peer = |number: u32, address: std::net::SocketAddr| BTreeMap::from([(node(number), address.to_string())]);
        let one = Member::start(node(1), 0, &places[0], peer(2, proxy.address), security(node(1)), &style);
        let two = Member::start(node(2), 0, &places[1], peer(1, hole().await), security(node(2)), &style);
        let is_encrypted = matches!(security(node(1)), Security::Tls(_));
        Self { one, two, proxy, said: 0, is_encrypted, _places: places }
    }

    /// Talks until a connection is over that was harmed.
    async fn talk_until_harmed(&mut self) -> Harm {
        // However much is said on a connection, its harm must show.
        for _ in 0..400 {
            self.one.say(node(2), 1).await;
            self.two.say(node(1), 1).await;
            self.said += 1;
            let (one, two, said) = (&mut self.one, &mut self.two, self.said);
            tokio::select! {
                harm = self.proxy.harmed() => return harm,
                _ = async { tokio::join!(one.hear(node(2), 0, said), two.hear(node(1), 0, said)) } => {}
            }
        }
        // TLS ignores the version in the head of a record. All else is noticed.
        assert!(self.is_encrypted, "nobody noticed that the connection was harmed, or it never was");
        self.proxy.cut_all();
        within("the end of the connection", self.proxy.harmed()).await
    }

    async fn endure(&mut self, harms: Vec<Harm>) {
        self.proxy.plan(harms.iter().copied());
        for harm in harms {
            assert_eq!(self.talk_until_harmed().await, harm);
        }
        let said = self.said;
        tokio::join!(self.one.hear(node(2), 0, said), self.two.hear(node(1), 0, said));
        self.one.ask(node(2)).await;
        self.two.ask(node(1)).await;
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_after_any_byte_loses_and_repeats_nothing() {
    let _log = Log::new();
    let mut pair = Pair::new(Party::plain).await;
    let harms = (0..400).flat_map(|after| [Harm::Cut(Way::There, after), Harm::Cut(Way::Back, after)]);
    pair.endure(harms.collect()).await;
    assert!(pair.one.link(node(2)).connections > 400, "{:?}", pair.one.link(node(2)));
}

#[tokio::test]
async fn a_bit_that_is_flipped_anywhere_is_noticed_and_what_it_hit_is_sent_again() {
    let log = Log::new();
    let mut pair = Pair::new(Party::plain).await;
    let flip = |way| move |at: usize| Harm::Flip(way, at, 1 << (at % 8));
    let harms = (0..400).map(flip(Way::There)).zip((0..400).map(flip(Way::Back)));
    pair.endure(harms.flat_map(|(there, back)| [there, back]).collect()).await;
    log.line(&["The connection to node", "A frame arrived damaged"]).await;
    log.line(&["A connection from 127.0.0.1", "A frame arrived damaged", "The group goes on."]).await;
}

/// The highest bits of a length say: wait for millions of bytes more. Nobody waits for them.
#[tokio::test]
async fn a_damaged_length_does_not_make_anybody_wait() {
    let log = Log::new();
    let mut pair = Pair::new(Party::plain).await;
    let hello = {
        pair.one.ask(node(2)).await;
        let said = pair.proxy.said();
        u32::from_le_bytes(*said[0].first_chunk().unwrap()) as usize
    };
    // The first frame after the greeting begins here, with its length and the complement of that.
    let begin = 8 + hello;
    let harms = (begin..begin + 8).flat_map(|at| [0x01, 0x08, 0x80].map(|mask| Harm::Flip(Way::There, at, mask)));
    // The connection that is there has no plan.
    let harms: Vec<Harm> = harms.collect();
    pair.proxy.plan(harms.iter().copied());
    pair.proxy.cut_all();
    for harm in harms {
        assert_eq!(pair.talk_until_harmed().await, harm);
    }
    pair.one.ask(node(2)).await;
    log.line(&["The connection to node 1 is closed"]).await;
}

#[tokio::test]
async fn an_encrypted_connection_that_is_cut_or_damaged_loses_and_repeats_nothing() {
    let _log = Log::new();
    let papers = Papers::new();
    let mut pair = Pair::new(|node| papers.security(node)).await;
    // The handshake alone has more bytes than a test should try one by one.
    let places = (0..4_000).step_by(197);
    let harms = places.flat_map(|at| {
        [
            Harm::Cut(Way::There, at),
            Harm::Cut(Way::Back, at),
            Harm::Flip(Way::There, at, 4),
            Harm::Flip(Way::Back, at, 4),
        ]
    });
    pair.endure(harms.collect()).await;
}
