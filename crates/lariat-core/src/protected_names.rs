//! Lists the files and directories that other programs execute or obey.
//!
//! The permission check asks before a tool writes one of them, wherever it is; the sandbox blocks commands from changing
//! those of [`WORKSPACE`] and [`STARTUP`]. Both read these lists, so that a name that one of them knows is known to the
//! other. Invariant: every name is in lower case, because the permission check compares without regard to case.

/// Names in a workspace that a command may not change, create or replace.
pub const WORKSPACE: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".githooks",
    ".lariat",
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".opencode",
    ".zed",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".mcp.json",
    "lariat.toml",
    ".envrc",
    "mise.toml",
    ".mise.toml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".pre-commit-config.yaml",
];

/// Paths below the home directory that are executed or obeyed when a user logs in, opens a shell or starts a program.
pub const STARTUP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".inputrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".pam_environment",
    ".vimrc",
    ".tmux.conf",
    ".screenrc",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/nvim",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".config/nushell",
    ".config/lariat",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/bin",
    ".local/bin",
    ".local/share/systemd",
    ".local/share/applications",
    ".local/state/lariat",
];

/// Names that package managers and hook managers obey. Commands may change them, because the same programs write them.
pub const PACKAGES: &[&str] = &[
    ".husky",
    ".cargo",
    ".yarn",
    ".mvn",
    ".gitmodules",
    ".gitattributes",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pypirc",
    ".gemrc",
    ".netrc",
    "bunfig.toml",
    ".pre-commit-config.yml",
    ".pre-commit-hooks.yaml",
    ".tool-versions",
    ".ssh",
    ".gnupg",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_listed_once() {
        let mut all: Vec<&str> = [WORKSPACE, STARTUP, PACKAGES].concat();
        let count = all.len();
        assert!(all.iter().all(|name| *name == name.to_lowercase()));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
