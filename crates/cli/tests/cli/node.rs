//! `quorate node`: one process by hand, with a user at its standard input.

use crate::run::{quorate, run, run_in};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(60);

/// A process with its user.
struct Node {
    child: Child,
    lines: Receiver<String>,
    address: String,
}

impl Node {
    /// Starts a node that listens here, and waits until it does.
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

    fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    /// The next line that it prints.
    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(DEADLINE).expect("the node says nothing");
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for a line with this in it.
    #[track_caller]
    fn hear(&self, part: &str) -> Value {
        loop {
            let line = self.next();
            if line.to_string().contains(part) {
                return line;
            }
        }
    }

    /// Waits until it has met its first peer at least this many times, and is connected.
    #[track_caller]
    fn meet(&mut self, times: u64) {
        let began = Instant::now();
        loop {
            self.say("links");
            let links = self.hear("links");
            let first = &links["links"][0];
            if first["connected"] == true && first["connections"].as_u64() >= Some(times) {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "they did not meet {times} times: {links}");
        }
    }

    #[track_caller]
    fn stop(mut self) {
        self.say("stop");
        self.hear("stopped");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As many nodes, which know each other.
fn group(folder: &Path, count: usize, words: impl Fn(usize) -> String) -> Vec<Node> {
    let mut nodes: Vec<_> = (1..=count)
        .map(|id| Node::start(folder, &format!("node {} --id {id} --nodes {count}", words(id)), "127.0.0.1:0"))
        .collect();
    let addresses = addresses(&nodes);
    nodes.iter_mut().for_each(|node| node.say(&addresses));
    nodes.iter().for_each(|node| assert!(node.hear("started")["started"]["incarnation"].is_u64()));
    nodes
}

fn addresses(nodes: &[Node]) -> String {
    let one = |(index, node): (usize, &Node)| format!("{}={}", index + 1, node.address);
    nodes.iter().enumerate().map(one).collect::<Vec<_>>().join(",")
}

#[test]
fn words_go_in_and_events_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = group(folder.path(), 3, |id| format!("ricart-agrawala --trace node-{id}.journal"));
    nodes[0].say("acquire");
    nodes[0].hear("entered");
    nodes[1].say("\"try\"");
    nodes[1].hear("denied");
    nodes[2].child.stdin.as_mut().unwrap().write_all(b"m\xFCll\n").unwrap();
    assert!(nodes[2].hear("refused").to_string().contains("not text in UTF-8"));
    nodes[2].say("jump");
    let refused = nodes[2].hear("refused");
    assert!(refused["refused"].as_str().unwrap().contains("acquire, try, share, cancel or release"), "{refused}");
    nodes[1].say("acquire");
    nodes[0].say("release");
    nodes[0].hear("left");
    nodes[1].hear("entered");
    nodes[1].say("links");
    assert_eq!(nodes[1].hear("links")["links"].as_array().unwrap().len(), 2);
    nodes.into_iter().for_each(Node::stop);

    let told =
        run_in(folder.path(), "record node-1.journal node-2.journal node-3.journal --out all.journal --json").json(0);
    assert_eq!((&told["nodes"], &told["lives"]), (&3.into(), &3.into()), "{told}");
    let replayed = run_in(folder.path(), "replay all.journal --json").json(0);
    assert_eq!(replayed["mutex"]["entries"], 2, "{replayed}");
}

#[test]
fn the_end_of_input_ends_a_node_after_what_was_asked_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = group(folder.path(), 2, |_| "central".into());
    nodes[0].say("acquire");
    drop(nodes[0].child.stdin.take());
    nodes[0].hear("entered");
    nodes[0].hear("stopped");
    assert_eq!(nodes[0].child.wait().unwrap().code(), Some(0));
}

/// Its pipe is full long before the last line. It goes on all the same, and can be stopped.
#[test]
fn nobody_needs_to_read_what_a_node_prints() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = group(folder.path(), 2, |_| "ricart-agrawala".into());
    nodes[1].meet(1);
    // Somebody else takes the place of node 1, and nobody reads what that one prints.
    nodes[0].child.kill().unwrap();
    nodes[0].child.wait().unwrap();
    let mut unread = quorate(folder.path())
        .args("node ricart-agrawala --id 1 --nodes 2 --json --log error --peers - --listen".split(' '))
        .arg(&nodes[0].address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = unread.stdin.take().unwrap();
    writeln!(input, "{}", addresses(&nodes)).unwrap();
    (0..5_000).for_each(|_| writeln!(input, "links").unwrap());
    // What was asked of the former life of node 1 died with it.
    nodes[1].meet(2);
    nodes[1].say("acquire");
    nodes[1].hear("entered");
    drop(input);
    assert_eq!(unread.wait().unwrap().code(), Some(0));
}

#[test]
fn a_killed_replica_comes_back_with_what_it_saved() {
    let folder = tempfile::tempdir().unwrap();
    let words = |id: usize| format!("replica --data data-{id} --new");
    let mut nodes = group(folder.path(), 3, words);
    let leader =
        (0..3).cycle().find(|place| nodes[*place].lines.try_iter().any(|line| line.contains("leads"))).unwrap();
    nodes[leader].say("write 0 7");
    nodes[leader].hear("written");
    let addresses = addresses(&nodes);
    nodes[leader].child.kill().unwrap();
    nodes[leader].child.wait().unwrap();

    let address = nodes[leader].address.clone();
    let line = format!("node replica --data data-{0} --id {0} --nodes 3", leader + 1);
    nodes[leader] = Node::start(folder.path(), &line, &address);
    nodes[leader].say(&addresses);
    assert_eq!(nodes[leader].hear("started")["started"]["incarnation"], 1);
    // It may be asked before there is a leader again.
    loop {
        nodes[leader].say("read 0");
        let line = nodes[leader].hear("ticket").to_string();
        if line.contains("answered") {
            assert!(line.contains(r#""answer":{"value":7}"#), "{line}");
            break;
        }
    }
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn nodes_with_certificates_meet() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "certs --group demo --nodes 1-2").ok(0);
    let mut nodes = group(folder.path(), 2, |_| "ricart-agrawala --group demo --certs certs".into());
    nodes[0].say("acquire");
    nodes[0].hear("entered");
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.journal"), "").unwrap();
    for (line, part) in [
        ("node central --id 0 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002", "Nodes are numbered from 1"),
        ("node central --id 1 --listen 10.1.2.3:7001 --peers 2=127.0.0.1:7002", "--insecure-plain-tcp"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2=10.1.2.3:7002", "--insecure-plain-tcp"),
        ("node central --id 1 --listen nowhere --peers 2=127.0.0.1:7002", "no address to listen at"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 3=127.0.0.1:7002", "must name every node"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2", "write for example 2=127.0.0.1:7002"),
        ("node raft --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --data gone", "--data-was-lost"),
        ("node raft --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002", "give it a folder with --data"),
        (
            "node central --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --reads lease",
            "means nothing to 'central'",
        ),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --certs none", "none"),
        ("node central --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002 --trace old.journal", "old.journal"),
    ] {
        let ended = run_in(folder.path(), line);
        let told = ended.refusal();
        assert!(told.contains(part), "{line}\n{told}");
    }
    assert!(run("node nobody --id 1 --listen 127.0.0.1:0 --peers 2=127.0.0.1:7002").complaint().contains("nobody"));
}
