//! What a family whose algorithms can be checked adds to `quorate check`.

use super::Present;
use crate::args::CheckArgs;
use crate::report::count;
use quorate_lab::check::{CheckSpec, CheckedFamily};
use quorate_lab::deadlock::check::Waits;
use quorate_lab::deadlock::run::Taking;
use quorate_lab::election::check::Ballots;
use quorate_lab::multicast::check::Posts;
use quorate_lab::mutex::check::Requests;
use quorate_lab::{Deadlock, Election, Multicast, Mutex};

/// A family that can be checked, as people see it.
pub(crate) trait Check: Present + CheckedFamily {
    /// What users may do, by the family's options.
    fn habits(args: &CheckArgs) -> anyhow::Result<Self::Habits>;

    /// What is said of it after the number of rounds.
    fn in_rounds(spec: &CheckSpec<Self>) -> String;
}

impl Check for Mutex {
    fn habits(args: &CheckArgs) -> anyhow::Result<Requests> {
        Ok(args.requests.requests())
    }

    fn in_rounds(spec: &CheckSpec<Self>) -> String {
        let words = match (spec.habits.tries, spec.habits.cancels) {
            (false, false) => "",
            (true, false) => " with tries",
            (false, true) => " with cancels",
            (true, true) => " with tries and cancels",
        };
        words.into()
    }
}

impl Check for Election {
    fn habits(args: &CheckArgs) -> anyhow::Result<Ballots> {
        Ok(Ballots {
            settings: args.election.changed(quorate_lab::election::Settings::default())?,
            resignations: args.resign.unwrap_or(0),
        })
    }

    fn in_rounds(spec: &CheckSpec<Self>) -> String {
        let Ballots { settings, resignations } = &spec.habits;
        let resigns = if *resignations > 0 { ", leaders may resign" } else { "" };
        format!(" (starters: {}{resigns})", settings.starters)
    }
}

impl Check for Multicast {
    fn habits(args: &CheckArgs) -> anyhow::Result<Posts> {
        if let Some(option) = args.multicast.means_nothing_to_checks() {
            anyhow::bail!(
                "--{option} means nothing to a check, which tries every order in one group; 'quorate sim' has it."
            );
        }
        // All orders of more than a few messages take their time, and fewer are usual.
        let settings = args.multicast.changed(Posts::default().settings, args.nodes.into())?;
        Ok(Posts { settings })
    }

    fn in_rounds(spec: &CheckSpec<Self>) -> String {
        let settings = &spec.habits.settings;
        let uniform = if settings.delivery == quorate_core::multicast::Delivery::Uniform { ", uniform" } else { "" };
        let relay = if settings.relay { ", passed on" } else { "" };
        format!("{}{uniform}{relay}", count(settings.messages, "message"))
    }
}

impl Check for Deadlock {
    fn habits(args: &CheckArgs) -> anyhow::Result<Waits> {
        if let Some(option) = args.deadlock.means_nothing_to_checks() {
            anyhow::bail!(
                "--{option} means nothing to a check, which tries every order; --rounds says how often each process asks."
            );
        }
        let settings = args.deadlock.changed(quorate_lab::deadlock::Settings::default());
        anyhow::ensure!(
            settings.resources == 0 || !args.deadlock.has_fan_out() || settings.taking == Taking::AtOnce,
            "--fan-out means nothing to a check in which resources are taken one by one; give --taking at-once, or leave it out."
        );
        Ok(Waits { settings })
    }

    fn in_rounds(spec: &CheckSpec<Self>) -> String {
        let settings = &spec.habits.settings;
        let resources = match settings.resources {
            0 => String::new(),
            resources => format!(" for {}", count(resources as u64, "resource")),
        };
        let victim = settings.victim.map_or_else(String::new, |victim| format!(", victims: {victim}"));
        format!("{resources}{victim}")
    }
}
