//! Tests of the certificate folder: which files it makes, and which it leaves unchanged.

use super::{AuthorityOrigin, Days, Folder, FolderError};
use crate::group::GroupName;
use crate::tls::Identity;
use quorate_core::NodeId;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn group(name: &str) -> GroupName {
    name.parse().unwrap()
}

fn nodes(numbers: &[u32]) -> Vec<NodeId> {
    numbers.iter().map(|number| NodeId::new(*number).unwrap()).collect()
}

/// Returns the names and contents of all files in a directory.
fn files_in(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|entry| (name(&entry), fs::read_to_string(entry.path()).unwrap())).collect()
}

#[test]
fn a_folder_has_the_ca_and_two_files_per_node_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path().join("deep/certs"));
    let made = folder.make(&group("demo"), &nodes(&[1, 20]), Days::default()).unwrap();
    assert_eq!(made.authority, AuthorityOrigin::New);
    assert!(made.authority_valid_until.unwrap() > made.valid_until);
    let expected = ["ca.key", "ca.pem", "node-1.key", "node-1.pem", "node-20.key", "node-20.pem"];
    let present: Vec<_> = files_in(folder.path()).into_keys().collect();
    assert_eq!(present, expected);
    let reported: Vec<_> = made.files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(reported, expected);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_keys() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path().join("certs"));
    folder.make(&group("demo"), &nodes(&[1]), Days::default()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path()), 0o700);
    assert_eq!([folder.authority_key(), folder.key(nodes(&[1])[0])].map(|file| mode(&file)), [0o600; 2]);
}

#[test]
fn a_later_node_is_signed_by_the_same_ca() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path());
    folder.make(&group("demo"), &nodes(&[1, 2]), Days::default()).unwrap();
    let files_before = files_in(directory.path());
    let made = folder.make(&group("demo"), &nodes(&[3]), Days::new(7).unwrap()).unwrap();
    assert_eq!((made.authority, made.files.len()), (AuthorityOrigin::Folder, 2));
    let files_after = files_in(directory.path());
    assert!(files_before.iter().all(|(name, text)| files_after.get(name) == Some(text)));
    for node in nodes(&[1, 2, 3]) {
        Identity::load(directory.path(), node, &group("demo")).unwrap();
    }
}

#[test]
fn existing_files_are_not_overwritten_and_no_others_are_made() {
    for name in ["node-2.pem", "node-2.key"] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), "precious").unwrap();
        let error = Folder::new(directory.path()).make(&group("demo"), &nodes(&[1, 2]), Days::default()).unwrap_err();
        assert!(matches!(&error, FolderError::Exists(file) if file.ends_with(name)), "{error}");
        assert_eq!(files_in(directory.path()), BTreeMap::from([(name.to_owned(), "precious".to_owned())]));
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_symbolic_link_counts_as_an_existing_file() {
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path().join("target"), directory.path().join("node-1.key")).unwrap();
    let error = Folder::new(directory.path()).make(&group("demo"), &nodes(&[1]), Days::default()).unwrap_err();
    assert!(matches!(error, FolderError::Exists(_)), "{error}");
    assert!(!outside.path().join("target").exists());
}

#[test]
fn of_concurrent_calls_one_makes_all_files_and_the_others_fail() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path());
    let make = || folder.make(&group("demo"), &nodes(&[1, 2, 3]), Days::default());
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    // Two files of the CA, and two of each node.
    assert_eq!(files_in(directory.path()).len(), 8);
    for node in nodes(&[1, 2, 3]) {
        Identity::load(directory.path(), node, &group("demo")).unwrap();
    }
}

#[test]
fn a_ca_of_another_group_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path());
    folder.make(&group("demo"), &nodes(&[1]), Days::default()).unwrap();
    let files_before = files_in(directory.path());
    let error = folder.make(&group("other"), &nodes(&[2]), Days::default()).unwrap_err().to_string();
    assert!(error.contains("the CA belongs to group demo and cannot sign for group other"), "{error}");
    let error = folder.make(&group("demo-2"), &nodes(&[2]), Days::default()).unwrap_err().to_string();
    assert!(error.contains("the CA belongs to group demo and cannot sign for group demo-2"), "{error}");
    assert_eq!(files_in(directory.path()), files_before);
}

#[test]
fn an_incomplete_or_mismatched_ca_is_refused() {
    let [directory, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for directory in [&directory, &other] {
        Folder::new(directory.path()).make(&group("demo"), &nodes(&[1]), Days::default()).unwrap();
    }
    let error =
        || Folder::new(directory.path()).make(&group("demo"), &nodes(&[2]), Days::default()).unwrap_err().to_string();
    fs::copy(other.path().join("ca.key"), directory.path().join("ca.key")).unwrap();
    assert!(error().contains("the CA's key does not belong to its certificate"), "{}", error());
    fs::write(directory.path().join("ca.key"), "nonsense").unwrap();
    assert!(error().contains("cannot parse the CA's key"), "{}", error());
    fs::remove_file(directory.path().join("ca.key")).unwrap();
    assert!(error().contains("a CA needs both files"), "{}", error());
    assert!(!directory.path().join("node-2.pem").exists());
}

#[test]
fn a_ca_that_quorate_did_not_make_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["example.org".to_owned()]).unwrap();
    fs::write(directory.path().join("ca.pem"), made.cert.pem()).unwrap();
    fs::write(directory.path().join("ca.key"), made.signing_key.serialize_pem()).unwrap();
    let error =
        Folder::new(directory.path()).make(&group("demo"), &nodes(&[2]), Days::default()).unwrap_err().to_string();
    assert!(error.contains("was not made by 'quorate certs'"), "{error}");
}

#[test]
fn no_certificate_outlives_its_ca() {
    use super::{Authority, SigningError, Validity};
    use std::time::{Duration, SystemTime};
    let (year, now) = (Duration::from_secs(365 * 86_400), SystemTime::now());
    // A CA is valid for ten years, so this one expires in half a year.
    let old_authority = Authority::new(&group("demo"), now - 9 * year - year / 2).unwrap();
    let sign = |days| old_authority.sign(nodes(&[1])[0], Validity::of_node(now, Days::new(days).unwrap()));
    assert!(matches!(sign(365), Err(SigningError::OutlivesAuthority { remaining_days: 100..200 })));
    assert!(sign(100).is_ok());
    // The end of the CA's validity survives a round trip through PEM.
    let read = Authority::read(old_authority.certificate(), &old_authority.key(), &group("demo")).unwrap();
    assert!(read.sign(nodes(&[1])[0], Validity::of_node(now, Days::default())).is_err());
}

#[test]
fn no_nodes_and_too_many_nodes_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::new(directory.path().join("certs"));
    let make = |numbers: &[u32]| folder.make(&group("demo"), &nodes(numbers), Days::default());
    assert!(matches!(make(&[]), Err(FolderError::NoNodes)));
    assert!(matches!(make(&(1..=1_001).collect::<Vec<_>>()), Err(FolderError::TooManyNodes(1_001))));
    assert!(!folder.path().exists());
}

#[test]
fn the_longest_names_fit_into_a_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let long = group(&"x".repeat(63));
    let last = nodes(&[u32::MAX]);
    Folder::new(directory.path()).make(&long, &last, Days::default()).unwrap();
    let identity = Identity::load(directory.path(), last[0], &long).unwrap();
    assert!(identity.server_name(last[0]).is_ok());
}
