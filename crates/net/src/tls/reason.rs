//! Why a connection came to nothing, in words that help.

use std::io;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// Says what is behind an error of a TLS connection: of a handshake, or of the first read after it, which is when the
/// end that dialled is told that it was refused.
pub fn reason(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(certificate)) => {
            format!("The peer was not believed: {}.", distrust(certificate))
        }
        Some(Error::NoCertificatesPresented) => {
            "The peer was not believed: it showed no certificate; start it with --certs.".to_owned()
        }
        Some(Error::AlertReceived(alert)) => refusal(*alert),
        Some(
            Error::InvalidMessage(_)
            | Error::InappropriateMessage { .. }
            | Error::InappropriateHandshakeMessage { .. }
            | Error::PeerSentOversizedRecord,
        ) => "The peer does not speak TLS, so perhaps it speaks plain TCP; start it with --certs.".to_owned(),
        Some(Error::PeerIncompatible(_)) => {
            format!("The peer does not speak TLS 1.3 as quorate does: {error}.")
        }
        Some(other) => format!("The TLS connection failed: {other}."),
        None => interruption(error),
    }
}

fn distrust(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate was signed by another CA than ours".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate ran out; renew it with 'quorate certs', and check both clocks".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; check both clocks".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let presented: Vec<_> = presented.iter().map(|name| bare(name).escape_debug().to_string()).collect();
            let presented = if presented.is_empty() { "nobody".to_owned() } else { presented.join(", ") };
            format!("its certificate is that of {presented}, and we dialled {}; check --peers", expected.to_str())
        }
        CertificateError::NotValidForName => "its certificate is that of another node; check --peers".to_owned(),
        other if is_of_another_group(other) => "its certificate is one of another group".to_owned(),
        other => format!("its certificate is not in order ({other})"),
    }
}

/// rustls tells a name as `DnsName("node-3.demo.quorate")`.
fn bare(name: &str) -> &str {
    name.split('"').nth(1).unwrap_or(name)
}

/// The group's CA signed it, although it may sign for its own group only.
fn is_of_another_group(error: &CertificateError) -> bool {
    let CertificateError::Other(other) = error else { return false };
    matches!(other.0.downcast_ref::<webpki::Error>(), Some(webpki::Error::NameConstraintViolation))
}

fn refusal(alert: AlertDescription) -> String {
    let why = match alert {
        AlertDescription::UnknownCA => "our certificate was signed by another CA than its own".to_owned(),
        AlertDescription::CertificateExpired => "our certificate ran out, or has not begun by its clock".to_owned(),
        AlertDescription::CertificateRequired => "we showed no certificate; it was started with --certs".to_owned(),
        AlertDescription::BadCertificate => {
            "it asked for the certificate of another node; check its --peers".to_owned()
        }
        AlertDescription::ProtocolVersion => "it does not speak TLS 1.3".to_owned(),
        other => format!("it said {other:?}"),
    };
    format!("The peer refused us: {why}.")
}

fn interruption(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            // A refusal can be overtaken by the end of the connection that comes with it.
            format!("The peer hung up on TLS ({error}): it refused us, and its log says why, or it speaks plain TCP.")
        }
        _ => format!("The connection failed: {error}."),
    }
}
