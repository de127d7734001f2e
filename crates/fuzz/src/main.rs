//! `quorate-fuzz`: campaigns against everything that reads what others wrote.

use quorate_fuzz::{Campaign, Corpus, Example, Failure, Figures, TARGETS, Target, examples, find, folder};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

const HELP: &str = "\
quorate-fuzz TARGET [--seconds 10] [--seed 1] [--corpus FOLDER]   mutates the corpus and tries what comes of it
quorate-fuzz all    [--seconds 10] [--seed 1]                     every target, in so many seconds together
quorate-fuzz TARGET --input FILE                                  tries one input
quorate-fuzz list                                                 lists the targets
quorate-fuzz remake                                               makes the corpus again, where code can make it
";

/// So many inputs are tried between two looks at the clock.
const STRIDE: u64 = 64;

struct Request {
    name: String,
    seconds: f64,
    seed: u64,
    corpus: Option<PathBuf>,
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    match request(env::args().skip(1)).and_then(|request| answer(&request)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("{sentence}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn request(mut words: impl Iterator<Item = String>) -> Result<Request, String> {
    let name = words.next().ok_or("Name a target.")?;
    let mut request = Request { name, seconds: 10.0, seed: 1, corpus: None, input: None };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value."))?;
        let number = || value.parse::<f64>().map_err(|_| format!("'{value}' is no number."));
        match word.as_str() {
            "--seconds" => request.seconds = number()?.clamp(0.0, 1e6),
            "--seed" => request.seed = value.parse().map_err(|_| format!("'{value}' is no seed."))?,
            "--corpus" => request.corpus = Some(value.into()),
            "--input" => request.input = Some(value.into()),
            _ => return Err(format!("There is no option {word}.")),
        }
    }
    Ok(request)
}

/// Tells whether all is well.
fn answer(request: &Request) -> Result<bool, String> {
    match (request.name.as_str(), &request.input) {
        ("list" | "help" | "--help", None) => {
            println!("{HELP}");
            TARGETS.iter().for_each(|target| println!("{:10}  {}", target.name, target.what));
            Ok(true)
        }
        ("remake", None) => remake().map(|()| true),
        ("all", None) => {
            let share = request.seconds / TARGETS.len() as f64;
            let outcomes = TARGETS.map(|target| campaign(target, request, share));
            outcomes.into_iter().try_fold(true, |all_well, outcome| Ok(all_well & outcome?))
        }
        (name, input) => {
            let target = find(name).ok_or_else(|| format!("There is no target '{name}'."))?;
            match input {
                Some(file) => single(target, file),
                None => campaign(target, request, request.seconds),
            }
        }
    }
}

fn single(target: Target, file: &PathBuf) -> Result<bool, String> {
    let bytes = fs::read(file).map_err(|error| format!("{} cannot be read: {error}.", file.display()))?;
    let outcome = target.attempt(&bytes);
    match &outcome {
        Ok(_) => println!("{}: {} is survived", target.name, file.display()),
        Err(said) => println!("{}: {} FAILS: {said}", target.name, file.display()),
    }
    Ok(outcome.is_ok())
}

fn campaign(target: Target, request: &Request, seconds: f64) -> Result<bool, String> {
    let place = request.corpus.clone().unwrap_or_else(|| folder().join(target.name));
    let corpus = Corpus::read(&place).map_err(|error| format!("{} cannot be read: {error}.", place.display()))?;
    let mut campaign = Campaign::new(target, &corpus, request.seed);
    let (begun, length) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut outcome = campaign.rehearse();
    while outcome.is_ok() && begun.elapsed() < length {
        outcome = campaign.run(STRIDE);
    }
    let Figures { tried, trails } = campaign.figures();
    println!(
        "{:10} seed {}: {tried} inputs, {trails} ways, {:.1} s, {} examples",
        target.name,
        request.seed,
        begun.elapsed().as_secs_f64(),
        corpus.0.len()
    );
    match outcome {
        Ok(()) => Ok(true),
        Err(failure) => report(target, request.seed, &failure).map(|()| false),
    }
}

/// Saves the input that failed and prints the one command that tries it again.
fn report(target: Target, seed: u64, Failure { input, said }: &Failure) -> Result<(), String> {
    let file = PathBuf::from(format!("fuzz-{}-{seed}.failure", target.name));
    fs::write(&file, input).map_err(|error| format!("{} cannot be written: {error}.", file.display()))?;
    println!("{} FAILS: {said}", target.name);
    println!("the input, {} bytes, is in {}; to try it again:", input.len(), file.display());
    println!("    cargo run -p quorate-fuzz -- {} --input {}", target.name, file.display());
    Ok(())
}

fn remake() -> Result<(), String> {
    for target in TARGETS {
        let Some(corpus) = examples(target.name) else { continue };
        let place = folder().join(target.name);
        let names: Vec<&str> = corpus.0.iter().map(|Example { name, .. }| name.as_str()).collect();
        corpus.write(&place).map_err(|error| format!("{} cannot be written: {error}.", place.display()))?;
        println!("{:10} {}", target.name, names.join(" "));
    }
    Ok(())
}
