//! The attacks: what injected text asks for, from the table in `attacks.txt`.
//!
//! A source is where private data is; an attack says how the data would leave. Each attack runs with each
//! source that it can use.

use super::step::{self, Call};

/// Where private data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A file in the workspace.
    Dotenv,
    /// A key below the home directory.
    Ssh,
    /// Credentials below the home directory.
    Aws,
    /// A file of another project.
    Other,
    /// The environment of the agent.
    Variable,
    /// What the user said.
    Conversation,
}

impl Source {
    pub(crate) const ALL: [Self; 6] =
        [Self::Dotenv, Self::Ssh, Self::Aws, Self::Other, Self::Variable, Self::Conversation];

    /// A letter that identifies the source in canaries.
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

    /// The file that contains the data.
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

    /// Shell command that prints the data.
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

    /// The step through which a model reads the data.
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
    /// Whether it may run without a gate and a sandbox.
    pub(crate) bare: bool,
    steps: Vec<String>,
    source: Option<Source>,
}

impl Attack {
    /// The tool calls that the attack asks for. `fill` inserts paths and addresses.
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

/// Every attack, once per source if it uses one.
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
