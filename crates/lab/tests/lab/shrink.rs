//! Tests of shrinking: the failures of seeded bugs shrink, deterministically, and the small run
//! still fails. Seeds such as 138 are those of runs that fail.

use quorate_check::{Search, Walks};
use quorate_journal::property::PropertyKind;
use quorate_journal::record::Journal;
use quorate_journal::settings::Script;
use quorate_lab::check::{self, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use quorate_lab::registry::Family;
use quorate_lab::shrink::{self, DEFAULT_MAX_RUNS, RunFigures, SearchEnd, ShrinkError, ShrinkRequest, Shrunk};
use quorate_lab::{Algorithm, FamilyLab, LabError, LinkChoice, Mutex, Replica, Spec, experiment};
use std::fmt::Write;
use std::path::Path;

fn shrink_spec<F: FamilyLab>(spec: &Spec<F>, property: &str, max_runs: u64) -> Shrunk<F> {
    let request = ShrinkRequest { spec: spec.clone(), property: Some(property.into()), max_runs };
    shrink::run(&request, &mut |_| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command("sim")))
}

/// Returns the counterexample to a property as a journal.
fn counterexample_journal(spec: &CheckSpec, property: &str) -> Vec<u8> {
    let run = check::run(spec, &mut |_, _| true).unwrap();
    let broken = run.violations();
    let (_, example) = broken.iter().find(|(verdict, _)| verdict.name == property).expect("a counterexample");
    let mut bytes = Vec::new();
    run.write(example, &mut bytes).unwrap();
    bytes
}

fn shrink_journal(bytes: &[u8], property: Option<&str>) -> Result<Shrunk<Mutex>, ShrinkError> {
    shrink::shrink_journal(|| Journal::open(bytes).map_err(LabError::from), property, DEFAULT_MAX_RUNS, &mut |_| true)
}

fn check_spec(algorithm: &str, nodes: usize, rounds: impl Into<Option<u8>>) -> CheckSpec {
    let mut spec = CheckSpec { rounds: rounds.into(), links: LinkChoice::Bare, ..CheckSpec::named(algorithm).unwrap() };
    spec.setup.nodes = nodes;
    spec
}

fn count_lines(script: &Script) -> usize {
    script.commands.len() + script.faults.len() + script.directions.len()
}

/// Returns the correct algorithm that these tests compare with a fixture, if any. In the same run
/// it must satisfy "always" properties. Only replicas must satisfy "eventually" properties too: in
/// other families the script may lack the releases of further entries.
fn correct_twin(fixture: &str) -> Option<&'static str> {
    let twins = [
        ("ricart-agrawala-", "ricart-agrawala"),
        ("toy-forgetful", "toy-mindful"),
        ("toy-lease", "toy-lease-margin"),
        ("replica-", "replica"),
    ];
    twins.into_iter().find(|(name, _)| fixture.starts_with(name)).map(|(_, twin)| twin)
}

/// Returns the row of the table in docs/shrinking.md for a shrunk run; `from` says where the
/// failing run came from. Asserts that the run still fails as reported, and that its script is
/// short.
fn table_row<F: FamilyLab>(shrunk: &Shrunk<F>, from: &str) -> String {
    let Shrunk { spec, property, before, after, .. } = shrunk;
    let script = spec.script.as_ref().unwrap_or_else(|| panic!("no script: {}", spec.command("sim")));
    assert!(count_lines(script) <= 13, "{}\n{script}", spec.command("sim"));
    // The script is parsed from its text, as from a file.
    let reparsed = Spec { script: Some(Script::parse(&script.to_string(), F::COMMANDS).unwrap()), ..spec.clone() };
    let outcome = experiment::run(&reparsed).unwrap();
    let verdict = outcome.violated_verdicts().find(|verdict| verdict.name == *property);
    let verdict = verdict.unwrap_or_else(|| panic!("{property} holds: {}\n{script}", spec.command("sim")));
    assert_eq!(verdict.violation.as_ref(), Some(&shrunk.violation));
    if let Some(twin) = correct_twin(spec.algorithm.name())
        .filter(|_| shrunk.kind == PropertyKind::Always || F::FAMILY == Family::Replica)
    {
        let outcome = experiment::run(&Spec { algorithm: Algorithm::named(twin).unwrap(), ..reparsed }).unwrap();
        let verdict = outcome.violated_verdicts().find(|verdict| verdict.name == *property);
        assert!(verdict.is_none(), "this is not a failure of the seeded bug of {}:\n{script}", spec.algorithm);
    }
    let arrow = |before: u64, after: u64| format!("{before} → {after}");
    let mut row = format!("| `{}` | `{property}` | {from}", spec.algorithm);
    for (before, after) in [
        (before.nodes as u64, after.nodes as u64),
        (before.commands, after.commands),
        (before.faults, after.faults),
        (before.events, after.events),
    ] {
        write!(row, " | {}", arrow(before, after)).unwrap();
    }
    write!(row, " | {} | {} |", after.directions, count_lines(script)).unwrap();
    row
}

/// Asserts that the document contains this row; the failure of the test prints it.
#[track_caller]
fn assert_documented(row: &str) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/shrinking.md");
    let text = std::fs::read_to_string(document).unwrap();
    assert!(text.lines().any(|line| line == row), "docs/shrinking.md lacks this row:\n{row}");
}

fn mutex_spec(algorithm: &str, nodes: usize) -> Spec<Mutex> {
    let mut spec = Spec::<Mutex> { nodes, ..Spec::named(algorithm).unwrap() };
    spec.settings.entries = 40;
    spec
}

fn assert_shrinks(spec: &Spec<Mutex>, property: &str, max_events: u64) {
    let shrunk = shrink_spec(spec, property, DEFAULT_MAX_RUNS);
    assert_eq!(shrunk.end, SearchEnd::Smallest, "{}", spec.command("sim"));
    assert!(shrunk.after.events <= max_events, "{}: {:?}", spec.algorithm, shrunk.after);
    assert_documented(&table_row(&shrunk, "a seed"));
}

#[test]
fn mutual_exclusion_failures_shrink() {
    assert_shrinks(&mutex_spec("ricart-agrawala-clock-only", 5), "exclusion", 6);
    assert_shrinks(&mutex_spec("ricart-agrawala-node-only", 5), "exclusion", 6);
    // Three nodes and fourteen steps are the minimum, as the checker proves.
    assert_shrinks(&mutex_spec("ricart-agrawala-first-only", 4), "served", 14);
    assert_shrinks(&mutex_spec("toy-forgetful", 4), "exclusion", 4);
    assert_shrinks(&mutex_spec("toy-embrace", 4), "served", 4);
    assert_shrinks(&mutex_spec("toy-slip", 4), "served", 9);
}

/// As published (Ricart and Agrawala, 1981), replies do not name their request, so a late reply to
/// a cancelled request admits a second node.
#[test]
fn a_late_reply_to_a_cancelled_request_shrinks() {
    let mut spec = Spec { seed: 138, ..mutex_spec("ricart-agrawala-1981", 3) };
    spec.settings.cancels = "0.3".parse().unwrap();
    assert_shrinks(&spec, "exclusion", 8);
}

#[test]
fn a_lease_failure_shrinks() {
    let mut spec = Spec { seed: 2, random_faults: "drift=3".parse().unwrap(), ..mutex_spec("toy-lease", 3) };
    spec.settings.hold = Some("fixed:2s".parse().unwrap());
    assert_shrinks(&spec, "exclusion", 5);
}

#[test]
fn counterexamples_of_the_checker_become_scripts() {
    let shrunk = shrink_journal(
        &counterexample_journal(&check_spec("ricart-agrawala-1981", 2, 3), "happened-before-order"),
        None,
    )
    .unwrap();
    assert!(shrunk.after.events <= 12);
    assert_documented(&table_row(&shrunk, "the checker"));
    let walks = |seed| {
        let mut spec = CheckSpec {
            behavior: RequestKinds { allows_cancels: true, ..RequestKinds::default() },
            ..check_spec("ricart-agrawala-1981", 3, 3)
        };
        spec.effort.search = Search::Walks(Walks { count: 200, steps: 1_000, seed });
        spec
    };
    for seed in 1..=4 {
        let shrunk = shrink_journal(&counterexample_journal(&walks(seed), "exclusion"), Some("exclusion")).unwrap();
        assert!(shrunk.before.events > shrunk.after.events && shrunk.after.events <= 12, "{:?}", shrunk.after);
        // For its assertions; the table has no row for these runs.
        table_row(&shrunk, "the checker");
    }
}

/// A script ends, so it cannot starve a node forever.
#[test]
fn a_cyclic_counterexample_is_refused() {
    let error =
        shrink_journal(&counterexample_journal(&check_spec("toy-favourite", 3, None), "served"), None).unwrap_err();
    assert!(matches!(error, ShrinkError::Endless { .. }), "{error}");
    assert!(error.to_string().contains("repeats forever") && error.to_string().contains("quorate check toy-favourite"));
}

fn replica_spec(algorithm: &str) -> Spec<Replica> {
    let mut spec = Spec::<Replica>::named(algorithm).unwrap();
    spec.settings.chaos = true;
    spec
}

/// The experiment with the first seed, from that of `spec` on, whose run violates the property.
fn first_failure(spec: &Spec<Replica>, property: &str) -> Spec<Replica> {
    let mut specs = (spec.seed..).take(500).map(|seed| Spec { seed, ..spec.clone() });
    let violates = |spec: &Spec<Replica>| {
        experiment::run(spec).unwrap().violated_verdicts().any(|verdict| verdict.name == property)
    };
    specs.find(violates).unwrap_or_else(|| panic!("no seed of {} violates {property}", spec.command("sim")))
}

#[test]
fn an_early_acknowledgement_shrinks() {
    let spec = Spec { disk: "uniform:0ms..40ms".parse().unwrap(), ..replica_spec("replica-early-ack") };
    let shrunk = shrink_spec(&first_failure(&spec, "kept"), "kept", DEFAULT_MAX_RUNS);
    assert!(shrunk.after.events <= 12);
    assert_documented(&table_row(&shrunk, "a seed"));
}

#[test]
fn an_entry_applied_twice_shrinks() {
    let shrunk = shrink_spec(&replica_spec("replica-applied-twice"), "equal", DEFAULT_MAX_RUNS);
    assert!(shrunk.after.events <= 12);
    assert_documented(&table_row(&shrunk, "a seed"));
}

#[test]
fn a_stale_read_still_fails_if_few_runs_are_tried() {
    let spec = first_failure(&replica_spec("replica-local-read"), "linearizable");
    let shrunk = shrink_spec(&spec, "linearizable", 300);
    assert_eq!((shrunk.end, shrunk.tried_runs), (SearchEnd::OutOfRuns, 300));
    let outcome = experiment::run(&shrunk.spec).unwrap();
    assert!(
        outcome.violated_verdicts().any(|verdict| verdict.name == "linearizable"),
        "{}",
        shrunk.spec.command("sim")
    );
}

/// The failing runs before seed 500 depend on delays that a script cannot repeat once other
/// requests are gone, so they shrink much less.
#[test]
#[ignore = "long: ./check long"]
fn a_stale_read_shrinks() {
    let spec = Spec { seed: 500, ..replica_spec("replica-local-read") };
    let shrunk = shrink_spec(&first_failure(&spec, "linearizable"), "linearizable", 8_000);
    assert!(shrunk.after.events <= 40, "{:?}", shrunk.after);
    assert_documented(&table_row(&shrunk, "a seed"));
}

/// Two elections in one term take about twenty events, and as many ends of turns. The failing run
/// before seed 70 has many faults that hide each other, so that it shrinks much less.
#[test]
fn a_forgotten_vote_shrinks() {
    let mut spec = replica_spec("replica-forgotten-vote");
    (spec.latency, spec.disk) = ("long-tail:5ms".parse().unwrap(), "fixed:0ms".parse().unwrap());
    spec.settings.operations = 20;
    spec.seed = 70;
    let shrunk = shrink_spec(&first_failure(&spec, "one-leader"), "one-leader", 4_000);
    assert!(shrunk.after.events <= 50, "{:?}", shrunk.after);
    assert_documented(&table_row(&shrunk, "a seed"));
}

/// The failure shows only after a long time, whose ticks all count as events. The failing runs
/// before seed 60 need many delays, and shrink much less.
#[test]
fn an_unreported_snapshot_shrinks() {
    let mut spec = replica_spec("replica-no-report");
    (spec.settings.clients, spec.settings.operations) = (2, 30);
    (spec.settings.checkpoint_every, spec.settings.keep_entries) = (3, 0);
    spec.seed = 60;
    let shrunk = shrink_spec(&first_failure(&spec, "caught-up"), "caught-up", 2_000);
    assert_documented(&table_row(&shrunk, "a seed"));
}

/// Shrinks a run in which an unreported loss of a snapshot leaves a request unanswered. Asserts
/// that the small run does not fail for another reason, such as more lost disks than replicas
/// tolerate, or slowness.
fn shrink_lost_snapshots(max_runs: u64) -> Option<Script> {
    // The failing run before this seed becomes no script.
    let spec = first_failure(&Spec { seed: 15, ..replica_spec("replica-no-report") }, "answered");
    let shrunk = shrink_spec(&spec, "answered", max_runs);
    assert_eq!(shrunk.after.nodes, 3, "{}", shrunk.spec.command("sim"));
    // A request for members without voters would be another reason. The text would show its empty
    // list of voters as `voters ,`.
    assert!(!shrunk.violation.text.contains("voters ,"), "{}", shrunk.violation.text);
    let script = shrunk.spec.script.clone();
    let twin = Spec { algorithm: Algorithm::named("replica").unwrap(), ..shrunk.spec };
    let outcome = experiment::run(&twin).unwrap();
    assert!(outcome.violated_verdicts().all(|verdict| verdict.name != "answered"), "{}", twin.command("sim"));
    script
}

#[test]
fn a_shrunk_run_fails_because_of_the_seeded_bug() {
    shrink_lost_snapshots(150);
}

#[test]
#[ignore = "long: ./check long"]
fn a_fully_shrunk_run_fails_because_of_the_seeded_bug() {
    let script = shrink_lost_snapshots(600).expect("a script");
    let lost_disks = script.faults.iter().filter(|timed| timed.to_string().contains("blank"));
    assert!(lost_disks.count() <= 1, "{script}");
}

#[test]
fn shrinking_is_deterministic() {
    let spec = Spec { random_faults: "pause=2,crash=1".parse().unwrap(), ..mutex_spec("ricart-agrawala-node-only", 4) };
    let [one, other] = [1, 2].map(|_| shrink_spec(&spec, "exclusion", DEFAULT_MAX_RUNS));
    assert_eq!((&one.spec, one.tried_runs, one.violation.line), (&other.spec, other.tried_runs, other.violation.line));
}

#[test]
fn a_run_without_failure_is_refused() {
    let spec = Spec::<Mutex>::named("ricart-agrawala").unwrap();
    let refusal = |property: Option<&str>| {
        let request =
            ShrinkRequest { spec: spec.clone(), property: property.map(Into::into), max_runs: DEFAULT_MAX_RUNS };
        shrink::run(&request, &mut |_| true).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(None),
        "no property fails in this run, so there is nothing to shrink. Use 'quorate sweep ricart-agrawala --nodes 3 --seed \
         1 --entries 10 --seeds 1000' to search for a failing seed."
    );
    assert!(refusal(Some("served")).starts_with("'served' does not fail in this run"));
    assert!(
        refusal(Some("speed")).contains("--property must name a property of this algorithm; got 'speed'")
            && refusal(Some("speed")).contains("exclusion")
    );
    assert!(
        refusal(Some("contention")).contains("--property must name a property of this algorithm; got 'contention'")
    );
}

#[test]
fn runs_are_bounded_and_an_interruption_keeps_the_best() {
    let spec = mutex_spec("ricart-agrawala-first-only", 6);
    let stopped_early = shrink_spec(&spec, "served", 40);
    assert_eq!((stopped_early.end, stopped_early.tried_runs), (SearchEnd::OutOfRuns, 40));
    let request = ShrinkRequest { spec: spec.clone(), property: None, max_runs: DEFAULT_MAX_RUNS };
    let mut best_sizes = Vec::new();
    let stopped = shrink::run(&request, &mut |progress| {
        best_sizes.push(progress.best);
        progress.tried_runs < 200
    });
    let stopped = stopped.unwrap();
    assert_eq!((stopped.end, stopped.tried_runs), (SearchEnd::Interrupted, 200));
    let size = |figures: &RunFigures| (figures.nodes, figures.events);
    assert!(size(&stopped.after) < size(&stopped.before));
    let outcome = experiment::run(&stopped.spec).unwrap();
    assert!(
        outcome.violated_verdicts().any(|verdict| verdict.name == stopped.property),
        "{}",
        stopped.spec.command("sim")
    );
    // The number of events may grow when random choices become explicit, but not the number of
    // nodes.
    assert!(best_sizes.windows(2).all(|pair| pair[1].nodes <= pair[0].nodes));
}

/// The small run keeps the release of its only entry, so a holder that never releases is not the
/// reason for its failure.
#[test]
fn a_shrunk_run_keeps_the_release_of_its_entry() {
    for seed in 1..=5 {
        let shrunk =
            shrink_spec(&Spec { seed, ..mutex_spec("ricart-agrawala-first-only", 4) }, "served", DEFAULT_MAX_RUNS);
        let script = shrunk.spec.script.unwrap();
        let count = |word: &str| script.commands.iter().filter(|command| command.command == word).count();
        assert_eq!(count("release"), 1, "{script}");
        assert_eq!(count("acquire"), 3, "{script}");
    }
}

#[test]
fn an_invalid_journal_is_refused() {
    let valid_journal = counterexample_journal(&check_spec("ricart-agrawala-clock-only", 2, 1), "exclusion");
    let text = String::from_utf8(valid_journal.clone()).unwrap();
    let shrink_bytes =
        |bytes: &[u8]| shrink_journal(bytes, None).map(|shrunk| shrunk.after).map_err(|error| error.to_string());
    assert!(shrink_bytes(&valid_journal).is_ok());
    assert!(shrink_bytes(b"").unwrap_err().contains("empty"));
    assert!(shrink_bytes(b"{}\n").unwrap_err().contains("not a journal"));
    assert!(
        shrink_bytes(&valid_journal[..valid_journal.len() - 3])
            .unwrap_err()
            .contains("the file is truncated in the middle of this line")
    );
    assert!(
        shrink_bytes(text.replacen("\"nodes\":2", "\"nodes\":7", 1).as_bytes())
            .unwrap_err()
            .contains("contradicts itself")
    );
    // A journal without a failure, and one that stops in the middle of a run, which the simulator
    // cannot repeat.
    let beginning = |lines: usize| {
        let first_lines: String = text.lines().take(lines).map(|line| format!("{line}\n")).collect();
        format!("{first_lines}{{\"end\":{}}}\n", lines + 1)
    };
    assert!(shrink_bytes(beginning(3).as_bytes()).unwrap_err().contains("so there is nothing to shrink"));
    assert!(shrink_bytes(beginning(6).as_bytes()).unwrap_err().contains("cannot repeat this journal in the simulator"));
    // A journal with messages that no node sent must not cause a panic.
    let altered = text.replace("\"1.1\"", "\"1.9\"");
    let _ = shrink_bytes(altered.as_bytes());
}

#[test]
fn a_simulated_journal_shrinks_to_the_same_run_as_its_seed() {
    let spec = mutex_spec("ricart-agrawala-node-only", 4);
    let mut bytes = Vec::new();
    experiment::run_with(&spec, &mut bytes, ()).unwrap();
    let shrunk = shrink_journal(&bytes, None).unwrap();
    assert_eq!(shrunk.spec, shrink_spec(&spec, "exclusion", DEFAULT_MAX_RUNS).spec);
}
