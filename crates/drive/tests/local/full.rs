//! A disk that is full: commands are refused, queries answered, and everything goes on when there is room.

use crate::common::{Post, User, node, owner, settings};
use quorate_core::Incarnation;
use quorate_replica::{Durable, Event, Refusal};
use quorate_store::faults::FaultyFiles;
use quorate_store::{Identity, Origin, create_in};
use std::path::Path;

#[test]
fn a_replica_alone_refuses_commands_answers_queries_and_recovers() {
    let (files, folder) = (FaultyFiles::new(), Path::new("/data"));
    let only = node(1);
    create_in::<Durable, _>(
        files.clone(),
        folder,
        Identity { owner: owner(only), origin: Origin::Founded },
        Incarnation::FIRST,
    )
    .unwrap();
    let mut post = Post::new(1);
    let mut user = User::new(&post);
    let running = post.start(only, files.clone(), folder, settings(1), user.ear(only)).unwrap();
    user.insist(1, 7);
    files.limit(0);
    // Some fit into what was written ahead; then there is no room.
    let refused = (0..100_000).find_map(|value| match user.write_unless_stuck(only, value) {
        Some(Event::Refused { why, .. }) => Some(why),
        Some(_) | None => None,
    });
    assert_eq!(refused, Some(Refusal::DiskFull));
    assert!(user.read(only, 1).is_some());
    files.heal();
    user.wait_for_room(only);
    user.insist(1, 9);
    assert_eq!(user.read(only, 1), Some(9));
    drop(running);
}
