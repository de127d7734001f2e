//! What reaches a node.

use crate::line::Line;
use bytes::Bytes;
use quorate_core::{Incarnation, NodeId, View};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

pub(crate) enum Letter {
    Stop,
    View(View),
    Suspect(NodeId, bool),
}

pub(crate) struct Parcel {
    pub(crate) line: Arc<Line>,
    pub(crate) from: NodeId,
    pub(crate) incarnation: Incarnation,
    pub(crate) body: Bytes,
    /// Its place in the inbox, which is free when this is gone.
    pub(crate) _place: OwnedSemaphorePermit,
}

/// Where batches wait for the node: so many, and so many bytes of them.
#[derive(Clone)]
pub(crate) struct Inbox {
    parcels: mpsc::Sender<Parcel>,
    room: Arc<Semaphore>,
    most: u32,
}

impl Inbox {
    pub(crate) fn new(batches: usize, bytes: usize) -> (Self, mpsc::Receiver<Parcel>) {
        let (parcels, receiver) = mpsc::channel(batches.max(1));
        let most = u32::try_from(bytes).unwrap_or(u32::MAX).max(1);
        (Self { parcels, room: Arc::new(Semaphore::new(most as usize)), most }, receiver)
    }

    /// Gives the node a batch. While it has no place for it, the peer is not listened to. False if the node has ended.
    pub(crate) async fn hand_over(
        &self,
        line: &Arc<Line>,
        from: NodeId,
        incarnation: Incarnation,
        body: Bytes,
    ) -> bool {
        // A batch that is longer than all the room there is has it to itself.
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX).min(self.most);
        let Some(place) = self.place(line, bytes).await else { return false };
        let permit = match self.parcels.try_reserve() {
            Ok(permit) => permit,
            Err(_) => {
                line.stopped_listening();
                let Ok(permit) = self.parcels.reserve().await else { return false };
                permit
            }
        };
        line.listened();
        permit.send(Parcel { line: Arc::clone(line), from, incarnation, body, _place: place });
        true
    }

    async fn place(&self, line: &Line, bytes: u32) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.room).try_acquire_many_owned(bytes) {
            return Some(place);
        }
        line.stopped_listening();
        Arc::clone(&self.room).acquire_many_owned(bytes).await.ok()
    }
}
