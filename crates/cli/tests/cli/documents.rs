//! The documents are current, and their commands run.

use crate::run::{run, run_in, shorten};
use expect_test::expect_file;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `./fix golden` updates the pages.
#[test]
fn every_algorithm_has_a_current_page() {
    for row in run("list --json").json(0).as_array().expect("an array") {
        let name = row["name"].as_str().expect("a name");
        let page = run(&format!("explain {name} --markdown")).exits(0);
        expect_file![format!("{ROOT}/docs/algorithms/{name}.md")].assert_eq(&page);
    }
}

/// Runs every line of a `sh` block that starts with `quorate`, in order, each changed by `change`:
/// the lines of the README, then those of the tour.
fn run_readme_and_tour_commands(change: fn(&str) -> String) {
    for (file, min_commands) in [("README.md", 5), ("docs/tour.md", 40)] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut commands = 0;
        for line in shell_lines(file).filter(|line| line.starts_with("quorate ")) {
            let result = run_in(folder.path(), &change(&line));
            assert!(matches!(result.code, Some(0 | 1)), "'{line}' ended with {:?}: {}", result.code, result.err);
            commands += 1;
        }
        assert!(commands >= min_commands, "{file} has only {commands} commands");
    }
}

#[test]
fn every_command_of_the_readme_and_the_tour_runs_in_brief() {
    run_readme_and_tour_commands(shorten);
}

#[test]
#[ignore = "long: ./check long"]
fn every_command_of_the_readme_and_the_tour_runs() {
    run_readme_and_tour_commands(str::to_owned);
}

/// Every command of the page on multicasts succeeds. The paths of its scripts are relative to the
/// root of the repository.
#[test]
fn every_command_of_the_page_on_multicasts_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let scripts = std::fs::canonicalize(Path::new(ROOT).join("docs")).expect("the documents");
    let lines: Vec<_> = shell_lines("docs/multicast.md").filter(|line| line.starts_with("quorate ")).collect();
    assert!(lines.len() >= 15, "the page shows only {} commands", lines.len());
    for line in lines {
        let line_with_paths = line.replace("docs/scenarios", &scripts.join("scenarios").to_string_lossy());
        run_in(folder.path(), &line_with_paths).exits(0);
    }
}

/// Every command of the page on models of time runs, and the page shows the current output for a
/// bound that is exceeded.
#[test]
fn every_command_of_the_page_on_models_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines: Vec<_> = shell_lines("docs/models.md").filter(|line| line.starts_with("quorate ")).collect();
    assert!(lines.len() >= 10, "the page shows only {} commands", lines.len());
    for line in lines {
        let is_bound_exceeded = line.contains("--within");
        run_in(folder.path(), &line).exits(i32::from(is_bound_exceeded));
    }
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/models.md")).expect("the page");
    let printed = run("check armies --within 1h").exits(1);
    assert!(page.contains(printed.trim_end()), "the page does not show:\n{printed}");
}

/// The exit codes that the README and the tour state are correct.
#[test]
fn the_readme_and_the_tour_state_correct_exit_codes() {
    let code_of = |file: &str, part: &str| {
        // Finds `sim` and `sweep`, but no `check`, which may have the same options.
        let mut lines = shell_lines(file).filter(|line| line.starts_with("quorate s"));
        let line = lines.find(|line| line.contains(part)).unwrap_or_else(|| panic!("no '{part}' in {file}"));
        run(&line).code
    };
    for file in ["README.md", "docs/tour.md"] {
        assert_eq!(code_of(file, "crash 1 at 40ms"), Some(1), "{file}");
        assert_eq!(code_of(file, "clock-only"), Some(1), "{file}");
    }
    assert_eq!(code_of("docs/tour.md", "cut 1 | 2,3 at 5ms"), Some(0));
    assert_eq!(code_of("docs/tour.md", "--seeds 10000"), Some(0));
}

/// The README shows the current steps and figures.
#[test]
fn the_readme_shows_the_printed_steps() {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).expect("the README");
    let line = shell_lines("README.md").find(|line| line.ends_with("--steps")).expect("a command with steps");
    let printed = run(&line).exits(0);
    for step in printed.lines().take_while(|line| !line.is_empty()) {
        assert!(readme.contains(step), "the README does not show:\n{step}");
    }
    for figure in ["messages per entry", "synchronization delay"] {
        let row = printed.lines().find(|line| line.contains(figure)).expect("the figure");
        assert!(readme.contains(row.trim_end()), "the README does not show:\n{row}");
    }
}

/// The tour shows the failing seed of a sweep and the command that replays it.
#[test]
fn the_tour_shows_the_printed_sweep() {
    let tour = std::fs::read_to_string(Path::new(ROOT).join("docs/tour.md")).expect("the tour");
    let sweep = run("sweep ricart-agrawala-clock-only --seeds 1000").out;
    let is_shown = |line: &&str| line.starts_with("With seed ") || line.starts_with("To see it again");
    let lines: Vec<_> = sweep.lines().filter(is_shown).collect();
    assert_eq!(lines.len(), 2, "{sweep}");
    for line in lines {
        assert!(tour.contains(line), "the tour does not show:\n{line}");
    }
}

/// The tour shows the current output of a failing check; `…` stands for omitted lines. The other
/// checks of the tour succeed.
#[test]
fn the_tour_shows_the_printed_check() {
    let tour = std::fs::read_to_string(Path::new(ROOT).join("docs/tour.md")).expect("the tour");
    let section = tour.split("## Check every order").nth(1).expect("the section");
    let shown = section.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an output");
    let folder = tempfile::tempdir().expect("a folder");
    let line = shell_lines("docs/tour.md").find(|line| line.contains("clock-only --nodes 2")).expect("the command");
    let others = shell_lines("docs/tour.md").filter(|other| other.starts_with("quorate check") && *other != line);
    others.for_each(|other| assert_eq!(run_in(folder.path(), &other).code, Some(0), "{other}"));
    let printed = run_in(folder.path(), &line).exits(1);
    let mut rest = printed.lines();
    for line in shown.lines().filter(|line| *line != "…") {
        assert!(rest.any(|printed| printed == line), "not printed, or not in this order:\n{line}\n\n{printed}");
    }
}

/// The script of the page on faults runs.
#[test]
fn the_script_of_the_documents_runs() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/faults.md")).expect("the page");
    let script = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a script");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("scenario"), script).expect("a file");
    let printed = run_in(folder.path(), "sim ricart-agrawala --script scenario --steps").exits(0);
    assert!(printed.contains("cancelled") && printed.contains("ENTERS"), "{printed}");
    assert!(printed.contains("LEAVES") && !printed.contains("refused"), "{printed}");
}

fn shell_lines(file: &str) -> impl Iterator<Item = String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join(file)).expect("the document");
    let blocks: Vec<_> = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    blocks.join("\n").lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>().into_iter()
}
