//! `quorate gallery`: a picture of every algorithm and of some scenes, and the page that shows them.
//!
//! Each picture is made by the very command that the page prints below it, in a process of its own.

use crate::Verdict;
use crate::args::GalleryArgs;
use crate::commands::explain::sentence;
use crate::output::{name, output};
use crate::paint;
use crate::report::count;
use anyhow::{anyhow, bail, ensure};
use quorate_lab::registry::all;
use quorate_live::write_whole;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The folder of pictures, beside the page.
const FOLDER: &str = "gallery";

/// One picture, and the command that makes it.
struct Piece {
    /// What its file is called, without the ending.
    file: String,
    title: String,
    text: String,
    /// What is typed after `quorate`, but for the name of the file.
    words: Vec<String>,
}

pub(crate) fn run(args: &GalleryArgs) -> anyhow::Result<Verdict> {
    let folder = args.folder.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| anyhow!("The folder {} could not be made: {error}.", name(&folder)))?;
    let (algorithms, scenes) = (algorithms(), scenes());
    let program = std::env::current_exe()
        .map_err(|error| anyhow!("This program cannot be found again, to draw with it: {error}."))?;
    hang(algorithms.iter().chain(&scenes), &program, &folder)?;
    let page = args.folder.join("gallery.md");
    let failed = |error: io::Error| anyhow!("The page {} could not be written: {error}.", name(&page));
    let text = write_page(&algorithms, &scenes);
    write_whole(&page, failed, |out| out.write_all(text.as_bytes()).map_err(failed))?;
    let pictures = count((algorithms.len() + scenes.len()) as u64, "picture");
    writeln!(output(), "{}", paint::dim(&format!("page: {} ({pictures} in {})", name(&page), name(&folder))))?;
    Ok(Verdict::Holds)
}

/// Draws pictures with a program, and puts them into a folder if all of them could be drawn.
///
/// They are drawn where no picture is yet, because one of last time would look like one that was drawn.
fn hang<'a>(pieces: impl Iterator<Item = &'a Piece> + Clone, program: &Path, folder: &Path) -> anyhow::Result<()> {
    let easel = folder.join(format!(".new-{}", std::process::id()));
    fs::create_dir(&easel).map_err(|error| anyhow!("The folder {} could not be made: {error}.", name(&easel)))?;
    let hung = pieces.clone().try_for_each(|piece| piece.draw(program, &easel)).and_then(|()| {
        pieces.map(Piece::file_name).try_for_each(|file| {
            let picture = folder.join(&file);
            fs::rename(easel.join(&file), &picture)
                .map_err(|error| anyhow!("The picture {} could not be written: {error}.", name(&picture)))
        })
    });
    // What may be left in it is of no worth; if it stays, it does no harm.
    let _ = fs::remove_dir_all(&easel);
    hung
}

impl Piece {
    fn draw(&self, program: &Path, folder: &Path) -> anyhow::Result<()> {
        let picture = folder.join(self.file_name());
        let mut command = Command::new(program);
        command.args(&self.words).arg("--svg").arg(&picture).stdin(Stdio::null()).stdout(Stdio::null());
        let ended =
            command.output().map_err(|error| anyhow!("The picture {} could not be drawn: {error}.", name(&picture)))?;
        // A scene may show what breaks a property, or end before all is decided.
        if !matches!(ended.status.code(), Some(0 | 1 | 3)) {
            bail!("'{}' failed: {}", self.command(), String::from_utf8_lossy(&ended.stderr).trim_end());
        }
        ensure!(picture.exists(), "'{}' drew nothing.", self.command());
        Ok(())
    }

    fn file_name(&self) -> String {
        format!("{}.svg", self.file)
    }

    fn command(&self) -> String {
        let words = self.words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() });
        format!("quorate {} --svg {}", words.collect::<Vec<_>>().join(" "), self.file_name())
    }
}

fn algorithms() -> Vec<Piece> {
    let piece = |entry: &quorate_lab::registry::Entry| {
        let profile = entry.profile();
        Piece {
            file: profile.name.to_owned(),
            title: format!("[{0}](algorithms/{0}.md)", profile.name),
            text: sentence(&format!("{}.", profile.summary)),
            words: ["explain", profile.name].map(str::to_owned).to_vec(),
        }
    };
    all().iter().map(piece).collect()
}

fn scenes() -> Vec<Piece> {
    let scenes = [
        (
            "reliable-links",
            "A cut and a crash",
            "Node 2 is cut off from the coordinator, and node 3 crashes while it waits. Reliable links send again what is \
             lost, until it is acknowledged. What was meant for node 3's past life its next one does not take, and its \
             forgotten request admits nobody.",
            "sim central --latency fixed:2ms --workload all --entries 3 --fault 'cut 1 | 2 at 3ms for 12ms' --fault \
             'crash 3 at 5ms for 15ms'",
        ),
        (
            "views",
            "A view without the holder",
            "Node 1 stands still while it has the token, for longer than its lease. The group waits until that lease has run \
             out, reports to each other what is left, and goes on in a view without it. When node 1 goes on, its entry is \
             over, and it is let in again.",
            "sim token-request --views --lease 30ms --keepalive 8ms --latency fixed:2ms --workload all --entries 3 \
             --hold fixed:10ms --fault 'pause 1 at 5ms for 45ms'",
        ),
        (
            "counterexample",
            "A counterexample",
            "The shortest way to break an algorithm that is wrong on purpose, found by trying every order: it compares clocks \
             and not nodes, so that equal stamps both go first.",
            "check ricart-agrawala-clock-only --nodes 2",
        ),
        (
            "replication",
            "A leader, and its log",
            "The leader of three replicas is down. Another one asks whether it could win, is elected, and has a client's write \
             saved by the other replica before it is applied and answered.",
            "sim replica --seed 9 --clients 2 --operations 6 --keys 1 --latency fixed:1ms --disk fixed:500us --fault \
             'crash 3 at 150ms' --until 400ms --from 249ms --to 294ms",
        ),
        (
            "overview",
            "A long run",
            "Five replicas and four clients, while the seed crashes nodes, stops them and cuts the network: too much for \
             single steps, so how each node stood and how many messages there were.",
            "sim replica --nodes 5 --clients 4 --operations 350 --random-faults crash=3,cut=2,pause=2",
        ),
        (
            "wait-for-cycle",
            "A deadlock of two",
            "Each holds what the other one wants. A third is stuck behind them, a fourth has all that it needs, and the \
             cross says who is to give up.",
            "wait-for --example printer-and-scanner",
        ),
        (
            "wait-for-knot",
            "A knot",
            "Each would be content with one of several, as the arcs say, but all of those are in the knot. P6 goes on, because P7 does.",
            "wait-for --example knot",
        ),
    ];
    let piece = |(file, title, text, line): (&str, &str, &str, &str)| Piece {
        file: file.to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        words: words(line),
    };
    scenes.into_iter().map(piece).collect()
}

/// The words of a line, in which a word with blanks stands in quotes.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(place, part)| match place % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.map(str::to_owned).collect()
}

fn write_page(algorithms: &[Piece], scenes: &[Piece]) -> String {
    let mut page = String::from(
        "# Gallery\n\nEvery picture is drawn by the command below it, and all of them by `quorate gallery docs`. \
         [How to read them](pictures.md).\n",
    );
    for (title, pieces) in [("Algorithms", algorithms), ("Scenes", scenes)] {
        let _ = write!(page, "\n## {title}\n");
        for piece in pieces {
            let Piece { file, title, text, .. } = piece;
            let _ = write!(page, "\n### {title}\n\n{text}\n\n![{file}]({FOLDER}/{})\n\n", piece.file_name());
            let _ = write!(page, "```sh\n{}\n```\n", piece.command());
        }
    }
    page
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::{Piece, hang};
    use std::fs;
    use std::path::Path;

    /// Two pictures that the shell draws; the script finds their name in `$0`, and their file in `$2`.
    fn pieces(script: &str) -> [Piece; 2] {
        ["one", "two"].map(|file| Piece {
            file: file.into(),
            title: file.into(),
            text: String::new(),
            words: vec!["-c".into(), script.into(), file.into()],
        })
    }

    fn draw(script: &str, gallery: &Path) -> anyhow::Result<()> {
        hang(pieces(script).iter(), Path::new("/bin/sh"), gallery)
    }

    /// The files of a folder, and what is in them.
    fn content(folder: &Path) -> Vec<(String, String)> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let file = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut files: Vec<_> = paths.map(|path| (file(&path), fs::read_to_string(&path).unwrap())).collect();
        files.sort();
        files
    }

    fn files(one: &str, two: &str) -> Vec<(String, String)> {
        [("one.svg", one), ("two.svg", two)].map(|(name, text)| (name.into(), text.into())).into()
    }

    #[test]
    fn a_picture_of_last_time_is_not_taken_for_one_that_was_drawn() {
        let folder = tempfile::tempdir().unwrap();
        draw("echo $0 > \"$2\"", folder.path()).unwrap();
        assert_eq!(content(folder.path()), files("one\n", "two\n"));
        // The second one draws nothing and says that all is well.
        let refused = draw("test $0 = two || echo new > \"$2\"", folder.path()).unwrap_err().to_string();
        assert!(refused.ends_with(" two --svg two.svg' drew nothing."), "{refused}");
        assert_eq!(content(folder.path()), files("one\n", "two\n"), "all is as it was");
        // One that shows what is broken says so, and is a picture nonetheless.
        draw("echo new > \"$2\"; exit 1", folder.path()).unwrap();
        assert_eq!(content(folder.path()), files("new\n", "new\n"));
    }
}
