//! What somebody writes who needs no more than this: tokio, buffers, a length before each message.

use super::partner::{self, Ground, Partner, announce};
use super::{Contender, MESSAGES, ROUND_TRIPS, Small, Turn};
use quorate_net::tls::Security;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsStream;

/// As much as a link gathers in one batch.
const BUFFER: usize = 64 << 10;

/// Plain or not, it reads and writes.
trait Duplex: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

pub(super) fn measure(contender: Contender, ground: &Ground) -> anyhow::Result<Turn> {
    let partner = Partner::start(contender, ground, "-")?;
    let security = ground.certificates.security(contender)?;
    tokio()?.block_on(async {
        let stream = TcpStream::connect(&partner.address).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Duplex> = match &security {
            Security::Plain => Box::new(stream),
            Security::Tls(identity) => {
                let name = identity.server_name(partner::there())?;
                Box::new(TlsStream::Client(identity.connector().connect(name, stream).await?))
            }
        };
        let (reading, writing) = ::tokio::io::split(stream);
        let mut line = Line::new(reading, writing);
        let begin = Instant::now();
        for number in 1..=MESSAGES {
            line.send(&Small::new(number)).await?;
        }
        line.writing.flush().await?;
        line.receive().await?;
        let messages_per_second = MESSAGES as f64 / begin.elapsed().as_secs_f64();
        let mut round_trips = Vec::new();
        let mut last = Instant::now();
        for number in 1..=ROUND_TRIPS {
            line.send(&Small::new(MESSAGES + number)).await?;
            line.writing.flush().await?;
            line.receive().await?;
            let now = Instant::now();
            round_trips.push((now - last).as_nanos() as u64);
            last = now;
        }
        Ok(Turn { messages_per_second, round_trips })
    })
}

pub(super) fn serve(security: Security) -> anyhow::Result<()> {
    tokio()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        announce(listener.local_addr()?)?;
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Duplex> = match &security {
            Security::Plain => Box::new(stream),
            Security::Tls(identity) => Box::new(TlsStream::Server(identity.acceptor().accept(stream).await?)),
        };
        let (reading, writing) = ::tokio::io::split(stream);
        let mut line = Line::new(reading, writing);
        // It ends with the other process, which has measured enough by then.
        while let Ok(small) = line.receive().await {
            if small.number >= MESSAGES {
                line.send(&small).await?;
                line.writing.flush().await?;
            }
        }
        Ok(())
    })
}

fn tokio() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

struct Line<R, W> {
    reading: BufReader<R>,
    writing: BufWriter<W>,
    message: Vec<u8>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Line<R, W> {
    fn new(reading: R, writing: W) -> Self {
        Self {
            reading: BufReader::with_capacity(BUFFER, reading),
            writing: BufWriter::with_capacity(BUFFER, writing),
            message: Vec::new(),
        }
    }

    async fn send(&mut self, small: &Small) -> anyhow::Result<()> {
        self.message.clear();
        self.message = postcard::to_extend(small, std::mem::take(&mut self.message))?;
        self.writing.write_u32_le(self.message.len() as u32).await?;
        Ok(self.writing.write_all(&self.message).await?)
    }

    async fn receive(&mut self) -> anyhow::Result<Small> {
        let length = self.reading.read_u32_le().await? as usize;
        anyhow::ensure!(length < BUFFER, "The other process sent nonsense.");
        self.message.resize(length, 0);
        self.reading.read_exact(&mut self.message).await?;
        Ok(postcard::from_bytes(&self.message)?)
    }
}
