//! Finds the message kinds that are replies, judging by the run; they are drawn with dotted lines.

use crate::scene::{Arrow, Cause, Scene, Tail};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the message kinds that reply to another kind.
///
/// A message is a reply if its sender sends it in the step in which it receives a message from the
/// receiver, or after saving the outcome of that step, and sends that kind to no other node. Of two
/// kinds that reply to each other, the one seen first is the request.
pub(super) fn replies(scene: &Scene) -> BTreeSet<&str> {
    let mut first_seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut receivers: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (index, arrow) in scene.arrows.iter().enumerate().filter(|(_, arrow)| !arrow.is_duplicate) {
        first_seen.entry(&arrow.kind).or_insert(index);
        if let Tail::Step(step) = arrow.tail {
            *receivers.entry((step, &arrow.kind)).or_default() += 1;
        }
    }
    let requests = requests(scene);
    let is_reply = |arrow: &Arrow| {
        let Tail::Step(step) = arrow.tail else { return false };
        let is_request = |request: &&Arrow| {
            request.from == arrow.to && first_seen.get(request.kind.as_str()) < first_seen.get(arrow.kind.as_str())
        };
        let has_one_receiver = receivers.get(&(step, arrow.kind.as_str())) == Some(&1);
        has_one_receiver && requests.get(step).is_some_and(|requests| requests.iter().any(is_request))
    };
    scene.arrows.iter().filter(|arrow| is_reply(arrow)).map(|arrow| arrow.kind.as_str()).collect()
}

/// Returns the messages to which each step may reply.
fn requests(scene: &Scene) -> Vec<Vec<&Arrow>> {
    // For each lane, the messages since the last disk confirmation.
    let mut received: BTreeMap<usize, Vec<&Arrow>> = BTreeMap::new();
    let requests = scene.steps.iter().map(|step| match step.cause {
        Cause::Message(arrow) => {
            let arrow: Vec<_> = arrow.and_then(|arrow| scene.arrows.get(arrow)).into_iter().collect();
            received.entry(step.lane).or_default().extend(&arrow);
            arrow
        }
        Cause::Disk => received.remove(&step.lane).unwrap_or_default(),
        Cause::Start { .. } | Cause::Command | Cause::Timer | Cause::Membership => Vec::new(),
    });
    requests.collect()
}
