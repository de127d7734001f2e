//! A temporary folder of a benchmark.

use crate::output::display_path;
use std::fs;
use std::path::{Path, PathBuf};

/// A temporary folder, removed on drop.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder in `parent`, or in the system's folder for temporary files.
    pub(crate) fn new(parent: Option<&Path>) -> anyhow::Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let path = parent.join(format!("quorate-bench-{}", std::process::id()));
        // As text, because the caller would report an `io::Error` as a failed write to the output.
        fs::create_dir(&path)
            .map_err(|error| anyhow::anyhow!("cannot create the folder {}: {error}.", display_path(&path)))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing else can be done about a folder that cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}
