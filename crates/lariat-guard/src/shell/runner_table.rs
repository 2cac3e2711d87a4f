//! Lists the programs that run what their arguments say, and the options by which others do.
//!
//! An option is written once and in full; `option` finds its other spellings. A line contains many names, separated by
//! blanks.

use super::option::{Options, Style};

/// When a program runs its arguments.
pub(super) enum Runs {
    /// With one of these options, or one of these words.
    With { options: Options, words: &'static str },
    /// With anything but field options and a program that only computes and prints.
    Awk,
    /// Depends on the subcommand and its options.
    Git,
    /// With a script that does more than print, delete and replace lines.
    SedUse,
}

/// Programs whose arguments, or whose input, are programs.
pub(super) const INTERPRETERS: &[&str] = &[
    "bun deno erl expect gdb ghci groovy guile irb iex jshell julia ipython lua luajit m4 node nodejs",
    "ocaml octave osascript perl php powershell psql pwsh pypy pypy3 python python2 python3 R racket",
    "Rscript ruby runghc scala scheme sqlite3 swift tclsh ts-node tsx wish mysql bc dc ed ex source .",
];

/// Programs whose arguments make them start another program or run a text.
pub(super) const ALWAYS: &[&str] = &[
    "abduco ansible asdf at autossh aws-vault batch box64 bpftrace buildah bunx busybox bwrap caffeinate",
    "capsh catchsegv cgexec chamber choom chpst chroot chrt concurrently corepack cpulimit crontab",
    "cross-env crun daemon daemonize dbus-launch dbus-run-session detach devbox distrobox doas",
    "docker-compose doppler dotenv dotenvx dtach dumb-init eatmydata emacs emacsclient entr env envdir",
    "envuidgid eval exec fakechroot fakeroot faketime firejail flatpak flock fnm gdbserver gmake gosu",
    "gtimeout gvim hx hyperfine i386 infisical ionice java jenv joe just kak ld.so less lima limactl",
    "linux32 linux64 lldb ltrace lxc-attach lxc-execute machinectl make mg micro mise more multitime nano",
    "nerdctl newgrp nix nix-shell nodemon npx nq nsenter numactl nvim parallel parallel-ssh pdsh perf",
    "pico pixi pkexec pnpx prlimit proot proxychains proxychains4 pssh pyenv qemu-aarch64 qemu-arm",
    "qemu-i386 qemu-x86_64 rbenv reflex rlfe rlwrap rr rsh rtx run-parts runc runcon runuser rview rvim",
    "s6-setuidgid salt schroot screen script scriptreplay setarch setpriv setsid setuidgid sftp sg socat",
    "softlimit sops ssh ssh-add ssh-agent ssh-copy-id ssh-keygen sshfs sshpass start-stop-daemon strace",
    "su su-exec sudo systemd-inhibit systemd-nspawn systemd-run taskset tclsh8.6 teller tini tmux toolbox",
    "torify torsocks trap tsocks uname26 unbuffer unshare uvx valgrind vi view vim volta watch watchexec",
    "wine winpty with-contenv x86_64 xargs xdotool xterm xvfb-run",
];

const fn with(listed: &'static str, values: &'static str) -> Runs {
    Runs::With { options: Options::new(listed, values), words: "" }
}

const fn words(words: &'static str) -> Runs {
    Runs::With { options: Options::new("", ""), words }
}

const fn both(words: &'static str, options: Options) -> Runs {
    Runs::With { options, words }
}

const TAR: Runs = both(
    "",
    Options::new(
        "-I -F -T --to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command --info-script \
         --new-volume-script --files-from --index-file",
        "bCfgHKLNVX",
    )
    .with_others("--checkpoint")
    .style(Style::Tar),
);
const PACKAGES: Options = Options::new(
    "--node-options --script-shell --shell --editor --viewer --browser --call --init-module --userconfig --globalconfig \
     --git --use-yarnrc -c",
    "",
)
.style(Style::Dashes);
const GO: Runs =
    both("run generate tool vet", Options::new("-toolexec -exec -vettool -overlay", "").style(Style::Whole));
const FIND: Runs =
    both("", Options::new("-exec* -ok* -delete -fprint* -fls -files0-from", "").style(Style::Whole));
const COMPILER: Runs =
    both("", Options::new("-wrapper -fplugin* -specs* -B* -Xclang -load -plugin*", "").style(Style::Whole));
const FD: Runs = with("-x -X --exec --exec-batch", "EtedSoj");
const CONTAINER: &str = "exec run compose";

/// Programs that run their arguments only with some words or options.
pub(super) const SOMETIMES: &[(&str, Runs)] = &[
    ("apt", with("-o -c --option --config-file", "t")),
    ("apt-get", with("-o -c --option --config-file", "t")),
    ("awk", Runs::Awk),
    ("bsdtar", TAR),
    ("bundle", words("exec")),
    ("c++", COMPILER),
    ("cargo", with("--config -C -Z", "pFj")),
    ("cc", COMPILER),
    ("clang", COMPILER),
    ("clang++", COMPILER),
    ("cmake", with("-P -E -D -C --build", "SBGATUW")),
    ("conda", words("run")),
    ("cpio", with("--rsh-command -F -I -O --file", "CEHMR")),
    ("curl", with("-K --config --engine --libcurl", "ACDEFHPQTXYbcdehmortuwxyz")),
    ("diff3", with("--diff-program", "")),
    ("direnv", words("exec allow")),
    ("docker", words(CONTAINER)),
    ("dpkg", with("-i --install --pre-invoke --post-invoke --root --admindir --instdir", "D")),
    (
        "eslint",
        with("-c --config --rulesdir --parser --plugin --resolve-plugins-relative-to -f --format", "o"),
    ),
    ("fd", FD),
    ("fdfind", FD),
    ("find", FIND),
    ("fzf", with("--preview --bind --execute", "")),
    ("g++", COMPILER),
    ("gawk", Runs::Awk),
    ("gcc", COMPILER),
    ("gh", words("alias extension codespace")),
    ("git", Runs::Git),
    ("go", GO),
    ("gsed", Runs::SedUse),
    ("gtar", TAR),
    ("hg", with("--config --cwd --repository -R", "")),
    ("install", with("--strip-program", "")),
    ("kubectl", words("exec run debug cp")),
    ("man", with("-P -H --pager --html --preprocessor -C --config-file", "LmMSsREp")),
    ("mawk", Runs::Awk),
    ("nawk", Runs::Awk),
    ("nc", with("-e -c", "GIiMmPpqsTVWwXxZ")),
    ("ncat", with("-e -c --exec --sh-exec --lua-exec", "gGidosTvw")),
    ("nmap", with("--script --script-args --datadir --servicedb --versiondb", "")),
    ("npm", both("exec x init create innit", PACKAGES)),
    ("openssl", both("", Options::new("-engine -provider* -config", "").style(Style::Whole))),
    ("pipx", words("run")),
    ("pnpm", both("exec dlx create", PACKAGES)),
    ("podman", words(CONTAINER)),
    ("poetry", words("run")),
    ("prettier", with("--plugin --config", "")),
    ("rg", with("-z --pre --hostname-bin --search-zip", "ABCEMTdefgjmrt")),
    ("rsync", with("-e -M --rsh --rsync-path --remote-option --daemon --config", "fBT")),
    ("scp", with("-o -S -F -D", "cilPJX")),
    ("sdiff", with("--diff-program -o --output", "wI")),
    ("sed", Runs::SedUse),
    ("sort", with("-o -T --output --compress-program --temporary-directory --files0-from", "ktS")),
    ("split", with("--filter", "abClnt")),
    ("svn", with("--config-option --config-dir --diff-cmd --diff3-cmd --editor-cmd", "")),
    ("tar", TAR),
    ("tcpdump", with("-z --postrotate-command", "BcCDEFGijmMrsTVwWy")),
    ("uv", words("run tool")),
    ("wget", with("-e --use-askpass --execute --config", "aoiBtOTwQPUlADRIX")),
    ("yarn", both("exec dlx node create", PACKAGES)),
    ("zip", with("-T --test --unzip-command", "btnPixs")),
];

/// Options of `git` before its subcommand.
pub(super) const GIT_GLOBAL: Options = Options::new(
    "-c -C -p --config-env --exec-path --git-dir --work-tree --paginate --namespace --super-prefix --bare",
    "cC",
);

/// Subcommands of `git` that run programs, change the configuration, or connect to another program.
pub(super) const GIT_RUNNING: &[&str] = &[
    "alias archive bisect citool config credential cvsimport cvsserver daemon difftool fast-import filter-branch foreach",
    "for-each-repo gui hook http-backend imap-send instaweb maintenance mergetool p4 quiltimport rebase receive-pack",
    "remote-ext remote-fd send-email shell submodule svn upload-archive upload-pack web--browse",
];

/// Options of any subcommand of `git`.
pub(super) const GIT_ANY: Options = Options::new(
    "--upload-pack --receive-pack --exec --ext-diff --textconv --open-files-in-pager --template --output --config-env",
    "",
)
.with_others("--text");

/// Options of one subcommand of `git`.
pub(super) const GIT_OWN: &[(&str, Options)] = &[
    ("clone", Options::new("-u -c --config", "bjo")),
    ("diff", Options::new("-O", "lSGU")),
    ("grep", Options::new("-O", "ABCefm")),
    ("init", Options::new("-c", "b")),
    ("log", Options::new("-O", "lSGUnL")),
    ("show", Options::new("-O", "lSGU")),
];
