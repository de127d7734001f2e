//! Splits the journal of a simulated run into the journals that its nodes would have written.

use quorate_core::{Incarnation, NodeId};
use quorate_journal::record::gather::{GatherError, Gathered, Source, gather};
use quorate_journal::record::{Header, Journal, Live};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Source for Part {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(self.bytes.as_slice()))
    }
}

pub(crate) fn gathered(parts: &[Part]) -> Result<(String, Gathered), GatherError> {
    let mut bytes = Vec::new();
    let found = gather(parts, &mut bytes)?;
    Ok((String::from_utf8(bytes).unwrap(), found))
}

/// Properties of the machines that run the nodes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Machines {
    /// Whether each node has a machine of its own.
    pub(crate) own: bool,
    /// Offset of each machine's clock from that of the machine before it, in nanoseconds.
    pub(crate) apart: i64,
    /// Error of the wall clocks in nanoseconds, alternately early and late.
    pub(crate) error: i64,
    /// Whether a parent process records the faults.
    pub(crate) world: bool,
    /// Whether nodes that are up at the end shut down cleanly.
    pub(crate) ends: bool,
}

struct NodeState {
    /// Number of messages the node had sent when each incarnation began.
    bases: Vec<u64>,
    sent: u64,
    saves: u64,
    /// Number of writes its current incarnation found on disk.
    found: u64,
    /// Index of the file of the incarnation that is up.
    up: Option<usize>,
}

pub(crate) struct Splitter {
    machines: Machines,
    header: Header,
    nodes: BTreeMap<u64, NodeState>,
    parts: Vec<Part>,
    world: Part,
    end: i64,
}

pub(crate) fn split(journal: &str, machines: Machines) -> Vec<Part> {
    let header = Journal::open(journal.as_bytes()).unwrap().header().clone();
    let world = Part { name: "world.journal".into(), bytes: Vec::new() };
    let mut splitter = Splitter { machines, header, nodes: BTreeMap::new(), parts: Vec::new(), world, end: 0 };
    splitter.begin_world();
    // The journal of an incarnation has no end mark.
    for line in journal.lines().skip(1).take_while(|line| !line.starts_with("{\"end\"")) {
        splitter.line(line);
    }
    splitter.finish()
}

fn put(part: &mut Part, line: &str) {
    part.bytes.extend_from_slice(line.as_bytes());
    part.bytes.push(b'\n');
}

impl Splitter {
    /// Offset of a node's clock from true time.
    fn ahead(&self, node: u64) -> i64 {
        self.machines.apart * node as i64
    }

    fn live(&self, node: Option<u64>, life: u64, writes: u64) -> Live {
        let number = node.unwrap_or(0);
        let error = if number.is_multiple_of(2) { self.machines.error } else { -self.machines.error };
        Live {
            node: node.map(id),
            incarnation: Incarnation(life),
            group: "group".into(),
            boot: if self.machines.own { format!("boot-{number}") } else { "boot".into() },
            zero: 0,
            offset: 1_700_000_000_000_000_000 - self.ahead(number) + error,
            writes,
        }
    }

    fn begin_world(&mut self) {
        let header = Header { live: Some(self.live(None, 0, 0)), ..self.header.clone() };
        put(&mut self.world, &serde_json::to_string(&header).unwrap());
    }

    fn line(&mut self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap();
        self.end = value["time"].as_i64().unwrap();
        match value["node"].as_u64() {
            Some(node) => self.step(node, line, &value),
            None => self.world_event(line, &value["world"]),
        }
    }

    fn world_event(&mut self, line: &str, what: &Value) {
        if let Some(crashed) = what.get("crashed") {
            let state = self.nodes.get_mut(&crashed["node"].as_u64().unwrap()).unwrap();
            state.found += state.saves - crashed["lost_writes"].as_u64().unwrap();
            (state.saves, state.up) = (0, None);
        }
        if ["crashed", "paused", "resumed", "changed"].iter().any(|word| what.get(word).is_some()) {
            put(&mut self.world, line);
        }
    }

    fn step(&mut self, node: u64, line: &str, value: &Value) {
        if let Some(start) = value["input"].get("start") {
            let life = start["incarnation"].as_u64().unwrap();
            let blank = start.get("blank").is_some();
            self.begin_incarnation(node, life, blank);
        }
        let text = self.localized(node, line, value);
        let state = self.nodes.get_mut(&node).unwrap();
        for effect in value["effects"].as_array().unwrap() {
            state.saves += u64::from(effect.get("save").is_some());
            state.sent += u64::from(effect.get("send").is_some());
            state.sent += effect.get("multicast").map_or(0, |cast| cast["to"].as_array().unwrap().len() as u64);
        }
        put(&mut self.parts[state.up.unwrap()], &text);
    }

    fn begin_incarnation(&mut self, node: u64, life: u64, blank: bool) {
        let state =
            self.nodes.entry(node).or_insert(NodeState { bases: vec![], sent: 0, saves: 0, found: 0, up: None });
        assert!(state.up.is_none(), "an incarnation begins before the previous one ended");
        if blank {
            state.found = 0;
        }
        state.bases.push(state.sent);
        state.up = Some(self.parts.len());
        let found = state.found;
        let header = Header { live: Some(self.live(Some(node), life, found)), ..self.header.clone() };
        let mut part = Part { name: format!("n{node}-{life}.journal"), bytes: Vec::new() };
        put(&mut part, &serde_json::to_string(&header).unwrap());
        self.parts.push(part);
    }

    /// Rewrites a step with the node's own time and the ids of its incarnation.
    fn localized(&self, node: u64, line: &str, value: &Value) -> String {
        let time = value["time"].as_i64().unwrap();
        let clock = value.get("clock").map_or(time, |clock| clock.as_i64().unwrap());
        let (_, rest) = line.split_once("\"input\":").unwrap();
        let own = time + self.ahead(node);
        let clock = if clock == own { String::new() } else { format!("\"clock\":{clock},") };
        let mut text = format!("{{\"time\":{own},\"node\":{node},{clock}\"input\":");
        let mut rest = rest.to_owned();
        if let Some(message) = value["input"].get("message") {
            let old = message["id"].as_str().unwrap();
            let (life, new) = self.local(old);
            let life = if life == 0 { String::new() } else { format!("\"life\":{life},") };
            rest = rest.replacen(&format!("\"id\":\"{old}\""), &format!("{life}\"id\":\"{new}\""), 1);
        }
        for effect in value["effects"].as_array().unwrap() {
            if let Some(sent) = effect.get("send").or(effect.get("multicast")) {
                let old = sent["id"].as_str().unwrap();
                let number: u64 = old.split_once('.').unwrap().1.parse().unwrap();
                let base = self.nodes[&node].bases.last().unwrap();
                // The mark prevents a replaced id from being replaced again.
                let new = format!("\"id\":\"#{node}.{}\"", number - base);
                rest = rest.replacen(&format!("\"id\":\"{old}\""), &new, 1);
            }
        }
        text.push_str(&rest.replace("\"id\":\"#", "\"id\":\""));
        text
    }

    /// Returns the sender's incarnation that sent a message, and the id within it.
    fn local(&self, id: &str) -> (usize, String) {
        let (sender, number) = id.split_once('.').unwrap();
        let (sender, number): (u64, u64) = (sender.parse().unwrap(), number.parse().unwrap());
        let bases = &self.nodes[&sender].bases;
        let life = bases.iter().rposition(|base| *base < number).unwrap();
        (life, format!("{sender}.{}", number - bases[life]))
    }

    fn finish(mut self) -> Vec<Part> {
        for (node, state) in &self.nodes {
            if let (true, Some(up)) = (self.machines.ends, state.up) {
                // They shut down one second after the last line.
                let time = self.end + 1_000_000_000 + self.ahead(*node);
                put(&mut self.parts[up], &format!("{{\"time\":{time},\"world\":{{\"ended\":{{\"node\":{node}}}}}}}"));
            }
        }
        if self.machines.world {
            self.parts.push(self.world);
        }
        self.parts
    }
}

fn id(node: u64) -> NodeId {
    NodeId::new(u32::try_from(node).unwrap()).unwrap()
}
