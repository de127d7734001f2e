//! Exhaustive checks of the elections in docs/checking.md whose state spaces are small: each
//! survives the crashes that its row of the table allows, in every order and at every point.

use quorate_lab::Election;
use quorate_lab::check::{CheckSpec, run};
use quorate_lab::election::Settings;
use quorate_lab::election::check::ElectionBehavior;
use quorate_lab::registry::{Entry, Family, all};
use std::path::Path;

/// Rows with larger state spaces are not explored here.
const MAX_STATES: u64 = 120_000;

/// A row of a table in docs/checking.md: what follows `quorate check`, and the number of states.
struct Row {
    command: String,
    states: u64,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let (command, states) = line.strip_prefix("| `")?.split_once("` | ")?;
        let states = states.strip_suffix(" |")?.replace(',', "").parse().ok()?;
        Some(Self { command: command.to_owned(), states })
    }

    fn algorithm(&self) -> &str {
        self.command.split(' ').next().unwrap_or_default()
    }

    fn spec(&self) -> CheckSpec<Election> {
        let words: Vec<_> = self.command.split(' ').skip(1).collect();
        let mut spec = CheckSpec::<Election>::named(self.algorithm()).unwrap();
        for option in words.chunks(2) {
            match option {
                ["--nodes", nodes] => spec.setup.nodes = nodes.parse().unwrap(),
                ["--crashes", crashes] => spec.setup.crashes = crashes.parse().unwrap(),
                ["--starters", starters] => {
                    let settings = Settings { starters: starters.parse().unwrap(), ..Settings::default() };
                    spec.behavior = ElectionBehavior { settings, ..ElectionBehavior::default() };
                }
                other => panic!("{}: {other:?}", self.command),
            }
        }
        spec
    }
}

/// The rows that check an election.
fn table_rows() -> Vec<Row> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checking.md");
    let rows = std::fs::read_to_string(document).unwrap().lines().filter_map(Row::parse).collect::<Vec<_>>();
    let is_election = |row: &Row| all().iter().any(|entry| is_checkable(entry) && entry.name() == row.algorithm());
    rows.into_iter().filter(is_election).collect()
}

/// Leases need timing and are checked elsewhere.
fn is_checkable(entry: &Entry) -> bool {
    entry.family() == Family::Election && entry.profile().is_checkable && entry.name() != "majority-lease"
}

#[test]
fn every_election_is_in_the_table() {
    for entry in all().iter().filter(|entry| is_checkable(entry)) {
        assert!(table_rows().iter().any(|row| row.algorithm() == entry.name()), "{} is missing", entry.name());
    }
}

#[test]
fn elections_with_small_state_spaces_survive_the_crashes_of_their_rows() {
    for row in table_rows().iter().filter(|row| row.states <= MAX_STATES) {
        let spec = row.spec();
        // The callback ignores the progress, and lets the check continue.
        let check_run = run(&spec, &mut |_, _| true).unwrap_or_else(|error| panic!("{}: {error}", row.command));
        assert!(check_run.findings.is_complete(), "{}: {:?}", row.command, check_run.findings.end);
        let violated: Vec<_> = check_run.violations().into_iter().map(|(verdict, _)| verdict.name).collect();
        assert!(violated.is_empty(), "{}: {violated:?}", row.command);
        assert_eq!(check_run.findings.main_pass.states, row.states, "{}", row.command);
    }
}
