//! Input queues of a node: control inputs and batches of messages from peers.

use crate::frame::LinkEnd;
use crate::link_handle::LinkHandle;
use bytes::Bytes;
use quorate_core::{NodeId, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// An input that comes from the node's own process, not from a peer.
pub(crate) enum ControlInput {
    Stop,
    View(View),
    /// The new set of peers, with their addresses.
    Peers(BTreeMap<NodeId, String>),
    /// A failure detector suspects the peer, or trusts it again.
    Suspicion {
        peer: NodeId,
        is_suspected: bool,
        /// The link whose connections reported it; `None` for a failure detector of the client.
        link: Option<Arc<LinkHandle>>,
    },
}

/// A batch of messages from one end of a peer.
pub(crate) struct InboundBatch {
    pub(crate) link: Arc<LinkHandle>,
    pub(crate) from: NodeId,
    pub(crate) peer_end: LinkEnd,
    pub(crate) body: Bytes,
    /// The bytes reserved in the inbox, released on drop.
    pub(crate) _reserved: OwnedSemaphorePermit,
}

/// Sending side of the node's queue of batches, which is bounded in batches and in bytes.
#[derive(Clone)]
pub(crate) struct Inbox {
    batches: mpsc::Sender<InboundBatch>,
    free_bytes: Arc<Semaphore>,
    capacity_bytes: u32,
}

impl Inbox {
    /// Creates an inbox and its receiving side.
    pub(crate) fn new(max_batches: usize, max_bytes: usize) -> (Self, mpsc::Receiver<InboundBatch>) {
        let (batches, receiver) = mpsc::channel(max_batches.max(1));
        let capacity_bytes = u32::try_from(max_bytes).unwrap_or(u32::MAX).max(1);
        let free_bytes = Arc::new(Semaphore::new(capacity_bytes as usize));
        (Self { batches, free_bytes, capacity_bytes }, receiver)
    }

    /// Queues a batch for the node. Waits while the queue is full; meanwhile the caller reads
    /// nothing from the peer, so that time does not count as the peer's silence. Returns `false` if
    /// the node has stopped.
    pub(crate) async fn queue_batch(
        &self,
        link: &Arc<LinkHandle>,
        from: NodeId,
        peer_end: LinkEnd,
        body: Bytes,
    ) -> bool {
        // A batch larger than the inbox waits until the inbox is empty.
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX).min(self.capacity_bytes);
        let Some(reserved) = self.reserve_bytes(link, bytes).await else { return false };
        let permit = match self.batches.try_reserve() {
            Ok(permit) => permit,
            Err(_) => {
                link.pause_idle_timer();
                let Ok(permit) = self.batches.reserve().await else { return false };
                permit
            }
        };
        link.restart_idle_timer();
        permit.send(InboundBatch { link: Arc::clone(link), from, peer_end, body, _reserved: reserved });
        true
    }

    async fn reserve_bytes(&self, link: &LinkHandle, bytes: u32) -> Option<OwnedSemaphorePermit> {
        if let Ok(reserved) = Arc::clone(&self.free_bytes).try_acquire_many_owned(bytes) {
            return Some(reserved);
        }
        link.pause_idle_timer();
        Arc::clone(&self.free_bytes).acquire_many_owned(bytes).await.ok()
    }
}
