//! `--json`: the fields of the main commands' reports, and the consistency of their values.

use crate::run::{run, run_in};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::collections::BTreeSet;

/// Lists every field with its type, one per line; `[]` stands for any element of an array. Empty
/// arrays and objects are left out.
pub(crate) fn shape(value: &Value) -> String {
    let mut fields = BTreeSet::new();
    collect_fields(value, "", &mut fields);
    fields.into_iter().map(|field| field + "\n").collect()
}

fn collect_fields(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(elements) => {
            return elements.iter().for_each(|element| collect_fields(element, &format!("{path}[]"), fields));
        }
        Value::Object(object) => {
            let separator = if path.is_empty() { "" } else { "." };
            return object
                .iter()
                .for_each(|(name, value)| collect_fields(value, &format!("{path}{separator}{name}"), fields));
        }
    };
    fields.insert(format!("{path}: {kind}"));
}

/// Checks the fields of a command's report and returns them.
#[track_caller]
fn assert_shape(command_line: &str, exit_code: i32, expected: &Expect) -> String {
    let shape = shape(&run(command_line).json(exit_code));
    expected.assert_eq(&shape);
    shape
}

/// Compares the fields of a command's report with those of another command: new fields (+) and
/// missing ones (-).
#[track_caller]
fn assert_difference(other_shape: &str, command_line: &str, exit_code: i32, expected: &Expect) {
    let shape = shape(&run(command_line).json(exit_code));
    let [before, after]: [BTreeSet<_>; 2] = [other_shape, &shape].map(|shape| shape.lines().collect());
    let missing = before.difference(&after).map(|field| format!("- {field}\n"));
    let new = after.difference(&before).map(|field| format!("+ {field}\n"));
    expected.assert_eq(&missing.chain(new).collect::<String>());
}

#[test]
fn the_fields_of_list_are_unchanged() {
    let shape = assert_shape(
        "list --json",
        0,
        &expect![[r#"
            [].class: string
            [].client_delay: string
            [].family: string
            [].messages: integer
            [].messages_per_election: string
            [].messages_per_entry: string
            [].messages_per_look: string
            [].messages_per_multicast: string
            [].name: string
            [].slowest_delivery: integer
            [].summary: string
            [].sync_delay: string
        "#]],
    );
    assert_difference(
        &shape,
        "list --fixtures --json",
        0,
        &expect![[r#"
        - [].messages: integer
        + [].flaw: string
    "#]],
    );
}

#[test]
fn the_fields_of_explain_are_unchanged() {
    assert_shape(
        "explain central --json",
        0,
        &expect![[r#"
            class: string
            family: string
            idea[]: string
            name: string
            rules[].id: string
            rules[].text: string
            sections.Assumes: string
            sections.Cost: string
            sections.Departs from the textbook: string
            sections.In views: string
            sections.Try: string
            sections.When it fails: string
            title: string
            trace[]: string
        "#]],
    );
    assert_shape(
        "explain ricart-agrawala-1981 --json",
        0,
        &expect![[r#"
            class: string
            family: string
            flaw: string
            idea[]: string
            name: string
            title: string
            trace[]: string
        "#]],
    );
}

#[test]
fn the_fields_of_sim_are_unchanged() {
    let shape = assert_shape(
        "sim central --latency fixed:1ms --json",
        0,
        &expect![[r#"
        algorithm: string
        ending: string
        events: integer
        family: string
        links: string
        messages.busiest_share: float
        messages.by_kind.grant: integer
        messages.by_kind.release: integer
        messages.by_kind.request: integer
        messages.bytes: integer
        messages.control: integer
        messages.control_bytes: integer
        messages.total: integer
        mutex.client_delay.max: float
        mutex.client_delay.mean: float
        mutex.client_delay.samples: integer
        mutex.delay_unit: string
        mutex.entries: integer
        mutex.messages_per_entry: float
        mutex.others.entries: integer
        mutex.others.messages_per_entry: float
        mutex.out_of_order: integer
        mutex.overtaken_max: integer
        mutex.own.entries: integer
        mutex.own.messages_per_entry: float
        mutex.sync_delay.max: float
        mutex.sync_delay.mean: float
        mutex.sync_delay.samples: integer
        nodes: integer
        properties[].holds: bool
        properties[].kind: string
        properties[].name: string
        seed: integer
        sometimes[].happened: bool
        sometimes[].name: string
        time_ns: integer
        trace_hash: string
    "#]],
    );
    assert_difference(
        &shape,
        "sim ricart-agrawala-clock-only --json",
        1,
        &expect![[r#"
        - messages.by_kind.grant: integer
        - messages.by_kind.release: integer
        - mutex.others.entries: integer
        - mutex.others.messages_per_entry: float
        - mutex.own.entries: integer
        - mutex.own.messages_per_entry: float
        - mutex.sync_delay.max: float
        - mutex.sync_delay.mean: float
        - mutex.sync_delay.samples: integer
        + messages.by_kind.reply: integer
        + mutex.sync_delay: null
        + properties[].violation.text: string
        + properties[].violation.time_ns: integer
    "#]],
    );
}

#[test]
fn the_fields_of_sweep_are_unchanged() {
    let shape = assert_shape(
        "sweep central --seeds 5 --json",
        0,
        &expect![[r#"
        algorithm: string
        events: integer
        failed: integer
        first_seed: integer
        nodes: integer
        properties[].holds: bool
        properties[].kind: string
        properties[].name: string
        properties[].seeds: integer
        seconds: float
        seeds: integer
    "#]],
    );
    assert_difference(
        &shape,
        "sweep ricart-agrawala-clock-only --seeds 5 --json",
        1,
        &expect![[r#"
        + failure.property: string
        + failure.replay: string
        + failure.seed: integer
        + failure.text: string
    "#]],
    );
}

#[test]
fn the_fields_of_replay_and_trace_are_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "sim ricart-agrawala --fault 'pause 2 at 9ms for 9ms' --trace run.journal").exits(0);
    let shape_in_folder = |command_line: &str| shape(&run_in(folder.path(), command_line).json(0));
    let check_in_folder = |command_line: &str, expected: &Expect| {
        let shape = shape_in_folder(command_line);
        expected.assert_eq(&shape);
        shape
    };
    let replayed = check_in_folder(
        "replay run.journal --json",
        &expect![[r#"
        algorithm: string
        identical: bool
        lines: integer
        messages.busiest_share: float
        messages.by_kind.reply: integer
        messages.by_kind.request: integer
        messages.bytes: integer
        messages.control: integer
        messages.control_bytes: integer
        messages.total: integer
        mutex.client_delay.max: float
        mutex.client_delay.mean: float
        mutex.client_delay.samples: integer
        mutex.delay_unit: string
        mutex.entries: integer
        mutex.messages_per_entry: float
        mutex.out_of_order: integer
        mutex.overtaken_max: integer
        mutex.sync_delay.max: float
        mutex.sync_delay.mean: float
        mutex.sync_delay.samples: integer
        nodes: integer
        properties[].holds: bool
        properties[].kind: string
        properties[].name: string
        seed: integer
        sometimes[].happened: bool
        sometimes[].name: string
    "#]],
    );
    assert_eq!(shape_in_folder("trace run.journal --summary --json"), replayed.replace("identical: bool\n", ""));
    check_in_folder(
        "trace run.journal --json",
        &expect![[r#"
        [].clock[]: integer
        [].line: integer
        [].node: integer
        [].parts[].sort: string
        [].parts[].text: string
        [].time_ns: integer
    "#]],
    );
    check_in_folder(
        "trace run.journal --before 2 3 --json",
        &expect![[r#"
        clocks[][]: integer
        concurrent: bool
        first: integer
        happened_before: bool
        second: integer
    "#]],
    );
}

#[test]
fn the_fields_of_check_are_unchanged() {
    let shape = assert_shape(
        "check ricart-agrawala --json",
        0,
        &expect![[r#"
        algorithm: string
        bytes_per_state: float
        collision_probability: float
        complete: bool
        depth: integer
        end: string
        generated: integer
        nodes: integer
        past.bytes_per_state: float
        past.generated: integer
        past.seconds: float
        past.states: integer
        properties[].counterexample_length: null
        properties[].holds: bool
        properties[].kind: string
        properties[].name: string
        rounds: integer
        seconds: float
        states: integer
        states_per_second: float
    "#]],
    );
    assert_difference(
        &shape,
        "check toy-favourite --rounds unbounded --json",
        1,
        &expect![[r#"
        - past.bytes_per_state: float
        - past.generated: integer
        - past.seconds: float
        - past.states: integer
        - rounds: integer
        + fair.bytes_per_state: float
        + fair.generated: integer
        + fair.seconds: float
        + fair.states: integer
        + properties[].counterexample_length: integer
        + properties[].cycle_length: integer
        + replay: string
        + rounds: string
    "#]],
    );
    assert_difference(
        &shape,
        "check central --walks 10 --json",
        3,
        &expect![[r#"
        - bytes_per_state: float
        - past.bytes_per_state: float
        - past.generated: integer
        - past.seconds: float
        - past.states: integer
        - properties[].holds: bool
        - states: integer
        - states_per_second: float
        + bytes_per_state: null
        + properties[].holds: null
        + properties[].why: string
        + states: null
        + states_per_second: null
        + walks: integer
    "#]],
    );
}

#[test]
fn the_exit_code_shows_whether_all_properties_hold() {
    for command_line in [
        "sim central",
        "sim central --nodes 1 --entries 3",
        "sim ricart-agrawala --nodes 5 --entries 1",
        "sim ricart-agrawala --workload single",
        "sim ricart-agrawala --loss 0.2 --duplicate 0.2",
        "sim ricart-agrawala-clock-only",
        "sim ricart-agrawala-node-only --entries 40",
        "sim ricart-agrawala-first-only --workload all",
        "sim ricart-agrawala-1981 --cancel 0.5 --entries 40 --latency long-tail:2ms",
        "sim central --fault 'crash 1'",
        "sweep central --seeds 3",
        "sweep ricart-agrawala-first-only --seeds 3",
        "sweep central --seeds 2 --entries 2 --requesters 2,3 --fault 'crash 1'",
    ] {
        let result = run(&format!("{command_line} --json"));
        let code = result.code;
        let report = result.json(code.unwrap_or_default());
        let holds = report["properties"].as_array().unwrap().iter().all(|property| property["holds"] == true);
        assert_eq!(code, Some(if holds { 0 } else { 1 }), "{command_line}");
    }
}

#[test]
fn message_and_entry_counts_add_up() {
    let report = run("sim central --nodes 4 --entries 12 --loss 0.1 --json").json(0);
    let messages = &report["messages"];
    let by_kind: u64 = messages["by_kind"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(messages["total"], by_kind);
    let [others, own] = ["others", "own"].map(|group| report["mutex"][group]["entries"].as_u64().unwrap());
    assert_eq!(report["mutex"]["entries"], others + own);
    assert_eq!(report["mutex"]["entries"], 12);
    let messages_per_entry = report["mutex"]["messages_per_entry"].as_f64().unwrap();
    assert_eq!(messages_per_entry, by_kind as f64 / 12.0);
}
