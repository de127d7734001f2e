//! A disk that knows how many writes it holds.

use quorate_core::Durable;
use serde::{Deserialize, Serialize};

/// What a node keeps, and how many writes made it so.
///
/// A node that starts again learns from it how many of the writes of all its lives survived: a journal that goes on
/// where another life's ended needs to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counted<D> {
    count: u64,
    inner: D,
}

impl<D> Counted<D> {
    /// How many writes it holds, of all lives since the disk was new or lost.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What the node keeps.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// What the node keeps, by itself.
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
    use quorate_store::{ClusterId, Owner, Settings, Store, found, join};
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
        assert_eq!((disk.count(), disk.inner(), Counted::<Sum>::VERSION), (3, &Sum(100), 7));
        let lost = Counted::<Sum>::wiped();
        assert_eq!((lost.count(), lost.into_inner()), (0, Sum(-1)));
    }

    /// Over lives, checkpoints and a lost disk: what a store finds is what was written there.
    #[test]
    fn the_count_survives_with_the_writes() {
        let temporary = tempfile::tempdir().unwrap();
        let owner = Owner { cluster: ClusterId(7), node: NodeId::from_index(0) };
        let open =
            |name: &str| Store::<Counted<Sum>>::open(&temporary.path().join(name), owner, Settings::default()).unwrap();
        found::<Counted<Sum>>(&temporary.path().join("founder"), owner).unwrap();
        for life in 0..4 {
            let (mut store, disk, _) = open("founder");
            assert_eq!((disk.count(), disk.inner()), (3 * life, &Sum(100 + 6 * life as i64)));
            store.append(&[1, 2]).unwrap();
            if life % 2 == 0 {
                store.checkpoint().unwrap();
            }
            store.append(&[3]).unwrap();
        }
        join::<Counted<Sum>>(&temporary.path().join("guest"), owner).unwrap();
        let (mut store, disk, _) = open("guest");
        assert_eq!(disk, Counted { count: 0, inner: Sum(-1) });
        store.append(&[1]).unwrap();
        assert_eq!(*store.contents(), Counted { count: 1, inner: Sum(0) });
    }
}
