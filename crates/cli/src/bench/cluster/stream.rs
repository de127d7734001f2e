//! Connections between clients and servers, plain or encrypted.

use quorate_core::NodeId;
use quorate_net::tls::Security;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// A stream, plain or encrypted.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// Connects to a server as a client.
pub(super) async fn connect(security: &Security, server: NodeId, address: SocketAddr) -> io::Result<Box<dyn Duplex>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(match security {
        Security::Plain => Box::new(stream),
        Security::Tls(identity) => {
            let name = identity.server_name(server).map_err(io::Error::other)?;
            Box::new(TlsStream::Client(identity.connector().connect(name, stream).await?))
        }
    })
}

/// Accepts a client's connection.
pub(super) async fn accept(security: &Security, stream: TcpStream) -> io::Result<Box<dyn Duplex>> {
    stream.set_nodelay(true)?;
    Ok(match security {
        Security::Plain => Box::new(stream),
        Security::Tls(identity) => Box::new(TlsStream::Server(identity.acceptor().accept(stream).await?)),
    })
}
