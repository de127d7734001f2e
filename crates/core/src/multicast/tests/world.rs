//! A small world for members of a group: links that keep the order, nodes that die at any moment, and a service that decides views.
//!
//! What happens next is drawn from a seed. When the seed has had its say the world is left in peace: everyone who is dead is noticed, everything
//! under way arrives, and [`judge`](super::judge) reads what each member told its user.

use crate::effects::{Effect, Effects};
use crate::group::{Epoch, Group};
use crate::multicast::{Begin, Board, Command, Event, Member, Payload, Plan};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use crate::view::{Stay, View};
use crate::wrap::Viewed;
use alloc::sync::Arc;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::format;
use std::string::String;
use std::vec::Vec;

pub(in crate::multicast) type Life = (NodeId, Incarnation);

type Node = Viewed<Member<Board>>;

#[derive(Clone, Debug)]
pub(in crate::multicast) struct Climate {
    pub(in crate::multicast) steps: usize,
    pub(in crate::multicast) crashes: usize,
    pub(in crate::multicast) joins: usize,
    pub(in crate::multicast) leaves: usize,
    pub(in crate::multicast) evictions: usize,
    /// Views that change nothing, as after a change that was taken back.
    pub(in crate::multicast) views: usize,
}

pub(in crate::multicast) struct World {
    plan: Arc<Plan>,
    begin: Begin,
    pub(in crate::multicast) nodes: BTreeMap<Life, Node>,
    pub(in crate::multicast) logs: BTreeMap<Life, Vec<Event>>,
    pub(in crate::multicast) dead: BTreeSet<Life>,
    links: BTreeMap<(Life, Life), VecDeque<<Node as Protocol>::Message>>,
    /// The latest view that was decided, and what each node has still to hear.
    pub(in crate::multicast) view: View,
    news: BTreeMap<Life, VecDeque<View>>,
    said: u64,
    dice: Dice,
    pub(in crate::multicast) most_kept: usize,
}

pub(in crate::multicast) struct Dice(u64);

impl Dice {
    pub(in crate::multicast) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % (sides.max(1) as u64)).unwrap_or(0)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.roll(from.len())).copied()
    }
}

impl World {
    /// A group of so many founders, of which the last few are not in yet.
    pub(in crate::multicast) fn new(plan: Plan, seed: u64, begin: Begin) -> Self {
        let founders = plan.members.clone();
        let plan = Arc::new(plan);
        let mut world = Self {
            plan,
            begin,
            nodes: BTreeMap::new(),
            logs: BTreeMap::new(),
            dead: BTreeSet::new(),
            links: BTreeMap::new(),
            view: View::founding(founders.clone()),
            news: BTreeMap::new(),
            said: 0,
            dice: Dice(seed),
            most_kept: 0,
        };
        for node in founders.iter() {
            world.boot((node, Incarnation::FIRST));
            world.news.insert((node, Incarnation::FIRST), VecDeque::from([world.view.clone()]));
        }
        world
    }

    fn boot(&mut self, life: Life) {
        let member = Member::new(life.0, Arc::clone(&self.plan), self.begin);
        self.nodes.insert(life, Viewed::new(life.0, member));
        self.logs.insert(life, Vec::new());
        self.input(life, Input::Start { durable: (), incarnation: life.1 });
    }

    pub(in crate::multicast) fn input(&mut self, life: Life, input: Input<Node>) {
        let Some(node) = self.nodes.get_mut(&life) else { return };
        let mut effects = Vec::new();
        node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        self.most_kept = self.most_kept.max(node.inner().kept());
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.post(life, to, message),
                Effect::Multicast { to, message, .. } => {
                    to.others(life.0).for_each(|to| self.post(life, to, message.clone()));
                }
                Effect::Emit { event, .. } => self.logs.entry(life).or_default().push(event),
                Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
    }

    fn post(&mut self, from: Life, to: NodeId, message: <Node as Protocol>::Message) {
        assert_ne!(from.0, to, "nobody sends to itself");
        // A link leads to the life of the node that is up now.
        if let Some(to) = self.nodes.keys().copied().filter(|(node, _)| *node == to).max() {
            self.links.entry((from, to)).or_default().push_back(message);
        }
    }

    pub(in crate::multicast) fn up(&self) -> Vec<Life> {
        self.nodes.keys().copied().filter(|life| !self.dead.contains(life)).collect()
    }

    fn is_member(&self, life: Life) -> bool {
        self.view.stay(life.0).is_some_and(|stay| stay.incarnation == life.1)
    }

    /// The links on which something is under way to somebody who is up.
    fn busy(&self) -> Vec<(Life, Life)> {
        let links = self.links.iter().filter(|((_, to), link)| !link.is_empty() && !self.dead.contains(to));
        links.map(|(ends, _)| *ends).collect()
    }

    pub(in crate::multicast) fn arrive(&mut self, (from, to): (Life, Life)) {
        if let Some(message) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
            self.input(to, Input::Message { from: from.0, message });
        }
    }

    /// The next thing that a node hears of the service, perhaps past something that it never hears of.
    fn inform(&mut self, life: Life) {
        let skips = self.dice.roll(4) == 0;
        self.tell(life, skips);
    }

    /// The next view that a node hears of, or the latest one.
    pub(in crate::multicast) fn tell(&mut self, life: Life, skips: bool) {
        let Some(news) = self.news.get_mut(&life) else { return };
        let Some(first) = news.pop_front() else { return };
        let view = if skips { news.drain(..).next_back().unwrap_or(first) } else { first };
        let is_in = view.stay(life.0).is_some_and(|stay| stay.incarnation == life.1);
        self.input(life, Input::View(view));
        if is_in {
            self.input(life, Input::Lease(Time::from_nanos(1 << 40)));
        }
    }

    pub(in crate::multicast) fn say(&mut self, life: Life) {
        self.said += 1;
        let text = format!("{} of {}", self.said, life.0);
        self.input(life, Input::Command(Command::send(Payload::from(text))));
    }

    /// What it had sent is lost from some point on, on each link another one.
    pub(in crate::multicast) fn crash(&mut self, life: Life) {
        self.dead.insert(life);
        self.news.remove(&life);
        for ((from, _), link) in &mut self.links {
            if *from == life {
                link.truncate(self.dice.roll(link.len() + 1));
            }
        }
    }

    /// It dies, and all that it had under way is lost.
    pub(in crate::multicast) fn cut(&mut self, life: Life) {
        self.crash(life);
        self.links.retain(|(from, _), _| *from != life);
    }

    /// A node that was never there comes in with the next view.
    pub(in crate::multicast) fn join(&mut self, life: Life) {
        self.boot(life);
        self.decide(&[life], &[]);
    }

    /// The service decides the next view: who is dead is out, and these come and go.
    pub(in crate::multicast) fn decide(&mut self, joins: &[Life], leaves: &[Life]) {
        let epoch = Epoch(self.view.epoch().0 + 1);
        let gone = |life: &Life| self.dead.contains(life) || leaves.contains(life);
        let stays = self.view.stays();
        let stays = stays.filter(|(node, stay)| !gone(&(*node, stay.incarnation)));
        let mut stays: Vec<_> = stays.collect();
        stays.extend(joins.iter().map(|life| (life.0, Stay { incarnation: life.1, since: epoch })));
        self.view = View::new(epoch, stays);
        for life in self.up() {
            self.news.entry(life).or_default().push_back(self.view.clone());
        }
    }

    fn rejoins(&mut self) -> Vec<Life> {
        let waiting: Vec<_> = self.up().into_iter().filter(|life| !self.is_member(*life)).collect();
        let has_left =
            |life: &Life| self.logs.get(life).is_some_and(|log| log.iter().any(|e| matches!(e, Event::Left { .. })));
        waiting.into_iter().filter(|life| !has_left(life)).collect()
    }

    pub(in crate::multicast) fn storm(&mut self, climate: &Climate) {
        let mut left = climate.clone();
        for _ in 0..climate.steps {
            let up = self.up();
            match self.dice.roll(40) {
                0..=6 => {
                    if let Some(life) = self.dice.pick(&up) {
                        self.say(life);
                    }
                }
                7..=10 => {
                    if let Some(life) = self.dice.pick(&up) {
                        self.inform(life);
                    }
                }
                11 if left.crashes > 0 && up.len() > 1 => {
                    left.crashes -= 1;
                    if let Some(life) = self.dice.pick(&up) {
                        self.crash(life);
                    }
                }
                12 | 13 if self.view.stays().any(|(node, stay)| self.dead.contains(&(node, stay.incarnation))) => {
                    let joins = if self.dice.roll(2) == 0 { self.rejoins() } else { Vec::new() };
                    self.decide(&joins, &[]);
                }
                14 if left.joins > 0 => {
                    left.joins -= 1;
                    self.revive();
                    let joins = self.rejoins();
                    if !joins.is_empty() {
                        self.decide(&joins, &[]);
                    }
                }
                15 if left.leaves > 0 && up.len() > 2 => {
                    left.leaves -= 1;
                    if let Some(life) = self.dice.pick(&up) {
                        self.input(life, Input::Command(Command::leave()));
                    }
                }
                16 => self.dismiss(),
                18 | 19 if left.views > 0 => {
                    left.views -= 1;
                    self.decide(&[], &[]);
                }
                17 if left.evictions > 0 && up.len() > 2 => {
                    left.evictions -= 1;
                    if let Some(life) = self.dice.pick(&up).filter(|life| self.is_member(*life)) {
                        self.input(life, Input::Lease(Time::from_nanos(-1)));
                        self.decide(&[], &[life]);
                    }
                }
                _ => {
                    let busy = self.busy();
                    if let Some(ends) = self.dice.pick(&busy) {
                        self.arrive(ends);
                    }
                }
            }
        }
    }

    fn revive(&mut self) {
        let dead: Vec<_> =
            self.dead.iter().copied().filter(|life| !self.nodes.contains_key(&(life.0, life.1.next()))).collect();
        let life = match self.dice.pick(&dead) {
            Some((node, incarnation)) if !self.is_member((node, incarnation)) => (node, incarnation.next()),
            Some(_) => return,
            None => {
                let next = self.nodes.keys().map(|(node, _)| node.index()).max().map_or(0, |last| last + 1);
                if next > 6 {
                    return;
                }
                (NodeId::from_index(next), Incarnation::FIRST)
            }
        };
        self.boot(life);
    }

    fn dismiss(&mut self) {
        let has_left = |log: &Vec<Event>| log.iter().any(|event| matches!(event, Event::Left { .. }));
        let left = self.logs.iter().filter(|(life, log)| self.is_member(**life) && has_left(log));
        let left: Vec<_> = left.map(|(life, _)| *life).collect();
        if !left.is_empty() {
            self.decide(&[], &left);
        }
    }

    /// Nothing happens any more but what must: whoever is in the last view has a last word there.
    pub(in crate::multicast) fn peace(&mut self) {
        self.decide(&[], &[]);
        self.rest();
        self.members().into_iter().for_each(|life| self.say(life));
        self.rest();
    }

    /// Everything under way arrives, and everyone hears what there is to hear.
    pub(in crate::multicast) fn rest(&mut self) {
        for _ in 0..1_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("there is no end of messages");
    }

    /// Something that is under way arrives, if anything is.
    pub(in crate::multicast) fn step(&mut self) -> bool {
        let informed: Vec<_> = self.news.iter().filter(|(_, news)| !news.is_empty()).map(|(life, _)| *life).collect();
        let busy = self.busy();
        let choice = self.dice.roll(informed.len() + busy.len());
        if let Some(life) = informed.get(choice) {
            self.inform(*life);
        } else if let Some(ends) = choice.checked_sub(informed.len()).and_then(|place| busy.get(place)) {
            self.arrive(*ends);
        }
        !informed.is_empty() || !busy.is_empty()
    }

    /// What each of those is who are in the last view.
    pub(in crate::multicast) fn members(&self) -> Vec<Life> {
        self.view.stays().map(|(node, stay)| (node, stay.incarnation)).collect()
    }

    pub(in crate::multicast) fn story(&self) -> String {
        let mut story = String::new();
        for (life, log) in &self.logs {
            let fate = if self.dead.contains(life) { " (dead)" } else { "" };
            story += &format!("{} life {:?}{fate}\n", life.0, life.1);
            for event in log {
                story += &format!("    {event}\n");
            }
        }
        story + &format!("in the end: {}\n", self.view)
    }

    pub(in crate::multicast) const fn group(&self) -> &Group {
        self.view.members()
    }
}
