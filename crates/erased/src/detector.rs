//! Deadlock detectors of any type, so that the protocols around them are compiled once.

use crate::diskless;
use crate::erased::{Erasable, Erased};
use crate::message::{AnyMessage, AnyTimer};
use quorate_core::deadlock::{Agent, Detector, Finding, Need, WaitEvent};
use quorate_core::{Effects, Input, Protocol, Time};
use std::any::Any;
use std::hash::{Hash, Hasher};

#[derive(Clone)]
pub struct AnyDetector {
    detector: Erased<WaitEvent, Finding>,
    /// Calls `supports` of the detector's own type.
    supports: fn(&dyn Any, &Need<Agent>) -> bool,
}

impl AnyDetector {
    pub fn new<D: Detector + Erasable>(detector: D) -> Self {
        Self {
            detector: Erased::new(detector),
            supports: |detector, need| detector.downcast_ref::<D>().is_some_and(|detector| detector.supports(need)),
        }
    }
}

impl PartialEq for AnyDetector {
    fn eq(&self, other: &Self) -> bool {
        self.detector == other.detector
    }
}

impl Eq for AnyDetector {}

impl Hash for AnyDetector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.detector.hash(state);
    }
}

impl Protocol for AnyDetector {
    type Command = WaitEvent;
    type Message = AnyMessage;
    type Timer = AnyTimer;
    type Event = Finding;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        diskless::step_node(&mut *self.detector.node, now, input, out);
    }

    fn uses_end_of_turn(&self) -> bool {
        self.detector.uses_end_of_turn()
    }
}

impl Detector for AnyDetector {
    fn supports(&self, need: &Need<Agent>) -> bool {
        (self.supports)(self.detector.node.as_any(), need)
    }
}
