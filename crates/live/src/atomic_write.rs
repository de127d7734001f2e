//! Atomic writing of files: a file gets its name only when it is complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How to write to a path.
enum Target {
    /// An existing pipe or device, or a link in `/proc` to a file that a process has open: written
    /// to and never replaced.
    InPlace(PathBuf),
    /// A regular file, which is written next to its final path and then renamed.
    Renamed(PathBuf),
}

/// Writes a file atomically: into a temporary file in the same folder, which is renamed when it is
/// complete. On an error, a file that had the name before is unchanged.
///
/// Symbolic links are followed and kept. A pipe, a device or an open file such as `/dev/stdout` is
/// written to directly, not atomically. `convert_error` converts I/O errors of this function to the
/// error type of `write`. Nothing is synced to disk, so a crash of the machine may still lose or
/// truncate the file.
pub fn write_atomically<T, E>(
    path: &Path,
    convert_error: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    match Target::resolve(path).map_err(&convert_error)? {
        Target::InPlace(path) => {
            let file = File::options().write(true).truncate(true).open(path).map_err(&convert_error)?;
            write_buffered(file, &convert_error, write)
        }
        Target::Renamed(target) => {
            let (partial, file) = create_partial_file(&target).map_err(&convert_error)?;
            let written = write_buffered(file, &convert_error, write)
                .and_then(|value| fs::rename(&partial, &target).map(|()| value).map_err(&convert_error));
            if written.is_err() {
                // A partial file is useless, but does no harm if it cannot be removed.
                let _ = fs::remove_file(&partial);
            }
            written
        }
    }
}

fn write_buffered<T, E>(
    file: File,
    convert_error: &impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    let mut out = BufWriter::new(file);
    let value = write(&mut out)?;
    out.flush().map_err(convert_error)?;
    Ok(value)
}

impl Target {
    fn resolve(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return Ok(Self::InPlace(path.to_owned())),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
        // `metadata` has already followed the links, so they do not form a cycle.
        let mut target = path.to_owned();
        while fs::symlink_metadata(&target).is_ok_and(|metadata| metadata.is_symlink()) {
            // A link in `/proc` stands for an open file of a process, such as its standard output.
            if target.starts_with("/proc") {
                return Ok(Self::InPlace(path.to_owned()));
            }
            let next = fs::read_link(&target)?;
            target = target.parent().map_or(next.clone(), |folder| folder.join(&next));
        }
        Ok(Self::Renamed(target))
    }
}

/// Bounds the search for an unused name of a partial file.
const MAX_PARTIAL_FILES: u32 = 1_000;

/// Creates `target.part`, or `target.part1` and so on if that exists. Existing partial files stay,
/// whether a killed run or another program wrote them.
fn create_partial_file(target: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let mut name = OsString::from(target);
        name.push(if number == 0 { ".part".to_owned() } else { format!(".part{number}") });
        let partial = PathBuf::from(name);
        match File::options().write(true).create_new(true).open(&partial) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MAX_PARTIAL_FILES => number += 1,
            opened => return opened.map(|file| (partial, file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write_atomically;
    use std::fs;
    use std::io::{self, Read, Write};
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::path::Path;
    use std::process::Command;

    fn write_text(path: &Path, text: &str) -> io::Result<()> {
        write_atomically(path, |error| error, |out| out.write_all(text.as_bytes()))
    }

    fn write_and_fail(path: &Path) -> io::Result<()> {
        let failure = || io::Error::other("failed on purpose");
        write_atomically(path, |error| error, |out| out.write_all(&[b'x'; 100_000]).and_then(|()| Err(failure())))
    }

    fn file_names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_completely_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert!(write_and_fail(&path).is_err());
        assert!(file_names(folder.path()).is_empty());
        write_text(&path, "one").unwrap();
        assert!(write_and_fail(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        write_text(&path, "two").unwrap();
        assert_eq!(
            (file_names(folder.path()), fs::read_to_string(&path).unwrap()),
            (vec!["journal".into()], "two".into())
        );
        assert!(write_text(&folder.path().join("no/such/folder"), "x").is_err());
        assert!(write_text(folder.path(), "x").is_err(), "a folder was replaced");
    }

    #[test]
    fn an_existing_partial_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("journal.part"), "precious").unwrap();
        write_text(&folder.path().join("journal"), "new").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("journal.part")).unwrap(), "precious");
        assert_eq!(file_names(folder.path()), ["journal", "journal.part"]);
    }

    /// The first write creates the target of the links, and the second one replaces it.
    #[test]
    fn a_symbolic_link_is_kept_and_its_target_written() {
        let folder = tempfile::tempdir().unwrap();
        let path_of = |name: &str| folder.path().join(name);
        fs::create_dir(path_of("inner")).unwrap();
        symlink("inner/second", path_of("first")).unwrap();
        symlink("../journal", path_of("inner/second")).unwrap();
        for text in ["one", "two"] {
            write_text(&path_of("first"), text).unwrap();
            assert_eq!(fs::read_to_string(path_of("journal")).unwrap(), text);
            assert!(
                path_of("first").is_symlink()
                    && path_of("inner/second").is_symlink()
                    && !path_of("journal").is_symlink()
            );
        }
        assert!(write_and_fail(&path_of("first")).is_err());
        assert_eq!(
            (fs::read_to_string(path_of("journal")).unwrap(), file_names(folder.path()).len()),
            ("two".into(), ["first", "inner", "journal"].len())
        );
        symlink("circle", path_of("circle")).unwrap();
        assert!(write_text(&path_of("circle"), "x").is_err() && path_of("circle").is_symlink());
    }

    #[test]
    fn a_pipe_is_written_to_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink("pipe", &link).unwrap();
        for path in [&pipe, &link] {
            let path_to_read = pipe.clone();
            let reader = std::thread::spawn(move || {
                let mut text = String::new();
                fs::File::open(path_to_read).unwrap().read_to_string(&mut text).unwrap();
                text
            });
            write_text(path, "through").unwrap();
            assert_eq!(reader.join().unwrap(), "through");
            assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo() && link.is_symlink());
        }
        assert_eq!(file_names(folder.path()), ["link", "pipe"]);
    }
}
