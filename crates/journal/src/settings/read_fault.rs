//! Parses faults in the forms of [`FaultKind::form`].

use super::clauses::{Clauses, Reader, find_stray_word, split_first_word, split_words};
use super::error::SettingError;
use super::fault::{DiskTrouble, Fault, FaultKind, LinkChange, LinkProperty, RestartDisk, TimedFault, UnsyncedSaves};
use super::nearest::nearest;
use quorate_core::NodeId;
use std::str::FromStr;

impl FromStr for TimedFault {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let clauses = Clauses::split(text)?;
        let fault = read_fault(&clauses)?;
        let (name, can_last) = (fault.kind().name(), fault.kind().can_last());
        Ok(Self { at: clauses.read_time(can_last)?, duration: clauses.read_duration(can_last, name)?, fault })
    }
}

/// Parses a fault without a time; [`TimedFault`] has one.
impl FromStr for Fault {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let clauses = Clauses::split(text)?;
        let fault = read_fault(&clauses)?;
        clauses.check_untimed().map(|()| fault)
    }
}

/// Parses the action of a line, the part before `at` and `for`, as a fault.
fn read_fault(clauses: &Clauses<'_>) -> Result<Fault, SettingError> {
    let text = clauses.action;
    let (word, rest) = split_first_word(text);
    if word.is_empty() {
        return Err(SettingError::missing(clauses.text, "a fault", "for example 'crash 2 at 10ms'"));
    }
    let kind = FaultKind::from_name(word).ok_or_else(|| unknown_fault(word))?;
    let mut reader = Reader { text, rest, form: kind.form() };
    let fault = match kind {
        FaultKind::Crash => {
            let node = reader.take_node()?;
            let unsynced = read_unsynced(&mut reader)?;
            Fault::Crash { node, unsynced }
        }
        FaultKind::Restart => {
            let node = reader.take_node()?;
            let disk = if reader.take_word("blank") { RestartDisk::Blank } else { RestartDisk::Kept };
            reader.expect_end(&["blank"])?;
            Fault::Restart { node, disk }
        }
        FaultKind::Pause => Fault::Pause { node: read_only_node(reader)? },
        FaultKind::Resume => Fault::Resume { node: read_only_node(reader)? },
        FaultKind::Disk => read_disk(reader)?,
        FaultKind::Close => Fault::Close { node: read_only_node(reader)? },
        FaultKind::Heal => {
            reader.expect_end(&[])?;
            Fault::Heal
        }
        FaultKind::Skew => {
            let node = read_node_and_by(&mut reader)?;
            Fault::Skew { node, by: reader.parse_value("a duration")? }
        }
        FaultKind::Drift => {
            let node = read_node_and_by(&mut reader)?;
            Fault::Drift { node, by: reader.parse_value("a rate, such as 200ppm")? }
        }
        FaultKind::Cut => Fault::Cut(reader.parse_sides()?),
        FaultKind::Link => read_link(reader)?,
    };
    Ok(fault)
}

/// Parses a node, after which nothing may follow.
fn read_only_node(mut reader: Reader<'_>) -> Result<NodeId, SettingError> {
    let node = reader.take_node()?;
    reader.expect_end(&[])?;
    Ok(node)
}

fn read_unsynced(reader: &mut Reader<'_>) -> Result<UnsyncedSaves, SettingError> {
    if reader.take_word("keeping") {
        let count = reader.take_number("a count")?;
        reader.expect_end(&[])?;
        return Ok(UnsyncedSaves::Kept(count));
    }
    let unsynced = if reader.take_word("torn") { UnsyncedSaves::Torn } else { UnsyncedSaves::Lost };
    reader.expect_end(&["torn", "keeping"])?;
    Ok(unsynced)
}

/// Reads a node and the word `by`.
fn read_node_and_by(reader: &mut Reader<'_>) -> Result<NodeId, SettingError> {
    let node = reader.take_node()?;
    if reader.take_word("by") {
        Ok(node)
    } else {
        reader.expect_end(&["by"])?;
        Err(reader.missing("'by'"))
    }
}

fn read_disk(mut reader: Reader<'_>) -> Result<Fault, SettingError> {
    let node = reader.take_node()?;
    let words = DiskTrouble::ALL.map(DiskTrouble::name);
    match DiskTrouble::ALL.into_iter().find(|trouble| reader.take_word(trouble.name())) {
        Some(trouble) => {
            reader.expect_end(&[])?;
            Ok(Fault::Disk { node, trouble })
        }
        None => {
            reader.expect_end(&words)?;
            Err(reader.missing("the fault of the disk"))
        }
    }
}

fn read_link(mut reader: Reader<'_>) -> Result<Fault, SettingError> {
    // The sides may contain spaces, so the name of the property marks where they end.
    let found = split_words(reader.rest)
        .find_map(|(start, word)| Some((start, start + word.len(), LinkProperty::from_name(word)?)));
    let Some((start, end, property)) = found else {
        return Err(
            find_stray_word(reader.rest).map_or_else(|| reader.missing("the property to change"), unknown_property)
        );
    };
    let (sides, value) = (reader.rest[..start].trim(), reader.rest[end..].trim());
    let links = Reader { rest: sides, ..reader }.parse_sides()?;
    reader.rest = value;
    let change = match property {
        LinkProperty::Latency => LinkChange::Latency(reader.parse_value("a latency")?),
        LinkProperty::Loss => LinkChange::Loss(reader.parse_value("a chance")?),
        LinkProperty::Duplicate => LinkChange::Duplicate(reader.parse_value("a chance")?),
    };
    Ok(Fault::Link { links, change })
}

fn unknown_fault(word: &str) -> SettingError {
    let names = FaultKind::ALL.map(FaultKind::name);
    SettingError::Unknown {
        word: word.into(),
        expected: "a fault",
        nearest: nearest(word, names).map(String::from),
        known_words: list_faults(),
    }
}

fn unknown_property(word: &str) -> SettingError {
    let names = LinkProperty::ALL.map(LinkProperty::name);
    SettingError::Unknown {
        word: word.into(),
        expected: "a property of a link",
        nearest: nearest(word, names).map(String::from),
        known_words: format!("Properties are {}.", names.join(", ")),
    }
}

/// Returns a sentence that lists the first words of all faults.
pub(super) fn list_faults() -> String {
    format!("Faults are {}.", FaultKind::ALL.map(FaultKind::name).join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::{DiskTrouble, Fault, LinkChange, NodeId, RestartDisk, TimedFault, UnsyncedSaves};
    use expect_test::expect;
    use quorate_core::Duration;

    fn node(number: u32) -> NodeId {
        NodeId::new(number).unwrap()
    }

    /// Asserts that a text parses as this fault, at `at` milliseconds, for `duration` milliseconds.
    #[track_caller]
    fn assert_reads(text: &str, fault: Fault, at: u64, duration: Option<u64>) {
        let expected =
            TimedFault { at: Duration::from_millis(at), fault, duration: duration.map(Duration::from_millis) };
        assert_eq!(text.parse(), Ok(expected));
    }

    #[test]
    fn a_crash_reads_in_every_form() {
        let crash = |unsynced| Fault::Crash { node: node(2), unsynced };
        assert_reads("crash 2", crash(UnsyncedSaves::Lost), 0, None);
        assert_reads("crash 2 at 10ms", crash(UnsyncedSaves::Lost), 10, None);
        assert_reads("crash 2 at 10ms for 20ms", crash(UnsyncedSaves::Lost), 10, Some(20));
        assert_reads("crash 2 for 20ms", crash(UnsyncedSaves::Lost), 0, Some(20));
        assert_reads("crash 2 torn at 10ms", crash(UnsyncedSaves::Torn), 10, None);
        assert_reads("crash 2 keeping 3 at 10ms", crash(UnsyncedSaves::Kept(3)), 10, None);
        assert_reads("crash 2 Keeping 0", crash(UnsyncedSaves::Kept(0)), 0, None);
        assert_reads("  CRASH\t2  Torn  AT 10 MS For 1s ", crash(UnsyncedSaves::Torn), 10, Some(1_000));
    }

    #[test]
    fn a_restart_reads_in_every_form() {
        assert_reads("restart 2 at 50ms", Fault::Restart { node: node(2), disk: RestartDisk::Kept }, 50, None);
        assert_reads("restart 2 blank at 50ms", Fault::Restart { node: node(2), disk: RestartDisk::Blank }, 50, None);
    }

    #[test]
    fn a_pause_and_its_end_read_in_every_form() {
        assert_reads("pause 3 at 5ms for 20ms", Fault::Pause { node: node(3) }, 5, Some(20));
        assert_reads("pause 3 at 5ms", Fault::Pause { node: node(3) }, 5, None);
        assert_reads("resume 3 at 9ms", Fault::Resume { node: node(3) }, 9, None);
    }

    #[test]
    fn a_disk_fault_reads_in_every_form() {
        let disk = |trouble| Fault::Disk { node: node(2), trouble };
        assert_reads("disk 2 full at 1s for 2s", disk(DiskTrouble::Full), 1_000, Some(2_000));
        assert_reads("disk 2 fails at 1s for 2s", disk(DiskTrouble::Fails), 1_000, Some(2_000));
        assert_reads("disk 2 full", disk(DiskTrouble::Full), 0, None);
        assert_reads(" Disk\t2 FAILS For 3ms", disk(DiskTrouble::Fails), 0, Some(3));
    }

    #[test]
    fn mistakes_in_disk_faults_are_explained() {
        let texts = [
            "disk",
            "disk 2",
            "disk full",
            "disk 2 ful",
            "disk 2 fail at 1s",
            "disk 2 slow",
            "disk 2 full fails",
            "disk 2 fails torn",
            "disk 1,2 full",
            "disk 2 full at 1s for",
        ];
        expect![[r#"
            'disk' lacks a node; write disk NODE full (or fails) [at TIME] [for DURATION].
            'disk 2' lacks the fault of the disk; write disk NODE full (or fails) [at TIME] [for DURATION].
            'full' is not a node number; write for example 2.
            'ful' is unexpected in 'disk 2 ful'; did you mean 'full'? Write disk NODE full (or fails) [at TIME] [for DURATION].
            'fail' is unexpected in 'disk 2 fail'; did you mean 'fails'? Write disk NODE full (or fails) [at TIME] [for DURATION].
            'slow' is unexpected in 'disk 2 slow'. Write disk NODE full (or fails) [at TIME] [for DURATION].
            'fails' is unexpected in 'disk 2 full fails'. Write disk NODE full (or fails) [at TIME] [for DURATION].
            'torn' is unexpected in 'disk 2 fails torn'. Write disk NODE full (or fails) [at TIME] [for DURATION].
            '1,2' is not a node number; write for example 2.
            'disk 2 full at 1s for' lacks a duration after 'for'; write for example 'for 20ms'.
        "#]].assert_eq(&texts.map(parse_and_describe::<TimedFault>).concat());
    }

    #[test]
    fn a_cut_and_its_end_read_in_every_form() {
        let cut = |sides: &str| Fault::Cut(sides.parse().unwrap());
        assert_reads("cut 1,2 | 3 at 5ms for 20ms", cut("1,2 | 3"), 5, Some(20));
        assert_reads("cut 1 | 2 | 3", cut("1 | 2 | 3"), 0, None);
        assert_reads("cut 1 > 2 at 5ms", cut("1 > 2"), 5, None);
        assert_reads("cut 1,2 > 3", cut("1,2 > 3"), 0, None);
        assert_reads("cut 1-3|REST", cut("1,2,3 | rest"), 0, None);
        assert_reads("Cut rest>1 , 2", cut("rest > 1,2"), 0, None);
        assert_reads("heal at 30ms", Fault::Heal, 30, None);
        assert_reads("heal", Fault::Heal, 0, None);
    }

    #[test]
    fn a_skew_and_a_drift_read_in_every_form() {
        assert_reads("skew 2 by 3ms", Fault::Skew { node: node(2), by: "3ms".parse().unwrap() }, 0, None);
        assert_reads("skew 2 by -3ms at 4ms", Fault::Skew { node: node(2), by: "-3ms".parse().unwrap() }, 4, None);
        assert_reads("drift 2 by 200ppm", Fault::Drift { node: node(2), by: "200ppm".parse().unwrap() }, 0, None);
        assert_reads(
            "drift 2 by -50ppm at 1ms",
            Fault::Drift { node: node(2), by: "-50ppm".parse().unwrap() },
            1,
            None,
        );
    }

    #[test]
    fn a_link_change_reads_in_every_form() {
        let link = |links: &str, change| Fault::Link { links: links.parse().unwrap(), change };
        let slow = LinkChange::Latency("fixed:10ms".parse().unwrap());
        assert_reads("link 1 > 2 latency fixed:10ms", link("1 > 2", slow), 0, None);
        let lossy = LinkChange::Loss("0.5".parse().unwrap());
        assert_reads("link 1 > 2 loss 0.5 at 5ms for 10ms", link("1 > 2", lossy), 5, Some(10));
        assert_reads("link 1,2>rest LOSS 50 %", link("1,2 > rest", lossy), 0, None);
        let duplicating = LinkChange::Duplicate("0.1".parse().unwrap());
        assert_reads("link 1 > 2 duplicate 0.1", link("1 > 2", duplicating), 0, None);
        let varied = LinkChange::Latency("uniform:1ms..5ms".parse().unwrap());
        assert_reads("link 1-3 > 1-3 latency uniform: 1ms .. 5ms at 1s", link("1-3 > 1-3", varied), 1_000, None);
    }

    #[test]
    fn an_untimed_fault_rejects_a_time() {
        assert_eq!("heal".parse(), Ok(Fault::Heal));
        expect![[r#"
            'heal at 3ms': nothing may follow the fault: a fault has no time here.
            'crash 2 for 3ms': nothing may follow the fault: a fault has no time here.
        "#]]
        .assert_eq(&["heal at 3ms", "crash 2 for 3ms"].map(parse_and_describe::<Fault>).concat());
    }

    #[test]
    fn mistakes_in_the_action_are_explained() {
        let texts = [
            "crsh 2 at 10ms",
            "banana",
            "",
            "at 5ms",
            "crash",
            "crash x",
            "crash 0",
            "crash 1,2",
            "crash 2 tron",
            "crash 2 keeping",
            "crash 2 keeping some",
            "crash 2 keeping 3 torn",
            "crash 2 10ms",
            "crash 2 att 10ms",
            "crash 99999999999",
            "restart 2 torn",
            "pause 3 please",
            "heal 2",
            "skew 2",
            "skew 2 3ms",
            "skew 2 by",
            "skew 2 by 3",
            "skew 2 by 3ms banana",
            "drift 2 by 3ms",
            "drift 2 by",
        ];
        expect![[r#"
            'crsh' is not a fault; did you mean 'crash'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link.
            'banana' is not a fault. Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link.
            '' lacks a fault; write for example 'crash 2 at 10ms'.
            'at 5ms' lacks a fault; write for example 'crash 2 at 10ms'.
            'crash' lacks a node; write crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION].
            'x' is not a node number; write for example 2.
            '0' is invalid: node numbers must be between 1 and 4294967295.
            '1,2' is not a node number; write for example 2.
            'tron' is unexpected in 'crash 2 tron'; did you mean 'torn'? Write crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION].
            'crash 2 keeping' lacks a count; write crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION].
            'some' is not a count; write for example 3.
            'torn' is unexpected in 'crash 2 keeping 3 torn'. Write crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION].
            '10ms' is unexpected in 'crash 2 10ms'. Write crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION].
            'att' is unexpected in 'crash 2 att 10ms'; did you mean 'at'? Write crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION].
            '99999999999' is invalid: node numbers must be between 1 and 4294967295.
            'torn' is unexpected in 'restart 2 torn'. Write restart NODE [blank] [at TIME].
            'please' is unexpected in 'pause 3 please'. Write pause NODE [at TIME] [for DURATION].
            '2' is unexpected in 'heal 2'. Write heal [at TIME].
            'skew 2' lacks 'by'; write skew NODE by DURATION [at TIME].
            '3ms' is unexpected in 'skew 2 3ms'. Write skew NODE by DURATION [at TIME].
            'skew 2 by' lacks a duration; write skew NODE by DURATION [at TIME].
            '3' has no unit; add one, such as '3ms'. Units are ns, us, ms, s, m, h.
            'banana' is unexpected in 'skew 2 by 3ms banana'. Write skew NODE by DURATION [at TIME].
            '3ms' is not a drift; write for example 200ppm.
            'drift 2 by' lacks a rate, such as 200ppm; write drift NODE by RATE [at TIME].
        "#]].assert_eq(&texts.map(parse_and_describe::<TimedFault>).concat());
    }

    #[test]
    fn mistakes_in_cuts_and_links_are_explained() {
        let texts = [
            "cut",
            "cut 1",
            "cut 1 2 | 3",
            "cut 1 | 2 att 5ms",
            "cut 1 | rset",
            "cut 1 > 1",
            "cut 1 | 2 | 1",
            "link",
            "link 1 > 2",
            "link 1 > 2 los 0.5",
            "link 1 loss 0.5",
            "link loss 0.5",
            "link 1 | 2 loss 0.5",
            "link 1 > 2 loss",
            "link 1 > 2 loss 5",
            "link 1 > 2 loss 0.5 0.6",
            "link 1 > 2 latency 10ms",
            "link 1 > 2 banana loss 1",
            "link 1 > 1 loss 1",
        ];
        expect![[r#"
            'cut' lacks two sides; write cut NODES | NODES (or one way: NODES > NODES) [at TIME] [for DURATION].
            '1' lacks a second side; write for example 1 | rest.
            '1 2' is not a set of nodes; write for example 1,3-5 or rest.
            'att' is unexpected in 'cut 1 | 2 att 5ms'; did you mean 'at'? Write cut NODES | NODES (or one way: NODES > NODES) [at TIME] [for DURATION].
            'rset' is unexpected in 'cut 1 | rset'; did you mean 'rest'? Write cut NODES | NODES (or one way: NODES > NODES) [at TIME] [for DURATION].
            '1 > 1' is a link from node 1 to itself; name two different nodes.
            '1 | 2 | 1' puts node 1 on two sides; leave it on one.
            'link' lacks the property to change; write link NODES > NODES latency LATENCY (or loss CHANCE, or duplicate CHANCE) [at TIME] [for DURATION].
            'link 1 > 2' lacks the property to change; write link NODES > NODES latency LATENCY (or loss CHANCE, or duplicate CHANCE) [at TIME] [for DURATION].
            'los' is not a property of a link; did you mean 'loss'? Properties are latency, loss, duplicate.
            '1' lacks a '>'; write for example 1 > 2.
            'link loss 0.5' lacks two sides; write link NODES > NODES latency LATENCY (or loss CHANCE, or duplicate CHANCE) [at TIME] [for DURATION].
            '1 | 2' lacks a '>'; write for example 1 > 2.
            'link 1 > 2 loss' lacks a chance; write link NODES > NODES latency LATENCY (or loss CHANCE, or duplicate CHANCE) [at TIME] [for DURATION].
            '5' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
            '0.6' is unexpected in 'link 1 > 2 loss 0.5 0.6'. Write link NODES > NODES latency LATENCY (or loss CHANCE, or duplicate CHANCE) [at TIME] [for DURATION].
            '10ms' does not name a distribution; write fixed:10ms.
            'banana' is unexpected in 'link 1 > 2 banana loss 1'. Write link NODES > NODES latency LATENCY (or loss CHANCE, or duplicate CHANCE) [at TIME] [for DURATION].
            '1 > 1' is a link from node 1 to itself; name two different nodes.
        "#]].assert_eq(&texts.map(parse_and_describe::<TimedFault>).concat());
    }

    #[test]
    fn mistakes_in_time_and_duration_are_explained() {
        let texts = [
            "crash 2 at",
            "crash 2 at 10",
            "crash 2 at 10ms banana",
            "heal at 10ms banana",
            "crash 2 at 10ms for",
            "crash 2 at 10ms for 5ms banana",
            "crash 2 for 5ms at 10ms",
            "crash 2 at 1ms at 2ms",
            "crash 2 for 1ms for 2ms",
            "heal at 5ms for 3ms",
            "restart 2 at 5ms for 3ms",
            "crash 2 at -3ms",
            "crash 2 at 99999999h",
        ];
        expect![[r#"
            'crash 2 at' lacks a time after 'at'; write for example 'at 10ms'.
            '10' has no unit; add one, such as '10ms'. Units are ns, us, ms, s, m, h.
            'at 10ms banana': nothing may follow the time except 'for DURATION'.
            'at 10ms banana': nothing may follow the time.
            'crash 2 at 10ms for' lacks a duration after 'for'; write for example 'for 20ms'.
            'for 5ms banana': nothing may follow the duration.
            'crash 2 for 5ms at 10ms' has 'for' before 'at'; write 'at TIME for DURATION'.
            'crash 2 at 1ms at 2ms' has 'at' twice; write it once.
            'crash 2 for 1ms for 2ms' has 'for' twice; write it once.
            'heal' is instantaneous and has no duration; leave out 'for 3ms'.
            'restart' is instantaneous and has no duration; leave out 'for 3ms'.
            '-3ms' is invalid: a duration must be zero or more.
            '99999999h' is invalid: a duration must be at most 18446744073709551615ns, about 584 years.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<TimedFault>).concat());
    }
}
