//! After the run: merges the journals of all processes into one, measures it and checks its
//! properties.

use crate::atomic_write::write_atomically;
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::property::{PropertyKind, Verdict, Violation};
use quorate_journal::record::gather::{BrokenGuarantee, GatherError, GatherReport, gather};
use quorate_journal::record::{Fingerprint, Journal};
use quorate_lab::replay::{Replayed, summarise_with};
use quorate_lab::{FamilyLab, LabError};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

pub(crate) struct Judgement<F: FamilyLab> {
    pub(crate) gathered: GatherReport,
    pub(crate) replayed: Replayed<F>,
    /// The fingerprint of the merged journal.
    pub(crate) journal_hash: String,
    /// Number of inputs of all nodes.
    pub(crate) inputs: u64,
}

/// Why a completed run has no verdicts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JudgeError {
    #[error("cannot merge the journals of the processes: {0}")]
    Gather(#[from] GatherError),
    #[error("cannot check the merged journal: {0}")]
    Judge(#[from] LabError),
    #[error("cannot write the run's journal to {}: {reason}.", .path.display())]
    Write { path: PathBuf, reason: io::Error },
}

/// Merges `parts`, the journals of all processes, into a new file `journal`, and judges it.
pub(crate) fn judge<F: FamilyLab>(parts: &[PathBuf], journal: &Path) -> Result<Judgement<F>, JudgeError> {
    let (gathered, journal_hash) = write_atomically(journal, write_error(journal), |out| {
        let mut writer = FingerprintWriter { out, fingerprint: Fingerprint::default() };
        let gathered = gather(parts, &mut writer)?;
        Ok((gathered, writer.fingerprint.to_string()))
    })?;
    let input = BufReader::new(File::open(journal).map_err(write_error(journal))?);
    let mut journal = Journal::open(input).map_err(LabError::from)?;
    let (mut replayed, InputCount(inputs)) = summarise_with::<F, _, _>(&mut journal, InputCount(0))?;
    replayed.spec.validate()?;
    let has_durable_state = F::codec(&replayed.spec).has_durable_state();
    replayed.verdicts.extend(link_and_disk_verdicts(&gathered, has_durable_state));
    Ok(Judgement { gathered, replayed, journal_hash, inputs })
}

pub(crate) fn copy(journal: &Path, to: &Path) -> Result<(), JudgeError> {
    let mut input = File::open(journal).map_err(write_error(journal))?;
    write_atomically(to, write_error(to), |out| io::copy(&mut input, out).map(|_| ()).map_err(write_error(to)))
}

fn write_error(path: &Path) -> impl Fn(io::Error) -> JudgeError {
    |reason| JudgeError::Write { path: path.to_owned(), reason }
}

/// Verdicts on the guarantees of links and disks. They fail if a link skips a message or a disk
/// forgets a confirmed write, even if the algorithm tolerates it: in a live run no link should
/// overflow and no disk be lost. Messages to a node that is down may be lost.
fn link_and_disk_verdicts(gathered: &GatherReport, has_durable_state: bool) -> impl Iterator<Item = Verdict> {
    let verdict = |name, broken_guarantee: &Option<BrokenGuarantee>, count: u64, count_label: &str| {
        let violation = broken_guarantee.as_ref().map(|BrokenGuarantee { time, text }| Violation {
            time: *time,
            // The line is unknown. The trace of a violation ends at its line, so use the last one.
            line: gathered.lines,
            relevant_from: *time,
            text: format!("{text} ({count_label}: {count})"),
        });
        Verdict::from_violation(name, PropertyKind::Always, violation)
    };
    let links = verdict("links", &gathered.first_skipped_message, gathered.skipped_messages, "messages skipped in all");
    let disks = verdict("disks", &gathered.first_forgotten_write, gathered.forgotten_writes, "writes forgotten in all");
    [Some(links), has_durable_state.then_some(disks)].into_iter().flatten()
}

struct InputCount(u64);

impl<C, E> Observer<C, E> for InputCount {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.0 += u64::from(matches!(moment, Moment::Input { .. }));
    }
}

/// A writer that computes the fingerprint of its output.
struct FingerprintWriter<W> {
    out: W,
    fingerprint: Fingerprint,
}

impl<W: Write> Write for FingerprintWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.fingerprint.add(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::{judge, link_and_disk_verdicts};
    use quorate_core::{Incarnation, NodeId, Time};
    use quorate_journal::property::Verdict;
    use quorate_journal::record::gather::{BrokenGuarantee, GatherReport};
    use quorate_journal::record::{Header, LiveHeader};
    use quorate_lab::{Algorithm, Mutex, experiment, mutex};
    use std::fs;
    use std::path::{Path, PathBuf};

    fn broken_guarantee(text: &str) -> Option<BrokenGuarantee> {
        Some(BrokenGuarantee { time: Time::from_nanos(7), text: text.into() })
    }

    #[test]
    fn links_and_disks_without_loss_hold() {
        let verdicts: Vec<_> = link_and_disk_verdicts(&GatherReport::default(), true).collect();
        assert_eq!(verdicts.iter().map(|verdict| verdict.name).collect::<Vec<_>>(), ["links", "disks"]);
        assert!(!verdicts.iter().any(Verdict::is_violated));
        assert_eq!(
            link_and_disk_verdicts(&GatherReport::default(), false).count(),
            ["links"].len(),
            "an algorithm without saves has no verdict on disks"
        );
    }

    /// Even if the algorithm tolerates the loss, and even in a run that was stopped.
    #[test]
    fn a_loss_on_a_link_or_disk_fails_the_run() {
        let link = GatherReport {
            skipped_messages: 3,
            first_skipped_message: broken_guarantee("message 1.2 never came"),
            ..GatherReport::default()
        };
        let disk = GatherReport {
            forgotten_writes: 2,
            first_forgotten_write: broken_guarantee("1 write is gone"),
            ..GatherReport::default()
        };
        for (gathered, name, text) in [
            (link, "links", "message 1.2 never came (messages skipped in all: 3)"),
            (disk, "disks", "1 write is gone (writes forgotten in all: 2)"),
        ] {
            let verdicts: Vec<_> = link_and_disk_verdicts(&gathered, true).collect();
            let fails_in_stopped_run = |verdict: &Verdict| verdict.clone().of_stopped_run("stopped").is_violated();
            assert!(verdicts.iter().any(fails_in_stopped_run), "{name}");
            let violated: Vec<_> = verdicts.iter().filter(|verdict| verdict.is_violated()).collect();
            assert_eq!((violated.len(), violated[0].name), (1, name));
            assert_eq!(violated[0].violation.as_ref().map(|violation| violation.text.as_str()), Some(text));
        }
    }

    /// Writes the journal of one incarnation of a node. A step is the JSON of its input, followed
    /// by ` then ` and the JSON of its effects if it has some.
    fn incarnation_journal(folder: &Path, node: usize, steps: &[String]) -> PathBuf {
        let spec = crate::spec::<Mutex>(Algorithm::named("central").unwrap(), 2, 1, mutex::Settings::default());
        let id = NodeId::from_index(node);
        let incarnation = Incarnation::FIRST;
        let live = LiveHeader {
            node: Some(id),
            incarnation,
            group: String::new(),
            boot: "b".into(),
            nanos_since_boot: 0,
            wall_clock_offset: 0,
            found_writes: 0,
        };
        let header = Header { live: Some(live), ..experiment::header(&spec).unwrap() };
        let mut text = serde_json::to_string(&header).unwrap();
        let start = r#"{"start":{"incarnation":0}}"#.to_owned();
        for (time, step) in [start].iter().chain(steps).enumerate() {
            let (input, effects) = step.split_once(" then ").unwrap_or((step, ""));
            text += &format!("\n{{\"time\":{time},\"node\":{id},\"input\":{input},\"effects\":[{effects}]}}");
        }
        text += &format!("\n{{\"time\":90,\"world\":{{\"ended\":{{\"node\":{id}}}}}}}\n");
        let path = folder.join(format!("n{id}"));
        fs::write(&path, text).unwrap();
        path
    }

    /// The verdict on links fails if the receiver got a message but not an earlier one of the
    /// sender.
    #[test]
    fn a_skipped_message_shows_in_the_verdicts() {
        let folder = tempfile::tempdir().unwrap();
        let sends = |number: u64| {
            let sent = format!(r#"{{"send":{{"id":"1.{number}","to":2,"kind":"k","bytes":1,"body":null}}}}"#);
            format!(r#"{{"command":"acquire"}} then {sent}"#)
        };
        let receives = |number: &u64| format!(r#"{{"message":{{"id":"1.{number}","kind":"k"}}}}"#);
        let sender = incarnation_journal(folder.path(), 0, &[1, 2, 3].map(sends));
        for (received, holds) in [(&[1, 2, 3][..], true), (&[1, 2], true), (&[], true), (&[1, 3], false), (&[2], false)]
        {
            let receiver = incarnation_journal(folder.path(), 1, &received.iter().map(receives).collect::<Vec<_>>());
            let judged = judge::<Mutex>(&[sender.clone(), receiver], &folder.path().join("run.journal")).unwrap();
            let links = judged.replayed.verdicts.iter().find(|verdict| verdict.name == "links").unwrap();
            assert_eq!(links.holds, Some(holds), "{received:?}");
            assert_eq!(judged.gathered.warnings.is_empty(), holds, "{received:?}");
        }
        let receiver = incarnation_journal(folder.path(), 1, &[2, 1].map(|number| receives(&number)));
        let reordered = judge::<Mutex>(&[sender, receiver], &folder.path().join("run.journal"));
        assert!(reordered.is_err_and(|error| error.to_string().contains("links keep the order of messages")));
    }
}
