//! Values in numbered slots. A new value gets a freed slot, if there is one.

use alloc::vec::Vec;

#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Option<T>>,
    free_slots: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free_slots: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        while let Some(index) = self.free_slots.pop() {
            if let Some(slot) = self.slots.get_mut(index as usize) {
                *slot = Some(value);
                return index;
            }
        }
        let index = self.slots.len() as u32;
        self.slots.push(Some(value));
        index
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.slots.get_mut(index as usize)?.take()?;
        self.free_slots.push(index);
        Some(value)
    }

    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(index as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }
}
