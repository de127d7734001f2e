//! Tests of the language, its errors, the search, and the choice of victims.

use super::{Name, ParseError, Report, SearchError, Situation, Wait};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use quorate_core::deadlock::{Need, Policy, Shape};

fn read(text: &str) -> Situation {
    Situation::read(text.as_bytes()).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

fn mistake(text: &str) -> String {
    let mistake: ParseError = Situation::read(text.as_bytes()).expect_err("a mistake");
    mistake.to_string()
}

fn report(text: &str) -> Report {
    read(text).report(Policy::FewestLocks).expect("an answer")
}

fn sentences(waits: &[Wait]) -> Vec<String> {
    waits.iter().map(ToString::to_string).collect()
}

fn names(names: &[Name]) -> Vec<&str> {
    names.iter().map(Name::as_str).collect()
}

#[test]
fn both_forms_say_the_same() {
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
    for (one, other) in pairs {
        assert_eq!(read(one), read(other), "{one}");
    }
    assert_ne!(read("P1 -> P2, P3"), read("P1 -> P2 | P3"));
    assert_ne!(read("P1 -> P2 | P3"), read("P1 -> P2\nP1 -> P3"));
}

#[test]
fn names_may_look_like_paths_and_rows() {
    let situation = read("tx-1 holds table:employees;row:15\ntx-2 wants table:employees;row:15\n_a/b.c -> /dev/lp0");
    assert_eq!(situation.resources.keys().map(Name::as_str).collect::<Vec<_>>(), ["table:employees;row:15"]);
    assert_eq!(situation.processes.len(), 4);
    let sorted: Vec<_> = read("P10 -> P9\nP2 -> P010\nP1a -> P1").processes.into_keys().collect();
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
        ("x has 0 permits", "line 1, column 7: x must have at least 1 permit."),
        ("x has none", "line 1, column 7: found 'none', expected a number of permits or 'priority'."),
        ("P1 began early", "line 1, column 10: found 'early', expected a whole number."),
        ("\u{1b}[2J", "line 1, column 1: found '\\u{1b}', expected a name."),
        (
            "P1 holds x\nP2 -> x",
            "line 2, column 7: x is a resource (line 1), which cannot wait or hold anything; a process that needs it 'wants x'.",
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
        assert_eq!(mistake(text), expected, "{text}");
    }
    for mixed in ["a -> b, c | d", "a waits for b and c or d", "a waits for b or c, d", "a -> b | c, d"] {
        assert!(mistake(mixed).contains("mixes 'and' with 'or'"), "{mixed}: {}", mistake(mixed));
    }
    for no_name in ["and -> b", "P1 -> P2;", "P1 --> P2", "... -> x", "P1 -> or"] {
        assert!(
            mistake(no_name).contains("not a name") || mistake(no_name).contains("found '-'"),
            "{}",
            mistake(no_name)
        );
    }
    assert_eq!(
        mistake(&format!("{} -> b", "a".repeat(101))),
        "line 1, column 1: a name must have at most 100 characters; this one has 101."
    );
}

#[test]
fn invalid_utf8_and_long_texts_are_refused() {
    let message = |bytes: &[u8]| Situation::read(bytes).expect_err("a mistake").to_string();
    assert_eq!(message(b"P1 -> P2\nP\xff -> P1"), "line 2: the text is not valid UTF-8.");
    assert_eq!(message(&vec![b'#'; (1 << 20) + 1]), "the text is too long: at most 1048576 bytes are allowed.");
    assert_eq!(Situation::read(&vec![b'#'; 1 << 20]), Ok(Situation::default()));
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
    assert_eq!(round.victims[0].who.as_str(), "P2");
    assert_eq!(round.victims[0].why, "holds the fewest locks: 1; all are tied, and its name sorts last");
    assert_eq!(
        (names(&round.victims[0].lets_go), names(&round.freed), round.left),
        (vec!["scanner"], vec!["P1", "P3"], 0)
    );
}

#[test]
fn a_process_waits_for_those_before_it_in_the_queue() {
    // P3 holds nothing that P2 waits for, but is before it in the queue, and waits for P2
    // elsewhere.
    let text = "P1 holds a\nP3 wants a\nP2 wants a\nP2 holds b\nP3 wants b";
    let report = report(text);
    let waits: Vec<_> = report.deadlocks.iter().flat_map(|found| sentences(&found.waits)).collect();
    assert_eq!(waits, ["P2 waits for a, behind P3", "P3 waits for b, which P2 holds"]);
    // With the opposite order in the queue, no process is stuck.
    assert!(self::report("P1 holds a\nP2 wants a\nP3 wants a\nP2 holds b\nP3 wants b").is_free());
}

#[test]
fn a_sharer_waits_for_the_others_and_an_exclusive_holder_for_itself() {
    let both = report("P1 holds x\nP2 holds x\nP1 wants x\nP2 wants x");
    assert_eq!(
        sentences(&both.deadlocks[0].waits),
        ["P1 waits for x, which P2 holds", "P2 waits for x, which P1 holds"]
    );
    assert!(report("P1 holds x\nP2 holds x\nP1 wants x").is_free());
    let alone = report("P1 holds x\nP1 wants x");
    assert_eq!(sentences(&alone.deadlocks[0].waits), ["P1 waits for x, which it holds itself"]);
    assert_eq!(alone.rounds[0].victims[0].why, "is the only member");
}

#[test]
fn a_permit_that_is_left_is_taken_and_one_of_several_is_enough() {
    let pool = |lines: &str| report(&format!("pool has 2 permits\nP1 holds pool\n{lines}"));
    assert_eq!(names(&pool("P3 wants pool").free), ["P1", "P3"], "a permit is left");
    let full = "P2 holds pool\nP3 wants pool\nP1 -> P3\n";
    assert!(pool(full).is_free(), "P2 releases its permit");
    let knot = pool(&format!("{full}P2 -> P3"));
    assert_eq!(knot.deadlocks[0].shape, Shape::Knot);
    assert_eq!(
        sentences(&knot.deadlocks[0].waits),
        ["P1 waits for P3", "P2 waits for P3", "P3 waits for a permit of pool, which P1 and P2 hold"]
    );
}

#[test]
fn a_permit_goes_to_the_first_in_the_queue() {
    // P1 releases. P3 takes its permit and never releases it: it waits for Q1, which waits for Q2,
    // which waits for Q1. P2 waits for P4, which wants a permit too: only P2's could be left for
    // it.
    let text = "pool has 2 permits\nP1 holds pool\nP2 holds pool\nP3 wants pool\nP4 wants pool\n\
                P3 -> Q1\nQ1 -> Q2\nQ2 -> Q1\nP2 -> P4\n";
    let stuck = report(text);
    let behind = sentences(&stuck.stuck_behind);
    assert!(behind.iter().any(|wait| wait.starts_with("P4 waits for a permit of pool")), "{behind:?}");
    assert!(!stuck.waiting.iter().any(|wait| wait.who.as_str() == "P4"));
    // If P4 were first, it would get the permit of P1.
    let first = report(&text.replace("P3 wants pool\nP4 wants pool", "P4 wants pool\nP3 wants pool"));
    assert!(first.waiting.iter().any(|wait| wait.who.as_str() == "P4"), "{:?}", first.waiting);
}

#[test]
fn queues_that_are_too_long_are_refused() {
    let mut text = String::from("pool has 12 permits\n");
    (0..12).for_each(|who| text.push_str(&format!("H{who} holds pool\n")));
    (0..20).for_each(|who| text.push_str(&format!("W{who} wants pool\n")));
    let refused = read(&text).report(Policy::FewestLocks);
    assert!(
        matches!(refused, Err(SearchError::TooLarge { ref resource }) if resource.as_str() == "pool"),
        "{refused:?}"
    );
}

#[test]
fn policies_choose_by_what_the_text_says() {
    let text = "P1 holds a, c\nP2 holds b\nP1 wants b\nP2 wants a\nP1 began 7\nP2 began 5\nP1 has priority 1\nP2 has priority 2";
    let chosen = Policy::ALL.map(|policy| {
        let victim = read(text).report(policy).expect("an answer").rounds[0].victims[0].clone();
        format!("{} {}", victim.who, victim.why)
    });
    assert_eq!(chosen, ["P1 began last, at 7", "P2 holds the fewest locks: 1", "P1 has the lowest priority: 1"]);
    let refused = read("P1 -> P2\nP2 -> P1\nP1 began 3").report(Policy::Youngest).expect_err("P2's start is not known");
    assert_eq!(
        refused.to_string(),
        "The victim cannot be chosen by 'youngest': the text does not say when P2 began. Add a line such as 'P2 began 12'."
    );
}

#[test]
fn of_two_sharers_that_want_a_lock_exclusively_one_is_aborted() {
    let report = report("P1 holds a\nP2 holds a\nP1 wants a\nP2 wants a");
    assert_eq!((report.rounds.len(), names(&report.rounds[0].freed)), (1, vec!["P1"]), "{:?}", report.rounds);
}

#[test]
fn victims_are_chosen_until_no_process_is_stuck() {
    // Two separate deadlocks, and one that only shows when the first is broken: P3 is in two
    // cycles.
    let report = report("P1 -> P2\nP2 -> P1\nP3 -> P1, P4\nP4 -> P3\nQ1 -> Q2\nQ2 -> Q1");
    assert_eq!(report.deadlocks.len(), 2);
    assert_eq!(report.rounds.len(), 2, "{:?}", report.rounds);
    assert_eq!((report.rounds[0].left, report.rounds[1].left), (1, 0));
}

#[test]
fn a_resource_without_a_holder_may_be_a_typo() {
    let report = report("P1 holds printer\nP2 wants pritner");
    assert_eq!(report.notes, ["No process holds pritner. Did you mean 'printer'?"]);
    assert_eq!(names(&report.free), ["P1", "P2"]);
}

/// Words of the language, and some that are not.
fn scraps() -> impl Strategy<Value = String> {
    let words = [
        "P1", "P2", "x", "->", "→", "waits", "for", "holds", "wants", "has", "permits", "2", "0", "priority", "began",
        "at", ",", "|", "and", "or", "\n", "\n", "\n", "#", ">", "-", ";", "é", "\u{0}",
    ];
    vec(select(words.to_vec()), 0..60).prop_map(|words| words.join(" "))
}

/// A valid statement.
fn statement() -> impl Strategy<Value = String> {
    let process = || select(vec!["P1", "P2", "P3", "P4", "P10"]);
    let resource = || select(vec!["a", "b", "table:t;row:1"]);
    prop_oneof![
        (process(), vec(process(), 1..4), any::<bool>())
            .prop_map(|(who, on, is_any)| format!("{who} -> {}", on.join(if is_any { " | " } else { ", " }))),
        (process(), resource()).prop_map(|(who, what)| format!("{who} holds {what}")),
        (process(), resource()).prop_map(|(who, what)| format!("{who} wants {what}")),
        (resource(), 3..6u32).prop_map(|(what, permits)| format!("{what} has {permits} permits")),
        (process(), any::<u32>()).prop_map(|(who, born)| format!("{who} began {born}")),
        (process(), any::<u32>()).prop_map(|(who, priority)| format!("{who} has priority {priority}")),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..300), scraps in scraps()) {
        for bytes in [&bytes[..], scraps.as_bytes()] {
            match Situation::read(bytes) {
                Ok(situation) => { let _ = situation.report(Policy::FewestLocks); }
                Err(mistake) => assert!(mistake.to_string().ends_with(['.', '?'])),
            }
        }
    }

    #[test]
    fn what_is_printed_reads_back(lines in vec(statement(), 0..25)) {
        // Lines that contradict an earlier one are left out.
        let mut text = String::new();
        for line in lines {
            let longer = format!("{text}{line}\n");
            if Situation::read(longer.as_bytes()).is_ok() {
                text = longer;
            }
        }
        let situation = read(&text);
        prop_assert_eq!(read(&situation.to_string()), situation);
    }

    /// No process is stuck after the last round, and every process is in the report.
    #[test]
    fn victims_free_all_other_processes(lines in vec(statement(), 0..25)) {
        let text: String = lines.iter().filter(|line| Situation::read(line.as_bytes()).is_ok()).map(|line| format!("{line}\n")).collect();
        let Ok(situation) = Situation::read(text.as_bytes()) else { return Ok(()) };
        let report = situation.report(Policy::FewestLocks).expect("an answer");
        let mut now = situation.clone();
        for round in &report.rounds {
            for victim in &round.victims {
                assert!(victim.of.contains(&victim.who));
                now.abort(|who| *who == victim.who);
            }
        }
        assert!(now.report(Policy::FewestLocks).expect("an answer").is_free());
        let in_deadlocks: usize = report.deadlocks.iter().map(|found| found.members().len()).sum();
        let reported = in_deadlocks + report.stuck_behind.len() + report.waiting.len() + report.free.len();
        prop_assert_eq!(reported, situation.processes.len());
    }

    /// Compares the search with a simulation of a semaphore: a process that ends releases its
    /// permit, and the first in the queue takes it.
    #[test]
    fn a_semaphore_is_searched_as_it_is_served(
        permits in 1..4usize,
        queue in 0..4usize,
        waits in vec((0..7usize, 0..7usize), 0..7),
    ) {
        let mut text = format!("s has {permits} permits\n");
        (0..permits).for_each(|who| text.push_str(&format!("P{who} holds s\n")));
        (permits..permits + queue).for_each(|who| text.push_str(&format!("P{who} wants s\n")));
        waits.iter().for_each(|(who, on)| text.push_str(&format!("P{who} -> P{on}\n")));
        let stuck = served(permits, queue, &waits);
        let report = report(&text);
        let reported = report.deadlocks.iter().flat_map(|found| found.members().into_iter().cloned().collect::<Vec<_>>());
        let mut reported: Vec<String> = reported.chain(report.stuck_behind.iter().map(|wait| wait.who.clone())).map(|name| name.to_string()).collect();
        reported.sort();
        prop_assert_eq!(reported, stuck, "{}", text);
    }
}

/// Serves the queue, step by step, until nothing more happens. Returns the processes that never
/// end.
fn served(permits: usize, queue: usize, waits: &[(usize, usize)]) -> Vec<String> {
    let mut has_permit: Vec<bool> = (0..7).map(|who| who < permits).collect();
    let mut done = [false; 7];
    let mut line: std::collections::VecDeque<usize> = (permits..permits + queue).collect();
    let wants: Vec<usize> = line.iter().copied().collect();
    loop {
        let mut is_changed = false;
        let taken = |has_permit: &[bool]| has_permit.iter().filter(|has| **has).count();
        while taken(&has_permit) < permits && !line.is_empty() {
            let first = line.pop_front().expect("a process");
            has_permit[first] = true;
            is_changed = true;
        }
        for who in 0..7 {
            let is_served = !wants.contains(&who) || has_permit[who];
            let is_met = waits.iter().filter(|(waiter, _)| *waiter == who).all(|(_, on)| done[*on]);
            if !done[who] && is_served && is_met {
                (done[who], has_permit[who], is_changed) = (true, false, true);
            }
        }
        if !is_changed {
            return (0..7).filter(|who| !done[*who]).map(|who| format!("P{who}")).collect();
        }
    }
}

#[test]
fn a_need_of_one_is_a_need_of_all() {
    assert_eq!(read("P1 -> P2 | P2").waits[0].1, Need::All(vec![Name::of("P2").expect("a name")]));
}
