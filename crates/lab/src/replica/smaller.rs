//! Which settings of a group of replicas make for less to look at.

use super::Settings;
use crate::shrink::fewer;

/// The same settings with less of something, or with something as usual; the least first.
pub(super) fn settings(settings: &Settings) -> Vec<Settings> {
    let now = || settings.clone();
    let usual = Settings::default();
    let mut all: Vec<Settings> = Vec::new();
    if settings.clients > 0 {
        all.push(Settings { clients: 0, ..now() });
        all.extend(fewer(settings.operations).map(|operations| Settings { operations, ..now() }));
        all.extend(fewer(settings.clients).map(|clients| Settings { clients, ..now() }));
        all.extend(fewer(settings.keys).filter(|keys| *keys > 0).map(|keys| Settings { keys, ..now() }));
    }
    all.extend(fewer(u64::from(settings.changes)).map(|changes| {
        let changes = u32::try_from(changes).unwrap_or(settings.changes);
        Settings { changes, ..now() }
    }));
    all.push(Settings { founders: None, ..now() });
    all.push(Settings { reads: usual.reads, ..now() });
    all.extend([1, 2].map(|checkpoint_every| Settings { checkpoint_every, ..now() }));
    all.extend([0, 1].map(|keep_entries| Settings { keep_entries, ..now() }));
    all.push(Settings { checkpoint_every: usual.checkpoint_every, ..now() });
    all.push(Settings { keep_entries: usual.keep_entries, ..now() });
    all.push(Settings { piece_bytes: usual.piece_bytes, ..now() });
    all.push(Settings { piece_bytes: 1 << 20, ..now() });
    all.push(Settings { tick: usual.tick, ..now() });
    all.retain(|candidate| candidate != settings);
    all
}
