//! The folder of a group's certificates: `ca.pem`, `ca.key`, `node-1.pem`, `node-1.key` and so on.

use super::authority::{Authority, SigningError};
use super::validity::{Days, Validity};
use crate::group::GroupName;
use quorate_core::NodeId;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// The folder of a group's certificates. It need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// The result of making certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeCertificates {
    /// Where the CA comes from.
    pub authority: AuthorityOrigin,
    /// The end of the CA's validity, if its certificate could be parsed.
    pub authority_valid_until: Option<SystemTime>,
    /// The end of the new certificates' validity.
    pub valid_until: SystemTime,
    /// The files, in the order in which they were written.
    pub files: Vec<PathBuf>,
}

/// The origin of the CA that signed certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorityOrigin {
    /// The CA was created.
    New,
    /// The CA already existed in the folder.
    Folder,
}

/// Why certificates were not made, or not all of them.
#[derive(Debug, Error)]
pub enum FolderError {
    #[error("no node given: name the nodes that need a certificate, such as 1-5.")]
    NoNodes,
    #[error("at most {MAX_CERTIFICATES} certificates can be made at once; got {0} nodes. No file was written.")]
    TooManyNodes(usize),
    #[error(
        "{} exists already and is never overwritten. No file was written. To renew the certificate, move the node's \
         two files away first.", escape_path(.0)
    )]
    Exists(PathBuf),
    #[error(
        "another process created {} while certificates were being made; it was left unchanged. The files made before \
         it are complete; run the command again for the rest.", escape_path(.0)
    )]
    CreatedConcurrently(PathBuf),
    #[error(
        "{} exists, but {} does not: a CA needs both files. Restore the missing file, or use another folder. No file \
         was written.", escape_path(.found), escape_path(.missing)
    )]
    IncompleteAuthority { found: PathBuf, missing: PathBuf },
    #[error("in folder {}: {error}", escape_path(.folder))]
    Signing { folder: PathBuf, error: SigningError },
    #[error("cannot read {}: {error}. No file was written.", escape_path(.file))]
    Unreadable { file: PathBuf, error: io::Error },
    #[error("cannot create the folder {}: {error}. No file was written.", escape_path(.folder))]
    NoFolder { folder: PathBuf, error: io::Error },
    #[error(
        "cannot write {}: {error}. The files made before it are complete, and no partial file was left.",
        escape_path(.file)
    )]
    Unwritable { file: PathBuf, error: io::Error },
}

/// Maximum number of certificates made in one call.
pub const MAX_CERTIFICATES: usize = 1_000;

/// Maximum length of a file to read. Files of keys and certificates are far shorter.
const MAX_BYTES: u64 = 1 << 20;

/// The users of the machine that may read a file.
#[derive(Clone, Copy)]
enum Readers {
    Owner,
    Everyone,
}

/// A file to write.
struct PlannedFile {
    path: PathBuf,
    content: String,
    readers: Readers,
}

impl Folder {
    /// Names the folder, and neither reads nor creates it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of the CA's certificate.
    pub fn authority_certificate(&self) -> PathBuf {
        self.0.join("ca.pem")
    }

    /// The file of the CA's key.
    pub fn authority_key(&self) -> PathBuf {
        self.0.join("ca.key")
    }

    /// The file of a node's certificate.
    pub fn certificate(&self, node: NodeId) -> PathBuf {
        self.0.join(format!("node-{node}.pem"))
    }

    /// The file of a node's key.
    pub fn key(&self, node: NodeId) -> PathBuf {
        self.0.join(format!("node-{node}.key"))
    }

    /// Makes certificates for these nodes, signed by the folder's CA, which it creates if there is
    /// none. The nodes must be distinct.
    ///
    /// Checks and signs everything before it writes the first file, and never overwrites a file.
    pub fn make(&self, group: &GroupName, nodes: &[NodeId], days: Days) -> Result<MadeCertificates, FolderError> {
        match nodes.len() {
            0 => return Err(FolderError::NoNodes),
            1..=MAX_CERTIFICATES => {}
            count => return Err(FolderError::TooManyNodes(count)),
        }
        let now = SystemTime::now();
        let (authority, origin) = self.read_or_create_authority(group, now)?;
        let existing =
            nodes.iter().flat_map(|node| [self.certificate(*node), self.key(*node)]).find(|file| exists(file));
        if let Some(file) = existing {
            return Err(FolderError::Exists(file));
        }
        let validity = Validity::of_node(now, days);
        let mut planned = match origin {
            AuthorityOrigin::New => self.plan_authority(&authority),
            AuthorityOrigin::Folder => Vec::new(),
        };
        for node in nodes {
            planned.extend(self.plan_node(&authority, *node, validity)?);
        }
        self.write_files(&planned)?;
        let files = planned.into_iter().map(|file| file.path).collect();
        Ok(MadeCertificates {
            authority: origin,
            authority_valid_until: authority.valid_until(),
            valid_until: validity.until,
            files,
        })
    }

    /// Reads the CA from its two files, or creates a CA if neither file exists.
    fn read_or_create_authority(
        &self,
        group: &GroupName,
        now: SystemTime,
    ) -> Result<(Authority, AuthorityOrigin), FolderError> {
        let (certificate, key) = (self.authority_certificate(), self.authority_key());
        let (authority, origin) = match (exists(&certificate), exists(&key)) {
            (false, false) => (Authority::new(group, now), AuthorityOrigin::New),
            (true, true) => {
                (Authority::read(&read_text(&certificate)?, &read_text(&key)?, group), AuthorityOrigin::Folder)
            }
            (true, false) => return Err(FolderError::IncompleteAuthority { found: certificate, missing: key }),
            (false, true) => return Err(FolderError::IncompleteAuthority { found: key, missing: certificate }),
        };
        authority.map(|authority| (authority, origin)).map_err(|error| self.signing_error(error))
    }

    fn plan_authority(&self, authority: &Authority) -> Vec<PlannedFile> {
        let key = PlannedFile { path: self.authority_key(), content: authority.key(), readers: Readers::Owner };
        let content = authority.certificate().to_owned();
        vec![key, PlannedFile { path: self.authority_certificate(), content, readers: Readers::Everyone }]
    }

    fn plan_node(
        &self,
        authority: &Authority,
        node: NodeId,
        validity: Validity,
    ) -> Result<[PlannedFile; 2], FolderError> {
        let signed = authority.sign(node, validity).map_err(|error| self.signing_error(error))?;
        Ok([
            PlannedFile { path: self.key(node), content: signed.key, readers: Readers::Owner },
            PlannedFile { path: self.certificate(node), content: signed.certificate, readers: Readers::Everyone },
        ])
    }

    fn write_files(&self, planned: &[PlannedFile]) -> Result<(), FolderError> {
        let unwritable = |file: &Path, error| FolderError::Unwritable { file: file.to_owned(), error };
        create_folder(&self.0).map_err(|error| FolderError::NoFolder { folder: self.0.clone(), error })?;
        for file in planned {
            create_whole_file(file).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => FolderError::CreatedConcurrently(file.path.clone()),
                _ => unwritable(&file.path, error),
            })?;
        }
        sync_folder(&self.0).map_err(|error| unwritable(&self.0, error))
    }

    fn signing_error(&self, error: SigningError) -> FolderError {
        FolderError::Signing { folder: self.0.clone(), error }
    }
}

/// The path as text for an error message, with special characters escaped.
pub(crate) fn escape_path(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().escape_debug().to_string()
}

/// Reads a file of keys or certificates. Fails if it is longer than [`MAX_BYTES`].
pub(crate) fn read_short(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    let is_short = content.len() as u64 <= MAX_BYTES;
    if is_short { Ok(content) } else { Err(io::Error::other("it is too long for keys or certificates")) }
}

fn read_text(file: &Path) -> Result<String, FolderError> {
    let text = read_short(file).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|error| FolderError::Unreadable { file: file.to_owned(), error })
}

/// Whether the path exists, even as a dangling symbolic link.
fn exists(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok()
}

/// Creates the file with all of its content, or not at all. Fails if it exists: unlike a rename, a
/// hard link to the complete temporary file never replaces a file.
fn create_whole_file(file: &PlannedFile) -> io::Result<()> {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let temporary = file.path.with_extension(format!("{}-{nanoseconds}.tmp", std::process::id()));
    let link_result = write_new(&temporary, file).and_then(|()| fs::hard_link(&temporary, &file.path));
    // Remove the temporary name in any case, and report the first error.
    let removal_result = fs::remove_file(&temporary);
    link_result.and(removal_result)
}

/// Creates a file, and syncs it to the disk. Fails if it exists.
fn write_new(path: &Path, planned: &PlannedFile) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    set_permissions(&mut options, planned.readers);
    let mut file = options.open(path)?;
    file.write_all(planned.content.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn set_permissions(options: &mut OpenOptions, readers: Readers) {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Everyone => 0o644,
    };
    options.mode(mode);
}

#[cfg(not(unix))]
fn set_permissions(_: &mut OpenOptions, _: Readers) {}

#[cfg(unix)]
fn create_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// Syncs the folder, so that the file names survive a power failure.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
