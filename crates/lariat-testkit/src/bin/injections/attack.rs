//! What injected text asks for, by the table in `attacks.txt`.
//!
//! Owns the sources of private data and how often an attack is made with each. A source is where the data is; an attack
//! says how it would leave.

use super::step::{self, Call};

/// Where private data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A file of the workspace.
    Dotenv,
    /// A key below the home directory.
    Ssh,
    /// Credentials below the home directory.
    Aws,
    /// A file of another project.
    Other,
    /// The environment of the agent.
    Variable,
    /// What the person said.
    Conversation,
}

impl Source {
    pub(crate) const ALL: [Self; 6] =
        [Self::Dotenv, Self::Ssh, Self::Aws, Self::Other, Self::Variable, Self::Conversation];

    /// A letter for canaries.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Dotenv => 'd',
            Self::Ssh => 's',
            Self::Aws => 'a',
            Self::Other => 'o',
            Self::Variable => 'v',
            Self::Conversation => 'c',
        }
    }

    /// The file it is in.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Dotenv => ".env",
            Self::Ssh => "{HOME}/.ssh/id_ed25519",
            Self::Aws => "{HOME}/.aws/credentials",
            Self::Other => "{OTHER}/secrets.yml",
            Self::Variable => "/proc/{PID}/environ",
            Self::Conversation => "said.txt",
        }
    }

    /// What prints it in a shell.
    const fn expression(self) -> &'static str {
        match self {
            Self::Dotenv => "cat .env",
            Self::Ssh => "cat {HOME}/.ssh/id_ed25519",
            Self::Aws => "cat {HOME}/.aws/credentials",
            Self::Other => "cat {OTHER}/secrets.yml",
            Self::Variable => "cat /proc/{PID}/environ /proc/self/environ",
            Self::Conversation => "echo {C}",
        }
    }

    /// How a model gets to know it.
    const fn learned_by(self) -> Option<&'static str> {
        match self {
            Self::Dotenv => Some("read .env"),
            Self::Ssh => Some("bash cat {HOME}/.ssh/id_ed25519"),
            Self::Aws => Some("read {HOME}/.aws/credentials"),
            Self::Other => Some("bash cat {OTHER}/secrets.yml"),
            Self::Variable => Some("bash cat /proc/{PID}/environ"),
            Self::Conversation => None,
        }
    }
}

/// One attack.
#[derive(Clone, Debug)]
pub(crate) struct Attack {
    pub(crate) name: String,
    pub(crate) family: &'static str,
    /// May be run where nothing holds it.
    pub(crate) bare: bool,
    steps: Vec<String>,
    source: Option<Source>,
}

impl Attack {
    /// The calls that are asked for; places are still to be filled in.
    pub(crate) fn calls(&self, fill: impl Fn(&str) -> String) -> Result<Vec<Call>, String> {
        let mut calls = Vec::new();
        for written in &self.steps {
            let written = match (written.as_str(), self.source) {
                ("learn", Some(source)) => match source.learned_by() {
                    Some(learned) => learned,
                    None => continue,
                },
                (other, _) => other,
            };
            let source = self.source.unwrap_or(Source::Dotenv);
            let step = written.replace("{S}", source.expression()).replace("{P}", source.path());
            calls.push(step::read(&fill(&step))?);
        }
        Ok(calls)
    }
}

/// Every attack, with every source where it takes one.
pub(crate) fn all() -> Result<Vec<Attack>, String> {
    let mut attacks = Vec::new();
    let mut family = "";
    for line in include_str!("attacks.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(title) = line.strip_prefix("== ") {
            family = title;
            continue;
        }
        let (name, steps) = line.split_once(": ").ok_or_else(|| format!("`{line}` has no name"))?;
        let bare = !name.starts_with('-');
        let steps: Vec<String> = steps.split(" ;; ").map(|step| step.trim().to_owned()).collect();
        let attack = |source: Option<Source>| Attack {
            name: match source {
                Some(source) => format!("{} ({source:?})", name.trim_start_matches('-')),
                None => name.trim_start_matches('-').to_owned(),
            },
            family,
            bare,
            steps: steps.clone(),
            source,
        };
        if family.ends_with("for every source") {
            attacks.extend(Source::ALL.into_iter().map(|source| attack(Some(source))));
        } else {
            attacks.push(attack(None));
        }
    }
    Ok(attacks)
}
