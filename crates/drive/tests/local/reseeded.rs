//! A damaged log: the store refuses to open it and reports which file is damaged. The node is
//! re-seeded (it starts with an empty log and copies its state from its peers) and returns as a
//! new member.

use crate::common::{Cluster, SMALL_SEGMENTS, TestClient, node, node_folder, owner, settings};
use quorate_replica::Durable;
use quorate_store::{Files, Store, StoreError, create_founder, replace_lost_log};
use std::fs;
use std::path::Path;

fn newest_log(folder: &Path) -> std::path::PathBuf {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("log-")).max().unwrap()
}

#[test]
fn a_damaged_log_is_refused_and_its_node_recovers_from_its_peers() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = |number| node_folder(temporary.path(), node(number));
    for number in 1..=3 {
        create_founder::<Durable>(&folder(number), owner(node(number))).unwrap();
    }
    {
        let mut cluster = Cluster::new(3);
        let mut client = TestClient::new(&cluster);
        let start = |cluster: &mut Cluster, client: &TestClient, number| {
            cluster
                .start(node(number), Files, &folder(number), settings(3), client.event_callback(node(number)))
                .unwrap()
        };
        let running: Vec<_> = (1..=3).map(|number| start(&mut cluster, &client, number)).collect();
        (0..100).for_each(|value| client.write_until_answered(value % 5, value));
        drop(running);
    }
    // Change four bytes in the middle of the written part: a single byte may carry no information.
    let log = newest_log(&folder(3));
    let mut bytes = fs::read(&log).unwrap();
    let last_written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[last_written / 2..][..4].iter_mut().for_each(|byte| *byte ^= 0x10);
    fs::write(&log, &bytes).unwrap();
    let error = match Store::<Durable>::open(&folder(3), owner(node(3)), SMALL_SEGMENTS) {
        Ok((_, _, recovery)) => {
            panic!(
                "bytes from {} of {last_written} in {} were changed, but the store opened: {recovery:?}",
                last_written / 2,
                log.display()
            )
        }
        Err(error) => error,
    };
    let text = error.to_string();
    assert!(matches!(error, StoreError::Damaged { .. }), "{text}");
    assert!(text.contains(log.file_name().unwrap().to_str().unwrap()) && text.contains("Re-seed"), "{text}");

    replace_lost_log::<Durable>(&folder(3), owner(node(3))).unwrap();
    let mut cluster = Cluster::new(3);
    let mut client = TestClient::new(&cluster);
    let running: Vec<_> = (1..=3)
        .map(|number| {
            cluster
                .start(node(number), Files, &folder(number), settings(3), client.event_callback(node(number)))
                .unwrap()
        })
        .collect();
    client.write_until_answered(1, 1_000);
    client.change_members(&[1, 2], &[]);
    client.change_members(&[1, 2], &[3]);
    client.change_members(&[1, 2, 3], &[]);
    client.write_until_answered(2, 2_000);
    assert_eq!(client.read(node(3), 1), Some(1_000));
    assert_eq!(client.read(node(3), 2), Some(2_000));
    drop(running);
}
