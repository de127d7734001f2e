//! A node's identity on the network: its certificate, its key, and the CA that it trusts.

use super::PeerError;
use super::checks::{check_chain, check_dates, check_name, end_of_validity};
use crate::certificates::{Date, Folder, dns_name, escape_path, read_short};
use crate::group::GroupName;
use quorate_core::NodeId;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The certificate, key and trusted CA of this node, ready for TLS.
#[derive(Clone)]
pub struct Identity {
    node: NodeId,
    group: GroupName,
    valid_until: Option<SystemTime>,
    connector: TlsConnector,
    acceptor: TlsAcceptor,
}

/// Why a node's identity could not be loaded. The node was not started, and no file was changed.
#[derive(Debug, Error)]
pub enum IdentityError {
    #[error(
        "{} does not exist. Create it on the machine with the CA's key: quorate certs --group {group} --nodes {node} \
         --folder {}", escape_path(.file), escape_folder_of(.file)
    )]
    Missing { file: PathBuf, group: GroupName, node: NodeId },
    #[error("cannot read {}: {error}. The node needs it to authenticate itself; check its permissions.", escape_path(.file))]
    Unreadable { file: PathBuf, error: io::Error },
    #[error(
        "{} contains no valid {content} in PEM. Restore the file that 'quorate certs' wrote, or make a new one.",
        escape_path(.file)
    )]
    NotPem { file: PathBuf, content: &'static str },
    #[error("{} does not belong to {}. Restore the matching key and certificate.", escape_path(.key), escape_path(.certificate))]
    KeyMismatch { key: PathBuf, certificate: PathBuf },
    #[error("{} expired on {expiry_date}. {}", escape_path(.file), renewal_advice(.file))]
    Expired { file: PathBuf, expiry_date: Date },
    #[error("{} is not valid before {start_date}; check this machine's clock.", escape_path(.file))]
    NotYetValid { file: PathBuf, start_date: Date },
    #[error(
        "{} is the certificate of {found_names}, but this node is {required_name}; check --id, --group and --certs.", escape_path(.file)
    )]
    WrongNode { file: PathBuf, required_name: String, found_names: String },
    #[error(
        "{} was not signed by the CA in {}, so no peer would trust it. Restore the matching files.",
        escape_path(.file), escape_path(.authority)
    )]
    WrongAuthority { file: PathBuf, authority: PathBuf },
    #[error(
        "{} cannot be used between nodes: {error}. Make another certificate with 'quorate certs'.", escape_path(.file)
    )]
    NotUsable { file: PathBuf, error: webpki::Error },
    #[error(
        "the certificate and key in {} cannot be used: {error}. Make new ones with 'quorate certs'.", escape_path(.folder)
    )]
    RejectedByTls { folder: PathBuf, error: rustls::Error },
}

/// The contents of a node's three files.
struct Credentials {
    /// The CAs that the node trusts; two while an operator replaces the CA.
    authorities: Vec<CertificateDer<'static>>,
    /// The node's certificate, then any intermediate certificates up to the CA.
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads `ca.pem`, `node-N.pem` and `node-N.key`, and checks that peers will accept them.
    pub fn load(folder: &Path, node: NodeId, group: &GroupName) -> Result<Self, IdentityError> {
        let folder = Folder::new(folder);
        let credentials = Credentials::read(&folder, node, group)?;
        credentials.check(&folder, node, group)?;
        let valid_until = credentials.chain.first().and_then(end_of_validity);
        let (connector, acceptor) = credentials.configure().map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                IdentityError::KeyMismatch { key: folder.key(node), certificate: folder.certificate(node) }
            }
            error => IdentityError::RejectedByTls { folder: folder.path().to_owned(), error },
        })?;
        Ok(Self { node, group: group.clone(), valid_until, connector, acceptor })
    }

    /// The id of this node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The end of the certificate's validity, if it can be parsed.
    pub fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until
    }

    /// The TLS configuration for dialled connections.
    pub fn connector(&self) -> &TlsConnector {
        &self.connector
    }

    /// The TLS configuration for accepted connections.
    pub fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// The name to require when dialling a node, so that only the owner of its certificate can
    /// answer.
    pub fn server_name(&self, node: NodeId) -> Result<ServerName<'static>, PeerError> {
        let name = dns_name(node, &self.group);
        ServerName::try_from(name.clone()).map_err(|_| PeerError::InvalidServerName { node, name })
    }

    /// Checks that a peer is the node it claims to be, by the certificates that the TLS handshake
    /// has verified.
    pub fn verify_peer(&self, certificates: Option<&[CertificateDer<'_>]>, claimed: NodeId) -> Result<(), PeerError> {
        let presented = certificates.and_then(|chain| chain.first()).ok_or(PeerError::NoCertificate { claimed })?;
        let required_name = dns_name(claimed, &self.group);
        match check_name(presented, &required_name) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(found_names)) => Err(PeerError::WrongNode { claimed, required_name, found_names }),
            Err(_) => Err(PeerError::NotACertificate { claimed }),
        }
    }
}

/// Leaves out the private key.
impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("node", &self.node).field("group", &self.group).finish_non_exhaustive()
    }
}

impl Credentials {
    fn read(folder: &Folder, node: NodeId, group: &GroupName) -> Result<Self, IdentityError> {
        let read = |file: PathBuf| match read_short(&file) {
            Ok(content) => Ok((file, content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(IdentityError::Missing { file, group: group.clone(), node })
            }
            Err(error) => Err(IdentityError::Unreadable { file, error }),
        };
        let (key_file, key) = read(folder.key(node))?;
        Ok(Self {
            authorities: read(folder.authority_certificate()).and_then(parse_certificates)?,
            chain: read(folder.certificate(node)).and_then(parse_certificates)?,
            key: PrivateKeyDer::from_pem_slice(&key)
                .map_err(|_| IdentityError::NotPem { file: key_file, content: "private key" })?,
        })
    }

    /// Checks what peers will check, with clearer errors than a TLS alert could give.
    fn check(&self, folder: &Folder, node: NodeId, group: &GroupName) -> Result<(), IdentityError> {
        let (file, authority) = (folder.certificate(node), folder.authority_certificate());
        let error_for = |file: &Path| {
            let file = file.to_owned();
            move |error| certificate_error(file, error)
        };
        let now = UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let leaf =
            self.chain.first().ok_or_else(|| IdentityError::NotPem { file: file.clone(), content: "certificate" })?;
        let required_name = dns_name(node, group);
        if let Err(found_names) = check_name(leaf, &required_name).map_err(error_for(&file))? {
            return Err(IdentityError::WrongNode { file, required_name, found_names });
        }
        check_dates(leaf, now).map_err(error_for(&file))?;
        self.check_authorities(&authority, now)?;
        let anchors: Result<Vec<_>, _> = self.authorities.iter().map(webpki::anchor_from_trusted_cert).collect();
        let anchors = anchors.map_err(error_for(&authority))?;
        check_chain(&self.chain, &anchors, now).map_err(|error| match error {
            webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
                IdentityError::WrongAuthority { file, authority }
            }
            error => certificate_error(file, error),
        })
    }

    /// Checks that at least one CA is valid now, because TLS ignores the dates of a CA. While an
    /// operator replaces the CA, the file holds two, and an expired one among them is fine.
    fn check_authorities(&self, file: &Path, now: UnixTime) -> Result<(), IdentityError> {
        let mut checks = self.authorities.iter().map(|authority| check_dates(authority, now));
        let first_result = checks.next().unwrap_or(Err(webpki::Error::UnknownIssuer));
        match first_result {
            Err(error) if !checks.any(|other| other.is_ok()) => Err(certificate_error(file.to_owned(), error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Disables session resumption and early data, so that no connection relies on an older check.
    fn configure(self) -> Result<(TlsConnector, TlsAcceptor), rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for authority in self.authorities {
            roots.add(authority)?;
        }
        let roots = Arc::new(roots);
        let client = client_config(provider.clone(), roots.clone(), self.chain.clone(), self.key.clone_key())?;
        let server = server_config(provider, roots, self.chain, self.key)?;
        Ok((TlsConnector::from(Arc::new(client)), TlsAcceptor::from(Arc::new(server))))
    }
}

fn client_config(
    provider: Arc<CryptoProvider>,
    roots: Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig, rustls::Error> {
    let versions = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13])?;
    let mut client = versions.with_root_certificates(roots).with_client_auth_cert(chain, key)?;
    client.resumption = Resumption::disabled();
    client.enable_early_data = false;
    Ok(client)
}

fn server_config(
    provider: Arc<CryptoProvider>,
    roots: Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
        .build()
        .map_err(|error| rustls::Error::General(error.to_string()))?;
    let versions = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13])?;
    let mut server = versions.with_client_cert_verifier(verifier).with_single_cert(chain, key)?;
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    server.max_early_data_size = 0;
    Ok(server)
}

fn parse_certificates((file, content): (PathBuf, Vec<u8>)) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) | Err(_) => Err(IdentityError::NotPem { file, content: "certificate" }),
    }
}

/// The error for a certificate that webpki rejects.
fn certificate_error(file: PathBuf, error: webpki::Error) -> IdentityError {
    let date =
        |time: UnixTime| Date::from(UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs())).unwrap_or(UNIX_EPOCH));
    match error {
        webpki::Error::CertExpired { not_after, .. } => IdentityError::Expired { file, expiry_date: date(not_after) },
        webpki::Error::CertNotValidYet { not_before, .. } => {
            IdentityError::NotYetValid { file, start_date: date(not_before) }
        }
        webpki::Error::BadDer | webpki::Error::TrailingData(_) => {
            IdentityError::NotPem { file, content: "certificate" }
        }
        error => IdentityError::NotUsable { file, error },
    }
}

fn escape_folder_of(file: &Path) -> String {
    escape_path(file.parent().unwrap_or(file))
}

/// The advice to renew an expired file.
fn renewal_advice(file: &Path) -> &'static str {
    if file.ends_with("ca.pem") {
        "Make a new CA and new certificates in another folder; docs/security.md describes how to change to them."
    } else {
        "Move it and its key away, make new ones with 'quorate certs', and restart the node; its saved data is not affected."
    }
}
