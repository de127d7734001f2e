//! Where a node hears its user, and tells what happens: standard input and output.

use super::printer::Printer;
use crate::Verdict;
use crate::report::count;
use quorate_core::{Incarnation, NodeId};
use quorate_drive::Clock;
use quorate_lab::FamilyLab;
use quorate_net::{Handle, LinkStats, NotTaken};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::{Arguments, Display};
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// No line of standard input is longer.
const MOST_BYTES: u64 = 16 << 20;

/// How long a command waits for the node to take those before it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The node's user.
#[derive(Clone)]
pub(super) struct Console {
    json: bool,
    printer: Printer,
}

impl Console {
    pub(super) fn new(json: bool, printer: Printer) -> Self {
        Self { json, printer }
    }

    pub(super) fn listening(&self, address: SocketAddr) {
        self.tell(&json!({ "listening": address.to_string() }), format_args!("listening at {address}"));
    }

    pub(super) fn started(&self, incarnation: Incarnation) {
        self.tell(&json!({ "started": { "incarnation": incarnation } }), format_args!("started, life {incarnation}"));
    }

    pub(super) fn stopped(&self, links: &BTreeMap<NodeId, LinkStats>) {
        self.tell(&json!({ "stopped": { "links": described(links) } }), format_args!("stopped"));
    }

    /// Tells why the node ended although nobody asked it to.
    pub(super) fn fail(&self, why: Arguments<'_>) -> anyhow::Result<Verdict> {
        tracing::error!("{why}");
        Ok(Verdict::Fails)
    }

    fn refuse(&self, sentence: &str) {
        self.tell(&json!({ "refused": sentence }), format_args!("{sentence}"));
    }

    fn links(&self, links: &BTreeMap<NodeId, LinkStats>) {
        let lines = links.iter().map(|(node, link)| {
            let state = if link.is_connected { "connected" } else { "not connected" };
            let LinkStats { connections, held_bytes, repeated, .. } = link;
            let (connections, bytes) = (count(*connections, "connection"), count(*held_bytes as u64, "byte"));
            format!("node {node}: {state}, {connections} so far, {bytes} not acknowledged, {repeated} came again")
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        let lines = if lines.is_empty() { "no peers".to_owned() } else { lines };
        self.tell(&json!({ "links": described(links) }), format_args!("{lines}"));
    }

    pub(super) fn hear<E: Serialize + Display>(&self, clock: Clock) -> impl FnMut(Vec<E>) + Send + 'static + use<E> {
        let console = self.clone();
        move |events| {
            let time = clock.now().nanos();
            for event in events {
                console.tell(&json!({ "event": event, "time": time }), format_args!("{event}"));
            }
        }
    }

    fn tell(&self, value: &serde_json::Value, text: Arguments<'_>) {
        let line = if self.json { format!("{value}\n") } else { format!("{text}\n") };
        self.printer.print(line.into_bytes());
    }

    pub(super) fn first_line(&self) -> anyhow::Result<String> {
        match read_line(&mut io::stdin().lock()) {
            Ok(Some(Ok(line))) => Ok(line),
            Ok(Some(Err(sentence))) => anyhow::bail!("{sentence}"),
            Ok(None) => anyhow::bail!("Standard input ended before it said where the others listen."),
            Err(error) => anyhow::bail!("Standard input could not be read: {error}."),
        }
    }

    /// Takes commands on a thread of its own until the input ends, and then stops the node.
    pub(super) fn take_commands<F: FamilyLab>(&self, handle: &Handle<F::Command>, me: NodeId, life: Incarnation) {
        let (console, listener) = (self.clone(), handle.clone());
        let listening = std::thread::Builder::new().name("commands".into()).spawn(move || {
            console.listen::<F>(&listener, me, life);
            listener.stop();
        });
        if let Err(error) = listening {
            tracing::error!("No thread could be started for commands: {error}.");
            handle.stop();
        }
    }

    fn listen<F: FamilyLab>(&self, handle: &Handle<F::Command>, me: NodeId, life: Incarnation) {
        let mut input = io::stdin().lock();
        let mut numbers = numbers(life);
        let mut patience = PATIENCE;
        loop {
            let line = match read_line(&mut input) {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(sentence))) => {
                    self.refuse(sentence);
                    continue;
                }
                Ok(None) => return,
                Err(error) => {
                    self.refuse(&format!("Standard input cannot be read: {error}."));
                    return;
                }
            };
            match line.trim() {
                "" => {}
                "stop" => return,
                "links" => self.links(&handle.links()),
                line => match numbers.next().ok_or_else(out_of_numbers).and_then(|number| F::command(line, me, number))
                {
                    Ok(command) => match give(handle, command, patience) {
                        Ok(()) => patience = PATIENCE,
                        Err(Untaken::Ended) => return,
                        Err(Untaken::Crowded) => {
                            // Whoever waited once in vain does not make the order to stop wait behind the others too.
                            patience = Duration::ZERO;
                            self.refuse(
                                "Too many commands wait for the node, and this one was not taken; 'links' says which peer \
                                 does not keep up.",
                            );
                        }
                    },
                    Err(sentence) => self.refuse(&sentence),
                },
            }
        }
    }
}

/// Why a node did not take a command.
enum Untaken {
    Crowded,
    Ended,
}

fn give<C>(handle: &Handle<C>, command: C, patience: Duration) -> Result<(), Untaken> {
    let deadline = Instant::now() + patience;
    let mut command = command;
    loop {
        command = match handle.try_command(command) {
            Ok(()) => return Ok(()),
            Err(NotTaken::Ended(_)) => return Err(Untaken::Ended),
            Err(NotTaken::Crowded(_)) if Instant::now() >= deadline => return Err(Untaken::Crowded),
            Err(NotTaken::Crowded(command)) => command,
        };
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Numbers for the commands of a life, above those of all lives before. Lives that are counted leave more room for them than
/// lives that are told by the clock.
fn numbers(life: Incarnation) -> std::ops::Range<u64> {
    let bits = if life.0 < 1 << 22 { 40 } else { 22 };
    let base = life.0.saturating_mul(1 << bits);
    base + 1..base.saturating_add((1 << bits) - 1)
}

fn out_of_numbers() -> String {
    "This life of the node has taken as many commands as it can; start it again.".into()
}

/// The next line, if there is one more, or what is wrong with it: then it was read to its end and means nothing.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, &'static str>>> {
    let mut line = Vec::new();
    let read = io::Read::take(&mut *input, MOST_BYTES).read_until(b'\n', &mut line)?;
    if read as u64 == MOST_BYTES && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Some(Err("This line is longer than 16 MiB, and means nothing here.")));
    }
    let line = String::from_utf8(line).map_err(|_| "This line is not text in UTF-8, and means nothing here.");
    Ok((read > 0).then_some(line))
}

fn described(links: &BTreeMap<NodeId, LinkStats>) -> serde_json::Value {
    let link = |(node, link): (&NodeId, &LinkStats)| {
        json!({
            "node": node,
            "connected": link.is_connected,
            "connections": link.connections,
            "held_bytes": link.held_bytes,
            "overflowed": link.overflowed,
            "outlived": link.outlived,
            "repeated": link.repeated,
        })
    };
    links.iter().map(link).collect()
}
