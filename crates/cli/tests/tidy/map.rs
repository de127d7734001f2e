//! The table "Crates" of ARCHITECTURE.md lists every crate and the crates it may depend on.
//!
//! A crate may depend only on the crates in the last cell of its row, and these must be in rows
//! above it. So dependencies cannot form a cycle.

use super::manifests::{Dependency, dependencies, package_name};
use super::{File, Findings, files, read};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "ARCHITECTURE.md";

#[test]
fn every_crate_has_a_row_and_every_row_is_a_crate() {
    let page = read(PAGE);
    let rows = parse_rows(&page.text);
    let manifests = read_manifests();
    let mut findings = Findings::default();
    for folder in manifests.keys().filter(|folder| rows.iter().all(|row| row.folder != **folder)) {
        findings.add(&format!("{folder}/Cargo.toml"), 1, "has no row in the table \"Crates\"");
    }
    for row in &rows {
        match manifests.get(&row.folder).map(|manifest| package_name(&manifest.text)) {
            Some(name) if short_name(name) == Some(&row.name) => {}
            Some(name) => {
                findings.add(PAGE, row.line, format_args!("`{}` is the package `{name}`", row.folder));
            }
            None => findings.add(PAGE, row.line, format_args!("`{}` is no crate", row.folder)),
        }
    }
    findings.assert_empty(
        &format!("every crate is a row of the table \"Crates\" in {PAGE}, and every row is a crate"),
        "Add a row for the crate: its name with a link to its folder, one sentence on its content, and the crates that it may\n\
         depend on. Remove the row of a crate that no longer exists.",
    );
}

#[test]
fn every_row_names_only_rows_above_it() {
    let page = read(PAGE);
    let rows = parse_rows(&page.text);
    let mut findings = Findings::default();
    for (index, row) in rows.iter().enumerate() {
        for name in &row.allowed {
            if !rows[..index].iter().any(|above| above.name == *name) {
                findings.add(PAGE, row.line, format_args!("`{}` names `{name}`, which is no row above it", row.name));
            }
        }
    }
    findings.assert_empty(
        "a row of the table allows only dependencies on rows above it",
        "Move the row below those that it names. If that is impossible, the dependencies form a cycle: move what both crates\n\
         need into a third crate.",
    );
}

#[test]
fn every_dependency_between_crates_is_allowed() {
    let page = read(PAGE);
    let manifests = read_manifests();
    let mut findings = Findings::default();
    for row in parse_rows(&page.text) {
        let Some(manifest) = manifests.get(&row.folder) else { continue };
        for (line, name) in
            workspace_dependencies(&manifest.text).into_iter().filter(|(_, name)| !row.allowed.contains(name))
        {
            findings.add(&manifest.path, line, format_args!("`{}` may not depend on `{name}`", row.name));
        }
    }
    findings.assert_empty(
        &format!("crates depend on each other only as {PAGE} allows"),
        "Remove the dependency: move the code that needs it to a crate that may have it. Only if the design itself changes,\n\
         add the dependency to the row of the crate. Tests may use any crate: [dev-dependencies].",
    );
}

/// The table already forbids it; this test also fails if someone changes the table.
#[test]
fn the_network_does_not_depend_on_the_simulator() {
    let manifests = read_manifests();
    let graph: BTreeMap<_, BTreeSet<_>> = manifests
        .values()
        .filter_map(|manifest| {
            let names = workspace_dependencies(&manifest.text).into_iter().map(|(_, name)| name).collect();
            Some((short_name(package_name(&manifest.text))?.to_owned(), names))
        })
        .collect();
    let net_dependencies = reachable("net", &graph);
    assert!(
        net_dependencies.contains("core"),
        "`net` does not depend on `core`: if the format changed, adapt this test"
    );
    assert!(!net_dependencies.contains("sim"), "`net` depends on the simulator through one of {net_dependencies:?}");
}

/// A row of the table "Crates".
#[derive(Debug, PartialEq, Eq)]
struct CrateRow {
    line: usize,
    name: String,
    folder: String,
    /// The crates that this one may depend on.
    allowed: BTreeSet<String>,
}

/// The rows of the table "Crates": ``| [`sim`](crates/sim) | what is in it | core, journal |``. The
/// last cell may also be `nothing`, or `all` for all crates above.
fn parse_rows(page: &str) -> Vec<CrateRow> {
    let lines = page.lines().enumerate().skip_while(|(_, line)| *line != "## Crates").skip(1);
    let mut rows: Vec<CrateRow> = Vec::new();
    for (index, line) in lines.take_while(|(_, line)| !line.starts_with('#')) {
        let Some((name, rest)) = line.strip_prefix("| [`").and_then(|rest| rest.split_once("`](")) else { continue };
        let Some((folder, rest)) = rest.split_once(") |") else { continue };
        let last = rest.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        let allowed = match last {
            "all" => rows.iter().map(|above| above.name.clone()).collect(),
            "nothing" => BTreeSet::new(),
            names => names.split(',').map(|name| name.trim().to_owned()).collect(),
        };
        rows.push(CrateRow { line: index + 1, name: name.into(), folder: folder.into(), allowed });
    }
    assert!(!rows.is_empty(), "no row found under `## Crates` in {PAGE}: if the table changed, adapt this test.");
    rows
}

/// Returns the manifest of each crate by the crate's folder.
fn read_manifests() -> BTreeMap<String, File> {
    let with_folder = |file: File| Some((file.path.strip_suffix("/Cargo.toml")?.to_owned(), file));
    files().into_iter().filter_map(with_folder).collect()
}

/// The name of a workspace package in the table: `sim` for `quorate-sim`. `None` for other
/// packages.
fn short_name(package: &str) -> Option<&str> {
    if package == "quorate" { Some(package) } else { package.strip_prefix("quorate-") }
}

/// The workspace crates that a crate depends on, each with its line, without [dev-dependencies].
fn workspace_dependencies(manifest: &str) -> Vec<(usize, String)> {
    let is_in_build = |dependency: &Dependency| !dependency.table.ends_with("dev-dependencies");
    let line_and_name = |Dependency { line, name, .. }: Dependency| Some((line, short_name(&name)?.to_owned()));
    dependencies(manifest).into_iter().filter(is_in_build).filter_map(line_and_name).collect()
}

/// All crates that a crate depends on, directly or through other crates.
fn reachable(from: &str, graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut visited = BTreeSet::new();
    let mut unvisited = vec![from.to_owned()];
    while let Some(name) = unvisited.pop() {
        let next = graph.get(&name).into_iter().flatten();
        unvisited.extend(next.filter(|name| visited.insert((*name).clone())).cloned());
    }
    visited
}

// ---------------------------------------------------------------------------- tests of the parsers

#[test]
fn rows_are_read_from_the_table() {
    let page = "## Crates\n\n| crate | what | may depend on |\n|---|---|---|\n| [`a`](crates/a) | x | nothing |\n\
                | [`b`](b) | y, z | a |\n| [`c`](crates/c) | z | all |\n## Next\n| [`d`](crates/d) | x | a |\n";
    let found: Vec<_> = parse_rows(page).into_iter().map(|row| (row.line, row.name, row.folder, row.allowed)).collect();
    let row = |line, name: &str, folder: &str, allowed: &[&str]| {
        (line, name.to_owned(), folder.to_owned(), allowed.iter().map(|name| (*name).to_owned()).collect())
    };
    assert_eq!(found, [row(5, "a", "crates/a", &[]), row(6, "b", "b", &["a"]), row(7, "c", "crates/c", &["a", "b"])]);
}

#[test]
fn workspace_dependencies_are_found_and_followed() {
    let manifest = "[package]\nname = \"quorate-x\"\n[dependencies]\nquorate-a.workspace = true\nserde = \"1\"\n\
                    [build-dependencies]\nquorate = \"1\"\n[dev-dependencies]\nquorate-b.workspace = true\n";
    assert_eq!(package_name(manifest), "quorate-x");
    assert_eq!(workspace_dependencies(manifest), [(4, "a".into()), (7, "quorate".into())]);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let graph = BTreeMap::from([("x".into(), set(&["a"])), ("a".into(), set(&["b", "x"])), ("c".into(), set(&["d"]))]);
    assert_eq!(reachable("x", &graph), set(&["a", "b", "x"]));
}
