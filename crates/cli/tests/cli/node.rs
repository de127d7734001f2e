//! `quorate node`: nodes that the test controls through standard input.

use crate::run::{quorate, run, run_in};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a test waits for a line or a connection.
const DEADLINE: Duration = Duration::from_secs(60);

/// A running node.
struct Node {
    child: Child,
    lines: Receiver<String>,
    address: String,
}

impl Node {
    /// Starts a node and waits until it listens. The node expects the addresses of all nodes on the
    /// first line of its standard input (`--peers -`).
    fn start(folder: &Path, words: &str, listen: &str) -> Self {
        let mut child = quorate(folder)
            .args(words.split_whitespace())
            .args(["--json", "--log", "warn", "--peers", "-", "--listen", listen])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut node = Self { child, lines, address: String::new() };
        node.address = node.next()["listening"].as_str().unwrap().to_owned();
        node
    }

    fn send(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    /// Returns the next printed line.
    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(DEADLINE).expect("a line of the node");
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for a line that contains `part`.
    #[track_caller]
    fn wait_for(&self, part: &str) -> Value {
        loop {
            let line = self.next();
            if line.to_string().contains(part) {
                return line;
            }
        }
    }

    /// Waits until the node is connected to its first peer, and has connected to it at least this
    /// many times.
    #[track_caller]
    fn wait_for_connections(&mut self, min_connections: u64) {
        let started_at = Instant::now();
        loop {
            self.send("links");
            let links = self.wait_for("links");
            let first = &links["links"][0];
            if first["connected"] == true && first["connections"].as_u64() >= Some(min_connections) {
                return;
            }
            assert!(started_at.elapsed() < DEADLINE, "not connected {min_connections} times: {links}");
        }
    }

    #[track_caller]
    fn stop(mut self) {
        self.send("stop");
        self.wait_for("stopped");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a group of nodes, sends each the addresses of all, and waits until all have started.
/// `words` returns the algorithm and the options of the node with this id.
fn start_group(folder: &Path, count: usize, words: impl Fn(usize) -> String) -> Vec<Node> {
    let mut nodes: Vec<_> = (1..=count)
        .map(|id| Node::start(folder, &format!("node {} --id {id} --nodes {count}", words(id)), "127.0.0.1:0"))
        .collect();
    let addresses = format_addresses(&nodes);
    nodes.iter_mut().for_each(|node| node.send(&addresses));
    nodes.iter().for_each(|node| assert!(node.wait_for("started")["started"]["incarnation"].is_u64()));
    nodes
}

fn format_addresses(nodes: &[Node]) -> String {
    let numbered_address = |(index, node): (usize, &Node)| format!("{}={}", index + 1, node.address);
    nodes.iter().enumerate().map(numbered_address).collect::<Vec<_>>().join(",")
}

#[test]
fn a_node_reads_commands_and_prints_events() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = start_group(folder.path(), 3, |id| format!("ricart-agrawala --trace node-{id}.journal"));
    nodes[0].send("acquire");
    nodes[0].wait_for("entered");
    // A command may also be written in JSON.
    nodes[1].send("\"try\"");
    nodes[1].wait_for("denied");
    nodes[2].child.stdin.as_mut().unwrap().write_all(b"m\xFCll\n").unwrap();
    assert!(nodes[2].wait_for("refused").to_string().contains("not valid UTF-8"));
    nodes[2].send("jump");
    let error = nodes[2].wait_for("refused");
    assert!(error["refused"].as_str().unwrap().contains("acquire, try, share, cancel or release"), "{error}");
    nodes[1].send("acquire");
    nodes[0].send("release");
    nodes[0].wait_for("left");
    nodes[1].wait_for("entered");
    nodes[1].send("links");
    assert_eq!(nodes[1].wait_for("links")["links"].as_array().unwrap().len(), 2);
    nodes.into_iter().for_each(Node::stop);

    let printed =
        run_in(folder.path(), "record node-1.journal node-2.journal node-3.journal --out all.journal --json").json(0);
    assert_eq!((&printed["nodes"], &printed["lives"]), (&3.into(), &3.into()), "{printed}");
    let replayed = run_in(folder.path(), "replay all.journal --json").json(0);
    assert_eq!(replayed["mutex"]["entries"], 2, "{replayed}");
}

#[test]
fn the_end_of_input_stops_a_node_after_pending_commands() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = start_group(folder.path(), 2, |_| "central".into());
    nodes[0].send("acquire");
    drop(nodes[0].child.stdin.take());
    nodes[0].wait_for("entered");
    nodes[0].wait_for("stopped");
    assert_eq!(nodes[0].child.wait().unwrap().code(), Some(0));
}

/// The test does not read the node's output, so the pipe fills up. The node continues and can be
/// stopped.
#[test]
fn a_node_does_not_block_on_unread_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = start_group(folder.path(), 2, |_| "ricart-agrawala".into());
    nodes[1].wait_for_connections(1);
    // Restart node 1 without reading its output.
    nodes[0].child.kill().unwrap();
    nodes[0].child.wait().unwrap();
    let mut unread_node = quorate(folder.path())
        .args("node ricart-agrawala --id 1 --nodes 2 --json --log error --peers - --listen".split(' '))
        .arg(&nodes[0].address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = unread_node.stdin.take().unwrap();
    writeln!(input, "{}", format_addresses(&nodes)).unwrap();
    // The answers are longer than the pipe holds.
    (0..5_000).for_each(|_| writeln!(input, "links").unwrap());
    // Requests to the earlier incarnation of node 1 are lost, so wait for the new connection.
    nodes[1].wait_for_connections(2);
    nodes[1].send("acquire");
    nodes[1].wait_for("entered");
    drop(input);
    assert_eq!(unread_node.wait().unwrap().code(), Some(0));
}

#[test]
fn a_killed_replica_recovers_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let words = |id: usize| format!("replica --data data-{id} --new");
    let mut nodes = start_group(folder.path(), 3, words);
    let leader =
        (0..3).cycle().find(|index| nodes[*index].lines.try_iter().any(|line| line.contains("leads"))).unwrap();
    nodes[leader].send("write 0 7");
    nodes[leader].wait_for("written");
    let addresses = format_addresses(&nodes);
    nodes[leader].child.kill().unwrap();
    nodes[leader].child.wait().unwrap();

    let peers: Vec<_> = (1..=3).filter(|id| *id != leader + 1).map(|id| format!("{id}=127.0.0.1:700{id}")).collect();
    let node = format!("node replica --data data-{0} --id {0} --listen 127.0.0.1:0", leader + 1);
    let error = run_in(folder.path(), &format!("{node} --peers {} --new", peers.join(","))).error_after_output();
    assert!(
        error.contains("is already a data folder. It was not changed; to continue with it, omit --new."),
        "{error}"
    );

    let address = nodes[leader].address.clone();
    let line = format!("node replica --data data-{0} --id {0} --nodes 3", leader + 1);
    nodes[leader] = Node::start(folder.path(), &line, &address);
    nodes[leader].send(&addresses);
    // The killed process was incarnation 0.
    assert_eq!(nodes[leader].wait_for("started")["started"]["incarnation"], 1);
    // Repeat the read until there is a leader.
    loop {
        nodes[leader].send("read 0");
        let line = nodes[leader].wait_for("ticket").to_string();
        if line.contains("answered") {
            assert!(line.contains(r#""answer":{"answered":{"value":7}}"#), "{line}");
            break;
        }
    }
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn nodes_with_certificates_connect() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "certs --group demo --nodes 1-2").exits(0);
    let mut nodes = start_group(folder.path(), 2, |_| "ricart-agrawala --group demo --certs certs".into());
    nodes[0].send("acquire");
    nodes[0].wait_for("entered");
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn invalid_options_are_reported_before_any_message() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.journal"), "").unwrap();
    for (line, part) in [
        ("node central --id 0 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002", "--id must be at least 1"),
        ("node central --id 1 --listen 10.1.2.3:7001 --peers 2=127.0.0.1:7002", "--insecure-plain-tcp"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2=10.1.2.3:7002", "--insecure-plain-tcp"),
        ("node central --id 1 --listen nowhere --peers 2=127.0.0.1:7002", "--listen: 'nowhere' is not an address"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 3=127.0.0.1:7002", "must list every node"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2", "write for example 2=127.0.0.1:7002"),
        ("node raft --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --data gone", "--data-was-lost"),
        ("node raft --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002", "Give it a folder with --data"),
        (
            "node central --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --reads lease",
            "does not apply to 'central'",
        ),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --certs none", "none"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --trace old.journal", "old.journal"),
    ] {
        let result = run_in(folder.path(), line);
        let printed = result.error_after_output();
        assert!(printed.contains(part), "{line}\n{printed}");
    }
    assert!(run("node unknown --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002").error().contains("unknown"));
}
