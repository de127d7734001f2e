//! Tests of shrinking: every seeded bug shrinks, deterministically, and the small run still fails.

use quorate_check::{Search, Walks};
use quorate_journal::property::Kind;
use quorate_journal::record::Journal;
use quorate_journal::settings::Script;
use quorate_lab::check::{self, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use quorate_lab::registry::Family;
use quorate_lab::shrink::{self, End, Figures, Request, ShrinkError, Shrunk, TRIES};
use quorate_lab::{Algorithm, FamilyLab, LabError, LinkChoice, Mutex, Replica, Spec, experiment};
use std::fmt::Write;
use std::path::Path;

fn shrunk<F: FamilyLab>(spec: &Spec<F>, property: &str, tries: u64) -> Shrunk<F> {
    let request = Request { spec: spec.clone(), property: Some(property.into()), tries };
    shrink::run(&request, &mut |_| true).unwrap_or_else(|error| panic!("{}: {error}", spec.command("sim")))
}

/// Returns the counterexample to a property as a journal.
fn found(spec: &CheckSpec, property: &str) -> Vec<u8> {
    let run = check::run(spec, &mut |_, _| true).unwrap();
    let broken = run.broken();
    let (_, example) = broken.iter().find(|(verdict, _)| verdict.name == property).expect("a counterexample");
    let mut bytes = Vec::new();
    run.write(example, &mut bytes).unwrap();
    bytes
}

fn of_journal(bytes: &[u8], property: Option<&str>) -> Result<Shrunk<Mutex>, ShrinkError> {
    shrink::run_journal(|| Journal::open(bytes).map_err(LabError::from), property, TRIES, &mut |_| true)
}

fn checked(algorithm: &str, nodes: usize, rounds: impl Into<Option<u8>>) -> CheckSpec {
    let mut spec = CheckSpec { rounds: rounds.into(), links: LinkChoice::Bare, ..CheckSpec::named(algorithm).unwrap() };
    spec.setup.nodes = nodes;
    spec
}

fn lines(script: &Script) -> usize {
    script.commands.len() + script.faults.len() + script.directions.len()
}

/// Returns the algorithm without the seeded bug. "Always" properties must hold there in the same
/// run; "eventually" properties need not, because clients release only what they entered.
fn twin(fixture: &str) -> Option<&'static str> {
    let twins = [
        ("ricart-agrawala-", "ricart-agrawala"),
        ("toy-forgetful", "toy-mindful"),
        ("toy-lease", "toy-lease-margin"),
        ("replica-", "replica"),
    ];
    twins.into_iter().find(|(name, _)| fixture.starts_with(name)).map(|(_, twin)| twin)
}

/// Returns a row of the table in docs/shrinking.md. Checks that the small run fails as promised and
/// that its script is short.
fn row<F: FamilyLab>(shrunk: &Shrunk<F>, from: &str) -> String {
    let Shrunk { spec, property, before, after, .. } = shrunk;
    let script = spec.script.as_ref().unwrap_or_else(|| panic!("no script: {}", spec.command("sim")));
    assert!(lines(script) <= 12, "{}\n{script}", spec.command("sim"));
    // The script is parsed from its text, as from a file.
    let again = Spec { script: Some(Script::parse(&script.to_string(), F::COMMANDS).unwrap()), ..spec.clone() };
    let outcome = experiment::run(&again).unwrap();
    let violation = outcome.violated().find(|verdict| verdict.name == *property);
    let violation = violation.unwrap_or_else(|| panic!("{property} holds: {}\n{script}", spec.command("sim")));
    assert_eq!(violation.violation.as_ref(), Some(&shrunk.violation));
    if let Some(twin) =
        twin(spec.algorithm.name()).filter(|_| shrunk.kind == Kind::Always || F::FAMILY == Family::Replica)
    {
        let outcome = experiment::run(&Spec { algorithm: Algorithm::named(twin).unwrap(), ..again }).unwrap();
        let violation = outcome.violated().find(|verdict| verdict.name == *property);
        assert!(violation.is_none(), "this is not a failure of the seeded bug of {}:\n{script}", spec.algorithm);
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
    write!(row, " | {} | {} |", after.directions, lines(script)).unwrap();
    row
}

/// Asserts that the document contains this row; the failure of the test prints it.
#[track_caller]
fn assert_documented(row: &str) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/shrinking.md");
    let text = std::fs::read_to_string(document).unwrap();
    assert!(text.lines().any(|line| line == row), "docs/shrinking.md lacks this row:\n{row}");
}

fn mutex(algorithm: &str, nodes: usize) -> Spec<Mutex> {
    let mut spec = Spec::<Mutex> { nodes, ..Spec::named(algorithm).unwrap() };
    spec.settings.entries = 40;
    spec
}

fn assert_shrinks(spec: &Spec<Mutex>, property: &str, most: u64) {
    let shrunk = shrunk(spec, property, TRIES);
    assert_eq!(shrunk.end, End::Smallest, "{}", spec.command("sim"));
    assert!(shrunk.after.events <= most, "{}: {:?}", spec.algorithm, shrunk.after);
    assert_documented(&row(&shrunk, "a seed"));
}

#[test]
fn mutual_exclusion_failures_shrink() {
    assert_shrinks(&mutex("ricart-agrawala-clock-only", 5), "exclusion", 6);
    assert_shrinks(&mutex("ricart-agrawala-node-only", 5), "exclusion", 6);
    // Three nodes and fourteen steps are the minimum, as the checker proves.
    assert_shrinks(&mutex("ricart-agrawala-first-only", 4), "served", 14);
    assert_shrinks(&mutex("toy-forgetful", 4), "exclusion", 4);
    assert_shrinks(&mutex("toy-embrace", 4), "served", 4);
    assert_shrinks(&mutex("toy-slip", 4), "served", 9);
}

#[test]
fn a_cancelled_request_of_the_paper_shrinks() {
    let mut spec = Spec { seed: 138, ..mutex("ricart-agrawala-1981", 3) };
    spec.settings.cancels = "0.3".parse().unwrap();
    assert_shrinks(&spec, "exclusion", 8);
}

#[test]
fn a_lease_failure_shrinks() {
    let mut spec = Spec { seed: 2, random_faults: "drift=3".parse().unwrap(), ..mutex("toy-lease", 3) };
    spec.settings.hold = Some("fixed:2s".parse().unwrap());
    assert_shrinks(&spec, "exclusion", 5);
}

#[test]
fn counterexamples_of_the_checker_become_scripts() {
    let order = of_journal(&found(&checked("ricart-agrawala-1981", 2, 3), "happened-before-order"), None).unwrap();
    assert!(order.after.events <= 12);
    assert_documented(&row(&order, "the checker"));
    let walks = |seed| {
        let mut spec = CheckSpec {
            behavior: RequestKinds { cancels: true, ..RequestKinds::default() },
            ..checked("ricart-agrawala-1981", 3, 3)
        };
        spec.effort.search = Search::Walks(Walks { count: 200, steps: 1_000, seed });
        spec
    };
    for seed in 1..=4 {
        let long = of_journal(&found(&walks(seed), "exclusion"), Some("exclusion")).unwrap();
        assert!(long.before.events > long.after.events && long.after.events <= 12, "{:?}", long.after);
        row(&long, "the checker");
    }
}

/// No node starves in a run that ends.
#[test]
fn a_cyclic_counterexample_is_refused() {
    let error = of_journal(&found(&checked("toy-favourite", 3, None), "served"), None).unwrap_err();
    assert!(matches!(error, ShrinkError::Endless { .. }), "{error}");
    assert!(error.to_string().contains("repeats forever") && error.to_string().contains("quorate check toy-favourite"));
}

fn replica(algorithm: &str, seed: u64) -> Spec<Replica> {
    let mut spec = Spec::<Replica> { seed, ..Spec::named(algorithm).unwrap() };
    spec.settings.chaos = true;
    spec
}

#[test]
fn an_early_acknowledgement_shrinks() {
    let spec = Spec { disk: "uniform:0ms..40ms".parse().unwrap(), ..replica("replica-early-ack", 17) };
    let small = shrunk(&spec, "kept", TRIES);
    assert!(small.after.events <= 12);
    assert_documented(&row(&small, "a seed"));
}

#[test]
fn an_entry_applied_twice_shrinks() {
    let small = shrunk(&replica("replica-applied-twice", 1), "equal", TRIES);
    assert!(small.after.events <= 12);
    assert_documented(&row(&small, "a seed"));
}

#[test]
fn a_stale_read_still_fails_after_few_tries() {
    let small = shrunk(&replica("replica-local-read", 293), "linearizable", 300);
    assert_eq!((small.end, small.tries), (End::OutOfTries, 300));
    let outcome = experiment::run(&small.spec).unwrap();
    assert!(outcome.violated().any(|verdict| verdict.name == "linearizable"), "{}", small.spec.command("sim"));
}

#[test]
#[ignore = "long: ./check long"]
fn a_stale_read_shrinks() {
    let small = shrunk(&replica("replica-local-read", 293), "linearizable", 8_000);
    assert!(small.after.events <= 12);
    assert_documented(&row(&small, "a seed"));
}

/// Two elections in one term take about twenty events.
#[test]
fn a_forgotten_vote_shrinks() {
    let mut spec = replica("replica-forgotten-vote", 422);
    (spec.latency, spec.disk) = ("long-tail:5ms".parse().unwrap(), "fixed:0ms".parse().unwrap());
    spec.settings.operations = 20;
    let small = shrunk(&spec, "one-leader", 6_000);
    assert!(small.after.events <= 40, "{:?}", small.after);
    assert_documented(&row(&small, "a seed"));
}

/// A missing event shows only after a long time, all of whose ticks count.
#[test]
fn an_unreported_snapshot_shrinks() {
    let mut spec = replica("replica-no-report", 10);
    (spec.settings.clients, spec.settings.operations) = (2, 30);
    (spec.settings.checkpoint_every, spec.settings.keep_entries) = (3, 0);
    let small = shrunk(&spec, "caught-up", 2_000);
    assert_documented(&row(&small, "a seed"));
}

/// A run that loses more disks than replicas tolerate fails without any bug, and so does one that
/// is merely slow.
fn nothing_smaller_needs_more_tolerance(tries: u64) -> Option<Script> {
    let spec = replica("replica-no-report", 42);
    let small = shrunk(&spec, "answered", tries);
    assert_eq!(small.after.nodes, 3, "{}", small.spec.command("sim"));
    assert!(!small.violation.text.contains("voters ,"), "{}", small.violation.text);
    let script = small.spec.script.clone();
    let twin = Spec { algorithm: Algorithm::named("replica").unwrap(), ..small.spec };
    let outcome = experiment::run(&twin).unwrap();
    assert!(outcome.violated().all(|verdict| verdict.name != "answered"), "{}", twin.command("sim"));
    script
}

#[test]
fn no_smaller_run_needs_more_tolerance() {
    nothing_smaller_needs_more_tolerance(150);
}

#[test]
#[ignore = "long: ./check long"]
fn no_smaller_script_needs_more_tolerance() {
    let script = nothing_smaller_needs_more_tolerance(600).expect("a script");
    let wiped = script.faults.iter().filter(|timed| timed.to_string().contains("blank"));
    assert!(wiped.count() <= 1, "{script}");
}

#[test]
fn shrinking_is_deterministic() {
    let spec = Spec { random_faults: "pause=2,crash=1".parse().unwrap(), ..mutex("ricart-agrawala-node-only", 4) };
    let [one, other] = [1, 2].map(|_| shrunk(&spec, "exclusion", TRIES));
    assert_eq!((&one.spec, one.tries, one.violation.line), (&other.spec, other.tries, other.violation.line));
}

#[test]
fn a_run_without_failure_is_refused() {
    let spec = Spec::<Mutex>::named("ricart-agrawala").unwrap();
    let refused = |property: Option<&str>| {
        let request = Request { spec: spec.clone(), property: property.map(Into::into), tries: TRIES };
        shrink::run(&request, &mut |_| true).unwrap_err().to_string()
    };
    assert_eq!(
        refused(None),
        "no property fails in this run, so there is nothing to shrink. Use 'quorate sweep ricart-agrawala --nodes 3 --seed \
         1 --entries 10 --seeds 1000' to search for a failing seed."
    );
    assert!(refused(Some("served")).starts_with("'served' does not fail in this run"));
    assert!(
        refused(Some("speed")).contains("--property must name a property of this algorithm; got 'speed'")
            && refused(Some("speed")).contains("exclusion")
    );
    assert!(
        refused(Some("contention")).contains("--property must name a property of this algorithm; got 'contention'")
    );
}

#[test]
fn tries_are_bounded_and_an_interruption_keeps_the_best() {
    let spec = mutex("ricart-agrawala-first-only", 6);
    let few = shrunk(&spec, "served", 40);
    assert_eq!((few.end, few.tries), (End::OutOfTries, 40));
    let request = Request { spec: spec.clone(), property: None, tries: TRIES };
    let mut seen = Vec::new();
    let stopped = shrink::run(&request, &mut |progress| {
        seen.push(progress.best);
        progress.tries < 200
    });
    let stopped = stopped.unwrap();
    assert_eq!((stopped.end, stopped.tries), (End::Interrupted, 200));
    let smallest = |figures: &Figures| (figures.nodes, figures.events);
    assert!(smallest(&stopped.after) < smallest(&stopped.before));
    let outcome = experiment::run(&stopped.spec).unwrap();
    assert!(outcome.violated().any(|verdict| verdict.name == stopped.property), "{}", stopped.spec.command("sim"));
    // It grows only where random choices become explicit.
    assert!(seen.windows(2).all(|pair| pair[1].nodes <= pair[0].nodes));
}

/// Every holder releases and every crashed node restarts: no smaller run fails only because one
/// does not.
#[test]
fn no_smaller_run_drops_a_release() {
    for seed in 1..=5 {
        let small = shrunk(&Spec { seed, ..mutex("ricart-agrawala-first-only", 4) }, "served", TRIES);
        let script = small.spec.script.unwrap();
        let count = |word: &str| script.commands.iter().filter(|command| command.word == word).count();
        assert_eq!(count("release"), 1, "{script}");
        assert_eq!(count("acquire"), 3, "{script}");
    }
}

#[test]
fn an_invalid_journal_is_refused() {
    let whole = found(&checked("ricart-agrawala-clock-only", 2, 1), "exclusion");
    let text = String::from_utf8(whole.clone()).unwrap();
    let shrink_bytes =
        |bytes: &[u8]| of_journal(bytes, None).map(|small| small.after).map_err(|error| error.to_string());
    assert!(shrink_bytes(&whole).is_ok());
    assert!(shrink_bytes(b"").unwrap_err().contains("empty"));
    assert!(shrink_bytes(b"{}\n").unwrap_err().contains("not a journal"));
    assert!(
        shrink_bytes(&whole[..whole.len() - 3])
            .unwrap_err()
            .contains("the file is truncated in the middle of this line")
    );
    assert!(
        shrink_bytes(text.replacen("\"nodes\":2", "\"nodes\":7", 1).as_bytes())
            .unwrap_err()
            .contains("contradicts itself")
    );
    // A journal without a failure, and one that ends while a node waits, which no simulated run
    // does.
    let beginning = |lines: usize| {
        let kept: String = text.lines().take(lines).map(|line| format!("{line}\n")).collect();
        format!("{kept}{{\"end\":{}}}\n", lines + 1)
    };
    assert!(shrink_bytes(beginning(3).as_bytes()).unwrap_err().contains("so there is nothing to shrink"));
    assert!(shrink_bytes(beginning(6).as_bytes()).unwrap_err().contains("cannot repeat this journal in the simulator"));
    // A journal with messages that no node sent.
    let altered = text.replace("\"1.1\"", "\"1.9\"");
    let _ = shrink_bytes(altered.as_bytes());
}

/// A simulated journal contains what its seed does.
#[test]
fn a_simulated_journal_shrinks_like_its_seed() {
    let spec = mutex("ricart-agrawala-node-only", 4);
    let mut bytes = Vec::new();
    experiment::run_with(&spec, &mut bytes, ()).unwrap();
    let small = of_journal(&bytes, None).unwrap();
    assert_eq!(small.spec, shrunk(&spec, "exclusion", TRIES).spec);
}
