//! `quorate certs`: the files it creates, its output, and files it must not touch.

use crate::json::shape;
use crate::run::{Run, run_in};
use expect_test::expect;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn temporary_folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file_names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Replaces every date in the output by D.
fn without_dates(text: &str) -> String {
    let is_date = |word: &str| word.len() == 10 && word.split('-').count() == 3;
    let trimmed = |word: &str| word.trim_end_matches([':', '.', ',']).to_owned();
    text.split_inclusive([' ', '\n'])
        .map(|word| match trimmed(word.trim_end()) {
            date if is_date(&date) => word.replace(&date, "D"),
            _ => word.to_owned(),
        })
        .collect()
}

#[test]
fn a_group_gets_a_ca_and_its_nodes_certificates() {
    let folder = temporary_folder();
    let printed = run_in(folder.path(), "certs --group demo --nodes 1-2").exits(0);
    expect![[r#"
        Created a CA for group demo, valid until D:
          certs/ca.key
          certs/ca.pem
        Created the certificates and keys of nodes 1,2, valid until D:
          certs/node-1.key  certs/node-1.pem
          certs/node-2.key  certs/node-2.pem

        Keep certs/ca.key secret: with it, anyone can create nodes of the group.
        The machine of a node needs only ca.pem and the two files of the node.

        To start a node: quorate node ricart-agrawala --id 1 --listen HOST:7001 --peers 2=HOST:7002 --group demo --certs certs
    "#]]
    .assert_eq(&without_dates(&printed));
    let printed = run_in(folder.path(), "certs --group demo --nodes 6 --days 30").exits(0);
    expect![[r#"
        Used the CA of group demo in certs, valid until D.
        Created the certificate and key of node 6, valid until D:
          certs/node-6.key  certs/node-6.pem

        Keep certs/ca.key secret: with it, anyone can create nodes of the group.
        The machine of a node needs only ca.pem and the two files of the node.

        To start a node: quorate node ricart-agrawala --id 6 --listen HOST:7006 --peers … --group demo --certs certs
    "#]]
    .assert_eq(&without_dates(&printed));
    let files =
        ["ca.key", "ca.pem", "node-1.key", "node-1.pem", "node-2.key", "node-2.pem", "node-6.key", "node-6.pem"];
    assert_eq!(file_names(&folder.path().join("certs")), files);
}

#[test]
fn json_lists_the_files() {
    let folder = temporary_folder();
    let report = run_in(folder.path(), "certs --group demo --nodes 3,1 --folder 'a b' --json").json(0);
    expect![[r#"
        authority: string
        authority_until: string
        files[]: string
        folder: string
        group: string
        nodes[]: integer
        until: string
    "#]]
    .assert_eq(&shape(&report));
    assert_eq!((&report["authority"], &report["nodes"]), (&"made".into(), &serde_json::json!([1, 3])));
    for file in report["files"].as_array().unwrap() {
        assert!(folder.path().join(file.as_str().unwrap()).is_file(), "{file}");
    }
    let report = run_in(folder.path(), "certs --group demo --nodes 2 --folder 'a b' --json").json(0);
    assert_eq!(report["authority"], "found");
}

#[cfg(unix)]
#[test]
fn keys_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temporary_folder();
    run_in(folder.path(), "certs --group demo --nodes 1").exits(0);
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["certs", "certs/ca.key", "certs/node-1.key"].map(mode), [0o700, 0o600, 0o600]);
}

#[test]
fn invalid_options_are_reported_and_create_nothing() {
    let folder = temporary_folder();
    run_in(folder.path(), "certs --group demo --nodes 1-2").exits(0);
    fs::write(folder.path().join("file"), "mine").unwrap();
    fs::create_dir(folder.path().join("half")).unwrap();
    fs::write(folder.path().join("half/ca.pem"), "mine").unwrap();
    let before = file_names(&folder.path().join("certs"));
    let lines = [
        "certs --group demo --nodes 2-3",
        "certs --group other --nodes 3",
        "certs --group Demo --nodes 3",
        "certs --group demo --nodes 0",
        "certs --group demo --nodes 5-3",
        "certs --group demo --nodes ''",
        "certs --group demo --nodes 1-4294967295",
        "certs --group demo --nodes 3 --days 0",
        "certs --group demo --nodes 3 --days 9999",
        "certs --group demo --nodes 3 --folder half",
        "certs --group demo --nodes 3 --folder file",
    ];
    let printed = |line: &&str| format!("$ quorate {line}\n{}", run_in(folder.path(), line).error());
    expect![[r#"
        $ quorate certs --group demo --nodes 2-3
        error: certs/node-2.pem exists already and is never overwritten. No file was written. To renew the certificate, move the node's two files away first.
        $ quorate certs --group other --nodes 3
        error: in folder certs: the CA belongs to group demo and cannot sign for group other. Use --group demo, or another folder. No file was written.
        $ quorate certs --group Demo --nodes 3
        error: --group: 'Demo' is not a valid group name: use 1 to 63 lower-case letters, digits and hyphens, such as orders-east, with no hyphen at either end.
        $ quorate certs --group demo --nodes 0
        error: --nodes: '0' is invalid: node numbers must be between 1 and 4294967295.
        $ quorate certs --group demo --nodes 5-3
        error: --nodes: '5-3' has its bounds in the wrong order; write 3-5.
        $ quorate certs --group demo --nodes ''
        error: --nodes: '' is not a set of nodes; write for example 1,3-5.
        $ quorate certs --group demo --nodes 1-4294967295
        error: at most 1000 certificates can be made at once; got 4294967295 nodes. No file was written.
        $ quorate certs --group demo --nodes 3 --days 0
        error: --days: the number of days must be between 1 and 3650, such as 365; got '0'.
        $ quorate certs --group demo --nodes 3 --days 9999
        error: --days: the number of days must be between 1 and 3650, such as 365; got '9999'.
        $ quorate certs --group demo --nodes 3 --folder half
        error: half/ca.pem exists, but half/ca.key does not: a CA needs both files. Restore the missing file, or use another folder. No file was written.
        $ quorate certs --group demo --nodes 3 --folder file
        error: cannot create the folder file: File exists (os error 17). No file was written.
    "#]].assert_eq(&lines.iter().map(printed).collect::<String>());
    assert_eq!(file_names(&folder.path().join("certs")), before);
    assert_eq!(file_names(&folder.path().join("half")), ["ca.pem"]);
}

#[test]
fn group_and_nodes_are_required() {
    let folder = temporary_folder();
    for line in ["certs", "certs --group demo", "certs --nodes 1"] {
        let Run { code, out, err } = run_in(folder.path(), line);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}");
        assert!(err.contains("required"), "{err}");
    }
    assert_eq!(file_names(folder.path()), Vec::<String>::new());
}
