//! Nodes refuse every peer that does not present a valid certificate.

use crate::cluster::{Cluster, GROUP, NodeOptions, node};
use crate::fake_peer::hello_frame;
use crate::log::Log;
use crate::within;
use quorate_core::NodeId;
use quorate_net::GroupName;
use quorate_net::certificates::{Authority, Days, Folder, SignedCertificate, Validity};
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

/// A folder with the certificates of nodes 1 to 3 and their CA.
pub(crate) struct Certificates(TempDir);

impl Certificates {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let group: GroupName = GROUP.parse().unwrap();
        Folder::new(folder.path()).make(&group, &[1, 2, 3].map(node), Days::default()).unwrap();
        Self(folder)
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

    pub(crate) fn of_node(&self, number: u32) -> SignedCertificate {
        let [certificate, key] = ["pem", "key"].map(|kind| self.read(&format!("node-{number}.{kind}")));
        SignedCertificate { certificate, key }
    }

    /// An expired certificate of a node, signed by the CA.
    pub(crate) fn expired(&self, number: u32) -> SignedCertificate {
        let authority = Authority::read(&self.read("ca.pem"), &self.read("ca.key"), &GROUP.parse().unwrap()).unwrap();
        let hours_ago = |count: u64| SystemTime::now() - Duration::from_secs(3_600 * count);
        authority.sign(node(number), Validity { from: hours_ago(48), until: hours_ago(24) }).unwrap()
    }

    /// A TLS client that trusts this group's CA and presents this certificate, even an invalid one.
    pub(crate) fn connector_with(&self, presented: Option<&SignedCertificate>) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.read("ca.pem").as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let trusting = versions.with_root_certificates(roots);
        let configuration = match presented {
            Some(signed) => {
                let (chain, key) = Self::parse(signed);
                trusting.with_client_auth_cert(chain, key).unwrap()
            }
            None => trusting.with_no_client_auth(),
        };
        TlsConnector::from(Arc::new(configuration))
    }

    /// Parses a certificate chain and its key.
    pub(crate) fn parse(signed: &SignedCertificate) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let chain = CertificateDer::pem_slice_iter(signed.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
        (chain, PrivateKeyDer::from_pem_slice(signed.key.as_bytes()).unwrap())
    }
}

/// Dials node 1 and claims to be node 2. Returns when the connection has ended.
async fn connect_as_node_2(dialler: TlsConnector, address: SocketAddr) {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(format!("node-1.{GROUP}.quorate")).unwrap();
    // Node 1 may refuse the connection at any of these steps.
    let Ok(mut stream) = dialler.connect(name, stream).await else { return };
    let (header, hello) = hello_frame(2, 1);
    let _ = stream.write_all(&encode(&header, &Body::Hello(hello))).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.is_empty(), "node 1 must not answer: {answer:?}");
}

#[tokio::test]
async fn invalid_certificates_are_refused_and_do_not_disturb_the_group() {
    let log = Log::new();
    let (certificates, foreign_certificates) = (Certificates::new(), Certificates::new());
    let mut cluster = Cluster::of_three(&NodeOptions::default(), |node| certificates.security(node)).await;
    let cases = [
        (None, "it presented no certificate"),
        (Some(foreign_certificates.of_node(2)), "signed by another CA than ours"),
        (Some(certificates.expired(2)), "its certificate has expired"),
        (Some(certificates.of_node(3)), "its certificate names node-3.demo.quorate and not node-2.demo.quorate"),
    ];
    for (presented, expected) in &cases {
        within(
            "the end of the connection",
            connect_as_node_2(certificates.connector_with(presented.as_ref()), cluster.address(1)),
        )
        .await;
        log.wait_for_line(&["WARN", "Closed a connection from 127.0.0.1", expected, "not affected."]).await;
        cluster.check_exchange().await;
    }
    assert_eq!(cluster.nodes[0].link(node(2)).connections, 1, "the group must keep its connection");
    cluster.stop().await;
}

#[tokio::test]
async fn plain_bytes_at_a_tls_port_are_refused() {
    let log = Log::new();
    let certificates = Certificates::new();
    let mut cluster = Cluster::of_three(&NodeOptions::default(), |node| certificates.security(node)).await;
    let (header, hello) = hello_frame(2, 1);
    let plain_hello = encode(&header, &Body::Hello(hello));
    // The last case is longer than any TLS record.
    for (count, bytes) in [&plain_hello[..], b"GET / HTTP/1.1\r\n\r\n", &[0xFF; 70_000]].into_iter().enumerate() {
        let mut stream = TcpStream::connect(cluster.address(1)).await.unwrap();
        let _ = stream.write_all(bytes).await;
        log.wait_for_lines(count + 1, "the peer does not use TLS").await;
        let mut answer = Vec::new();
        let _ = within("the end of the connection", stream.read_to_end(&mut answer)).await;
        cluster.check_exchange().await;
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_plain_node_and_a_tls_node_both_log_the_mismatch() {
    let log = Log::new();
    let certificates = Certificates::new();
    let mut cluster = Cluster::of_three(&NodeOptions::default(), |node| certificates.security(node)).await;
    cluster.nodes.pop().unwrap().crash().await;
    let peers = crate::cluster::addresses(node(3), &cluster.endpoints);
    let (incarnation, options) = (1, NodeOptions::default());
    let endpoint = &cluster.endpoints[2];
    let plain = crate::cluster::TestNode::start(node(3), incarnation, endpoint, peers, Security::Plain, &options);
    log.wait_for_line(&["the peer does not use TLS", "start it with --certs"]).await;
    log.wait_for_line(&["the peer uses TLS, but this node expects plain TCP."]).await;
    cluster.check_exchange().await;
    plain.crash().await;
    cluster.stop().await;
}
