//! The CA of a group: a key that signs the certificates of its nodes.

use super::dns_name;
use super::validity::Validity;
use crate::group::GroupName;
use crate::tls::end_of;
use quorate_core::NodeId;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, NameConstraints, PublicKeyData, date_time_ymd,
};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use webpki::EndEntityCert;

/// What signs the certificates of a group's nodes.
pub struct Authority {
    group: GroupName,
    certificate: String,
    until: Option<SystemTime>,
    issuer: Issuer<'static, KeyPair>,
}

/// A node's certificate and the key that belongs to it, both in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Signed {
    pub certificate: String,
    /// The private key, which only the node may see.
    pub key: String,
}

/// Why nothing was signed.
#[derive(Debug, Error)]
pub enum SigningError {
    #[error("The CA's certificate cannot be understood; it is not what 'quorate certs' wrote. Nothing was made.")]
    NotACertificate,
    #[error("The CA's key cannot be understood; it is not what 'quorate certs' wrote. Nothing was made.")]
    NotAKey,
    #[error("The CA's key is not the key of its certificate; put the two back that belong together. Nothing was made.")]
    NotItsKey,
    #[error(
        "This is the CA of group {found}, which cannot sign for group {wanted}. Use --group {found}, or another \
         folder. Nothing was made."
    )]
    OfAnotherGroup { found: GroupName, wanted: GroupName },
    #[error(
        "This CA was not made by 'quorate certs': it does not call itself '{wanted}'. Sign the nodes with what made \
         the CA, or use another folder. Nothing was made."
    )]
    OfAnotherMaker { wanted: String },
    #[error(
        "The CA ends in {left} days, and no certificate may outlive it. Use --days with fewer days, or make a new CA \
         in another folder. Nothing was made."
    )]
    OutlivesAuthority { left: u64 },
    #[error("No certificate could be made: {0}. Nothing was made.")]
    Failed(#[from] rcgen::Error),
}

/// What the CA of any group calls itself, before the group's name.
const TITLE: &str = "Quorate CA of ";

impl Authority {
    /// A new CA with a new key.
    pub fn new(group: &GroupName, now: SystemTime) -> Result<Self, SigningError> {
        let key = KeyPair::generate()?;
        let validity = Validity::of_authority(now);
        let parameters = authority_parameters(group, validity)?;
        let certificate = parameters.self_signed(&key)?.pem();
        let issuer = Issuer::new(parameters, key);
        Ok(Self { group: group.clone(), certificate, until: Some(validity.until), issuer })
    }

    /// The CA that was made before, from its two files' text. The certificate may stand among others.
    pub fn read(certificates: &str, key: &str, group: &GroupName) -> Result<Self, SigningError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(SigningError::NotACertificate)?;
        let key = KeyPair::from_pem(key).map_err(|_| SigningError::NotAKey)?;
        let parsed: Result<Vec<_>, _> = chain.iter().map(EndEntityCert::try_from).collect();
        let parsed = parsed.map_err(|_| SigningError::NotACertificate)?;
        let public = key.subject_public_key_info();
        let own = parsed.iter().zip(&chain).find(|(parsed, _)| parsed.subject_public_key_info().as_ref() == public);
        let (parsed, der) = own.ok_or(SigningError::NotItsKey)?;
        is_of(group, parsed.subject())?;
        // An issuer is its name and its key; its own validity does not enter what it signs.
        let parameters = authority_parameters(group, Validity::of_authority(UNIX_EPOCH))?;
        let issuer = Issuer::new(parameters, key);
        Ok(Self { group: group.clone(), certificate: certificates.to_owned(), until: end_of(der), issuer })
    }

    /// Its certificate in PEM, which every node needs.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its private key in PEM. Whoever has it can make nodes of the group.
    pub fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Until when it is valid.
    pub fn until(&self) -> Option<SystemTime> {
        self.until
    }

    /// A new key for a node, with a certificate that both ends of a connection accept.
    pub fn sign(&self, node: NodeId, validity: Validity) -> Result<Signed, SigningError> {
        if let Some(until) = self.until.filter(|until| *until < validity.until) {
            let left = until.duration_since(SystemTime::now()).unwrap_or_default();
            return Err(SigningError::OutlivesAuthority { left: left.as_secs() / 86_400 });
        }
        let key = KeyPair::generate()?;
        let certificate = node_parameters(node, &self.group, validity)?.signed_by(&key, &self.issuer)?;
        Ok(Signed { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// Keys are for nobody's eyes.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("group", &self.group).finish_non_exhaustive()
    }
}

impl fmt::Debug for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signed").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The CA may sign for names of its group only, and no other CA.
fn authority_parameters(group: &GroupName, validity: Validity) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = parameters(Vec::new(), format!("{TITLE}{group}"), validity)?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    let names = vec![GeneralSubtree::DnsName(format!("{group}.quorate"))];
    parameters.name_constraints = Some(NameConstraints { permitted_subtrees: names, excluded_subtrees: Vec::new() });
    Ok(parameters)
}

/// A node dials and is dialled.
fn node_parameters(node: NodeId, group: &GroupName, validity: Validity) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = parameters(vec![dns_name(node, group)], format!("node {node} of {group}"), validity)?;
    parameters.is_ca = IsCa::ExplicitNoCa;
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    parameters.use_authority_key_identifier_extension = true;
    Ok(parameters)
}

fn parameters(names: Vec<String>, title: String, validity: Validity) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, title);
    let date = |moment| date_time_ymd(1970, 1, 1) + since_epoch(moment);
    (parameters.not_before, parameters.not_after) = (date(validity.from), date(validity.until));
    Ok(parameters)
}

/// Certificates can tell dates up to the year 9999; a clock beyond them is wrong anyway.
fn since_epoch(moment: SystemTime) -> Duration {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().min(Duration::from_secs(253_402_300_799))
}

/// The subject is one name, the common name, whose text stands at its end.
fn is_of(wanted: &GroupName, subject: &[u8]) -> Result<(), SigningError> {
    let start = subject.windows(TITLE.len()).position(|window| window == TITLE.as_bytes());
    let found = start.and_then(|start| str::from_utf8(subject.get(start + TITLE.len()..)?).ok()?.parse().ok());
    match found {
        Some(found) if found == *wanted => Ok(()),
        Some(found) => Err(SigningError::OfAnotherGroup { found, wanted: wanted.clone() }),
        None => Err(SigningError::OfAnotherMaker { wanted: format!("{TITLE}{wanted}") }),
    }
}
