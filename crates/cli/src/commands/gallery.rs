//! `quorate gallery`: draws every algorithm and some scenes, and writes the page that shows them.
//!
//! Each picture is drawn by the command that the page prints below it, in a separate process.

use crate::CommandOutcome;
use crate::args::GalleryArgs;
use crate::commands::explain::{capitalize, wrap_text};
use crate::output::{display_path, output};
use crate::paint;
use crate::report::format_count;
use anyhow::{anyhow, bail, ensure};
use quorate_lab::registry;
use quorate_live::write_atomically;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The folder of pictures, beside the page.
const FOLDER: &str = "gallery";

/// One picture with the command that draws it.
struct GalleryPicture {
    /// Name of the picture's file without its extension.
    name: String,
    title: String,
    description: String,
    /// Arguments of the command, without `--svg` and the name of the file.
    arguments: Vec<String>,
}

pub(crate) fn run(args: &GalleryArgs) -> anyhow::Result<CommandOutcome> {
    let folder = args.folder.join(FOLDER);
    fs::create_dir_all(&folder)
        .map_err(|error| anyhow!("cannot create the folder {}: {error}.", display_path(&folder)))?;
    let (algorithms, scenes) = (list_algorithm_pictures(), list_scene_pictures());
    let program = std::env::current_exe()
        .map_err(|error| anyhow!("cannot find the path of this program to draw with it: {error}."))?;
    draw_all(algorithms.iter().chain(&scenes), &program, &folder)?;
    let page = args.folder.join("gallery.md");
    let failed = |error: io::Error| anyhow!("cannot write the page {}: {error}.", display_path(&page));
    let text = render_page(&algorithms, &scenes);
    write_atomically(&page, failed, |out| out.write_all(text.as_bytes()).map_err(failed))?;
    let pictures = format_count((algorithms.len() + scenes.len()) as u64, "picture");
    writeln!(
        output(),
        "{}",
        paint::dim(&format!("page: {} ({pictures} in {})", display_path(&page), display_path(&folder)))
    )?;
    Ok(CommandOutcome::Holds)
}

/// Draws all pictures with a program, and moves them into a folder if it drew every one.
///
/// The pictures are drawn in an empty temporary folder, so that an old picture does not pass for a
/// new one.
fn draw_all<'a>(
    pictures: impl Iterator<Item = &'a GalleryPicture> + Clone,
    program: &Path,
    folder: &Path,
) -> anyhow::Result<()> {
    let temporary = folder.join(format!(".new-{}", std::process::id()));
    fs::create_dir(&temporary)
        .map_err(|error| anyhow!("cannot create the folder {}: {error}.", display_path(&temporary)))?;
    let result = pictures.clone().try_for_each(|picture| picture.draw(program, &temporary)).and_then(|()| {
        pictures.map(GalleryPicture::svg_name).try_for_each(|file| {
            let picture = folder.join(&file);
            fs::rename(temporary.join(&file), &picture)
                .map_err(|error| anyhow!("cannot write the picture {}: {error}.", display_path(&picture)))
        })
    });
    // A leftover folder does no harm.
    let _ = fs::remove_dir_all(&temporary);
    result
}

impl GalleryPicture {
    fn draw(&self, program: &Path, folder: &Path) -> anyhow::Result<()> {
        let picture = folder.join(self.svg_name());
        let mut command = Command::new(program);
        command.args(&self.arguments).arg("--svg").arg(&picture).stdin(Stdio::null()).stdout(Stdio::null());
        let finished = command
            .output()
            .map_err(|error| anyhow!("cannot draw the picture {}: {error}.", display_path(&picture)))?;
        // The command of a scene may show a failing property or a deadlock (1), or stop before a
        // verdict (3).
        if !matches!(finished.status.code(), Some(0 | 1 | 3)) {
            bail!("'{}' failed: {}", self.command(), String::from_utf8_lossy(&finished.stderr).trim_end());
        }
        ensure!(picture.exists(), "'{}' did not write a picture.", self.command());
        Ok(())
    }

    fn svg_name(&self) -> String {
        format!("{}.svg", self.name)
    }

    fn command(&self) -> String {
        let words =
            self.arguments.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() });
        format!("quorate {} --svg {}", words.collect::<Vec<_>>().join(" "), self.svg_name())
    }
}

fn list_algorithm_pictures() -> Vec<GalleryPicture> {
    let picture = |entry: &registry::Entry| {
        let profile = entry.profile();
        GalleryPicture {
            name: profile.name.to_owned(),
            title: format!("[{0}](algorithms/{0}.md)", profile.name),
            description: capitalize(&format!("{}.", profile.summary)),
            arguments: ["explain", profile.name].map(str::to_owned).to_vec(),
        }
    };
    registry::all().iter().map(picture).collect()
}

fn list_scene_pictures() -> Vec<GalleryPicture> {
    let scenes = [
        (
            "reliable-links",
            "A partition and a crash",
            "A partition separates node 2 from the coordinator, and node 3 crashes while it waits. Reliable links \
             retransmit messages until they are acknowledged. The new incarnation of node 3 ignores messages to its \
             old one, and does not enter when the request that it forgot is granted.",
            "sim central --latency fixed:2ms --workload all --entries 3 --fault 'cut 1 | 2 at 3ms for 12ms' --fault \
             'crash 3 at 5ms for 15ms'",
        ),
        (
            "views",
            "A view without the holder",
            "Node 1 is paused while it has the token, for longer than its lease. The other nodes wait until the lease \
             has expired, exchange their states, and continue in a view without node 1. When node 1 continues, its \
             entry has ended, and it rejoins the group.",
            "sim token-request --views --lease 30ms --keepalive 8ms --latency fixed:2ms --workload all --entries 3 \
             --hold fixed:10ms --fault 'pause 1 at 5ms for 45ms'",
        ),
        (
            "counterexample",
            "A counterexample",
            "The shortest counterexample for a faulty variant, found by exploring every order. The variant compares \
             clocks but not node ids, so that two requests with equal clocks both go first.",
            "check ricart-agrawala-clock-only --nodes 2",
        ),
        (
            "replication",
            "A leader and its log",
            "The leader of three replicas is down. Another replica asks whether it could win an election and is \
             elected. The other replica saves a client's write before the new leader applies and answers it.",
            "sim replica --seed 9 --clients 2 --operations 6 --keys 1 --latency fixed:1ms --disk fixed:500us --fault \
             'crash 3 at 150ms' --until 400ms --from 249ms --to 294ms",
        ),
        (
            "overview",
            "A long run",
            "Five replicas and four clients, with random crashes, pauses and partitions. The run is too long to draw \
             single steps, so the picture shows the role of each node and the number of messages over time.",
            "sim replica --nodes 5 --clients 4 --operations 350 --random-faults crash=3,cut=2,pause=2",
        ),
        (
            "wait-for-cycle",
            "A deadlock of two processes",
            "Each of two processes holds the lock that the other one wants. A third process is blocked behind them, and \
             a fourth one has all that it needs. The cross marks the victim.",
            "wait-for --example printer-and-scanner",
        ),
        (
            "wait-for-knot",
            "A knot",
            "Each process waits for one of several others, as the arcs show, but all of those are in the knot. P6 \
             continues, because P7 does.",
            "wait-for --example knot",
        ),
    ];
    let picture = |(name, title, description, command): (&str, &str, &str, &str)| GalleryPicture {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        arguments: split_words(command),
    };
    scenes.into_iter().map(picture).collect()
}

/// Splits a line into words. A word with blanks is in single quotes.
fn split_words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.map(str::to_owned).collect()
}

fn render_page(algorithms: &[GalleryPicture], scenes: &[GalleryPicture]) -> String {
    let mut page = String::from(
        "# Gallery\n\nThe command below each picture draws it; `quorate gallery docs` draws all of them.\n\
         See [how to read the pictures](pictures.md).\n",
    );
    let indent = 0;
    for (title, pictures) in [("Algorithms", algorithms), ("Scenes", scenes)] {
        let _ = write!(page, "\n## {title}\n");
        for picture in pictures {
            let GalleryPicture { name, title, description, .. } = picture;
            let _ = write!(
                page,
                "\n### {title}\n\n{}\n\n![{name}]({FOLDER}/{})\n\n",
                wrap_text(description, indent),
                picture.svg_name()
            );
            let _ = write!(page, "```sh\n{}\n```\n", picture.command());
        }
    }
    page
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::{GalleryPicture, draw_all};
    use std::fs;
    use std::path::Path;

    /// Two pictures that a shell script draws. `$0` is the name of the picture, `$1` is `--svg`,
    /// and `$2` is the picture's file.
    fn pictures(script: &str) -> [GalleryPicture; 2] {
        ["one", "two"].map(|file| GalleryPicture {
            name: file.into(),
            title: file.into(),
            description: String::new(),
            arguments: vec!["-c".into(), script.into(), file.into()],
        })
    }

    fn draw(script: &str, gallery: &Path) -> anyhow::Result<()> {
        draw_all(pictures(script).iter(), Path::new("/bin/sh"), gallery)
    }

    /// Returns the files of a folder with their contents.
    fn files_of(folder: &Path) -> Vec<(String, String)> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut files: Vec<_> = paths.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect();
        files.sort();
        files
    }

    fn two_files(one: &str, two: &str) -> Vec<(String, String)> {
        [("one.svg", one), ("two.svg", two)].map(|(name, text)| (name.into(), text.into())).into()
    }

    #[test]
    fn an_old_picture_does_not_pass_for_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        draw("echo $0 > \"$2\"", folder.path()).unwrap();
        assert_eq!(files_of(folder.path()), two_files("one\n", "two\n"));
        // The command of the second picture succeeds without drawing it.
        let error = draw("test $0 = two || echo new > \"$2\"", folder.path()).unwrap_err().to_string();
        assert!(error.ends_with(" two --svg two.svg' did not write a picture."), "{error}");
        assert_eq!(files_of(folder.path()), two_files("one\n", "two\n"), "the old pictures are unchanged");
        // A command that exits with 1 has drawn a failing run.
        draw("echo new > \"$2\"; exit 1", folder.path()).unwrap();
        assert_eq!(files_of(folder.path()), two_files("new\n", "new\n"));
    }
}
