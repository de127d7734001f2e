//! Tests of loading a node's identity, and of the errors when its files are missing or wrong.

use super::{Identity, IdentityError, PeerError, check_plain_tcp};
use crate::certificates::{Authority, Days, Folder, SignedCertificate, Validity};
use crate::group::GroupName;
use proptest::prelude::{any, prop};
use proptest::{prop_assert, proptest};
use quorate_core::NodeId;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

const DAY: Duration = Duration::from_secs(86_400);

fn group(name: &str) -> GroupName {
    name.parse().unwrap()
}

fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

/// Creates a folder with the certificates of nodes 1 to 3 of group demo.
fn create_folder() -> TempDir {
    let certs = tempfile::tempdir().unwrap();
    Folder::new(certs.path()).make(&group("demo"), &[1, 2, 3].map(node), Days::default()).unwrap();
    certs
}

fn authority(certs: &Path) -> Authority {
    let read = |name| fs::read_to_string(certs.join(name)).unwrap();
    Authority::read(&read("ca.pem"), &read("ca.key"), &group("demo")).unwrap()
}

/// Replaces the certificate and key of node 3.
fn replace_node_3(certs: &Path, signed: &SignedCertificate) {
    fs::write(certs.join("node-3.pem"), &signed.certificate).unwrap();
    fs::write(certs.join("node-3.key"), &signed.key).unwrap();
}

fn load(certs: &Path) -> Result<Identity, IdentityError> {
    Identity::load(certs, node(3), &group("demo"))
}

/// The error of loading node 3's identity, with the folder's path replaced by `certs`.
#[track_caller]
fn load_error(certs: &Path) -> String {
    let error = load(certs).unwrap_err().to_string();
    assert!(!error.ends_with(".."), "{error}");
    error.replace(certs.to_str().unwrap(), "certs")
}

#[test]
fn valid_files_make_an_identity() {
    let certs = create_folder();
    let identity = load(certs.path()).unwrap();
    assert_eq!(identity.node(), node(3));
    // By default a certificate is valid for 365 days.
    let remaining = identity.valid_until().unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(remaining > DAY * 364 && remaining <= DAY * 365, "{remaining:?}");
    assert_eq!(identity.server_name(node(7)).unwrap().to_str(), "node-7.demo.quorate");
    assert!(!format!("{identity:?}").to_lowercase().contains("key"));
}

#[test]
fn a_missing_file_is_named_with_the_command_that_makes_it() {
    for name in ["ca.pem", "node-3.pem", "node-3.key"] {
        let certs = create_folder();
        fs::remove_file(certs.path().join(name)).unwrap();
        let expected = format!(
            "certs/{name} does not exist. Create it on the machine with the CA's key: quorate certs --group demo --nodes \
             3 --folder certs"
        );
        assert_eq!(load_error(certs.path()), expected);
    }
}

#[test]
fn an_unreadable_file_is_named() {
    for name in ["ca.pem", "node-3.pem", "node-3.key"] {
        let certs = create_folder();
        fs::remove_file(certs.path().join(name)).unwrap();
        fs::create_dir(certs.path().join(name)).unwrap();
        let error = load_error(certs.path());
        assert!(error.starts_with(&format!("cannot read certs/{name}: ")), "{error}");
    }
}

#[test]
fn a_file_that_is_not_pem_is_named() {
    // Longer than the 1 MiB that a node reads of a file.
    let huge = "x".repeat(3 << 20);
    for (name, content) in [("ca.pem", "certificate"), ("node-3.pem", "certificate"), ("node-3.key", "private key")] {
        for text in ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &huge] {
            let certs = create_folder();
            fs::write(certs.path().join(name), text).unwrap();
            let error = load_error(certs.path());
            let is_named = error.starts_with(&format!("certs/{name} contains no valid {content} in PEM"))
                || error.starts_with(&format!("cannot read certs/{name}: it is too long"));
            assert!(is_named, "{error}");
        }
    }
}

#[test]
fn a_key_of_another_node_is_refused() {
    let certs = create_folder();
    fs::copy(certs.path().join("node-2.key"), certs.path().join("node-3.key")).unwrap();
    let expected = "certs/node-3.key does not belong to certs/node-3.pem. Restore the matching key and certificate.";
    assert_eq!(load_error(certs.path()), expected);
}

#[test]
fn the_certificate_of_another_node_is_refused() {
    let certs = create_folder();
    for kind in ["pem", "key"] {
        fs::copy(certs.path().join(format!("node-2.{kind}")), certs.path().join(format!("node-3.{kind}"))).unwrap();
    }
    let expected = "certs/node-3.pem is the certificate of node-2.demo.quorate, but this node is node-3.demo.quorate; \
                  check --id, --group and --certs.";
    assert_eq!(load_error(certs.path()), expected);
}

#[test]
fn the_certificate_of_another_group_is_refused() {
    let certs = create_folder();
    let error = Identity::load(certs.path(), node(3), &group("other")).unwrap_err();
    assert!(error.to_string().contains("of node-3.demo.quorate, but this node is node-3.other.quorate"), "{error}");
}

#[test]
fn a_certificate_signed_by_another_ca_is_refused() {
    let (certs, other) = (create_folder(), create_folder());
    fs::copy(other.path().join("ca.pem"), certs.path().join("ca.pem")).unwrap();
    assert!(load_error(certs.path()).starts_with("certs/node-3.pem was not signed by the CA in certs/ca.pem"));
}

#[test]
fn expired_and_not_yet_valid_certificates_are_refused_with_the_date() {
    let certs = create_folder();
    let time = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    // In seconds since 1970: from 2000-02-19 until 2000-02-29.
    let expired = Validity { from: time(951_000_000), until: time(951_782_400) };
    replace_node_3(certs.path(), &authority(certs.path()).sign(node(3), expired).unwrap());
    assert!(load_error(certs.path()).starts_with("certs/node-3.pem expired on 2000-02-29. Move it and its key away"));

    let now = SystemTime::now();
    let future = Validity { from: now + DAY * 2, until: now + DAY * 3 };
    replace_node_3(certs.path(), &authority(certs.path()).sign(node(3), future).unwrap());
    let error = load_error(certs.path());
    assert!(error.starts_with("certs/node-3.pem is not valid before 2"), "{error}");
    assert!(error.ends_with("check this machine's clock."), "{error}");
}

#[test]
fn an_expired_ca_is_refused_unless_the_file_holds_a_valid_one_too() {
    let certs = create_folder();
    let valid_authority = fs::read_to_string(certs.path().join("ca.pem")).unwrap();
    // A CA is valid for ten years, so this one expired in 1980.
    let expired_authority = Authority::new(&group("demo"), UNIX_EPOCH + DAY).unwrap();
    fs::write(certs.path().join("ca.pem"), expired_authority.certificate()).unwrap();
    let error = load_error(certs.path());
    assert!(error.starts_with("certs/ca.pem expired on 1980-01-"), "{error}");
    fs::write(certs.path().join("ca.pem"), format!("{}{valid_authority}", expired_authority.certificate())).unwrap();
    assert!(load(certs.path()).is_ok());
}

#[test]
fn both_cas_are_trusted_while_one_replaces_the_other() {
    let (certs, new_certs) = (create_folder(), create_folder());
    let read = |certs: &TempDir, name| fs::read_to_string(certs.path().join(name)).unwrap();
    let both = read(&certs, "ca.pem") + &read(&new_certs, "ca.pem");
    for certs in [&certs, &new_certs] {
        fs::write(certs.path().join("ca.pem"), &both).unwrap();
        assert!(load(certs.path()).is_ok());
    }
    // The folder's own CA key still signs.
    Folder::new(new_certs.path()).make(&group("demo"), &[node(4)], Days::default()).unwrap();
    assert!(Identity::load(certs.path(), node(3), &group("demo")).is_ok());
    assert!(Identity::load(new_certs.path(), node(4), &group("demo")).is_ok());
}

/// A certificate for these names and uses from a CA without name constraints.
fn signed_by_unconstrained_ca(names: &[&str], uses: &[ExtendedKeyUsagePurpose]) -> (String, SignedCertificate) {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, "A company's CA");
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = parameters.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(parameters, key);
    let node_key = KeyPair::generate().unwrap();
    let mut parameters =
        CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    parameters.extended_key_usages = uses.to_vec();
    let signed = parameters.signed_by(&node_key, &issuer).unwrap();
    (certificate, SignedCertificate { certificate: signed.pem(), key: node_key.serialize_pem() })
}

#[test]
fn certificates_of_a_companys_own_ca_need_the_nodes_name_and_both_uses() {
    use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    let certs = create_folder();
    let load_with = |names: &[&str], uses: &[ExtendedKeyUsagePurpose]| {
        let (certificate, signed) = signed_by_unconstrained_ca(names, uses);
        fs::write(certs.path().join("ca.pem"), certificate).unwrap();
        replace_node_3(certs.path(), &signed);
        load(certs.path()).map_err(|error| error.to_string())
    };
    assert!(load_with(&["db.example", "node-3.demo.quorate"], &[ServerAuth, ClientAuth]).is_ok());
    for usage in [ServerAuth, ClientAuth] {
        let error = load_with(&["node-3.demo.quorate"], &[usage]).unwrap_err();
        assert!(error.contains("cannot be used between nodes"), "{error}");
    }
    for name in ["*.demo.quorate", "node-33.demo.quorate", "node-3.demo.quorate.example", "3.demo.quorate"] {
        let error = load_with(&[name], &[ServerAuth, ClientAuth]).unwrap_err();
        assert!(error.contains(&format!("is the certificate of {name}, but this node is")), "{error}");
    }
}

#[test]
fn a_peer_is_the_node_that_its_certificate_names() {
    let certs = create_folder();
    let identity = load(certs.path()).unwrap();
    let presented = CertificateDer::from_pem_file(certs.path().join("node-2.pem")).unwrap();
    let chain = [presented];
    assert_eq!(identity.verify_peer(Some(&chain), node(2)), Ok(()));
    let refusal = identity.verify_peer(Some(&chain), node(1)).unwrap_err();
    assert!(refusal.to_string().contains("names node-2.demo.quorate and not node-1.demo.quorate"), "{refusal}");
    assert_eq!(identity.verify_peer(None, node(2)), Err(PeerError::NoCertificate { claimed: node(2) }));
    assert_eq!(identity.verify_peer(Some(&[]), node(2)), Err(PeerError::NoCertificate { claimed: node(2) }));
    let reloaded = load(certs.path()).unwrap();
    assert_eq!(reloaded.verify_peer(Some(&chain), node(2)), Ok(()));
}

#[test]
fn plain_tcp_is_allowed_on_loopback_or_when_the_operator_allows_it_everywhere() {
    let (only_on_loopback, everywhere) = (false, true);
    for loopback in ["127.0.0.1:7001", "127.9.9.9:1", "[::1]:7001", "[::ffff:127.0.0.1]:7001"] {
        assert_eq!(check_plain_tcp(loopback.parse().unwrap(), only_on_loopback), Ok(()), "{loopback}");
    }
    for other in ["0.0.0.0:7001", "[::]:7001", "10.0.0.1:7001", "128.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
        let refusal = check_plain_tcp(other.parse().unwrap(), only_on_loopback).unwrap_err().to_string();
        assert!(refusal.contains("--certs") && refusal.contains("--insecure-plain-tcp"), "{refusal}");
        assert_eq!(check_plain_tcp(other.parse().unwrap(), everywhere), Ok(()), "{other}");
    }
}

proptest! {
    /// Loading never panics, whatever the files contain.
    #[test]
    fn garbage_is_refused_without_a_panic(
        file in prop::sample::select(vec!["ca.pem", "node-3.pem", "node-3.key"]),
        garbage in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let certs = VALID_FILES.with(Clone::clone);
        let good = fs::read(certs.path().join(file)).unwrap();
        fs::write(certs.path().join(file), &garbage).unwrap();
        let bad = load(certs.path());
        fs::write(certs.path().join(file), good).unwrap();
        prop_assert!(bad.is_err());
    }

    /// With one changed byte or a truncated file, loading succeeds or fails with an error that
    /// names the folder.
    #[test]
    fn a_damaged_file_never_causes_a_panic(
        file in prop::sample::select(vec!["ca.pem", "node-3.pem", "node-3.key"]),
        damaged_index in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        is_cut in any::<bool>(),
    ) {
        let certs = VALID_FILES.with(Clone::clone);
        let good = fs::read(certs.path().join(file)).unwrap();
        let mut bad = good.clone();
        let index = damaged_index.index(bad.len());
        bad[index] = byte;
        if is_cut {
            bad.truncate(index);
        }
        fs::write(certs.path().join(file), &bad).unwrap();
        let result = load(certs.path());
        let text = String::from_utf8_lossy(&bad).into_owned();
        let good_text = |name| fs::read_to_string(certs.path().join(name)).unwrap_or_default();
        // The CA's reader must survive the same bytes too, as certificate and as key.
        let _ = Authority::read(&text, &good_text("ca.key"), &group("demo"));
        let _ = Authority::read(&good_text("ca.pem"), &text, &group("demo"));
        fs::write(certs.path().join(file), good).unwrap();
        if let Err(error) = result {
            prop_assert!(error.to_string().contains(certs.path().to_str().unwrap()));
        }
        prop_assert!(load(certs.path()).is_ok());
    }
}

thread_local! {
    /// Valid files, made once for all cases.
    static VALID_FILES: std::rc::Rc<TempDir> = std::rc::Rc::new(create_folder());
}
