//! The corpus: small real examples with which a campaign starts, in files with descriptive names.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// An input with its file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The examples of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corpus(pub Vec<Example>);

/// Returns the folder that contains the corpus of every target.
pub fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

impl Corpus {
    /// Reads the files of a folder, sorted by name. A missing folder gives an empty corpus.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            entries => entries?,
        };
        let mut examples = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            examples.push(Example { name, bytes: fs::read(entry.path())? });
        }
        examples.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self(examples))
    }

    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        self.0.iter().try_for_each(|example| fs::write(folder.join(&example.name), &example.bytes))
    }
}
