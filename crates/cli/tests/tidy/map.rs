//! The map of crates is true: the table "Rooms" of ARCHITECTURE.md names every crate and every arrow between them.
//!
//! A row allows a crate to depend on the rooms that its last cell names, all of which stand in rows above it. So the arrows point
//! one way and can form no circle.

use super::manifests::{Dependency, dependencies, package};
use super::{File, Findings, files, read};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "ARCHITECTURE.md";

#[test]
fn every_crate_is_a_room_on_the_map() {
    let page = read(PAGE);
    let rooms = rooms(&page.text);
    let manifests = manifests();
    let mut findings = Findings::default();
    for folder in manifests.keys().filter(|folder| rooms.iter().all(|room| room.folder != **folder)) {
        findings.add(&format!("{folder}/Cargo.toml"), 1, "has no row in the table \"Rooms\"");
    }
    for room in &rooms {
        match manifests.get(&room.folder).map(|manifest| package(&manifest.text)) {
            Some(name) if short(name) == Some(&room.name) => {}
            Some(name) => {
                findings.add(PAGE, room.line, format_args!("`{}` is the package `{name}`", room.folder));
            }
            None => findings.add(PAGE, room.line, format_args!("`{}` is no crate", room.folder)),
        }
    }
    findings.settle(
        &format!("every crate is a row of the table \"Rooms\" in {PAGE}, and every row is a crate"),
        "Add a row for the crate: its name with a link to its folder, one sentence on what is in it, and the rooms that it may\n\
         depend on. Take out the row of a crate that is gone.",
    );
}

#[test]
fn every_room_depends_on_rooms_above_it() {
    let page = read(PAGE);
    let rooms = rooms(&page.text);
    let mut findings = Findings::default();
    for (place, room) in rooms.iter().enumerate() {
        for name in &room.may {
            if !rooms[..place].iter().any(|above| above.name == *name) {
                findings.add(PAGE, room.line, format_args!("`{}` names `{name}`, which is no row above it", room.name));
            }
        }
    }
    findings.settle(
        "the table of rooms allows arrows to rows above only",
        "Move the row below those that it names. If that is impossible, the arrows form a circle: move what both crates need into a\n\
         crate below them.",
    );
}

#[test]
fn every_dependency_between_crates_is_an_arrow_on_the_map() {
    let page = read(PAGE);
    let manifests = manifests();
    let mut findings = Findings::default();
    for room in rooms(&page.text) {
        let Some(manifest) = manifests.get(&room.folder) else { continue };
        for (line, name) in arrows(&manifest.text).into_iter().filter(|(_, name)| !room.may.contains(name)) {
            findings.add(&manifest.path, line, format_args!("`{}` may not depend on `{name}`", room.name));
        }
    }
    findings.settle(
        &format!("crates depend on each other only as {PAGE} allows"),
        "Take the dependency out: move what needs it to a crate that may have it, or move what is needed down. Only if the design itself\n\
         changes, add the arrow to the row of the crate. Tests may use what they like: [dev-dependencies].",
    );
}

#[test]
fn the_network_needs_no_simulator() {
    let manifests = manifests();
    let arrows: BTreeMap<_, BTreeSet<_>> = manifests
        .values()
        .filter_map(|manifest| {
            let names = arrows(&manifest.text).into_iter().map(|(_, name)| name).collect();
            Some((short(package(&manifest.text))?.to_owned(), names))
        })
        .collect();
    let below = reachable("net", &arrows);
    assert!(below.contains("core"), "`net` does not depend on `core`: can this test still read manifests?");
    assert!(!below.contains("sim"), "what runs between processes depends on the simulator, by way of one of {below:?}");
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Room {
    line: usize,
    name: String,
    folder: String,
    /// The rooms that it may depend on.
    may: BTreeSet<String>,
}

/// The rows of the table "Rooms": ``| [`sim`](crates/sim) | what is in it | core, journal |``.
fn rooms(page: &str) -> Vec<Room> {
    let lines = page.lines().enumerate().skip_while(|(_, line)| *line != "## Rooms").skip(1);
    let mut rooms: Vec<Room> = Vec::new();
    for (index, line) in lines.take_while(|(_, line)| !line.starts_with('#')) {
        let Some((name, rest)) = line.strip_prefix("| [`").and_then(|rest| rest.split_once("`](")) else { continue };
        let Some((folder, rest)) = rest.split_once(") |") else { continue };
        let last = rest.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        let may = match last {
            "all" => rooms.iter().map(|above| above.name.clone()).collect(),
            "nothing" => BTreeSet::new(),
            names => names.split(',').map(|name| name.trim().to_owned()).collect(),
        };
        rooms.push(Room { line: index + 1, name: name.into(), folder: folder.into(), may });
    }
    assert!(!rooms.is_empty(), "no row found under `## Rooms` in {PAGE}: has the table changed? Then teach this test.");
    rooms
}

fn manifests() -> BTreeMap<String, File> {
    let with_folder = |file: File| Some((file.path.strip_suffix("/Cargo.toml")?.to_owned(), file));
    files().into_iter().filter_map(with_folder).collect()
}

/// The name by which the map calls a package of ours: `quorate-sim` is `sim`.
fn short(package: &str) -> Option<&str> {
    if package == "quorate" { Some(package) } else { package.strip_prefix("quorate-") }
}

/// The crates of ours that the code of a crate needs, each with its line. Those of tests do not count.
fn arrows(manifest: &str) -> Vec<(usize, String)> {
    let normal = |dependency: &Dependency| !dependency.table.ends_with("dev-dependencies");
    let named = |Dependency { line, name, .. }: Dependency| Some((line, short(&name)?.to_owned()));
    dependencies(manifest).into_iter().filter(normal).filter_map(named).collect()
}

fn reachable(from: &str, arrows: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(name) = open.pop() {
        let next = arrows.get(&name).into_iter().flatten();
        open.extend(next.filter(|name| seen.insert((*name).clone())).cloned());
    }
    seen
}

// ------------------------------------------------------------------------------------- the readers themselves

#[test]
fn rooms_are_read_from_the_table() {
    let page = "## Rooms\n\n| crate | what | may depend on |\n|---|---|---|\n| [`a`](crates/a) | x | nothing |\n\
                | [`b`](b) | y, z | a |\n| [`c`](crates/c) | z | all |\n## Next\n| [`d`](crates/d) | x | a |\n";
    let rows: Vec<_> = rooms(page).into_iter().map(|room| (room.line, room.name, room.folder, room.may)).collect();
    let row = |line, name: &str, folder: &str, may: &[&str]| {
        (line, name.to_owned(), folder.to_owned(), may.iter().map(|name| (*name).to_owned()).collect())
    };
    assert_eq!(rows, [row(5, "a", "crates/a", &[]), row(6, "b", "b", &["a"]), row(7, "c", "crates/c", &["a", "b"])]);
}

#[test]
fn arrows_are_those_of_the_code_and_lead_on() {
    let manifest = "[package]\nname = \"quorate-x\"\n[dependencies]\nquorate-a.workspace = true\nserde = \"1\"\n\
                    [build-dependencies]\nquorate = \"1\"\n[dev-dependencies]\nquorate-b.workspace = true\n";
    assert_eq!(package(manifest), "quorate-x");
    assert_eq!(arrows(manifest), [(4, "a".into()), (7, "quorate".into())]);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let arrows = BTreeMap::from([("x".into(), set(&["a"])), ("a".into(), set(&["b", "x"])), ("c".into(), set(&["d"]))]);
    assert_eq!(reachable("x", &arrows), set(&["a", "b", "x"]));
}
