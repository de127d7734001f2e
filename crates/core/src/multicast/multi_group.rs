//! A node in several groups, each with its own members, views and order. For each group the node
//! has a part: a protocol of its own.
//!
//! All nodes share one membership, and each group is a subset of them. A view of the membership is
//! also a view of each group, restricted to the nodes of the group. Messages of different groups
//! are not ordered. A node that has left a group sends nothing more in it, and helps the other
//! members there until it leaves the membership.
//!
//! ```text
//! SE-1  a command          → the part of its group handles it; refuse it if the node is not in
//!                            that group
//! SE-2  a message arrives  → the part of its group handles it; drop it if the node is not in that
//!                            group, as may happen on a broadcast medium
//! SE-3  a view begins      → each part gets it, restricted to the members of its group
//! ```
//!
//! Cost: that of its parts.
//!
//! Assumes: what its parts assume.

use super::{Command, Event, GroupId, Refusal};
use crate::describe::{Class, Describe};
use crate::effects::{Effect, Effects, Note, PayloadId, Sink};
use crate::fixed::Fixed;
use crate::group::Group;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::view::View;
use alloc::collections::BTreeMap;

/// A node in several groups, with a part for each of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiGroup<P> {
    parts: BTreeMap<GroupId, Part<P>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Part<P> {
    members: Fixed<Group>,
    inner: P,
}

/// A message or timer, with the group that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Addressed<T> {
    pub group: GroupId,
    #[cfg_attr(feature = "serde", serde(rename = "what"))]
    pub content: T,
}

impl<P> MultiGroup<P> {
    /// Creates a node in these groups, each given with its members and the node's protocol in it.
    pub fn new(parts: impl IntoIterator<Item = (GroupId, Group, P)>) -> Self {
        let part = |(group, members, inner)| (group, Part { members: Fixed::new(members), inner });
        Self { parts: parts.into_iter().map(part).collect() }
    }

    /// Returns the node's protocol in a group; `None` if it is not a member.
    pub fn part(&self, group: GroupId) -> Option<&P> {
        self.parts.get(&group).map(|part| &part.inner)
    }
}

impl<P> Protocol for MultiGroup<P>
where
    P: Protocol<Command = Command, Event = Event, Durable = ()>,
{
    type Command = Command;
    type Message = Addressed<P::Message>;
    type Timer = Addressed<P::Timer>;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: crate::time::Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: (), incarnation } => {
                self.step_all(now, || Input::Start { durable: (), incarnation }, out);
            }
            Input::Command(command) => self.handle_command(now, command, out),
            Input::Message { from, message } => self.receive(now, from, message, out),
            Input::Timer(Addressed { group, content }) => {
                if let Some(part) = self.parts.get_mut(&group) {
                    part.step(now, group, Input::Timer(content), out);
                }
            }
            Input::View(view) => {
                for (group, part) in &mut self.parts {
                    part.begin_view(now, *group, &view, out);
                }
            }
            Input::Lease(until) => self.step_all(now, || Input::Lease(until), out),
            Input::Suspect(node) => self.step_all(now, || Input::Suspect(node), out),
            Input::Trust(node) => self.step_all(now, || Input::Trust(node), out),
            Input::EndOfTurn => self.step_all(now, || Input::EndOfTurn, out),
            // There are no saves.
            Input::Saved(_) | Input::DiskFull | Input::DiskFree => {}
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.parts.values().any(|part| part.inner.uses_end_of_turn())
    }
}

impl<P> MultiGroup<P>
where
    P: Protocol<Command = Command, Event = Event, Durable = ()>,
{
    /// SE-1.
    fn handle_command(&mut self, now: crate::time::Time, command: Command, out: &mut Effects<'_, Self>) {
        match self.parts.get_mut(&command.group()) {
            Some(part) => part.step(now, command.group(), Input::Command(command), out),
            None => out.emit(Event::Refused(Refusal::NotAMember)),
        }
    }

    /// SE-2.
    fn receive(
        &mut self,
        now: crate::time::Time,
        from: NodeId,
        message: Addressed<P::Message>,
        out: &mut Effects<'_, Self>,
    ) {
        let Addressed { group, content } = message;
        if let Some(part) = self.parts.get_mut(&group) {
            part.step(now, group, Input::Message { from, message: content }, out);
        }
    }

    fn step_all(&mut self, now: crate::time::Time, input: impl Fn() -> Input<P>, out: &mut Effects<'_, Self>) {
        for (group, part) in &mut self.parts {
            part.step(now, *group, input(), out);
        }
    }
}

impl<P> Part<P>
where
    P: Protocol<Command = Command, Event = Event, Durable = ()>,
{
    fn step(&mut self, now: crate::time::Time, group: GroupId, input: Input<P>, out: &mut Effects<'_, MultiGroup<P>>) {
        let mut sink = GroupSink { group, out };
        self.inner.step(now, input, &mut Effects::new(&mut sink));
    }

    /// SE-3. Every view of the membership is a view of every group, even if nothing changes in the
    /// group, so that all nodes of a group use the same epochs.
    fn begin_view(
        &mut self,
        now: crate::time::Time,
        group: GroupId,
        view: &View,
        out: &mut Effects<'_, MultiGroup<P>>,
    ) {
        let restricted = View::new(view.epoch(), view.stays().filter(|(node, _)| self.members.contains(*node)));
        self.step(now, group, Input::View(restricted), out);
    }
}

struct GroupSink<'a, 'b, P>
where
    P: Protocol<Command = Command, Event = Event, Durable = ()>,
{
    group: GroupId,
    out: &'a mut Effects<'b, MultiGroup<P>>,
}

impl<P> Sink<P> for GroupSink<'_, '_, P>
where
    P: Protocol<Command = Command, Event = Event, Durable = ()>,
{
    fn effect(&mut self, effect: Effect<P>) {
        let group = self.group;
        self.out.put(match effect {
            Effect::Send { to, message, order } => {
                Effect::Send { to, message: Addressed { group, content: message }, order }
            }
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: Addressed { group, content: message }, order }
            }
            Effect::Save(never) => match never {},
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: Addressed { group, content: timer }, span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(Addressed { group, content: timer }),
            Effect::Emit { event, order } => Effect::Emit { event, order },
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}

impl<M: Describe> Describe for Addressed<M> {
    fn kind(&self) -> &'static str {
        self.content.kind()
    }
    fn label(&self) -> Option<&dyn core::fmt::Display> {
        self.content.label()
    }
    fn class(&self) -> Class {
        self.content.class()
    }
    fn on_behalf_of(&self) -> Option<NodeId> {
        self.content.on_behalf_of()
    }
    fn payload_id(&self) -> Option<PayloadId> {
        self.content.payload_id()
    }
    fn is_retransmission(&self) -> bool {
        self.content.is_retransmission()
    }
    fn is_wrapped(&self) -> bool {
        self.content.is_wrapped()
    }
}

#[cfg(test)]
mod tests {
    use super::{Addressed, MultiGroup};
    use crate::effects::{Effect, Effects};
    use crate::group::{Epoch, Group};
    use crate::multicast::{Board, Command, Event, Fifo, GroupId, Member, Message, Ordering, Payload, Plan, Refusal};
    use crate::node::{Incarnation, NodeId};
    use crate::protocol::{Input, Protocol};
    use crate::time::Time;
    use crate::view::{Stay, View};
    use crate::wrap::{Content, Envelope, Viewed};
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    /// A member of a group whose views change, and which replicates a bulletin board.
    type PartProtocol = Viewed<Member<Board>>;

    fn node(number: usize) -> NodeId {
        NodeId::from_index(number - 1)
    }

    /// Returns node 2, which is in group 1 with node 1, and in group 2 with node 3.
    fn node_2() -> MultiGroup<PartProtocol> {
        let parts = [(GroupId(1), [1, 2]), (GroupId(2), [2, 3])].map(|(id, members)| {
            let members: Group = members.map(node).into_iter().collect();
            let plan = Arc::new(Plan { id, ..Plan::new(members.clone()) });
            (id, members, Viewed::new(node(2), Member::new(node(2), plan, Fifo::boxed)))
        });
        MultiGroup::new(parts)
    }

    fn step(
        multi_group: &mut MultiGroup<PartProtocol>,
        input: Input<MultiGroup<PartProtocol>>,
    ) -> Vec<Effect<MultiGroup<PartProtocol>>> {
        let mut effects = Vec::new();
        multi_group.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        effects
    }

    /// Returns the views that begin, with their groups.
    fn views(effects: &[Effect<MultiGroup<PartProtocol>>]) -> Vec<(GroupId, Epoch)> {
        let view = |effect: &Effect<MultiGroup<PartProtocol>>| match effect {
            Effect::Emit { event: Event::View { group, view, .. }, .. } => Some((*group, view.epoch())),
            _ => None,
        };
        effects.iter().filter_map(view).collect()
    }

    /// Returns node 2 after the founding view has begun in both groups.
    fn started_node_2() -> MultiGroup<PartProtocol> {
        let mut multi_group = node_2();
        step(&mut multi_group, Input::Start { durable: (), incarnation: Incarnation::FIRST });
        step(&mut multi_group, Input::View(View::founding(Group::of_size(3))));
        let begun = step(&mut multi_group, Input::Lease(Time::NEVER));
        assert_eq!(views(&begun), [(GroupId(1), Epoch(1)), (GroupId(2), Epoch(1))]);
        multi_group
    }

    #[test]
    fn se_1_a_multicast_goes_to_the_members_of_its_group_only() {
        let mut multi_group = started_node_2();
        let payload = Payload::from("x");
        let sent =
            step(&mut multi_group, Input::Command(Command::Send { group: GroupId(2), payload: payload.clone() }));
        let to = sent.iter().find_map(|effect| match effect {
            Effect::Multicast { to, message: Addressed { group, .. }, .. } => Some((to.clone(), *group)),
            _ => None,
        });
        assert_eq!(to, Some(([node(2), node(3)].into_iter().collect(), GroupId(2))));
        let refused = step(&mut multi_group, Input::Command(Command::Send { group: GroupId(9), payload }));
        assert!(matches!(refused[..], [Effect::Emit { event: Event::Refused(Refusal::NotAMember), .. }]));
    }

    #[test]
    fn se_2_a_message_for_another_group_is_dropped() {
        let mut multi_group = started_node_2();
        let acknowledgement =
            Envelope { epoch: Epoch(1), content: Content::Inner(Message::Acknowledgement([1, 1].into())) };
        let before = multi_group.clone();
        step(
            &mut multi_group,
            Input::Message {
                from: node(3),
                message: Addressed { group: GroupId(9), content: acknowledgement.clone() },
            },
        );
        assert_eq!(multi_group, before);
        step(
            &mut multi_group,
            Input::Message { from: node(3), message: Addressed { group: GroupId(2), content: acknowledgement } },
        );
        assert_ne!(multi_group, before);
    }

    #[test]
    fn se_3_a_view_is_restricted_to_the_members_of_each_group() {
        let mut multi_group = started_node_2();
        let first = Stay { incarnation: Incarnation::FIRST, since: View::FIRST };
        let without_node_3 = View::new(Epoch(2), [(node(1), first), (node(2), first)]);
        let sent = step(&mut multi_group, Input::View(without_node_3));
        assert_eq!(views(&sent), [(GroupId(2), Epoch(2))], "in group 2 the node is alone now, and waits for no report");
        let reports: Vec<_> = sent
            .iter()
            .filter_map(|effect| match effect {
                Effect::Multicast { to, message: Addressed { group, .. }, .. } => Some((*group, to.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(reports, [(GroupId(1), [node(1), node(2)].into_iter().collect())]);
    }
}
