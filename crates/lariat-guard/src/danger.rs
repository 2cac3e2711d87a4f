//! Rates how dangerous each command of a script is and lists the files it uses.
//!
//! The walk over a script follows `cd`, because a relative path means nothing without its directory. Levels: safe commands
//! only read, inside the workspace; moderate ones change files there as an edit does; critical ones are those that
//! `critical` and `protected` find; everything else is dangerous.

use std::path::PathBuf;

use lariat_core::permission::DangerLevel;

use crate::check_context::CheckContext;
use crate::critical::{CommandContext, critical_reason};
use crate::matched_files::MatchedFiles;
use crate::operand::{Operand, literal_operands, operands, possible_operands};
use crate::part::{FileAccess, Part, PartKind, TouchedFile};
use crate::program::{
    WrittenOperands, base, is_editor, is_safe_variable, is_transparent, takes_words, writes,
};
use crate::protected::{may_match_policy, mentions_policy, policy};
use crate::read_only::{Depth, ReadOnlyCommand, obeys_repository, read_only};
use crate::resolve::SessionDirectories;
use crate::settings::Trust;
use crate::shell::{Command, OpenedFile, Options, Script, Word};

/// Commands that read names and metadata, not content.
const NAME_READERS: &[&str] = &["ls", "find", "fd", "du", "df", "tree", "stat", "readlink", "realpath"];
/// Options by which a command descends into directories.
const RECURSIVE: Options = Options::new("-r -R --recursive --dereference-recursive", "");
const RECURSIVE_COPY: Options = Options::new("-r -R -a --recursive --archive", "tS");
/// The option that names the directory into which files are put.
const TARGET: Options = Options::new("-t --target-directory", "S");

/// Maximum directories that a script may be in before its paths are treated as unknown.
const MAX_DIRECTORIES: usize = 16;

/// Rates the commands of one script, in order.
pub(crate) struct ScriptWalk<'a> {
    script: &'a Script,
    text: &'a str,
    context: &'a CheckContext,
}

/// The directories in which a command may run.
#[derive(Clone)]
struct PossibleDirectories {
    directories: Vec<PathBuf>,
    /// False if there may be others.
    is_known: bool,
}

impl<'a> ScriptWalk<'a> {
    pub(crate) const fn new(script: &'a Script, text: &'a str, context: &'a CheckContext) -> Self {
        Self { script, text, context }
    }

    /// Returns the parts of the script: one for each command and each file that the shell opens.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut location =
            PossibleDirectories { directories: vec![self.context.places.directory.clone()], is_known: true };
        if self.script.repeats {
            self.script.commands.iter().for_each(|command| location.apply_cd(command, self.context));
        }
        let mut parts = Vec::with_capacity(self.script.commands.len() + self.script.files.len());
        // A redirection may belong to any command, and may be opened in the directory where a wrapper starts it.
        let mut anywhere = location.clone();
        for (number, command) in self.script.commands.iter().enumerate() {
            parts.push(self.command(number, command, &location));
            location.apply_cd(command, self.context);
            location.after_wrappers(command).iter().for_each(|after_wrappers| anywhere.join(after_wrappers));
        }
        anywhere.join(&location);
        parts.extend(self.script.files.iter().flat_map(|file| self.opened_parts(file, &anywhere)));
        parts
    }

    fn command(&self, number: usize, command: &Command, location: &PossibleDirectories) -> Part {
        let context = self.context;
        let shown_text = shown_text(command, self.text);
        let after_wrappers = location.after_wrappers(command);
        let location = after_wrappers.as_ref().unwrap_or(location);
        let mut part = Part::new(PartKind::Command(number), shown_text, DangerLevel::Dangerous);
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
        self.touch(&mut part, command, location, reading.as_ref());
        let reading =
            reading.filter(|_| !obeys_repository(&command.words) || self.may_read_repository(location));
        let inside = location.is_known
            && !part.hides_files
            && part
                .touched_files
                .iter()
                .all(|touch| touch.is_inside || touch.target.named.starts_with("/dev/null"));
        let entering = matches!(program.text.as_str(), "cd" | "pushd");
        part.only_reads = plain && location.is_known && !part.hides_files && (entering || reading.is_some());
        if entering {
            part.danger = if plain && inside { DangerLevel::Safe } else { DangerLevel::Dangerous };
        } else if let Some(reading) = &reading {
            // The words of a git command name objects, not files.
            let takes_words_only = program.text == "git" || part.touched_files.is_empty();
            let words = reading.takes_words_only() && takes_words_only && !part.hides_files;
            part.danger = if plain && (inside || words) { DangerLevel::Safe } else { DangerLevel::Dangerous };
        } else if is_editor(&program.text) && plain && inside {
            part.danger = DangerLevel::Moderate;
        }
        part.changes = part.danger != DangerLevel::Safe && !(plain && reading.is_some());
        if reading.is_none() {
            let surroundings = CommandContext {
                places: &context.places,
                workspace: &context.workspace,
                resolver: context.resolver.as_ref(),
            };
            part.critical = critical_reason(command, &location.directories, &surroundings)
                .or_else(|| self.policy_reason(command, location));
        }
        part.raise_danger(context);
        part
    }

    /// Whether the agent may have written the program that the name of the command or of a wrapper resolves to.
    fn is_shadowed(&self, command: &Command) -> bool {
        let own = command.words.first().map(|word| word.text.as_str());
        let wrappers = command.wrappers.iter().filter_map(|wrapper| wrapper.split_whitespace().next());
        wrappers.chain(own).any(|name| self.context.resolver.is_shadowed(name))
    }

    /// Whether git and similar programs may read a repository's configuration without approval: only that of a trusted
    /// workspace, and only in the directory where the script began, because they obey the repository they find.
    fn may_read_repository(&self, location: &PossibleDirectories) -> bool {
        self.context.trust == Trust::Trusted
            && location.is_known
            && location.directories.iter().all(|directory| *directory == self.context.places.directory)
    }

    /// Records the files that a command uses.
    fn touch(
        &self,
        part: &mut Part,
        command: &Command,
        location: &PossibleDirectories,
        reading: Option<&ReadOnlyCommand>,
    ) {
        let places = &self.context.places;
        let program = command.words.first().map_or("", |word| word.text.as_str());
        if program == "git" && reading.is_some() {
            // Git shows their content, current or committed: `git diff x`, `git show HEAD:x`.
            for word in command.words.iter().skip(1).filter(|word| word.is_known) {
                let parts = word.text.rsplit(':').next().filter(|path| *path != word.text);
                let named = std::iter::once(word.text.as_str()).chain(parts);
                for path in named {
                    self.add(part, path, FileAccess::Read, location, Depth::Names);
                }
            }
            return;
        }
        if let Some(entered) = cd_target(&command.words, places) {
            match entered {
                Some(path) => self.add(part, &path, FileAccess::Enter, location, Depth::Names),
                None => part.hides_files = true,
            }
            return;
        }
        match reading {
            Some(reading) => {
                let is_content = !NAME_READERS.contains(&program);
                for operand in reading.paths.iter().flat_map(|word| literal_operands(word, places)) {
                    part.hides_files |= matches!(operand, Operand::Hidden(_));
                    self.touch_operand(
                        part,
                        &operand,
                        FileAccess::Read,
                        location,
                        is_content.then_some(reading.depth),
                    );
                }
            }
            None if takes_words(program) => {}
            None => {
                let depth = copy_depth(command);
                // How another program uses a word is unknown; its command is rated dangerous anyway.
                let known = (writes(program).is_some() || depth != Depth::Names).then_some(depth);
                let found = operands(&command.words, places);
                let last = found.len().saturating_sub(1);
                for (index, operands) in found.iter().enumerate() {
                    let access = access(command, index == last);
                    for operand in operands {
                        self.touch_operand(part, operand, access, location, known);
                    }
                }
            }
        }
    }

    /// Records what one word names. Without a depth, the command is not known to read the content.
    fn touch_operand(
        &self,
        part: &mut Part,
        operand: &Operand,
        access: FileAccess,
        location: &PossibleDirectories,
        depth: Option<Depth>,
    ) {
        let path = match operand {
            Operand::Path(path) => path,
            Operand::Matching(directory, pattern) => {
                part.hides_files |= access != FileAccess::Read;
                if let Some(depth) = depth {
                    self.record_matches(part, pattern, access, location, depth);
                }
                self.add(part, pattern, access, location, Depth::Names);
                directory
            }
            Operand::Hidden(_) => {
                part.hides_files |= depth.is_some();
                return;
            }
        };
        let depth = depth.filter(|_| matches!(operand, Operand::Path(_))).unwrap_or(Depth::Names);
        self.add(part, path, access, location, depth);
    }

    /// Records a path, in every directory that it may be relative to.
    fn add(
        &self,
        part: &mut Part,
        path: &str,
        access: FileAccess,
        location: &PossibleDirectories,
        depth: Depth,
    ) {
        for directory in &location.directories {
            let target = self.context.target_in(path, directory);
            let matched = (depth != Depth::Names).then(|| {
                MatchedFiles::in_directory(directory.join(path), depth, self.context.resolver.clone())
            });
            // The command opens each entry of the directory, so it follows links.
            part.hides_files |= depth == Depth::Files
                && matched.as_ref().is_some_and(|matched| self.links_leave_workspace(matched));
            part.touched_files
                .push(TouchedFile { matched, ..TouchedFile::new(target, access, self.context) });
        }
    }

    /// Records the files that match a pattern.
    fn record_matches(
        &self,
        part: &mut Part,
        pattern: &str,
        access: FileAccess,
        location: &PossibleDirectories,
        depth: Depth,
    ) {
        for directory in &location.directories {
            let matched =
                |depth| MatchedFiles::from_pattern(directory, pattern, depth, self.context.resolver.clone());
            // Links below a matching directory are not followed.
            let followed = if matches!(depth, Depth::Everything { .. }) { Depth::Names } else { depth };
            part.hides_files |= self.links_leave_workspace(&matched(followed));
            let target = self.context.target_in(pattern, directory);
            part.touched_files.push(TouchedFile {
                matched: Some(matched(depth)),
                ..TouchedFile::new(target, access, self.context)
            });
        }
    }

    /// Whether links lead out of the workspace, or there are too many files to tell.
    fn links_leave_workspace(&self, matched: &MatchedFiles) -> bool {
        let found = matched.walk_result();
        let is_outside = |link: &PathBuf| !self.context.workspace.iter().any(|own| link.starts_with(own));
        found.links.iter().any(is_outside) || found.hit_limit
    }

    /// Names a policy file that a command may write, in words for the user.
    fn policy_reason(&self, command: &Command, location: &PossibleDirectories) -> Option<String> {
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
        // The files these write are among their recorded touches; reading a policy file does no harm.
        if writes(program).is_some() {
            let found = command.words.iter().skip(1).find(|word| may_match_policy(word))?;
            return Some(format!("`{}` may match a file that controls permissions", found.text));
        }
        if takes_words(program) && base(program) != "git" {
            return None;
        }
        command.words.iter().skip(1).find_map(|word| {
            let in_code = command.runs_its_arguments() && mentions_policy(&word.text);
            let is_policy = |operand: Operand| {
                let (Operand::Path(path) | Operand::Matching(path, _) | Operand::Hidden(path)) = operand;
                let target = |directory: &PathBuf| self.context.target_in(&path, directory);
                location.directories.iter().any(|directory| policy(&target(directory), &self.context.places))
            };
            let named = may_match_policy(word)
                || possible_operands(word, &self.context.places).into_iter().any(is_policy);
            (in_code || named).then(|| format!("`{}` may write a file that controls permissions", word.text))
        })
    }

    /// Returns the parts for a file that the shell opens: one for each directory it may be in.
    fn opened_parts(&self, file: &OpenedFile, location: &PossibleDirectories) -> Vec<Part> {
        let access = if file.is_written { FileAccess::Write } else { FileAccess::Read };
        let path = match literal_operands(&file.path, &self.context.places).as_slice() {
            [Operand::Path(path)] => path.clone(),
            _ => {
                let mut part = Part::new(PartKind::File, file.path.text.clone(), DangerLevel::Dangerous);
                part.changes = file.is_written;
                part.hides_files = true;
                if file.is_written && may_match_policy(&file.path) {
                    part.critical =
                        Some(format!("`{}` may match a file that controls permissions", file.path.text));
                    part.danger = DangerLevel::Critical;
                }
                return vec![part];
            }
        };
        if is_stream(&path) {
            return Vec::new();
        }
        let part = |directory: &PathBuf| {
            let mut part = Part::file(self.context.target_in(&path, directory), access, self.context);
            if !location.is_known && !path.starts_with('/') {
                part.hides_files = true;
                part.danger = part.danger.max(DangerLevel::Dangerous);
            }
            part
        };
        location.directories.iter().map(part).collect()
    }
}

impl PossibleDirectories {
    /// Returns the directories where a wrapper such as `env -C` starts the command, if one does.
    fn after_wrappers(&self, command: &Command) -> Option<Self> {
        let mut after_wrappers: Option<Self> = None;
        for wrapper in &command.wrappers {
            let mut words = wrapper.split(' ');
            let shifts = |word: &str| matches!(word, "-C" | "-D" | "--chdir");
            let target = match words.by_ref().find(|word| shifts(word) || word.starts_with("--chdir=")) {
                Some(word) => word.strip_prefix("--chdir=").or_else(|| words.next()),
                None => continue,
            };
            let next = after_wrappers.get_or_insert_with(|| self.clone());
            match target {
                Some(target) => {
                    let there: Vec<PathBuf> =
                        next.directories.iter().map(|location| location.join(target)).collect();
                    next.directories.extend(there);
                }
                None => next.is_known = false,
            }
        }
        after_wrappers
    }

    /// Adds the directories of `other`.
    fn join(&mut self, other: &Self) {
        self.is_known &= other.is_known;
        for directory in &other.directories {
            if !self.directories.contains(directory) {
                self.directories.push(directory.clone());
            }
        }
    }

    /// Adds the directories that a `cd` enters. The old ones stay, because `cd` may fail.
    fn apply_cd(&mut self, command: &Command, context: &CheckContext) {
        let Some(program) = command.words.first() else { return };
        match program.text.as_str() {
            "cd" | "pushd" => {}
            "popd" => {
                self.is_known = false;
                return;
            }
            _ => return,
        }
        let Some(path) = cd_target(&command.words, &context.places).flatten() else {
            self.is_known = false;
            return;
        };
        for directory in self.directories.clone() {
            let next = directory.join(&path);
            if !self.directories.contains(&next) {
                self.directories.push(next);
            }
        }
        if self.directories.len() > MAX_DIRECTORIES {
            self.directories.truncate(MAX_DIRECTORIES);
            self.is_known = false;
        }
    }
}

fn access(command: &Command, is_last: bool) -> FileAccess {
    let program = command.words.first().map_or("", |word| word.text.as_str());
    let arguments = command.words.get(1..).unwrap_or_default();
    let written = match writes(program) {
        None => false,
        Some(WrittenOperands::All) => true,
        Some(WrittenOperands::Last) => is_last || TARGET.are_in(arguments),
        Some(WrittenOperands::With(options)) => options.are_in(arguments),
    };
    if written { FileAccess::Write } else { FileAccess::Read }
}

/// Returns where `cd` or `pushd` goes: `None` for another command, `Some(None)` if the directory is unknown.
fn cd_target(words: &[Word], places: &SessionDirectories) -> Option<Option<String>> {
    let (program, arguments) = words.split_first()?;
    if !matches!(program.text.as_str(), "cd" | "pushd") {
        return None;
    }
    let is_option = |word: &&Word| matches!(word.as_known(), Some("-L" | "-P" | "-e" | "-@"));
    let skipped = arguments.iter().take_while(is_option).count();
    let rest = arguments.get(skipped..).unwrap_or_default();
    let (rest, options_end) = match rest.split_first() {
        Some((word, rest)) if word.as_known() == Some("--") => (rest, true),
        _ => (rest, false),
    };
    Some(match rest {
        [] if program.text == "cd" => Some(places.home.to_string_lossy().into_owned()),
        [word] if options_end || !word.text.starts_with(['-', '+']) => {
            match literal_operands(word, places).as_slice() {
                [Operand::Path(path)] if path != "-" => Some(path.clone()),
                _ => None,
            }
        }
        _ => None,
    })
}

/// How far a command that copies or prints files descends into directories.
fn copy_depth(command: &Command) -> Depth {
    let arguments = command.words.get(1..).unwrap_or_default();
    let everything = match command.words.first().map_or("", |word| base(&word.text)) {
        "tar" | "bsdtar" | "gtar" | "rsync" | "mv" | "ag" | "ack" | "ugrep" => true,
        "cp" => RECURSIVE_COPY.are_in(arguments),
        "scp" | "zip" | "grep" | "egrep" | "fgrep" => RECURSIVE.are_in(arguments),
        "diff" | "rg" => true,
        _ => false,
    };
    if everything { Depth::Everything { hidden: true } } else { Depth::Names }
}

/// Whether only the script itself reads a variable: its name is in lower case and does not end in `proxy`.
fn is_plain_variable(name: &str) -> bool {
    is_safe_variable(name)
        || (name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
            && !name.ends_with("proxy"))
}

/// Whether a path names no file on disk: a stream that the command already has open, or `/dev/null`. Only a number may
/// follow `/dev/fd/`: `/dev/fd/..` is a directory of the process that leads to every file.
fn is_stream(path: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty")
        || path.strip_prefix("/dev/fd/").is_some_and(is_number)
}

fn shown_text(command: &Command, text: &str) -> String {
    match text.get(command.place.clone()) {
        Some(written) if !written.trim().is_empty() => written.trim().to_owned(),
        _ => command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "),
    }
}
