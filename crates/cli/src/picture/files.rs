//! The files of a command: none of them may be another one, and all can be written before a long run begins.

use crate::output::name;
use anyhow::{anyhow, bail};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Files that a command writes, each with the option that names it and with what it will be.
pub(crate) type Outputs<'a> = Vec<(&'static str, &'static str, &'a Path)>;

/// A picture that goes to standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses a command that would write over what it reads, or twice into one file.
pub(crate) fn ensure_apart(outputs: &Outputs<'_>, inputs: &[(&'static str, Option<&Path>)]) -> anyhow::Result<()> {
    for (place, (option, product, path)) in outputs.iter().enumerate() {
        let mut over = inputs.iter().filter(|(_, input)| input.is_some_and(|input| is_same(input, path)));
        if let Some((source, _)) = over.next() {
            bail!("--{option} {} would overwrite the {source}; give the {product} another name.", name(path));
        }
        if let Some((other, _, _)) = outputs[..place].iter().find(|(_, _, earlier)| is_same(earlier, path)) {
            bail!("--{other} and --{option} both name {}; give each a file of its own.", name(path));
        }
    }
    Ok(())
}

/// Finds out before a long run that a file could not be written. What is there is not touched.
pub(crate) fn ensure_writable(product: &str, path: &Path) -> anyhow::Result<()> {
    let failed = |error| unwritten(product, path, error);
    match fs::metadata(path) {
        // To open a pipe is to wait for its reader.
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop).map_err(failed),
        Err(_) => {
            // A link that leads to no file yet stays.
            let target = resolved(path).unwrap_or_else(|| path.to_owned());
            File::create_new(&target).and_then(|_| fs::remove_file(&target)).map_err(failed)
        }
    }
}

/// The complaint about a file that could not be written.
pub(crate) fn unwritten(product: &str, path: &Path, error: io::Error) -> anyhow::Error {
    anyhow!("The {product} {} could not be written: {error}.", name(path))
}

/// Whether both paths lead to one file, which may not be there yet. A pipe or a device may be written to twice.
fn is_same(one: &Path, other: &Path) -> bool {
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|found| !found.is_file());
    if is_device(one) {
        return false;
    }
    one == other || matches!((resolved(one), resolved(other)), (Some(one), Some(other)) if one == other)
}

/// As many links as no system follows.
const MOST_LINKS: usize = 40;

/// The file that a path leads to, whether it is there or not.
fn resolved(path: &Path) -> Option<PathBuf> {
    if let Ok(found) = path.canonicalize() {
        return Some(found);
    }
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(target.file_name()?))
}
