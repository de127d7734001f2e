//! Invalid input: the error names what is wrong. The exit code is 2, and nothing else is printed.

use crate::run::{run, run_in, run_words};
use expect_test::{Expect, expect};
use std::fs;
use tempfile::TempDir;

/// Returns a folder with invalid journals and scripts.
fn invalid_files() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let files: [(&str, &[u8]); 8] = [
        ("empty", b""),
        ("not-a-journal", b"Dear reader,\n"),
        ("bytes", b"\xff\xfe\n"),
        ("header-only", b"{\"journal\":1}\n"),
        ("newer", b"{\"journal\":9}\n"),
        ("misspelt", b"crash 2 at 5ms\nacqire 2 at 6ms\n"),
        ("unknown-node", b"acquire 7 at 1ms\n"),
        ("unitless", b"\n# a comment\nacquire 2 at 5\n"),
    ];
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// Runs each line and compares the errors.
#[track_caller]
fn assert_errors(lines: &[&str], expected: &Expect) {
    let folder = invalid_files();
    let printed = lines.iter().map(|line| format!("$ quorate {line}\n{}", run_in(folder.path(), line).error()));
    expected.assert_eq(&printed.collect::<String>());
}

#[test]
fn unknown_algorithms_are_reported() {
    assert_errors(
        &["sim centrl", "sim xyzzy", "sim ''", "explain ricart", "sweep Central"],
        &expect![[r#"
            $ quorate sim centrl
            error: there is no algorithm 'centrl'. Did you mean 'central'? 'quorate list' shows them all.
            $ quorate sim xyzzy
            error: there is no algorithm 'xyzzy'. The algorithms are central, central-deny, central-deny-and-queue, lamport, ricart-agrawala, ricart-agrawala-broadcast, ricart-agrawala-ring, ricart-agrawala-implicit, ricart-agrawala-modulo, token-ring, token-ring-acknowledged, token-request, raymond, roucairol-carvalho, readers-writers, maekawa, maekawa-plane, voting, voting-sequential, mutex-by-election, chang-roberts, lelann, ring-list, hirschberg-sinclair, franklin, peterson, bully, invitation, majority-lease, raft, super-peer, by-mutex, consensus-by-election, basic, reliable, fifo, causal, sequencer, isis, fifo-total, causal-total, fifo-isis, causal-isis, deadlock-and, deadlock-or, deadlock-central and replica; 'quorate list' describes them.
            $ quorate sim ''
            error: there is no algorithm ''. The algorithms are central, central-deny, central-deny-and-queue, lamport, ricart-agrawala, ricart-agrawala-broadcast, ricart-agrawala-ring, ricart-agrawala-implicit, ricart-agrawala-modulo, token-ring, token-ring-acknowledged, token-request, raymond, roucairol-carvalho, readers-writers, maekawa, maekawa-plane, voting, voting-sequential, mutex-by-election, chang-roberts, lelann, ring-list, hirschberg-sinclair, franklin, peterson, bully, invitation, majority-lease, raft, super-peer, by-mutex, consensus-by-election, basic, reliable, fifo, causal, sequencer, isis, fifo-total, causal-total, fifo-isis, causal-isis, deadlock-and, deadlock-or, deadlock-central and replica; 'quorate list' describes them.
            $ quorate explain ricart
            error: there is no algorithm 'ricart'. Did you mean 'ricart-agrawala'? 'quorate list' shows them all.
            $ quorate sweep Central
            error: there is no algorithm 'Central'. Did you mean 'central'? 'quorate list' shows them all.
        "#]],
    );
}

#[test]
fn invalid_numbers_are_reported() {
    assert_errors(
        &[
            "sim central --nodes 0",
            "sim central --nodes -1",
            "sim central --until -1ms",
            "sim central --nodes three",
            "sim central --nodes 20000000",
            "sim central --nodes 99999999999999999999",
            "sim central --entries 1e3",
            "sim central --seed ''",
            "sweep central --seeds 0",
            "sweep central --seeds -5",
            "bench sim --events 1",
        ],
        &expect![[r#"
            $ quorate sim central --nodes 0
            error: --nodes must be at least 1; got 0. Use for example --nodes 3.
            $ quorate sim central --nodes -1
            error: --nodes: the number must not be negative; got '-1'.
            $ quorate sim central --until -1ms
            error: '-1' is not an option. Most values cannot be negative; one that can be must follow '=', as in --from=-1ms.
            $ quorate sim central --nodes three
            error: --nodes: 'three' is not a whole number; write for example 7.
            $ quorate sim central --nodes 20000000
            error: --nodes must be at most 10000000; got 20000000.
            $ quorate sim central --nodes 99999999999999999999
            error: --nodes: the number must be at most 18446744073709551615; got '99999999999999999999'.
            $ quorate sim central --entries 1e3
            error: --entries: '1e3' is not a whole number; write for example 7.
            $ quorate sim central --seed ''
            error: --seed: '' is not a whole number; write for example 7.
            $ quorate sweep central --seeds 0
            error: --seeds must be at least 1; got 0.
            $ quorate sweep central --seeds -5
            error: --seeds: the number must not be negative; got '-5'.
            $ quorate bench sim --events 1
            error: --events must be at least 1000; got 1.
        "#]],
    );
}

#[test]
fn control_characters_are_escaped() {
    for (line, quoted) in [("sim 'a\u{1b}b'", "'a\\u{1b}b'"), ("replay 'a\u{7}b'", "cannot open the journal a\\u{7}b")]
    {
        let error = run_in(invalid_files().path(), line).error();
        assert!(error.contains(quoted), "{error}");
    }
}

/// The number of cores differs between machines, so these errors are not compared as a whole.
#[test]
fn invalid_numbers_of_threads_are_reported() {
    for (threads, beginning) in [
        ("0", "error: --threads must be between 1 and 1024; got 0."),
        ("100000", "error: --threads must be between 1 and 1024; got 100000."),
    ] {
        let error = run_in(invalid_files().path(), &format!("sweep central --threads {threads}")).error();
        assert!(error.starts_with(beginning), "{error}");
    }
}

#[test]
fn invalid_settings_are_reported() {
    assert_errors(
        &[
            "sim central --latency 5",
            "sim central --latency fixed:5",
            "sim central --latency fixed:0ms",
            "sim central --latency unifrom:1ms..2ms",
            "sim central --latency uniform:5ms..1ms",
            "sim central --loss 2",
            "sim central --loss -0.5",
            "sim central --duplicate often",
            "sim central --workload sinlge",
            "sim central --links good",
            "sim central --until 5",
            "sim central --requesters 4",
            "sim central --nodes 1 --requesters 2",
            "sim central --requesters 3-1",
            "sim central --random-faults fire",
            "sim central --random-faults pase=2",
            "sim central --random-faults pause=none",
        ],
        &expect![[r#"
            $ quorate sim central --latency 5
            error: --latency: '5' is not a latency. Write fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            $ quorate sim central --latency fixed:5
            error: --latency: '5' has no unit; add one, such as '5ms'. Units are ns, us, ms, s, m, h.
            $ quorate sim central --latency fixed:0ms
            error: --latency must be greater than 0; got 0ms. Use for example --latency fixed:1ms.
            $ quorate sim central --latency unifrom:1ms..2ms
            error: --latency: 'unifrom' is not a latency; did you mean 'uniform'? Write fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            $ quorate sim central --latency uniform:5ms..1ms
            error: --latency: 'uniform:5ms..1ms' has its bounds in the wrong order; write uniform:1ms..5ms.
            $ quorate sim central --loss 2
            error: --loss: '2' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
            $ quorate sim central --loss -0.5
            error: --loss: '-0.5' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
            $ quorate sim central --duplicate often
            error: --duplicate: 'often' is not a chance; write for example 0.1 or 10%.
            $ quorate sim central --workload sinlge
            error: invalid value 'sinlge' for '--workload <WORKLOAD>'
              [possible values: single, all, random]

              tip: a similar value exists: 'single'

            For more information, try '--help'.
            $ quorate sim central --links good
            error: invalid value 'good' for '--links <LINKS>'
              [possible values: auto, bare, reliable]

            For more information, try '--help'.
            $ quorate sim central --until 5
            error: --until: '5' has no unit; add one, such as '5ms'. Units are ns, us, ms, s, m, h.
            $ quorate sim central --requesters 4
            error: --requesters must name nodes of the group; got node 4, but there are only nodes 1 to 3.
            $ quorate sim central --nodes 1 --requesters 2
            error: --requesters must name nodes of the group; got node 2, but there is only node 1.
            $ quorate sim central --requesters 3-1
            error: --requesters: '3-1' has its bounds in the wrong order; write 1-3.
            $ quorate sim central --random-faults fire
            error: --random-faults: 'fire' is not a kind of random fault. Kinds are crash, pause, cut, deaf, skew, drift, full, disk.
            $ quorate sim central --random-faults pase=2
            error: --random-faults: 'pase' is not a kind of random fault; did you mean 'pause'? Kinds are crash, pause, cut, deaf, skew, drift, full, disk.
            $ quorate sim central --random-faults pause=none
            error: --random-faults: the number of faults must be between 1 and 1000; got 'none'. Write it like pause=2.
        "#]],
    );
}

#[test]
fn invalid_faults_are_reported() {
    assert_errors(
        &[
            "sim central --fault 'crash 9 at 10ms'",
            "sim central --fault 'crsh 2'",
            "sim central --fault ''",
            "sim central --fault 'crash'",
            "sim central --fault 'crash 2 at 10'",
            "sim central --fault 'cut 1 | 1'",
            "sim central --fault 'cut 1,2,3 | rest'",
            "sim central --fault 'heal for 3ms'",
            "sim central --fault 'link 1 > 2 latency fixed:0ms'",
        ],
        &expect![[r#"
            $ quorate sim central --fault 'crash 9 at 10ms'
            error: 'crash 9 at 10ms' names node 9, but there are only nodes 1 to 3.
            $ quorate sim central --fault 'crsh 2'
            error: --fault: 'crsh' is not a fault; did you mean 'crash'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link.
            $ quorate sim central --fault ''
            error: --fault: '' lacks a fault; write for example 'crash 2 at 10ms'.
            $ quorate sim central --fault 'crash'
            error: --fault: 'crash' lacks a node; write crash NODE [torn, or keeping COUNT] [at TIME] [for DURATION].
            $ quorate sim central --fault 'crash 2 at 10'
            error: --fault: '10' has no unit; add one, such as '10ms'. Units are ns, us, ms, s, m, h.
            $ quorate sim central --fault 'cut 1 | 1'
            error: --fault: '1 | 1' puts node 1 on two sides; leave it on one.
            $ quorate sim central --fault 'cut 1,2,3 | rest'
            error: 'cut 1-3 | rest' leaves no node for 'rest': it names all nodes of the group.
            $ quorate sim central --fault 'heal for 3ms'
            error: --fault: 'heal' is instantaneous and has no duration; leave out 'for 3ms'.
            $ quorate sim central --fault 'link 1 > 2 latency fixed:0ms'
            error: --latency must be greater than 0; got 0ms. Use for example --latency fixed:1ms.
        "#]],
    );
}

#[test]
fn invalid_scripts_are_reported() {
    assert_errors(
        &[
            "sim central --script nowhere",
            "sim central --script folder",
            "sim central --script bytes",
            "sim central --script misspelt",
            "sim central --script unknown-node",
            "sim central --script unitless",
        ],
        &expect![[r#"
            $ quorate sim central --script nowhere
            error: cannot read the script nowhere: No such file or directory (os error 2).
            $ quorate sim central --script folder
            error: cannot read the script folder: Is a directory (os error 21).
            $ quorate sim central --script bytes
            error: cannot read the script bytes: stream did not contain valid UTF-8.
            $ quorate sim central --script misspelt
            error: invalid script misspelt: line 2, 'acqire 2 at 6ms': 'acqire' is not a fault, a command or a direction; did you mean 'acquire'? Faults are crash, restart, pause, resume, disk, close, cut, heal, skew, drift, link. Commands are acquire, try, share, cancel, release. Directions are message, timer, sync.
            $ quorate sim central --script unknown-node
            error: invalid script unknown-node: line 1: 'acquire 7 at 1ms' names node 7, but there are only nodes 1 to 3.
            $ quorate sim central --script unitless
            error: invalid script unitless: line 3, 'acquire 2 at 5': '5' has no unit; add one, such as '5ms'. Units are ns, us, ms, s, m, h.
        "#]],
    );
}

#[test]
fn invalid_journals_are_reported() {
    assert_errors(
        &[
            "sim central --trace nowhere/run.journal",
            "sim central --trace folder",
            "replay nowhere",
            "replay folder",
            "replay empty",
            "replay not-a-journal",
            "trace bytes",
            "trace header-only --summary",
            "trace newer",
        ],
        &expect![[r#"
            $ quorate sim central --trace nowhere/run.journal
            error: cannot write the journal nowhere/run.journal: No such file or directory (os error 2).
            $ quorate sim central --trace folder
            error: cannot write the journal folder: Is a directory (os error 21).
            $ quorate replay nowhere
            error: cannot open the journal nowhere: No such file or directory (os error 2).
            $ quorate replay folder
            error: in folder: cannot read the journal: Is a directory (os error 21).
            $ quorate replay empty
            error: in empty: the journal is empty: it has no header line.
            $ quorate replay not-a-journal
            error: in not-a-journal: this is not a journal: its first line is not a header (expected value at line 1 column 1). The option --trace FILE writes journals.
            $ quorate trace bytes
            error: in bytes: line 1 of the journal is malformed: it is not valid UTF-8. All lines before it are valid.
            $ quorate trace header-only --summary
            error: in header-only: this is not a journal: its first line is not a header (missing field `algorithm` at line 1 column 13). The option --trace FILE writes journals.
            $ quorate trace newer
            error: in newer: the journal has format 9, but this program reads formats up to 2. Use a newer quorate.
        "#]],
    );
}

#[test]
fn invalid_command_lines_are_reported() {
    assert_errors(
        &[
            "smi",
            "sim",
            "sim central again",
            "sim central --node 4",
            "sim central --steps --json",
            "trace not-a-journal --before 4",
            "trace not-a-journal --before 4 9 --clocks",
            "bench all",
        ],
        &expect![[r#"
            $ quorate smi
            error: unrecognized subcommand 'smi'

            Usage: quorate [COMMAND]

            For more information, try '--help'.
            $ quorate sim
            error: the following required arguments were not provided:
              <ALGORITHM>

            Usage: quorate sim <ALGORITHM>

            For more information, try '--help'.
            $ quorate sim central again
            error: the subcommand 'again' cannot be used with '<ALGORITHM>'

            Usage: quorate sim [OPTIONS] <ALGORITHM>
                   quorate sim <local|race|armies|detector|berkeley>

            For more information, try '--help'.
            $ quorate sim central --node 4
            error: unexpected argument '--node' found

              tip: a similar argument exists: '--nodes'

            Usage: quorate sim --nodes <NODES> <ALGORITHM>

            For more information, try '--help'.
            $ quorate sim central --steps --json
            error: the argument '--steps' cannot be used with '--json'

            Usage: quorate sim --steps <ALGORITHM>

            For more information, try '--help'.
            $ quorate trace not-a-journal --before 4
            error: 2 values required for '--before <LINE> <LINE>' but 1 was provided

            Usage: quorate trace [OPTIONS] <FILE>

            For more information, try '--help'.
            $ quorate trace not-a-journal --before 4 9 --clocks
            error: the argument '--before <LINE> <LINE>' cannot be used with '--clocks'

            Usage: quorate trace --before <LINE> <LINE> <FILE>

            For more information, try '--help'.
            $ quorate bench all
            error: invalid value 'all' for '<SUBJECT>'
              [possible values: sim, check, replica, fail-over, members, net, deadlock]

            For more information, try '--help'.
        "#]],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_a_journal_is_reported() {
    assert_errors(
        &["sim central --trace /dev/full"],
        &expect![[r#"
            $ quorate sim central --trace /dev/full
            error: cannot write the journal: No space left on device (os error 28). The run itself completed.
        "#]],
    );
}

/// Invalid or extreme values of options.
pub(crate) const HOSTILE_VALUES: [&str; 25] = [
    "",
    " ",
    "-",
    "--",
    "-1",
    "0",
    "0.0",
    "1e400",
    "NaN",
    "inf",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807ns",
    "fixed:18446744073709551615ns",
    "uniform:0ms..5124095h",
    "long-tail:5124095h",
    "crash 4294967295 at 18446744073709551615ns for 18446744073709551615ns",
    "cut 1 > 2 at 2562047h",
    "pause=1000,crash=1000,cut=1000",
    "1-4294967295",
    "☃\u{202e}\u{1b}[31m",
    "%s%n",
    "../../../..",
    "'\"`$(x)\\",
    "\t\r\n",
];

const SIM_OPTIONS: [&str; 19] = [
    "--nodes",
    "--seed",
    "--entries",
    "--workload",
    "--requesters",
    "--latency",
    "--processing",
    "--disk",
    "--hold",
    "--think",
    "--loss",
    "--duplicate",
    "--links",
    "--try",
    "--cancel",
    "--fault",
    "--script",
    "--random-faults",
    "--until",
];

/// No value of an option causes a panic, and an error prints nothing to standard output.
#[test]
fn invalid_values_never_panic() {
    let folder = invalid_files();
    let check = |words: &[&str]| {
        let result = run_words(folder.path(), words);
        assert!(matches!(result.code, Some(0..=3)) && !result.err.contains("panicked"), "{words:?}: {result:?}");
        assert!(result.code != Some(2) || result.out.is_empty(), "{words:?}: {result:?}");
        assert!(!result.err.contains('\u{1b}'), "{words:?}: {result:?}");
    };
    for hostile in HOSTILE_VALUES {
        let long_value = hostile.repeat(500);
        for option in SIM_OPTIONS {
            // A time limit first, so that a run with a valid value ends soon.
            check(&["sim", "central", "--until", "1s", option, hostile]);
        }
        for option in ["--seeds", "--threads", "--seed"] {
            check(&["sweep", "ricart-agrawala-clock-only", option, hostile]);
        }
        for word in [hostile, &long_value] {
            check(&["sim", word]);
            check(&["explain", word]);
            check(&["replay", word]);
            check(&["trace", word, "--before", word, word]);
            check(&["bench", word]);
            check(&[word]);
            check(&["sim", "central", "--fault", word, "--random-faults", word]);
        }
    }
}

#[test]
fn a_journal_does_not_overwrite_its_script() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan"), "crash 2 at 5ms\n").unwrap();
    let error = run_in(folder.path(), "sim central --script plan --trace ./plan").error();
    assert_eq!(error, "error: --trace ./plan would overwrite the script; give the journal another name.\n");
    assert_eq!(fs::read_to_string(folder.path().join("plan")).unwrap(), "crash 2 at 5ms\n");
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_file_is_rejected() {
    for line in ["replay /dev/zero", "trace /dev/zero", "sim central --script /dev/zero"] {
        let error = run(line).error();
        assert!(error.contains("longer than") || error.contains("must be smaller than"), "{error}");
    }
}
