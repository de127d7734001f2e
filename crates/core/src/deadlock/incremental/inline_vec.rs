//! A list for usually at most one element, which it stores inline: reading it takes no further
//! memory access.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

#[derive(Clone, Debug)]
pub(super) enum InlineVec<T> {
    /// At most one element.
    One(Option<T>),
    Many(Vec<T>),
}

impl<T> InlineVec<T> {
    pub(super) const fn new() -> Self {
        Self::One(None)
    }

    pub(super) fn push(&mut self, item: T) {
        match self {
            Self::One(one) => match one.take() {
                None => *one = Some(item),
                Some(first) => *self = Self::Many(alloc::vec![first, item]),
            },
            Self::Many(many) => many.push(item),
        }
    }

    /// Removes the element at this position, if there is one, and moves the last element there.
    pub(super) fn swap_remove(&mut self, position: usize) -> Option<T> {
        match self {
            Self::One(one) if position == 0 => one.take(),
            Self::Many(many) if position < many.len() => Some(many.swap_remove(position)),
            Self::One(_) | Self::Many(_) => None,
        }
    }
}

impl<T> Deref for InlineVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::One(one) => one.as_slice(),
            Self::Many(many) => many,
        }
    }
}

impl<T> DerefMut for InlineVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(one) => one.as_mut_slice(),
            Self::Many(many) => many,
        }
    }
}
