//! Checks the files of a command before a long run: all are distinct and can be written.

use crate::output::name;
use anyhow::{anyhow, bail};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Files that a command writes: the option, a description and the path of each.
pub(crate) type Outputs<'a> = Vec<(&'static str, &'static str, &'a Path)>;

/// Whether a path means standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Rejects an output that would overwrite an input or another output.
pub(crate) fn ensure_apart(outputs: &Outputs<'_>, inputs: &[(&'static str, Option<&Path>)]) -> anyhow::Result<()> {
    for (index, (option, product, path)) in outputs.iter().enumerate() {
        let mut overwritten = inputs.iter().filter(|(_, input)| input.is_some_and(|input| is_same(input, path)));
        if let Some((source, _)) = overwritten.next() {
            bail!("--{option} {} would overwrite the {source}; give the {product} another name.", name(path));
        }
        if let Some((other, _, _)) = outputs[..index].iter().find(|(_, _, earlier)| is_same(earlier, path)) {
            bail!("--{other} and --{option} both write to {}; give each its own file.", name(path));
        }
    }
    Ok(())
}

/// Fails if a file cannot be written. Leaves an existing file as it is.
pub(crate) fn ensure_writable(product: &str, path: &Path) -> anyhow::Result<()> {
    let failed = |error| unwritten(product, path, error);
    match fs::metadata(path) {
        // Opening a pipe would wait for its reader.
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop).map_err(failed),
        Err(_) => {
            // Test the target of a dangling link, and keep the link.
            let target = resolved(path).unwrap_or_else(|| path.to_owned());
            File::create_new(&target).and_then(|_| fs::remove_file(&target)).map_err(failed)
        }
    }
}

/// Returns the error for a file that cannot be written.
pub(crate) fn unwritten(product: &str, path: &Path, error: io::Error) -> anyhow::Error {
    anyhow!("Cannot write the {product} {}: {error}.", name(path))
}

/// Whether both paths lead to the same file, which need not exist. Pipes and devices never count as
/// the same.
fn is_same(one: &Path, other: &Path) -> bool {
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|found| !found.is_file());
    if is_device(one) {
        return false;
    }
    one == other || matches!((resolved(one), resolved(other)), (Some(one), Some(other)) if one == other)
}

/// Maximum number of links to follow; more than any system does.
const MAX_LINKS: usize = 40;

/// Returns the file that a path leads to, whether it exists or not.
fn resolved(path: &Path) -> Option<PathBuf> {
    if let Ok(found) = path.canonicalize() {
        return Some(found);
    }
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(target.file_name()?))
}
