//! The replicated logs.

use super::entry::{ReplicaEntry, ReplicaMachine, ReplicaNode, replica};
use quorate_core::NodeId;
use quorate_erased::Erased;
use quorate_replica::fixtures::{Flaw, Flawed};
use quorate_replica::{Replica, Settings, profile};

type Log = Replica<ReplicaMachine>;
type WrongLog = Flawed<ReplicaMachine>;

pub(super) fn algorithms() -> Vec<ReplicaEntry> {
    vec![replica::<Log>(&profile::REPLICA, |me, settings| Erased::opaque(Log::new(me, settings)))]
}

pub(super) fn fixtures() -> Vec<ReplicaEntry> {
    vec![
        replica::<WrongLog>(const { &Flaw::EarlyAck.profile() }, |me, settings| spoilt(me, settings, Flaw::EarlyAck)),
        replica::<WrongLog>(const { &Flaw::LocalRead.profile() }, |me, settings| spoilt(me, settings, Flaw::LocalRead)),
        replica::<WrongLog>(const { &Flaw::ForgottenVote.profile() }, |me, settings| {
            spoilt(me, settings, Flaw::ForgottenVote)
        }),
        replica::<WrongLog>(const { &Flaw::NoReport.profile() }, |me, settings| spoilt(me, settings, Flaw::NoReport)),
        replica::<WrongLog>(const { &Flaw::AppliedTwice.profile() }, |me, settings| {
            spoilt(me, settings, Flaw::AppliedTwice)
        }),
    ]
}

fn spoilt(me: NodeId, settings: Settings, flaw: Flaw) -> ReplicaNode {
    Erased::opaque(WrongLog::new(me, settings, flaw))
}
