//! Finds the message kinds that are replies, judging by the scene; they are drawn with dotted
//! lines.

use crate::scene::{Arrow, Cause, Scene, Tail};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the message kinds of which at least one message is a reply.
///
/// A message is a reply if node A sends it to node B in the step in which A receives a message from
/// B, in A's next step with a disk confirmation, or at the end of A's turn. A must send no other
/// message of that kind in that step, and the kind of B's message must appear in the scene before
/// the kind of the reply. So if messages of two kinds answer each other, the kind that appears
/// first is the request.
pub(super) fn reply_kinds(scene: &Scene) -> BTreeSet<&str> {
    let mut first_index: BTreeMap<&str, usize> = BTreeMap::new();
    let mut receiver_counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (index, arrow) in scene.arrows.iter().enumerate().filter(|(_, arrow)| !arrow.is_duplicate) {
        first_index.entry(&arrow.kind).or_insert(index);
        if let Tail::Step(step) = arrow.tail {
            *receiver_counts.entry((step, &arrow.kind)).or_default() += 1;
        }
    }
    let requests = possible_requests(scene);
    let is_reply = |arrow: &Arrow| {
        let Tail::Step(step) = arrow.tail else { return false };
        let is_request = |request: &&Arrow| {
            request.from == arrow.to && first_index.get(request.kind.as_str()) < first_index.get(arrow.kind.as_str())
        };
        let has_one_receiver = receiver_counts.get(&(step, arrow.kind.as_str())) == Some(&1);
        has_one_receiver && requests.get(step).is_some_and(|requests| requests.iter().any(is_request))
    };
    scene.arrows.iter().filter(|arrow| is_reply(arrow)).map(|arrow| arrow.kind.as_str()).collect()
}

/// Returns, for each step, the messages to which it may reply.
fn possible_requests(scene: &Scene) -> Vec<Vec<&Arrow>> {
    // For each lane, the messages received since the last disk confirmation, and since the last end
    // of a turn that sent something.
    let mut received: BTreeMap<usize, Vec<&Arrow>> = BTreeMap::new();
    let requests = scene.steps.iter().map(|step| match step.cause {
        Cause::Message(arrow) => {
            let arrow: Vec<_> = arrow.and_then(|arrow| scene.arrows.get(arrow)).into_iter().collect();
            received.entry(step.lane).or_default().extend(&arrow);
            arrow
        }
        Cause::Disk => received.remove(&step.lane).unwrap_or_default(),
        Cause::EndOfTurn if step.has_sends => received.remove(&step.lane).unwrap_or_default(),
        Cause::Start { .. } | Cause::Command | Cause::Timer | Cause::EndOfTurn | Cause::Membership => Vec::new(),
    });
    requests.collect()
}
