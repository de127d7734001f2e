//! How two nodes introduce themselves on a new connection, on either side of it.

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

/// A peer that has introduced itself, and waits for an answer.
pub(crate) struct Guest {
    pub(crate) stream: Stream,
    pub(crate) received: BytesMut,
    pub(crate) header: Header,
    pub(crate) hello: Hello,
}

pub(crate) struct Host {
    pub(crate) stream: Stream,
    pub(crate) received: BytesMut,
    pub(crate) header: Header,
    pub(crate) welcome: Welcome,
}

#[derive(Debug, Error)]
pub(crate) enum GreetingError {
    #[error("it cannot be reached: {0}")]
    Unreachable(io::Error),
    #[error("the encrypted connection failed: {0}")]
    Tls(String),
    #[error("the connection broke during the introduction: {0}")]
    Broken(io::Error),
    #[error("it closed the connection without a word")]
    Silent,
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("it began with something else than an introduction")]
    NoGreeting,
    #[error("{0}")]
    Peer(#[from] PeerError),
    #[error("{0}")]
    Refused(Refusal),
    #[error("it did not introduce itself in time")]
    Late,
}

impl GreetingError {
    /// Whether the other machine says itself that nobody listens there.
    pub(crate) fn is_refusal_of_kernel(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }
}

/// Opens a connection to a peer, encrypted if that is how nodes speak here.
pub(crate) async fn connect(context: &Context, peer: NodeId, address: &str) -> Result<Stream, GreetingError> {
    let stream = TcpStream::connect(address).await.map_err(GreetingError::Unreachable)?;
    stream.set_nodelay(true).map_err(GreetingError::Broken)?;
    match &context.security {
        Security::Plain => Ok(Stream::Plain(stream)),
        Security::Tls(identity) => {
            let name = identity.server_name(peer)?;
            let stream = identity.connector().connect(name, stream).await;
            let stream = stream.map_err(|error| GreetingError::Tls(tls::reason(&error)))?;
            // The handshake would take a pattern for the peer's name.
            identity.verify_peer(stream.get_ref().1.peer_certificates(), peer)?;
            Ok(Stream::Tls(Box::new(TlsStream::Client(stream))))
        }
    }
}

/// Introduces us on a connection that we opened, and waits for the answer.
pub(crate) async fn greet(mut stream: Stream, header: Header, hello: Hello) -> Result<Host, GreetingError> {
    say(&mut stream, &encode(&header, &Body::Hello(hello))).await.map_err(GreetingError::Broken)?;
    let mut received = BytesMut::new();
    let Frame { header, body } = first_frame(&mut stream, &mut received).await?;
    match body {
        Body::Welcome(welcome) => Ok(Host { stream, received, header, welcome }),
        Body::Refuse(refusal) => Err(GreetingError::Refused(refusal)),
        Body::Hello(_) | Body::Batch(_) | Body::Ack | Body::Ping | Body::Bye(_) => Err(GreetingError::NoGreeting),
    }
}

/// Hears who opened a connection to us. A peer that this is not meant for is told so.
pub(crate) async fn receive(context: &Context, stream: TcpStream) -> Result<Guest, GreetingError> {
    stream.set_nodelay(true).map_err(GreetingError::Broken)?;
    let mut stream = match &context.security {
        Security::Plain => Stream::Plain(stream),
        Security::Tls(identity) => {
            let stream = identity.acceptor().accept(stream).await;
            let stream = stream.map_err(|error| match error.kind() {
                // Somebody hung up before a word was said, as a peer does whose dial crossed ours.
                io::ErrorKind::UnexpectedEof => GreetingError::Silent,
                _ => GreetingError::Tls(tls::reason(&error)),
            })?;
            Stream::Tls(Box::new(TlsStream::Server(stream)))
        }
    };
    let mut received = BytesMut::new();
    let Frame { header, body } = first_frame(&mut stream, &mut received).await?;
    let Body::Hello(hello) = body else { return Err(GreetingError::NoGreeting) };
    if let (Security::Tls(identity), Stream::Tls(stream)) = (&context.security, &stream) {
        // A peer is who its certificate says, whatever its greeting says.
        identity.verify_peer(stream.get_ref().1.peer_certificates(), header.sender)?;
    }
    if let Err(refusal) = context.terms.judge(&header, &hello) {
        refuse(stream, context, refusal.clone()).await;
        return Err(GreetingError::Refused(refusal));
    }
    Ok(Guest { stream, received, header, hello })
}

pub(crate) async fn welcome(guest: &mut Guest, header: Header, welcome: Welcome) -> io::Result<()> {
    say(&mut guest.stream, &encode(&header, &Body::Welcome(welcome))).await
}

/// Tells a peer why it is not wanted. It may not hear it.
pub(crate) async fn refuse(mut stream: Stream, context: &Context, refusal: Refusal) {
    let header = Header {
        group: context.terms.group.number(),
        sender: context.terms.me,
        incarnation: context.incarnation,
        epoch: quorate_core::Epoch::default(),
        acknowledged: 0,
    };
    let farewell = async {
        say(&mut stream, &encode(&header, &Body::Refuse(refusal))).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(context.limits.introduction, farewell).await;
}

async fn say(stream: &mut Stream, frame: &Bytes) -> io::Result<()> {
    stream.write_all(frame).await?;
    stream.flush().await
}

async fn first_frame(stream: &mut Stream, received: &mut BytesMut) -> Result<Frame, GreetingError> {
    loop {
        if let Some(frame) = Frame::next(received, HANDSHAKE_LIMIT)? {
            return Ok(frame);
        }
        if stream.read_buf(received).await.map_err(GreetingError::Broken)? == 0 {
            return Err(if received.is_empty() {
                GreetingError::Silent
            } else {
                GreetingError::Broken(io::ErrorKind::UnexpectedEof.into())
            });
        }
    }
}

pub(crate) fn complaint(from: SocketAddr, error: &GreetingError) -> String {
    match error {
        GreetingError::Refused(refusal) => {
            format!("A connection from {from} was refused. It was told: \"{refusal}\" The group goes on.")
        }
        other => format!("A connection from {from} was closed: {} The group goes on.", sentence(other)),
    }
}

/// The same text with one full stop at its end, whether it had one or not.
pub(crate) fn sentence(text: &impl ToString) -> String {
    let mut text = text.to_string();
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}
