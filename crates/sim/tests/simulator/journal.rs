//! Journals: reading one and writing it again gives the same bytes. Also fingerprints, line
//! numbers, long journals and errors.

use crate::common::{Actions, Scenario, ScriptedNode, header, multicast, node, random_scenario, send};
use quorate_core::wrap::{Reliable, RetransmissionTimeouts};
use quorate_core::{Epoch, Group, MembershipNote, Time, View};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer};
use quorate_journal::record::{Fingerprint, Header, Journal, JournalError, Writer};
use quorate_sim::World;
use std::io::{BufReader, Read};

/// Reads a journal, and returns it as a writer writes it again.
fn rewrite(text: &str) -> String {
    let mut journal = Journal::open(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, journal.header());
    journal.show_all::<Actions, String>(&mut writer).unwrap();
    writer.finish().unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_journal_is_rewritten_byte_for_byte() {
    for seed in 0..300 {
        let journal = random_scenario(seed).journal();
        assert!(rewrite(&journal) == journal, "the journal of seed {seed} changes");
    }
}

/// A journal with the frames, payload ids and notes of a wrapper.
#[test]
fn the_journal_of_a_wrapper_is_rewritten_byte_for_byte() {
    let scenario = Scenario::new(3).loss("0.3").duplicate("0.3").latency("uniform:1ms..9ms").fifo_links(false);
    let mut bytes = Vec::new();
    let create_node = |me| Reliable::new(me, ScriptedNode::default(), RetransmissionTimeouts::default());
    let mut world = World::new(&scenario.setup, create_node, Writer::new(&mut bytes, &header(3)));
    world.start();
    for millis in 0..10 {
        world.schedule_command(Time::from_nanos(millis * 1_000_000), node(1), vec![multicast(3), send(1)]);
    }
    while world.advance() {}
    world.into_observer().finish().unwrap();
    let journal = String::from_utf8(bytes).unwrap();
    for part in
        ["\"parcel\":", "\"handed\":", "\"wrapped\":true", "\"class\":\"control\"", "\"rule\":", "\"retransmit\""]
    {
        assert!(journal.contains(part), "no line shows {part}");
    }
    assert!(rewrite(&journal) == journal);
}

/// Suspicions, notifications about the disk, and views and leases, from outside or from the node's
/// own membership protocol.
#[test]
fn rare_inputs_and_effects_read_back() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &header(3));
    let view = View::new(Epoch(4), View::founding(Group::of_size(2)).stays());
    let lease = ObservedInput::Lease(Time::from_nanos(7));
    for input in [
        ObservedInput::Suspect(node(2)),
        ObservedInput::Trust(node(2)),
        ObservedInput::DiskFull,
        ObservedInput::DiskFree,
        ObservedInput::EndOfTurn,
        ObservedInput::View(&view),
        lease,
    ] {
        let moment: Moment<'_, Actions, String> =
            Moment::Input { time: Time::ZERO, now: Time::from_nanos(-5), node: node(1), input };
        writer.observe(&moment);
    }
    for note in [MembershipNote::View(&view), MembershipNote::Lease(Time::from_nanos(-9))] {
        let moment: Moment<'_, Actions, String> =
            Moment::Effect { time: Time::ZERO, node: node(1), effect: ObservedEffect::Membership(note) };
        writer.observe(&moment);
    }
    let (_, line_count) = writer.finish().unwrap();
    assert_eq!(line_count, 9, "the header, seven inputs and the end mark");
    let journal = String::from_utf8(bytes).unwrap();
    let view_json = r#"{"epoch":4,"members":[[1,{"incarnation":0,"since":1}],[2,{"incarnation":0,"since":1}]]}"#;
    let end =
        format!("\"input\":{{\"lease\":7}},\"effects\":[{{\"view\":{view_json}}},{{\"lease\":-9}}]}}\n{{\"end\":9}}\n");
    assert!(journal.contains(&format!("\"input\":{{\"view\":{view_json}}}")) && journal.ends_with(&end), "{journal}");
    assert_eq!(rewrite(&journal), journal);
}

/// The sender of a multicast is never among its receivers. Message 2.1 is the first that node 2
/// sent; the messages of a multicast have consecutive numbers, so the next one here is 2.3.
#[test]
fn a_multicast_names_its_receivers() {
    let journal = Scenario::new(3).command("1ms", 2, [multicast(3), send(1)]).journal();
    assert!(journal.contains(r#"{"multicast":{"id":"2.1","to":[1,3],"#), "{journal}");
    assert!(journal.contains(r#"{"send":{"id":"2.3","to":1,"#), "{journal}");
}

#[test]
fn the_header_reads_back() {
    let run = serde_json::json!({"latency": "fixed:1ms", "nodes": 3});
    let written = Header { run, seed: u64::MAX, ..header(3) };
    let mut bytes = Vec::new();
    Writer::new(&mut bytes, &written).finish().unwrap();
    let journal = Journal::open(&*bytes).unwrap();
    assert_eq!(journal.header(), &written);
    assert_eq!(journal.line(), 1);
}

/// The writer returns the fingerprint of its bytes and the number of its lines.
#[test]
fn the_fingerprint_covers_the_whole_file() {
    let mut bytes = Vec::new();
    let scenario = random_scenario(7);
    let writer = scenario.run_observed(Writer::new(&mut bytes, &header(scenario.setup.nodes)));
    let (fingerprint, lines) = writer.finish().unwrap();
    let mut file_fingerprint = Fingerprint::default();
    file_fingerprint.add(&bytes);
    assert_eq!(fingerprint, file_fingerprint);
    assert_eq!(lines, bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
}

#[test]
fn lines_are_numbered_as_in_the_file() {
    let text = Scenario::new(2).command("1ms", 1, [send(2)]).journal();
    let mut journal = Journal::open(text.as_bytes()).unwrap();
    let (steps, end_mark) = text.trim_end().rsplit_once('\n').unwrap();
    for (number, line) in (2..).zip(steps.lines().skip(1)) {
        assert!(journal.show::<Actions, String>(&mut ()).unwrap());
        assert_eq!((journal.line(), journal.text()), (number, line));
    }
    assert!(!journal.show::<Actions, String>(&mut ()).unwrap());
    assert_eq!((journal.line(), journal.text()), (text.lines().count() as u64, end_mark));
    assert!(!journal.show::<Actions, String>(&mut ()).unwrap(), "the end is returned again");
}

/// An output that always fails with a full disk.
struct FullDisk;

impl std::io::Write for FullDisk {
    fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_write_error_is_returned_at_the_end() {
    let writer = Scenario::new(2).command("1ms", 1, [send(2)]).run_observed(Writer::new(FullDisk, &header(2)));
    assert_eq!(writer.finish().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

/// A journal that is generated while it is read, so it is never in memory as a whole.
struct GeneratedJournal {
    header: Vec<u8>,
    /// Number of lines still to be generated, including the header.
    remaining_lines: u64,
    /// The rest of the line that is being read.
    unread: Vec<u8>,
}

impl Read for GeneratedJournal {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.unread.is_empty() {
            self.unread = match self.remaining_lines {
                0 => return Ok(0),
                _ if !self.header.is_empty() => std::mem::take(&mut self.header),
                lines => format!("{{\"time\":{lines},\"world\":{{\"paused\":{{\"node\":1}}}}}}\n").into_bytes(),
            };
            self.remaining_lines -= 1;
        }
        let count = buffer.len().min(self.unread.len());
        let rest = self.unread.split_off(count);
        buffer[..count].copy_from_slice(&self.unread);
        self.unread = rest;
        Ok(count)
    }
}

#[test]
fn a_long_journal_is_streamed() {
    // Journals of format 1 have no end mark.
    let format_1 = Header { journal: 1, ..header(1) };
    let mut header_line = Vec::new();
    Writer::new(&mut header_line, &format_1).finish().unwrap();
    let generated = GeneratedJournal { header: header_line, remaining_lines: 300_000, unread: Vec::new() };
    let mut journal = Journal::open(BufReader::new(generated)).unwrap();
    let mut writer = Writer::new(std::io::sink(), &format_1);
    journal.show_all::<Actions, String>(&mut writer).unwrap();
    let (_, written_lines) = writer.finish().unwrap();
    assert_eq!((journal.line(), written_lines), (300_000, 300_000));
}

/// A truncated file is read up to the truncation: here the header, two starts and the command, but
/// not the receipt in line 5. An end mark counts the lines, itself included.
#[test]
fn lines_before_a_truncated_one_are_shown() {
    let text = Scenario::new(2).command("1ms", 1, [send(2)]).journal();
    let truncated = &text[..text.find("{\"end\"").unwrap() - 3];
    let mut bytes = Vec::new();
    let mut journal = Journal::open(truncated.as_bytes()).unwrap();
    let mut writer = Writer::new(&mut bytes, journal.header());
    let error = journal.show_all::<Actions, String>(&mut writer).unwrap_err();
    writer.finish().unwrap();
    assert!(matches!(error, JournalError::Torn { line: 5 }), "{error}");
    let complete_lines: String = text.lines().take(4).map(|line| format!("{line}\n")).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), complete_lines + "{\"end\":5}\n");
}
