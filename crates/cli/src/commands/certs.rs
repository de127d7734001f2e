//! `quorate certs`: creates certificates for the nodes of a group.

use crate::CommandOutcome;
use crate::args::CertsArgs;
use crate::output::{display_path, output};
use crate::{paint, report};
use quorate_core::NodeId;
use quorate_net::certificates::{AuthorityFrom, Date, Folder, FolderError, MAX_CERTIFICATES, MadeCertificates};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

#[derive(Serialize)]
struct Report<'a> {
    group: &'a str,
    folder: String,
    /// "made" if the command created the CA, "found" if it was in the folder.
    authority: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    authority_until: Option<String>,
    nodes: Vec<u32>,
    until: String,
    files: Vec<String>,
}

pub(crate) fn run(args: &CertsArgs) -> anyhow::Result<CommandOutcome> {
    if args.nodes.len() > MAX_CERTIFICATES {
        return Err(FolderError::TooManyNodes(args.nodes.len()).into());
    }
    let nodes: Vec<NodeId> = args.nodes.iter().collect();
    let made = Folder::new(&args.folder).make(&args.group, &nodes, args.days)?;
    if args.json {
        report::print_json(&report_of(args, &nodes, &made))?;
    } else {
        print(args, &nodes, &made)?;
    }
    Ok(CommandOutcome::Holds)
}

fn report_of<'a>(args: &'a CertsArgs, nodes: &[NodeId], made: &MadeCertificates) -> Report<'a> {
    Report {
        group: args.group.as_str(),
        folder: display_path(&args.folder),
        authority: match made.authority {
            AuthorityFrom::New => "made",
            AuthorityFrom::Folder => "found",
        },
        authority_until: made.authority_until.map(|until| Date::from(until).to_string()),
        nodes: nodes.iter().map(|node| node.number()).collect(),
        until: Date::from(made.until).to_string(),
        files: made.files.iter().map(|file| display_path(file)).collect(),
    }
}

fn print(args: &CertsArgs, nodes: &[NodeId], made: &MadeCertificates) -> anyhow::Result<()> {
    let mut out = output();
    let (group, folder) = (&args.group, display_path(&args.folder));
    let until = made.authority_until.map(|until| format!(", valid until {}", Date::from(until))).unwrap_or_default();
    match made.authority {
        AuthorityFrom::New => writeln!(out, "Created a CA for group {group}{until}:")?,
        AuthorityFrom::Folder => writeln!(out, "Used the CA of group {group} in {folder}{until}.")?,
    }
    let (mut files, has_many) = (made.files.iter(), nodes.len() > 1);
    if made.authority == AuthorityFrom::New {
        // The certificate and the key of the CA come first.
        for file in files.by_ref().take(2) {
            writeln!(out, "  {}", display_path(file))?;
        }
    }
    let owners = if has_many { format!("nodes {}", args.nodes) } else { format!("node {}", args.nodes) };
    writeln!(out, "Created the certificate and key of {owners}, valid until {}:", Date::from(made.until))?;
    let files: Vec<_> = files.map(|file| display_path(file)).collect();
    for pair in files.chunks(2) {
        writeln!(out, "  {}", pair.join("  "))?;
    }
    let key = display_path(&Folder::new(&args.folder).authority_key());
    writeln!(out, "\nKeep {key} secret: with it, anyone can create nodes of the group.")?;
    writeln!(out, "The machine of a node needs only ca.pem and the two files of the node.")?;
    writeln!(out, "\n{}", paint::dim(&format!("To start a node: {}", start_command(args, nodes))))?;
    Ok(())
}

/// Returns the command that starts the first of these nodes.
fn start_command(args: &CertsArgs, nodes: &[NodeId]) -> String {
    let first = nodes.first().copied().unwrap_or(NodeId::from_index(0));
    let shown = nodes.iter().skip(1).take(4).map(|node| format!("{node}=HOST:{}", example_port(*node)));
    let mut peers: Vec<_> = shown.collect();
    // The group may have other nodes, which this command does not know.
    if peers.len() + 1 < nodes.len() || peers.is_empty() {
        peers.push("…".to_owned());
    }
    format!(
        "quorate node ricart-agrawala --id {first} --listen HOST:{} --peers {} --group {} --certs {}",
        example_port(first),
        peers.join(","),
        args.group,
        shell_quoted(&args.folder)
    )
}

/// Returns an example port that differs between nodes.
fn example_port(node: NodeId) -> u32 {
    7_000 + node.number() % 1_000
}

fn shell_quoted(folder: &Path) -> String {
    let text = display_path(folder);
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
