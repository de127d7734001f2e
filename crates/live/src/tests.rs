//! Complete runs with fake node processes.

use crate::group::LiveGroup;
use crate::launch::{Environment, Launch};
use crate::run::{Driver, run};
use crate::schedule::{Kill, Networks, Stop, actions};
use crate::world::WorldJournal;
use crate::{LiveError, Options, spec};
use quorate_core::Duration;
use quorate_drive::Clock;
use quorate_journal::settings::{Latency, TimedFault};
use quorate_journal::workload::Ending;
use quorate_lab::mutex::run::Pattern;
use quorate_lab::{Algorithm, Mutex, Spec, mutex};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Outcome {
    ending: Ending,
    events: u64,
    group: LiveGroup<Mutex>,
    folder: TempDir,
    parts: Vec<PathBuf>,
}

/// Two nodes, whose processes misbehave as the seed says.
fn experiment(seed: u64, entries: u64, faults: Vec<TimedFault>) -> Spec<Mutex> {
    let settings = mutex::Settings { entries, workload: Pattern::All, ..Default::default() };
    Spec { faults, ..spec::<Mutex>(Algorithm::named("central").unwrap(), 2, seed, settings) }
}

fn options() -> Options<'static> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_node.sh");
    Options { patience: Duration::from_millis(300), ..Options::new(program) }
}

fn run_workload(spec: &Spec<Mutex>, options: &Options<'_>) -> Result<Outcome, LiveError> {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::start();
    let environment = Environment {
        program: &options.program,
        folder: folder.path(),
        group: "fake".into(),
        certificates: None,
        networks: None,
    };
    let mut group = LiveGroup::<Mutex>::new(spec.nodes, Launch::new(spec, environment, clock.origin())?, clock);
    group.start_all(options.interrupted)?;
    group.begin_workload(|zero, group| WorldJournal::begin(spec, (folder.path(), group), clock, zero))?;
    let mut events = 0;
    let mut watch = |_, _, _: &_| events += 1;
    let actions = actions(&spec.faults, spec.nodes, Networks::Shared)?;
    let ending = Driver::new(spec, options, actions, &mut watch).run_workload(&mut group)?;
    let parts = group.stop_all(ending)?;
    Ok(Outcome { ending, events, group, folder, parts })
}

impl Outcome {
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn world(&self) -> Vec<String> {
        let what = |line: &str| Some(line.split_once("\"world\":")?.1.trim_end_matches('}').to_owned());
        self.file("world.journal").lines().skip(1).filter_map(what).collect()
    }
}

fn kill(text: &str) -> TimedFault {
    text.parse::<Kill>().unwrap().0
}

fn stop(text: &str) -> TimedFault {
    text.parse::<Stop>().unwrap().0
}

#[test]
fn clients_get_entry_and_all_processes_are_stopped_in_the_end() {
    let outcome = run_workload(&experiment(1, 10, Vec::new()), &options()).unwrap();
    assert_eq!((outcome.ending, outcome.events), (Ending::Done, 20));
    assert_eq!(outcome.file("peers-1"), "1=127.0.1.1:7001,2=127.0.1.2:7002\n");
    assert_eq!(outcome.file("peers-1"), outcome.file("peers-2"));
    let received = outcome.file("received-1") + &outcome.file("received-2");
    assert_eq!(received.matches("\"acquire\"").count(), 10);
    assert_eq!(received.matches("0 stop").count(), 2);
    let names: Vec<_> = outcome.parts.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["node-1-life-0.journal", "node-2-life-0.journal", "world.journal"]);
    assert_eq!(outcome.group.counts.processes, 2);
}

/// A client plans its release long before; the incarnation that it is meant for ends first.
#[test]
fn a_command_does_not_reach_a_later_incarnation() {
    let mut spec = experiment(1, 6, vec![kill("2@50ms..100ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(200)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert_eq!(outcome.ending, Ending::Done);
    let received = outcome.file("received-2");
    let second: Vec<_> = received.lines().filter_map(|line| line.strip_prefix("1 ")).collect();
    assert_eq!(second.first(), Some(&"\"acquire\""), "{received}");
    assert_eq!(outcome.world(), [r#"{"crashed":{"node":2,"lost_writes":0"#]);
    assert_eq!((outcome.group.counts.kills, outcome.group.counts.processes), (1, 3));
    assert_eq!(outcome.parts.len(), 4);
}

/// A process that crashed before it wrote a journal had no visible effect.
#[test]
fn an_incarnation_without_a_journal_is_left_out() {
    let mut spec = experiment(8, 2, vec![kill("2@50ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(200)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert!(outcome.world().is_empty() && outcome.group.counts.kills == 1, "{:?}", outcome.world());
    assert!(!outcome.parts.iter().any(|path| path.ends_with("node-2-life-0.journal")), "{:?}", outcome.parts);
}

#[test]
fn a_paused_process_is_resumed_at_the_latest_to_be_stopped() {
    let mut spec = experiment(1, 4, vec![stop("1@30ms..60ms"), stop("2@40ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(100)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert_eq!(outcome.ending, Ending::Stuck);
    let expected =
        [r#"{"paused":{"node":1"#, r#"{"paused":{"node":2"#, r#"{"resumed":{"node":1"#, r#"{"resumed":{"node":2"#];
    assert_eq!(outcome.world(), expected);
    assert!(outcome.file("received-2").ends_with("0 stop\n"));
}

#[test]
fn a_run_without_answers_is_stuck_and_one_with_pending_commands_is_not() {
    assert_eq!(run_workload(&experiment(4, 4, Vec::new()), &options()).unwrap().ending, Ending::Stuck);
    let mut patient = experiment(1, 4, Vec::new());
    patient.settings.hold = Some(Latency::Fixed(Duration::from_millis(400)));
    assert_eq!(run_workload(&patient, &options()).unwrap().ending, Ending::Done);
}

#[test]
fn an_address_that_is_still_in_use_is_retried() {
    let mut spec = experiment(5, 6, vec![kill("1@20ms..40ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(100)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert_eq!((outcome.ending, outcome.file("tries-1-1").lines().count()), (Ending::Done, 3));
    assert!(outcome.file("received-1").contains("1 \"acquire\""));
}

#[test]
fn a_time_limit_and_an_interrupt_stop_a_run() {
    let until = Options { until: Some(Duration::from_millis(100)), ..options() };
    let outcome = run_workload(&experiment(4, 4, Vec::new()), &until).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped);
    let looks = Cell::new(0);
    let interrupted = || {
        looks.set(looks.get() + 1);
        looks.get() > 40
    };
    let interrupted = Options { interrupted: &interrupted, ..options() };
    let outcome = run_workload(&experiment(1, 1_000_000, Vec::new()), &interrupted).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped);
    assert!(outcome.file("received-1").ends_with("0 stop\n"), "it was not stopped in order");
}

/// With no process, one process, or all processes started.
#[test]
fn an_early_interrupt_is_reported_as_such() {
    for most in [0, 1, 2, 3] {
        let looks = Cell::new(0);
        let interrupted = || {
            looks.set(looks.get() + 1);
            looks.get() > most
        };
        let folder = tempfile::tempdir().unwrap();
        let keep = Some(folder.path().join("kept"));
        // Errors of processes do not matter then: with this seed one cannot start.
        let options = Options { interrupted: &interrupted, keep: keep.clone(), ..options() };
        let ended = run(&experiment(6, 4, Vec::new()), &options, &mut |_, _, _| {});
        assert!(matches!(ended, Err(LiveError::Interrupted)), "after {most}: {:?}", ended.err());
        let started = |node| keep.as_ref().unwrap().join(format!("node-{node}-life-0.log")).exists();
        assert_eq!((started(1), started(2)), (most > 0, most > 1), "after {most}");
    }
}

/// The fake processes write no valid journals, so gathering fails, and the files are kept.
#[test]
fn journals_that_cannot_be_gathered_are_kept() {
    let outer = tempfile::tempdir().unwrap();
    for keep in [None, Some(outer.path().join("kept"))] {
        let trace = outer.path().join("run.journal");
        let options = Options { keep: keep.clone(), journal: Some(trace.clone()), ..options() };
        let ended = run(&experiment(1, 4, Vec::new()), &options, &mut |_, _, _| {});
        let Err(error @ LiveError::JudgingFailed { .. }) = ended else { panic!("{:?}", ended.err()) };
        let text = error.to_string();
        let LiveError::JudgingFailed { folder, .. } = error else { unreachable!() };
        assert!(text.starts_with("Cannot gather the journals of the processes: "), "{text}");
        assert!(text.ends_with(&format!("are kept in {}.", folder.display())), "{text}");
        for (name, is_there) in [("node-1-life-0.journal", true), ("world.journal", true), ("run.journal", false)] {
            assert_eq!(folder.join(name).exists(), is_there, "{name}");
        }
        assert!(!trace.exists() && !folder.join("run.journal.part").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_failing_process_ends_the_run_with_the_end_of_its_log() {
    let failure = |seed| run_workload(&experiment(seed, 4, Vec::new()), &options()).err().unwrap().to_string();
    let died = failure(2);
    assert!(
        died.contains("node 2 ended unexpectedly (exit status: 7)") && died.ends_with("\n  out of paper"),
        "{died}"
    );
    let failed_start = failure(6);
    assert!(failed_start.contains("exit status: 1") && failed_start.ends_with("\n  no disk today"), "{failed_start}");
    assert!(failure(3).contains("cannot parse: hello?"));
    assert!(failure(7).contains("refused a command: not today"));
}

#[test]
fn a_missing_program_is_reported() {
    let missing = Options::new("/nowhere/quorate");
    let text = run_workload(&experiment(1, 1, Vec::new()), &missing).err().unwrap().to_string();
    assert!(text.starts_with("Cannot start the process of node 1: "), "{text}");
}
