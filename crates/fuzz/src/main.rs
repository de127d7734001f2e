//! `quorate-fuzz`: runs fuzzing campaigns against the parsers of untrusted input.

use quorate_fuzz::{
    Campaign, Corpus, Example, Failure, Statistics, TARGETS, Target, corpus_folder, find_target, generate_examples,
};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

const HELP: &str = "\
quorate-fuzz TARGET [--seconds 10] [--seed 1] [--corpus FOLDER]   mutates the corpus and tries the results
quorate-fuzz all    [--seconds 10] [--seed 1]                     all targets, sharing the given seconds
quorate-fuzz TARGET --input FILE                                  tries one input
quorate-fuzz list                                                 lists the targets
quorate-fuzz remake                                               regenerates the generated part of the corpus
";

/// Number of inputs tried between two checks of the time limit.
const INPUTS_PER_CHECK: u64 = 64;

struct Request {
    /// A target, or one of `all`, `list`, `help` and `remake`.
    name: String,
    seconds: f64,
    seed: u64,
    /// Folder of examples to mutate instead of the target's own.
    corpus: Option<PathBuf>,
    /// File to try instead of running a campaign.
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    match parse_request(env::args().skip(1)).and_then(|request| execute(&request)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn parse_request(mut words: impl Iterator<Item = String>) -> Result<Request, String> {
    let name = words.next().ok_or("a target is missing.")?;
    let mut request = Request { name, seconds: 10.0, seed: 1, corpus: None, input: None };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value."))?;
        let number = || {
            let parsed = value.parse::<f64>().ok().filter(|number| number.is_finite());
            parsed.ok_or_else(|| format!("{word} must be a finite number; got '{value}'."))
        };
        match word.as_str() {
            "--seconds" => request.seconds = number()?.clamp(0.0, 1e6),
            "--seed" => {
                request.seed = value.parse().map_err(|_| format!("--seed must be a whole number; got '{value}'."))?;
            }
            "--corpus" => request.corpus = Some(value.into()),
            "--input" => request.input = Some(value.into()),
            _ => return Err(format!("unknown option {word}.")),
        }
    }
    Ok(request)
}

/// Carries out a request. Returns whether all inputs passed.
fn execute(request: &Request) -> Result<bool, String> {
    if ["list", "remake", "all"].contains(&&*request.name) && (request.input.is_some() || request.corpus.is_some()) {
        return Err(format!("--input and --corpus need a single target; got '{}'.", request.name));
    }
    match (request.name.as_str(), &request.input) {
        ("list" | "help" | "--help", None) => {
            println!("{HELP}");
            TARGETS.iter().for_each(|target| println!("{:12}  {}", target.name, target.description));
            Ok(true)
        }
        ("remake", None) => regenerate_corpus().map(|()| true),
        ("all", None) => {
            let seconds_per_target = request.seconds / TARGETS.len() as f64;
            let outcomes = TARGETS.map(|target| run_campaign(target, request, seconds_per_target));
            outcomes.into_iter().try_fold(true, |all_passed, outcome| Ok(all_passed & outcome?))
        }
        (name, input) => {
            let target = find_target(name)
                .ok_or_else(|| format!("unknown target '{name}'; 'quorate-fuzz list' lists the targets."))?;
            match input {
                Some(file) => try_input(target, file),
                None => run_campaign(target, request, request.seconds),
            }
        }
    }
}

/// Tries the input in a file. Returns whether it passes.
fn try_input(target: Target, file: &PathBuf) -> Result<bool, String> {
    let bytes = fs::read(file).map_err(|error| format!("cannot read {}: {error}.", file.display()))?;
    let outcome = target.attempt(&bytes);
    match &outcome {
        Ok(_) => println!("{}: {} passes", target.name, file.display()),
        Err(message) => println!("{}: {} FAILS: {message}", target.name, file.display()),
    }
    Ok(outcome.is_ok())
}

/// Tries the corpus, and mutations of it for some seconds. Returns whether all inputs passed.
fn run_campaign(target: Target, request: &Request, seconds: f64) -> Result<bool, String> {
    let folder_path = request.corpus.clone().unwrap_or_else(|| corpus_folder().join(target.name));
    let corpus =
        Corpus::read(&folder_path).map_err(|error| format!("cannot read {}: {error}.", folder_path.display()))?;
    let mut campaign = Campaign::new(target, &corpus, request.seed);
    let (start, limit) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut outcome = campaign.run_corpus();
    while outcome.is_ok() && start.elapsed() < limit {
        outcome = campaign.run(INPUTS_PER_CHECK);
    }
    let Statistics { tried_inputs, distinct_paths } = campaign.statistics();
    println!(
        "{:12} seed {}: {tried_inputs} inputs, {distinct_paths} paths, {:.1} s, {} examples",
        target.name,
        request.seed,
        start.elapsed().as_secs_f64(),
        corpus.0.len()
    );
    match outcome {
        Ok(()) => Ok(true),
        Err(failure) => report(target, request.seed, &failure).map(|()| false),
    }
}

/// Saves the failing input and prints the command that reproduces the failure.
fn report(target: Target, seed: u64, Failure { input, message }: &Failure) -> Result<(), String> {
    let file = PathBuf::from(format!("fuzz-{}-{seed}.failure", target.name));
    fs::write(&file, input).map_err(|error| format!("cannot write {}: {error}.", file.display()))?;
    println!("{} FAILS: {message}", target.name);
    println!("the input ({} bytes) is in {}; to reproduce:", input.len(), file.display());
    println!("    cargo run -p quorate-fuzz -- {} --input {}", target.name, file.display());
    Ok(())
}

fn regenerate_corpus() -> Result<(), String> {
    for target in TARGETS {
        let Some(corpus) = generate_examples(target.name) else { continue };
        let folder_path = corpus_folder().join(target.name);
        let names: Vec<&str> = corpus.0.iter().map(|Example { name, .. }| name.as_str()).collect();
        corpus.write(&folder_path).map_err(|error| format!("cannot write {}: {error}.", folder_path.display()))?;
        println!("{:12} {}", target.name, names.join(" "));
    }
    Ok(())
}
