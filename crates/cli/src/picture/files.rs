//! Checks before a long run that the output files of a command are distinct and can be written.

use crate::output::display_path;
use anyhow::{anyhow, bail};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Files that a command writes. For each: its option, its kind (such as "picture"), its path.
pub(crate) type Outputs<'a> = Vec<(&'static str, &'static str, &'a Path)>;

/// Whether a path means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Rejects an output that would overwrite an input or another output.
pub(crate) fn ensure_distinct(outputs: &Outputs<'_>, inputs: &[(&'static str, Option<&Path>)]) -> anyhow::Result<()> {
    for (index, (option, kind, path)) in outputs.iter().enumerate() {
        let mut overwritten = inputs.iter().filter(|(_, input)| input.is_some_and(|input| is_same_file(input, path)));
        if let Some((source, _)) = overwritten.next() {
            bail!("--{option} {} would overwrite the {source}; give the {kind} another name.", display_path(path));
        }
        if let Some((other, _, _)) = outputs[..index].iter().find(|(_, _, earlier)| is_same_file(earlier, path)) {
            bail!("--{other} and --{option} both write to {}; give each its own file.", display_path(path));
        }
    }
    Ok(())
}

/// Returns an error if a file cannot be written. Does not change an existing file; creates a
/// missing one and removes it again.
pub(crate) fn ensure_writable(kind: &str, path: &Path) -> anyhow::Result<()> {
    let failed = |error| write_error(kind, path, error);
    match fs::metadata(path) {
        // Opening a pipe would wait for its reader.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop).map_err(failed),
        Err(_) => {
            // For a dangling symbolic link, create and remove its target, not the link.
            let target = resolve(path).unwrap_or_else(|| path.to_owned());
            File::create_new(&target).and_then(|_| fs::remove_file(&target)).map_err(failed)
        }
    }
}

/// Returns the error for a file that cannot be written.
pub(crate) fn write_error(kind: &str, path: &Path, error: io::Error) -> anyhow::Error {
    anyhow!("cannot write the {kind} {}: {error}.", display_path(path))
}

/// Whether both paths lead to the same file, which need not exist. Always `false` for pipes,
/// devices and folders.
fn is_same_file(first: &Path, second: &Path) -> bool {
    let is_special = |path: &Path| fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    if is_special(first) {
        return false;
    }
    first == second || matches!((resolve(first), resolve(second)), (Some(first), Some(second)) if first == second)
}

/// Maximum number of symbolic links to follow in a path, as on Linux.
const MAX_SYMLINKS: usize = 40;

/// Returns the absolute path of a file with all symbolic links resolved. The file need not exist;
/// `None` if its folder does not exist.
fn resolve(path: &Path) -> Option<PathBuf> {
    if let Ok(canonical) = path.canonicalize() {
        return Some(canonical);
    }
    let mut target = path.to_owned();
    for _ in 0..MAX_SYMLINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(target.file_name()?))
}
