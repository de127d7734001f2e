//! Conventions for every `Cargo.toml`: the core has no dependencies but two optional ones,
//! ARCHITECTURE.md explains every dependency, and published crates have complete metadata.

use super::{File, Findings, files, read, try_read};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn the_core_depends_on_nothing_but_optional_serde_and_postcard() {
    let manifest = read("crates/core/Cargo.toml");
    let mut findings = Findings::default();
    for dependency in dependencies(&manifest.text) {
        let is_for_tests = dependency.table == "dev-dependencies";
        let is_allowed = dependency.table == "dependencies"
            && ["serde", "postcard"].contains(&dependency.name.as_str())
            && dependency.specification.contains("optional=true");
        if !is_for_tests && !is_allowed {
            let Dependency { line, table, name, .. } = dependency;
            findings.add(&manifest.path, line, format_args!("`{name}` in [{table}]"));
        }
    }
    findings.assert_empty(
        "the core depends on nothing but `serde` and `postcard`, which are optional",
        "Remove it: code that needs a library belongs to a driver (sim, net) or to the crate that shows results. Mark both\n\
         crates `optional = true`. Tests may use any crate: [dev-dependencies].",
    );
}

#[test]
fn every_dependency_is_explained_in_the_architecture() {
    let architecture = try_read("ARCHITECTURE.md");
    let mut first_named: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for manifest in files().into_iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        for Dependency { line, name, .. } in dependencies(&manifest.text) {
            let is_workspace_crate = name == "quorate" || name.starts_with("quorate-");
            if !is_workspace_crate {
                first_named.entry(name).or_insert((manifest.path.clone(), line));
            }
        }
    }
    assert!(!first_named.is_empty(), "no dependency found in any Cargo.toml: if the format changed, adapt this test");
    let mut findings = Findings::default();
    for (name, (path, line)) in first_named {
        match &architecture {
            Some(page) if page.text.contains(&format!("`{name}`")) => {}
            Some(_) => findings.add(&path, line, format_args!("ARCHITECTURE.md does not mention `{name}`")),
            None => findings.add(&path, line, format_args!("`{name}`: there is no ARCHITECTURE.md to mention it")),
        }
    }
    findings.assert_empty(
        "every dependency is explained in ARCHITECTURE.md",
        "Add a line to its table of dependencies: the name in backticks, what it is used for, why this one. If there is\n\
         no good reason for it, remove the dependency from Cargo.toml (and from [workspace.dependencies]).",
    );
}

#[test]
fn every_published_crate_has_metadata_and_published_dependencies() {
    let manifests: Vec<_> = files().into_iter().filter(|file| file.path.ends_with("/Cargo.toml")).collect();
    let unpublished: BTreeSet<_> =
        manifests.iter().filter(|file| !is_published(file)).map(|file| package_name(&file.text)).collect();
    assert!(unpublished.len() < manifests.len(), "no crate is published: if the format changed, adapt this test");
    let mut findings = Findings::default();
    for manifest in manifests.iter().filter(|file| is_published(file)) {
        for key in ["description", "license", "repository", "readme", "keywords", "categories"] {
            let sets_key = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.']));
            if !manifest.text.lines().any(sets_key) {
                findings.add(&manifest.path, 1, format_args!("has no `{key}`"));
            }
        }
        for Dependency { line, table, name, specification } in dependencies(&manifest.text) {
            // Packaging leaves out development dependencies with a path and no version.
            let is_left_out = table == "dev-dependencies" && specification.contains("path=");
            if unpublished.contains(name.as_str()) && !is_left_out {
                findings.add(&manifest.path, line, format_args!("needs `{name}`, which is not published"));
            }
        }
    }
    findings.assert_empty(
        "a published crate has complete metadata and depends only on published crates",
        "Complete [package]. Tests may use an unpublished crate by its path alone, without a version. A crate that is not\n\
         published has `publish = false`.",
    );
}

fn is_published(manifest: &File) -> bool {
    !manifest.text.lines().any(|line| line == "publish = false")
}

pub(super) fn package_name(manifest: &str) -> &str {
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
    name.unwrap_or_default().trim_matches('"')
}

pub(super) struct Dependency {
    pub(super) line: usize,
    /// The table that has the dependency: `dependencies`, `workspace.dependencies`, …
    pub(super) table: String,
    /// The name of the package, also where the manifest renames it.
    pub(super) name: String,
    /// The rest of its entry in the manifest, without blanks.
    pub(super) specification: String,
}

/// All dependencies of a manifest, in any of TOML's notations.
pub(super) fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut table = String::new();
    let mut bracket_depth = 0;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let compact: String = line.split_whitespace().collect();
        let dependency = |table: &str, name: &str, specification: &str| Dependency {
            line: index + 1,
            table: table.into(),
            name: name.trim_matches(['"', '\'']).into(),
            specification: specification.into(),
        };
        if let Some(title) =
            compact.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| bracket_depth == 0)
        {
            table = title.into();
            match table.rsplit_once('.') {
                Some((list, name)) if list.ends_with("dependencies") => found.push(dependency(list, name, "")),
                Some(_) | None => {}
            }
        } else if table.ends_with("dependencies") && bracket_depth == 0 {
            if let Some((key, specification)) = compact.split_once('=') {
                // `serde.workspace = true`
                let (name, dotted) = key.split_once('.').unwrap_or((key, ""));
                found.push(dependency(&table, name, &format!("{dotted}={specification}")));
            }
        } else if let Some(last) = found.last_mut().filter(|_| table.contains("dependencies")) {
            last.specification.push_str(&compact);
        }
        let opened = line.matches(['[', '{']).count();
        bracket_depth = (bracket_depth + opened).saturating_sub(line.matches([']', '}']).count());
    }
    for dependency in &mut found {
        if let Some((_, rest)) = dependency.specification.split_once("package=\"") {
            dependency.name = rest.split('"').next().unwrap_or_default().into();
        }
    }
    found
}

// ---------------------------------------------------------------------------- tests of the parsers

#[test]
fn dependencies_are_read_in_every_form() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na = \"1\" # c\nb.workspace = true\n\
                    c = { version = \"1\", features = [\n\"d\",\n], optional = true }\n\
                    [target.'cfg(unix)'.dependencies.e]\nversion = \"1\"\npackage = \"f\"\n[features]\ng = []\n";
    let found: Vec<_> = dependencies(manifest)
        .into_iter()
        .map(|d| (d.line, d.name.clone(), d.specification.contains("optional=true")))
        .collect();
    assert_eq!(found, [(4, "a".into(), false), (5, "b".into(), false), (6, "c".into(), true), (9, "f".into(), false)]);
}
