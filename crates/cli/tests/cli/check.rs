//! `quorate check`: output, exit codes, and counterexamples that can be replayed.

use crate::run::{Run, run, run_in, run_words};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::fs;

/// Removes figures that differ between runs or depend on the implementation of the checker.
fn without_timings(printed: &str) -> String {
    // The first 26 columns of a line are the name of its figure.
    let names = ["seconds", "states per second", "steps per second", "bytes per state"];
    let lines = printed.lines().map(|line| match (line.get(..26), line.split_once(" generated in ")) {
        (Some(name), _) if names.contains(&name.trim()) => format!("{name}{:>12}\n", "…"),
        (_, Some((begin, _))) => format!("{begin} generated in …\n"),
        (_, None) => format!("{line}\n"),
    });
    lines.collect()
}

/// Returns the last line, which shows how complete the check is.
fn last_line(printed: &str) -> &str {
    printed.lines().last().unwrap_or_default()
}

#[track_caller]
fn printed_command(printed: &str) -> &str {
    let mut lines = printed.lines();
    lines.find_map(|line| line.strip_prefix("To see it again: ")).unwrap_or_else(|| panic!("no command in\n{printed}"))
}

/// Runs commands separated by semicolons, as a shell does, and returns the result of the last one.
fn run_all(folder: &std::path::Path, line: &str) -> Run {
    let commands: Vec<_> = line.split("; ").collect();
    let result: Vec<_> = commands.iter().map(|command| run_in(folder, command)).collect();
    result.into_iter().next_back().unwrap()
}

#[test]
fn a_check_that_holds_is_printed() {
    expect![[r#"
        central · 2 nodes · 2 rounds · no faults · bare links

          states                            88
          generated                        133   transitions and initial states
          depth                             14   steps to the farthest state
          seconds                            …
          states per second                  …
          bytes per state                    …
          states with history               88   for fences-grow: 133 generated in …

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      no-deadlock             holds
          eventually  served                  holds

        complete: every reachable state was explored; the probability that a hash collision hid a state is at most 4.2e-16
    "#]]
    .assert_eq(&without_timings(&run("check central --nodes 2 --rounds 2 --no-reduction").exits(0)));
}

#[test]
fn a_check_that_fails_is_printed_with_its_counterexample() {
    expect![[r#"
        ricart-agrawala-clock-only · 3 nodes · 1 round · no faults · bare links

          states                         9,478
          generated                     28,687   transitions and initial states
          depth                             18   steps to the farthest state
          seconds                            …
          states per second                  …
          bytes per state                    …
          states with history           14,425   for happened-before-order: 45,649 generated in …

          always      exclusion               FAILS in 10 steps
          always      asked-first             holds
          always      happened-before-order   holds
          always      no-deadlock             holds
          eventually  served                  holds

        The shortest run that violates 'exclusion':
              time   1  2  3
             1.000   ·  · [?]  acquire · RA-1 asks all nodes with (1, 3) · request → 1,2
             2.000   · [?] ?   acquire · RA-1 asks all nodes with (1, 2) · request → 1,3
             3.000   · [?] ?   request from 3 · RA-2 replies to (1, 3) · reply → 3
             4.000  [·] ?  ?   request from 2 · RA-2 replies to (1, 2) · reply → 2
             5.000   ·  ? [?]  reply from 2
             6.000   ·  ? [?]  request from 2 · RA-2 replies to (1, 2) · reply → 2
             7.000   · [?] ?   reply from 1
             8.000  [·] ?  ?   request from 3 · RA-2 replies to (1, 3) · reply → 3
             9.000   ·  ? [█]  reply from 1 · RA-3 has every reply · ENTERS (fence 0.0)
            10.000   · [█] █   reply from 3 · RA-3 has every reply · ENTERS (fence 0.0)
                    · idle   ? waiting   █ in the critical section   ‖ paused   ✗ down   [ ] acting node   times in milliseconds

        To see it again: quorate check ricart-agrawala-clock-only --nodes 3 --rounds 1 --no-reduction --trace broken.journal; quorate replay broken.journal --steps
        To draw it: quorate check ricart-agrawala-clock-only --nodes 3 --rounds 1 --no-reduction --svg broken.svg

        complete: every reachable state was explored; the probability that a hash collision hid a state is at most 8.1e-12
    "#]].assert_eq(&without_timings(&run("check ricart-agrawala-clock-only --no-reduction").exits(1)));
}

#[test]
fn a_counterexample_with_a_cycle_is_printed_and_reported() {
    let printed = run("check toy-favourite --rounds unbounded").exits(1);
    assert!(printed.starts_with("toy-favourite · 3 nodes · unbounded rounds · no faults · bare links\n"), "{printed}");
    assert!(printed.contains("\n  states of fair runs "), "{printed}");
    let report = run("check toy-favourite --rounds unbounded --json").json(1);
    let served = &report["properties"].as_array().unwrap().iter().find(|row| row["name"] == "served").unwrap();
    let [length, cycle] = ["counterexample_length", "cycle_length"].map(|name| served[name].as_u64().unwrap());
    let fails = format!("served                  FAILS: {} steps, then {cycle} that repeat forever\n", length - cycle);
    assert!(printed.contains(&fails), "{printed}");
    assert!(printed.contains("\nA run that violates 'served':\n"), "{printed}");
    assert!(printed.contains("from here on the run repeats forever"), "{printed}");
    assert_eq!((&report["rounds"], &report["complete"]), (&"unbounded".into(), &true.into()));
}

/// The code is 1 if a property fails, else 3 if the check is not complete, and else 0.
#[test]
fn the_exit_code_shows_failures_and_completeness() {
    for (line, code, end, complete) in [
        ("central --nodes 2", 0, "complete", true),
        ("ricart-agrawala-modulo --nodes 2 --rounds unbounded", 0, "complete", true),
        ("central --nodes 2 --dfs", 0, "complete", true),
        ("ricart-agrawala --property fences-grow", 0, "complete", true),
        ("ricart-agrawala-clock-only --nodes 2", 1, "complete", true),
        ("ricart-agrawala-clock-only --nodes 2 --stop-at-first", 1, "first-breach", false),
        ("ricart-agrawala-clock-only --nodes 2 --walks 100", 1, "stopped", false),
        ("toy-lease --nodes 2 --drift 1000ppm --until 1100ms", 1, "complete", true),
        // No check within bounded time can judge `served`, so the check counts as complete without
        // it, unless --property names it, as in the last line.
        ("central --nodes 2 --until 10ms", 0, "complete", true),
        ("ricart-agrawala --rounds 2 --memory 0.001", 3, "memory", false),
        ("ricart-agrawala --rounds 2 --memory 0.001 --dfs --no-reduction", 3, "memory", false),
        ("ricart-agrawala --walks 100", 3, "stopped", false),
        ("ricart-agrawala-modulo --nodes 2 --rounds unbounded --dfs", 3, "not-judged", false),
        ("central --nodes 2 --until 10ms --property served", 3, "not-judged", false),
    ] {
        let report = run(&format!("check {line} --json")).json(code);
        assert_eq!((&report["end"], &report["complete"]), (&end.into(), &complete.into()), "{line}: {report}");
        let properties = report["properties"].as_array().unwrap();
        for property in properties {
            assert_eq!(property["holds"] == false, property["counterexample_length"].is_u64(), "{line}: {property}");
            assert_eq!(property["holds"].is_null(), property["why"].is_string(), "{line}: {property}");
        }
        let fails = properties.iter().any(|property| property["holds"] == false);
        assert_eq!((fails, report["replay"].is_string()), (code == 1, code == 1), "{line}");
        let printed = run(&format!("check {line}")).exits(code);
        assert_eq!(last_line(&printed).starts_with("complete: "), complete, "{printed}");
        assert_eq!(printed.contains("FAILS"), code == 1, "{printed}");
        assert_eq!(
            printed.contains("not judged"),
            properties.iter().any(|property| property["holds"].is_null()),
            "{printed}"
        );
    }
}

#[test]
fn the_last_line_shows_how_complete_the_check_is() {
    for (line, code, parts) in [
        (
            "ricart-agrawala --rounds 2 --memory 0.001",
            3,
            &[
                "not finished: stopped at depth ",
                " states, because the memory limit of 0.001 GB was reached; the results so far are valid",
            ][..],
        ),
        (
            "ricart-agrawala-clock-only --stop-at-first",
            1,
            &[
                "not finished: stopped at depth 9 with ",
                ", because --stop-at-first ends a check at the first violation; the results so far are valid",
            ],
        ),
        (
            "central --walks 1234 --steps 9",
            3,
            &["1,234 random walks of at most 9 steps; other states were not explored"],
        ),
        (
            "central --nodes 2 --until 10ms",
            0,
            &[
                "complete: every state reachable within 10ms was explored, except those that the reduction may skip, but 'served' could not be judged; the probability ",
            ],
        ),
        (
            "ricart-agrawala-modulo --nodes 2 --rounds unbounded --dfs",
            3,
            &[
                "not finished: every reachable state was explored, except those that the reduction may skip, but 'served' could not be judged; the probability ",
            ],
        ),
        (
            "central --nodes 2 --until 10ms --property exclusion",
            0,
            &[
                "complete: every state reachable within 10ms was explored, except those that the reduction may skip; the probability that a hash collision hid a state is at most ",
            ],
        ),
    ] {
        let printed = run(&format!("check {line}")).exits(code);
        let last = last_line(&printed);
        assert!(last.starts_with(parts[0]) && parts.iter().all(|part| last.contains(part)), "{line}: {last}");
    }
}

#[test]
fn a_counterexample_replays_and_fails_in_the_same_way() {
    for (line, property) in [
        ("ricart-agrawala-clock-only", "exclusion"),
        ("ricart-agrawala-clock-only --dfs --stop-at-first", "exclusion"),
        ("ricart-agrawala-clock-only --walks 50", "exclusion"),
        ("toy-lease --nodes 2 --drift 1000ppm --until 1100ms", "exclusion"),
        ("toy-favourite --rounds unbounded", "served"),
        ("central --crashes 1 --restarts 1 --property exclusion", "exclusion"),
        ("central --crashes 1 --restarts 1 --property fences-grow", "fences-grow"),
        ("ricart-agrawala --loss 1 --links bare --property served", "served"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let printed = run_in(folder.path(), &format!("check {line} --trace broken.journal")).exits(1);
        let journal = fs::read_to_string(folder.path().join("broken.journal")).unwrap();
        assert!(
            printed.contains(&format!("\njournal: broken.journal ({} lines)\n", journal.lines().count())),
            "{printed}"
        );
        assert_eq!(printed_command(&printed), "quorate replay broken.journal --steps");
        let replayed = run_in(folder.path(), printed_command(&printed)).exits(1);
        let fails = |line: &str| line.split_whitespace().nth(1) == Some(property) && line.contains("FAILS");
        assert!(replayed.lines().any(fails), "{line}:\n{replayed}");
        // The check shows the steps of the journal.
        let steps = printed
            .split_once(&format!(" run that violates '{property}':\n"))
            .unwrap()
            .1
            .split_once("\njournal")
            .unwrap()
            .0;
        assert!(replayed.starts_with(steps.trim_end()), "{steps}\nis not the start of\n{replayed}");
        // Without --trace, the printed command writes the journal and replays it.
        let without_trace = run_in(folder.path(), &format!("check {line}")).exits(1);
        fs::remove_file(folder.path().join("broken.journal")).unwrap();
        assert_eq!(run_all(folder.path(), printed_command(&without_trace)).exits(1), replayed);
        assert_eq!(fs::read_to_string(folder.path().join("broken.journal")).unwrap(), journal);
    }
}

#[test]
fn a_journal_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["it's $HOME", "a b"] {
        let words = ["check", "ricart-agrawala-clock-only", "--nodes", "2", "--trace", name];
        let printed = run_words(folder.path(), &words).exits(1);
        run_in(folder.path(), printed_command(&printed)).exits(1);
        let report: Value = run_words(folder.path(), &[&words[..], &["--json"]].concat()).json(1);
        assert_eq!(report["replay"], printed_command(&printed));
    }
}

#[test]
fn no_journal_is_written_if_no_property_fails() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run_in(folder.path(), "check central --nodes 2 --trace broken.journal").exits(0);
    assert!(
        printed.contains("\nNo property fails, so no journal was written and an existing file is unchanged.\n"),
        "{printed}"
    );
    let report = run_in(folder.path(), "check central --nodes 2 --trace broken.journal --json").json(0);
    assert!(report["replay"].is_null());
    assert!(!folder.path().join("broken.journal").exists());
}

/// A search may take hours, so the command tests whether it can write the file before it starts.
#[test]
fn a_journal_that_cannot_be_written_is_reported_before_the_search() {
    for flags in ["", "--json"] {
        let result = run(&format!("check ricart-agrawala-clock-only --nodes 2 --trace nowhere/broken.journal {flags}"));
        assert_eq!(result.out, "");
        let error = "error: cannot write the journal nowhere/broken.journal: No such file or directory (os error 2).\n";
        assert_eq!(result.error_after_output(), error);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_a_journal_is_reported() {
    let result = run("check ricart-agrawala-clock-only --nodes 2 --trace /dev/full");
    assert!(result.out.contains("FAILS"), "{}", result.out);
    let error = "error: cannot write the journal /dev/full: No space left on device (os error 28).\n";
    assert_eq!(result.error_after_output(), error);
}

#[test]
fn the_shortest_counterexample_is_shown_and_the_others_are_named() {
    let line = "check central --crashes 1 --restarts 1";
    let printed = run(line).exits(1);
    let report = run(&format!("{line} --json")).json(1);
    let broken = report["properties"].as_array().unwrap().iter().filter(|property| property["holds"] == false);
    let mut broken: Vec<_> = broken
        .map(|property| (property["counterexample_length"].as_u64().unwrap(), property["name"].as_str().unwrap()))
        .collect();
    broken.sort_by_key(|(length, _)| *length);
    assert!(broken.len() > 2 && broken[0].0 < broken[broken.len() - 1].0, "choose another line: {broken:?}");
    let names: Vec<_> = broken.iter().map(|(_, name)| *name).collect();
    assert!(printed.contains(&format!("\nThe shortest run that violates '{}':\n", names[0])), "{printed}");
    let hint =
        format!("\nTo see the counterexample of another property, add --property NAME: {}.\n", names[1..].join(", "));
    assert!(printed.contains(&hint), "{printed}");
    for name in names {
        let printed = run(&format!("{line} --property {name}")).exits(1);
        assert!(printed.contains(&format!("\nThe shortest run that violates '{name}':\n")), "{printed}");
        assert!(!printed.contains("--property NAME"), "{printed}");
    }
}

/// Compares checks with one thread and with each of these numbers of threads.
fn assert_checks_do_not_depend_on_threads(threads: &[u32]) {
    for line in [
        "ricart-agrawala --rounds 2",
        "ricart-agrawala-modulo --rounds unbounded",
        "ricart-agrawala-clock-only",
        "toy-lease --nodes 2 --drift 1000ppm --until 1100ms",
        "ricart-agrawala-clock-only --walks 200",
        "ricart-agrawala --rounds 2 --memory 0.003",
    ] {
        let printed = |threads: u32| {
            let result = run(&format!("check {line} --threads {threads}"));
            (result.code, without_timings(&result.out))
        };
        let with_one_thread = printed(1);
        for threads in threads {
            assert_eq!(printed(*threads), with_one_thread, "{threads} threads");
        }
    }
}

#[test]
fn a_check_does_not_depend_on_its_threads() {
    assert_checks_do_not_depend_on_threads(&[5]);
    // If several threads would make the result random, the default is one thread.
    for line in ["ricart-agrawala-clock-only --dfs", "ricart-agrawala-clock-only --walks 500 --stop-at-first"] {
        let printed = || without_timings(&run(&format!("check {line}")).exits(1));
        let once = printed();
        (0..3).for_each(|_| assert_eq!(printed(), once));
    }
}

#[test]
#[ignore = "long: ./check long"]
fn a_check_does_not_depend_on_any_number_of_threads() {
    // Two threads are tried twice, because a race shows only sometimes.
    assert_checks_do_not_depend_on_threads(&[2, 2, 5]);
}

/// The printed command contains every setting and finds the same result.
#[test]
fn the_printed_command_repeats_every_setting() {
    for (line, heading) in [
        (
            "check central --nodes 2 --rounds 2 --try --cancel --fifo --loss 1 --duplicate 1 --crashes 1 --restarts 1 \
             --early-timers 1 --links bare --drift 100ppm --until 5ms --no-reduction --stop-at-first \
             --property exclusion,no-deadlock",
            "central · 2 nodes · 2 rounds with tries and cancels · at most 1 loss, 1 duplicate, 1 crash, 1 restart, \
             1 early timer · bare FIFO links · clocks off by 100ppm",
        ),
        (
            "check ricart-agrawala-clock-only --nodes 2 --rounds unbounded --walks 30 --steps 200 --seed 9",
            "ricart-agrawala-clock-only · 2 nodes · unbounded rounds · no faults · bare links",
        ),
        (
            "check central --nodes 2 --rounds 1 --crashes 2 --dfs",
            "central · 2 nodes · 1 round · at most 2 crashes · bare links",
        ),
        (
            "check central --nodes 2 --rounds 1 --views --changes 2 --membership impatient --crashes 1",
            "central · 2 nodes · 1 round · at most 1 crash, 2 view changes · bare links · in views, with an \
             impatient membership",
        ),
    ] {
        let printed = run(line).exits(1);
        assert_eq!(printed.lines().next(), Some(heading));
        let command = printed_command(&printed).split_once(" --trace ").unwrap().0;
        assert_eq!(command, format!("quorate {line}"));
        assert_eq!(without_timings(&run(command).exits(1)), without_timings(&printed));
    }
}

/// The default membership, `oracle`, removes a node only after the node crashed or its lease ended.
#[test]
fn views_hold_with_leases_and_fail_with_an_impatient_membership() {
    let printed: Value =
        serde_json::from_str(&run("check central --nodes 2 --views --crashes 1 --json").exits(0)).unwrap();
    assert_eq!(printed["views"], serde_json::json!({ "changes": 1, "membership": "oracle" }));
    assert_eq!(printed["complete"], true);
    let folder = tempfile::tempdir().unwrap();
    let line =
        "check token-request --nodes 2 --views --membership impatient --property exclusion --trace impatient.journal";
    let printed = run_in(folder.path(), line).exits(1);
    // View 2 lacks a node that is still up: its only member is node 2 or node 1.
    assert!(printed.contains("view 2 of 2 is decided") || printed.contains("view 2 of 1 is decided"), "{printed}");
    let again = run_in(folder.path(), "replay impatient.journal").exits(1);
    assert!(again.contains("exclusion               FAILS"), "{again}");
    let error = run("check central --views --until 1s").error();
    assert!(error.contains("views are checked without time"), "{error}");
}

/// Runs each line and compares the errors.
#[track_caller]
fn assert_errors(lines: &[&str], expected: &Expect) {
    let printed = lines.iter().map(|line| format!("$ quorate {line}\n{}", run(line).error()));
    expected.assert_eq(&printed.collect::<String>());
}

#[test]
fn invalid_options_are_reported() {
    assert_errors(
        &[
            "check centrl",
            "check central --property exclusoin",
            "check central --property exclusion,",
            "check central --nodes 0",
            "check central --nodes 40",
            "check central --nodes 18446744073709551615",
            "check central --nodes many",
            "check central --rounds 0",
            "check central --rounds 256",
            "check central --rounds endless",
            "check central --loss 99",
            "check central --crashes 1000",
            "check central --loss 0.1",
            "check central --walks 0",
            "check central --walks 5 --steps 0",
            "check central --memory 0",
            "check central --memory 2GB",
            "check central --drift 5",
            "check central --drift=-5ppm",
            "check central --drift 1000000ppm",
            "check central --until 5",
            "check central --links good",
            "check central --dfs --walks 5",
            "check central --seed 5",
        ],
        &expect![[r#"
            $ quorate check centrl
            error: there is no algorithm 'centrl'. Did you mean 'central'? 'quorate list' shows them all.
            $ quorate check central --property exclusoin
            error: --property must name a property of this algorithm; got 'exclusoin'. The properties are exclusion, asked-first, fences-grow, no-deadlock, served.
            $ quorate check central --property exclusion,
            error: --property must name a property of this algorithm; got ''. The properties are exclusion, asked-first, fences-grow, no-deadlock, served.
            $ quorate check central --nodes 0
            error: --nodes must be at least 1; got 0. Use for example --nodes 3.
            $ quorate check central --nodes 40
            error: --nodes must be at most 16 in a check; got 40. For larger groups use 'quorate sweep'.
            $ quorate check central --nodes 18446744073709551615
            error: --nodes must be at most 10000000; got 18446744073709551615.
            $ quorate check central --nodes many
            error: --nodes: 'many' is not a whole number; write for example 7.
            $ quorate check central --rounds 0
            error: --rounds must be at least 1, because without requests there is nothing to check; got 0. Use --rounds 1 or --rounds unbounded.
            $ quorate check central --rounds 256
            error: --rounds: the number must be between 1 and 255, or unbounded; got 256.
            $ quorate check central --rounds endless
            error: --rounds: 'endless' is not a whole number; write for example 7. For no limit use --rounds unbounded.
            $ quorate check central --loss 99
            error: --loss: the number must be at most 31 in a check; got 99.
            $ quorate check central --crashes 1000
            error: --crashes: the number must be at most 31 in a check; got 1000.
            $ quorate check central --loss 0.1
            error: --loss: '0.1' is not a whole number; write for example 7.
            $ quorate check central --walks 0
            error: --walks must be at least 1; got 0.
            $ quorate check central --walks 5 --steps 0
            error: --steps must be at least 1; got 0.
            $ quorate check central --memory 0
            error: --memory: '0' is not an amount of memory; write it in GB, such as 2 or 0.5.
            $ quorate check central --memory 2GB
            error: --memory: '2GB' is not an amount of memory; write it in GB, such as 2 or 0.5.
            $ quorate check central --drift 5
            error: --drift: '5' is not a drift; write for example 200ppm.
            $ quorate check central --drift=-5ppm
            error: --drift: '-5ppm' is invalid: a drift must be between 0ppm and 999999ppm, because it applies in both directions.
            $ quorate check central --drift 1000000ppm
            error: --drift: '1000000ppm' is invalid: a drift must be between 0ppm and 999999ppm, because it applies in both directions.
            $ quorate check central --until 5
            error: --until: '5' has no unit; add one, such as '5ms'. Units are ns, us, ms, s, m, h.
            $ quorate check central --links good
            error: invalid value 'good' for '--links <LINKS>'
              [possible values: auto, bare, reliable]

            For more information, try '--help'.
            $ quorate check central --dfs --walks 5
            error: the argument '--dfs' cannot be used with '--walks <NUMBER>'

            Usage: quorate check --dfs <ALGORITHM>

            For more information, try '--help'.
            $ quorate check central --seed 5
            error: the following required arguments were not provided:
              --walks <NUMBER>

            Usage: quorate check --walks <NUMBER> --seed <SEED> <ALGORITHM>

            For more information, try '--help'.
        "#]],
    );
    for (threads, start) in [
        ("0", "error: --threads must be between 1 and 1024; got 0."),
        ("100000", "error: --threads must be between 1 and 1024; got 100000."),
    ] {
        let error = run(&format!("check central --threads {threads}")).error();
        assert!(error.starts_with(start), "{error}");
    }
}

/// No value of an option causes a panic.
#[test]
fn invalid_values_never_panic() {
    let flags = [
        "--nodes",
        "--rounds",
        "--loss",
        "--duplicate",
        "--crashes",
        "--restarts",
        "--early-timers",
        "--links",
        "--drift",
        "--until",
        "--property",
        "--threads",
        "--memory",
        "--trace",
    ];
    for hostile in crate::errors::HOSTILE_VALUES {
        for flag in flags {
            let result = run_words(std::path::Path::new("."), &["check", "central", "--nodes", "2", flag, hostile]);
            assert!(
                matches!(result.code, Some(0..=3)) && !result.err.contains("panicked"),
                "{flag} {hostile}: {result:?}"
            );
            assert!(!result.err.contains('\u{1b}'), "{flag} {hostile}: {result:?}");
        }
        let walks = ["check", "central", "--walks", "3", "--steps", hostile, "--seed", hostile];
        assert!(matches!(run_words(std::path::Path::new("."), &walks).code, Some(2 | 3)), "{hostile}");
    }
}
