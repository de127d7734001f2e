//! The baseline: a minimal tokio loop with buffers and a length prefix before each message.

use super::partner::{self, Environment, Partner, announce};
use super::{Figures, MESSAGES, NetContender, Payload, ROUND_TRIPS};
use quorate_net::tls::Security;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsStream;

/// Buffer size in bytes, the same as the maximum batch of a link.
const BUFFER_BYTES: usize = 64 << 10;

/// Stands for the address of the first process, to which the second one never connects here.
const NO_ADDRESS: &str = "-";

/// A stream, plain or encrypted.
trait Duplex: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

pub(super) fn measure(contender: NetContender, environment: &Environment) -> anyhow::Result<Figures> {
    let partner = Partner::start(contender, environment, NO_ADDRESS)?;
    let security = environment.certificates.security(contender)?;
    new_tokio_runtime()?.block_on(async {
        let stream = TcpStream::connect(&partner.address).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Duplex> = match &security {
            Security::Plain => Box::new(stream),
            Security::Tls(identity) => {
                let name = identity.server_name(partner::second_node())?;
                Box::new(TlsStream::Client(identity.connector().connect(name, stream).await?))
            }
        };
        let (reader, writer) = tokio::io::split(stream);
        let mut connection = Connection::new(reader, writer);
        let started = Instant::now();
        for number in 1..=MESSAGES {
            connection.send(&Payload::new(number)).await?;
        }
        connection.writer.flush().await?;
        connection.receive().await?;
        let messages_per_second = MESSAGES as f64 / started.elapsed().as_secs_f64();
        let mut round_trips_ns = Vec::new();
        let mut last_receipt = Instant::now();
        for number in 1..=ROUND_TRIPS {
            connection.send(&Payload::new(MESSAGES + number)).await?;
            connection.writer.flush().await?;
            connection.receive().await?;
            let now = Instant::now();
            round_trips_ns.push((now - last_receipt).as_nanos() as u64);
            last_receipt = now;
        }
        Ok(Figures { messages_per_second, round_trips_ns })
    })
}

pub(super) fn serve(security: Security) -> anyhow::Result<()> {
    new_tokio_runtime()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        announce(listener.local_addr()?)?;
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Duplex> = match &security {
            Security::Plain => Box::new(stream),
            Security::Tls(identity) => Box::new(TlsStream::Server(identity.acceptor().accept(stream).await?)),
        };
        let (reader, writer) = tokio::io::split(stream);
        let mut connection = Connection::new(reader, writer);
        // The loop ends when the first process closes the connection after its measurement.
        while let Ok(payload) = connection.receive().await {
            // The last one-way message and every message of a round trip are answered.
            if payload.number >= MESSAGES {
                connection.send(&payload).await?;
                connection.writer.flush().await?;
            }
        }
        Ok(())
    })
}

fn new_tokio_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

struct Connection<R, W> {
    reader: BufReader<R>,
    writer: BufWriter<W>,
    /// Reused buffer for one encoded message.
    message: Vec<u8>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, reader),
            writer: BufWriter::with_capacity(BUFFER_BYTES, writer),
            message: Vec::new(),
        }
    }

    async fn send(&mut self, payload: &Payload) -> anyhow::Result<()> {
        self.message.clear();
        self.message = postcard::to_extend(payload, std::mem::take(&mut self.message))?;
        self.writer.write_u32_le(self.message.len() as u32).await?;
        Ok(self.writer.write_all(&self.message).await?)
    }

    async fn receive(&mut self) -> anyhow::Result<Payload> {
        let length = self.reader.read_u32_le().await? as usize;
        anyhow::ensure!(
            length < BUFFER_BYTES,
            "the other process sent a message of {length} bytes; it must be shorter than {BUFFER_BYTES} bytes."
        );
        self.message.resize(length, 0);
        self.reader.read_exact(&mut self.message).await?;
        Ok(postcard::from_bytes(&self.message)?)
    }
}
