//! The console of a node: reads commands from standard input and prints events to standard output.

use super::printer::Printer;
use crate::CommandOutcome;
use crate::report::format_count;
use quorate_core::{Incarnation, NodeId};
use quorate_drive::Clock;
use quorate_lab::FamilyLab;
use quorate_net::{CommandRejected, Handle, LinkStats};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum length of a line of standard input in bytes.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Maximum time that a command waits for space in the command queue of the node.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time that a stopping node waits until another one has taken over its duties.
const RETIREMENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Prints the node's events and reads its commands.
#[derive(Clone)]
pub(super) struct Console {
    json: bool,
    printer: Printer,
}

impl Console {
    pub(super) fn new(json: bool, printer: Printer) -> Self {
        Self { json, printer }
    }

    pub(super) fn print_listening(&self, address: SocketAddr) {
        self.print(&json!({ "listening": address.to_string() }), format_args!("listening on {address}"));
    }

    pub(super) fn print_started(&self, incarnation: Incarnation) {
        self.print(
            &json!({ "started": { "incarnation": incarnation } }),
            format_args!("started, incarnation {incarnation}"),
        );
    }

    pub(super) fn print_stopped(&self, links: &BTreeMap<NodeId, LinkStats>) {
        self.print(&json!({ "stopped": { "links": links_json(links) } }), format_args!("stopped"));
    }

    /// Logs why the node stopped by itself. Returns the outcome of the process.
    pub(super) fn fail(&self, reason: Arguments<'_>) -> anyhow::Result<CommandOutcome> {
        tracing::error!("{reason}");
        Ok(CommandOutcome::Fails)
    }

    fn print_refusal(&self, reason: &str) {
        self.print(&json!({ "refused": reason }), format_args!("{reason}"));
    }

    fn print_links(&self, links: &BTreeMap<NodeId, LinkStats>) {
        let lines = links.iter().map(|(node, link)| {
            let state = if link.is_connected { "connected" } else { "not connected" };
            let LinkStats { connections, held_bytes, duplicates, .. } = link;
            let (connections, bytes) =
                (format_count(*connections, "connection"), format_count(*held_bytes as u64, "byte"));
            format!(
                "node {node}: {state}, {connections} so far, {bytes} not acknowledged, {duplicates} duplicates received"
            )
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        let lines = if lines.is_empty() { "no peers".to_owned() } else { lines };
        self.print(&json!({ "links": links_json(links) }), format_args!("{lines}"));
    }

    /// Returns an event handler that prints each event, and reports by `retired` that the node has
    /// handed its duties over.
    pub(super) fn event_printer<F: FamilyLab>(
        &self,
        clock: Clock,
        retired: Sender<()>,
    ) -> impl FnMut(Vec<F::Event>) + Send + 'static + use<F> {
        let console = self.clone();
        move |events| {
            let time = clock.now().nanos();
            for event in events {
                if F::has_retired(&event) {
                    // Sending fails if no stopping is in progress any more.
                    let _ = retired.send(());
                }
                console.print(&json!({ "event": event, "time": time }), format_args!("{event}"));
            }
        }
    }

    fn print(&self, value: &serde_json::Value, text: Arguments<'_>) {
        let line = if self.json { format!("{value}\n") } else { format!("{text}\n") };
        self.printer.print(line.into_bytes());
    }

    /// Reads the first line of standard input, which has the addresses of the peers.
    pub(super) fn read_first_line(&self) -> anyhow::Result<String> {
        match read_line(&mut io::stdin().lock()) {
            Ok(Some(Ok(line))) => Ok(line),
            Ok(Some(Err(reason))) => anyhow::bail!("{reason}"),
            Ok(None) => anyhow::bail!("standard input ended before the line with the addresses of the peers."),
            Err(error) => anyhow::bail!("cannot read standard input: {error}."),
        }
    }

    /// Starts a thread that reads commands until the command `stop` or the end of the input, and
    /// then stops the node.
    pub(super) fn spawn_reader<F: FamilyLab>(&self, stopper: &Stopper<F>, me: NodeId, incarnation: Incarnation) {
        let (console, own_stopper) = (self.clone(), stopper.clone());
        let reader = std::thread::Builder::new().name("commands".into()).spawn(move || {
            console.read_commands::<F>(&own_stopper.handle, me, incarnation);
            own_stopper.stop();
        });
        if let Err(error) = reader {
            tracing::error!("Cannot start a thread to read commands: {error}.");
            stopper.stop();
        }
    }

    fn read_commands<F: FamilyLab>(&self, handle: &Handle<F::Command>, me: NodeId, incarnation: Incarnation) {
        let mut input = io::stdin().lock();
        let mut command_numbers = command_numbers(incarnation);
        let mut timeout = QUEUE_TIMEOUT;
        loop {
            let line = match read_line(&mut input) {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(reason))) => {
                    self.print_refusal(reason);
                    continue;
                }
                Ok(None) => return,
                Err(error) => {
                    self.print_refusal(&format!("cannot read standard input: {error}."));
                    return;
                }
            };
            match line.trim() {
                "" => {}
                "stop" => return,
                "links" => self.print_links(&handle.links()),
                line => match command_numbers
                    .next()
                    .ok_or_else(out_of_numbers)
                    .and_then(|number| F::parse_command(line, me, number))
                {
                    Ok(command) => match submit(handle, command, timeout) {
                        Ok(()) => timeout = QUEUE_TIMEOUT,
                        Err(SubmitError::Stopped) => return,
                        Err(SubmitError::QueueFull) => {
                            // Do not wait again while the queue stays full, so that a later `stop`
                            // is read soon.
                            timeout = Duration::ZERO;
                            self.print_refusal(
                                "The command queue of the node is full, so this command was dropped. The command \
                                 'links' shows which peer does not keep up.",
                            );
                        }
                    },
                    Err(reason) => self.print_refusal(&reason),
                },
            }
        }
    }
}

/// Stops a node in order: it first hands its duties over.
pub(super) struct Stopper<F: FamilyLab> {
    handle: Handle<F::Command>,
    retired: Arc<Mutex<Receiver<()>>>,
}

// Not derived, because a derive would require `Clone` of the family.
impl<F: FamilyLab> Clone for Stopper<F> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone(), retired: Arc::clone(&self.retired) }
    }
}

impl<F: FamilyLab> Stopper<F> {
    /// `retired` receives a message when the node has handed its duties over.
    pub(super) fn new(handle: Handle<F::Command>, retired: Receiver<()>) -> Self {
        Self { handle, retired: Arc::new(Mutex::new(retired)) }
    }

    /// Lets the node hand its duties over, and then stops it. If it does neither in time, for
    /// example because it can reach no other node, this stops it all the same.
    pub(super) fn stop(&self) {
        if let Some(command) = F::retire_command()
            && self.handle.try_command(command).is_ok()
        {
            let retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = retired.recv_timeout(RETIREMENT_TIMEOUT);
        }
        self.handle.stop();
    }
}

/// Reason why a node did not accept a command.
enum SubmitError {
    QueueFull,
    Stopped,
}

/// Submits a command, and retries until the timeout while the queue is full.
fn submit<C>(handle: &Handle<C>, command: C, timeout: Duration) -> Result<(), SubmitError> {
    let deadline = Instant::now() + timeout;
    let mut command = command;
    loop {
        command = match handle.try_command(command) {
            Ok(()) => return Ok(()),
            Err(CommandRejected::Ended(_)) => return Err(SubmitError::Stopped),
            Err(CommandRejected::QueueFull(_)) if Instant::now() >= deadline => return Err(SubmitError::QueueFull),
            Err(CommandRejected::QueueFull(command)) => command,
        };
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the numbers that an incarnation gives to its commands, above those of all earlier
/// incarnations: the upper of the 64 bits are the incarnation, the lower ones count commands. An
/// incarnation that a data folder or a parent process (`--life`) counts from 0 is small, and leaves
/// 40 bits for the count. Without either, or in a folder that replaces a lost one, incarnations
/// start at the time in milliseconds, have at most 42 bits (until the year 2109), and leave 22.
fn command_numbers(incarnation: Incarnation) -> std::ops::Range<u64> {
    let count_bits = if incarnation.0 < 1 << 22 { 40 } else { 22 };
    let base = incarnation.0.saturating_mul(1 << count_bits);
    base + 1..base.saturating_add((1 << count_bits) - 1)
}

fn out_of_numbers() -> String {
    "this incarnation of the node has no command numbers left; restart the node.".into()
}

/// Reads the next line. Returns `None` at the end of the input, and an error text for a line that
/// is too long or not UTF-8, which is skipped.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, &'static str>>> {
    let mut line = Vec::new();
    let read = io::Read::take(&mut *input, MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    if read as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Some(Err("the line is longer than 16 MiB and was ignored.")));
    }
    let line = String::from_utf8(line).map_err(|_| "the line is not valid UTF-8 and was ignored.");
    Ok((read > 0).then_some(line))
}

fn links_json(links: &BTreeMap<NodeId, LinkStats>) -> serde_json::Value {
    let link = |(node, link): (&NodeId, &LinkStats)| {
        json!({
            "node": node,
            "connected": link.is_connected,
            "connections": link.connections,
            "held_bytes": link.held_bytes,
            "overflowed": link.dropped_at_overflow,
            "outlived": link.dropped_at_restart,
            "repeated": link.duplicates,
        })
    };
    links.iter().map(link).collect()
}
