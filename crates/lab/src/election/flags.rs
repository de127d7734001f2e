//! The options of the command line that bring an election's settings about.

use super::{Election, Settings};
use crate::flag::{Flags, Place};
use crate::spec::{Spec, word};

pub(super) fn flags(spec: &Spec<Election>) -> Flags {
    let own = &spec.settings;
    let usual = Settings::default();
    let mut flags = Flags::default();
    flags.unless(spec.is_scripted(), Place::Front, "starters", &own.starters);
    flags.unless(own.order == usual.order, Place::Front, "order", &own.order);
    flags.unless(own.attribute == usual.attribute, Place::Front, "attribute", &own.attribute);
    flags.unless(own.prefer == usual.prefer, Place::Front, "prefer", word(&own.prefer));
    flags.unless(own.announce == usual.announce, Place::Front, "announce", word(&own.announce));
    flags.unless(own.repair == usual.repair, Place::Front, "repair", word(&own.repair));
    flags.switch(own.tell_lower, Place::Front, "tell-lower");
    flags.switch(own.broadcast, Place::Front, "broadcast");
    flags.unless(own.detector == usual.detector, Place::Front, "detector", word(&own.detector));
    flags.given(Place::Times, "heartbeat", own.heartbeat);
    flags.given(Place::Times, "silence", own.silence);
    flags.given(Place::Times, "threshold", own.threshold);
    flags.given(Place::Times, "master-lease", own.lease);
    flags.given(Place::Front, "id-bits", own.id_bits);
    flags.given(Place::Front, "reserved-bits", own.reserved_bits);
    flags.given(Place::Front, "load-bound", own.load_bound);
    flags.given(Place::Times, "master-drift-bound", own.drift_ppm.map(|parts| format!("{parts}ppm")));
    flags.unless(own.upheaval == 0, Place::Links, "upheaval", own.upheaval);
    flags
}
