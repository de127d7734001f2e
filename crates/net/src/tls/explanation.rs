//! Explanations of TLS errors for operators.

use std::io;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// Explains an error of a TLS handshake or of the first read afterwards, which is where the
/// dialling end learns that the other end refused its certificate.
pub fn explain_tls_error(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(certificate)) => {
            format!("this node rejected the peer: {}.", explain_rejected_certificate(certificate))
        }
        Some(Error::NoCertificatesPresented) => {
            "this node rejected the peer: it presented no certificate; start it with --certs.".to_owned()
        }
        Some(Error::AlertReceived(alert)) => explain_alert(*alert),
        Some(
            Error::InvalidMessage(_)
            | Error::InappropriateMessage { .. }
            | Error::InappropriateHandshakeMessage { .. }
            | Error::PeerSentOversizedRecord,
        ) => "the peer does not use TLS, so perhaps it uses plain TCP; start it with --certs.".to_owned(),
        Some(Error::PeerIncompatible(_)) => {
            format!("the peer does not support TLS 1.3 with the options that quorate requires: {error}.")
        }
        Some(other) => format!("the TLS connection failed: {other}."),
        None => explain_interruption(error),
    }
}

/// Explains why this node rejected the peer's certificate.
fn explain_rejected_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate was signed by another CA than ours".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; renew it with 'quorate certs', and check both clocks".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; check both clocks".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| dns_name_in(name).escape_debug().to_string()).collect();
            let names = if names.is_empty() { "no node".to_owned() } else { names.join(", ") };
            format!("its certificate names {names}, but we dialled {}; check --peers", expected.to_str())
        }
        CertificateError::NotValidForName => "its certificate names another node; check --peers".to_owned(),
        other if is_of_another_group(other) => "its certificate belongs to another group".to_owned(),
        other => format!("its certificate is not valid ({other})"),
    }
}

/// The name inside the quotation marks: rustls prints `DnsName("node-3.demo.quorate")`.
fn dns_name_in(name: &str) -> &str {
    name.split('"').nth(1).unwrap_or(name)
}

/// Whether the name in the certificate is outside the names that the CA's certificate permits,
/// which belong to one group.
fn is_of_another_group(error: &CertificateError) -> bool {
    let CertificateError::Other(other) = error else { return false };
    matches!(other.0.downcast_ref::<webpki::Error>(), Some(webpki::Error::NameConstraintViolation))
}

/// Explains why the peer rejected this node, by the causes for which rustls sends each alert.
fn explain_alert(alert: AlertDescription) -> String {
    let reason = match alert {
        AlertDescription::UnknownCA => "our certificate was signed by another CA than its own".to_owned(),
        AlertDescription::CertificateExpired => {
            "our certificate has expired, or is not valid yet by its clock".to_owned()
        }
        AlertDescription::CertificateRequired => {
            "we presented no certificate, and it was started with --certs; start this node with --certs".to_owned()
        }
        AlertDescription::BadCertificate => "it expected the certificate of another node; check its --peers".to_owned(),
        AlertDescription::ProtocolVersion => "it does not support TLS 1.3".to_owned(),
        other => format!("it sent the alert {other:?}"),
    };
    format!("the peer rejected this node: {reason}.")
}

/// Explains why the connection ended during the handshake.
fn explain_interruption(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            // The close of the connection can overtake the alert that explains it.
            format!(
                "the peer closed the connection during the TLS handshake ({error}): either it rejected this node, and \
                 its log says why, or it uses plain TCP."
            )
        }
        _ => format!("the connection failed: {error}."),
    }
}
