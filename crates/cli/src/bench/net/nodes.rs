//! Two nodes of a minimal protocol: one sends messages, the other answers pings and the last
//! one-way message.

use super::partner::{Environment, Partner, announce, first_node, group, second_node};
use super::{Figures, MESSAGES, NetContender, Payload, ROUND_TRIPS};
use anyhow::Context;
use quorate_core::{Describe, Effects, Input, Never, NodeId, Protocol, Time};
use quorate_drive::{Clock, Disk, EngineParts, StartState};
use quorate_net::tls::Security;
use quorate_net::{Handle, Limits, OverflowPolicy, PeerSet, Postcard, Runtime, Settings, disk_reports};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Instant;
use tokio::sync::mpsc;

/// Number of messages that one command sends.
const BURST_MESSAGES: u64 = 100;

/// A node of the benchmark. The first one sends messages on command; the second one answers.
struct BenchNode {
    other: NodeId,
    /// Number of one-way messages sent.
    sent: u64,
    /// Start of the current round trip.
    ping_sent_at: Time,
    /// Durations of the finished round trips in nanoseconds.
    round_trips_ns: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Serialize)]
enum Command {
    /// Send this number of one-way messages.
    Burst(u64),
    /// Measure [`ROUND_TRIPS`] round trips, one after the other.
    RoundTrips,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Message {
    /// A one-way message.
    Load(Payload),
    /// Answers the last one-way message.
    Done,
    Ping(Payload),
    Pong(Payload),
}

#[derive(Debug, Serialize)]
enum Event {
    /// All one-way messages have arrived.
    Done,
    /// Durations of the round trips in nanoseconds.
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
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

impl BenchNode {
    fn finish_round_trip(&mut self, now: Time, payload: Payload, out: &mut Effects<'_, Self>) {
        self.round_trips_ns.push(now.since(self.ping_sent_at).nanos());
        self.ping_sent_at = now;
        if payload.number < ROUND_TRIPS {
            out.send(self.other, Message::Ping(Payload::new(payload.number + 1)));
        } else {
            out.emit(Event::RoundTrips(std::mem::take(&mut self.round_trips_ns)));
        }
    }
}

fn new_tokio_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn settings(me: NodeId, other: NodeId, address: &str, security: Security) -> anyhow::Result<Settings> {
    Ok(Settings {
        me,
        group: group()?,
        algorithm: "bench-net".into(),
        // Both processes run the same program, so the version does not matter.
        message_format: 1,
        peers: BTreeMap::from([(other, address.to_owned())]),
        peer_set: PeerSet::Fixed,
        security,
        // A dropped message would falsify the figures, so end the node instead.
        overflow: OverflowPolicy::End,
        reports_crashes: false,
        limits: Limits::default(),
    })
}

fn node_runtime(settings: Settings, listener: TcpListener, other: NodeId) -> Runtime<BenchNode, (), (), Postcard> {
    let me = settings.me;
    // The node has no disk, so no report arrives.
    let (_, reports) = disk_reports();
    Runtime {
        settings,
        listener,
        node: BenchNode { other, sent: 0, ping_sent_at: Time::ZERO, round_trips_ns: Vec::new() },
        start_state: StartState::default(),
        parts: EngineParts { me, clock: Clock::start(), seed: 1, disk: Disk::None, recorder: () },
        reports,
        codec: Postcard,
    }
}

pub(super) fn measure(contender: NetContender, environment: &Environment) -> anyhow::Result<Figures> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let partner = Partner::start(contender, environment, &listener.local_addr()?.to_string())?;
    let settings =
        settings(first_node(), second_node(), &partner.address, environment.certificates.security(contender)?)?;
    let runtime = new_tokio_runtime()?;
    // `prepare` registers the listener with this tokio runtime.
    let _guard = runtime.enter();
    let (sender, mut events) = mpsc::unbounded_channel();
    let forward = move |batch: Vec<Event>| {
        for event in batch {
            // Fails only after the measurement has ended.
            let _ = sender.send(event);
        }
    };
    let (handle, node) = node_runtime(settings, listener, second_node()).prepare(forward)?;
    runtime.block_on(async {
        let node = tokio::spawn(node);
        // Discard a first batch of round trips, which includes the wait for the connection.
        measure_round_trips(&handle, &mut events).await?;
        let started = Instant::now();
        for _ in 0..MESSAGES / BURST_MESSAGES {
            handle
                .command(Command::Burst(BURST_MESSAGES))
                .await
                .map_err(|_| anyhow::anyhow!("the node stopped during the measurement."))?;
        }
        events.recv().await.context("the node stopped during the measurement.")?;
        let messages_per_second = MESSAGES as f64 / started.elapsed().as_secs_f64();
        let round_trips_ns = measure_round_trips(&handle, &mut events).await?;
        handle.stop();
        node.await?;
        Ok(Figures { messages_per_second, round_trips_ns })
    })
}

/// Lets the node measure its round trips, and returns their durations in nanoseconds.
async fn measure_round_trips(
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
    let runtime = new_tokio_runtime()?;
    let _guard = runtime.enter();
    let (_handle, node) = node_runtime(settings, listener, first_node()).prepare(|_| {})?;
    announce(address)?;
    // Spawned as a task: tokio polls the sockets before each poll of the future of `block_on`
    // itself, but not before each poll of a task.
    runtime.block_on(tokio::spawn(node))?;
    Ok(())
}
