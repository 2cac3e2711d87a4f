//! Finds the subcommand of a program.

use super::wrapper::base;

/// Options of `git` before its subcommand that take a value.
const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];

/// Returns how many words stand between a program and its subcommand.
pub(crate) fn options_before_subcommand<'a>(program: &str, words: impl Iterator<Item = &'a str>) -> usize {
    let (values, prefixes): (&[&str], &[char]) = match base(program) {
        "git" => (GIT_VALUES, &['-']),
        "cargo" => (&["-C", "--config", "-Z", "--color"], &['-', '+']),
        "npm" | "pnpm" | "yarn" => (&["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace"], &['-']),
        "docker" | "podman" => {
            (&["--context", "-c", "-H", "--host", "--config", "-l", "--log-level"], &['-'])
        }
        "kubectl" => (&["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user"], &['-']),
        _ => return 0,
    };
    let mut count = 0;
    let mut is_value = false;
    for word in words {
        if !is_value && !word.starts_with(prefixes) {
            return count;
        }
        is_value = !is_value && values.contains(&word);
        count += 1;
    }
    count
}
