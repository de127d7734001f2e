//! Tests of the text format and its errors, the search, and the choice of victims.

use super::{Name, ParseError, Report, SearchError, Situation, Wait};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use quorate_core::deadlock::{Need, Policy, Shape};

fn parse(text: &str) -> Situation {
    Situation::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn parse_error(text: &str) -> String {
    let error: ParseError = Situation::parse(text.as_bytes()).expect_err("an error");
    error.to_string()
}

fn report(text: &str) -> Report {
    parse(text).report(Policy::FewestLocks).expect("an answer")
}

fn sentences(waits: &[Wait]) -> Vec<String> {
    waits.iter().map(ToString::to_string).collect()
}

fn names(names: &[Name]) -> Vec<&str> {
    names.iter().map(Name::as_str).collect()
}

#[test]
fn both_forms_of_a_statement_mean_the_same() {
    let pairs = [
        ("P1 -> P2", "P1 waits for P2"),
        ("P1->P2,P3", "P1 waits for P2 and P3"),
        ("P1 → P2, P3, P4", "P1 waits for P2, P3, and P4  # all of them"),
        ("P1 -> P2 | P3", "P1 waits for P2 or P3"),
        ("P1 -> P2 | P3 | P4", "\tP1 waits for P2, P3 or P4"),
        ("a holds b, c\n", "\n# two\r\na holds b\r\na holds c"),
        ("a wants b and c", "\u{feff}a wants b\na wants c"),
        ("P1 began 12", "P1 began at 12"),
    ];
    for (short, long) in pairs {
        assert_eq!(parse(short), parse(long), "{short}");
    }
    assert_ne!(parse("P1 -> P2, P3"), parse("P1 -> P2 | P3"));
    assert_ne!(parse("P1 -> P2 | P3"), parse("P1 -> P2\nP1 -> P3"));
}

#[test]
fn names_may_look_like_paths_or_rows_and_sort_in_natural_order() {
    let situation = parse("tx-1 holds table:employees;row:15\ntx-2 wants table:employees;row:15\n_a/b.c -> /dev/lp0");
    assert_eq!(situation.resources.keys().map(Name::as_str).collect::<Vec<_>>(), ["table:employees;row:15"]);
    assert_eq!(situation.processes.len(), 4);
    let sorted: Vec<_> = parse("P10 -> P9\nP2 -> P010\nP1a -> P1").processes.into_keys().collect();
    assert_eq!(names(&sorted), ["P1", "P1a", "P2", "P9", "P010", "P10"]);
}

#[test]
fn an_error_names_its_position_and_what_was_expected() {
    let cases = [
        (
            "P1",
            "line 1, column 3: found the end of the line, expected '->', 'waits for', 'holds', 'wants', 'has' or 'began'.",
        ),
        (
            "P1 -> P2\nP1 hold x",
            "line 2, column 4: found 'hold', expected '->', 'waits for', 'holds', 'wants', 'has' or 'began'. Did you mean \
             'holds'?",
        ),
        ("P1 waits P2", "line 1, column 10: found 'P2', expected 'for'."),
        ("P1 waits for", "line 1, column 13: found the end of the line, expected a name."),
        ("P1 -> P2,", "line 1, column 10: found the end of the line, expected a name."),
        ("P1 -> P2 P3", "line 1, column 10: found 'P3', expected ',', 'and', '|', 'or' or the end of the line."),
        ("P1 => P2", "line 1, column 4: found '=', expected '->', 'waits for', 'holds', 'wants', 'has' or 'began'."),
        ("P1 wants a or b", "line 1, column 12: found 'or', expected ',', 'and' or the end of the line."),
        ("x has 2 permit 3", "line 1, column 16: found '3', expected the end of the line."),
        ("x has 2 premits", "line 1, column 9: found 'premits', expected 'permits'. Did you mean 'permits'?"),
        ("x has 99999999999 permits", "line 1, column 7: a number must be at most 4294967295; got 99999999999."),
        ("x has 0 permits", "line 1, column 7: x must have at least 1 permit; got 0."),
        ("x has none", "line 1, column 7: found 'none', expected a number of permits or 'priority'."),
        ("P1 began early", "line 1, column 10: found 'early', expected a whole number."),
        ("\u{1b}[2J", "line 1, column 1: found '\\u{1b}', expected a name."),
        (
            "P1 holds x\nP2 -> x",
            "line 2, column 7: x is a resource (line 1), which cannot wait or hold anything; write 'wants x' for a process that needs it.",
        ),
        (
            "P1 -> P2\nP3 holds P2",
            "line 2, column 10: P2 is a process (line 1), which cannot be held or wanted; write 'waits for P2'.",
        ),
        ("P1 holds x\n\nP1 holds x", "line 3, column 10: line 1 already says that P1 holds x."),
        ("P1 began 1\nP1 began 1", "line 2, column 1: line 1 already says when P1 began."),
        ("P1 holds x\nx has 1 permit\nP2 holds x", "line 2, column 7: x has 1 permit, but 2 processes hold it."),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_error(text), expected, "{text}");
    }
    for mixed in ["a -> b, c | d", "a waits for b and c or d", "a waits for b or c, d", "a -> b | c, d"] {
        assert!(
            parse_error(mixed).contains("'and' (or a comma) and 'or' cannot be combined in one line"),
            "{mixed}: {}",
            parse_error(mixed)
        );
    }
    for no_name in ["and -> b", "P1 -> P2;", "P1 --> P2", "... -> x", "P1 -> or"] {
        assert!(
            parse_error(no_name).contains("not a name") || parse_error(no_name).contains("found '-'"),
            "{}",
            parse_error(no_name)
        );
    }
    assert_eq!(
        parse_error(&format!("{} -> b", "a".repeat(101))),
        "line 1, column 1: a name must have at most 100 characters; this one has 101."
    );
}

#[test]
fn invalid_utf8_and_long_texts_are_refused() {
    let message = |bytes: &[u8]| Situation::parse(bytes).expect_err("an error").to_string();
    assert_eq!(message(b"P1 -> P2\nP\xff -> P1"), "line 2: the text is not valid UTF-8.");
    assert_eq!(message(&vec![b'#'; (1 << 20) + 1]), "the text is too long: at most 1048576 bytes are allowed.");
    assert_eq!(Situation::parse(&vec![b'#'; 1 << 20]), Ok(Situation::default()));
}

#[test]
fn the_report_names_holders_and_waiters() {
    let report = report("P1 holds printer\nP2 holds scanner\nP1 wants scanner\nP2 wants printer\nP3 -> P1\nP4 -> P5");
    assert_eq!(report.deadlocks.len(), 1);
    assert_eq!(report.deadlocks[0].shape, Shape::Cycle);
    let expected = ["P1 waits for scanner, which P2 holds", "P2 waits for printer, which P1 holds"];
    assert_eq!(sentences(&report.deadlocks[0].waits), expected);
    assert_eq!(sentences(&report.stuck_behind), ["P3 waits for P1"]);
    assert_eq!(sentences(&report.waiting), ["P4 waits for P5"]);
    assert_eq!(names(&report.free), ["P5"]);
    let [round] = &report.rounds[..] else { panic!("{:?}", report.rounds) };
    assert_eq!(round.victims[0].process.as_str(), "P2");
    assert_eq!(round.victims[0].reason, "holds the fewest locks: 1; all are tied, and its name sorts last");
    assert_eq!(
        (names(&round.victims[0].released), names(&round.freed), round.remaining_deadlocks),
        (vec!["scanner"], vec!["P1", "P3"], 0)
    );
}

#[test]
fn a_process_waits_for_those_before_it_in_the_queue() {
    // P2 waits for P3, which holds nothing but is before P2 in the queue for a; P3 waits for P2,
    // which holds b.
    let text = "P1 holds a\nP3 wants a\nP2 wants a\nP2 holds b\nP3 wants b";
    let report = report(text);
    let waits: Vec<_> = report.deadlocks.iter().flat_map(|deadlock| sentences(&deadlock.waits)).collect();
    assert_eq!(waits, ["P2 waits for a, behind P3", "P3 waits for b, which P2 holds"]);
    // With the opposite order in the queue, no process is stuck.
    assert!(self::report("P1 holds a\nP2 wants a\nP3 wants a\nP2 holds b\nP3 wants b").is_deadlock_free());
}

#[test]
fn a_sharer_waits_for_the_others_and_an_exclusive_holder_for_itself() {
    let two_sharers = report("P1 holds x\nP2 holds x\nP1 wants x\nP2 wants x");
    assert_eq!(
        sentences(&two_sharers.deadlocks[0].waits),
        ["P1 waits for x, which P2 holds", "P2 waits for x, which P1 holds"]
    );
    assert!(report("P1 holds x\nP2 holds x\nP1 wants x").is_deadlock_free());
    let exclusive_holder = report("P1 holds x\nP1 wants x");
    assert_eq!(sentences(&exclusive_holder.deadlocks[0].waits), ["P1 waits for x, which it holds itself"]);
    assert_eq!(exclusive_holder.rounds[0].victims[0].reason, "is the only member");
}

#[test]
fn a_process_takes_a_free_permit_or_waits_for_any_one_permit() {
    let pool = |lines: &str| report(&format!("pool has 2 permits\nP1 holds pool\n{lines}"));
    assert_eq!(names(&pool("P3 wants pool").free), ["P1", "P3"], "P3 takes the free permit");
    let without_free_permit = "P2 holds pool\nP3 wants pool\nP1 -> P3\n";
    assert!(pool(without_free_permit).is_deadlock_free(), "P3 gets the permit that P2 releases");
    let knot = pool(&format!("{without_free_permit}P2 -> P3"));
    assert_eq!(knot.deadlocks[0].shape, Shape::Knot);
    assert_eq!(
        sentences(&knot.deadlocks[0].waits),
        ["P1 waits for P3", "P2 waits for P3", "P3 waits for a permit of pool, which P1 and P2 hold"]
    );
}

#[test]
fn a_permit_goes_to_the_first_in_the_queue() {
    // P1 releases. P3 takes its permit and never releases it: P3 waits for Q1, which is deadlocked
    // with Q2. P2 waits for P4, which wants a permit too, and only P2's could become free.
    let text = "pool has 2 permits\nP1 holds pool\nP2 holds pool\nP3 wants pool\nP4 wants pool\n\
                P3 -> Q1\nQ1 -> Q2\nQ2 -> Q1\nP2 -> P4\n";
    let with_p3_first = report(text);
    let stuck_behind = sentences(&with_p3_first.stuck_behind);
    assert!(stuck_behind.iter().any(|wait| wait.starts_with("P4 waits for a permit of pool")), "{stuck_behind:?}");
    assert!(!with_p3_first.waiting.iter().any(|wait| wait.process.as_str() == "P4"));
    // If P4 were before P3 in the queue, it would get the permit of P1.
    let with_p4_first = report(&text.replace("P3 wants pool\nP4 wants pool", "P4 wants pool\nP3 wants pool"));
    assert!(with_p4_first.waiting.iter().any(|wait| wait.process.as_str() == "P4"), "{:?}", with_p4_first.waiting);
}

#[test]
fn queues_that_are_too_long_are_refused() {
    // The last process in the queue waits for one of any 12 of the 31 before it: 141 million ways.
    let mut text = String::from("pool has 12 permits\n");
    (0..12).for_each(|process| text.push_str(&format!("H{process} holds pool\n")));
    (0..20).for_each(|process| text.push_str(&format!("W{process} wants pool\n")));
    let result = parse(&text).report(Policy::FewestLocks);
    assert!(matches!(result, Err(SearchError::TooLarge { ref resource }) if resource.as_str() == "pool"), "{result:?}");
}

#[test]
fn each_policy_chooses_by_its_own_attribute() {
    let text = "P1 holds a, c\nP2 holds b\nP1 wants b\nP2 wants a\nP1 began 7\nP2 began 5\nP1 has priority 1\nP2 has priority 2";
    let chosen = Policy::ALL.map(|policy| {
        let victim = parse(text).report(policy).expect("an answer").rounds[0].victims[0].clone();
        format!("{} {}", victim.process, victim.reason)
    });
    assert_eq!(chosen, ["P1 began last, at 7", "P2 holds the fewest locks: 1", "P1 has the lowest priority: 1"]);
    let error = parse("P1 -> P2\nP2 -> P1\nP1 began 3").report(Policy::Youngest).expect_err("P2's start is not known");
    assert_eq!(
        error.to_string(),
        "the victim cannot be chosen by 'youngest': the text does not say when P2 began. Add a line such as 'P2 began 12'."
    );
}

#[test]
fn of_two_sharers_that_want_a_lock_exclusively_one_is_aborted() {
    let report = report("P1 holds a\nP2 holds a\nP1 wants a\nP2 wants a");
    assert_eq!((report.rounds.len(), names(&report.rounds[0].freed)), (1, vec!["P1"]), "{:?}", report.rounds);
}

#[test]
fn victims_are_chosen_until_no_process_is_stuck() {
    // Two separate deadlocks, and a third one that a search finds only when the first is broken: P3
    // waits for P1 and, in a cycle, for P4.
    let report = report("P1 -> P2\nP2 -> P1\nP3 -> P1, P4\nP4 -> P3\nQ1 -> Q2\nQ2 -> Q1");
    assert_eq!(report.deadlocks.len(), 2);
    assert_eq!(report.rounds.len(), 2, "{:?}", report.rounds);
    assert_eq!((report.rounds[0].remaining_deadlocks, report.rounds[1].remaining_deadlocks), (1, 0));
}

#[test]
fn a_resource_without_a_holder_may_be_a_typo() {
    let report = report("P1 holds printer\nP2 wants pritner");
    assert_eq!(report.notes, ["No process holds pritner. Did you mean 'printer'?"]);
    assert_eq!(names(&report.free), ["P1", "P2"]);
}

/// Words and signs of the text format, and some that are not.
fn word_sequence() -> impl Strategy<Value = String> {
    let words = [
        "P1", "P2", "x", "->", "→", "waits", "for", "holds", "wants", "has", "permits", "2", "0", "priority", "began",
        "at", ",", "|", "and", "or", "\n", "\n", "\n", "#", ">", "-", ";", "é", "\u{0}",
    ];
    vec(select(words.to_vec()), 0..60).prop_map(|words| words.join(" "))
}

fn statement() -> impl Strategy<Value = String> {
    let process = || select(vec!["P1", "P2", "P3", "P4", "P10"]);
    let resource = || select(vec!["a", "b", "table:t;row:1"]);
    prop_oneof![
        (process(), vec(process(), 1..4), any::<bool>()).prop_map(|(process, awaited, is_any)| format!(
            "{process} -> {}",
            awaited.join(if is_any { " | " } else { ", " })
        )),
        (process(), resource()).prop_map(|(process, resource)| format!("{process} holds {resource}")),
        (process(), resource()).prop_map(|(process, resource)| format!("{process} wants {resource}")),
        (resource(), 3..6u32).prop_map(|(resource, permits)| format!("{resource} has {permits} permits")),
        (process(), any::<u32>()).prop_map(|(process, time)| format!("{process} began {time}")),
        (process(), any::<u32>()).prop_map(|(process, priority)| format!("{process} has priority {priority}")),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in vec(any::<u8>(), 0..300), words in word_sequence()) {
        for bytes in [&bytes[..], words.as_bytes()] {
            match Situation::parse(bytes) {
                Ok(situation) => { let _ = situation.report(Policy::FewestLocks); }
                Err(error) => assert!(error.to_string().ends_with(['.', '?'])),
            }
        }
    }

    #[test]
    fn a_printed_situation_parses_back(lines in vec(statement(), 0..25)) {
        // Lines that contradict an earlier one are left out.
        let mut text = String::new();
        for line in lines {
            let longer = format!("{text}{line}\n");
            if Situation::parse(longer.as_bytes()).is_ok() {
                text = longer;
            }
        }
        let situation = parse(&text);
        prop_assert_eq!(parse(&situation.to_string()), situation);
    }

    /// No process is stuck after the last round, and every process is in the report.
    #[test]
    fn victims_free_all_other_processes(lines in vec(statement(), 0..25)) {
        let text: String = lines.iter().filter(|line| Situation::parse(line.as_bytes()).is_ok()).map(|line| format!("{line}\n")).collect();
        // Valid lines may contradict each other.
        let Ok(situation) = Situation::parse(text.as_bytes()) else { return Ok(()) };
        let report = situation.report(Policy::FewestLocks).expect("an answer");
        let mut remaining = situation.clone();
        for round in &report.rounds {
            for victim in &round.victims {
                assert!(victim.deadlock_members.contains(&victim.process));
                remaining.abort(|process| *process == victim.process);
            }
        }
        assert!(remaining.report(Policy::FewestLocks).expect("an answer").is_deadlock_free());
        let in_deadlocks: usize = report.deadlocks.iter().map(|deadlock| deadlock.members().len()).sum();
        let reported = in_deadlocks + report.stuck_behind.len() + report.waiting.len() + report.free.len();
        prop_assert_eq!(reported, situation.processes.len());
    }

    /// Compares the search with a simulation of a semaphore: a process that ends releases its
    /// permit, and the first in the queue takes it.
    #[test]
    fn the_search_finds_the_processes_that_a_simulated_semaphore_never_serves(
        permits in 1..4usize,
        queue in 0..4usize,
        waits in vec((0..PROCESSES, 0..PROCESSES), 0..7),
    ) {
        let mut text = format!("s has {permits} permits\n");
        (0..permits).for_each(|process| text.push_str(&format!("P{process} holds s\n")));
        (permits..permits + queue).for_each(|process| text.push_str(&format!("P{process} wants s\n")));
        waits.iter().for_each(|(process, awaited)| text.push_str(&format!("P{process} -> P{awaited}\n")));
        let stuck = stuck_processes(permits, queue, &waits);
        let report = report(&text);
        let reported = report.deadlocks.iter().flat_map(|deadlock| deadlock.members().into_iter().cloned().collect::<Vec<_>>());
        let mut reported: Vec<String> = reported.chain(report.stuck_behind.iter().map(|wait| wait.process.clone())).map(|name| name.to_string()).collect();
        reported.sort();
        prop_assert_eq!(reported, stuck, "{}", text);
    }
}

/// The number of processes, which are numbered from 0, in the simulation of a semaphore.
const PROCESSES: usize = 7;

/// Simulates the semaphore and all processes step by step until nothing more happens. Returns the
/// processes that never end.
fn stuck_processes(permits: usize, queue: usize, waits: &[(usize, usize)]) -> Vec<String> {
    let mut has_permit: Vec<bool> = (0..PROCESSES).map(|process| process < permits).collect();
    let mut has_ended = [false; PROCESSES];
    let mut waiting: std::collections::VecDeque<usize> = (permits..permits + queue).collect();
    let wants: Vec<usize> = waiting.iter().copied().collect();
    loop {
        let mut is_changed = false;
        let permits_in_use = |has_permit: &[bool]| has_permit.iter().filter(|has| **has).count();
        while permits_in_use(&has_permit) < permits && !waiting.is_empty() {
            let first = waiting.pop_front().expect("a process");
            has_permit[first] = true;
            is_changed = true;
        }
        for process in 0..PROCESSES {
            let is_served = !wants.contains(&process) || has_permit[process];
            let is_met = waits.iter().filter(|(waiter, _)| *waiter == process).all(|(_, awaited)| has_ended[*awaited]);
            if !has_ended[process] && is_served && is_met {
                (has_ended[process], has_permit[process], is_changed) = (true, false, true);
            }
        }
        if !is_changed {
            return (0..PROCESSES)
                .filter(|process| !has_ended[*process])
                .map(|process| format!("P{process}"))
                .collect();
        }
    }
}

#[test]
fn alternatives_that_all_name_one_process_are_no_choice() {
    assert_eq!(parse("P1 -> P2 | P2").waits[0].1, Need::All(vec![Name::parse("P2").expect("a name")]));
}
