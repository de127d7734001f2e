//! Two nodes of a minimal protocol that only sends messages and answers them.

use super::partner::{Environment, Partner, announce, first_node, group, second_node};
use super::{Contender, Figures, MESSAGES, Payload, ROUND_TRIPS};
use anyhow::Context;
use quorate_core::{Describe, Effects, Input, Never, NodeId, Protocol, Time};
use quorate_drive::{Clock, Disk, Parts, StartState};
use quorate_net::tls::Security;
use quorate_net::{Handle, Limits, Overflow, Postcard, Runtime, Settings, disk_reports};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Instant;
use tokio::sync::mpsc;

/// Number of messages that one command sends.
const BURST_MESSAGES: u64 = 100;

/// A node that sends messages, or answers them.
struct BenchNode {
    other: NodeId,
    /// Number of one-way messages sent.
    sent: u64,
    /// Start of the current round trip.
    ping_sent_at: Time,
    /// Durations of the finished round trips in nanoseconds.
    round_trips: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Serialize)]
enum Command {
    Burst(u64),
    RoundTrips,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Message {
    Load(Payload),
    Done,
    Ping(Payload),
    Pong(Payload),
}

#[derive(Debug, Serialize)]
enum Event {
    Done,
    RoundTrips(Vec<u64>),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Load(_) => "load",
            Self::Done => "done",
            Self::Ping(_) => "ping",
            Self::Pong(_) => "pong",
        }
    }
}

impl Protocol for BenchNode {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Burst(count)) => {
                for _ in 0..count {
                    self.sent += 1;
                    out.send(self.other, Message::Load(Payload::new(self.sent)));
                }
            }
            Input::Command(Command::RoundTrips) => {
                self.ping_sent_at = now;
                out.send(self.other, Message::Ping(Payload::new(1)));
            }
            Input::Message { message: Message::Load(payload), .. } => {
                if payload.number == MESSAGES {
                    out.send(self.other, Message::Done);
                }
            }
            Input::Message { message: Message::Done, .. } => out.emit(Event::Done),
            Input::Message { message: Message::Ping(payload), .. } => out.send(self.other, Message::Pong(payload)),
            Input::Message { message: Message::Pong(payload), .. } => self.finish_round_trip(now, payload, out),
            Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

impl BenchNode {
    fn finish_round_trip(&mut self, now: Time, payload: Payload, out: &mut Effects<'_, Self>) {
        self.round_trips.push(now.since(self.ping_sent_at).nanos());
        self.ping_sent_at = now;
        if payload.number < ROUND_TRIPS {
            out.send(self.other, Message::Ping(Payload::new(payload.number + 1)));
        } else {
            out.emit(Event::RoundTrips(std::mem::take(&mut self.round_trips)));
        }
    }
}

fn tokio() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn settings(me: NodeId, other: NodeId, address: &str, security: Security) -> anyhow::Result<Settings> {
    Ok(Settings {
        me,
        group: group()?,
        algorithm: "race".into(),
        format: 1,
        peers: BTreeMap::from([(other, address.to_owned())]),
        security,
        overflow: Overflow::End,
        reports_crashes: false,
        limits: Limits::default(),
    })
}

fn runtime(settings: Settings, listener: TcpListener, other: NodeId) -> Runtime<BenchNode, (), (), Postcard> {
    let me = settings.me;
    Runtime {
        settings,
        listener,
        node: BenchNode { other, sent: 0, ping_sent_at: Time::ZERO, round_trips: Vec::new() },
        found: StartState::default(),
        parts: Parts { me, clock: Clock::start(), seed: 1, disk: Disk::None, record: () },
        reports: disk_reports().1,
        codec: Postcard,
    }
}

pub(super) fn measure(contender: Contender, environment: &Environment) -> anyhow::Result<Figures> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let partner = Partner::start(contender, environment, &listener.local_addr()?.to_string())?;
    let settings =
        settings(first_node(), second_node(), &partner.address, environment.certificates.security(contender)?)?;
    let tokio = tokio()?;
    let _guard = tokio.enter();
    let (sender, mut events) = mpsc::unbounded_channel();
    let forward = move |batch: Vec<Event>| {
        for event in batch {
            let _ = sender.send(event);
        }
    };
    let (handle, node) = runtime(settings, listener, second_node()).prepare(forward)?;
    tokio.block_on(async {
        let node = ::tokio::spawn(node);
        // A first batch of round trips is not measured: it waits until the nodes are connected.
        round_trips(&handle, &mut events).await?;
        let started = Instant::now();
        for _ in 0..MESSAGES / BURST_MESSAGES {
            handle
                .command(Command::Burst(BURST_MESSAGES))
                .await
                .map_err(|_| anyhow::anyhow!("the node stopped during the measurement."))?;
        }
        events.recv().await.context("the node stopped during the measurement.")?;
        let messages_per_second = MESSAGES as f64 / started.elapsed().as_secs_f64();
        let round_trips = round_trips(&handle, &mut events).await?;
        handle.stop();
        node.await?;
        Ok(Figures { messages_per_second, round_trips })
    })
}

async fn round_trips(
    handle: &Handle<Command>,
    events: &mut mpsc::UnboundedReceiver<Event>,
) -> anyhow::Result<Vec<u64>> {
    handle
        .command(Command::RoundTrips)
        .await
        .map_err(|_| anyhow::anyhow!("the node stopped during the measurement."))?;
    match events.recv().await {
        Some(Event::RoundTrips(durations)) => Ok(durations),
        Some(Event::Done) | None => anyhow::bail!("the node stopped during the measurement."),
    }
}

/// Runs the second node, which answers the first one, until the process is killed.
pub(super) fn serve(security: Security, first_address: &str) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let settings = settings(second_node(), first_node(), first_address, security)?;
    let tokio = tokio()?;
    let _guard = tokio.enter();
    let (_handle, node) = runtime(settings, listener, first_node()).prepare(|_| {})?;
    announce(address)?;
    // Spawned as a task, because tokio wakes tasks without polling the sockets first.
    tokio.block_on(::tokio::spawn(node))?;
    Ok(())
}
