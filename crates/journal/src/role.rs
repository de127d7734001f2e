//! The role of each node during a run: idle, waiting, holding the lock; following, leading; paused,
//! down.

use crate::moment::{Moment, ObservedInput, Observer, WorldEvent};
use quorate_core::NodeId;

/// The role of a node. Each family of algorithms defines how it uses the variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// The node has no request, and no leader that it follows.
    #[default]
    Idle,
    /// The node has a request that is still pending.
    Waiting,
    /// The node follows a [`Chosen`](Self::Chosen) node.
    Follows,
    /// The node holds the lock or is the leader.
    Chosen,
    /// The node is up but paused.
    Paused,
    Down,
}

impl Role {
    /// Returns the symbol of the role in a trace.
    pub const fn symbol(self) -> char {
        match self {
            Self::Idle => '·',
            Self::Waiting => '?',
            Self::Follows => '○',
            Self::Chosen => '█',
            Self::Paused => '‖',
            Self::Down => '✗',
        }
    }
}

/// Returns the node whose role a moment changes or confirms, with that role. The second argument is
/// the role of each node before the moment; it is empty for groups that are too large to show.
pub type RoleUpdate<C, E> = fn(&Moment<'_, C, E>, &[Role]) -> Option<(NodeId, Role)>;

/// Tracks the role of every node.
pub struct Roles<C, E> {
    update: RoleUpdate<C, E>,
    /// The role of each node as its family defines it, without pauses and crashes.
    family_roles: Vec<Role>,
    paused: Vec<bool>,
    down: Vec<bool>,
}

impl<C, E> Roles<C, E> {
    /// Creates the roles of a group of this size, all [`Role::Idle`].
    pub fn new(nodes: usize, update: RoleUpdate<C, E>) -> Self {
        Self { update, family_roles: vec![Role::Idle; nodes], paused: vec![false; nodes], down: vec![false; nodes] }
    }

    /// Returns the role of a node.
    pub fn role(&self, node: NodeId) -> Role {
        let index = node.index();
        match (self.paused.get(index), self.down.get(index)) {
            (_, Some(true)) => Role::Down,
            (Some(true), _) => Role::Paused,
            (_, _) => self.family_roles.get(index).copied().unwrap_or_default(),
        }
    }

    /// Returns the role of a node as its family defines it, also while the node is paused or down.
    pub fn family_role(&self, node: NodeId) -> Role {
        self.family_roles.get(node.index()).copied().unwrap_or_default()
    }

    /// Returns the role of each node, in the order of node numbers.
    pub fn all(&self) -> impl Iterator<Item = Role> + '_ {
        (0..self.family_roles.len()).map(|index| self.role(NodeId::from_index(index)))
    }
}

fn set_flag(flags: &mut [bool], node: NodeId, value: bool) {
    if let Some(flag) = flags.get_mut(node.index()) {
        *flag = value;
    }
}

impl<C, E> Observer<C, E> for Roles<C, E> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        if let Some((node, role)) = (self.update)(moment, &self.family_roles)
            && let Some(family_role) = self.family_roles.get_mut(node.index())
        {
            *family_role = role;
        }
        match moment {
            Moment::World { event: WorldEvent::Paused { node }, .. } => set_flag(&mut self.paused, *node, true),
            Moment::World { event: WorldEvent::Resumed { node }, .. } => set_flag(&mut self.paused, *node, false),
            Moment::Input { node, input: ObservedInput::Start { .. }, .. } => {
                set_flag(&mut self.paused, *node, false);
                set_flag(&mut self.down, *node, false);
            }
            Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
                set_flag(&mut self.paused, *node, false);
                set_flag(&mut self.down, *node, true);
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}
