//! The certificate authority (CA) of a group, which signs the certificates of its nodes.

use super::dns_name;
use super::validity::Validity;
use crate::group::GroupName;
use crate::tls::end_of_validity;
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

/// The CA of a group: its certificate and its private key.
pub struct Authority {
    group: GroupName,
    /// In PEM. If it was read from a file, the text may contain further certificates.
    certificate: String,
    valid_until: Option<SystemTime>,
    issuer: Issuer<'static, KeyPair>,
}

/// A node's certificate and its private key, both in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedCertificate {
    pub certificate: String,
    /// The private key. Only the node may read it.
    pub key: String,
}

/// Why no certificate was signed.
#[derive(Debug, Error)]
pub enum SigningError {
    #[error(
        "cannot parse the CA's certificate: it is not PEM as 'quorate certs' writes it. Restore ca.pem, or use another \
         folder. No file was written."
    )]
    NotACertificate,
    #[error(
        "cannot parse the CA's key: it is not PEM as 'quorate certs' writes it. Restore ca.key, or use another folder. \
         No file was written."
    )]
    NotAKey,
    #[error(
        "the CA's key does not belong to its certificate. Restore the matching ca.pem and ca.key. No file was written."
    )]
    KeyMismatch,
    #[error(
        "the CA belongs to group {authority_group} and cannot sign for group {wanted_group}. Use --group {authority_group}, or another folder. \
         No file was written."
    )]
    WrongGroup { authority_group: GroupName, wanted_group: GroupName },
    #[error(
        "the CA was not made by 'quorate certs': its subject is not '{wanted_subject}'. Sign the nodes' certificates with the \
         tool that made the CA, or use another folder. No file was written."
    )]
    ForeignAuthority { wanted_subject: String },
    #[error(
        "the CA expires in {remaining_days} days, and no certificate may outlive it. Use fewer --days, or make a new CA in \
         another folder. No file was written."
    )]
    OutlivesAuthority { remaining_days: u64 },
    #[error("cannot create a certificate: {0}. No file was written.")]
    Failed(#[from] rcgen::Error),
}

/// The subject of every group's CA, before the group's name.
const SUBJECT_PREFIX: &str = "Quorate CA of ";

impl Authority {
    /// Creates a CA with a new key.
    pub fn new(group: &GroupName, now: SystemTime) -> Result<Self, SigningError> {
        let key = KeyPair::generate()?;
        let validity = Validity::of_authority(now);
        let parameters = authority_parameters(group, validity)?;
        let certificate = parameters.self_signed(&key)?.pem();
        let issuer = Issuer::new(parameters, key);
        Ok(Self { group: group.clone(), certificate, valid_until: Some(validity.until), issuer })
    }

    /// Reads an existing CA from the text of its two files. The first file may contain further
    /// certificates. Fails unless the CA belongs to this group and the key to one of the
    /// certificates.
    pub fn read(certificates: &str, key: &str, group: &GroupName) -> Result<Self, SigningError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(SigningError::NotACertificate)?;
        let key = KeyPair::from_pem(key).map_err(|_| SigningError::NotAKey)?;
        let parsed: Result<Vec<_>, _> = chain.iter().map(EndEntityCert::try_from).collect();
        let parsed = parsed.map_err(|_| SigningError::NotACertificate)?;
        let public = key.subject_public_key_info();
        let matching =
            parsed.iter().zip(&chain).find(|(parsed, _)| parsed.subject_public_key_info().as_ref() == public);
        let (parsed, der) = matching.ok_or(SigningError::KeyMismatch)?;
        check_subject(group, parsed.subject())?;
        // Signing uses only the issuer's name and key, so its validity does not matter here.
        let parameters = authority_parameters(group, Validity::of_authority(UNIX_EPOCH))?;
        let issuer = Issuer::new(parameters, key);
        Ok(Self {
            group: group.clone(),
            certificate: certificates.to_owned(),
            valid_until: end_of_validity(der),
            issuer,
        })
    }

    /// The CA's certificate in PEM, which every node needs. If it was read from a file, the text
    /// includes any further certificates of that file.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The CA's private key in PEM. A holder of the key can admit any node to the group.
    pub fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// The end of the CA's validity, if its certificate could be parsed.
    pub fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until
    }

    /// Creates a key and a certificate for a node, valid on both ends of a connection. Fails if the
    /// certificate would outlive the CA.
    pub fn sign(&self, node: NodeId, validity: Validity) -> Result<SignedCertificate, SigningError> {
        if let Some(until) = self.valid_until.filter(|until| *until < validity.until) {
            let remaining = until.duration_since(SystemTime::now()).unwrap_or_default();
            return Err(SigningError::OutlivesAuthority { remaining_days: remaining.as_secs() / 86_400 });
        }
        let key = KeyPair::generate()?;
        let certificate = node_parameters(node, &self.group, validity)?.signed_by(&key, &self.issuer)?;
        Ok(SignedCertificate { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// Leaves out the private key.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("group", &self.group).finish_non_exhaustive()
    }
}

/// Leaves out the private key.
impl fmt::Debug for SignedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedCertificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The contents of a CA's certificate. The CA may sign only names of its group, and no other CA.
fn authority_parameters(group: &GroupName, validity: Validity) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = common_parameters(Vec::new(), format!("{SUBJECT_PREFIX}{group}"), validity)?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    let names = vec![GeneralSubtree::DnsName(format!("{group}.quorate"))];
    parameters.name_constraints = Some(NameConstraints { permitted_subtrees: names, excluded_subtrees: Vec::new() });
    Ok(parameters)
}

/// The contents of a node's certificate. A node is a TLS client when it dials and a TLS server when
/// it accepts.
fn node_parameters(node: NodeId, group: &GroupName, validity: Validity) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = common_parameters(vec![dns_name(node, group)], format!("node {node} of {group}"), validity)?;
    parameters.is_ca = IsCa::ExplicitNoCa;
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    parameters.use_authority_key_identifier_extension = true;
    Ok(parameters)
}

/// The contents that all certificates have.
fn common_parameters(
    names: Vec<String>,
    common_name: String,
    validity: Validity,
) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    let date = |time| date_time_ymd(1970, 1, 1) + since_epoch(time);
    (parameters.not_before, parameters.not_after) = (date(validity.from), date(validity.until));
    Ok(parameters)
}

/// The time since 1970, limited to the year 9999, the last that certificates can represent.
fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().min(Duration::from_secs(253_402_300_799))
}

/// Checks that the CA belongs to this group. `subject` is DER and ends with the text of the common
/// name, its only part.
fn check_subject(wanted_group: &GroupName, subject: &[u8]) -> Result<(), SigningError> {
    let prefix = SUBJECT_PREFIX.as_bytes();
    let start = subject.windows(prefix.len()).position(|window| window == prefix);
    let authority_group =
        start.and_then(|start| str::from_utf8(subject.get(start + prefix.len()..)?).ok()?.parse().ok());
    match authority_group {
        Some(authority_group) if authority_group == *wanted_group => Ok(()),
        Some(authority_group) => Err(SigningError::WrongGroup { authority_group, wanted_group: wanted_group.clone() }),
        None => Err(SigningError::ForeignAuthority { wanted_subject: format!("{SUBJECT_PREFIX}{wanted_group}") }),
    }
}
