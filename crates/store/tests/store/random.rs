//! Random appends, checkpoints, restarts and crashes, compared with a model in memory.

use crate::common::{TestLog, Write, create_data_folder, open_store, put_after};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use quorate_core::Durable;
use quorate_store::faults::{FaultyFiles, Loss};
use quorate_store::{Settings, Store};

#[derive(Clone, Debug)]
enum Action {
    Append(Vec<Write>),
    Checkpoint,
    Reopen,
    Crash(Loss),
}

fn write() -> impl Strategy<Value = Write> {
    let entry = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        (0_usize..1_500).prop_map(|length| vec![0; length]),
        (0_usize..1_500, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]),
    ];
    prop_oneof![
        any::<u64>().prop_map(Write::Vote),
        (0_u64..30).prop_map(Write::Compact),
        (0_u64..30, entry).prop_map(|(after, entry)| put_after(after, entry)),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => proptest::collection::vec(write(), 0..6).prop_map(Action::Append),
        1 => Just(Action::Checkpoint),
        1 => Just(Action::Reopen),
        1 => any::<u64>().prop_map(|seed| Action::Crash(Loss::Sectors { seed })),
        1 => Just(Action::Crash(Loss::Everything)),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    (1_u64..5_000, 1_u64..3_000)
        .prop_map(|(segment_bytes, preallocated_bytes)| Settings { segment_bytes, preallocated_bytes })
}

fn reopen(files: &FaultyFiles, settings: Settings, model: &TestLog) -> Store<TestLog, FaultyFiles> {
    let (store, found, _) = open_store(files, settings).unwrap();
    assert_eq!(&found, model);
    store
}

proptest! {
    #[test]
    fn a_store_contains_all_its_writes_in_order(settings in settings(), actions in proptest::collection::vec(action(), 0..60)) {
        let files = FaultyFiles::new();
        create_data_folder(&files).unwrap();
        let mut model = TestLog::default();
        let mut store = open_store(&files, settings).unwrap().0;
        for action in actions {
            match action {
                Action::Append(writes) => {
                    store.append(&writes).unwrap();
                    writes.into_iter().for_each(|write| model.apply(write));
                }
                Action::Checkpoint => store.checkpoint().unwrap(),
                Action::Reopen => {
                    drop(store);
                    store = reopen(&files, settings, &model);
                }
                Action::Crash(loss) => {
                    files.power_on(loss);
                    store = reopen(&files, settings, &model);
                }
            }
        }
        drop(store);
        drop(reopen(&files, settings, &model));
    }
}
