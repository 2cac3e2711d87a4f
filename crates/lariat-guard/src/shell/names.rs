//! Lists names with a special meaning: variables that other programs obey, and the reserved words of bash.
//!
//! A variable that is in no table only affects programs that ask for it.

/// Variables that control what a later command runs, reads, writes or connects to. An entry that ends in `*` stands for every
/// name with that prefix; a line contains many names.
const DANGEROUS: &[&str] = &[
    // The shell's own.
    "BASH* CDPATH ENV EXECIGNORE FCEDIT FIGNORE FPATH GLOBIGNORE HISTFILE HISTCMD HOME IFS INPUTRC OLDPWD",
    "OPTARG OPTIND PATH POSIXLY_CORRECT PROMPT_COMMAND PS0 PS1 PS2 PS4 PWD SHELL SHELLOPTS TMPDIR",
    "TIMEFORMAT USER LOGNAME ZDOTDIR auto_resume histchars COMP_* COMPREPLY DIRSTACK FUNCNAME REPLY_*",
    "MAILPATH MAIL MAILCHECK",
    // Integers to the shell: what they are set to is evaluated.
    "EPOCHREALTIME EPOCHSECONDS EUID LINENO PPID RANDOM SECONDS SRANDOM UID",
    // The dynamic linker and the C library.
    "LD_* DYLD_* GCONV_PATH GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH MALLOC_* NLSPATH RES_OPTIONS",
    "TZDIR GETCONF_DIR TEXTDOMAIN*",
    // Programs that other programs start.
    "BROWSER EDITOR VISUAL PAGER MANPAGER MANOPT MANROFFSEQ LESS LESSOPEN LESSCLOSE LESSKEY* MORE SUDO_*",
    "SSH_* GPG_* GNUPGHOME DISPLAY XAUTHORITY TERMINFO* TERMCAP TERM_PROGRAM GIT_* HG* SVN_* CVS_RSH",
    "CVSEDITOR RSYNC_* TAR_OPTIONS TAPE GZIP XZ_OPT XZ_DEFAULTS ZIPOPT UNZIP BZIP2 GREP_OPTIONS",
    "RIPGREP_CONFIG_PATH FZF_* BAT_* DIFF_* AWKPATH AWKLIBPATH AWK_*",
    // Interpreters, compilers and package managers.
    "PYTHON* PIP_* PIPENV_* POETRY_* UV_* CONDA_* VIRTUAL_ENV PERL* RUBY* GEM_* BUNDLE_* RAKE* NODE_*",
    "NPM_* npm_* YARN_* PNPM_* BUN_* DENO_* COREPACK_* ELECTRON_* JAVA* JDK_* _JAVA_OPTIONS MAVEN_* MVN_*",
    "GRADLE_* SBT_* KOTLIN_* CLASSPATH CARGO* RUST* GO* CGO_* CC CXX CPP LD AR AS NM RANLIB STRIP FC",
    "CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH COMPILER_PATH",
    "GCC_* CMAKE_* CTEST_* MAKE* MFLAGS GNUMAKEFLAGS NINJA* MESON* PKG_CONFIG* ACLOCAL* AUTOM4TE M4* PHP*",
    "COMPOSER_* LUA_* TCLLIBPATH ERL_* ELIXIR_* MIX_* HEX_* DOTNET_* COR*_* NUGET_* MSBUILD* R_* JULIA_*",
    "GHC* CABAL_* STACK_* OCAML* CAML* OPAM* SWIFT* JUPYTER* IPYTHON* PYTEST_* TOX_* NOX* COVERAGE_*",
    "DJANGO_SETTINGS_MODULE FLASK_APP MYPYPATH JEST_* VITEST* TS_NODE_* ESLINT_* PRETTIER_* BABEL_*",
    "WEBPACK_* HUSKY* PRE_COMMIT* NIX_* GUIX_* HOMEBREW_* DPKG_* APT_* DEB*",
    // Network connections, and tools that manage remote systems.
    "http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY",
    "NO_PROXY CURL_* WGETRC NETRC OPENSSL_* SSL_* SSLKEYLOGFILE REQUESTS_CA_BUNDLE KRB5* DOCKER_*",
    "BUILDKIT_* COMPOSE_* CONTAINER_* KUBE* HELM_* AWS_* AZURE_* GOOGLE_* CLOUDSDK_* TF_* TERRAFORM_*",
    "VAULT_* ANSIBLE_* PG* PSQL* MYSQL* REDISCLI_* SQLITE_* ODBC* GH_* GITHUB_* GITLAB_* GLAB_*",
    "ANTHROPIC_* OPENAI_* CLAUDE_* LARIAT_* XDG_* DBUS_* SYSTEMD_* NOTIFY_SOCKET LISTEN_* WINE* GTK_*",
    "QT_* GIO_* VIM* NVIM* EMACS* EXINIT TMUX* SCREEN* STY STRACE_* LTRACE_* GDB* VALGRIND_* ASAN_*",
    "LSAN_* MSAN_* TSAN_* UBSAN_*",
];

/// Exceptions: harmless with any value.
const HARMLESS: &[&str] = &[
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CARGO_TERM_QUIET",
    "CARGO_TERM_VERBOSE",
    "CARGO_BUILD_JOBS",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "GOARCH",
    "GOMAXPROCS",
    "GOOS",
    "CGO_ENABLED",
    "NODE_ENV",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_MIN_STACK",
    "RUST_TEST_THREADS",
    "DEBIAN_FRONTEND",
    "HUSKY",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "TF_IN_AUTOMATION",
];

/// Exceptions: harmless with one of these values.
const HARMLESS_VALUES: &[&str] = &["", "0", "1", "cat", "true", "false", ":", "less"];
const HARMLESS_WITH_VALUES: &[&str] = &[
    "EDITOR",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_SEQUENCE_EDITOR",
    "MANPAGER",
    "PAGER",
    "VISUAL",
    "GH_PAGER",
    "AWS_PAGER",
];

/// Words that begin or end a construct when they stand where a program would. A parser that takes one of them for a program
/// has misread the text.
pub(super) const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "until", "while", "{", "}",
];

/// Whether setting a variable changes what other programs do.
pub(super) fn is_dangerous(name: &str) -> bool {
    if HARMLESS.contains(&name) {
        return false;
    }
    DANGEROUS.iter().flat_map(|line| line.split(' ')).any(|entry| match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == entry,
    })
}

/// Like [`is_dangerous`], for a value that may be known.
pub(super) fn is_dangerous_value(name: &str, value: Option<&str>) -> bool {
    let is_excepted =
        HARMLESS_WITH_VALUES.contains(&name) && value.is_some_and(|value| HARMLESS_VALUES.contains(&value));
    !is_excepted && is_dangerous(name)
}

/// Whether a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_other_programs_obey_are_dangerous() {
        for name in [
            "PATH",
            "IFS",
            "BASH_ENV",
            "LD_PRELOAD",
            "GIT_SSH_COMMAND",
            "PYTHONSTARTUP",
            "RUSTC_WRAPPER",
            "NODE_OPTIONS",
            "PAGER",
        ] {
            assert!(is_dangerous(name), "{name}");
        }
        for name in ["FOO", "x", "LC_ALL", "RUST_LOG", "CARGO_TERM_COLOR", "CI", "NO_COLOR"] {
            assert!(!is_dangerous(name), "{name}");
        }
        assert!(!is_dangerous_value("GIT_PAGER", Some("cat")));
        assert!(is_dangerous_value("GIT_PAGER", Some("sh")));
        assert!(is_dangerous_value("GIT_PAGER", None));
    }
}
