//! How each node stands as a run goes by: outside, waiting, inside; following, leading; paused, down.

use crate::moment::{Happening, Moment, Observer, Taken};
use quorate_core::NodeId;

/// How a node stands. What that means, each family says in its own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// It wants nothing, and has nothing to do with what the others want.
    #[default]
    Idle,
    /// It wants something, and waits for it.
    Waiting,
    /// It knows and accepts that another one is chosen.
    Follows,
    /// It is the one: inside, or the leader.
    Chosen,
    /// Up, but standing still.
    Paused,
    Down,
}

impl Role {
    /// Its sign in a trace.
    pub const fn sign(self) -> char {
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

/// How a node stands after this moment, if that may be another way than before. The second argument says how each node
/// stood; it is empty for groups that are too large to show.
pub type Stands<C, E> = fn(&Moment<'_, C, E>, &[Role]) -> Option<(NodeId, Role)>;

/// Keeps track of how every node stands.
pub struct Roles<C, E> {
    stands: Stands<C, E>,
    /// How each one stands as far as its family is concerned.
    standings: Vec<Role>,
    paused: Vec<bool>,
    down: Vec<bool>,
}

impl<C, E> Roles<C, E> {
    /// All nodes of a group of this size, before anything has happened.
    pub fn new(nodes: usize, stands: Stands<C, E>) -> Self {
        Self { stands, standings: vec![Role::Idle; nodes], paused: vec![false; nodes], down: vec![false; nodes] }
    }

    /// How a node stands.
    pub fn of(&self, node: NodeId) -> Role {
        let index = node.index();
        match (self.paused.get(index), self.down.get(index)) {
            (_, Some(true)) => Role::Down,
            (Some(true), _) => Role::Paused,
            (_, _) => self.standings.get(index).copied().unwrap_or_default(),
        }
    }

    /// How a node stands as far as its family is concerned, even while it stands still.
    pub fn standing(&self, node: NodeId) -> Role {
        self.standings.get(node.index()).copied().unwrap_or_default()
    }

    /// How all of them stand.
    pub fn all(&self) -> impl Iterator<Item = Role> + '_ {
        (0..self.standings.len()).map(|index| self.of(NodeId::from_index(index)))
    }
}

fn set(flags: &mut [bool], node: NodeId, value: bool) {
    if let Some(flag) = flags.get_mut(node.index()) {
        *flag = value;
    }
}

impl<C, E> Observer<C, E> for Roles<C, E> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        if let Some((node, role)) = (self.stands)(moment, &self.standings)
            && let Some(standing) = self.standings.get_mut(node.index())
        {
            *standing = role;
        }
        match moment {
            Moment::World { what: Happening::Paused { node }, .. } => set(&mut self.paused, *node, true),
            Moment::World { what: Happening::Resumed { node }, .. } => set(&mut self.paused, *node, false),
            Moment::Input { node, input: Taken::Start { .. }, .. } => {
                set(&mut self.paused, *node, false);
                set(&mut self.down, *node, false);
            }
            Moment::World { what: Happening::Crashed { node, .. } | Happening::Ended { node }, .. } => {
                set(&mut self.paused, *node, false);
                set(&mut self.down, *node, true);
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}
