//! An order of seats in which a few can be moved elsewhere at little cost.
//!
//! A list whose members have labels that grow along it, so that two of them compare by one look. Whoever moves takes a label between those of
//! its new neighbours. Where there is none left, the members around get new labels: of the stretches of labels around the place, each twice
//! the one before, the first is taken that is not too full, and its members are spread evenly. What counts as full is less for longer
//! stretches, so that a stretch stays roomy for as many moves as its spreading cost: a move costs O(log n) new labels, averaged over all
//! (Dietz and Sleator 1987; Bender and others 2002).

use super::arena::Seat;
use alloc::vec::Vec;

/// What stands before the first and after the last.
const NOBODY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Order {
    spots: Vec<Spot>,
    first: u32,
    last: u32,
    /// Labels are below two to the power of this.
    bits: u32,
}

#[derive(Clone, Copy, Debug)]
struct Spot {
    label: u64,
    before: u32,
    after: u32,
}

impl Default for Order {
    fn default() -> Self {
        Self::with_bits(62)
    }
}

impl Order {
    /// An order with labels of so many bits. It holds (3/2)^bits seats with ease.
    pub(super) const fn with_bits(bits: u32) -> Self {
        Self { spots: Vec::new(), first: NOBODY, last: NOBODY, bits }
    }

    /// Where a seat stands: of two, the one with the lesser label comes first.
    pub(super) fn label(&self, seat: Seat) -> u64 {
        self.spots.get(seat.index()).map_or(0, |spot| spot.label)
    }

    pub(super) fn is_before(&self, one: Seat, other: Seat) -> bool {
        self.label(one) < self.label(other)
    }

    pub(super) fn push_first(&mut self, seat: Seat) {
        let next = self.first;
        let below = self.at(next).map_or(1 << (self.bits - 1), |spot| spot.label);
        let stride = self.stride().min(below.div_ceil(2));
        self.string(NOBODY, next, &[seat]);
        if stride > 0 && stride <= below {
            self.set_label(seat.0, below - stride);
        } else {
            self.make_room(seat.0, next, next);
        }
    }

    pub(super) fn push_last(&mut self, seat: Seat) {
        let previous = self.last;
        let above = self.at(previous).map_or(1 << (self.bits - 1), |spot| spot.label);
        let space = (1 << self.bits) - 1 - above;
        let stride = self.stride().min(space.div_ceil(2));
        self.string(previous, NOBODY, &[seat]);
        if stride > 0 {
            self.set_label(seat.0, above + stride);
        } else {
            self.make_room(previous, seat.0, previous);
        }
    }

    pub(super) fn remove(&mut self, seat: Seat) {
        let Some(spot) = self.at(seat.0).copied() else { return };
        self.join(spot.before, spot.after);
    }

    pub(super) fn move_first(&mut self, seat: Seat) {
        self.remove(seat);
        self.push_first(seat);
    }

    pub(super) fn move_last(&mut self, seat: Seat) {
        self.remove(seat);
        self.push_last(seat);
    }

    /// Some go right before another one, in the order in which they are told.
    pub(super) fn move_before(&mut self, anchor: Seat, seats: &[Seat]) {
        seats.iter().for_each(|seat| self.remove(*seat));
        let before = self.at(anchor.0).map_or(NOBODY, |spot| spot.before);
        self.insert(before, anchor.0, seats);
    }

    /// Some go right after another one, in the order in which they are told.
    pub(super) fn move_after(&mut self, anchor: Seat, seats: &[Seat]) {
        seats.iter().for_each(|seat| self.remove(*seat));
        let after = self.at(anchor.0).map_or(NOBODY, |spot| spot.after);
        self.insert(anchor.0, after, seats);
    }

    /// How far those at the ends stand from each other. It leaves room between them, and for 2^41 of them on each side.
    const fn stride(&self) -> u64 {
        1 << (self.bits / 3)
    }

    fn at(&self, place: u32) -> Option<&Spot> {
        self.spots.get(place as usize)
    }

    fn set_label(&mut self, place: u32, label: u64) {
        if let Some(spot) = self.spots.get_mut(place as usize) {
            spot.label = label;
        }
    }

    fn join(&mut self, before: u32, after: u32) {
        match self.spots.get_mut(before as usize) {
            Some(spot) => spot.after = after,
            None => self.first = after,
        }
        match self.spots.get_mut(after as usize) {
            Some(spot) => spot.before = before,
            None => self.last = before,
        }
    }

    /// Puts some between two neighbours, without labels.
    fn string(&mut self, before: u32, after: u32, seats: &[Seat]) {
        let mut last = before;
        for seat in seats {
            if self.spots.len() <= seat.index() {
                self.spots.resize(seat.index() + 1, Spot { label: 0, before: NOBODY, after: NOBODY });
            }
            self.join(last, seat.0);
            last = seat.0;
        }
        self.join(last, after);
    }

    fn insert(&mut self, before: u32, after: u32, seats: &[Seat]) {
        let (Some(first), Some(last)) = (seats.first(), seats.last()) else { return };
        self.string(before, after, seats);
        let low = self.at(before).map(|spot| spot.label);
        let high = self.at(after).map_or(1 << self.bits, |spot| spot.label);
        let begin = low.map_or(0, |label| label + 1);
        let step = high.saturating_sub(begin) / (seats.len() as u64 + 1);
        if step > 0 {
            for (label, seat) in (0..).map(|place| begin + (place + 1) * step - 1).zip(seats) {
                self.set_label(seat.0, label);
            }
        } else if low.is_some() {
            self.make_room(before, last.0, before);
        } else {
            self.make_room(first.0, after, after);
        }
    }

    /// New labels for all from `left` to `right`, of whom only `anchor`, at one of the ends, has one, and for as many around them as it takes.
    fn make_room(&mut self, mut left: u32, mut right: u32, anchor: u32) {
        let label = self.at(anchor).map_or(0, |spot| spot.label);
        let mut count = 1;
        let mut at = left;
        while at != right {
            count += 1;
            at = self.at(at).map_or(right, |spot| spot.after);
        }
        let mut room = 1;
        for bits in 1..=self.bits {
            room = room * 3 / 2 + 1;
            let (low, size) = (label >> bits << bits, 1 << bits);
            let before = |order: &Self, of: u32| order.at(of).map_or(NOBODY, |spot| spot.before);
            let after = |order: &Self, of: u32| order.at(of).map_or(NOBODY, |spot| spot.after);
            while self.at(before(self, left)).is_some_and(|spot| spot.label >= low) {
                left = before(self, left);
                count += 1;
            }
            while self.at(after(self, right)).is_some_and(|spot| spot.label < low + size) {
                right = after(self, right);
                count += 1;
            }
            if count <= size && (count <= room || bits == self.bits) {
                self.spread(left, low, size / count, count);
                return;
            }
        }
    }

    fn spread(&mut self, left: u32, low: u64, step: u64, count: u64) {
        let mut at = left;
        for place in 0..count {
            self.set_label(at, low + place * step + step / 2);
            at = self.at(at).map_or(NOBODY, |spot| spot.after);
        }
    }

    #[cfg(test)]
    pub(super) fn seats(&self) -> Vec<Seat> {
        let mut seats = Vec::new();
        let mut at = self.first;
        while let Some(spot) = self.at(at) {
            seats.push(Seat(at));
            at = spot.after;
        }
        seats
    }
}
