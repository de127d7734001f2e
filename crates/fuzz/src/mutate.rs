//! Mutations of an input.

use crate::rng::Rng;

/// Maximum length of an input.
const MAX_BYTES: usize = 64 << 10;
/// Boundary values that often break lengths and counts.
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

/// Applies one to eight random mutations to an input. Some copy pieces of `other`.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let changes = 1 << rng.below(4);
    for _ in 0..changes {
        change(input, other, rng);
    }
    input.truncate(MAX_BYTES);
}

fn change(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    match rng.below(11) {
        0 | 1 => flip(input, rng),
        2 => overwrite(input, rng),
        3 => nudge(input, rng),
        4 => edge(input, rng),
        5 => insert(input, rng),
        6 => remove(input, rng),
        7 => repeat(input, rng),
        8 => input.truncate(rng.below(input.len() + 1)),
        9 => splice(input, other, rng),
        _ => swap(input, rng),
    }
}

fn flip(input: &mut [u8], rng: &mut Rng) {
    let index = rng.below(input.len());
    if let Some(byte) = input.get_mut(index) {
        *byte ^= 1 << rng.below(8);
    }
}

fn overwrite(input: &mut [u8], rng: &mut Rng) {
    let index = rng.below(input.len());
    if let Some(byte) = input.get_mut(index) {
        *byte = rng.draw() as u8;
    }
}

/// Increments or decrements a byte, such as a digit or a length.
fn nudge(input: &mut [u8], rng: &mut Rng) {
    let index = rng.below(input.len());
    if let Some(byte) = input.get_mut(index) {
        *byte = if rng.below(2) == 0 { byte.wrapping_add(1) } else { byte.wrapping_sub(1) };
    }
}

/// Overwrites bytes with a boundary value of a random width.
fn edge(input: &mut [u8], rng: &mut Rng) {
    let width = 1 << rng.below(4);
    let number = rng.pick(&EDGES).copied().unwrap_or_default().to_le_bytes();
    let index = rng.below(input.len());
    for (byte, new) in input.iter_mut().skip(index).zip(&number[..width]) {
        *byte = *new;
    }
}

fn insert(input: &mut Vec<u8>, rng: &mut Rng) {
    let index = rng.below(input.len() + 1);
    let count = 1 + rng.below(8);
    let new: Vec<u8> = (0..count).map(|_| rng.draw() as u8).collect();
    input.splice(index..index, new);
}

fn remove(input: &mut Vec<u8>, rng: &mut Rng) {
    let (start, end) = span(input.len(), rng);
    input.drain(start..end);
}

fn repeat(input: &mut Vec<u8>, rng: &mut Rng) {
    let (start, end) = span(input.len(), rng);
    let piece = input[start..end].to_vec();
    let times = 1 + rng.below(8);
    if piece.len() * times <= MAX_BYTES {
        input.splice(end..end, piece.repeat(times));
    }
}

/// Replaces a piece of the input with a piece of another input.
fn splice(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let (start, end) = span(input.len(), rng);
    let (from, to) = span(other.len(), rng);
    input.splice(start..end, other[from..to].to_vec());
}

fn swap(input: &mut [u8], rng: &mut Rng) {
    if !input.is_empty() {
        input.swap(rng.below(input.len()), rng.below(input.len()));
    }
}

/// Returns a random range, more often a short one.
fn span(length: usize, rng: &mut Rng) -> (usize, usize) {
    let start = rng.below(length + 1);
    let longest = if rng.below(4) == 0 { length } else { 32 };
    (start, (start + rng.below(longest + 1)).min(length))
}
