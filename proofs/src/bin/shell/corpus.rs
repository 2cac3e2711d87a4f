//! Reads the lists of real commands: bypasses from public advisories, and commands that developers run every
//! day.
//!
//! A heading `# ...` is the reason for the bypasses below it; one line is one command; in a line that begins
//! with `=`, escapes are replaced (`\n`, `\r`, `\t`, `\0`, `\xNN`, `\u{N}`, `\\`).

use lariat_guard::shell::analyse;

const BYPASSES: &str = include_str!("bypasses.txt");
const EVERYDAY: &str = include_str!("everyday.txt");
/// Minimum number of commands in each list.
const LEAST_BYPASSES: usize = 300;
const LEAST_EVERYDAY: usize = 500;

pub(crate) struct Bypass {
    reason: String,
    line: usize,
    pub(crate) text: String,
}

/// Programs that only read, which a rule would allow without approval.
const HARMLESS: &[&str] = &[
    "cat", "echo", "false", "git", "grep", "head", "ls", "pwd", "tail", "test", "true", "wc", "cd", ":",
    "printf", "find",
];

impl Bypass {
    pub(crate) fn label(&self) -> String {
        format!("bypasses.txt:{} ({})", self.line, self.reason)
    }
}

pub(crate) fn bypasses() -> Result<Vec<Bypass>, String> {
    let mut reason = String::new();
    let mut found = Vec::new();
    for (index, line) in BYPASSES.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("# ") {
            reason = heading.to_owned();
        } else if !line.is_empty() {
            let text = match line.strip_prefix('=') {
                Some(escaped) => {
                    unescaped(escaped).ok_or_else(|| format!("bypasses.txt:{}: invalid escape", index + 1))?
                }
                None => line.to_owned(),
            };
            found.push(Bypass { reason: reason.clone(), line: index + 1, text });
        }
    }
    if found.len() < LEAST_BYPASSES || found.iter().any(|bypass| bypass.reason.is_empty()) {
        return Err(format!(
            "only {} bypasses instead of {LEAST_BYPASSES}, or one without a reason",
            found.len()
        ));
    }
    Ok(found)
}

pub(crate) fn everyday() -> Result<Vec<String>, String> {
    let found: Result<Vec<String>, String> = EVERYDAY
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .map(|line| match line.strip_prefix('=') {
            Some(escaped) => {
                unescaped(escaped).ok_or_else(|| format!("everyday.txt: invalid escape in `{line}`"))
            }
            None => Ok(line.to_owned()),
        })
        .collect();
    let found = found?;
    if found.len() < LEAST_EVERYDAY {
        Err(format!("only {} everyday commands instead of {LEAST_EVERYDAY}", found.len()))
    } else {
        Ok(found)
    }
}

/// Checks that the analysis considers no bypass harmless: it must report uncertainty, a program that runs its
/// arguments, a program that is not harmless, or a file that is written.
pub(crate) fn print_figures(bypasses: &[Bypass]) -> bool {
    let mut good = true;
    for bypass in bypasses {
        let script = analyse(&bypass.text);
        let is_seen = !script.doubts.is_empty()
            || script.files.iter().any(|file| file.is_written)
            || script.commands.iter().any(|command| {
                command.runs_its_arguments()
                    || command.program().is_none_or(|program| !HARMLESS.contains(&program))
            });
        if !is_seen {
            println!("  {}: looks harmless\n    {:?}", bypass.label(), bypass.text);
            good = false;
        }
    }
    println!(
        "bypasses: {} in the list, {}",
        bypasses.len(),
        if good { "none looks harmless" } else { "FAILED" }
    );
    good
}

fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        plain.push(match rest.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            '\\' => '\\',
            'x' => {
                let digits: String = [rest.next()?, rest.next()?].iter().collect();
                char::from(u8::from_str_radix(&digits, 16).ok()?)
            }
            'u' => {
                let digits: String = rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(plain)
}
