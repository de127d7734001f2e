//! The users of the election family: each starts so many runs, and one more whenever the leader it knows is dead.
//!
//! Nobody need start. But whoever hears that the leader it follows is gone starts anew, sooner or later: users notice that a leader answers
//! nobody. What goes wrong while a run is under way is for the algorithm to notice.

use crate::election::run::Expectation;
use quorate_check::{Judge, Judged, News, Offer, Past, Property, Story, Users};
use quorate_core::election::{Command, Event};
use quorate_core::{Epoch, Group, NodeId, Time};

#[derive(Clone, Debug)]
pub struct Voters {
    pub starters: Group,
    /// How many runs each of them starts so; without end if not given.
    pub rounds: Option<u8>,
    /// How often each user starts anew because its leader is gone.
    pub recalls: u8,
    pub resignations: u8,
    /// Leaders lead by leases, of which no two may be valid at once.
    pub leases: bool,
    pub expects: Expectation,
}

impl Voters {
    /// Everyone of a group of this size may start once, and anew up to twice for each crash.
    pub fn new(nodes: usize) -> Self {
        Self {
            starters: Group::of_size(nodes),
            rounds: Some(1),
            recalls: 2,
            resignations: 0,
            leases: false,
            expects: Expectation::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Voter {
    node: NodeId,
    belief: Belief,
    /// It asked for something, and was told nothing since.
    spoke: bool,
    left: Option<u8>,
    recalls: u8,
    resignations: u8,
    /// Whom it takes for dead, one bit a node.
    gone: u16,
    /// The latest epoch that its node told of, in its present life.
    latest: Option<Epoch>,
    /// The latest epoch whose winner it was told, in any life.
    known: Option<Epoch>,
    /// Up to when its node may lead, by that one's clock.
    term: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Belief {
    Idle,
    Asked,
    /// Its node takes part in a run, or has lost its leader.
    Unaware,
    Knows {
        leader: NodeId,
        epoch: Epoch,
    },
    Down,
}

const EPOCHS_GROW: u8 = 1;

/// What users show: nothing, that their nodes are down, that they know no leader, or whom they know.
const IDLE: u64 = 0;
const DOWN: u64 = 1;
const UNAWARE: u64 = 2;
const KNOWS: u64 = 3;

impl Voter {
    fn is_orphaned(&self) -> bool {
        matches!(self.belief, Belief::Knows { leader, .. } if self.gone >> leader.index() & 1 == 1)
    }

    fn leads(&self) -> bool {
        matches!(self.belief, Belief::Knows { leader, .. } if leader == self.node)
    }

    /// Its node tells of an epoch, which must not be smaller than this.
    fn grows(&mut self, epoch: Epoch, least: Option<Epoch>, story: &mut Story) {
        if least.is_some_and(|least| epoch < least) {
            story.breach = Some(EPOCHS_GROW);
        }
        self.latest = self.latest.max(Some(epoch));
    }

    fn asks(&mut self, command: Command) {
        match command {
            Command::Campaign if self.is_orphaned() => self.recalls = self.recalls.saturating_sub(1),
            Command::Campaign => self.left = self.left.map(|left| left.saturating_sub(1)),
            Command::Resign => self.resignations = self.resignations.saturating_sub(1),
        }
        if self.belief == Belief::Idle {
            self.belief = Belief::Asked;
        }
    }

    fn is_told(&mut self, event: &Event, leases: bool, story: &mut Story) {
        match *event {
            Event::Began { epoch } => {
                self.grows(epoch, self.latest, story);
                (self.belief, self.term) = (Belief::Unaware, None);
            }
            Event::Elected { leader, epoch, until } => {
                self.grows(epoch, self.latest.max(self.known), story);
                self.known = self.known.max(Some(epoch));
                self.belief = Belief::Knows { leader, epoch };
                self.term = (leases && self.leads()).then_some(until);
                let epoch = u32::try_from(epoch.0).unwrap_or(u32::MAX);
                story.past.push(Past::Elects { epoch, leader: leader.index() as u32 });
            }
            Event::Extended { until } => self.term = (leases && self.leads()).then_some(until),
            Event::Ended { .. } => (self.belief, self.term) = (Belief::Unaware, None),
            Event::Refused(_) if self.belief == Belief::Asked => self.belief = Belief::Idle,
            Event::Refused(_) => {}
        }
    }
}

impl Users for Voters {
    type Command = Command;
    type Event = Event;
    type User = Voter;

    fn begin(&self, node: NodeId) -> Voter {
        Voter {
            node,
            belief: Belief::Idle,
            spoke: false,
            left: if self.starters.contains(node) { self.rounds } else { Some(0) },
            recalls: self.recalls,
            resignations: self.resignations,
            gone: 0,
            latest: None,
            known: None,
            term: None,
        }
    }

    fn offers(&self, user: &Voter) -> Vec<Offer<Command>> {
        let mut offers = Vec::new();
        let mut offer = |command, obliged| offers.push(Offer { command, obliged });
        if user.belief == Belief::Down || user.spoke {
            return offers;
        }
        if user.is_orphaned() {
            if user.recalls > 0 {
                offer(Command::Campaign, true);
            }
        } else if user.left != Some(0) {
            offer(Command::Campaign, false);
        }
        if user.leads() && user.resignations > 0 {
            offer(Command::Resign, false);
        }
        offers
    }

    fn hear(&self, user: &mut Voter, news: News<'_, Command, Event>, story: &mut Story) {
        user.spoke = match news {
            News::Commands(_) => true,
            News::Told(_) | News::Crashed | News::Restarted => false,
            News::Gone(_) | News::Back(_) => user.spoke,
        };
        match news {
            News::Commands(command) => user.asks(*command),
            News::Told(event) => user.is_told(event, self.leases, story),
            News::Crashed => {
                (user.belief, user.term, user.latest, user.gone) = (Belief::Down, None, None, 0);
            }
            News::Restarted => user.belief = Belief::Idle,
            News::Gone(node) => user.gone |= 1 << node.index(),
            News::Back(node) => user.gone &= !(1 << node.index()),
        }
    }

    fn waits(&self, _user: &Voter) -> bool {
        false
    }

    fn facet(&self, user: &Voter, acts: bool) -> u64 {
        match user.belief {
            _ if !acts => IDLE,
            Belief::Idle => IDLE,
            Belief::Down => DOWN,
            Belief::Asked | Belief::Unaware => UNAWARE,
            Belief::Knows { leader, epoch } => KNOWS | (leader.index() as u64) << 8 | epoch.0 << 16,
        }
    }

    fn accord(&self) -> Option<Judge> {
        Some(match self.expects {
            Expectation::OneForAll => agree,
            Expectation::OneForEach => all_know_one,
        })
    }

    fn term(&self, user: &Voter) -> Option<Time> {
        user.term
    }

    fn properties(&self) -> Vec<Property> {
        let property = |name, judged| Property { name, judged };
        let mut properties =
            vec![property("one-leader-an-epoch", Judged::ByResults), property("epochs-grow", Judged::ByStep)];
        debug_assert_eq!(properties.len(), usize::from(EPOCHS_GROW) + 1);
        if self.leases {
            properties.push(property("one-master", Judged::ByTerms));
        }
        properties.push(property("agreed", Judged::ByFairRuns));
        properties
    }
}

/// Whether all live nodes know one and the same live leader, or nobody who lives has begun anything.
fn agree(facets: &[u64]) -> bool {
    let mut live = facets.iter().filter(|facet| **facet != DOWN);
    let first = live.clone().next();
    live.all(|facet| Some(facet) == first) && all_know_one(facets)
}

/// Whether every live node knows a live leader, or nobody who lives has begun anything.
fn all_know_one(facets: &[u64]) -> bool {
    let live = || facets.iter().filter(|facet| **facet != DOWN);
    let leader = |facet: &u64| facets.get((*facet >> 8 & 0xff) as usize);
    let knows_one = |facet: &u64| *facet & 0xff == KNOWS && leader(facet).is_some_and(|facet| *facet != DOWN);
    live().all(|facet| *facet == IDLE) || live().all(knows_one)
}
