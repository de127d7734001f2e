//! TLS handshakes on loopback: nodes of a group accept each other and refuse all others.

use crate::certificates::Certificates;
use crate::cluster::{GROUP, node};
use crate::within;
use quorate_net::certificates::{Days, Folder, SignedCertificate};
use quorate_net::tls::{Identity, explain_tls_error};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{HandshakeKind, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A TLS server that presents the given certificate, even an invalid one, and accepts every client.
fn acceptor_without_checks(signed: &SignedCertificate) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let (chain, key) = Certificates::parse(signed);
    TlsAcceptor::from(Arc::new(versions.with_no_client_auth().with_single_cert(chain, key).unwrap()))
}

/// A certificate for any name, signed with the key of the folder's own CA.
fn forge_certificate(certificates: &Certificates, name: &str) -> SignedCertificate {
    let mut authority = CertificateParams::default();
    authority.distinguished_name = rcgen::DistinguishedName::new();
    authority.distinguished_name.push(DnType::CommonName, "Quorate CA of demo");
    let issuer = Issuer::new(authority, KeyPair::from_pem(&certificates.read("ca.key")).unwrap());
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new([name.to_owned()]).unwrap();
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters.signed_by(&key, &issuer).unwrap().pem();
    SignedCertificate { certificate, key: key.serialize_pem() }
}

/// The results of both ends of a handshake.
#[derive(Debug)]
struct HandshakeResults {
    dialler: Result<HandshakeKind, String>,
    listener: Result<HandshakeKind, String>,
}

impl HandshakeResults {
    /// Checks that both ends accepted, each by checking the other's certificate: a resumed session
    /// would rely on an older check.
    #[track_caller]
    fn assert_succeeded(&self) {
        let ends = [&self.dialler, &self.listener];
        assert!(ends.iter().all(|end| **end == Ok(HandshakeKind::Full)), "{self:?}");
    }

    /// Checks that the listener refused for this reason and that the dialler noticed.
    #[track_caller]
    fn assert_listener_refused(&self, reason: &str) {
        let error = self.listener.as_ref().expect_err("the listener should refuse");
        assert!(error.contains(reason) && self.dialler.is_err(), "{self:?}");
    }

    /// Checks that the dialler refused for this reason and that the listener noticed.
    #[track_caller]
    fn assert_dialler_refused(&self, reason: &str) {
        let error = self.dialler.as_ref().expect_err("the dialler should refuse");
        assert!(error.contains(reason) && self.listener.is_err(), "{self:?}");
    }
}

/// Does a handshake and an exchange. One end dials node 2 and claims to be node 3; the other
/// listens and checks that claim. Both ends check names with the same `identity`. The listener
/// sends first, so that the dialler sees a refusal in its first read.
async fn shake_hands(dialler: &TlsConnector, listener: &TlsAcceptor, identity: &Identity) -> HandshakeResults {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let listen = async {
        let (stream, _) = socket.accept().await.unwrap();
        let mut stream = listener.accept(stream).await.map_err(explain)?;
        identity.verify_peer(stream.get_ref().1.peer_certificates(), node(3)).map_err(|error| error.to_string())?;
        stream.write_all(b"welcome").await.map_err(explain)?;
        stream.flush().await.map_err(explain)?;
        let mut answer = [0; 6];
        stream.read_exact(&mut answer).await.map_err(explain)?;
        assert_eq!(&answer, b"thanks");
        Ok(stream.get_ref().1.handshake_kind().unwrap())
    };
    let dial = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut stream = dialler.connect(identity.server_name(node(2)).unwrap(), stream).await.map_err(explain)?;
        identity.verify_peer(stream.get_ref().1.peer_certificates(), node(2)).map_err(|error| error.to_string())?;
        let mut welcome = [0; 7];
        stream.read_exact(&mut welcome).await.map_err(explain)?;
        assert_eq!(&welcome, b"welcome");
        stream.write_all(b"thanks").await.map_err(explain)?;
        stream.shutdown().await.map_err(explain)?;
        Ok(stream.get_ref().1.handshake_kind().unwrap())
    };
    let both = async { tokio::join!(dial, listen) };
    let (dialler, listener) = within("the end of the handshake at both ends", both).await;
    HandshakeResults { dialler, listener }
}

fn explain(error: io::Error) -> String {
    explain_tls_error(&error)
}

#[tokio::test]
async fn nodes_of_a_group_accept_each_other_with_a_full_handshake_each_time() {
    let certificates = Certificates::new();
    let (two, three) = (certificates.identity(2), certificates.identity(3));
    for _ in 0..3 {
        shake_hands(three.connector(), two.acceptor(), &two).await.assert_succeeded();
    }
}

#[tokio::test]
async fn a_node_that_was_added_later_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let group = GROUP.parse().unwrap();
    let [two, three] = [2, 3].map(|number| {
        Folder::new(folder.path()).make(&group, &[node(number)], Days::default()).unwrap();
        Identity::load(folder.path(), node(number), &group).unwrap()
    });
    shake_hands(three.connector(), two.acceptor(), &two).await.assert_succeeded();
}

#[tokio::test]
async fn both_ends_refuse_the_certificate_of_another_ca() {
    let (certificates, foreign_certificates) = (Certificates::new(), Certificates::new());
    let (two, three) = (certificates.identity(2), foreign_certificates.identity(3));
    // The dialler checks first, so it refuses.
    shake_hands(three.connector(), two.acceptor(), &two).await.assert_dialler_refused("signed by another CA than ours");
    // Here the dialler accepts the listener, which then refuses.
    let foreign_dialler = certificates.connector_with(Some(&foreign_certificates.of_node(3)));
    shake_hands(&foreign_dialler, two.acceptor(), &two).await.assert_listener_refused("signed by another CA than ours");
}

#[tokio::test]
async fn the_groups_ca_cannot_sign_names_of_another_group() {
    let certificates = Certificates::new();
    let two = certificates.identity(2);
    let foreign_dialler = certificates.connector_with(Some(&forge_certificate(&certificates, "node-3.other.quorate")));
    shake_hands(&foreign_dialler, two.acceptor(), &two)
        .await
        .assert_listener_refused("its certificate belongs to another group");
    let three = certificates.identity(3);
    let fake_peer = acceptor_without_checks(&forge_certificate(&certificates, "node-2.other.quorate"));
    shake_hands(three.connector(), &fake_peer, &three).await.assert_dialler_refused("this node rejected the peer");
}

#[tokio::test]
async fn node_2_cannot_claim_to_be_node_3() {
    let certificates = Certificates::new();
    let two = certificates.identity(2);
    shake_hands(two.connector(), two.acceptor(), &two)
        .await
        .assert_listener_refused("claims to be node 3, but its certificate names node-2.demo.quorate");
}

#[tokio::test]
async fn node_3_cannot_answer_for_node_2() {
    let certificates = Certificates::new();
    let three = certificates.identity(3);
    shake_hands(three.connector(), three.acceptor(), &three)
        .await
        .assert_dialler_refused("names node-3.demo.quorate, but we dialled node-2.demo.quorate");
}

#[tokio::test]
async fn wildcard_certificates_are_refused() {
    let certificates = Certificates::new();
    let (two, three) = (certificates.identity(2), certificates.identity(3));
    let wildcard = forge_certificate(&certificates, "*.demo.quorate");
    let wildcard_dialler = certificates.connector_with(Some(&wildcard));
    shake_hands(&wildcard_dialler, two.acceptor(), &two)
        .await
        .assert_listener_refused("certificate names *.demo.quorate and not");
    shake_hands(three.connector(), &acceptor_without_checks(&wildcard), &three)
        .await
        .assert_dialler_refused("certificate names *.demo.quorate and not");
}

#[tokio::test]
async fn both_ends_refuse_expired_certificates() {
    let certificates = Certificates::new();
    let (two, three) = (certificates.identity(2), certificates.identity(3));
    let expired_dialler = certificates.connector_with(Some(&certificates.expired(3)));
    shake_hands(&expired_dialler, two.acceptor(), &two).await.assert_listener_refused("its certificate has expired");
    // This certificate also has the wrong name, but the dates are checked first.
    shake_hands(three.connector(), &acceptor_without_checks(&certificates.expired(3)), &three)
        .await
        .assert_dialler_refused("its certificate has expired");
}

#[tokio::test]
async fn a_peer_without_a_certificate_is_refused() {
    let certificates = Certificates::new();
    let two = certificates.identity(2);
    let anonymous = certificates.connector_with(None);
    shake_hands(&anonymous, two.acceptor(), &two)
        .await
        .assert_listener_refused("presented no certificate; start it with --certs");
}

#[tokio::test]
async fn a_claim_without_a_certificate_fails_even_if_the_listener_requests_none() {
    let certificates = Certificates::new();
    let three = certificates.identity(3);
    shake_hands(three.connector(), &acceptor_without_checks(&certificates.of_node(2)), &three)
        .await
        .assert_listener_refused("but presented no certificate");
}

#[tokio::test]
async fn plain_text_at_a_tls_port_is_refused() {
    let certificates = Certificates::new();
    let two = certificates.identity(2);
    let garbage: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\nHost: node-2\r\n\r\n",
        &[0; 64],
        &[0xff; 64],
        b"hello, node 2, this is node 3, which sends plain text",
        // The head of a TLS record that exceeds the maximum length.
        &[22, 3, 1, 0xff, 0xff, 1, 2, 3, 4, 5],
        // A malformed handshake message.
        &[22, 3, 1, 0, 5, 99, 0, 0, 1, 0],
    ];
    for bytes in garbage {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let listen = async { two.acceptor().accept(socket.accept().await.unwrap().0).await.map(|_| ()).unwrap_err() };
        let dial = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            // Keep the connection open: the listener must refuse the bytes, not the end of the
            // stream.
            stream
        };
        let both = async { tokio::join!(listen, dial) };
        let (error, _) = within("the listener's refusal", both).await;
        assert!(
            explain_tls_error(&error).starts_with("the peer does not use TLS"),
            "{bytes:?}: {}",
            explain_tls_error(&error)
        );
    }
}

#[tokio::test]
async fn a_tls_dialler_explains_that_the_listener_uses_plain_tcp() {
    let certificates = Certificates::new();
    let three = certificates.identity(3);
    let answers: [(&[u8], &str); 3] = [
        (b"what do you mean by that?", "the peer does not use TLS"),
        (&[0, 0, 0, 9, 1, 2, 3], "the peer does not use TLS"),
        // The peer closes the connection without an answer.
        (b"", "or it uses plain TCP"),
    ];
    for (answer, expected) in answers {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let listen = async {
            let (mut stream, _) = socket.accept().await.unwrap();
            let mut received = [0; 64];
            stream.read_exact(&mut received).await.unwrap();
            stream.write_all(answer).await.unwrap();
            (!answer.is_empty()).then_some(stream)
        };
        let dial = async {
            let stream = TcpStream::connect(address).await.unwrap();
            three.connector().connect(three.server_name(node(2)).unwrap(), stream).await.map(|_| ()).unwrap_err()
        };
        let both = async { tokio::join!(dial, listen) };
        let (error, _) = within("the dialler's refusal", both).await;
        assert!(explain_tls_error(&error).contains(expected), "{answer:?}: {}", explain_tls_error(&error));
    }
}
