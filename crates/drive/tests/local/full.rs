//! A full disk: the replica refuses commands, answers queries, and recovers when there is space.

use crate::common::{Cluster, TestClient, node, owner, settings};
use quorate_core::Incarnation;
use quorate_replica::{Durable, Event, Refusal};
use quorate_store::faults::FaultyFiles;
use quorate_store::{Identity, Origin, create_in};
use std::path::Path;

#[test]
fn a_single_replica_with_a_full_disk_refuses_commands_answers_queries_and_recovers() {
    let (files, folder) = (FaultyFiles::new(), Path::new("/data"));
    let replica = node(1);
    create_in::<Durable, _>(
        files.clone(),
        folder,
        Identity { owner: owner(replica), origin: Origin::Founded },
        Incarnation::FIRST,
    )
    .unwrap();
    let mut cluster = Cluster::new(1);
    let mut client = TestClient::new(&cluster);
    let running = cluster.start(replica, files.clone(), folder, settings(1), client.event_callback(replica)).unwrap();
    client.write_until_answered(1, 7);
    // From now on no file can grow. The first writes still fit into the preallocated part of the
    // log.
    files.limit_bytes(0);
    let refused = (0..100_000).find_map(|value| match client.try_write(replica, value) {
        Some(Event::Refused { refusal, .. }) => Some(refusal),
        Some(_) | None => None,
    });
    assert_eq!(refused, Some(Refusal::DiskFull));
    assert!(client.read(replica, 1).is_some());
    files.heal();
    client.wait_for_space(replica);
    client.write_until_answered(1, 9);
    assert_eq!(client.read(replica, 1), Some(9));
    drop(running);
}
