//! The options of the command line that bring an election's settings about.

use super::{Election, Settings};
use crate::family::{Flag, Place};
use crate::spec::{Spec, word};

/// Those that are not usual, and who starts.
pub(super) fn flags(spec: &Spec<Election>) -> Vec<Flag> {
    let own = &spec.settings;
    let Settings { starters, order, attribute, prefer, announce, repair, tell_lower, broadcast, .. } = own;
    let Settings { lease, drift_ppm, detector, heartbeat, silence, threshold, upheaval, .. } = own;
    let Settings { id_bits, reserved_bits, load_bound, .. } = own;
    let usual = Settings::default();
    let front = |is_usual: bool, text: String| Flag::unless(is_usual, Place::Front, text);
    let flags = [
        front(spec.is_scripted(), format!("--starters {starters}")),
        front(*order == usual.order, format!("--order {order}")),
        front(*attribute == usual.attribute, format!("--attribute {attribute}")),
        front(*prefer == usual.prefer, format!("--prefer {}", word(prefer))),
        front(*announce == usual.announce, format!("--announce {}", word(announce))),
        front(*repair == usual.repair, format!("--repair {}", word(repair))),
        front(!tell_lower, "--tell-lower".into()),
        front(!broadcast, "--broadcast".into()),
        front(*detector == usual.detector, format!("--detector {}", word(detector))),
        heartbeat.and_then(|period| Flag::unless(false, Place::Times, format!("--heartbeat {period}"))),
        silence.and_then(|silence| Flag::unless(false, Place::Times, format!("--silence {silence}"))),
        threshold.and_then(|level| Flag::unless(false, Place::Times, format!("--threshold {level}"))),
        lease.and_then(|lease| Flag::unless(false, Place::Times, format!("--master-lease {lease}"))),
        id_bits.and_then(|bits| front(false, format!("--id-bits {bits}"))),
        reserved_bits.and_then(|bits| front(false, format!("--reserved-bits {bits}"))),
        load_bound.and_then(|load| front(false, format!("--load-bound {load}"))),
        drift_ppm.and_then(|parts| Flag::unless(false, Place::Times, format!("--master-drift-bound {parts}ppm"))),
        Flag::unless(*upheaval == 0, Place::Links, format!("--upheaval {upheaval}")),
    ];
    flags.into_iter().flatten().collect()
}
