//! Durable state that counts its writes.

use quorate_core::Durable;
use serde::{Deserialize, Serialize};

/// A node's durable state with the number of writes applied to it.
///
/// When a node restarts, the number tells how many writes of all its incarnations survived. The
/// merging of the journals of several incarnations needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counted<D> {
    count: u64,
    inner: D,
}

impl<D> Counted<D> {
    /// Returns the number of writes by all incarnations since the disk was new or lost.
    pub fn write_count(&self) -> u64 {
        self.count
    }

    /// Returns the node's durable state.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// Returns the node's durable state without the count.
    pub fn into_inner(self) -> D {
        self.inner
    }
}

impl<D: Durable> Durable for Counted<D> {
    const VERSION: u32 = D::VERSION;
    type Write = D::Write;

    fn apply(&mut self, write: D::Write) {
        self.count += 1;
        self.inner.apply(write);
    }

    fn wiped() -> Self {
        Self { count: 0, inner: D::wiped() }
    }
}

#[cfg(test)]
mod tests {
    use super::Counted;
    use quorate_core::{Durable, NodeId};
    use quorate_store::{ClusterId, Owner, Settings, Store, create_founder, create_joiner};
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Sum(i64);

    impl Default for Sum {
        fn default() -> Self {
            Self(100)
        }
    }

    impl Durable for Sum {
        const VERSION: u32 = 7;
        type Write = i64;
        fn apply(&mut self, write: i64) {
            self.0 += write;
        }
        fn wiped() -> Self {
            Self(-1)
        }
    }

    #[test]
    fn writes_are_counted_and_passed_on() {
        let mut disk = Counted::<Sum>::default();
        for write in [5, -5, 0] {
            disk.apply(write);
        }
        assert_eq!((disk.write_count(), disk.inner(), Counted::<Sum>::VERSION), (3, &Sum(100), 7));
        let wiped = Counted::<Sum>::wiped();
        assert_eq!((wiped.write_count(), wiped.into_inner()), (0, Sum(-1)));
    }

    /// The count is correct across restarts and checkpoints, and on a joiner's disk, which begins
    /// wiped. Each restart adds three writes, with the sum 6.
    #[test]
    fn the_count_survives_with_the_writes() {
        let temporary = tempfile::tempdir().unwrap();
        let owner = Owner { cluster: ClusterId(7), node: NodeId::from_index(0) };
        let open =
            |name: &str| Store::<Counted<Sum>>::open(&temporary.path().join(name), owner, Settings::default()).unwrap();
        create_founder::<Counted<Sum>>(&temporary.path().join("founder"), owner).unwrap();
        for restart in 0..4 {
            let (mut store, disk, _) = open("founder");
            assert_eq!((disk.write_count(), disk.inner()), (3 * restart, &Sum(100 + 6 * restart as i64)));
            store.append(&[1, 2]).unwrap();
            if restart % 2 == 0 {
                store.checkpoint().unwrap();
            }
            store.append(&[3]).unwrap();
        }
        create_joiner::<Counted<Sum>>(&temporary.path().join("joiner"), owner).unwrap();
        let (mut store, disk, _) = open("joiner");
        assert_eq!(disk, Counted { count: 0, inner: Sum(-1) });
        store.append(&[1]).unwrap();
        assert_eq!(*store.contents(), Counted { count: 1, inner: Sum(0) });
    }
}
