//! `quorate check`: what it prints, how it ends, and that what it finds can be seen again.

use crate::run::{Run, run, run_in, run_words};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::fs;

/// The text without what no two runs share, and without the bytes, which are the engine's own affair.
fn timeless(told: &str) -> String {
    let names = ["seconds", "states a second", "steps a second", "bytes a state"];
    let lines = told.lines().map(|line| match (line.get(..26), line.split_once(" generated in ")) {
        (Some(name), _) if names.contains(&name.trim()) => format!("{name}{:>12}\n", "…"),
        (_, Some((begin, _))) => format!("{begin} generated in …\n"),
        (_, None) => format!("{line}\n"),
    });
    lines.collect()
}

/// The last line, which says how far the check can be trusted.
fn last_line(told: &str) -> &str {
    told.lines().last().unwrap_or_default()
}

#[track_caller]
fn printed_command(told: &str) -> &str {
    let mut lines = told.lines();
    lines.find_map(|line| line.strip_prefix("To see it again: ")).unwrap_or_else(|| panic!("no command in\n{told}"))
}

/// Runs a line that may have several commands, and gives what the last one did.
fn run_all(folder: &std::path::Path, line: &str) -> Run {
    let commands: Vec<_> = line.split(" && ").collect();
    let ended: Vec<_> = commands.iter().map(|command| run_in(folder, command)).collect();
    ended.into_iter().next_back().unwrap()
}

#[test]
fn one_that_holds() {
    expect![[r#"
        central · 2 nodes · 2 rounds · no faults · bare links

          states                            88
          generated                        133   transitions, and initial states
          depth                             14   steps to the farthest state
          seconds                            …
          states a second                    …
          bytes a state                      …
          with memory of the past           88   for fences-grow: 133 generated in …

          always      exclusion               holds
          always      asked-first             holds
          always      fences-grow             holds
          always      no-deadlock             holds
          eventually  served                  holds

        complete: every reachable state was seen; the chance that a hash collision hid one is at most 4.2e-16
    "#]]
    .assert_eq(&timeless(&run("check central --nodes 2 --rounds 2 --no-reduction").ok(0)));
}

#[test]
fn one_that_fails() {
    expect![[r#"
        ricart-agrawala-clock-only · 3 nodes · 1 round · no faults · bare links

          states                         9,478
          generated                     28,687   transitions, and initial states
          depth                             18   steps to the farthest state
          seconds                            …
          states a second                    …
          bytes a state                      …
          with memory of the past       14,425   for happened-before-order: 45,649 generated in …

          always      exclusion               FAILS in 10 steps
          always      asked-first             holds
          always      happened-before-order   holds
          always      no-deadlock             holds
          eventually  served                  holds

        The shortest way to break 'exclusion':
              time   1  2  3
             1.000   ·  · [?]  acquire · RA-1 asks everyone with (1, 3) · request → 1,2
             2.000   · [?] ?   acquire · RA-1 asks everyone with (1, 2) · request → 1,3
             3.000   · [?] ?   request from 3 · RA-2 lets (1, 3) pass · reply → 3
             4.000  [·] ?  ?   request from 2 · RA-2 lets (1, 2) pass · reply → 2
             5.000   ·  ? [?]  reply from 2
             6.000   ·  ? [?]  request from 2 · RA-2 lets (1, 2) pass · reply → 2
             7.000   · [?] ?   reply from 1
             8.000  [·] ?  ?   request from 3 · RA-2 lets (1, 3) pass · reply → 3
             9.000   ·  ? [█]  reply from 1 · RA-3 has every reply · ENTERS (fence 0.0)
            10.000   · [█] █   reply from 3 · RA-3 has every reply · ENTERS (fence 0.0)
                    · outside   ? waiting   █ inside   ‖ paused   ✗ down   [ ] whose step it is   times in milliseconds

        To see it again: quorate check ricart-agrawala-clock-only --nodes 3 --rounds 1 --no-reduction --trace broken.journal && quorate replay broken.journal --steps
        To draw it: quorate check ricart-agrawala-clock-only --nodes 3 --rounds 1 --no-reduction --svg broken.svg

        complete: every reachable state was seen; the chance that a hash collision hid one is at most 8.1e-12
    "#]].assert_eq(&timeless(&run("check ricart-agrawala-clock-only --no-reduction").ok(1)));
}

#[test]
fn one_that_goes_in_a_circle() {
    let told = run("check toy-favourite --rounds unbounded").ok(1);
    assert!(told.starts_with("toy-favourite · 3 nodes · rounds without end · no faults · bare links\n"), "{told}");
    assert!(told.contains("\n  fair runs "), "{told}");
    let report = run("check toy-favourite --rounds unbounded --json").json(1);
    let served = &report["properties"].as_array().unwrap().iter().find(|row| row["name"] == "served").unwrap();
    let [length, cycle] = ["counterexample_length", "cycle_length"].map(|name| served[name].as_u64().unwrap());
    let fails = format!("served                  FAILS: {} steps, then {cycle} that repeat for ever\n", length - cycle);
    assert!(told.contains(&fails), "{told}");
    assert!(told.contains("\nA way to break 'served':\n"), "{told}");
    assert!(told.contains("from here on the run repeats for ever"), "{told}");
    assert_eq!((&report["rounds"], &report["complete"]), (&"unbounded".into(), &true.into()));
}

#[test]
fn an_exit_code_says_what_was_found_and_whether_all_was_seen() {
    for (line, code, end, complete) in [
        ("central --nodes 2", 0, "complete", true),
        ("ricart-agrawala-modulo --nodes 2 --rounds unbounded", 0, "complete", true),
        ("central --nodes 2 --dfs", 0, "complete", true),
        ("ricart-agrawala --property fences-grow", 0, "complete", true),
        ("ricart-agrawala-clock-only --nodes 2", 1, "complete", true),
        ("ricart-agrawala-clock-only --nodes 2 --first", 1, "first-breach", false),
        ("ricart-agrawala-clock-only --nodes 2 --walks 100", 1, "stopped", false),
        ("toy-lease --nodes 2 --drift 1000ppm --until 1100ms", 1, "complete", true),
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
        let told = run(&format!("check {line}")).ok(code);
        assert_eq!(last_line(&told).starts_with("complete: "), complete, "{told}");
        assert_eq!(told.contains("FAILS"), code == 1, "{told}");
        assert_eq!(
            told.contains("not judged"),
            properties.iter().any(|property| property["holds"].is_null()),
            "{told}"
        );
    }
}

#[test]
fn the_last_line_says_how_far_a_check_can_be_trusted() {
    for (line, code, parts) in [
        (
            "ricart-agrawala --rounds 2 --memory 0.001",
            3,
            &[
                "not finished: stopped at depth ",
                " states, because the memory limit of 0.001 GB was reached; what was found so far stands",
            ][..],
        ),
        (
            "ricart-agrawala-clock-only --first",
            1,
            &[
                "not finished: stopped at depth 9 with ",
                ", because --first ends a check with its first breach; what was found so far stands",
            ],
        ),
        (
            "central --walks 1234 --steps 9",
            3,
            &["1,234 random walks of at most 9 steps; states beyond them were not seen"],
        ),
        (
            "central --nodes 2 --until 10ms",
            0,
            &[
                "complete: every state reachable within 10ms was seen, but for those that reduction may skip, though 'served' could not be judged; the chance ",
            ],
        ),
        (
            "ricart-agrawala-modulo --nodes 2 --rounds unbounded --dfs",
            3,
            &[
                "not finished: every reachable state was seen, but for those that reduction may skip, though 'served' could not be judged; the chance ",
            ],
        ),
        (
            "central --nodes 2 --until 10ms --property exclusion",
            0,
            &[
                "complete: every state reachable within 10ms was seen, but for those that reduction may skip; the chance that a hash collision hid one is at most ",
            ],
        ),
    ] {
        let told = run(&format!("check {line}")).ok(code);
        let last = last_line(&told);
        assert!(last.starts_with(parts[0]) && parts.iter().all(|part| last.contains(part)), "{line}: {last}");
    }
}

#[test]
fn a_counterexample_replays_and_fails_in_the_same_way() {
    for (line, property) in [
        ("ricart-agrawala-clock-only", "exclusion"),
        ("ricart-agrawala-clock-only --dfs --first", "exclusion"),
        ("ricart-agrawala-clock-only --walks 50", "exclusion"),
        ("toy-lease --nodes 2 --drift 1000ppm --until 1100ms", "exclusion"),
        ("toy-favourite --rounds unbounded", "served"),
        ("central --crashes 1 --restarts 1 --property exclusion", "exclusion"),
        ("central --crashes 1 --restarts 1 --property fences-grow", "fences-grow"),
        ("ricart-agrawala --loss 1 --links bare --property served", "served"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let told = run_in(folder.path(), &format!("check {line} --trace broken.journal")).ok(1);
        let journal = fs::read_to_string(folder.path().join("broken.journal")).unwrap();
        assert!(told.contains(&format!("\njournal: broken.journal ({} lines)\n", journal.lines().count())), "{told}");
        assert_eq!(printed_command(&told), "quorate replay broken.journal --steps");
        let replayed = run_in(folder.path(), printed_command(&told)).ok(1);
        let fails = |line: &str| line.split_whitespace().nth(1) == Some(property) && line.contains("FAILS");
        assert!(replayed.lines().any(fails), "{line}:\n{replayed}");
        // The steps that the check shows are those of the journal.
        let story =
            told.split_once(&format!(" way to break '{property}':\n")).unwrap().1.split_once("\njournal").unwrap().0;
        assert!(replayed.starts_with(story.trim_end()), "{story}\nis not the begin of\n{replayed}");
        // Without a file, the command that is printed writes one and replays it.
        let untold = run_in(folder.path(), &format!("check {line}")).ok(1);
        fs::remove_file(folder.path().join("broken.journal")).unwrap();
        assert_eq!(run_all(folder.path(), printed_command(&untold)).ok(1), replayed);
        assert_eq!(fs::read_to_string(folder.path().join("broken.journal")).unwrap(), journal);
    }
}

#[test]
fn a_journal_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["it's $HOME", "a b"] {
        let words = ["check", "ricart-agrawala-clock-only", "--nodes", "2", "--trace", name];
        let told = run_words(folder.path(), &words).ok(1);
        run_in(folder.path(), printed_command(&told)).ok(1);
        let report: Value = run_words(folder.path(), &[&words[..], &["--json"]].concat()).json(1);
        assert_eq!(report["replay"], printed_command(&told));
    }
}

#[test]
fn nothing_is_written_where_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let told = run_in(folder.path(), "check central --nodes 2 --trace broken.journal").ok(0);
    assert!(
        told.contains("\nno property fails, so there is no trace to write, and the file is left as it was\n"),
        "{told}"
    );
    let report = run_in(folder.path(), "check central --nodes 2 --trace broken.journal --json").json(0);
    assert!(report["replay"].is_null());
    assert!(!folder.path().join("broken.journal").exists());
}

/// A search may take hours, so this is found out before it begins.
#[test]
fn a_journal_that_cannot_be_written() {
    for flags in ["", "--json"] {
        let ended = run(&format!("check ricart-agrawala-clock-only --nodes 2 --trace nowhere/broken.journal {flags}"));
        assert_eq!(ended.out, "");
        let complaint =
            "error: The journal nowhere/broken.journal could not be written: No such file or directory (os error 2).\n";
        assert_eq!(ended.refusal(), complaint);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_journal_on_a_full_disk() {
    let ended = run("check ricart-agrawala-clock-only --nodes 2 --trace /dev/full");
    assert!(ended.out.contains("FAILS"), "{}", ended.out);
    let complaint = "error: The journal /dev/full could not be written: No space left on device (os error 28).\n";
    assert_eq!(ended.refusal(), complaint);
}

#[test]
fn the_shortest_of_several_counterexamples_is_shown_and_the_others_can_be() {
    let line = "check central --crashes 1 --restarts 1";
    let told = run(line).ok(1);
    let report = run(&format!("{line} --json")).json(1);
    let broken = report["properties"].as_array().unwrap().iter().filter(|property| property["holds"] == false);
    let mut broken: Vec<_> = broken
        .map(|property| (property["counterexample_length"].as_u64().unwrap(), property["name"].as_str().unwrap()))
        .collect();
    broken.sort_by_key(|(length, _)| *length);
    assert!(broken.len() > 2 && broken[0].0 < broken[broken.len() - 1].0, "choose another line: {broken:?}");
    let names: Vec<_> = broken.iter().map(|(_, name)| *name).collect();
    assert!(told.contains(&format!("\nThe shortest way to break '{}':\n", names[0])), "{told}");
    let hint = format!("\n--property NAME shows how another is broken: {}.\n", names[1..].join(", "));
    assert!(told.contains(&hint), "{told}");
    for name in names {
        let told = run(&format!("{line} --property {name}")).ok(1);
        assert!(told.contains(&format!("\nThe shortest way to break '{name}':\n")), "{told}");
        assert!(!told.contains("--property NAME"), "{told}");
    }
}

/// Runs checks with one thread, and again with each of these numbers of them.
fn checks_do_not_depend_on(threads: &[u32]) {
    for line in [
        "ricart-agrawala --rounds 2",
        "ricart-agrawala-modulo --rounds unbounded",
        "ricart-agrawala-clock-only",
        "toy-lease --nodes 2 --drift 1000ppm --until 1100ms",
        "ricart-agrawala-clock-only --walks 200",
        "ricart-agrawala --rounds 2 --memory 0.003",
    ] {
        let told = |threads: u32| {
            let ended = run(&format!("check {line} --threads {threads}"));
            (ended.code, timeless(&ended.out))
        };
        let alone = told(1);
        for threads in threads {
            assert_eq!(told(*threads), alone, "{threads} threads");
        }
    }
}

#[test]
fn a_check_does_not_depend_on_its_threads() {
    checks_do_not_depend_on(&[5]);
    // Where several threads would race for what is found first, there is one unless more are asked for.
    for line in ["ricart-agrawala-clock-only --dfs", "ricart-agrawala-clock-only --walks 500 --first"] {
        let told = || timeless(&run(&format!("check {line}")).ok(1));
        let once = told();
        (0..3).for_each(|_| assert_eq!(told(), once));
    }
}

#[test]
#[ignore = "long: ./check long"]
fn a_check_does_not_depend_on_any_number_of_threads() {
    checks_do_not_depend_on(&[2, 2, 5]);
}

/// Whatever can be set is in the printed command: it finds the same to the last byte.
#[test]
fn the_printed_command_repeats_every_setting() {
    for (line, heading) in [
        (
            "check central --nodes 2 --rounds 2 --try --cancel --fifo --loss 1 --duplicate 1 --crashes 1 --restarts 1 \
             --hasty-timers 1 --links bare --drift 100ppm --until 5ms --no-reduction --first \
             --property exclusion,no-deadlock",
            "central · 2 nodes · 2 rounds with tries and cancels · at most 1 loss, 1 duplicate, 1 crash, 1 restart, \
             1 hasty timer · bare FIFO links · clocks off by 100ppm",
        ),
        (
            "check ricart-agrawala-clock-only --nodes 2 --rounds unbounded --walks 30 --steps 200 --seed 9",
            "ricart-agrawala-clock-only · 2 nodes · rounds without end · no faults · bare links",
        ),
        (
            "check central --nodes 2 --rounds 1 --crashes 2 --dfs",
            "central · 2 nodes · 1 round · at most 2 crashes · bare links",
        ),
        (
            "check central --nodes 2 --rounds 1 --views --changes 2 --membership impatient --crashes 1",
            "central · 2 nodes · 1 round · at most 1 crash, 2 changes of the view · bare links · in views, by an \
             impatient membership",
        ),
    ] {
        let told = run(line).ok(1);
        assert_eq!(told.lines().next(), Some(heading));
        let command = printed_command(&told).split_once(" --trace ").unwrap().0;
        assert_eq!(command, format!("quorate {line}"));
        assert_eq!(timeless(&run(command).ok(1)), timeless(&told));
    }
}

#[test]
fn one_in_views_holds_and_one_whose_membership_does_not_wait_fails() {
    let told: Value = serde_json::from_str(&run("check central --nodes 2 --views --crashes 1 --json").ok(0)).unwrap();
    assert_eq!(told["views"], serde_json::json!({ "changes": 1, "membership": "oracle" }));
    assert_eq!(told["complete"], true);
    let folder = tempfile::tempdir().unwrap();
    let line = "check token-request --nodes 2 --views --membership impatient --property exclusion --trace rash.journal";
    let told = run_in(folder.path(), line).ok(1);
    assert!(told.contains("view 2 of 2 is decided") || told.contains("view 2 of 1 is decided"), "{told}");
    let again = run_in(folder.path(), "replay rash.journal").ok(1);
    assert!(again.contains("exclusion               FAILS"), "{again}");
    let timed = run("check central --views --until 1s").complaint();
    assert!(timed.contains("Views are checked without time"), "{timed}");
}

/// Types each line and compares all that is printed.
#[track_caller]
fn check_mistakes(lines: &[&str], expected: &Expect) {
    let told = lines.iter().map(|line| format!("$ quorate {line}\n{}", run(line).complaint()));
    expected.assert_eq(&told.collect::<String>());
}

#[test]
fn mistakes() {
    check_mistakes(
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
            error: There is no algorithm 'centrl'. Did you mean 'central'? 'quorate list' shows them all.
            $ quorate check central --property exclusoin
            error: There is no property 'exclusoin' of this algorithm. Its properties are exclusion, asked-first, fences-grow, no-deadlock, served.
            $ quorate check central --property exclusion,
            error: There is no property '' of this algorithm. Its properties are exclusion, asked-first, fences-grow, no-deadlock, served.
            $ quorate check central --nodes 0
            error: A group needs at least one node; --nodes 3 is a good start.
            $ quorate check central --nodes 40
            error: Checking all orders of so many nodes is hopeless: at most 16 can be told apart.
            $ quorate check central --nodes 18446744073709551615
            error: Checking all orders of so many nodes is hopeless: at most 16 can be told apart.
            $ quorate check central --nodes many
            error: --nodes: 'many' is not a whole number; write for example 7.
            $ quorate check central --rounds 0
            error: A check in which nobody asks shows nothing: use --rounds 1, or --rounds unbounded.
            $ quorate check central --rounds 256
            error: --rounds: 256 rounds are too many: at most 255 are counted. Or use --rounds unbounded.
            $ quorate check central --rounds endless
            error: --rounds: 'endless' is not a whole number; write for example 7. Without an end it is --rounds unbounded.
            $ quorate check central --loss 99
            error: Each kind of fault can happen at most 31 times in a check.
            $ quorate check central --crashes 1000
            error: Each kind of fault can happen at most 31 times in a check.
            $ quorate check central --loss 0.1
            error: --loss: '0.1' is not a whole number; write for example 7.
            $ quorate check central --walks 0
            error: A check by random walks needs at least one: --walks 1000.
            $ quorate check central --walks 5 --steps 0
            error: A random walk needs at least one step: --steps 1000.
            $ quorate check central --memory 0
            error: --memory: '0' is no amount of memory; write it in GB, such as 2 or 0.5.
            $ quorate check central --memory 2GB
            error: --memory: '2GB' is no amount of memory; write it in GB, such as 2 or 0.5.
            $ quorate check central --drift 5
            error: --drift: '5' is not a drift; write for example 200ppm or -50ppm.
            $ quorate check central --drift=-5ppm
            error: --drift: '-5ppm' does not fit: every clock is tried both too fast and too slow by it, so write 0ppm to 999999ppm.
            $ quorate check central --drift 1000000ppm
            error: --drift: '1000000ppm' does not fit: every clock is tried both too fast and too slow by it, so write 0ppm to 999999ppm.
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
    for (threads, begins) in [
        ("0", "error: A check needs at least one thread: --threads "),
        ("100000", "error: 100000 threads are too many: at most 1024 fit, "),
    ] {
        let complaint = run(&format!("check central --threads {threads}")).complaint();
        assert!(complaint.starts_with(begins), "{complaint}");
    }
}

/// Nothing that can be typed makes it panic.
#[test]
fn nonsense_is_survived() {
    let flags = [
        "--nodes",
        "--rounds",
        "--loss",
        "--duplicate",
        "--crashes",
        "--restarts",
        "--hasty-timers",
        "--links",
        "--drift",
        "--until",
        "--property",
        "--threads",
        "--memory",
        "--trace",
    ];
    for nasty in crate::errors::NASTY {
        for flag in flags {
            let ended = run_words(std::path::Path::new("."), &["check", "central", "--nodes", "2", flag, nasty]);
            assert!(matches!(ended.code, Some(0..=3)) && !ended.err.contains("panicked"), "{flag} {nasty}: {ended:?}");
            assert!(!ended.err.contains('\u{1b}'), "{flag} {nasty}: {ended:?}");
        }
        let walks = ["check", "central", "--walks", "3", "--steps", nasty, "--seed", nasty];
        assert!(matches!(run_words(std::path::Path::new("."), &walks).code, Some(2 | 3)), "{nasty}");
    }
}
