//! `quorate certs`: creates certificates for the nodes of a group.

use crate::CommandOutcome;
use crate::args::CertsArgs;
use crate::output::{display_path, output};
use crate::{paint, report};
use quorate_core::NodeId;
use quorate_net::certificates::{AuthorityOrigin, Date, Folder, FolderError, MAX_CERTIFICATES, MadeCertificates};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

#[derive(Serialize)]
struct CertificatesReport<'a> {
    group: &'a str,
    folder: String,
    /// "made" if the command created the CA, "found" if it was in the folder.
    authority: &'static str,
    /// Absent if the CA's certificate could not be parsed.
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
    let certificates = Folder::new(&args.folder).make(&args.group, &nodes, args.days)?;
    if args.json {
        report::print_json(&build_report(args, &nodes, &certificates))?;
    } else {
        print(args, &nodes, &certificates)?;
    }
    Ok(CommandOutcome::Holds)
}

fn build_report<'a>(args: &'a CertsArgs, nodes: &[NodeId], certificates: &MadeCertificates) -> CertificatesReport<'a> {
    CertificatesReport {
        group: args.group.as_str(),
        folder: display_path(&args.folder),
        authority: match certificates.authority {
            AuthorityOrigin::New => "made",
            AuthorityOrigin::Folder => "found",
        },
        authority_until: certificates.authority_valid_until.map(|until| Date::from(until).to_string()),
        nodes: nodes.iter().map(|node| node.number()).collect(),
        until: Date::from(certificates.valid_until).to_string(),
        files: certificates.files.iter().map(|file| display_path(file)).collect(),
    }
}

fn print(args: &CertsArgs, nodes: &[NodeId], certificates: &MadeCertificates) -> anyhow::Result<()> {
    let mut out = output();
    let (group, folder) = (&args.group, display_path(&args.folder));
    let until = certificates
        .authority_valid_until
        .map(|until| format!(", valid until {}", Date::from(until)))
        .unwrap_or_default();
    match certificates.authority {
        AuthorityOrigin::New => writeln!(out, "Created a CA for group {group}{until}:")?,
        AuthorityOrigin::Folder => writeln!(out, "Used the CA of group {group} in {folder}{until}.")?,
    }
    let (mut files, has_many) = (certificates.files.iter(), nodes.len() > 1);
    if certificates.authority == AuthorityOrigin::New {
        // The certificate and the key of the CA come first.
        for file in files.by_ref().take(2) {
            writeln!(out, "  {}", display_path(file))?;
        }
    }
    let documents = if has_many { "certificates and keys" } else { "certificate and key" };
    let owners = if has_many { format!("nodes {}", args.nodes) } else { format!("node {}", args.nodes) };
    writeln!(out, "Created the {documents} of {owners}, valid until {}:", Date::from(certificates.valid_until))?;
    let files: Vec<_> = files.map(|file| display_path(file)).collect();
    for pair in files.chunks(2) {
        writeln!(out, "  {}", pair.join("  "))?;
    }
    let key = display_path(&Folder::new(&args.folder).authority_key());
    writeln!(out, "\nKeep {key} secret: with it, anyone can create nodes of the group.")?;
    writeln!(out, "The machine of a node needs only ca.pem and the two files of the node.")?;
    writeln!(out, "\n{}", paint::dim(&format!("To start a node: {}", format_start_command(args, nodes))))?;
    Ok(())
}

/// Maximum number of peers in the suggested command.
const MAX_SHOWN_PEERS: usize = 4;

/// Returns the command that starts the first of these nodes.
fn format_start_command(args: &CertsArgs, nodes: &[NodeId]) -> String {
    let first = nodes.first().copied().unwrap_or(NodeId::from_index(0));
    let shown_peers =
        nodes.iter().skip(1).take(MAX_SHOWN_PEERS).map(|node| format!("{node}=HOST:{}", example_port(*node)));
    let mut peers: Vec<_> = shown_peers.collect();
    // The ellipsis stands for peers beyond the maximum, or, if certificates were made for only one
    // node, for all of its peers.
    if peers.len() + 1 < nodes.len() || peers.is_empty() {
        peers.push("…".to_owned());
    }
    format!(
        "quorate node ricart-agrawala --id {first} --listen HOST:{} --peers {} --group {} --certs {}",
        example_port(first),
        peers.join(","),
        args.group,
        quote_for_shell(&args.folder)
    )
}

/// Returns an example port. Two nodes get the same one only if their ids differ by a multiple of
/// 1000.
fn example_port(node: NodeId) -> u32 {
    7_000 + node.number() % 1_000
}

fn quote_for_shell(folder: &Path) -> String {
    let text = display_path(folder);
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
