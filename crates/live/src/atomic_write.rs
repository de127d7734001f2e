//! Atomic writing of files: a file gets its name only when it is complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The target of a write.
enum Place {
    /// An existing pipe or device, which is written to and never replaced.
    There(PathBuf),
    /// A regular file, which is written next to its final path and then renamed.
    Beside(PathBuf),
}

/// Writes a file atomically: into a temporary file in the same folder, which is renamed when it is
/// complete. On an error, a file that had the name before is unchanged.
///
/// Symbolic links are followed and kept. A pipe or a device is written to directly. `failed`
/// converts errors of the system.
pub fn write_atomically<T, E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    match Place::of(path).map_err(&failed)? {
        Place::There(path) => {
            let file = File::options().write(true).truncate(true).open(path).map_err(&failed)?;
            fill(file, &failed, write)
        }
        Place::Beside(target) => {
            let (part, file) = begin_beside(&target).map_err(&failed)?;
            let written =
                fill(file, &failed, write).and_then(|made| fs::rename(&part, &target).map(|()| made).map_err(&failed));
            if written.is_err() {
                // The partial file is worthless, and harmless if it cannot be removed.
                let _ = fs::remove_file(&part);
            }
            written
        }
    }
}

fn fill<T, E>(
    file: File,
    failed: &impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    let mut out = BufWriter::new(file);
    let made = write(&mut out)?;
    out.flush().map_err(failed)?;
    Ok(made)
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Ok(Self::There(path.to_owned())),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
        // `metadata` has already followed the links, so they do not form a cycle.
        let mut target = path.to_owned();
        while fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink()) {
            // A link in `/proc` stands for an open file of a process, such as its standard output.
            if target.starts_with("/proc") {
                return Ok(Self::There(path.to_owned()));
            }
            let next = fs::read_link(&target)?;
            target = target.parent().map_or(next.clone(), |folder| folder.join(&next));
        }
        Ok(Self::Beside(target))
    }
}

/// Creates a new file with an unused name. Existing partial files stay, whether a killed run or
/// another program wrote them.
fn begin_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let mut name = OsString::from(target);
        name.push(if number == 0 { ".part".to_owned() } else { format!(".part{number}") });
        let part = PathBuf::from(name);
        match File::options().write(true).create_new(true).open(&part) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 1_000 => number += 1,
            opened => return opened.map(|file| (part, file)),
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

    fn put(path: &Path, text: &str) -> io::Result<()> {
        write_atomically(path, |error| error, |out| out.write_all(text.as_bytes()))
    }

    fn stumble(path: &Path) -> io::Result<()> {
        let failure = || io::Error::other("enough");
        write_atomically(path, |error| error, |out| out.write_all(&[b'x'; 100_000]).and_then(|()| Err(failure())))
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_completely_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert!(stumble(&path).is_err());
        assert!(names(folder.path()).is_empty());
        put(&path, "one").unwrap();
        assert!(stumble(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        put(&path, "two").unwrap();
        assert_eq!((names(folder.path()), fs::read_to_string(&path).unwrap()), (vec!["journal".into()], "two".into()));
        assert!(put(&folder.path().join("no/such/folder"), "x").is_err());
        assert!(put(folder.path(), "x").is_err(), "a folder was replaced");
    }

    #[test]
    fn an_existing_partial_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("journal.part"), "precious").unwrap();
        put(&folder.path().join("journal"), "new").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("journal.part")).unwrap(), "precious");
        assert_eq!(names(folder.path()), ["journal", "journal.part"]);
    }

    /// Whether the target of the links exists or not.
    #[test]
    fn a_symbolic_link_is_kept_and_its_target_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("inner")).unwrap();
        symlink("inner/second", at("first")).unwrap();
        symlink("../journal", at("inner/second")).unwrap();
        for text in ["one", "two"] {
            put(&at("first"), text).unwrap();
            assert_eq!(fs::read_to_string(at("journal")).unwrap(), text);
            assert!(at("first").is_symlink() && at("inner/second").is_symlink() && !at("journal").is_symlink());
        }
        assert!(stumble(&at("first")).is_err());
        assert_eq!((fs::read_to_string(at("journal")).unwrap(), names(folder.path()).len()), ("two".into(), 3));
        symlink("circle", at("circle")).unwrap();
        assert!(put(&at("circle"), "x").is_err() && at("circle").is_symlink());
    }

    #[test]
    fn a_pipe_is_written_to_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink("pipe", &link).unwrap();
        for path in [&pipe, &link] {
            let from = pipe.clone();
            let reader = std::thread::spawn(move || {
                let mut text = String::new();
                fs::File::open(from).unwrap().read_to_string(&mut text).unwrap();
                text
            });
            put(path, "through").unwrap();
            assert_eq!(reader.join().unwrap(), "through");
            assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo() && link.is_symlink());
        }
        assert_eq!(names(folder.path()), ["link", "pipe"]);
    }
}
