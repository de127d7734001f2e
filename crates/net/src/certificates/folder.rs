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

/// A folder with the certificates of a group, or one that is yet to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub authority: AuthorityFrom,
    /// Until when the CA is valid, if its certificate tells.
    pub authority_until: Option<SystemTime>,
    pub until: SystemTime,
    /// The files, in the order in which they were written.
    pub files: Vec<PathBuf>,
}

/// Where the CA came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorityFrom {
    New,
    Folder,
}

/// Why certificates were not made, or not all of them.
#[derive(Debug, Error)]
pub enum FolderError {
    #[error("No node is named: say which nodes need a certificate, such as 1-5.")]
    NoNodes,
    #[error("{0} nodes are more than one group has: at most {MOST_NODES} certificates are made at once.")]
    TooManyNodes(usize),
    #[error(
        "{} is there already, and a file that exists is never overwritten. Nothing was made. To renew it, move the \
         node's two files away first.", shown(.0)
    )]
    Exists(PathBuf),
    #[error(
        "{} appeared while certificates were being made, and was left as it is. What was made before it is complete; \
         run the command again for the rest.", shown(.0)
    )]
    Appeared(PathBuf),
    #[error(
        "{} is there, but {} is not: a CA has both. Put the missing file back, or use another folder. Nothing was \
         made.", shown(.found), shown(.missing)
    )]
    HalfAnAuthority { found: PathBuf, missing: PathBuf },
    #[error("In {}: {error}", shown(.folder))]
    Signing { folder: PathBuf, error: SigningError },
    #[error("{} could not be read: {error}. Nothing was made.", shown(.file))]
    Unreadable { file: PathBuf, error: io::Error },
    #[error("The folder {} could not be made: {error}. Nothing was made.", shown(.folder))]
    NoFolder { folder: PathBuf, error: io::Error },
    #[error(
        "{} could not be written: {error}. Files that were made before it are complete, and it is not there in part.",
        shown(.file)
    )]
    Unwritable { file: PathBuf, error: io::Error },
}

/// How many certificates are made at once.
pub const MOST_NODES: usize = 1_000;

/// No file of keys or certificates is nearly as long.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy)]
enum Reader {
    Owner,
    Everyone,
}

struct Plan {
    file: PathBuf,
    content: String,
    reader: Reader,
}

impl Folder {
    /// The folder at this path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
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

    /// Makes certificates for these nodes, signed by the folder's CA, which is made if there is none.
    ///
    /// Everything is checked and signed before the first file is written.
    pub fn make(&self, group: &GroupName, nodes: &[NodeId], days: Days) -> Result<Made, FolderError> {
        match nodes.len() {
            0 => return Err(FolderError::NoNodes),
            1..=MOST_NODES => {}
            many => return Err(FolderError::TooManyNodes(many)),
        }
        let now = SystemTime::now();
        let (authority, from) = self.authority(group, now)?;
        let in_the_way =
            nodes.iter().flat_map(|node| [self.certificate(*node), self.key(*node)]).find(|file| is_there(file));
        if let Some(file) = in_the_way {
            return Err(FolderError::Exists(file));
        }
        let validity = Validity::of_node(now, days);
        let mut plans = match from {
            AuthorityFrom::New => self.plan_authority(&authority),
            AuthorityFrom::Folder => Vec::new(),
        };
        for node in nodes {
            plans.extend(self.plan_node(&authority, *node, validity)?);
        }
        self.write(&plans)?;
        let files = plans.into_iter().map(|plan| plan.file).collect();
        Ok(Made { authority: from, authority_until: authority.until(), until: validity.until, files })
    }

    fn authority(&self, group: &GroupName, now: SystemTime) -> Result<(Authority, AuthorityFrom), FolderError> {
        let (certificate, key) = (self.authority_certificate(), self.authority_key());
        let (authority, from) = match (is_there(&certificate), is_there(&key)) {
            (false, false) => (Authority::new(group, now), AuthorityFrom::New),
            (true, true) => {
                (Authority::read(&read_text(&certificate)?, &read_text(&key)?, group), AuthorityFrom::Folder)
            }
            (true, false) => return Err(FolderError::HalfAnAuthority { found: certificate, missing: key }),
            (false, true) => return Err(FolderError::HalfAnAuthority { found: key, missing: certificate }),
        };
        authority.map(|authority| (authority, from)).map_err(|error| self.signing(error))
    }

    fn plan_authority(&self, authority: &Authority) -> Vec<Plan> {
        let key = Plan { file: self.authority_key(), content: authority.key(), reader: Reader::Owner };
        let content = authority.certificate().to_owned();
        vec![key, Plan { file: self.authority_certificate(), content, reader: Reader::Everyone }]
    }

    fn plan_node(&self, authority: &Authority, node: NodeId, validity: Validity) -> Result<[Plan; 2], FolderError> {
        let signed = authority.sign(node, validity).map_err(|error| self.signing(error))?;
        Ok([
            Plan { file: self.key(node), content: signed.key, reader: Reader::Owner },
            Plan { file: self.certificate(node), content: signed.certificate, reader: Reader::Everyone },
        ])
    }

    fn write(&self, plans: &[Plan]) -> Result<(), FolderError> {
        let unwritable = |file: &Path, error| FolderError::Unwritable { file: file.to_owned(), error };
        create_folder(&self.0).map_err(|error| FolderError::NoFolder { folder: self.0.clone(), error })?;
        for plan in plans {
            publish(plan).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => FolderError::Appeared(plan.file.clone()),
                _ => unwritable(&plan.file, error),
            })?;
        }
        sync_folder(&self.0).map_err(|error| unwritable(&self.0, error))
    }

    fn signing(&self, error: SigningError) -> FolderError {
        FolderError::Signing { folder: self.0.clone(), error }
    }
}

pub(crate) fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().escape_debug().to_string()
}

/// Reads a file of keys or certificates, none of which is long.
pub(crate) fn read_short(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?.take(MOST_BYTES + 1).read_to_end(&mut content)?;
    let is_short = content.len() as u64 <= MOST_BYTES;
    if is_short { Ok(content) } else { Err(io::Error::other("it is too long for keys or certificates")) }
}

fn read_text(file: &Path) -> Result<String, FolderError> {
    let text = read_short(file).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|error| FolderError::Unreadable { file: file.to_owned(), error })
}

/// Whether anything has this name, even a link that leads nowhere.
fn is_there(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok()
}

/// The file appears with all of its content, or not at all; and one that exists is left alone, which a plain rename
/// would not do.
fn publish(plan: &Plan) -> io::Result<()> {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let temporary = plan.file.with_extension(format!("{}-{nanoseconds}.tmp", std::process::id()));
    let done = write_new(&temporary, plan).and_then(|()| fs::hard_link(&temporary, &plan.file));
    // Whatever became of it, the temporary name goes; the first mistake is the one worth telling.
    let removed = fs::remove_file(&temporary);
    done.and(removed)
}

fn write_new(file: &Path, plan: &Plan) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    restrict(&mut options, plan.reader);
    let mut file = options.open(file)?;
    file.write_all(plan.content.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions, reader: Reader) {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = match reader {
        Reader::Owner => 0o600,
        Reader::Everyone => 0o644,
    };
    options.mode(mode);
}

#[cfg(not(unix))]
fn restrict(_: &mut OpenOptions, _: Reader) {}

#[cfg(unix)]
fn create_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// So that names survive a power failure too.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
