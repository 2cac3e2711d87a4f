//! Decides which `${...}` expansions are analyzed.
//!
//! Accepts the operators that only read a variable. Indirection (`${!x}`), prompts (`${x@P}`) and computed offsets evaluate
//! the value of the variable, and an assignment changes it: those are doubts.

use super::{arithmetic, names};

/// Returns why an expansion, given with its braces, is a doubt.
pub(super) fn doubt(text: &str) -> Option<&'static str> {
    let Some(inside) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return Some("an unusual expansion");
    };
    // `${#x}` is a length, `${#}` a count.
    let inside = inside.strip_prefix('#').unwrap_or(inside);
    let inside = inside.strip_prefix(['@', '*', '?', '$']).unwrap_or(inside);
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, mut rest) = inside.split_at_checked(end)?;
    if let Some(index) = rest.strip_prefix('[') {
        let (index, after) = index.split_once(']')?;
        if !matches!(index, "@" | "*") && !arithmetic::is_number(index) {
            return Some("a computed array index");
        }
        rest = after;
    }
    // Inside double quotes, a single quote here is literal, and what follows it is expanded.
    if rest.contains('\'') && rest.contains(['$', '`']) {
        return Some("quotes in an expansion");
    }
    // The parsers disagree with bash about what a backslash escapes in a pattern: `${x^\\$(y)}` runs `y`.
    if rest.contains('\\') && rest.contains(['$', '`']) {
        return Some("an escape in an expansion");
    }
    if rest.contains("<(") || rest.contains(">(") {
        return Some("a process substitution in an expansion");
    }
    let mut characters = rest.chars();
    match (characters.next(), characters.next()) {
        (None, _)
        | (Some('-' | '+' | '?' | '#' | '%' | '/' | '^' | ','), _)
        | (Some(':'), Some('-' | '+' | '?')) => None,
        (Some('='), _) | (Some(':'), Some('=')) => {
            names::is_dangerous(name).then_some("a default value for a variable that other programs obey")
        }
        (Some(':'), _) => {
            let numbers =
                rest.trim_start_matches(':').split(':').all(|number| arithmetic::is_number(number.trim()));
            (!numbers).then_some("a computed offset")
        }
        (Some('@'), _) => Some("an expansion that evaluates its value"),
        _ => Some("an unusual expansion"),
    }
}

#[cfg(test)]
mod tests {
    use super::doubt;

    #[test]
    fn analyzes_expansions_that_only_read() {
        for text in [
            "${x}", "${x:-a}", "${x%.c}", "${x##*/}", "${#x}", "${x/a/b}", "${x:1:2}", "${x:1}", "${a[@]}",
            "${#a[@]}", "${1}", "${@}", "${x^^}", "${x:=1}",
        ] {
            assert_eq!(doubt(text), None, "{text}");
        }
    }

    #[test]
    fn doubts_expansions_that_evaluate_or_assign() {
        for text in [
            "${!x}",
            "${x@P}",
            "${a[$(x)]}",
            "${a[i]}",
            "${x:i}",
            "${x:$(y):1}",
            "${PATH:=.}",
            "${PATH=.}",
            "${@@P}",
            "${x:-'`y`'}",
            r"${x^\\$((i=y))}",
            r"${x%\$(y)}",
        ] {
            assert!(doubt(text).is_some(), "{text}");
        }
    }
}
