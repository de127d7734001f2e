//! Where a node hears its user, and tells what happens: standard input and output.

use crate::Verdict;
use crate::output::output;
use quorate_core::{Incarnation, NodeId};
use quorate_drive::Clock;
use quorate_lab::FamilyLab;
use quorate_net::{Handle, LinkStats};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::{Arguments, Display};
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;

/// No line of standard input is longer.
const MOST_BYTES: u64 = 16 << 20;

/// How many commands a node can be given in one life before their numbers run into those of the next.
const NUMBER_BITS: u32 = 20;

/// The node's user.
#[derive(Clone, Copy)]
pub(super) struct Console {
    json: bool,
}

impl Console {
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(super) fn listening(self, address: SocketAddr) {
        self.tell(&json!({ "listening": address.to_string() }), format_args!("listening at {address}"));
    }

    pub(super) fn started(self, incarnation: Incarnation) {
        self.tell(&json!({ "started": { "incarnation": incarnation } }), format_args!("started, life {incarnation}"));
    }

    pub(super) fn stopped(self, links: &BTreeMap<NodeId, LinkStats>) {
        self.tell(&json!({ "stopped": { "links": described(links) } }), format_args!("stopped"));
    }

    /// Tells why the node ended although nobody asked it to.
    pub(super) fn fail(self, why: Arguments<'_>) -> anyhow::Result<Verdict> {
        tracing::error!("{why}");
        Ok(Verdict::Fails)
    }

    fn refuse(self, sentence: &str) {
        self.tell(&json!({ "refused": sentence }), format_args!("{sentence}"));
    }

    fn links(self, links: &BTreeMap<NodeId, LinkStats>) {
        let lines = links.iter().map(|(node, link)| {
            let state = if link.is_connected { "connected" } else { "not connected" };
            let LinkStats { connections, held_bytes, repeated, .. } = link;
            format!(
                "node {node}: {state}, {connections} connections so far, {held_bytes} bytes wait, {repeated} came again"
            )
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        self.tell(&json!({ "links": described(links) }), format_args!("{lines}"));
    }

    /// Prints what the node tells.
    pub(super) fn hear<E: Serialize + Display>(self, clock: Clock) -> impl FnMut(Vec<E>) + Send + 'static + use<E> {
        move |events| {
            let mut out = output();
            let time = clock.now().nanos();
            for event in events {
                let told = if self.json {
                    writeln!(out, "{}", json!({ "event": event, "time": time }))
                } else {
                    writeln!(out, "{event}")
                };
                // Whoever does not listen any more misses it; the journal has it.
                let _ = told;
            }
            let _ = out.flush();
        }
    }

    fn tell(self, value: &serde_json::Value, text: Arguments<'_>) {
        let mut out = output();
        let _ = if self.json { writeln!(out, "{value}") } else { writeln!(out, "{text}") };
        let _ = out.flush();
    }

    /// The first line of standard input.
    pub(super) fn first_line(self) -> anyhow::Result<String> {
        match read_line(&mut io::stdin().lock()) {
            Ok(Some(line)) => Ok(line),
            Ok(None) => anyhow::bail!("Standard input ended before it said where the others listen."),
            Err(error) => anyhow::bail!("Standard input could not be read: {error}."),
        }
    }

    /// Takes commands on a thread of its own until the input ends, and then stops the node.
    pub(super) fn take_commands<F: FamilyLab>(self, handle: Handle<F::Command>, me: NodeId, life: Incarnation) {
        let listening = std::thread::Builder::new().name("commands".into()).spawn({
            let handle = handle.clone();
            move || {
                self.listen::<F>(&handle, me, life);
                handle.stop();
            }
        });
        if let Err(error) = listening {
            tracing::error!("No thread could be started for commands: {error}.");
            handle.stop();
        }
    }

    fn listen<F: FamilyLab>(self, handle: &Handle<F::Command>, me: NodeId, life: Incarnation) {
        let mut input = io::stdin().lock();
        let mut number = life.0.checked_shl(NUMBER_BITS).unwrap_or_default();
        loop {
            let line = match read_line(&mut input) {
                Ok(Some(line)) => line,
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
                line => {
                    number += 1;
                    match F::command(line, me, number) {
                        Ok(command) => {
                            if handle.blocking_command(command).is_err() {
                                return;
                            }
                        }
                        Err(sentence) => self.refuse(&sentence),
                    }
                }
            }
        }
    }
}

/// The next line, if there is one more.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::Read::take(&mut *input, MOST_BYTES).read_line(&mut line)?;
    if read as u64 == MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "a line is longer than 16 MiB"));
    }
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
