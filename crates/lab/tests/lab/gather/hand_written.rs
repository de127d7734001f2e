//! Hand-written journals of incarnations.

use crate::gather::split::Part;

/// A hand-written journal of one incarnation: a header with one setting `a`, the start at time 0,
/// then these lines. All incarnations run on one machine (`boot`), whose wall clock equals the
/// journal's time (`offset`), and find no saved writes on their disks (`writes`).
pub(crate) fn incarnation_journal(node: u32, incarnation: u64, lines: &[&str]) -> Part {
    let header = format!(
        r#"{{"journal":1,"algorithm":"central","family":"mutex","nodes":2,"seed":1,"live":{{"node":{node},"incarnation":{incarnation},"boot":"b","offset":0,"writes":0}},"run":{{"a":1}}}}"#
    );
    let start =
        format!(r#"{{"time":0,"node":{node},"input":{{"start":{{"incarnation":{incarnation}}}}},"effects":[]}}"#);
    let mut text = format!("{header}\n{start}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    Part { name: format!("n{node}-{incarnation}"), bytes: text.into_bytes() }
}

/// A step that receives a message, and sends others: their ids and receivers.
pub(crate) fn receipt(time: i64, node: u32, id: &str, sends: &[(&str, u32)]) -> String {
    let effects: Vec<_> = sends.iter().map(|(id, to)| send_effect(id, *to)).collect();
    let effects = effects.join(",");
    format!(r#"{{"time":{time},"node":{node},"input":{{"message":{{"id":"{id}","kind":"k"}}}},"effects":[{effects}]}}"#)
}

pub(crate) fn sending_step(time: i64, node: u32, id: &str, to: u32) -> String {
    format!(r#"{{"time":{time},"node":{node},"input":{{"command":"acquire"}},"effects":[{}]}}"#, send_effect(id, to))
}

fn send_effect(id: &str, to: u32) -> String {
    format!(r#"{{"send":{{"id":"{id}","to":{to},"kind":"k","bytes":1,"body":null}}}}"#)
}

pub(crate) fn fault_journal(lines: &[&str]) -> Part {
    let header = r#"{"journal":1,"algorithm":"central","family":"mutex","nodes":2,"seed":1,"live":{"boot":"b","offset":0},"run":{"a":1,"faults":["kill"]}}"#;
    let text: String = [header].iter().chain(lines).map(|line| format!("{line}\n")).collect();
    Part { name: "world".into(), bytes: text.into_bytes() }
}
