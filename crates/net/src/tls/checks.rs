//! Checks on certificates.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_rustls::rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, Error, KeyUsage};

/// The end of a certificate's validity, if it can be parsed.
pub(crate) fn end_of_validity(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    // At this time every certificate has expired, and the error contains the date.
    let far_future = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
    match check_dates(certificate, far_future) {
        Err(Error::CertExpired { not_after, .. }) => UNIX_EPOCH.checked_add(Duration::from_secs(not_after.as_secs())),
        Ok(()) | Err(_) => None,
    }
}

/// Checks the dates of a certificate at a time, and nothing else. webpki offers no other way to
/// check the dates of a CA's certificate. It checks them first, so any other error, such as the one
/// for the missing anchors, means that the dates are valid.
pub(super) fn check_dates(certificate: &CertificateDer<'_>, time: UnixTime) -> Result<(), Error> {
    let parsed = EndEntityCert::try_from(certificate)?;
    let result = parsed.verify_for_usage(ALL_VERIFICATION_ALGS, &[], &[], time, KeyUsage::client_auth(), None, None);
    match result {
        Err(error @ (Error::CertExpired { .. } | Error::CertNotValidYet { .. } | Error::InvalidCertValidity)) => {
            Err(error)
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Checks that the first certificate chains to one of the anchors through the others, and may be
/// used at both ends of a connection.
pub(super) fn check_chain(
    chain: &[CertificateDer<'_>],
    anchors: &[TrustAnchor<'_>],
    now: UnixTime,
) -> Result<(), Error> {
    let (first, others) = chain.split_first().ok_or(Error::UnknownIssuer)?;
    let parsed = EndEntityCert::try_from(first)?;
    for usage in [KeyUsage::server_auth(), KeyUsage::client_auth()] {
        parsed.verify_for_usage(ALL_VERIFICATION_ALGS, anchors, others, now, usage, None, None)?;
    }
    Ok(())
}

/// Checks that the certificate contains exactly this name. The inner error lists up to three names
/// that it contains instead; the outer one says why it cannot be parsed. A wildcard such as
/// `*.demo.quorate` does not count, because it would match every node.
pub(super) fn check_name(certificate: &CertificateDer<'_>, name: &str) -> Result<Result<(), String>, Error> {
    let parsed = EndEntityCert::try_from(certificate)?;
    let names: Vec<&str> = parsed.valid_dns_names().collect();
    if names.iter().any(|found| found.eq_ignore_ascii_case(name)) {
        return Ok(Ok(()));
    }
    let found_names = names.iter().take(3).map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
    Ok(Err(if found_names.is_empty() { "no node".to_owned() } else { found_names }))
}
