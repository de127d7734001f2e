//! The exact error messages when a folder cannot be created, opened or written.

use crate::common::{SMALL_SEGMENTS, TestLog, owner, put_after};
use expect_test::{Expect, expect};
use quorate_core::{Incarnation, NodeId};
use quorate_store::{
    ClusterId, FileSystem, Files, Identity, Origin, Owner, Settings, Store, StoreError, create_founder, create_in,
    create_joiner, replace_lost_log,
};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary data folder with a log of three appends.
struct TestFolder {
    temporary: TempDir,
    folder: PathBuf,
}

impl TestFolder {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("data");
        create_founder::<TestLog>(&folder, owner()).unwrap();
        let (mut store, ..) = Store::<TestLog>::open(&folder, owner(), SMALL_SEGMENTS).unwrap();
        for number in 0..3 {
            store.append(&[put_after(number, vec![number as u8; 30])]).unwrap();
        }
        Self { temporary, folder }
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log-00000001")
    }

    fn edit(&self, path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(path).unwrap();
        edit(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    fn open_as(&self, owner: Owner) -> Result<(Store<TestLog>, TestLog), StoreError> {
        Store::open(&self.folder, owner, SMALL_SEGMENTS).map(|(store, log, _)| (store, log))
    }

    fn assert_open_fails(&self, expected: Expect) {
        self.message(self.open_as(owner())).assert_is(expected);
    }

    /// The message of an error, with `SOME` in place of the temporary folder's path.
    fn message<T>(&self, refused: Result<T, StoreError>) -> Message {
        let path = self.temporary.path().display().to_string();
        Message(wrap_lines(&refused.err().expect("an error").to_string().replace(&path, "SOME")))
    }
}

struct Message(String);

impl Message {
    fn assert_is(self, expected: Expect) {
        expected.assert_eq(&self.0);
    }
}

/// Breaks lines after about 90 columns, so that expected messages fit into this file.
fn wrap_lines(text: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        if length > 0 && length + word.len() > 90 {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
        }
        lines.push_str(word);
        length += word.len() + 1;
    }
    lines.push('\n');
    lines
}

#[test]
fn the_identity_is_human_readable() {
    let test = TestFolder::new();
    expect![[r#"
        A data folder of Quorate. Do not copy it to another node, and do not edit it.
        format 1
        cluster 00000000000000000000000000c0ffee
        node 3
        origin founded
    "#]]
    .assert_eq(&fs::read_to_string(test.folder.join("identity")).unwrap());
}

#[test]
fn a_folder_cannot_be_opened_twice() {
    let test = TestFolder::new();
    let first = test.open_as(owner()).unwrap();
    for refused in [test.open_as(owner()).map(|_| ()), replace_lost_log::<TestLog>(&test.folder, owner()).map(|_| ())] {
        test.message(refused).assert_is(expect![[r#"
            SOME/data is in use by a running node. Stop that node first; two writers would destroy the
            log.
        "#]]);
    }
    drop(first);
    assert_eq!(test.open_as(owner()).unwrap().1.entries.len(), 3);
}

#[test]
fn another_node_is_refused() {
    let test = TestFolder::new();
    let other = Owner { node: NodeId::from_index(4), ..owner() };
    test.message(test.open_as(other)).assert_is(expect![[r#"
        SOME/data/identity belongs to node 3 of cluster 00000000000000000000000000c0ffee, but this
        is node 5 of cluster 00000000000000000000000000c0ffee. No data was changed; start the node
        with its own data folder.
    "#]]);
    let error = replace_lost_log::<TestLog>(&test.folder, other).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[test]
fn another_cluster_is_refused() {
    let test = TestFolder::new();
    let other = Owner { cluster: ClusterId(1), ..owner() };
    test.message(test.open_as(other)).assert_is(expect![[r#"
        SOME/data/identity belongs to node 3 of cluster 00000000000000000000000000c0ffee, but this
        is node 3 of cluster 00000000000000000000000000000001. No data was changed; start the node
        with its own data folder.
    "#]]);
}

#[test]
fn a_log_of_another_node_is_refused() {
    let (test, other) = (TestFolder::new(), TestFolder::new());
    fs::remove_dir_all(&other.folder).unwrap();
    let stranger = Owner { node: NodeId::from_index(0), ..owner() };
    create_joiner::<TestLog>(&other.folder, stranger).unwrap();
    fs::copy(other.log(), test.log()).unwrap();
    test.assert_open_fails(expect![[r#"
        SOME/data/log-00000001 belongs to node 1 of cluster 00000000000000000000000000c0ffee, but
        this is node 3 of cluster 00000000000000000000000000c0ffee. No data was changed; start the
        node with its own data folder.
    "#]]);
}

#[test]
fn newer_formats_are_refused() {
    let test = TestFolder::new();
    // The format is at byte 8 of the header.
    test.edit(&test.log(), |bytes| bytes[8] = 2);
    test.assert_open_fails(expect![[r#"
        SOME/data/log-00000001 has format 2; this version reads formats up to 1. No data was
        changed; start a version of Quorate that reads format 2.
    "#]]);
    let identity = test.folder.join("identity");
    let text = fs::read_to_string(&identity).unwrap();
    fs::write(&identity, text.replace("format 1", "format 17")).unwrap();
    test.assert_open_fails(expect![[r#"
        SOME/data/identity has format 17; this version reads formats up to 1. No data was changed;
        start a version of Quorate that reads format 17.
    "#]]);
    let error = replace_lost_log::<TestLog>(&test.folder, owner()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 17, .. }), "{error}");
}

#[test]
fn a_missing_folder_identity_and_log_have_different_errors() {
    let test = TestFolder::new();
    fs::remove_file(test.log()).unwrap();
    test.assert_open_fails(expect![[r#"
        SOME/data has an identity but no log: the promises that this node made to its peers are
        lost, and it must not start as if it had made none. Re-seed the node from its peers: this
        moves the log aside and creates an empty one.
    "#]]);
    fs::remove_file(test.folder.join("identity")).unwrap();
    test.assert_open_fails(expect![[r#"
        SOME/data is not a data folder: it has no file 'identity'. Create it by founding or
        joining a cluster, or correct the path.
    "#]]);
    let without_identity = TestFolder::new();
    fs::remove_file(without_identity.folder.join("identity")).unwrap();
    without_identity.assert_open_fails(expect![[r#"
        SOME/data/identity is missing or damaged, so the owner of the log is unknown. No data was
        changed. Restore the file if you have a copy, or re-seed the node from its peers: this
        moves the log aside and creates an empty one, with a new identity.
    "#]]);
    fs::remove_dir_all(&test.folder).unwrap();
    let error = test.open_as(owner()).err().unwrap();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    assert!(!test.folder.exists(), "opening must not create the folder");
}

#[test]
fn a_missing_lock_file_is_created_again() {
    let test = TestFolder::new();
    fs::remove_file(test.folder.join("lock")).unwrap();
    assert_eq!(test.open_as(owner()).unwrap().1.entries.len(), 3);
}

#[test]
fn empty_files_are_damage() {
    let test = TestFolder::new();
    fs::write(test.log(), b"").unwrap();
    test.assert_open_fails(expect![[r#"
        SOME/data/log-00000001 is damaged at byte 0: the file ends inside its header. The node
        does not start, because promises to its peers may be missing; no data was changed. Re-seed
        the node from its peers: this moves the log aside and creates an empty one.
    "#]]);
    fs::write(test.folder.join("identity"), b"").unwrap();
    test.assert_open_fails(expect![[r#"
        SOME/data/identity is missing or damaged, so the owner of the log is unknown. No data was
        changed. Restore the file if you have a copy, or re-seed the node from its peers: this
        moves the log aside and creates an empty one, with a new identity.
    "#]]);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_refused() {
    let test = TestFolder::new();
    fs::remove_dir_all(&test.folder).unwrap();
    fs::write(&test.folder, b"notes").unwrap();
    for refused in [test.open_as(owner()).map(|_| ()), create_founder::<TestLog>(&test.folder, owner())] {
        test.message(refused).assert_is(expect![[r#"
            SOME/data must be a folder, but it is a file. Correct the path.
        "#]]);
    }
}

#[test]
fn a_folder_is_created_once() {
    let test = TestFolder::new();
    for created in [create_founder::<TestLog>(&test.folder, owner()), create_joiner::<TestLog>(&test.folder, owner())] {
        test.message(created).assert_is(expect![[r#"
            SOME/data is already a data folder. It was not changed; open it, or choose another folder.
        "#]]);
    }
    assert_eq!(test.open_as(owner()).unwrap().1.entries.len(), 3);
}

#[test]
fn damage_is_reported_with_its_offset() {
    let test = TestFolder::new();
    let bytes = fs::read(test.log()).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    // A byte of frame 2 of 3. The header and the checkpoint end at byte 79, and each append takes
    // 60 bytes.
    test.edit(&test.log(), |bytes| bytes[end / 2 + 20] ^= 1);
    test.assert_open_fails(expect![[r#"
        SOME/data/log-00000001 is damaged at byte 139 (frame 2): the frame is not valid, and valid
        frames follow it. The node does not start, because promises to its peers may be missing;
        no data was changed. Re-seed the node from its peers: this moves the log aside and creates
        an empty one.
    "#]]);
    fs::write(test.log(), &bytes).unwrap();
    test.edit(&test.log(), |bytes| bytes[end - 10] ^= 1);
    test.assert_open_fails(expect![[r#"
        SOME/data/log-00000001 is damaged at byte 199 (frame 3): the frame was written to its end,
        but a checksum is wrong. The node does not start, because promises to its peers may be
        missing; no data was changed. Re-seed the node from its peers: this moves the log aside
        and creates an empty one.
    "#]]);
    fs::write(test.log(), &bytes).unwrap();
    // The checkpoint follows the header of 48 bytes.
    test.edit(&test.log(), |bytes| bytes[50] ^= 1);
    test.assert_open_fails(expect![[r#"
        SOME/data/log-00000001 is damaged at byte 48: the checkpoint at the start of the segment
        is not valid. The node does not start, because promises to its peers may be missing; no
        data was changed. Re-seed the node from its peers: this moves the log aside and creates an
        empty one.
    "#]]);
    fs::write(test.log(), &bytes).unwrap();
    test.edit(&test.log(), |bytes| bytes[0] ^= 1);
    test.assert_open_fails(expect![[r#"
        SOME/data/log-00000001 is damaged at byte 0: it does not start with the magic bytes of a
        log segment. The node does not start, because promises to its peers may be missing; no
        data was changed. Re-seed the node from its peers: this moves the log aside and creates an
        empty one.
    "#]]);
    fs::write(test.log(), &bytes).unwrap();
    assert_eq!(test.open_as(owner()).unwrap().1.entries.len(), 3);
}

#[test]
fn contents_of_another_protocol_are_refused() {
    #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
    struct OtherContents(Vec<String>);
    impl quorate_core::Durable for OtherContents {
        type Write = String;
        fn apply(&mut self, write: String) {
            self.0.push(write);
        }
    }
    let test = TestFolder::new();
    test.message(Store::<OtherContents>::open(&test.folder, owner(), SMALL_SEGMENTS)).assert_is(expect![[r#"
        SOME/data/log-00000001 is intact, but frame 0 at byte 48 cannot be decoded (The original
        data was not well encoded): another protocol or version wrote the log. No data was
        changed; start the version that wrote it.
    "#]]);
    assert_eq!(test.open_as(owner()).unwrap().1.entries.len(), 3);
}

/// The real file system without permission to list or create folders. (Changing real permissions
/// would not stop root.)
#[derive(Clone, Copy)]
struct ForbiddenFiles;

impl FileSystem for ForbiddenFiles {
    type File = fs::File;
    type Lock = fs::File;

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(ErrorKind::PermissionDenied.into())
    }
    fn create_folder(&self, _: &Path) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        Files.sync_folder(folder)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Files.read(path)
    }
    fn create(&self, path: &Path) -> io::Result<fs::File> {
        Files.create(path)
    }
    fn open(&self, path: &Path) -> io::Result<fs::File> {
        Files.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Files.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Files.remove(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<fs::File>> {
        Files.lock(path)
    }
}

#[test]
fn a_forbidden_folder_is_reported() {
    let test = TestFolder::new();
    test.message(Store::<TestLog, _>::open_in(ForbiddenFiles, &test.folder, owner(), SMALL_SEGMENTS)).assert_is(
        expect![[r#"
        cannot list SOME/data: permission denied. Data acknowledged before is not affected; fix
        the cause, then restart the node.
    "#]],
    );
    let identity = Identity { owner: owner(), origin: Origin::Joined };
    let created = create_in::<TestLog, _>(ForbiddenFiles, &test.folder, identity, Incarnation::FIRST);
    test.message(created).assert_is(expect![[r#"
        cannot create SOME/data: permission denied. Data acknowledged before is not affected; fix
        the cause, then restart the node.
    "#]]);
}

#[test]
fn full_and_failed_disks_are_reported() {
    use crate::common::{create_data_folder, open_store};
    use quorate_store::faults::{Fault, FaultyFiles};
    let test = TestFolder::new();
    let files = FaultyFiles::new();
    create_data_folder(&files).unwrap();
    let (mut store, ..) = open_store(&files, SMALL_SEGMENTS).unwrap();
    files.limit_bytes(files.used_bytes());
    test.message(store.append(&[put_after(0, vec![1])])).assert_is(expect![[r#"
        the disk is full: cannot write /data/node/log-00000001 (no storage space). No acknowledged
        data is lost, and no part of this write remains. Free some space; the same write can then
        be tried again.
    "#]]);
    files.heal();
    // The first operation writes zeros ahead, the second the frame.
    files.fail_at(files.operation_count() + 2, Fault::Error);
    test.message(store.append(&[put_after(0, vec![1])])).assert_is(expect![[r#"
        cannot write /data/node/log-00000001: Input/output error (os error 5). Data acknowledged
        before is not affected; fix the cause, then restart the node.
    "#]]);
    test.message(store.append(&[put_after(0, vec![1])])).assert_is(expect![[r#"
        the store accepts no more writes, because the disk failed earlier (cannot write
        /data/node/log-00000001: Input/output error (os error 5)). After a failed sync the
        contents of the disk are unknown; restart the node, which then reads what was saved.
    "#]]);
}

/// The contents of a later release.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct LaterContents(TestLog);

impl quorate_core::Durable for LaterContents {
    const VERSION: u32 = 5;
    type Write = <TestLog as quorate_core::Durable>::Write;
    fn apply(&mut self, write: Self::Write) {
        self.0.apply(write);
    }
}

#[test]
fn newer_contents_are_refused_and_older_ones_read() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("later");
    create_founder::<LaterContents>(&folder, owner()).unwrap();
    let error = Store::<TestLog>::open(&folder, owner(), Settings::default()).err().unwrap();
    assert!(matches!(error, StoreError::NewerContents { found: 5, known: 1, .. }), "{error}");
    assert!(error.to_string().contains("contents of version 5"), "{error}");
    let folder = temporary.path().join("earlier");
    create_founder::<TestLog>(&folder, owner()).unwrap();
    assert!(Store::<LaterContents>::open(&folder, owner(), Settings::default()).is_ok());
}
