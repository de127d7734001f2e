//! A damaged log: the node refuses to start and says where, is re-seeded, and comes back as a new member.

use crate::common::{Post, SEGMENTS, User, folder_of, node, owner, settings};
use quorate_replica::Durable;
use quorate_store::{Files, Store, StoreError, found, reseed};
use std::fs;
use std::path::Path;

fn newest_log(folder: &Path) -> std::path::PathBuf {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("log-")).max().unwrap()
}

#[test]
fn a_damaged_node_is_refused_and_comes_back_through_its_peers() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = |number| folder_of(temporary.path(), node(number));
    for number in 1..=3 {
        found::<Durable>(&folder(number), owner(node(number))).unwrap();
    }
    {
        let mut post = Post::new(3);
        let mut user = User::new(&post);
        let start = |post: &mut Post, user: &User, number| {
            post.start(node(number), Files, &folder(number), settings(3), user.ear(node(number))).unwrap()
        };
        let running: Vec<_> = (1..=3).map(|number| start(&mut post, &user, number)).collect();
        (0..100).for_each(|value| user.insist(value % 5, value));
        drop(running);
    }
    // A few bytes in the middle of what is there; a single one may be a mark that says nothing.
    let log = newest_log(&folder(3));
    let mut bytes = fs::read(&log).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[written / 2..][..4].iter_mut().for_each(|byte| *byte ^= 0x10);
    fs::write(&log, &bytes).unwrap();
    let refused = match Store::<Durable>::open(&folder(3), owner(node(3)), SEGMENTS) {
        Ok((_, _, recovery)) => {
            panic!(
                "bytes from {} of {written} in {} were changed, and nobody noticed: {recovery:?}",
                written / 2,
                log.display()
            )
        }
        Err(refused) => refused,
    };
    let text = refused.to_string();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{text}");
    assert!(text.contains(log.file_name().unwrap().to_str().unwrap()) && text.contains("Re-seed"), "{text}");

    reseed::<Durable>(&folder(3), owner(node(3))).unwrap();
    let mut post = Post::new(3);
    let mut user = User::new(&post);
    let running: Vec<_> = (1..=3)
        .map(|number| post.start(node(number), Files, &folder(number), settings(3), user.ear(node(number))).unwrap())
        .collect();
    user.insist(1, 1_000);
    user.change(&[1, 2], &[]);
    user.change(&[1, 2], &[3]);
    user.change(&[1, 2, 3], &[]);
    user.insist(2, 2_000);
    assert_eq!(user.read(node(3), 1), Some(1_000));
    assert_eq!(user.read(node(3), 2), Some(2_000));
    drop(running);
}
