//! A script of all random choices repeats the run.

use super::{Failure, fix_choices, record_choices, trial};
use crate::election;
use crate::experiment::simulate;
use crate::family::ScriptFamily;
use crate::{Algorithm, Election, FamilyLab, Mutex, Replica, Spec};
use quorate_core::Incarnation;
use quorate_core::election::Repair;
use quorate_journal::moment::{Moment, ObservedInput, Observer};
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::Script;
use quorate_journal::words;

/// The inputs of a run up to a line of its trace. Times, the content of commands and the first
/// start of each node are left out.
struct Inputs {
    texts: Vec<String>,
    /// Lines of the trace after this one are ignored.
    last_line: u64,
    /// Number of trace lines so far: one for each step and each world event.
    lines: u64,
}

impl Inputs {
    fn up_to(last_line: u64) -> Self {
        Self { texts: Vec::new(), last_line, lines: 0 }
    }
}

impl<C: std::fmt::Display, E> Observer<C, E> for Inputs {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        if let Moment::Input { node, input, .. } = moment
            && self.lines <= self.last_line
            && !matches!(input, ObservedInput::Start { incarnation: Incarnation::FIRST, .. })
        {
            let text = match input {
                ObservedInput::Command(_) => "a command".to_owned(),
                input => words::describe_input(input),
            };
            self.texts.push(format!("{node}: {text}"));
        }
    }
}

fn find_failure<F: FamilyLab>(spec: &Spec<F>) -> Option<Failure> {
    spec.validate().unwrap();
    let any_property = None;
    trial::find_failure(spec, any_property)
}

/// Asserts that the script of a failing run repeats it, input by input. Returns `false` if the run
/// does not fail.
fn assert_repeats<F: FamilyLab>(spec: &Spec<F>) -> bool {
    spec.validate().unwrap();
    let Some(failure) = find_failure(spec) else { return false };
    let script = fix_choices(spec, record_choices(spec, &failure), &failure);
    script.validate().unwrap();
    let line = failure.violation.line;
    let original = simulate(spec, Inputs::up_to(line)).observer.texts;
    let repeated = simulate(&script, Inputs::up_to(u64::MAX)).observer.texts;
    let first_difference = original.iter().zip(&repeated).position(|(one, other)| one != other);
    // How long a run continues depends on the time of its last command, so the repetition of a
    // liveness failure may end earlier than the original.
    let is_short = failure.kind == PropertyKind::Always && repeated.len() < original.len();
    if let Some(index) = first_difference.or(is_short.then_some(repeated.len())) {
        let from = index.saturating_sub(5);
        let [original, repeated] =
            [&original, &repeated].map(|texts| &texts[from.min(texts.len())..(index + 3).min(texts.len())]);
        panic!(
            "{}\ninput {index} differs\n{original:#?}\n{repeated:#?}\n{}",
            spec.command("sim"),
            script.script.unwrap_or_default()
        );
    }
    assert_eq!(
        find_failure(&script).map(|failure| failure.property),
        Some(failure.property),
        "{}",
        spec.command("sim")
    );
    true
}

/// Asserts that every failing run among these seeds repeats, and that at least one run fails.
fn assert_all_repeat<F: FamilyLab>(spec: &Spec<F>, seeds: u64) {
    let failing = (1..=seeds).filter(|seed| assert_repeats(&Spec { seed: *seed, ..spec.clone() })).count();
    assert!(failing > 0, "no seed fails: {}", spec.command("sim"));
}

#[test]
fn mutex_runs_repeat() {
    let spec = |algorithm: &str| Spec::<Mutex>::named(algorithm).unwrap();
    assert_all_repeat(&spec("ricart-agrawala-clock-only"), 60);
    assert_all_repeat(&Spec { nodes: 5, ..spec("ricart-agrawala-node-only") }, 60);
    assert_all_repeat(&Spec { nodes: 4, ..spec("ricart-agrawala-first-only") }, 60);
    assert_all_repeat(&Spec { latency: "long-tail:2ms".parse().unwrap(), ..spec("ricart-agrawala-clock-only") }, 60);
}

#[test]
fn runs_with_faults_repeat() {
    let spec = |algorithm: &str| Spec::<Mutex>::named(algorithm).unwrap();
    let random = "crash=1,pause=2,cut=1,deaf=1,skew=1,drift=1".parse().unwrap();
    assert_all_repeat(&Spec { random_faults: random, ..spec("ricart-agrawala-clock-only") }, 60);
    let pauses = "pause=3".parse().unwrap();
    assert_all_repeat(&Spec { random_faults: pauses, fifo: true, ..spec("ricart-agrawala-clock-only") }, 60);
    let lossy = Spec { loss: "0.1".parse().unwrap(), duplicate: "0.1".parse().unwrap(), ..spec("central") };
    assert_all_repeat(&Spec { links: crate::LinkChoice::Bare, ..lossy.clone() }, 40);
    assert_all_repeat(&Spec { algorithm: Algorithm::named("ricart-agrawala-clock-only").unwrap(), ..lossy }, 40);
    let busy = Spec { processing: "uniform:0ms..2ms".parse().unwrap(), ..spec("ricart-agrawala-clock-only") };
    assert_all_repeat(&busy, 60);
}

fn replica_spec(algorithm: &str, nodes: usize, faults: &str) -> Spec<Replica> {
    let mut text = String::new();
    // The first command comes when there may be a leader, at 150 ms.
    for step in 0..40_u64 {
        let word = if step % 3 == 0 { "read" } else { "write" };
        let node = step % nodes as u64 + 1;
        text.push_str(&format!("{word} {node} at {}ms\n", 150 + 37 * step));
    }
    let script = Some(Script::parse(&text, Replica::COMMANDS).unwrap());
    let mut spec =
        Spec::<Replica> { nodes, script, random_faults: faults.parse().unwrap(), ..Spec::named(algorithm).unwrap() };
    spec.settings.checkpoint_every = 3;
    spec
}

/// Without pauses: a script cannot repeat that a paused node learns of a crash late.
#[test]
fn replica_runs_repeat() {
    assert_all_repeat(&replica_spec("replica-applied-twice", 1, "crash=3"), 30);
    assert_all_repeat(&replica_spec("replica-applied-twice", 3, "crash=3,full=1,disk=2"), 30);
    let slow =
        Spec { disk: "uniform:0ms..40ms".parse().unwrap(), ..replica_spec("replica-early-ack", 1, "crash=4,disk=2") };
    assert_all_repeat(&slow, 60);
    assert_all_repeat(
        &Spec { loss: "0.1".parse().unwrap(), ..replica_spec("replica-applied-twice", 3, "crash=3,cut=2,drift=3") },
        60,
    );
}

#[test]
fn election_runs_repeat() {
    // Nodes do not repeat failed elections, so a cut or a crash can leave them without a leader.
    let settings = election::Settings { repair: Repair::None, ..Default::default() };
    let spec = Spec::<Election> { nodes: 3, settings, ..Spec::named("chang-roberts").unwrap() };
    assert_all_repeat(&Spec { random_faults: "cut=2,crash=1".parse().unwrap(), ..spec }, 60);
}
