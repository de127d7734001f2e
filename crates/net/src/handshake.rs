//! The handshake on a new connection, for the side that dialled and the side that accepted.

use crate::context::Context;
use crate::frame::{Body, Frame, FrameError, HANDSHAKE_LIMIT, Header, Hello, Refusal, Welcome, encode};
use crate::stream::Stream;
use crate::tls::{self, PeerError, Security};
use bytes::{Bytes, BytesMut};
use quorate_core::NodeId;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// An accepted connection whose peer has sent a valid Hello and waits for the reply.
pub(crate) struct PendingConnection {
    pub(crate) stream: Stream,
    /// Bytes that arrived after the Hello.
    pub(crate) received: BytesMut,
    pub(crate) header: Header,
    pub(crate) hello: Hello,
}

/// A connection that this node dialled and the peer has answered with a Welcome.
pub(crate) struct DialledConnection {
    pub(crate) stream: Stream,
    /// Bytes that arrived after the Welcome.
    pub(crate) received: BytesMut,
    pub(crate) header: Header,
    pub(crate) welcome: Welcome,
}

#[derive(Debug, Error)]
pub(crate) enum HandshakeError {
    #[error("the peer cannot be reached: {0}")]
    Unreachable(io::Error),
    #[error("the TLS handshake failed: {0}")]
    Tls(String),
    #[error("the connection broke during the handshake: {0}")]
    Broken(io::Error),
    #[error("the peer closed the connection before it sent anything")]
    ClosedSilently,
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("the peer sent another frame than the handshake expects")]
    UnexpectedFrame,
    #[error("{0}")]
    Peer(#[from] PeerError),
    /// The peer refused our Hello, or this node refused the peer's Hello or Welcome.
    #[error("{0}")]
    Refused(Refusal),
    #[error("the peer did not finish the handshake in time")]
    TimedOut,
}

impl HandshakeError {
    /// Whether the kernel of the peer's machine reported that no process listens at the address.
    pub(crate) fn is_connection_refused(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }
}

/// Opens a connection to a peer, with TLS if the node is configured for it.
pub(crate) async fn connect(context: &Context, peer: NodeId, address: &str) -> Result<Stream, HandshakeError> {
    let stream = TcpStream::connect(address).await.map_err(HandshakeError::Unreachable)?;
    stream.set_nodelay(true).map_err(HandshakeError::Broken)?;
    match &context.security {
        Security::Plain => Ok(Stream::Plain(stream)),
        Security::Tls(identity) => {
            let name = identity.server_name(peer)?;
            let stream = identity.connector().connect(name, stream).await;
            let stream = stream.map_err(|error| HandshakeError::Tls(tls::explain_tls_error(&error)))?;
            // rustls would also accept a wildcard certificate for the peer's name.
            identity.verify_peer(stream.get_ref().1.peer_certificates(), peer)?;
            Ok(Stream::Tls(Box::new(TlsStream::Client(stream))))
        }
    }
}

/// Sends a Hello on a connection that this node dialled, and waits for the reply.
pub(crate) async fn send_hello(
    mut stream: Stream,
    header: Header,
    hello: Hello,
) -> Result<DialledConnection, HandshakeError> {
    write_frame(&mut stream, &encode(&header, &Body::Hello(hello))).await.map_err(HandshakeError::Broken)?;
    let mut received = BytesMut::new();
    let Frame { header, body } = read_first_frame(&mut stream, &mut received).await?;
    match body {
        Body::Welcome(welcome) => Ok(DialledConnection { stream, received, header, welcome }),
        Body::Refuse(refusal) => Err(HandshakeError::Refused(refusal)),
        Body::Hello(_) | Body::Batch(_) | Body::Ack | Body::Ping | Body::Bye(_) => Err(HandshakeError::UnexpectedFrame),
    }
}

/// Receives the Hello on a connection that this node accepted. Refuses a peer that does not belong
/// to the group or is configured differently.
pub(crate) async fn receive_hello(context: &Context, stream: TcpStream) -> Result<PendingConnection, HandshakeError> {
    stream.set_nodelay(true).map_err(HandshakeError::Broken)?;
    let mut stream = match &context.security {
        Security::Plain => Stream::Plain(stream),
        Security::Tls(identity) => {
            let stream = identity.acceptor().accept(stream).await;
            let stream = stream.map_err(|error| match error.kind() {
                // The peer closed without an alert, as happens when its dial crosses ours. It may
                // have sent a part of the TLS handshake.
                io::ErrorKind::UnexpectedEof => HandshakeError::ClosedSilently,
                _ => HandshakeError::Tls(tls::explain_tls_error(&error)),
            })?;
            Stream::Tls(Box::new(TlsStream::Server(stream)))
        }
    };
    let mut received = BytesMut::new();
    let Frame { header, body } = read_first_frame(&mut stream, &mut received).await?;
    let Body::Hello(hello) = body else { return Err(HandshakeError::UnexpectedFrame) };
    if let (Security::Tls(identity), Stream::Tls(stream)) = (&context.security, &stream) {
        // The certificate decides which node the peer is, not its Hello.
        identity.verify_peer(stream.get_ref().1.peer_certificates(), header.sender)?;
    }
    if let Err(refusal) = context.terms.check(&header, &hello) {
        send_refusal(stream, context, refusal.clone()).await;
        return Err(HandshakeError::Refused(refusal));
    }
    Ok(PendingConnection { stream, received, header, hello })
}

/// Answers a Hello with a Welcome.
pub(crate) async fn send_welcome(pending: &mut PendingConnection, header: Header, welcome: Welcome) -> io::Result<()> {
    write_frame(&mut pending.stream, &encode(&header, &Body::Welcome(welcome))).await
}

/// Answers a Hello with a refusal and closes the connection. The refusal may not arrive.
pub(crate) async fn send_refusal(mut stream: Stream, context: &Context, refusal: Refusal) {
    let header = Header {
        group: context.terms.group.number(),
        sender: context.terms.me,
        incarnation: context.incarnation,
        epoch: quorate_core::Epoch::default(),
        acknowledged: 0,
    };
    let refuse_and_close = async {
        write_frame(&mut stream, &encode(&header, &Body::Refuse(refusal))).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(context.limits.handshake_timeout, refuse_and_close).await;
}

async fn write_frame(stream: &mut Stream, frame: &Bytes) -> io::Result<()> {
    stream.write_all(frame).await?;
    stream.flush().await
}

async fn read_first_frame(stream: &mut Stream, received: &mut BytesMut) -> Result<Frame, HandshakeError> {
    loop {
        if let Some(frame) = Frame::next(received, HANDSHAKE_LIMIT)? {
            return Ok(frame);
        }
        if stream.read_buf(received).await.map_err(HandshakeError::Broken)? == 0 {
            return Err(if received.is_empty() {
                HandshakeError::ClosedSilently
            } else {
                HandshakeError::Broken(io::ErrorKind::UnexpectedEof.into())
            });
        }
    }
}

/// Describes an incoming connection that this node refused or closed, for the log.
pub(crate) fn describe_rejection(from: SocketAddr, error: &HandshakeError) -> String {
    match error {
        HandshakeError::Refused(refusal) => {
            format!(
                "Refused a connection from {from} with the answer \"{refusal}\" Other connections are not affected."
            )
        }
        other => {
            format!("Closed a connection from {from}: {} Other connections are not affected.", with_full_stop(other))
        }
    }
}

/// The text with one full stop at its end, whether it had one or not.
pub(crate) fn with_full_stop(text: &impl ToString) -> String {
    let mut text = text.to_string();
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}
