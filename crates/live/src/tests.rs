//! The whole course of a run with processes that only pretend to be nodes.

use crate::launch::{Home, Launch};
use crate::run::{Play, run};
use crate::schedule::{Kill, Networks, Stop, acts};
use crate::stage::Stage;
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
    told: u64,
    stage: Stage<Mutex>,
    folder: TempDir,
    parts: Vec<PathBuf>,
}

/// Two nodes, whose processes do wrong what the seed says.
fn experiment(seed: u64, entries: u64, faults: Vec<TimedFault>) -> Spec<Mutex> {
    let settings = mutex::Settings { entries, workload: Pattern::All, ..Default::default() };
    Spec { faults, ..spec::<Mutex>(Algorithm::named("central").unwrap(), 2, seed, settings) }
}

fn options() -> Options<'static> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_node.sh");
    Options { patience: Duration::from_millis(300), ..Options::new(program) }
}

fn perform(spec: &Spec<Mutex>, options: &Options<'_>) -> Result<Outcome, LiveError> {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::start();
    let home = Home {
        program: &options.program,
        folder: folder.path(),
        group: "fake".into(),
        certificates: None,
        networks: None,
    };
    let mut stage = Stage::<Mutex>::new(spec.nodes, Launch::new(spec, home, clock.origin())?, clock);
    stage.start_all(options.interrupted)?;
    stage.raise_curtain(|zero, group| WorldJournal::begin(spec, (folder.path(), group), clock, zero))?;
    let mut told = 0;
    let mut watch = |_, _, _: &_| told += 1;
    let acts = acts(&spec.faults, spec.nodes, Networks::Shared)?;
    let ending = Play::new(spec, options, acts, &mut watch).perform(&mut stage)?;
    let parts = stage.stop_all(ending)?;
    Ok(Outcome { ending, told, stage, folder, parts })
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
fn users_are_served_and_everybody_is_stopped_in_the_end() {
    let outcome = perform(&experiment(1, 10, Vec::new()), &options()).unwrap();
    assert_eq!((outcome.ending, outcome.told), (Ending::Done, 20));
    assert_eq!(outcome.file("peers-1"), "1=127.0.1.1:7001,2=127.0.1.2:7002\n");
    assert_eq!(outcome.file("peers-1"), outcome.file("peers-2"));
    let heard = outcome.file("heard-1") + &outcome.file("heard-2");
    assert_eq!(heard.matches("\"acquire\"").count(), 10);
    assert_eq!(heard.matches("0 stop").count(), 2);
    let names: Vec<_> = outcome.parts.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["node-1-life-0.journal", "node-2-life-0.journal", "world.journal"]);
    assert_eq!(outcome.stage.counts.processes, 2);
}

/// Users who think for long make plans for a life that ends before; the next one hears nothing of them.
#[test]
fn a_command_does_not_reach_a_later_life() {
    let mut spec = experiment(1, 6, vec![kill("2@50ms..100ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(200)));
    let outcome = perform(&spec, &options()).unwrap();
    assert_eq!(outcome.ending, Ending::Done);
    let heard = outcome.file("heard-2");
    let second: Vec<_> = heard.lines().filter_map(|line| line.strip_prefix("1 ")).collect();
    assert_eq!(second.first(), Some(&"\"acquire\""), "{heard}");
    assert_eq!(outcome.world(), [r#"{"crashed":{"node":2,"lost_writes":0"#]);
    assert_eq!((outcome.stage.counts.kills, outcome.stage.counts.processes), (1, 3));
    assert_eq!(outcome.parts.len(), 4);
}

/// Nobody can tell the story of a process that died before it wrote anything, and nobody saw anything of it.
#[test]
fn a_life_without_a_line_is_left_out() {
    let mut spec = experiment(8, 2, vec![kill("2@50ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(200)));
    let outcome = perform(&spec, &options()).unwrap();
    assert!(outcome.world().is_empty() && outcome.stage.counts.kills == 1, "{:?}", outcome.world());
    assert!(!outcome.parts.iter().any(|path| path.ends_with("node-2-life-0.journal")), "{:?}", outcome.parts);
}

#[test]
fn a_stopped_process_is_let_go_on_and_one_that_is_not_is_stopped_all_the_same() {
    let mut spec = experiment(1, 4, vec![stop("1@30ms..60ms"), stop("2@40ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(100)));
    let outcome = perform(&spec, &options()).unwrap();
    assert_eq!(outcome.ending, Ending::Stuck);
    let expected =
        [r#"{"paused":{"node":1"#, r#"{"paused":{"node":2"#, r#"{"resumed":{"node":1"#, r#"{"resumed":{"node":2"#];
    assert_eq!(outcome.world(), expected);
    assert!(outcome.file("heard-2").ends_with("0 stop\n"));
}

#[test]
fn whoever_is_never_answered_is_stuck_and_whoever_has_plans_is_not() {
    assert_eq!(perform(&experiment(4, 4, Vec::new()), &options()).unwrap().ending, Ending::Stuck);
    let mut patient = experiment(1, 4, Vec::new());
    patient.settings.hold = Some(Latency::Fixed(Duration::from_millis(400)));
    assert_eq!(perform(&patient, &options()).unwrap().ending, Ending::Done);
}

#[test]
fn an_address_that_is_still_taken_is_tried_again() {
    let mut spec = experiment(5, 6, vec![kill("1@20ms..40ms")]);
    spec.settings.hold = Some(Latency::Fixed(Duration::from_millis(100)));
    let outcome = perform(&spec, &options()).unwrap();
    assert_eq!((outcome.ending, outcome.file("tries-1-1").lines().count()), (Ending::Done, 3));
    assert!(outcome.file("heard-1").contains("1 \"acquire\""));
}

#[test]
fn a_limit_and_an_interruption_stop_a_run() {
    let until = Options { until: Some(Duration::from_millis(100)), ..options() };
    let outcome = perform(&experiment(4, 4, Vec::new()), &until).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped);
    let looks = Cell::new(0);
    let interrupted = || {
        looks.set(looks.get() + 1);
        looks.get() > 40
    };
    let interrupted = Options { interrupted: &interrupted, ..options() };
    let outcome = perform(&experiment(1, 1_000_000, Vec::new()), &interrupted).unwrap();
    assert_eq!(outcome.ending, Ending::Stopped);
    assert!(outcome.file("heard-1").ends_with("0 stop\n"), "it was not stopped in good order");
}

/// Whether nothing was started yet, or one process, or all of them that there will ever be.
#[test]
fn who_interrupts_early_is_told_that_and_nothing_else() {
    for most in [0, 1, 2, 3] {
        let looks = Cell::new(0);
        let interrupted = || {
            looks.set(looks.get() + 1);
            looks.get() > most
        };
        let folder = tempfile::tempdir().unwrap();
        let keep = Some(folder.path().join("kept"));
        // Whatever a process complains of meanwhile is of no interest: with this seed one cannot even begin.
        let options = Options { interrupted: &interrupted, keep: keep.clone(), ..options() };
        let ended = run(&experiment(6, 4, Vec::new()), &options, &mut |_, _, _| {});
        assert!(matches!(ended, Err(LiveError::Interrupted)), "after {most}: {:?}", ended.err());
        let started = |node| keep.as_ref().unwrap().join(format!("node-{node}-life-0.log")).exists();
        assert_eq!((started(1), started(2)), (most > 0, most > 1), "after {most}");
    }
}

/// What these processes write is no journal, so nothing can be made of it; but it is all that there is.
#[test]
fn what_cannot_be_gathered_is_kept() {
    let outer = tempfile::tempdir().unwrap();
    for keep in [None, Some(outer.path().join("kept"))] {
        let trace = outer.path().join("run.journal");
        let options = Options { keep: keep.clone(), journal: Some(trace.clone()), ..options() };
        let ended = run(&experiment(1, 4, Vec::new()), &options, &mut |_, _, _| {});
        let Err(error @ LiveError::Kept { .. }) = ended else { panic!("{:?}", ended.err()) };
        let told = error.to_string();
        let LiveError::Kept { folder, .. } = error else { unreachable!() };
        assert!(told.starts_with("The journals of the processes could not be gathered: In "), "{told}");
        assert!(told.ends_with(&format!("is kept in {}.", folder.display())), "{told}");
        for (name, is_there) in [("node-1-life-0.journal", true), ("world.journal", true), ("run.journal", false)] {
            assert_eq!(folder.join(name).exists(), is_there, "{name}");
        }
        assert!(!trace.exists() && !folder.join("run.journal.part").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_process_that_fails_ends_the_run_with_what_it_logged() {
    let failure = |seed| perform(&experiment(seed, 4, Vec::new()), &options()).err().unwrap().to_string();
    let died = failure(2);
    assert!(died.contains("node 2 ended by itself (exit status: 7)") && died.ends_with("\n  out of paper"), "{died}");
    let unborn = failure(6);
    assert!(unborn.contains("exit status: 1") && unborn.ends_with("\n  no disk today"), "{unborn}");
    assert!(failure(3).contains("does not understand: hello?"));
    assert!(failure(7).contains("refused what it was asked: not today"));
}

#[test]
fn a_program_that_is_not_there_is_named_in_a_sentence() {
    let missing = Options::new("/nowhere/quorate");
    let told = perform(&experiment(1, 1, Vec::new()), &missing).err().unwrap().to_string();
    assert!(told.starts_with("The process of node 1 could not be started: "), "{told}");
}
