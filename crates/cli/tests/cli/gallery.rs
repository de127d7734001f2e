//! The gallery of pictures and the page on pictures are current.

use crate::draw::parse_picture;
use crate::run::{algorithms, run, run_in};
use expect_test::expect_file;
use std::fs;
use std::path::Path;

const DOCUMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Maximum size of a picture in the repository, in bytes.
const MAX_PICTURE_BYTES: usize = 60_000;

/// `quorate gallery docs` or `./fix golden` updates the pictures.
#[test]
fn every_picture_of_the_gallery_is_current() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "gallery .").exits(0);
    let page = fs::read_to_string(folder.path().join("gallery.md")).unwrap();
    expect_file![format!("{DOCUMENTS}/gallery.md")].assert_eq(&page);
    let drawn = file_names(&folder.path().join("gallery"));
    for name in &drawn {
        let text = fs::read_to_string(folder.path().join("gallery").join(name)).unwrap();
        parse_picture(&text);
        assert!(text.len() < MAX_PICTURE_BYTES, "{name} has {} bytes", text.len());
        assert!(page.contains(&format!("(gallery/{name})")), "{name} is not on the page");
        assert_picture_is_current(name, &text);
    }
    let kept = file_names(&Path::new(DOCUMENTS).join("gallery"));
    assert_eq!(kept, drawn, "docs/gallery has pictures that the program no longer draws: remove them");
    for name in algorithms() {
        assert!(drawn.contains(&format!("{name}.svg")), "{name}");
    }
}

/// Compares pictures without printing a diff, which would be unreadable.
fn assert_picture_is_current(name: &str, drawn: &str) {
    let path = format!("{DOCUMENTS}/gallery/{name}");
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == drawn || std::env::var_os("UPDATE_EXPECT").is_some(),
        "docs/gallery/{name} is not current. 'quorate gallery docs' or './fix golden' draws all pictures again; look at them \
         before you commit."
    );
    expect_file![path].assert_eq(drawn);
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The command below a picture draws that picture.
#[test]
fn the_commands_of_the_page_draw_its_pictures() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "gallery .").exits(0);
    let page = fs::read_to_string(folder.path().join("gallery.md")).unwrap();
    let commands: Vec<_> = page.lines().filter(|line| line.starts_with("quorate ")).collect();
    assert!(commands.len() > 8, "{page}");
    for command in commands {
        let result = run_in(folder.path(), command);
        assert!(matches!(result.code, Some(0 | 1 | 3)) && result.err.is_empty(), "{command}: {result:?}");
        let name = command.rsplit(' ').next().unwrap();
        let [one, other] = [folder.path().join(name), folder.path().join("gallery").join(name)]
            .map(|path| fs::read_to_string(path).unwrap());
        assert_eq!(one, other, "{command}");
    }
}

#[test]
fn a_folder_that_cannot_be_created_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = run_in(folder.path(), "gallery file").error();
    assert!(error.starts_with("error: cannot create the folder file/gallery: "), "{error}");
}

/// The page on pictures lists all options, and its commands run.
#[test]
fn the_page_on_pictures_is_current() {
    let page = fs::read_to_string(format!("{DOCUMENTS}/pictures.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let commands: Vec<_> = blocks.flat_map(str::lines).filter(|line| line.starts_with("quorate ")).collect();
    assert!(commands.len() > 5, "{page}");
    for command in commands {
        let result = run_in(folder.path(), command);
        assert!(matches!(result.code, Some(0 | 1)) && result.err.is_empty(), "{command}: {result:?}");
    }
    let help = run("draw --help").exits(0);
    let in_help = help.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next());
    for option in in_help {
        assert!(page.contains(&format!("`--{option}")), "--{option} is not on the page");
    }
    let table = page.lines().filter(|line| line.starts_with("| `--"));
    for option in table.flat_map(|line| line.split("`--").skip(1)).filter_map(|rest| rest.split([' ', '`']).next()) {
        // `--only` is the name of `--nodes` in other commands than `draw`.
        assert!(help.contains(&format!("--{option} ")) || option == "only", "--{option} is not an option");
    }
    // The page shows the regular expression with which ShiViz parses the log.
    let parser = page.lines().find(|line| line.contains("(?<host>")).unwrap().trim();
    let log = fs::read_to_string(folder.path().join("run.log")).unwrap();
    assert_eq!(log.lines().next(), Some(parser));
}
