//! Real nodes in one process, and what each has heard.

use crate::chatter::{Chatter, Command, Event};
use crate::within;
use quorate_core::{Incarnation, NodeId};
use quorate_drive::{Clock, Disk, Found, Parts};
use quorate_net::tls::Security;
use quorate_net::{Ending, Handle, Limits, LinkStats, Overflow, Postcard, Runtime, Settings, reports};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub(crate) const ALGORITHM: &str = "chatter";
pub(crate) const FORMAT: u32 = 1;
pub(crate) const GROUP: &str = "demo";
const NOBODY: &str = "127.0.0.1:1";

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

/// A place to listen at. It stays open while this lives, so that a node that starts again finds it free.
pub(crate) struct Place {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap())
    }

    /// This very place, which is free again.
    pub(crate) fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }
}

#[derive(Clone)]
pub(crate) struct Style {
    pub(crate) overflow: Overflow,
    pub(crate) limits: Limits,
    pub(crate) group: &'static str,
}

impl Default for Style {
    fn default() -> Self {
        let limits = Limits {
            introduction: Duration::from_secs(2),
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_millis(20),
            acknowledge_within: Duration::from_millis(5),
            ..Limits::default()
        };
        Self { overflow: Overflow::Drop, limits, group: GROUP }
    }
}

pub(crate) struct Member {
    pub(crate) me: NodeId,
    pub(crate) handle: Handle<Command>,
    pub(crate) running: JoinHandle<Ending>,
    events: mpsc::UnboundedReceiver<Event>,
    /// The first and the last number that was heard of each life of each peer.
    heard: BTreeMap<(NodeId, u64), (u64, u64)>,
    asked: u64,
}

impl Member {
    pub(crate) fn start(
        me: NodeId,
        life: u64,
        place: &Place,
        peers: BTreeMap<NodeId, String>,
        security: Security,
        style: &Style,
    ) -> Self {
        let settings = Settings {
            me,
            group: style.group.parse().unwrap(),
            algorithm: ALGORITHM.into(),
            format: FORMAT,
            peers,
            security,
            overflow: style.overflow,
            tells_deaths: true,
            limits: style.limits,
        };
        let (_, reports) = reports();
        let runtime: Runtime<Chatter, (), (), Postcard> = Runtime {
            settings,
            listener: place.listener.try_clone().unwrap(),
            node: Chatter::default(),
            found: Found { durable: (), incarnation: Incarnation(life), is_blank: false },
            parts: Parts { me, clock: Clock::start(), seed: 1, disk: Disk::None, record: () },
            reports,
            codec: Postcard,
        };
        let (sender, events) = mpsc::unbounded_channel();
        let hear = move |told: Vec<Event>| {
            for event in told {
                let _ = sender.send(event);
            }
        };
        let (handle, running) = runtime.prepare(hear).unwrap();
        Self { me, handle, running: tokio::spawn(running), events, heard: BTreeMap::new(), asked: 0 }
    }

    pub(crate) async fn command(&self, command: Command) {
        within("a place for a command", self.handle.command(command)).await.unwrap();
    }

    pub(crate) async fn say(&self, to: NodeId, count: u64) {
        self.command(Command::Say { to, count, ballast: 3 }).await;
    }

    pub(crate) async fn ask(&mut self, to: NodeId) {
        self.asked += 1;
        let question = self.asked;
        self.command(Command::Ask { to, question }).await;
        let me = self.me;
        within(&format!("the answer of node {to} to node {me}"), async {
            loop {
                if self.next().await == (Event::Answered { from: to, question }) {
                    return;
                }
            }
        })
        .await;
    }

    /// Waits until it has heard everything up to this number of a peer's life.
    pub(crate) async fn hear(&mut self, from: NodeId, life: u64, number: u64) {
        let me = self.me;
        within(&format!("message {number} of node {from} to node {me}"), async {
            while self.last(from, life) < number {
                self.next().await;
            }
        })
        .await;
        assert_eq!(self.last(from, life), number, "node {me} heard more than node {from} said");
    }

    pub(crate) fn last(&self, from: NodeId, life: u64) -> u64 {
        self.heard.get(&(from, life)).map_or(0, |(_, last)| *last)
    }

    pub(crate) fn first(&self, from: NodeId, life: u64) -> Option<u64> {
        self.heard.get(&(from, life)).map(|(first, _)| *first)
    }

    /// The next thing it tells. What it hears of one life of a peer has consecutive numbers, whatever happens between.
    pub(crate) async fn next(&mut self) -> Event {
        let event = self.events.recv().await.expect("the node has ended");
        if let Event::Heard { from, life, number } = event {
            let later = self.heard.keys().any(|(known, other)| *known == from && *other > life);
            assert!(!later, "node {} heard life {life} of node {from} after a later one", self.me);
            let (_, last) = self.heard.entry((from, life)).or_insert((number, number - 1));
            assert_eq!(number, *last + 1, "what node {} hears of node {from} is not in order", self.me);
            *last = number;
        }
        event
    }

    pub(crate) async fn news(&mut self) -> Event {
        loop {
            if let event @ (Event::Gone(_) | Event::Back(_)) = self.next().await {
                return event;
            }
        }
    }

    pub(crate) fn link(&self, peer: NodeId) -> LinkStats {
        self.handle.links()[&peer]
    }

    pub(crate) async fn crash(self) {
        self.running.abort();
        let _ = within("the end of a node", self.running).await;
    }

    pub(crate) async fn stop(self) -> Ending {
        self.handle.stop();
        within("the end of a node", self.running).await.unwrap()
    }
}

pub(crate) struct Party {
    pub(crate) members: Vec<Member>,
    pub(crate) places: Vec<Place>,
}

impl Party {
    pub(crate) async fn of_three(style: &Style, security: impl Fn(NodeId) -> Security) -> Self {
        Self::with_guests(3, 3, style, security).await
    }

    /// A group of `size` of which only the first `real` are nodes. A test plays the rest: they dial, and nobody can
    /// dial them.
    pub(crate) async fn with_guests(
        size: u32,
        real: u32,
        style: &Style,
        security: impl Fn(NodeId) -> Security,
    ) -> Self {
        let places: Vec<Place> = (0..size).map(|_| Place::new()).collect();
        let members = (1..=real).map(|number| {
            let me = node(number);
            let mut peers = addresses(me, &places);
            peers.iter_mut().filter(|(peer, _)| peer.number() > real).for_each(|(_, address)| *address = NOBODY.into());
            Member::start(me, 0, &places[me.index()], peers, security(me), style)
        });
        let mut party = Self { members: members.collect(), places };
        party.goes_on().await;
        party
    }

    pub(crate) fn plain(_: NodeId) -> Security {
        Security::Plain
    }

    pub(crate) fn address(&self, number: u32) -> SocketAddr {
        self.places[node(number).index()].address
    }

    /// Every node gets an answer from every other, and numbered messages arrive in order.
    pub(crate) async fn goes_on(&mut self) {
        let ids: Vec<NodeId> = self.members.iter().map(|member| member.me).collect();
        for member in &mut self.members {
            let me = member.me;
            for peer in ids.iter().filter(|peer| **peer != me) {
                member.say(*peer, 2).await;
                member.ask(*peer).await;
            }
        }
    }

    pub(crate) async fn stop(self) {
        for member in self.members {
            let ending = member.stop().await;
            assert!(matches!(ending, Ending::Stopped), "{ending:?}");
        }
    }
}

/// Where all but one node listen.
pub(crate) fn addresses(me: NodeId, places: &[Place]) -> BTreeMap<NodeId, String> {
    let all = places.iter().enumerate().map(|(index, place)| (NodeId::from_index(index), place.address.to_string()));
    all.filter(|(peer, _)| *peer != me).collect()
}
