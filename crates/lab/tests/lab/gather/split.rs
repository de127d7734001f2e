//! Splits the journal of a simulated run into the journals that its nodes would have written.

use quorate_core::{Incarnation, NodeId};
use quorate_journal::record::gather::{GatherError, GatherReport, Source, gather};
use quorate_journal::record::{Header, Journal, LiveHeader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead};

/// A file: the journal of one incarnation, or of the faults.
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

/// Returns the gathered journal, and the report on it.
pub(crate) fn gather_parts(parts: &[Part]) -> Result<(String, GatherReport), GatherError> {
    let mut bytes = Vec::new();
    let report = gather(parts, &mut bytes)?;
    Ok((String::from_utf8(bytes).unwrap(), report))
}

/// The machines that run the nodes, and the journals that they leave.
#[derive(Clone, Copy, Default)]
pub(crate) struct Machines {
    /// Whether each node has a separate machine.
    pub(crate) has_own_machines: bool,
    /// Offset of each machine's clock from that of the machine before it, in nanoseconds.
    pub(crate) offset_nanos: i64,
    /// Error of the machines' wall clocks in nanoseconds, alternately early and late.
    pub(crate) error_nanos: i64,
    /// Whether there is a journal of the faults.
    pub(crate) has_fault_journal: bool,
    /// Whether nodes that are up at the end shut down cleanly.
    pub(crate) has_clean_shutdowns: bool,
}

/// A node, as far as the journal has been read.
struct NodeState {
    /// For each incarnation, the number of messages that the node had sent when it began.
    sent_before: Vec<u64>,
    /// Number of messages that the node has sent in all incarnations.
    sent: u64,
    /// Number of writes that the current incarnation has saved.
    saves: u64,
    /// Number of writes of earlier incarnations that survived their crashes, which the next
    /// incarnation finds on disk.
    writes_found: u64,
    /// Index of the part of the current incarnation; `None` while the node is down.
    current_part: Option<usize>,
}

pub(crate) struct Splitter {
    machines: Machines,
    header: Header,
    nodes: BTreeMap<u64, NodeState>,
    parts: Vec<Part>,
    fault_journal: Part,
    end_time: i64,
}

/// Splits the journal of a simulated run on these machines.
pub(crate) fn split(journal: &str, machines: Machines) -> Vec<Part> {
    let header = Journal::open(journal.as_bytes()).unwrap().header().clone();
    let fault_journal = Part { name: "world.journal".into(), bytes: Vec::new() };
    let mut splitter =
        Splitter { machines, header, nodes: BTreeMap::new(), parts: Vec::new(), fault_journal, end_time: 0 };
    splitter.begin_fault_journal();
    // The journal of an incarnation has no end mark.
    for line in journal.lines().skip(1).take_while(|line| !line.starts_with("{\"end\"")) {
        splitter.add_line(line);
    }
    splitter.finish()
}

fn push_line(part: &mut Part, line: &str) {
    part.bytes.extend_from_slice(line.as_bytes());
    part.bytes.push(b'\n');
}

impl Splitter {
    /// Offset from true time of the clock of a node's machine.
    fn clock_offset(&self, node: u64) -> i64 {
        self.machines.offset_nanos * node as i64
    }

    fn live_header(&self, node: Option<u64>, incarnation: u64, writes: u64) -> LiveHeader {
        let number = node.unwrap_or(0);
        let error = if number.is_multiple_of(2) { self.machines.error_nanos } else { -self.machines.error_nanos };
        LiveHeader {
            node: node.map(id),
            incarnation: Incarnation(incarnation),
            group: "group".into(),
            boot: if self.machines.has_own_machines { format!("boot-{number}") } else { "boot".into() },
            nanos_since_boot: 0,
            // The wall clock begins at an arbitrary time, in nanoseconds since 1970.
            wall_clock_offset: 1_700_000_000_000_000_000 - self.clock_offset(number) + error,
            found_writes: writes,
        }
    }

    fn begin_fault_journal(&mut self) {
        let header = Header { live: Some(self.live_header(None, 0, 0)), ..self.header.clone() };
        push_line(&mut self.fault_journal, &serde_json::to_string(&header).unwrap());
    }

    fn add_line(&mut self, line: &str) {
        let value: Value = serde_json::from_str(line).unwrap();
        self.end_time = value["time"].as_i64().unwrap();
        match value["node"].as_u64() {
            Some(node) => self.add_step(node, line, &value),
            None => self.add_world_event(line, &value["world"]),
        }
    }

    fn add_world_event(&mut self, line: &str, event: &Value) {
        if let Some(crashed) = event.get("crashed") {
            let state = self.nodes.get_mut(&crashed["node"].as_u64().unwrap()).unwrap();
            state.writes_found += state.saves - crashed["lost_writes"].as_u64().unwrap();
            (state.saves, state.current_part) = (0, None);
        }
        // Nodes record the other events themselves, or gathering infers them.
        if ["crashed", "paused", "resumed", "changed"].iter().any(|word| event.get(word).is_some()) {
            push_line(&mut self.fault_journal, line);
        }
    }

    fn add_step(&mut self, node: u64, line: &str, value: &Value) {
        if let Some(start) = value["input"].get("start") {
            let incarnation = start["incarnation"].as_u64().unwrap();
            let is_disk_blank = start.get("blank").is_some();
            self.begin_incarnation(node, incarnation, is_disk_blank);
        }
        let text = self.localize_step(node, line, value);
        let state = self.nodes.get_mut(&node).unwrap();
        for effect in value["effects"].as_array().unwrap() {
            state.saves += u64::from(effect.get("save").is_some());
            state.sent += u64::from(effect.get("send").is_some());
            // A multicast takes one message number per receiver.
            state.sent +=
                effect.get("multicast").map_or(0, |multicast| multicast["to"].as_array().unwrap().len() as u64);
        }
        push_line(&mut self.parts[state.current_part.unwrap()], &text);
    }

    fn begin_incarnation(&mut self, node: u64, incarnation: u64, is_disk_blank: bool) {
        let state = self.nodes.entry(node).or_insert(NodeState {
            sent_before: vec![],
            sent: 0,
            saves: 0,
            writes_found: 0,
            current_part: None,
        });
        assert!(state.current_part.is_none(), "an incarnation begins before the previous one ended");
        if is_disk_blank {
            state.writes_found = 0;
        }
        state.sent_before.push(state.sent);
        state.current_part = Some(self.parts.len());
        let writes = state.writes_found;
        let header = Header { live: Some(self.live_header(Some(node), incarnation, writes)), ..self.header.clone() };
        let mut part = Part { name: format!("n{node}-{incarnation}.journal"), bytes: Vec::new() };
        push_line(&mut part, &serde_json::to_string(&header).unwrap());
        self.parts.push(part);
    }

    /// Rewrites a step as its node would have recorded it: with the time of its machine's clock,
    /// and message ids that are numbered within incarnations.
    fn localize_step(&self, node: u64, line: &str, value: &Value) -> String {
        let time = value["time"].as_i64().unwrap();
        let clock = value.get("clock").map_or(time, |clock| clock.as_i64().unwrap());
        let (_, rest) = line.split_once("\"input\":").unwrap();
        let machine_time = time + self.clock_offset(node);
        // `clock` is the time that the node's protocol sees. A line omits it if it equals the time.
        let clock = if clock == machine_time { String::new() } else { format!("\"clock\":{clock},") };
        let mut text = format!("{{\"time\":{machine_time},\"node\":{node},{clock}\"input\":");
        let mut rest = rest.to_owned();
        if let Some(message) = value["input"].get("message") {
            let old = message["id"].as_str().unwrap();
            let (incarnation, new) = self.localize_id(old);
            // `life` is the incarnation of the sender. A line omits it if it is the first.
            let incarnation = if incarnation == 0 { String::new() } else { format!("\"life\":{incarnation},") };
            rest = rest.replacen(&format!("\"id\":\"{old}\""), &format!("{incarnation}\"id\":\"{new}\""), 1);
        }
        for effect in value["effects"].as_array().unwrap() {
            if let Some(sent) = effect.get("send").or(effect.get("multicast")) {
                let old = sent["id"].as_str().unwrap();
                let number: u64 = old.split_once('.').unwrap().1.parse().unwrap();
                let base = self.nodes[&node].sent_before.last().unwrap();
                // The `#` prevents a replaced id from being replaced again.
                let new = format!("\"id\":\"#{node}.{}\"", number - base);
                rest = rest.replacen(&format!("\"id\":\"{old}\""), &new, 1);
            }
        }
        text.push_str(&rest.replace("\"id\":\"#", "\"id\":\""));
        text
    }

    /// Returns the incarnation that sent a message, and the message's id within that incarnation.
    fn localize_id(&self, id: &str) -> (usize, String) {
        let (sender, number) = id.split_once('.').unwrap();
        let (sender, number): (u64, u64) = (sender.parse().unwrap(), number.parse().unwrap());
        let bases = &self.nodes[&sender].sent_before;
        let incarnation = bases.iter().rposition(|base| *base < number).unwrap();
        (incarnation, format!("{sender}.{}", number - bases[incarnation]))
    }

    fn finish(mut self) -> Vec<Part> {
        for (node, state) in &self.nodes {
            if let (true, Some(part)) = (self.machines.has_clean_shutdowns, state.current_part) {
                // All nodes that are up shut down one second after the last line.
                let time = self.end_time + 1_000_000_000 + self.clock_offset(*node);
                push_line(
                    &mut self.parts[part],
                    &format!("{{\"time\":{time},\"world\":{{\"ended\":{{\"node\":{node}}}}}}}"),
                );
            }
        }
        if self.machines.has_fault_journal {
            self.parts.push(self.fault_journal);
        }
        self.parts
    }
}

fn id(node: u64) -> NodeId {
    NodeId::new(u32::try_from(node).unwrap()).unwrap()
}
