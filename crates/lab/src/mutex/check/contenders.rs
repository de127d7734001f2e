//! The users of the mutual-exclusion family: each asks so many times, enters, leaves.
//!
//! ```
//! use quorate_lab::mutex::check::Contenders;
//! use quorate_check::{Checker, Effort, Search, Setup};
//! use quorate_core::Group;
//! use quorate_core::mutex::RicartAgrawala;
//! use std::sync::Arc;
//!
//! let group = Group::of_size(2);
//! let users = Contenders { fences: true, order: true, ..Contenders::default() };
//! let make = Arc::new(move |me| RicartAgrawala::new(me, group.clone()));
//! let mut checker = Checker::new(make, users, Setup::new(2))?;
//! let effort = Effort {
//!     search: Search::Breadth,
//!     threads: 1,
//!     memory: 1 << 30,
//!     reduce: true,
//!     first: false,
//!     properties: None,
//! };
//! let findings = checker.run(&effort, &mut |_, _| true);
//! assert!(findings.is_complete() && !findings.is_broken());
//! # Ok::<(), quorate_check::CheckError>(())
//! ```

use quorate_check::{Judged, News, Offer, Past, Property, Story, Users};
use quorate_core::mutex::{Access, Command, Event, Service};
use quorate_core::{Fence, NodeId};

#[derive(Clone, Copy, Debug)]
pub struct Contenders {
    /// How many requests each node makes; without end if not given.
    pub rounds: Option<u8>,
    pub tries: bool,
    pub cancels: bool,
    pub readers: bool,
    /// Those who only read may be inside together.
    pub shares: bool,
    /// Every entry must have a larger fence than all before it.
    pub fences: bool,
    /// Requests must be served in happened-before order.
    pub order: bool,
    pub service: Service,
    /// The group has views, so that an answer may take its time: whoever asked to leave, or gave up, waits for it.
    pub views: bool,
}

impl Default for Contenders {
    /// Each node asks once, to enter alone, and must be served.
    fn default() -> Self {
        Self {
            rounds: Some(1),
            tries: false,
            cancels: false,
            readers: false,
            shares: false,
            fences: false,
            order: false,
            service: Service::Certain,
            views: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Contender {
    standing: Standing,
    access: Access,
    left: Option<u8>,
    /// It asked to leave, or gave up, and waits for the answer.
    spoke: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    Outside,
    Waiting,
    Inside,
    Stranded,
}

const EXCLUSION: u8 = 0;
const ASKED_FIRST: u8 = 1;
/// What one inside shows who shares, and one who does not: more than all who share show together.
const SHARES: u64 = 1;
const EXCLUDES: u64 = 1 << 16;

impl Users for Contenders {
    type Command = Command;
    type Event = Event;
    type User = Contender;

    fn begin(&self, _node: NodeId) -> Contender {
        Contender { standing: Standing::Outside, access: Access::Exclusive, left: self.rounds, spoke: false }
    }

    fn offers(&self, user: &Contender) -> Vec<Offer<Command>> {
        let offer = |command, obliged| Offer { command, obliged };
        match user.standing {
            Standing::Waiting | Standing::Inside if user.spoke => Vec::new(),
            Standing::Outside if user.left == Some(0) => Vec::new(),
            Standing::Outside => {
                let asks = [(true, Command::Acquire), (self.tries, Command::Try), (self.readers, Command::Share)];
                asks.into_iter().filter(|(may, _)| *may).map(|(_, command)| offer(command, false)).collect()
            }
            Standing::Waiting if self.cancels => vec![offer(Command::Cancel, false)],
            Standing::Waiting | Standing::Stranded => Vec::new(),
            Standing::Inside => vec![offer(Command::Release, true)],
        }
    }

    fn hear(&self, user: &mut Contender, news: News<'_, Command, Event>, story: &mut Story) {
        let waited = user.standing == Standing::Waiting;
        user.spoke = match news {
            News::Commands(Command::Cancel | Command::Release) => self.views,
            News::Told(Event::Extended { .. }) => user.spoke,
            News::Gone(_) | News::Back(_) => user.spoke,
            News::Commands(_) | News::Told(_) | News::Crashed | News::Restarted => false,
        };
        match news {
            News::Commands(command @ (Command::Acquire | Command::Try | Command::Share)) => {
                user.standing = Standing::Waiting;
                user.access = match command {
                    Command::Share if self.shares => Access::Shared,
                    _ => Access::Exclusive,
                };
                user.left = user.left.map(|left| left.saturating_sub(1));
                story.past.push(Past::Asks(user.access));
            }
            News::Commands(Command::Cancel | Command::Release) => {}
            News::Told(Event::Entered { fence, .. }) => {
                if !waited {
                    story.breach = Some(ASKED_FIRST);
                }
                user.standing = Standing::Inside;
                story.past.push(Past::Enters(packed(*fence), user.access));
            }
            News::Told(Event::Left | Event::Lost | Event::Denied | Event::Cancelled) => {
                user.standing = Standing::Outside;
                user.access = Access::Exclusive;
                if waited {
                    story.past.push(Past::Ends);
                }
            }
            News::Told(Event::Extended { .. } | Event::Refused(_)) | News::Gone(_) | News::Back(_) => {}
            News::Crashed => {
                user.standing = Standing::Stranded;
                user.access = Access::Exclusive;
                if waited {
                    story.past.push(Past::Ends);
                }
            }
            News::Restarted => user.standing = Standing::Outside,
        }
    }

    fn waits(&self, user: &Contender) -> bool {
        user.standing == Standing::Waiting
    }

    /// Whoever may not act is not inside, whatever its user has not heard yet.
    fn facet(&self, user: &Contender, acts: bool) -> u64 {
        match (user.standing, user.access) {
            _ if !acts => 0,
            (Standing::Inside, Access::Exclusive) => EXCLUDES,
            (Standing::Inside, Access::Shared) => SHARES,
            (Standing::Outside | Standing::Waiting | Standing::Stranded, _) => 0,
        }
    }

    fn properties(&self) -> Vec<Property> {
        let property = |name, judged| Property { name, judged };
        let one_inside = |facets: &[u64]| facets.iter().sum::<u64>() <= EXCLUDES;
        let mut properties =
            vec![property("exclusion", Judged::ByState(one_inside)), property("asked-first", Judged::ByStep)];
        debug_assert_eq!(properties.len(), usize::from(ASKED_FIRST) + 1);
        debug_assert_eq!(EXCLUSION, 0);
        if self.fences {
            properties.push(property("fences-grow", Judged::ByFences));
        }
        if self.order {
            properties.push(property("happened-before-order", Judged::ByOrder));
        }
        if self.service != Service::Doubtful {
            properties.push(property("no-deadlock", Judged::ByDeadlock));
        }
        if self.service == Service::Certain {
            properties.push(property("served", Judged::ByFairRuns));
        }
        properties
    }
}

/// A fence in one word; no run of a checker counts further than fits.
fn packed(fence: Fence) -> u64 {
    fence.epoch.0 << 32 | (fence.counter & 0xffff_ffff)
}
