//! Two ends of a connection on loopback: those who should believe each other do, and nobody else is let in.

use crate::papers::Papers;
use crate::party::{GROUP, node};
use crate::within;
use quorate_net::certificates::{Days, Folder, Signed};
use quorate_net::tls::{Identity, reason};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{HandshakeKind, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Somebody who answers with papers that no careful node would start with, and believes anybody.
fn careless_listener(papers: &Signed) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let (chain, key) = Papers::parsed(papers);
    TlsAcceptor::from(Arc::new(versions.with_no_client_auth().with_single_cert(chain, key).unwrap()))
}

/// Papers for a name of one's choice, signed with the key of the folder's own CA.
fn forged(papers: &Papers, name: &str) -> Signed {
    let mut authority = CertificateParams::default();
    authority.distinguished_name = rcgen::DistinguishedName::new();
    authority.distinguished_name.push(DnType::CommonName, "Quorate CA of demo");
    let issuer = Issuer::new(authority, KeyPair::from_pem(&papers.read("ca.key")).unwrap());
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new([name.to_owned()]).unwrap();
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters.signed_by(&key, &issuer).unwrap().pem();
    Signed { certificate, key: key.serialize_pem() }
}

#[derive(Debug)]
struct Meeting {
    dialler: Result<HandshakeKind, String>,
    listener: Result<HandshakeKind, String>,
}

impl Meeting {
    #[track_caller]
    fn succeeded(&self) {
        let ends = [&self.dialler, &self.listener];
        assert!(ends.iter().all(|end| **end == Ok(HandshakeKind::Full)), "{self:?}");
    }

    /// The end that listens refused, for this reason, and the other noticed.
    #[track_caller]
    fn listener_refused(&self, because: &str) {
        let said = self.listener.as_ref().expect_err("the listener should refuse");
        assert!(said.contains(because) && self.dialler.is_err(), "{self:?}");
    }

    /// The end that dialled refused, for this reason, and the other noticed.
    #[track_caller]
    fn dialler_refused(&self, because: &str) {
        let said = self.dialler.as_ref().expect_err("the dialler should refuse");
        assert!(said.contains(because) && self.listener.is_err(), "{self:?}");
    }
}

/// One end dials node 2 and claims to be node 3; the other listens and checks that claim. The listener speaks first, so
/// that a refusal reaches the end that dialled as an answer to nothing.
async fn meet(dialler: &TlsConnector, listener: &TlsAcceptor, judge: &Identity) -> Meeting {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let listen = async {
        let (stream, _) = socket.accept().await.unwrap();
        let mut stream = listener.accept(stream).await.map_err(told)?;
        judge.verify_peer(stream.get_ref().1.peer_certificates(), node(3)).map_err(|error| error.to_string())?;
        stream.write_all(b"welcome").await.map_err(told)?;
        stream.flush().await.map_err(told)?;
        let mut answer = [0; 6];
        stream.read_exact(&mut answer).await.map_err(told)?;
        assert_eq!(&answer, b"thanks");
        Ok(stream.get_ref().1.handshake_kind().unwrap())
    };
    let dial = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut stream = dialler.connect(judge.server_name(node(2)).unwrap(), stream).await.map_err(told)?;
        judge.verify_peer(stream.get_ref().1.peer_certificates(), node(2)).map_err(|error| error.to_string())?;
        let mut greeting = [0; 7];
        stream.read_exact(&mut greeting).await.map_err(told)?;
        assert_eq!(&greeting, b"welcome");
        stream.write_all(b"thanks").await.map_err(told)?;
        stream.shutdown().await.map_err(told)?;
        Ok(stream.get_ref().1.handshake_kind().unwrap())
    };
    let both = async { tokio::join!(dial, listen) };
    let (dialler, listener) = within("the end of both", both).await;
    Meeting { dialler, listener }
}

fn told(error: io::Error) -> String {
    reason(&error)
}

#[tokio::test]
async fn nodes_of_a_group_believe_each_other_and_shake_hands_in_full_each_time() {
    let papers = Papers::new();
    let (two, three) = (papers.identity(2), papers.identity(3));
    for _ in 0..3 {
        meet(three.connector(), two.acceptor(), &two).await.succeeded();
    }
}

#[tokio::test]
async fn a_node_that_was_added_later_is_believed() {
    let place = tempfile::tempdir().unwrap();
    let group = GROUP.parse().unwrap();
    let [two, three] = [2, 3].map(|number| {
        Folder::new(place.path()).make(&group, &[node(number)], Days::default()).unwrap();
        Identity::load(place.path(), node(number), &group).unwrap()
    });
    meet(three.connector(), two.acceptor(), &two).await.succeeded();
}

#[tokio::test]
async fn the_papers_of_another_ca_are_refused_by_either_end() {
    let (papers, other) = (Papers::new(), Papers::new());
    let (two, three) = (papers.identity(2), other.identity(3));
    // The end that dialled looks first, and so it is the one that refuses.
    meet(three.connector(), two.acceptor(), &two).await.dialler_refused("signed by another CA than ours");
    // Here it believes the listener, which is then the one that refuses.
    let stranger = papers.dialler(Some(&other.of(3)));
    meet(&stranger, two.acceptor(), &two).await.listener_refused("signed by another CA than ours");
}

#[tokio::test]
async fn the_folders_own_ca_cannot_speak_for_another_group() {
    let papers = Papers::new();
    let two = papers.identity(2);
    let stranger = papers.dialler(Some(&forged(&papers, "node-3.other.quorate")));
    meet(&stranger, two.acceptor(), &two).await.listener_refused("its certificate is one of another group");
    let three = papers.identity(3);
    let imposter = careless_listener(&forged(&papers, "node-2.other.quorate"));
    meet(three.connector(), &imposter, &three).await.dialler_refused("The peer was not believed");
}

#[tokio::test]
async fn node_2_does_not_pass_for_node_3() {
    let papers = Papers::new();
    let two = papers.identity(2);
    meet(two.connector(), two.acceptor(), &two)
        .await
        .listener_refused("says that it is node 3, but its certificate is that of node-2.demo.quorate");
}

#[tokio::test]
async fn node_3_does_not_answer_for_node_2() {
    let papers = Papers::new();
    let three = papers.identity(3);
    meet(three.connector(), three.acceptor(), &three)
        .await
        .dialler_refused("is that of node-3.demo.quorate, and we dialled node-2.demo.quorate");
}

#[tokio::test]
async fn papers_for_everyone_are_papers_for_no_one() {
    let papers = Papers::new();
    let (two, three) = (papers.identity(2), papers.identity(3));
    let wildcard = forged(&papers, "*.demo.quorate");
    let everyone = papers.dialler(Some(&wildcard));
    meet(&everyone, two.acceptor(), &two).await.listener_refused("certificate is that of *.demo.quorate and not of");
    meet(three.connector(), &careless_listener(&wildcard), &three)
        .await
        .dialler_refused("certificate is that of *.demo.quorate and not of");
}

#[tokio::test]
async fn papers_that_ran_out_are_refused_by_either_end() {
    let papers = Papers::new();
    let (two, three) = (papers.identity(2), papers.identity(3));
    let late = papers.dialler(Some(&papers.expired(3)));
    meet(&late, two.acceptor(), &two).await.listener_refused("its certificate ran out");
    meet(three.connector(), &careless_listener(&papers.expired(3)), &three)
        .await
        .dialler_refused("its certificate ran out");
}

#[tokio::test]
async fn nobody_is_let_in_without_papers() {
    let papers = Papers::new();
    let two = papers.identity(2);
    let nobody = papers.dialler(None);
    meet(&nobody, two.acceptor(), &two).await.listener_refused("it showed no certificate; start it with --certs");
}

#[tokio::test]
async fn a_listener_that_asks_for_no_papers_is_not_taken_in_by_a_claim() {
    let papers = Papers::new();
    let three = papers.identity(3);
    // A driver that forgot to ask for certificates still has none to show for the claim.
    meet(three.connector(), &careless_listener(&papers.of(2)), &three)
        .await
        .listener_refused("but showed no certificate");
}

#[tokio::test]
async fn plain_text_at_a_tls_port_is_refused() {
    let papers = Papers::new();
    let two = papers.identity(2);
    let garbage: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\nHost: node-2\r\n\r\n",
        &[0; 64],
        &[0xff; 64],
        b"hello, node 2, this is node 3, who speaks in the clear",
        // The head of a TLS record that is longer than any may be.
        &[22, 3, 1, 0xff, 0xff, 1, 2, 3, 4, 5],
        // A handshake that is none.
        &[22, 3, 1, 0, 5, 99, 0, 0, 1, 0],
    ];
    for bytes in garbage {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let listen = async { two.acceptor().accept(socket.accept().await.unwrap().0).await.map(|_| ()).unwrap_err() };
        let dial = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            // Held open: it is the bytes that are refused, not the silence after them.
            stream
        };
        let both = async { tokio::join!(listen, dial) };
        let (error, _) = within("the listener's refusal", both).await;
        assert!(reason(&error).starts_with("The peer does not speak TLS"), "{bytes:?}: {}", reason(&error));
    }
}

#[tokio::test]
async fn tls_at_a_plain_port_is_refused() {
    let papers = Papers::new();
    let three = papers.identity(3);
    let answers: [(&[u8], &str); 3] = [
        (b"what do you mean by that?", "The peer does not speak TLS"),
        (&[0, 0, 0, 9, 1, 2, 3], "The peer does not speak TLS"),
        // It just hangs up.
        (b"", "or it speaks plain TCP"),
    ];
    for (answer, because) in answers {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let listen = async {
            let (mut stream, _) = socket.accept().await.unwrap();
            let mut heard = [0; 64];
            stream.read_exact(&mut heard).await.unwrap();
            stream.write_all(answer).await.unwrap();
            (!answer.is_empty()).then_some(stream)
        };
        let dial = async {
            let stream = TcpStream::connect(address).await.unwrap();
            three.connector().connect(three.server_name(node(2)).unwrap(), stream).await.map(|_| ()).unwrap_err()
        };
        let both = async { tokio::join!(dial, listen) };
        let (error, _) = within("the dialler's refusal", both).await;
        assert!(reason(&error).contains(because), "{answer:?}: {}", reason(&error));
    }
}
