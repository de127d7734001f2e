//! Certificates, right and wrong, and who is let in with them.

use crate::impostor::greeting;
use crate::log::Log;
use crate::party::{GROUP, Party, Style, node};
use crate::within;
use quorate_core::NodeId;
use quorate_net::GroupName;
use quorate_net::certificates::{Authority, Days, Folder, Signed, Validity};
use quorate_net::frame::{Body, encode};
use quorate_net::tls::{Identity, Security};
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub(crate) struct Papers(TempDir);

impl Papers {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let group: GroupName = GROUP.parse().unwrap();
        Folder::new(place.path()).make(&group, &[1, 2, 3].map(node), Days::default()).unwrap();
        Self(place)
    }

    pub(crate) fn security(&self, me: NodeId) -> Security {
        Security::Tls(self.identity(me.number()))
    }

    pub(crate) fn identity(&self, number: u32) -> Identity {
        Identity::load(self.0.path(), node(number), &GROUP.parse().unwrap()).unwrap()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    pub(crate) fn of(&self, number: u32) -> Signed {
        let [certificate, key] = ["pem", "key"].map(|kind| self.read(&format!("node-{number}.{kind}")));
        Signed { certificate, key }
    }

    pub(crate) fn expired(&self, number: u32) -> Signed {
        let authority = Authority::read(&self.read("ca.pem"), &self.read("ca.key"), &GROUP.parse().unwrap()).unwrap();
        let hours = |count: u64| SystemTime::now() - Duration::from_secs(3_600 * count);
        authority.sign(node(number), Validity { from: hours(48), until: hours(24) }).unwrap()
    }

    /// Somebody who believes this group's CA and shows whatever papers it has.
    pub(crate) fn dialler(&self, papers: Option<&Signed>) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.read("ca.pem").as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let trusting = versions.with_root_certificates(roots);
        let configuration = match papers {
            Some(papers) => {
                let (chain, key) = Self::parsed(papers);
                trusting.with_client_auth_cert(chain, key).unwrap()
            }
            None => trusting.with_no_client_auth(),
        };
        TlsConnector::from(Arc::new(configuration))
    }

    pub(crate) fn parsed(papers: &Signed) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let chain = CertificateDer::pem_slice_iter(papers.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
        (chain, PrivateKeyDer::from_pem_slice(papers.key.as_bytes()).unwrap())
    }
}

/// Dials node 1 and introduces itself as node 2. Comes back when the connection is over.
async fn intrude(dialler: TlsConnector, address: SocketAddr) {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(format!("node-1.{GROUP}.quorate")).unwrap();
    // It may be refused at any of these.
    let Ok(mut stream) = dialler.connect(name, stream).await else { return };
    let (header, hello) = greeting(2, 1);
    let _ = stream.write_all(&encode(&header, &Body::Hello(hello))).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty(), "node 1 spoke to a stranger: {answer:?}");
}

#[tokio::test]
async fn wrong_papers_open_no_door_and_the_group_goes_on() {
    let log = Log::new();
    let (papers, others) = (Papers::new(), Papers::new());
    let mut party = Party::of_three(&Style::default(), |node| papers.security(node)).await;
    let cases = [
        (None, "it showed no certificate"),
        (Some(others.of(2)), "signed by another CA than ours"),
        (Some(papers.expired(2)), "its certificate ran out"),
        (Some(papers.of(3)), "its certificate is that of node-3.demo.quorate and not of node-2.demo.quorate"),
    ];
    for (shown, expected) in &cases {
        within("the end", intrude(papers.dialler(shown.as_ref()), party.address(1))).await;
        log.line(&["WARN", "A connection from 127.0.0.1", expected, "The group goes on."]).await;
        party.goes_on().await;
    }
    assert_eq!(party.members[0].link(node(2)).connections, 1, "the group's own connection was touched");
    party.stop().await;
}

#[tokio::test]
async fn what_is_no_tls_is_told_so_at_an_encrypted_port() {
    let log = Log::new();
    let papers = Papers::new();
    let mut party = Party::of_three(&Style::default(), |node| papers.security(node)).await;
    let (header, hello) = greeting(2, 1);
    let in_the_clear = encode(&header, &Body::Hello(hello));
    for (count, bytes) in [&in_the_clear[..], b"GET / HTTP/1.1\r\n\r\n", &[0xFF; 70_000]].into_iter().enumerate() {
        let mut stream = TcpStream::connect(party.address(1)).await.unwrap();
        let _ = stream.write_all(bytes).await;
        log.lines(count + 1, "The peer does not speak TLS").await;
        let mut answer = Vec::new();
        let _ = within("the end", stream.read_to_end(&mut answer)).await;
        party.goes_on().await;
    }
    party.stop().await;
}

#[tokio::test]
async fn a_plain_node_and_an_encrypted_one_both_say_what_is_wrong() {
    let log = Log::new();
    let papers = Papers::new();
    let mut party = Party::of_three(&Style::default(), |node| papers.security(node)).await;
    party.members.pop().unwrap().crash().await;
    let peers = crate::party::addresses(node(3), &party.places);
    let style = Style::default();
    let plain = crate::party::Member::start(node(3), 1, &party.places[2], peers, Security::Plain, &style);
    log.line(&["The peer does not speak TLS", "start it with --certs"]).await;
    log.line(&["The other end begins with TLS, and this connection is plain TCP."]).await;
    party.goes_on().await;
    plain.crash().await;
    party.stop().await;
}
