//! The store: acknowledges writes when they are durable, and writes a checkpoint from time to time.

use crate::error::StoreError;
use crate::files::{FileSystem, Files};
use crate::folder::{Folder, SegmentNumber};
use crate::frame::{self, FrameNumber};
use crate::identity::{Identity, Owner};
use crate::recovery::{self, Recovery};
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, encode_header};
use quorate_core::Durable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::mem;
use std::path::Path;

/// Contents that a store can keep: a [`Durable`] that can be serialized, with serializable writes.
///
/// The store clones each write once into its own copy of the contents, from which it writes
/// checkpoints. Large parts of a write should be reference-counted.
pub trait Storable:
    Durable<Write: Clone + Serialize + DeserializeOwned> + Clone + Serialize + DeserializeOwned
{
}

impl<D> Storable for D where
    D: Durable<Write: Clone + Serialize + DeserializeOwned> + Clone + Serialize + DeserializeOwned
{
}

/// When the store begins a new segment, and how it extends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The store begins a new segment when the current one is at least this long, and at least
    /// twice as long as its checkpoint.
    pub segment_bytes: u64,
    /// Number of zeros by which a segment is extended when it must grow. A longer frame is appended
    /// without them.
    pub preallocated_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        // 64 MiB and 1 MiB.
        Self { segment_bytes: 64 << 20, preallocated_bytes: 1 << 20 }
    }
}

/// The durable state of one node: a folder on a disk, locked while the store is open.
///
/// ```
/// use quorate_core::{Durable, NodeId};
/// use quorate_store::{ClusterId, Owner, Settings, Store, create_founder};
///
/// # #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
/// # struct Sum(u64);
/// # impl Durable for Sum {
/// #     type Write = u64;
/// #     fn apply(&mut self, write: u64) { self.0 += write; }
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let folder = temporary.path().join("data");
/// let owner = Owner { cluster: ClusterId(7), node: NodeId::from_index(0) };
/// create_founder::<Sum>(&folder, owner)?;
/// let (mut store, sum, _) = Store::<Sum>::open(&folder, owner, Settings::default())?;
/// assert_eq!(sum.0, 0);
/// store.append(&[1, 2, 3])?; // One sync for all three.
/// drop(store);
/// let (_, sum, _) = Store::<Sum>::open(&folder, owner, Settings::default())?;
/// assert_eq!(sum.0, 6);
/// # Ok(())
/// # }
/// ```
pub struct Store<D, F: FileSystem = Files> {
    folder: Folder<F>,
    identity: Identity,
    settings: Settings,
    segment: Segment<F::File>,
    /// Length of the segment up to the end of its checkpoint.
    checkpoint_bytes: u64,
    /// Length of the segment at which the store begins the next one.
    max_segment_bytes: u64,
    contents: D,
    health: Health,
    /// The encoded writes of the current append. The store keeps the buffer and reuses its memory.
    payload: Vec<u8>,
    /// The encoded frame of the current append; kept for the same reason.
    frame_buffer: Vec<u8>,
    /// Last field, so that it is released when everything else is closed.
    _lock: F::Lock,
}

enum Health {
    Healthy,
    Poisoned(String),
}

impl<D: Storable> Store<D> {
    /// Opens the folder of this node on a real disk. See [`open_in`](Store::open_in).
    pub fn open(folder: &Path, owner: Owner, settings: Settings) -> Result<(Self, D, Recovery), StoreError> {
        Self::open_in(Files, folder, owner, settings)
    }
}

impl<D: Storable, F: FileSystem> Store<D, F> {
    /// Opens and locks a folder, and reads its contents: all acknowledged writes, and perhaps the
    /// one append that was in progress when the node crashed. Fails on a damaged log and leaves it
    /// unchanged.
    pub fn open_in(
        files: F,
        folder: &Path,
        owner: Owner,
        settings: Settings,
    ) -> Result<(Self, D, Recovery), StoreError> {
        let folder = Folder::new(files, folder);
        let recovered = recovery::recover(&folder, owner)?;
        let contents: D = recovered.contents;
        let store = Self {
            folder,
            identity: recovered.identity,
            settings,
            segment: recovered.segment,
            checkpoint_bytes: recovered.checkpoint_bytes,
            max_segment_bytes: max_segment_bytes(settings, recovered.checkpoint_bytes),
            contents: contents.clone(),
            health: Health::Healthy,
            payload: Vec::new(),
            frame_buffer: Vec::new(),
            _lock: recovered.lock,
        };
        Ok((store, contents, recovered.recovery))
    }

    /// Makes all these writes durable with one sync before it returns.
    ///
    /// [`StoreError::Full`] leaves the store unchanged, and the same append can be tried again.
    /// After any other failure of the disk the store accepts no more writes.
    pub fn append(&mut self, writes: &[D::Write]) -> Result<(), StoreError> {
        self.check_health()?;
        if writes.is_empty() {
            return Ok(());
        }
        self.encode(writes)?;
        if self.is_new_segment_due() {
            self.roll()?;
        }
        self.append_payload()?;
        self.apply(writes);
        Ok(())
    }

    /// Appends like [`append`](Self::append), but only if these writes take at most this many bytes
    /// and no new segment is due, so that nothing but a short sync is necessary. Otherwise does
    /// nothing and returns `false`. On a full disk, it reclaims no space before it fails.
    pub fn append_if_short(&mut self, writes: &[D::Write], max_bytes: usize) -> Result<bool, StoreError> {
        self.check_health()?;
        self.encode(writes)?;
        if self.payload.len() > max_bytes || self.is_new_segment_due() {
            return Ok(false);
        }
        let without_zeros_ahead = 0;
        self.append_frame(without_zeros_ahead)?;
        self.apply(writes);
        Ok(true)
    }

    fn encode(&mut self, writes: &[D::Write]) -> Result<(), StoreError> {
        self.payload = postcard::to_extend(writes, self.take_payload()).map_err(StoreError::Unwritable)?;
        Ok(())
    }

    fn is_new_segment_due(&self) -> bool {
        self.segment.end >= self.max_segment_bytes
    }

    /// Applies these writes, which are durable, to the contents.
    fn apply(&mut self, writes: &[D::Write]) {
        for write in writes {
            self.contents.apply(write.clone());
        }
    }

    /// The contents after all acknowledged writes.
    pub fn contents(&self) -> &D {
        &self.contents
    }

    /// The identity of the folder: its owner and origin.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Begins a new segment with a checkpoint now, whatever the length of the current one. Fails
    /// like [`append`](Self::append).
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.check_health()?;
        let outcome = self.begin_segment();
        self.poison_unless_full(outcome)
    }

    /// Appends the payload. If there is no space for zeros ahead, the disk is nearly full, perhaps
    /// with obsolete frames of the log itself. Then a new segment frees that space, if a checkpoint
    /// still fits; otherwise the frame is written without zeros ahead.
    fn append_payload(&mut self) -> Result<(), StoreError> {
        let preallocated_bytes = self.settings.preallocated_bytes;
        match self.append_frame(preallocated_bytes) {
            Err(error) if error.is_full() => {
                let preallocated_bytes = if self.reclaim_space()? { preallocated_bytes } else { 0 };
                self.append_frame(preallocated_bytes)
            }
            outcome => outcome,
        }
    }

    fn append_frame(&mut self, preallocated_bytes: u64) -> Result<(), StoreError> {
        let outcome = self.segment.append(&self.payload, preallocated_bytes, &mut self.frame_buffer);
        self.poison_unless_full(outcome)
    }

    /// Begins a new segment if the next checkpoint, estimated to be as long as the current one, is
    /// shorter than half of this segment. Returns whether it did.
    fn reclaim_space(&mut self) -> Result<bool, StoreError> {
        if self.segment.end <= self.checkpoint_bytes.saturating_mul(2) {
            return Ok(false);
        }
        match self.checkpoint() {
            Ok(()) => Ok(true),
            Err(error) if error.is_full() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Begins the next segment if there is space for it. If not, the log continues in this one, and
    /// the store tries again when it has grown by a quarter of [`Settings::segment_bytes`].
    fn roll(&mut self) -> Result<(), StoreError> {
        let outcome = self.begin_segment();
        match self.poison_unless_full(outcome) {
            Err(error) if error.is_full() => {
                self.max_segment_bytes = self.segment.end + self.settings.segment_bytes / 4;
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Writes a checkpoint as the next segment, and removes the current one.
    fn begin_segment(&mut self) -> Result<(), StoreError> {
        let number = self.segment.number.next();
        let name = number.name();
        let checkpoint_frame = self.segment.last_frame.next();
        let (content, salt) = encode_segment(self.identity.owner, number, checkpoint_frame, &self.contents)?;
        let prepared = self.folder.prepare(&name, &content).and_then(|file| self.folder.publish(&name).map(|()| file));
        let file = match prepared {
            Ok(file) => file,
            Err(error) if error.is_full() => {
                self.folder.discard(&name)?;
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        let end = content.len() as u64;
        let path = self.folder.path_of(&name);
        let next = Segment { file, path, number, salt, last_frame: checkpoint_frame, end, file_length: end };
        let old = mem::replace(&mut self.segment, next);
        self.checkpoint_bytes = end;
        self.max_segment_bytes = max_segment_bytes(self.settings, end);
        // Close the old file first: some systems cannot remove an open file.
        drop(old.file);
        self.folder.remove(&old.number.name())
    }

    /// Takes the buffer of the payload and empties it.
    fn take_payload(&mut self) -> Vec<u8> {
        let mut payload = mem::take(&mut self.payload);
        payload.clear();
        payload
    }

    fn check_health(&self) -> Result<(), StoreError> {
        match &self.health {
            Health::Healthy => Ok(()),
            Health::Poisoned(reason) => Err(StoreError::Poisoned { reason: reason.clone() }),
        }
    }

    /// Refuses all later writes if the outcome is a failure other than a full disk.
    fn poison_unless_full(&mut self, outcome: Result<(), StoreError>) -> Result<(), StoreError> {
        if let Err(error) = &outcome
            && !error.is_full()
        {
            self.health = Health::Poisoned(error.cause_without_advice());
        }
        outcome
    }
}

/// The length at which a segment ends: at least twice the checkpoint's length, so that on average
/// checkpoints write no more bytes than appends.
fn max_segment_bytes(settings: Settings, checkpoint_bytes: u64) -> u64 {
    settings.segment_bytes.max(checkpoint_bytes.saturating_mul(2))
}

/// The bytes of segment `number` with only a checkpoint, in the frame numbered `checkpoint_frame`,
/// and the seed of the segment's checksums.
pub(crate) fn encode_segment<D: Storable>(
    owner: Owner,
    number: SegmentNumber,
    checkpoint_frame: FrameNumber,
    contents: &D,
) -> Result<(Vec<u8>, frame::Salt), StoreError> {
    let payload = postcard::to_extend(contents, Vec::new()).map_err(StoreError::Unwritable)?;
    let (mut bytes, salt) = encode_header(owner, number, D::VERSION);
    frame::encode(salt, SEGMENT_HEADER_BYTES, checkpoint_frame, &payload, &mut bytes);
    Ok((bytes, salt))
}
