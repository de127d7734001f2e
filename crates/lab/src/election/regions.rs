//! The overlay of an experiment, in which each region has its own leader, the super-peer.

use super::{Election, ElectionError, Settings};
use crate::error::LabError;
use crate::spec::Spec;
use quorate_core::election::{DEFAULT_ID_BITS, DEFAULT_REGION_BITS, MAX_ID_BITS, Overlay};

/// Returns the overlay. If no number of bits satisfies the load bound, which validation rejects,
/// all bits identify the region.
pub fn overlay(spec: &Spec<Election>) -> Overlay {
    let Settings { id_bits, reserved_bits, load_bound, .. } = &spec.settings;
    let (default_bits, default_reserved) = (DEFAULT_ID_BITS, DEFAULT_REGION_BITS);
    let bits = id_bits.unwrap_or(default_bits);
    let overlay = Overlay::new(spec.nodes, spec.seed, bits, reserved_bits.unwrap_or(default_reserved));
    match load_bound {
        Some(load) => with_load_bound(spec, &overlay, *load).unwrap_or_else(|| overlay.with_region_bits(bits)),
        None => overlay,
    }
}

/// The overlay in which as few bits as possible identify a region, so that no super-peer serves
/// more than `load` nodes; `None` if there is none.
fn with_load_bound(spec: &Spec<Election>, overlay: &Overlay, load: usize) -> Option<Overlay> {
    let absent = super::nodes_down_at_start(spec);
    overlay.with_bounded_load(load, |node| absent.contains(node))
}

/// Validates the options of overlays.
pub(super) fn validate(spec: &Spec<Election>) -> Result<(), LabError> {
    let Settings { id_bits, reserved_bits, load_bound, .. } = &spec.settings;
    let bits = id_bits.unwrap_or(DEFAULT_ID_BITS);
    if !(1..=MAX_ID_BITS).contains(&bits) {
        return Err(ElectionError::InvalidIdBits { bits }.into());
    }
    if let Some(reserved) = reserved_bits.filter(|reserved| *reserved > bits) {
        return Err(ElectionError::TooManyReservedBits { reserved, bits }.into());
    }
    match load_bound {
        Some(load) if with_load_bound(spec, &Overlay::new(spec.nodes, spec.seed, bits, 0), *load).is_none() => {
            Err(ElectionError::UnachievableLoadBound { bound: *load, bits }.into())
        }
        Some(_) | None => Ok(()),
    }
}
