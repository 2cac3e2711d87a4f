//! Decides which builtins change what later commands do.
//!
//! Lists the builtins that set variables, options or aliases, and which uses of them are harmless. Setting a variable that
//! other programs obey, an option that is not on a short list, or a new meaning of a name is a doubt.

use super::{Doubt, Word, names};

/// Which uses of a builtin are harmless.
enum HarmlessUse {
    /// None.
    Never,
    /// Words that are plain names, or set one, and options without these letters.
    Names { except: &'static str },
    /// Options that take a value, and names: `read -p TEXT name`.
    Reading { with_value: &'static str, except: &'static str },
    /// Those without these options.
    Without(&'static [&'static str]),
    /// Those with only words from this list.
    Only(&'static [&'static str]),
}

const BUILTINS: &[(&str, HarmlessUse)] = &[
    ("alias", HarmlessUse::Never),
    ("bind", HarmlessUse::Never),
    ("compgen", HarmlessUse::Never),
    ("complete", HarmlessUse::Never),
    ("compopt", HarmlessUse::Never),
    ("coproc", HarmlessUse::Never),
    ("enable", HarmlessUse::Never),
    ("eval", HarmlessUse::Never),
    ("fc", HarmlessUse::Never),
    ("history", HarmlessUse::Never),
    ("let", HarmlessUse::Never),
    ("unalias", HarmlessUse::Never),
    (
        "trap",
        HarmlessUse::Only(&[
            "-", "", "--", "-p", "-l", "EXIT", "INT", "TERM", "HUP", "ERR", "PIPE", "QUIT", "DEBUG", "RETURN",
        ]),
    ),
    ("shopt", HarmlessUse::Only(&["-s", "-u", "-q", "-p", "nullglob", "failglob"])),
    (
        "set",
        HarmlessUse::Only(&[
            "-e",
            "-u",
            "-x",
            "-v",
            "-f",
            "-o",
            "+e",
            "+u",
            "+x",
            "+v",
            "+f",
            "+o",
            "-eu",
            "-ex",
            "-eux",
            "-euo",
            "-exo",
            "-euxo",
            "-eo",
            "-uo",
            "-xe",
            "-ue",
            "-xeuo",
            "pipefail",
            "errexit",
            "nounset",
            "xtrace",
            "noglob",
            "verbose",
            "noclobber",
            "-C",
        ]),
    ),
    ("export", HarmlessUse::Names { except: "fn" }),
    ("declare", HarmlessUse::Names { except: "nifF" }),
    ("typeset", HarmlessUse::Names { except: "nifF" }),
    ("local", HarmlessUse::Names { except: "nif" }),
    ("readonly", HarmlessUse::Names { except: "f" }),
    ("unset", HarmlessUse::Names { except: "fn" }),
    ("read", HarmlessUse::Reading { with_value: "dinNptu", except: "" }),
    ("mapfile", HarmlessUse::Reading { with_value: "dnOsuCc", except: "Cc" }),
    ("readarray", HarmlessUse::Reading { with_value: "dnOsuCc", except: "Cc" }),
    ("getopts", HarmlessUse::Never),
    ("hash", HarmlessUse::Without(&["-p"])),
    ("printf", HarmlessUse::Without(&["-v"])),
    ("test", HarmlessUse::Without(&["-v", "-R"])),
    ("[", HarmlessUse::Without(&["-v", "-R"])),
    ("wait", HarmlessUse::Without(&["-p"])),
    ("exec", HarmlessUse::Without(&[])),
];

/// Returns a doubt if a command changes what later commands do. The words start with the program.
pub(super) fn doubt(words: &[Word]) -> Option<Doubt> {
    let (program, arguments) = words.split_first()?;
    let name = program.as_known()?;
    let (_, harmless) = BUILTINS.iter().find(|(builtin, _)| *builtin == name)?;
    let is_harmless = match harmless {
        HarmlessUse::Never => false,
        HarmlessUse::Only(list) => {
            arguments.iter().all(|word| word.as_known().is_some_and(|text| list.contains(&text)))
        }
        // An option may come from an expansion.
        HarmlessUse::Without(options) => match name {
            "[" | "test" => {
                !arguments.iter().any(|word| word.as_known().is_some_and(|text| options.contains(&text)))
                    && first_is_known(arguments, name)
            }
            _ => {
                first_is_known(arguments, name)
                    && !arguments
                        .iter()
                        .any(|word| options.iter().any(|option| word.text.starts_with(option)))
            }
        },
        HarmlessUse::Names { except } => arguments.iter().all(|word| is_harmless_declaration(word, except)),
        HarmlessUse::Reading { with_value, except } => reads_harmlessly(arguments, with_value, except),
    };
    if is_harmless {
        return None;
    }
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    Some(if name == "eval" {
        Doubt::HiddenProgram(text)
    } else {
        Doubt::Unknown(format!("the effect of `{text}` on later commands"))
    })
}

/// Whether no unknown word can become an option: `[ $x ]` may be any number of words; `printf "$x"` may be `-v`.
fn first_is_known(arguments: &[Word], name: &str) -> bool {
    let Some(first) = arguments.first() else { return true };
    match name {
        "[" | "test" => arguments.iter().all(|word| word.is_known || is_quoted_whole(word)),
        _ => first.is_known || is_quoted_whole(first) && !first.text.starts_with("\"$"),
    }
}

/// Whether a word is `"...$x..."`: unknown, but certainly one word.
fn is_quoted_whole(word: &Word) -> bool {
    let inside = word.text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.is_some_and(|inside| !inside.contains(['"', '@', '*']))
}

fn is_harmless_declaration(word: &Word, except: &str) -> bool {
    let text = word.text.as_str();
    if let Some(letters) = text.strip_prefix(['-', '+']) {
        return word.is_known && letters.chars().all(|c| c.is_ascii_alphabetic() && !except.contains(c));
    }
    match text.split_once('=') {
        // The name comes before anything that is expanded.
        Some((name, value)) => {
            let name = name.strip_suffix('+').unwrap_or(name);
            names::is_name(name) && !names::is_dangerous_value(name, word.is_known.then_some(value))
        }
        None => word.is_known && names::is_name(text) && !names::is_dangerous(text),
    }
}

fn reads_harmlessly(arguments: &[Word], with_value: &str, except: &str) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.as_known() else { return false };
        let Some(letters) = text.strip_prefix('-') else {
            if !names::is_name(text) || names::is_dangerous(text) {
                return false;
            }
            continue;
        };
        if letters.chars().any(|c| except.contains(c)) {
            return false;
        }
        // `-aNAME` names an array.
        if letters.find('a').is_some_and(|at| at + 1 < letters.len()) {
            return false;
        }
        let takes = letters.find(|c| with_value.contains(c));
        if takes.is_some_and(|at| at + 1 == letters.len()) && rest.next().is_none_or(|value| !value.is_known)
        {
            return false;
        }
    }
    true
}

#[cfg(test)]
#[path = "builtins_tests.rs"]
mod tests;
