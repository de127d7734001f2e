//! Mutations of an input.

use crate::rng::Rng;

/// Maximum length of a mutated input, in bytes.
const MAX_INPUT_BYTES: usize = 64 << 10;
/// Boundary values that often break lengths and counts.
const BOUNDARY_VALUES: [u64; 12] = [
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

/// Applies one, two, four or eight random mutations to an input. Some copy pieces of `other`.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let mutations = 1 << rng.below(4);
    for _ in 0..mutations {
        apply_mutation(input, other, rng);
    }
    input.truncate(MAX_INPUT_BYTES);
}

fn apply_mutation(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    match rng.below(11) {
        0 | 1 => flip_bit(input, rng),
        2 => overwrite_byte(input, rng),
        3 => increment_or_decrement(input, rng),
        4 => write_boundary_value(input, rng),
        5 => insert_random_bytes(input, rng),
        6 => remove_piece(input, rng),
        7 => repeat_piece(input, rng),
        8 => input.truncate(rng.below(input.len() + 1)),
        9 => replace_with_piece(input, other, rng),
        _ => swap_bytes(input, rng),
    }
}

fn flip_bit(input: &mut [u8], rng: &mut Rng) {
    let index = rng.below(input.len());
    if let Some(byte) = input.get_mut(index) {
        *byte ^= 1 << rng.below(8);
    }
}

fn overwrite_byte(input: &mut [u8], rng: &mut Rng) {
    let index = rng.below(input.len());
    if let Some(byte) = input.get_mut(index) {
        *byte = rng.draw() as u8;
    }
}

/// Increments or decrements a byte, such as a digit or a length.
fn increment_or_decrement(input: &mut [u8], rng: &mut Rng) {
    let index = rng.below(input.len());
    if let Some(byte) = input.get_mut(index) {
        *byte = if rng.below(2) == 0 { byte.wrapping_add(1) } else { byte.wrapping_sub(1) };
    }
}

/// Overwrites bytes with a boundary value of 1, 2, 4 or 8 bytes.
fn write_boundary_value(input: &mut [u8], rng: &mut Rng) {
    let width = 1 << rng.below(4);
    let value = rng.pick(&BOUNDARY_VALUES).copied().unwrap_or_default().to_le_bytes();
    let index = rng.below(input.len());
    for (byte, new) in input.iter_mut().skip(index).zip(&value[..width]) {
        *byte = *new;
    }
}

fn insert_random_bytes(input: &mut Vec<u8>, rng: &mut Rng) {
    let index = rng.below(input.len() + 1);
    let count = 1 + rng.below(8);
    let bytes: Vec<u8> = (0..count).map(|_| rng.draw() as u8).collect();
    input.splice(index..index, bytes);
}

fn remove_piece(input: &mut Vec<u8>, rng: &mut Rng) {
    let (start, end) = random_range(input.len(), rng);
    input.drain(start..end);
}

/// Inserts one to eight copies of a piece after it.
fn repeat_piece(input: &mut Vec<u8>, rng: &mut Rng) {
    let (start, end) = random_range(input.len(), rng);
    let piece = input[start..end].to_vec();
    let times = 1 + rng.below(8);
    if piece.len() * times <= MAX_INPUT_BYTES {
        input.splice(end..end, piece.repeat(times));
    }
}

/// Replaces a piece of the input with a piece of another input.
fn replace_with_piece(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let (start, end) = random_range(input.len(), rng);
    let (from, to) = random_range(other.len(), rng);
    input.splice(start..end, other[from..to].to_vec());
}

fn swap_bytes(input: &mut [u8], rng: &mut Rng) {
    if !input.is_empty() {
        input.swap(rng.below(input.len()), rng.below(input.len()));
    }
}

/// Returns the start and end of a random range. Three of four are at most 32 bytes long.
fn random_range(length: usize, rng: &mut Rng) -> (usize, usize) {
    let start = rng.below(length + 1);
    let max_length = if rng.below(4) == 0 { length } else { 32 };
    (start, (start + rng.below(max_length + 1)).min(length))
}
