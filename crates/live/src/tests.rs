//! Complete runs with the fake node processes of `tests/fake_node.sh`, which grant every entry
//! immediately and misbehave as the seed says. A fake node N appends to files of the run's folder:
//! to `received-N` each command, after the number of its incarnation (from 0); to `peers-N` the
//! addresses of all nodes; to `attempts-N-I` a line for each start of incarnation I.

use crate::fault_journal::FaultJournal;
use crate::group::LiveGroup;
use crate::launch::{Environment, Launcher};
use crate::run::{WorkloadRunner, run};
use crate::schedule::{KillFault, Networks, PauseFault, schedule_actions};
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

// The seeds, each named after what the fake processes do.
const GRANT: u64 = 1;
const NODE_2_DIES: u64 = 2;
const NODE_2_WRITES_GARBAGE: u64 = 3;
const NODE_2_NEVER_GRANTS: u64 = 4;
const ADDRESS_IN_USE_AFTER_RESTART: u64 = 5;
const NODE_2_CANNOT_START: u64 = 6;
const NODE_2_REFUSES_COMMANDS: u64 = 7;
const WRITE_NO_JOURNAL: u64 = 8;

struct Outcome {
    ending: Ending,
    events: u64,
    group: LiveGroup<Mutex>,
    folder: TempDir,
    journals: Vec<PathBuf>,
}

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
        group_name: "fake".into(),
        certificates: None,
        namespaces: None,
    };
    let mut group = LiveGroup::<Mutex>::new(spec.nodes, Launcher::new(spec, environment, clock.origin_nanos())?, clock);
    group.start_all(options.is_interrupted)?;
    group.begin_workload(|start, group_name| FaultJournal::begin(spec, (folder.path(), group_name), clock, start))?;
    let mut events = 0;
    let mut count_event = |_, _, _: &_| events += 1;
    let actions = schedule_actions(&spec.faults, spec.nodes, Networks::Shared)?;
    let ending = WorkloadRunner::new(spec, options, actions, &mut count_event).run_workload(&mut group)?;
    let journals = group.stop_all(ending)?;
    Ok(Outcome { ending, events, group, folder, journals })
}

impl Outcome {
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The JSON of each event of the journal of faults, without its closing braces.
    fn world_events(&self) -> Vec<String> {
        let event = |line: &str| Some(line.split_once("\"world\":")?.1.trim_end_matches('}').to_owned());
        self.file("world.journal").lines().skip(1).filter_map(event).collect()
    }
}

fn kill(text: &str) -> TimedFault {
    text.parse::<KillFault>().unwrap().0
}

fn pause(text: &str) -> TimedFault {
    text.parse::<PauseFault>().unwrap().0
}

#[test]
fn clients_get_entry_and_all_processes_are_stopped_in_the_end() {
    let outcome = run_workload(&experiment(GRANT, 10, Vec::new()), &options()).unwrap();
    // Each of the 10 entries has two events: entered and left.
    assert_eq!((outcome.ending, outcome.events), (Ending::Done, 20));
    assert_eq!(outcome.file("peers-1"), "1=127.0.1.1:7001,2=127.0.1.2:7002\n");
    assert_eq!(outcome.file("peers-1"), outcome.file("peers-2"));
    let received = outcome.file("received-1") + &outcome.file("received-2");
    assert_eq!(received.matches("\"acquire\"").count(), 10);
    assert_eq!(received.matches("0 stop").count(), 2);
    let names: Vec<_> = outcome.journals.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["node-1-life-0.journal", "node-2-life-0.journal", "world.journal"]);
    assert_eq!(outcome.group.counts.processes, 2);
}

/// A client plans its release when it enters, but the incarnation that it entered with crashes
/// first.
#[test]
fn a_command_does_not_reach_a_later_incarnation() {
    let mut spec = experiment(GRANT, 6, vec![kill("2@50ms..100ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(200)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert_eq!(outcome.ending, Ending::Done);
    let received = outcome.file("received-2");
    let by_second_incarnation: Vec<_> = received.lines().filter_map(|line| line.strip_prefix("1 ")).collect();
    assert_eq!(by_second_incarnation.first(), Some(&"\"acquire\""), "{received}");
    assert_eq!(outcome.world_events(), [r#"{"crashed":{"node":2,"lost_writes":0"#]);
    assert_eq!((outcome.group.counts.kills, outcome.group.counts.processes), (1, 3));
    // Node 1, the two incarnations of node 2, and the journal of faults.
    assert_eq!(outcome.journals.len(), 4);
}

/// A process journals each step before it sends messages, so without a journal it sent none.
#[test]
fn an_incarnation_without_a_journal_is_left_out() {
    let mut spec = experiment(WRITE_NO_JOURNAL, 2, vec![kill("2@50ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(200)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert!(outcome.world_events().is_empty() && outcome.group.counts.kills == 1, "{:?}", outcome.world_events());
    assert!(!outcome.journals.iter().any(|path| path.ends_with("node-2-life-0.journal")), "{:?}", outcome.journals);
}

#[test]
fn a_process_that_is_still_paused_at_the_end_is_resumed_and_stopped() {
    let mut spec = experiment(GRANT, 4, vec![pause("1@30ms..60ms"), pause("2@40ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(100)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert_eq!(outcome.ending, Ending::Stuck);
    let expected =
        [r#"{"paused":{"node":1"#, r#"{"paused":{"node":2"#, r#"{"resumed":{"node":1"#, r#"{"resumed":{"node":2"#];
    assert_eq!(outcome.world_events(), expected);
    assert!(outcome.file("received-2").ends_with("0 stop\n"));
}

#[test]
fn a_run_without_answers_is_stuck_and_one_with_pending_commands_is_not() {
    assert_eq!(
        run_workload(&experiment(NODE_2_NEVER_GRANTS, 4, Vec::new()), &options()).unwrap().ending,
        Ending::Stuck
    );
    let mut with_long_holds = experiment(GRANT, 4, Vec::new());
    with_long_holds.settings.hold = Some(Latency::Fixed(Duration::from_millis(400)));
    assert_eq!(run_workload(&with_long_holds, &options()).unwrap().ending, Ending::Done);
}

#[test]
fn an_address_that_is_still_in_use_is_retried() {
    // The fake node fails to listen twice.
    let mut spec = experiment(ADDRESS_IN_USE_AFTER_RESTART, 6, vec![kill("1@20ms..40ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(100)));
    let outcome = run_workload(&spec, &options()).unwrap();
    assert_eq!((outcome.ending, outcome.file("attempts-1-1").lines().count()), (Ending::Done, 3));
    assert!(outcome.file("received-1").contains("1 \"acquire\""));
}

#[test]
fn a_time_limit_and_an_interrupt_stop_a_run() {
    let with_time_limit = Options { time_limit: Some(Duration::from_millis(100)), ..options() };
    let outcome = run_workload(&experiment(NODE_2_NEVER_GRANTS, 4, Vec::new()), &with_time_limit).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped);
    let checks = Cell::new(0);
    let interrupted = || {
        checks.set(checks.get() + 1);
        // Enough checks for both processes to start and for the clients to request entry.
        checks.get() > 40
    };
    let interrupted = Options { is_interrupted: &interrupted, ..options() };
    let outcome = run_workload(&experiment(GRANT, 1_000_000, Vec::new()), &interrupted).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped);
    assert!(outcome.file("received-1").ends_with("0 stop\n"), "the process ended without the command to stop");
}

/// The interrupt comes when no process, one process or all processes have started.
#[test]
fn an_early_interrupt_is_reported_as_such() {
    for checks_before_interrupt in [0, 1, 2, 3] {
        let checks = Cell::new(0);
        let interrupted = || {
            checks.set(checks.get() + 1);
            checks.get() > checks_before_interrupt
        };
        let folder = tempfile::tempdir().unwrap();
        let kept_folder = Some(folder.path().join("kept"));
        // The interrupt takes precedence over the error of the process that cannot start.
        let options = Options { is_interrupted: &interrupted, kept_folder: kept_folder.clone(), ..options() };
        let ended = run(&experiment(NODE_2_CANNOT_START, 4, Vec::new()), &options, &mut |_, _, _| {});
        assert!(
            matches!(ended, Err(LiveError::Interrupted)),
            "after {checks_before_interrupt} checks: {:?}",
            ended.err()
        );
        let started = |node| kept_folder.as_ref().unwrap().join(format!("node-{node}-life-0.log")).exists();
        assert_eq!(
            (started(1), started(2)),
            (checks_before_interrupt > 0, checks_before_interrupt > 1),
            "after {checks_before_interrupt} checks"
        );
    }
}

/// The fake processes write no valid journals, so gathering fails, and the files are kept.
#[test]
fn journals_that_cannot_be_gathered_are_kept() {
    let outer = tempfile::tempdir().unwrap();
    for kept_folder in [None, Some(outer.path().join("kept"))] {
        let journal = outer.path().join("run.journal");
        let options = Options { kept_folder: kept_folder.clone(), journal_path: Some(journal.clone()), ..options() };
        let ended = run(&experiment(GRANT, 4, Vec::new()), &options, &mut |_, _, _| {});
        let Err(error @ LiveError::JudgingFailed { .. }) = ended else { panic!("{:?}", ended.err()) };
        let text = error.to_string();
        let LiveError::JudgingFailed { folder, .. } = error else { unreachable!() };
        assert!(text.starts_with("cannot merge the journals of the processes: "), "{text}");
        assert!(text.ends_with(&format!("are kept in {}.", folder.display())), "{text}");
        for (name, is_there) in [("node-1-life-0.journal", true), ("world.journal", true), ("run.journal", false)] {
            assert_eq!(folder.join(name).exists(), is_there, "{name}");
        }
        assert!(!journal.exists() && !folder.join("run.journal.part").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_failing_process_ends_the_run_with_the_end_of_its_log() {
    let failure = |seed| run_workload(&experiment(seed, 4, Vec::new()), &options()).err().unwrap().to_string();
    let died = failure(NODE_2_DIES);
    assert!(
        died.contains("node 2 ended unexpectedly (exit status: 7)") && died.ends_with("\n  out of paper"),
        "{died}"
    );
    let failed_start = failure(NODE_2_CANNOT_START);
    assert!(failed_start.contains("exit status: 1") && failed_start.ends_with("\n  no disk today"), "{failed_start}");
    assert!(failure(NODE_2_WRITES_GARBAGE).contains("cannot parse: hello?"));
    assert!(failure(NODE_2_REFUSES_COMMANDS).contains("refused a command: not today"));
}

#[test]
fn a_missing_program_is_reported() {
    let missing = Options::new("/nowhere/quorate");
    let text = run_workload(&experiment(GRANT, 1, Vec::new()), &missing).err().unwrap().to_string();
    assert!(text.starts_with("cannot start the process of node 1: "), "{text}");
}
