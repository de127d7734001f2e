//! What somebody may have done to an input.

use crate::chance::Chance;

/// No input grows longer than this.
const LONGEST: usize = 64 << 10;
/// Numbers at which lengths and counts go wrong.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF_FFFE,
    u64::MAX,
];

/// Changes an input a little, in one to eight ways. Another one is there to take pieces from.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let changes = 1 << chance.below(4);
    for _ in 0..changes {
        change(input, other, chance);
    }
    input.truncate(LONGEST);
}

fn change(input: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    match chance.below(11) {
        0 | 1 => flip(input, chance),
        2 => overwrite(input, chance),
        3 => nudge(input, chance),
        4 => edge(input, chance),
        5 => insert(input, chance),
        6 => remove(input, chance),
        7 => repeat(input, chance),
        8 => input.truncate(chance.below(input.len() + 1)),
        9 => splice(input, other, chance),
        _ => swap(input, chance),
    }
}

fn flip(input: &mut [u8], chance: &mut Chance) {
    let place = chance.below(input.len());
    if let Some(byte) = input.get_mut(place) {
        *byte ^= 1 << chance.below(8);
    }
}

fn overwrite(input: &mut [u8], chance: &mut Chance) {
    let place = chance.below(input.len());
    if let Some(byte) = input.get_mut(place) {
        *byte = chance.draw() as u8;
    }
}

/// A number that is one more or less, as one in a text or a length may be.
fn nudge(input: &mut [u8], chance: &mut Chance) {
    let place = chance.below(input.len());
    if let Some(byte) = input.get_mut(place) {
        *byte = if chance.below(2) == 0 { byte.wrapping_add(1) } else { byte.wrapping_sub(1) };
    }
}

/// A number at the edge of what fits, in one of the widths that numbers have.
fn edge(input: &mut [u8], chance: &mut Chance) {
    let width = 1 << chance.below(4);
    let number = chance.pick(&EDGES).copied().unwrap_or_default().to_le_bytes();
    let place = chance.below(input.len());
    for (byte, new) in input.iter_mut().skip(place).zip(&number[..width]) {
        *byte = *new;
    }
}

fn insert(input: &mut Vec<u8>, chance: &mut Chance) {
    let place = chance.below(input.len() + 1);
    let count = 1 + chance.below(8);
    let new: Vec<u8> = (0..count).map(|_| chance.draw() as u8).collect();
    input.splice(place..place, new);
}

fn remove(input: &mut Vec<u8>, chance: &mut Chance) {
    let (start, end) = span(input.len(), chance);
    input.drain(start..end);
}

fn repeat(input: &mut Vec<u8>, chance: &mut Chance) {
    let (start, end) = span(input.len(), chance);
    let piece = input[start..end].to_vec();
    let times = 1 + chance.below(8);
    if piece.len() * times <= LONGEST {
        input.splice(end..end, piece.repeat(times));
    }
}

/// A piece of another input takes the place of a piece of this one.
fn splice(input: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let (start, end) = span(input.len(), chance);
    let (from, to) = span(other.len(), chance);
    input.splice(start..end, other[from..to].to_vec());
}

fn swap(input: &mut [u8], chance: &mut Chance) {
    if !input.is_empty() {
        input.swap(chance.below(input.len()), chance.below(input.len()));
    }
}

/// A piece, more often a short one.
fn span(length: usize, chance: &mut Chance) -> (usize, usize) {
    let start = chance.below(length + 1);
    let longest = if chance.below(4) == 0 { length } else { 32 };
    (start, (start + chance.below(longest + 1)).min(length))
}
