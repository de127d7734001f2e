//! The book holds in the simulator, and what is not the book's is told.

use super::{Book, Delays, Figure, Forms, Measured, contenders, simulate, simulation};
use crate::algorithm::AlgorithmError;
use crate::error::LabError;
use crate::experiment;
use crate::mutex::Settings;
use crate::mutex::run::Pattern;
use quorate_journal::workload::Ending;

fn settings(entries: u64, workload: Pattern) -> Settings {
    Settings { entries, workload, ..Settings::default() }
}

/// Every figure, delays included, of every algorithm in every group of these sizes that it fits, whoever asks: the
/// very figure where the book is exact, and within its bounds elsewhere. So many runs show something at least.
fn figures_come_out(sizes: impl Iterator<Item = usize> + Clone, least: u64) {
    let (mut client_delays, mut sync_delays, mut exact) = (0, 0, 0);
    for entry in contenders(&[], Forms::All).unwrap() {
        for nodes in sizes.clone().filter(|nodes| (entry.facts.fits)(*nodes).is_ok()) {
            for workload in [Pattern::Single, Pattern::All, Pattern::Random] {
                let spec = simulation(entry, nodes, nodes as u64 * 7, &settings(50, workload));
                let (book, measured) = simulate(&spec).unwrap();
                assert_eq!(measured.is_exact(&book), Some(true), "{:?}: {}", measured.differences, spec.command("sim"));
                assert!(measured.holds() && measured.entries == 50, "{}", spec.command("sim"));
                client_delays += u64::from(measured.client_delay.is_some());
                sync_delays += u64::from(measured.sync_delay.is_some());
                exact += u64::from(book.total(measured.counted).exact().is_some());
            }
        }
    }
    assert!(client_delays > least && sync_delays > least / 2, "{client_delays} client delays, {sync_delays} handovers");
    assert!(exact > least, "the book is exact in {exact} runs only");
}

#[test]
fn every_figure_of_the_book_comes_out() {
    figures_come_out((2..=9).chain([13, 16]), 250);
}

/// Every size is `quorate compare mutex --nodes 2-49`.
#[test]
#[ignore = "long: ./check long"]
fn every_figure_of_the_book_comes_out_in_large_groups() {
    figures_come_out((2..=17).chain([25, 31, 36, 49]), 500);
}

/// The coordinator's own entries cost nothing, and would hide what those of the others cost.
#[test]
fn the_coordinator_is_counted_apart() {
    let [entry] = contenders(&["central".into()], Forms::Usual).unwrap()[..] else { panic!("one name, one algorithm") };
    let (book, measured) = simulate(&simulation(entry, 3, 1, &settings(60, Pattern::Random))).unwrap();
    assert_eq!((book.per_entry(7), book.keeper), ((3.0, Some(3.0)), true));
    assert_eq!((measured.messages_per_entry, measured.own_messages_per_entry), (Some(3.0), Some(0.0)));
    assert_eq!(measured.busiest_share, 1.0);
}

/// Held against the book of another algorithm or size, a run differs, and in the figures that it should.
#[test]
fn a_figure_that_is_not_the_books_is_told() {
    let found = contenders(&["central".into(), "ricart-agrawala".into()], Forms::Usual).unwrap();
    let [central, ricart_agrawala] = found[..] else { panic!("two names, two algorithms") };
    let outcome = experiment::run(&simulation(ricart_agrawala, 4, 3, &settings(60, Pattern::Random))).unwrap();
    let held_against = |book: &Book, delays, ending| {
        let measured = Measured::new(book, delays, ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
        let figures: Vec<_> = measured.differences.iter().map(|difference| difference.figure).collect();
        (figures, measured.is_exact(book))
    };
    let random = settings(60, Pattern::Random);
    let larger = Book::of(ricart_agrawala, &simulation(ricart_agrawala, 5, 1, &random));
    let (times, millis) = (Delays::InMessageTimes, Delays::InMilliseconds);
    assert_eq!(held_against(&larger, times, Ending::Done), (vec![Figure::Messages], Some(false)));
    let other = Book::of(central, &simulation(central, 4, 1, &random));
    assert_eq!(held_against(&other, times, Ending::Done), (vec![Figure::Messages, Figure::SyncDelay], Some(false)));
    assert_eq!(held_against(&other, millis, Ending::Done), (vec![Figure::Messages], Some(false)));
    assert_eq!(held_against(&other, times, Ending::Stopped), (vec![], None));
    let toy = Book { binding: false, ..other };
    assert_eq!(held_against(&toy, times, Ending::Done), (vec![], None));
}

#[test]
fn what_is_wrong_on_purpose_is_compared_only_by_name() {
    let name = |entry: &crate::mutex::MutexEntry| entry.facts.profile.name;
    assert!(
        contenders(&[], Forms::All).unwrap().into_iter().all(|entry| Book::of(
            entry,
            &simulation(entry, 3, 1, &settings(1, Pattern::All))
        )
        .binding)
    );
    let [wrong] = contenders(&["ricart-agrawala-clock-only".into()], Forms::Usual).unwrap()[..] else {
        panic!("one algorithm")
    };
    assert_eq!(name(wrong), "ricart-agrawala-clock-only");
    let (book, measured) = simulate(&simulation(wrong, 4, 1, &settings(100, Pattern::All))).unwrap();
    assert_eq!((measured.holds(), measured.is_exact(&book)), (false, None));
}

#[test]
fn a_run_of_no_entries_proves_nothing() {
    for entry in contenders(&[], Forms::All).unwrap() {
        let (book, measured) = simulate(&simulation(entry, 3, 1, &settings(0, Pattern::Random))).unwrap();
        assert_eq!(measured.is_exact(&book), None);
    }
}

#[test]
fn names_of_others_are_refused() {
    let found = |name: &str| contenders(&["central".into(), name.into()], Forms::Usual).map(|found| found.len());
    assert!(matches!(found("raft"), Err(LabError::Algorithm(AlgorithmError::OtherFamily { .. }))));
    assert!(matches!(found("centrel"), Err(LabError::Algorithm(AlgorithmError::UnknownAlgorithm { .. }))));
}
