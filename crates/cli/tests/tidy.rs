//! Conventions of this repository that no linter can verify.
//!
//! Each test of a convention reads the working tree as text and lists every violation as
//! `file:line`, with a remedy. The last tests verify the parsers themselves, so that no convention
//! passes because its test reads nothing.

#![allow(clippy::panic, reason = "tests and their helpers report failures by panicking")]

#[path = "tidy/documentation.rs"]
mod documentation;
#[path = "tidy/language.rs"]
mod language;
#[path = "tidy/manifests.rs"]
mod manifests;
#[path = "tidy/map.rs"]
mod map;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::path::Path;

/// Folders with protocols: the algorithms, and the demonstrations with protocols of their own.
const PROTOCOL_FOLDERS: [&str; 2] = ["crates/core/src/", "crates/demos/src/"];
/// Subfolders whose files have rules: the families of algorithms, the wrappers, and some
/// demonstrations.
const RULE_FOLDERS: [&str; 8] = ["mutex", "election", "multicast", "deadlock", WRAPPERS, "local", "armies", "berkeley"];
const WRAPPERS: &str = "wrap";

/// The maximum length of a Rust file. Split a file at about 500 lines.
const MAX_LINES: usize = 600;

const TEXT_EXTENSIONS: [&str; 13] =
    ["rs", "md", "toml", "sh", "yml", "yaml", "html", "css", "js", "json", "svg", "txt", "proto"];
const TEXTS_WITHOUT_EXTENSION: [&str; 3] = ["check", "fix", ".ci/run"];

// -------------------------------------------------------------------------------------- every file

#[test]
fn every_rust_file_begins_with_a_header() {
    let mut findings = Findings::default();
    for file in rust_files() {
        if !file.text.starts_with("//!") {
            let first = file.text.lines().next().unwrap_or_default();
            findings.add(&file.path, 1, format_args!("begins with `{first}`"));
        }
    }
    findings.assert_empty(
        "every Rust file begins with a `//!` header",
        "Write the header above everything else, attributes too: one sentence that says what the file is for, then\n\
         what a reader must know before the code. An algorithm's header also has its rules; see CONTRIBUTING.md.",
    );
}

#[test]
fn no_rust_file_is_too_long() {
    let mut findings = Findings::default();
    for file in rust_files() {
        let lines = file.text.lines().count();
        if lines > MAX_LINES {
            findings.add(&file.path, lines, format_args!("has {lines} lines, {} too many", lines - MAX_LINES));
        }
    }
    findings.assert_empty(
        &format!("no Rust file is over {MAX_LINES} lines"),
        "Split it along an idea that deserves a name. The tests of `x.rs` may move to `x/tests.rs`\n\
         (`#[cfg(test)] mod tests;` in `x.rs`): rules are looked up there too.",
    );
}

#[test]
fn nothing_unfinished_is_left_behind() {
    // Each needle is in two halves, so that the test does not find its own list.
    let needles = [
        concat!("to", "do!"),
        concat!("un", "implemented!"),
        concat!("d", "bg!"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("#[ig", "nore"),
    ];
    // The only permitted way to ignore a test: `./check long` runs it.
    let permitted = concat!("#[ig", "nore = \"long: ./check long\"]");
    let mut findings = Findings::default();
    for file in rust_files() {
        for (number, line) in file.lines().filter(|(_, line)| line.trim() != permitted) {
            for needle in needles.iter().filter(|needle| has_word(line, needle)) {
                findings.add(&file.path, number, format_args!("has `{needle}`"));
            }
        }
    }
    findings.assert_empty(
        "nothing unfinished is left behind",
        "Finish it now, or remove it. Do not disable a test that cannot pass yet: add it with the code that makes it\n\
         pass.",
    );
}

#[test]
fn no_machine_or_registry_is_named() {
    let paths = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];
    let hosts = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("deb.debian", ".org"),
        concat!("registry.npmjs", ".org"),
    ];
    let mut findings = Findings::default();
    for file in files() {
        for (number, line) in file.lines() {
            for path in paths.iter().filter(|path| has_absolute_path(line, path)) {
                findings.add(&file.path, number, format_args!("names `{path}…`, a path of a developer's machine"));
            }
            for host in hosts.iter().filter(|host| line.contains(**host)) {
                findings.add(&file.path, number, format_args!("names `{host}`, a package registry"));
            }
        }
    }
    findings.assert_empty(
        "no file names a developer's machine or a package registry",
        "Write paths relative to the repository (Rust: `env!(\"CARGO_MANIFEST_DIR\")`, shell: `$(dirname \"$0\")`).\n\
         Do not name package registries: they are the user's setting. Cargo.lock is exempt.",
    );
}

// --------------------------------------------------------------------------------------- protocols

#[test]
fn no_protocol_ignores_inputs_by_wildcard() {
    let mut findings = Findings::default();
    let mut protocols = 0;
    for file in protocol_files() {
        let blocks = protocol_blocks(&file);
        protocols += blocks.len();
        for (number, line) in blocks.into_iter().flatten().filter(|(_, line)| has_wildcard_arm(line)) {
            findings.add(&file.path, number, format_args!("`{}`", line.trim()));
        }
    }
    assert!(protocols > 0, "no `impl Protocol for` found in {PROTOCOL_FOLDERS:?}: if it moved, adapt this test.");
    findings.assert_empty(
        "a protocol's match names every input: no `_ =>` in `impl Protocol for`",
        "Name the variants that the arm stands for: `Input::Saved(_) | Input::View(_) | Input::Lease(_) => {}`. A new kind of input or\n\
         message then fails to compile wherever a protocol does not handle it. For a `Never`: `match never {}`.",
    );
}

#[test]
fn every_algorithm_has_rules_in_its_header() {
    let mut findings = Findings::default();
    let algorithms = algorithms();
    // A wrapper is not an algorithm, and may do without rules.
    for file in files_in_rule_folders().into_iter().filter(|file| file.rule_folder() != Some(WRAPPERS)) {
        let has_rules = algorithms.iter().any(|algorithm| belongs_to(&file.path, &algorithm.path));
        if let Some((number, line)) = file.lines().find(|(_, line)| opens_protocol(line)).filter(|_| !has_rules) {
            findings.add(&file.path, number, format_args!("`{}`, but the header has no rules", line.trim()));
        }
    }
    findings.assert_empty(
        "every algorithm has its rules in its header",
        "Write the rule table into the file's `//!` header, one line per rule, two spaces after the id:\n\
         `//! RA-2  a request arrives  → reply; defer if in the critical section, or if our request is older`.",
    );
}

#[test]
fn every_rule_is_cited_above_its_code() {
    let mut findings = Findings::default();
    for algorithm in algorithms() {
        let cited: BTreeSet<_> = algorithm.files.iter().flat_map(File::documented_rules).map(|(_, id)| id).collect();
        for (number, id) in algorithm.rules.iter().filter(|(_, id)| !cited.contains(id)) {
            findings.add(&algorithm.path, *number, format_args!("{id} is in the header, but no doc comment cites it"));
        }
    }
    findings.assert_empty(
        "a doc comment in the code cites every rule of the header",
        "Begin the doc comment of the method that implements the rule with its id: `/// RA-2. Why it works this way.`\n\
         Several rules in one method: `/// RA-2, RA-3. …`. Remove a rule that no code implements.",
    );
}

#[test]
fn every_rule_has_a_test_named_after_it() {
    let mut findings = Findings::default();
    for algorithm in algorithms() {
        for (number, id) in &algorithm.rules {
            let name = test_name(id);
            if !algorithm.files.iter().any(|file| file.has_test(&name)) {
                findings.add(&algorithm.path, *number, format_args!("{id} has no test `fn {name}_…`"));
            }
        }
    }
    findings.assert_empty(
        "every rule of a header has a test named after it",
        "Write a `#[test] fn ra_2_…`, or a row of `rule_tests!`, that runs a script in which the rule applies, and compares the trace.\n\
         Put it into the algorithm's own file or, for `x.rs`, under `x/`, into `x_tests.rs` or `tests/x.rs`.",
    );
}

#[test]
fn every_cited_rule_is_in_the_header() {
    let mut findings = Findings::default();
    let algorithms = algorithms();
    for file in files_in_rule_folders() {
        let owners = algorithms.iter().filter(|algorithm| belongs_to(&file.path, &algorithm.path));
        let known: BTreeSet<_> = owners.flat_map(|owner| &owner.rules).map(|(_, id)| id.as_str()).collect();
        // A doc comment may begin with `UTF-8`, which looks like a rule id; notes cite only rules.
        let is_of_algorithm = |id: &str| known.iter().any(|rule| rule_prefix(rule) == rule_prefix(id));
        let cited = file.documented_rules().filter(|(_, id)| is_of_algorithm(id)).chain(file.noted_rules());
        for (number, id) in cited.filter(|(_, id)| !known.contains(id.as_str())) {
            let header = if known.is_empty() { "has no rules" } else { "lacks it" };
            findings.add(&file.path, number, format_args!("cites {id}, but the header {header}"));
        }
    }
    findings.assert_empty(
        "the header has every rule that a note or a doc comment cites",
        "Correct the id, or add the rule to the `//!` header of the algorithm: readers follow the id from the trace\n\
         to the rule, and `quorate explain` prints the header.",
    );
}

// --------------------------------------------------------------------------------------- documents

#[test]
fn the_changelog_has_an_unreleased_section() {
    let mut findings = Findings::default();
    match try_read("CHANGELOG.md") {
        None => findings.add("CHANGELOG.md", 1, "does not exist"),
        Some(page) if page.lines().any(|(_, line)| line.starts_with("## ") && line.contains("Unreleased")) => {}
        Some(_) => findings.add("CHANGELOG.md", 1, "has no heading `## Unreleased`"),
    }
    findings.assert_empty(
        "CHANGELOG.md has an Unreleased section",
        "Add `## Unreleased` above the newest version, and describe there what users will notice, in the\n\
         same commit.",
    );
}

// ------------------------------------------------------------------------------ files and findings

struct File {
    /// The path relative to the repository, separated by `/`.
    path: String,
    text: String,
}

/// All text files of the working tree except build output and .git, sorted by path.
fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect_texts(&root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(
        files.iter().any(|file| file.path == "crates/core/src/lib.rs"),
        "{} is not the repository; if tidy.rs moved, adapt `root`",
        root().display()
    );
    files
}

fn rust_files() -> Vec<File> {
    files().into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

fn protocol_files() -> Vec<File> {
    let is_protocol_file = |file: &File| PROTOCOL_FOLDERS.iter().any(|folder| file.path.starts_with(folder));
    rust_files().into_iter().filter(is_protocol_file).collect()
}

fn files_in_rule_folders() -> Vec<File> {
    protocol_files().into_iter().filter(|file| file.rule_folder().is_some()).collect()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn collect_texts(folder: &Path, path_prefix: &str, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{path_prefix}{name}");
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            // Cargo marks its target folders with this file, whatever their name.
            let is_output = name == "target" || name == ".git" || entry.path().join("CACHEDIR.TAG").exists();
            if !is_output {
                collect_texts(&entry.path(), &format!("{path}/"), files);
            }
        } else if kind.is_file() && is_text(&path) {
            files.push(read(&path));
        }
    }
}

fn is_text(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| TEXT_EXTENSIONS.contains(&extension)) || TEXTS_WITHOUT_EXTENSION.contains(&path)
}

fn read(path: &str) -> File {
    try_read(path).unwrap_or_else(|| panic!("cannot read {path} in {}", root().display()))
}

fn try_read(path: &str) -> Option<File> {
    let bytes = fs::read(root().join(path)).ok()?;
    Some(File { path: path.into(), text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// The violations of one convention, as `file:line: violation`.
#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn add(&mut self, path: &str, line: usize, violation: impl Display) {
        self.0.push(format!("  {path}:{line}: {violation}"));
    }

    /// Fails with the list of violations, unless there are none.
    #[track_caller]
    fn assert_empty(self, convention: &str, remedy: &str) {
        let count = match self.0.len() {
            1 => "1 place violates".into(),
            count => format!("{count} places violate"),
        };
        let list = self.0.join("\n");
        assert!(self.0.is_empty(), "\n{count} a convention: {convention}.\n\n{list}\n\nRemedy: {remedy}\n");
    }
}

// ----------------------------------------------------------------------------------------- parsers

impl File {
    /// The folder of [`RULE_FOLDERS`] that contains the file, directly or in a subfolder.
    fn rule_folder(&self) -> Option<&str> {
        let path_inside = PROTOCOL_FOLDERS.iter().find_map(|folder| self.path.strip_prefix(folder))?;
        let (folder, _) = path_inside.split_once('/')?;
        RULE_FOLDERS.contains(&folder).then_some(folder)
    }

    /// The lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The line number and id of each rule in the header's table: `//! RA-2  a request arrives …`.
    fn header_rules(&self) -> Vec<(usize, String)> {
        let header = self.lines().map_while(|(number, line)| Some((number, line.strip_prefix("//!")?)));
        let rows = header.filter_map(|(number, line)| Some((number, line.strip_prefix(' ')?.split_once("  ")?.0)));
        rows.filter(|(_, id)| is_rule_id(id)).map(|(number, id)| (number, id.into())).collect()
    }

    /// The line number and id of each rule that a line of a doc comment begins with:
    /// `/// RA-2, RA-3. …`.
    fn documented_rules(&self) -> impl Iterator<Item = (usize, String)> {
        let comments =
            self.lines().filter_map(|(number, line)| Some((number, line.trim_start().strip_prefix("/// ")?)));
        comments.flat_map(|(number, comment)| leading_rules(comment).map(move |id| (number, id.into())))
    }

    /// The line number and id of each rule that a note cites, directly or through a helper: every
    /// string that is a rule id.
    fn noted_rules(&self) -> impl Iterator<Item = (usize, String)> {
        let code = self.lines().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let strings = code.flat_map(|(number, line)| line.split('"').skip(1).map(move |string| (number, string)));
        strings.filter(|(_, string)| is_rule_id(string)).map(|(number, id)| (number, id.into()))
    }

    /// Whether a `#[test]` has this name, or this prefix followed by an underscore. A row of a
    /// `rule_tests!` table counts as a test.
    fn has_test(&self, name: &str) -> bool {
        let begins_with_name = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['_', '(']));
        let lines: Vec<_> = self.text.lines().map(str::trim).collect();
        let mut functions =
            lines.iter().enumerate().filter(|(_, line)| line.strip_prefix("fn ").is_some_and(begins_with_name));
        let above = |index: usize| lines[..index].iter().rev().take_while(|line| line.starts_with(['#', '/']));
        functions.any(|(index, _)| above(index).any(|line| *line == "#[test]"))
            || self.rule_rows().any(begins_with_name)
    }

    /// The rows of every `rule_tests! { … }` table, each from its name on. Rows are indented by
    /// four spaces.
    fn rule_rows(&self) -> impl Iterator<Item = &str> {
        let mut inside = false;
        self.text.lines().filter_map(move |line| {
            inside = (inside || line.starts_with("rule_tests! {")) && line != "}";
            line.strip_prefix("    ").filter(|row| inside && row.starts_with(|c: char| c.is_ascii_lowercase()))
        })
    }
}

/// Whether the line contains the word, and not as the end of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| !line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Whether the line has an absolute path with this beginning: `"/opt/x"` has `/opt/`; `docs/opt/x`
/// and `https://a.b/opt/x` do not.
fn has_absolute_path(line: &str, path: &str) -> bool {
    line.match_indices(path)
        .any(|(start, _)| !line[..start].ends_with(|c: char| c.is_alphanumeric() || "._-~})*".contains(c)))
}

fn is_rule_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(letters, digits)| {
        let has_prefix = !letters.is_empty() && letters.chars().all(|letter| letter.is_ascii_uppercase());
        has_prefix && !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
    })
}

/// `RA-2, RA-3 and RA-4. Why` begins with three rules.
fn leading_rules(comment: &str) -> impl Iterator<Item = &str> {
    let words = comment.split([' ', ',', '.', ':']).filter(|word| !word.is_empty() && *word != "and");
    words.take_while(|word| is_rule_id(word))
}

/// The prefix of a rule id, which all rules of one algorithm share.
fn rule_prefix(id: &str) -> &str {
    id.split('-').next().unwrap_or_default()
}

fn test_name(id: &str) -> String {
    id.to_lowercase().replace('-', "_")
}

/// An algorithm: its main file, which has the rules in its header, and all files that belong to it.
struct Algorithm {
    /// The path of the file with the header.
    path: String,
    /// Line number and id.
    rules: Vec<(usize, String)>,
    files: Vec<File>,
}

fn algorithms() -> Vec<Algorithm> {
    let main_files = files_in_rule_folders().into_iter().map(|file| (file.header_rules(), file.path));
    let algorithms: Vec<_> = main_files
        .filter(|(rules, _)| !rules.is_empty())
        .map(|(rules, path)| {
            let files = files_in_rule_folders().into_iter().filter(|file| belongs_to(&file.path, &path)).collect();
            Algorithm { path, rules, files }
        })
        .collect();
    assert!(
        !algorithms.is_empty(),
        "no header with rules found in {PROTOCOL_FOLDERS:?}: if the format changed, adapt this test"
    );
    algorithms
}

/// To `mutex/x.rs` belong `mutex/x/…`, `mutex/x_tests.rs` and `mutex/tests/x.rs`; to
/// `mutex/x/mod.rs` all of `mutex/x/`.
fn belongs_to(path: &str, main_file: &str) -> bool {
    let stem = main_file.strip_suffix("/mod.rs").or(main_file.strip_suffix(".rs")).unwrap_or(main_file);
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let beside = [main_file.into(), format!("{stem}_tests.rs"), format!("{folder}/tests/{name}.rs")];
    beside.iter().any(|file| file == path) || path.starts_with(&format!("{stem}/"))
}

/// Whether the line begins an implementation, as `impl Protocol for X` or
/// `impl<P> crate::Protocol for X<P>`, or ends the parameters of one: `> Protocol for X<P>`.
fn opens_protocol(line: &str) -> bool {
    let opens = line.starts_with("impl") || line.starts_with('>');
    opens && line.split_once("Protocol for ").is_some_and(|(before, _)| before.ends_with([' ', ':']))
}

/// The lines of each `impl Protocol for`, up to its closing brace at column 0.
fn protocol_blocks(file: &File) -> Vec<Vec<(usize, &str)>> {
    let starts = file.lines().filter(|(_, line)| opens_protocol(line)).map(|(number, _)| number);
    starts.map(|start| file.lines().skip(start - 1).take_while(|(_, line)| *line != "}").collect()).collect()
}

/// Whether the line has an arm `_ => …` or `_ if … => …`, alone or beside other code.
fn has_wildcard_arm(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let mut arms = code.match_indices("_ =>").chain(code.match_indices("_ if "));
    arms.any(|(start, _)| code[..start].trim_end() == "" || code[..start].trim_end().ends_with(['{', '}', ',', '|']))
}

// ---------------------------------------------------------------------------- tests of the parsers

#[test]
fn rules_are_read_from_headers_doc_comments_and_notes() {
    let text = "//! Toy.\n//!\n//! TY-1  asked → act\n//! TY-22  told → rest\n//! TY-3 is mere prose.\n\n\
                /// TY-1, TY-22 and TY-5. Why.\n/// See TY-6.\nout.note(\"TY-7\", x);\n//
                /// note(\"TY-8\")\n\
                #[test]\n#[should_panic]\nfn ty_1_works() {}\nfn ty_22_is_no_test() {}\n\
                ty_3_no(\nrule_tests! { Toy::new, 3;\n    /// ty_4_no(\n    ty_5_works(\n        ty_6_no(\n}\n    ty_7_no(\n";
    let file = File { path: "x.rs".into(), text: text.into() };
    assert_eq!(file.header_rules(), [(3, "TY-1".into()), (4, "TY-22".into())]);
    assert_eq!(file.documented_rules().map(|(_, id)| id).collect::<Vec<_>>(), ["TY-1", "TY-22", "TY-5"]);
    assert_eq!(file.noted_rules().collect::<Vec<_>>(), [(9, "TY-7".into())]);
    let tested = |rule: &_| file.has_test(&format!("ty_{rule}"));
    assert_eq!([1, 2, 22, 3, 4, 5, 6, 7].into_iter().filter(tested).collect::<Vec<_>>(), [1, 5]);
    assert!(
        belongs_to("m/x/tests.rs", "m/x.rs")
            && belongs_to("m/x/y.rs", "m/x/mod.rs")
            && !belongs_to("m/xy.rs", "m/x.rs")
    );
}

#[test]
fn wildcard_arms_are_recognised() {
    for line in ["_ => {}", "    _ if calm => x,", "match x { A => b, _ => c }", "A | _ => {}"] {
        assert!(has_wildcard_arm(line), "{line}");
    }
    for line in ["Some(_) => {}", "(_, _) => {}", "last_ => {}", "// _ => {}", "A(_) if calm => {}", "let _ = x;"] {
        assert!(!has_wildcard_arm(line), "{line}");
    }
    let text =
        "impl<P: Protocol> Protocol for X<P>\nwhere\n    P: Y,\n{\n    _ => 1,\n}\n_ => 2\nimpl P for Protocol {\n}\n";
    let file = File { path: "x.rs".into(), text: text.into() };
    let blocks = protocol_blocks(&file);
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0].last(), Some(&(5, "    _ => 1,")));
}

#[test]
fn absolute_paths_are_distinguished_from_relative_ones() {
    for line in ["cd /opt/x", "\"/opt/x\"", "file:///opt/x"] {
        assert!(has_absolute_path(line, "/opt/"), "{line}");
    }
    for line in ["docs/opt/x", "https://a.b/opt/x", "${DIR}/opt/x"] {
        assert!(!has_absolute_path(line, "/opt/"), "{line}");
    }
}
