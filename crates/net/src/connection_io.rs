//! Reads from and writes to an established connection: one future for each direction.

use crate::frame::{BatchReader, Body, FRAME_LIMIT, Frame, FrameError, LinkEnd};
use crate::inbox::Inbox;
use crate::link::LinkError;
use crate::link_handle::{LinkHandle, WriteTask};
use crate::settings::Limits;
use crate::stream::Stream;
use bytes::{Bytes, BytesMut};
use quorate_core::NodeId;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until, timeout};

/// Free space of a fresh read buffer, and so about the maximum number of bytes of one read.
const READ_BYTES: usize = 128 << 10;
/// Minimum free space of a read buffer; with less, the reader allocates a new one. Most reads fit
/// into this space.
const MIN_FREE_BYTES: usize = 16 << 10;

/// Why a connection ended. Unacknowledged messages are sent again on the next connection.
#[derive(Debug, Error)]
pub(crate) enum CloseReason {
    #[error("the peer closed it")]
    Closed,
    #[error("the peer ended it ({0})")]
    Bye(String),
    #[error("it broke: {0}")]
    Broken(io::Error),
    #[error("the peer sent nothing for {0:?}")]
    PeerIdle(std::time::Duration),
    #[error("the peer read nothing for {0:?}")]
    WriteStalled(std::time::Duration),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Link(#[from] LinkError),
    #[error("the peer sent a second handshake on the same connection")]
    UnexpectedHandshake,
    #[error("this node is stopping, or has removed the peer")]
    Closing,
}

/// Reads frames from one end of a peer and queues its messages for the node.
pub(crate) struct FrameReader {
    pub(crate) peer: NodeId,
    pub(crate) peer_end: LinkEnd,
    pub(crate) link: Arc<LinkHandle>,
    pub(crate) inbox: Inbox,
}

impl FrameReader {
    /// Reads until the connection ends. `received` contains bytes that arrived with the handshake.
    /// Stops reading while the inbox is full.
    pub(crate) async fn read(&self, mut stream: ReadHalf<Stream>, mut received: BytesMut) -> CloseReason {
        loop {
            loop {
                match Frame::next(&mut received, FRAME_LIMIT) {
                    Ok(Some(frame)) => {
                        if let Err(reason) = self.handle(frame).await {
                            return reason;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return error.into(),
                }
            }
            if received.capacity() - received.len() < MIN_FREE_BYTES {
                received.reserve(READ_BYTES);
            }
            match stream.read_buf(&mut received).await {
                Ok(0) => return CloseReason::Closed,
                Ok(_) => self.link.restart_idle_timer(),
                Err(error) => return CloseReason::Broken(error),
            }
        }
    }

    async fn handle(&self, frame: Frame) -> Result<(), CloseReason> {
        self.link.receive_header(&frame.header)?;
        match frame.body {
            Body::Batch(body) => {
                // Validate the whole batch first: the node consumes all of it or nothing.
                BatchReader::new(&body).try_for_each(|message| message.map(|_| ()))?;
                // The node reads on from a removed peer only for its last acknowledgements.
                if self.link.is_removed() {
                    return Ok(());
                }
                let is_queued = self.inbox.queue_batch(&self.link, self.peer, self.peer_end, body).await;
                if is_queued { Ok(()) } else { Err(CloseReason::Closing) }
            }
            Body::Ack | Body::Ping => Ok(()),
            Body::Bye(reason) => Err(CloseReason::Bye(reason)),
            Body::Hello(_) | Body::Welcome(_) | Body::Refuse(_) => Err(CloseReason::UnexpectedHandshake),
        }
    }
}

/// Writes the link's frames until the connection ends, sends keepalives, and ends the connection if
/// the peer sends nothing for too long.
pub(crate) async fn write_frames(link: &LinkHandle, mut stream: WriteHalf<Stream>, limits: &Limits) -> CloseReason {
    let mut last_written = Instant::now();
    link.restart_idle_timer();
    // Resetting the alarm costs more than writing a small frame, so the loop resets it rarely, and
    // checks what is due when it fires.
    let mut alarm = pin!(sleep_until(last_written + limits.keepalive_interval));
    loop {
        let should_acknowledge = match link.next_write() {
            WriteTask::Frame(frame) => {
                if let Err(reason) = write_frame(&mut stream, &frame, limits).await {
                    return reason;
                }
                last_written = Instant::now();
                continue;
            }
            WriteTask::Close(last_frame) => {
                let _ = write_frame(&mut stream, &last_frame, limits).await;
                let _ = stream.shutdown().await;
                return CloseReason::Closing;
            }
            WriteTask::AcknowledgeSoon => true,
            WriteTask::Idle => false,
        };
        if should_acknowledge {
            let acknowledge_at = Instant::now() + limits.ack_delay;
            if acknowledge_at < alarm.deadline() {
                alarm.as_mut().reset(acknowledge_at);
            }
        }
        tokio::select! {
            biased;
            () = link.wait_for_work() => continue,
            () = &mut alarm => {}
        }
        if link.idle_time() >= limits.idle_timeout {
            return CloseReason::PeerIdle(limits.idle_timeout);
        }
        // A keepalive also acknowledges all consumed messages.
        if should_acknowledge || last_written.elapsed() >= limits.keepalive_interval {
            if let Err(reason) = write_frame(&mut stream, &link.keepalive(), limits).await {
                return reason;
            }
            last_written = Instant::now();
        }
        alarm.as_mut().reset(last_written + limits.keepalive_interval);
    }
}

/// Writes a frame. Fails if the peer accepts no byte at all within the idle timeout; a slow peer is
/// fine.
async fn write_frame(stream: &mut WriteHalf<Stream>, frame: &Bytes, limits: &Limits) -> Result<(), CloseReason> {
    let mut rest: &[u8] = frame;
    while !rest.is_empty() {
        let written = with_timeout(stream.write(rest), limits).await?;
        if written == 0 {
            return Err(CloseReason::Broken(io::ErrorKind::WriteZero.into()));
        }
        rest = rest.get(written..).unwrap_or_default();
    }
    with_timeout(stream.flush(), limits).await
}

async fn with_timeout<T>(writing: impl Future<Output = io::Result<T>>, limits: &Limits) -> Result<T, CloseReason> {
    match timeout(limits.idle_timeout, writing).await {
        Ok(result) => result.map_err(CloseReason::Broken),
        Err(_) => Err(CloseReason::WriteStalled(limits.idle_timeout)),
    }
}
