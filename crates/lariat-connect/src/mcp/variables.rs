//! Expands `${VAR}` and `${VAR:-default}` in the text of a configuration.

/// Replaces each reference with its value. A reference without a closing brace stays as it is.
///
/// # Errors
/// The name of a variable that has neither a value nor a default.
pub(super) fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, reference)) = rest.split_once("${") {
        let Some((reference, after)) = reference.split_once('}') else { break };
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        expanded.push_str(before);
        // As in a shell, `:-` also replaces an empty value.
        match (value(name).filter(|value| default.is_none() || !value.is_empty()), default) {
            (Some(value), _) => expanded.push_str(&value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(name.to_owned()),
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
