//! How dangerous each command of a script is, and which files it uses.
//!
//! Owns the walk over a script: it follows `cd`, since a path means nothing without the directory it starts from, and
//! weighs each command. Safe: it only reads, inside the workspace. Moderate: it changes files there as an edit does.
//! Critical: see `critical` and `protected`. Dangerous: everything else.

use std::path::PathBuf;

use lariat_core::permission::DangerLevel;

use crate::critical::{Surroundings, critical};
use crate::ground::Ground;
use crate::operand::{Operand, operand, operands};
use crate::part::{Access, Part, Touch, What};
use crate::program::{Writes, base, is_editor, is_safe_variable, is_transparent, is_wordy, writes};
use crate::protected::{may_fit_policy, mentions_policy, policy};
use crate::read_only::{Operands, obeys_the_repository, read_only};
use crate::settings::Trust;
use crate::shell::{Command, Opened, Script, Word};

/// Directories that a script may be in at most before its paths count as unknown.
const DIRECTORIES: usize = 16;

/// A walk over a script.
pub(crate) struct Walk<'a> {
    script: &'a Script,
    text: &'a str,
    ground: &'a Ground,
}

/// Where a command may run.
#[derive(Clone)]
struct Where {
    directories: Vec<PathBuf>,
    /// False when there may be others.
    is_known: bool,
}

impl<'a> Walk<'a> {
    pub(crate) const fn new(script: &'a Script, text: &'a str, ground: &'a Ground) -> Self {
        Self { script, text, ground }
    }

    /// The parts of the script.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut place = Where { directories: vec![self.ground.places.directory.clone()], is_known: true };
        // In a loop or a function a later `cd` may come first.
        let repeats =
            ["for ", "while ", "until ", "()", "function "].iter().any(|word| self.text.contains(word));
        if repeats {
            self.script.commands.iter().for_each(|command| place.follow(command, self.ground));
        }
        let mut parts = Vec::with_capacity(self.script.commands.len() + self.script.files.len());
        for (number, command) in self.script.commands.iter().enumerate() {
            parts.push(self.command(number, command, &place));
            place.follow(command, self.ground);
        }
        parts.extend(self.script.files.iter().flat_map(|file| self.opened(file, &place)));
        parts
    }

    fn command(&self, number: usize, command: &Command, place: &Where) -> Part {
        let ground = self.ground;
        let shown = shown(command, self.text);
        let moved = place.moved(command);
        let place = moved.as_ref().unwrap_or(place);
        let mut part = Part::new(What::Command(number), shown, DangerLevel::Dangerous);
        let Some(program) = command.words.first() else {
            let harmless = command.assignments.iter().all(|set| is_plain_variable(&set.name));
            part.danger = if harmless { DangerLevel::Safe } else { DangerLevel::Dangerous };
            part.changes = !harmless;
            return part;
        };
        let plain = command.wrappers.iter().all(|wrapper| is_transparent(wrapper))
            && !self.is_shadowed(command)
            && command.assignments.iter().all(|set| is_safe_variable(&set.name));
        let reading = read_only(&command.words);
        self.touch(&mut part, command, place, reading);
        let reading =
            reading.filter(|_| !obeys_the_repository(&command.words) || self.may_read_the_repository(place));
        let inside = place.is_known
            && !part.hides_files
            && part
                .touches
                .iter()
                .all(|touch| touch.is_inside || touch.target.named.starts_with("/dev/null"));
        let entering = matches!(program.text.as_str(), "cd" | "pushd");
        part.only_looks = plain && place.is_known && !part.hides_files && (entering || reading.is_some());
        if entering {
            part.danger = if plain && inside { DangerLevel::Safe } else { DangerLevel::Dangerous };
        } else if reading.is_some() {
            let words = matches!(reading, Some(Operands::Words | Operands::Variables | Operands::Only(_)));
            part.danger = if plain && (inside || words) { DangerLevel::Safe } else { DangerLevel::Dangerous };
        } else if is_editor(&program.text) && plain && inside {
            part.danger = DangerLevel::Moderate;
        }
        part.changes = part.danger != DangerLevel::Safe && !(plain && reading.is_some());
        if reading.is_none() {
            let around = Surroundings {
                places: &ground.places,
                workspace: &ground.workspace,
                resolver: ground.resolver.as_ref(),
            };
            part.critical =
                critical(command, &place.directories, &around).or_else(|| self.own_policy(command, place));
        }
        part.weigh(ground);
        part
    }

    /// Whether the agent may have written the program that its name, or that of a wrapper, stands for.
    fn is_shadowed(&self, command: &Command) -> bool {
        let own = command.words.first().map(|word| word.text.as_str());
        let wrappers = command.wrappers.iter().filter_map(|wrapper| wrapper.split_whitespace().next());
        wrappers.chain(own).any(|name| self.ground.resolver.is_shadowed(name))
    }

    /// Git and its like obey the repository they find: only that of a trusted workspace, where the script began.
    fn may_read_the_repository(&self, place: &Where) -> bool {
        self.ground.trust == Trust::Trusted
            && place.is_known
            && place.directories.iter().all(|directory| *directory == self.ground.places.directory)
    }

    /// Notes the files that a command uses.
    fn touch(&self, part: &mut Part, command: &Command, place: &Where, reading: Option<Operands>) {
        let program = command.words.first().map_or("", |word| word.text.as_str());
        let entering = matches!(program, "cd" | "pushd");
        let wordy = match reading {
            Some(Operands::Words | Operands::Variables | Operands::Only(_)) => true,
            Some(_) => false,
            None => is_wordy(program),
        };
        if program == "git" && reading.is_some() {
            // Their content is shown, as it is or as it was: `git diff x`, `git show HEAD:x`.
            let words = command.words.iter().skip(1).filter(|word| word.is_known);
            let named = words.map(|word| word.text.rsplit(':').next().unwrap_or_default());
            for path in named {
                let targets =
                    place.directories.iter().map(|directory| self.ground.target_in(path, directory));
                part.touches.extend(targets.map(|target| Touch::new(target, Access::Read, self.ground)));
            }
            return;
        }
        if wordy {
            return;
        }
        let mut found = operands(&command.words, &self.ground.places);
        if reading == Some(Operands::PatternThenFiles) && !names_its_pattern(&command.words) {
            found.drain(..found.len().min(1));
        }
        if entering && found.is_empty() {
            found.push(Operand::Path(self.ground.places.home.to_string_lossy().into_owned()));
        }
        // What other programs do with a word is their affair: they are dangerous as they are.
        let is_of_files = reading.is_some() || entering || writes(program).is_some();
        let last = found.len().saturating_sub(1);
        for (index, operand) in found.iter().enumerate() {
            let access = if entering { Access::Enter } else { access(command, index == last) };
            let path = match operand {
                Operand::Path(path) => path,
                Operand::Fitting(directory, pattern) => {
                    part.hides_files |= access != Access::Read;
                    part.reads_by_pattern |= is_of_files && program != "ls";
                    part.hides_files |=
                        is_of_files && program != "ls" && self.leads_out(directory, pattern, place);
                    for directory in &place.directories {
                        let target = self.ground.target_in(pattern, directory);
                        part.touches.push(Touch::new(target, access, self.ground));
                    }
                    directory
                }
                Operand::Hidden(_) => {
                    part.hides_files |= is_of_files;
                    continue;
                }
            };
            for directory in &place.directories {
                part.touches.push(Touch::new(self.ground.target_in(path, directory), access, self.ground));
            }
        }
    }

    /// Whether a pattern may fit links that lead out of the directory it is beneath.
    fn leads_out(&self, directory: &str, pattern: &str, place: &Where) -> bool {
        let open = pattern.strip_prefix(directory).unwrap_or(pattern).trim_matches('/');
        let levels = (!open.contains("**")).then(|| open.split('/').count());
        let leads = |from: &PathBuf| self.ground.resolver.leads_out(&from.join(directory), levels);
        place.directories.iter().any(leads)
    }

    /// Whether a command that does more than read is given a file that decides what is allowed.
    fn own_policy(&self, command: &Command, place: &Where) -> Option<String> {
        let program = command.words.first()?.text.as_str();
        if base(program) == "git"
            && command.words.get(1).is_some_and(|word| {
                matches!(
                    word.text.as_str(),
                    "add" | "commit" | "diff" | "log" | "show" | "status" | "blame" | "grep"
                )
            })
        {
            return None;
        }
        // What these write is among their touches; what they read does no harm.
        if writes(program).is_some() {
            let found = command.words.iter().skip(1).find(|word| may_fit_policy(word))?;
            return Some(format!("`{}` may decide what is allowed", found.text));
        }
        if is_wordy(program) && base(program) != "git" {
            return None;
        }
        command.words.iter().skip(1).find_map(|word| {
            let in_code = command.runs_its_arguments() && mentions_policy(&word.text);
            let path = match operand(word, &self.ground.places)? {
                Operand::Path(path) | Operand::Fitting(path, _) => path,
                Operand::Hidden(text) => text,
            };
            let is_policy =
                |directory: &PathBuf| policy(&self.ground.target_in(&path, directory), &self.ground.places);
            let named = may_fit_policy(word) || place.directories.iter().any(is_policy);
            (in_code || named).then(|| format!("`{}` may write what decides what is allowed", word.text))
        })
    }

    /// The parts of a file that the shell opens: one for each directory it may be in.
    fn opened(&self, file: &Opened, place: &Where) -> Vec<Part> {
        let access = if file.is_written { Access::Write } else { Access::Read };
        let path = match operand(&file.path, &self.ground.places) {
            _ if file.path.is_known => file.path.text.clone(),
            Some(Operand::Path(path)) => path,
            _ => {
                let mut part = Part::new(What::File, file.path.text.clone(), DangerLevel::Dangerous);
                part.changes = file.is_written;
                part.hides_files = true;
                if file.is_written && may_fit_policy(&file.path) {
                    part.critical = Some(format!("`{}` may decide what is allowed", file.path.text));
                    part.danger = DangerLevel::Critical;
                }
                return vec![part];
            }
        };
        if is_stream(&path) {
            return Vec::new();
        }
        let part = |directory: &PathBuf| {
            let mut part = Part::file(self.ground.target_in(&path, directory), access, self.ground);
            if !place.is_known && !path.starts_with('/') {
                part.hides_files = true;
                part.danger = part.danger.max(DangerLevel::Dangerous);
            }
            part
        };
        place.directories.iter().map(part).collect()
    }
}

impl Where {
    /// Where a wrapper such as `env -C` starts the command, if one does.
    fn moved(&self, command: &Command) -> Option<Self> {
        let mut moved: Option<Self> = None;
        for wrapper in &command.wrappers {
            let mut words = wrapper.split(' ');
            let shifts = |word: &str| matches!(word, "-C" | "-D" | "--chdir");
            let target = match words.by_ref().find(|word| shifts(word) || word.starts_with("--chdir=")) {
                Some(word) => word.strip_prefix("--chdir=").or_else(|| words.next()),
                None => continue,
            };
            let next = moved.get_or_insert_with(|| self.clone());
            match target {
                Some(target) => {
                    let there: Vec<PathBuf> =
                        next.directories.iter().map(|place| place.join(target)).collect();
                    next.directories.extend(there);
                }
                None => next.is_known = false,
            }
        }
        moved
    }

    /// Goes where `cd` goes; both places count from then on, as it may fail.
    fn follow(&mut self, command: &Command, ground: &Ground) {
        let Some(program) = command.words.first() else { return };
        match program.text.as_str() {
            "cd" | "pushd" => {}
            "popd" => {
                self.is_known = false;
                return;
            }
            _ => return,
        }
        let mut targets = operands(&command.words, &ground.places).into_iter();
        let path = match (targets.next(), targets.next()) {
            (None, _) => ground.places.home.to_string_lossy().into_owned(),
            (Some(Operand::Path(path)), None) if path != "-" => path,
            _ => {
                self.is_known = false;
                return;
            }
        };
        for directory in self.directories.clone() {
            let next = directory.join(&path);
            if !self.directories.contains(&next) {
                self.directories.push(next);
            }
        }
        if self.directories.len() > DIRECTORIES {
            self.directories.truncate(DIRECTORIES);
            self.is_known = false;
        }
    }
}

fn access(command: &Command, is_last: bool) -> Access {
    let program = command.words.first().map_or("", |word| word.text.as_str());
    let written = match writes(program) {
        None => false,
        Some(Writes::All) => true,
        Some(Writes::Last) => {
            is_last
                || command
                    .words
                    .iter()
                    .any(|word| word.text.starts_with("-t") || word.text.starts_with("--target"))
        }
        Some(Writes::With(options)) => command
            .words
            .iter()
            .any(|word| options.iter().any(|option| word.text == *option || word.text.starts_with(option))),
    };
    if written { Access::Write } else { Access::Read }
}

/// Whether the first operand of `grep` and its like may be something else than the pattern: an option brings the pattern, or
/// takes that operand for itself.
fn names_its_pattern(words: &[Word]) -> bool {
    let options = words.iter().skip(1).map(|word| word.text.as_str());
    let mut before =
        options.clone().take_while(|text| text.len() > 1 && text.starts_with('-') && *text != "--");
    let takes_it = before.any(|text| match text.strip_prefix("--") {
        Some(long) => !long.contains('='),
        None => text.contains(['e', 'f']),
    });
    let brings_it =
        |text: &str| ["-e", "-f", "--regexp", "--file"].iter().any(|start| text.starts_with(start));
    takes_it || options.clone().any(brings_it)
}

/// A variable that only the script itself looks at: in small letters, and no proxy.
fn is_plain_variable(name: &str) -> bool {
    is_safe_variable(name)
        || (name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
            && !name.ends_with("proxy"))
}

/// Files that are no files: what the command has open already, or nothing. Beyond a number, `/dev/fd/..` is a folder of
/// the process, and leads to every file there is.
fn is_stream(path: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty")
        || path.strip_prefix("/dev/fd/").is_some_and(is_number)
}

fn shown(command: &Command, text: &str) -> String {
    match text.get(command.place.clone()) {
        Some(written) if !written.trim().is_empty() => written.trim().to_owned(),
        _ => command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "),
    }
}
