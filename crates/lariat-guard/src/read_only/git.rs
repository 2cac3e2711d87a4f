//! Lists the git subcommands that only read, each with every option that it may have.
//!
//! Their operands are objects and files of the repository. The table leaves out every option that runs a program, writes a
//! file, reads one from elsewhere, or reads files that git does not track.

use super::Operands::{Files, Only, Words};
use super::commands::{Row, row};

const NONE: &[&str] = &[];
const DIFF: &str = "abcmpRsuwWzC?M?B?DU:S:G:";
const DIFF_LONG: &[&str] = &DIFF_NAMES;
const DIFF_NAMES: [&str; 6] = [
    "patch no-patch raw minimal patience histogram diff-algorithm= stat? numstat shortstat dirstat? summary name-only",
    "name-status color? no-color color-moved? word-diff? word-diff-regex= color-words? no-renames rename-empty check",
    "full-index binary abbrev? find-renames? find-copies? find-copies-harder diff-filter= pickaxe-all pickaxe-regex",
    "relative? text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines",
    "inter-hunk-context= function-context exit-code quiet no-ext-diff no-textconv submodule? src-prefix= dst-prefix=",
    "no-prefix patch-with-stat unified= compact-summary cumulative cached staged merge-base cc ignore-submodules?",
];
const LOG: &[&str] = &[DIFF, "n:giEFPL:tq#"];
const LOG_LONG: &[&str] = &[
    DIFF_NAMES[0],
    DIFF_NAMES[1],
    DIFF_NAMES[2],
    DIFF_NAMES[3],
    DIFF_NAMES[4],
    DIFF_NAMES[5],
    "oneline graph all decorate? no-decorate decorate-refs= author= committer= since= after= until= before= grep=",
    "all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp no-merges merges first-parent",
    "reverse format= pretty? abbrev-commit no-abbrev-commit date= follow max-count= skip= branches? tags? remotes? glob=",
    "exclude= not topo-order date-order author-date-order left-right cherry-pick cherry-mark cherry full-history",
    "simplify-by-decoration simplify-merges ancestry-path? boundary walk-reflogs source notes? no-notes encoding=",
    "show-pulls no-walk? parents children left-only right-only count objects min-parents= max-parents= relative-date",
    "full-diff line-prefix= no-mailmap mailmap combined-all-paths diff-merges= no-diff-merges timestamp numbered",
    "email group= include-untracked only-untracked",
];
const BRANCH: &[&str] = &["ravqli"];
const BRANCH_LONG: &[&str] = &[
    "all remotes list verbose quiet contains= no-contains= merged? no-merged? points-at= sort= format= color? no-color",
    "column? no-column show-current ignore-case abbrev= no-abbrev",
];
const CONFIG: &[&str] = &[
    "local global system worktree show-origin show-scope null name-only type= bool int path default= includes",
];
const TAG: &[&str] =
    &["list sort= format= contains= no-contains= merged? no-merged? points-at= column? color? ignore-case"];

pub(super) const GIT: &[Row] = &[
    row(
        "blame",
        Words,
        &["L:lsfnewtbcM?C?hp"],
        &[
            "root show-stats date= show-name show-number show-email porcelain line-porcelain since= first-parent abbrev= ignore-rev=",
        ],
    ),
    row("branch --list", Words, BRANCH, BRANCH_LONG),
    row("branch", Only(NONE), BRANCH, BRANCH_LONG),
    row("cat-file", Words, &["tpse"], NONE),
    row("check-ignore", Words, &["vqnz"], &["verbose quiet no-index non-matching"]),
    row("config --get", Words, &["z"], CONFIG),
    row("config --list", Only(NONE), &["z"], CONFIG),
    row("config -l", Only(NONE), &["z"], CONFIG),
    row("count-objects", Only(NONE), &["vH"], &["verbose human-readable"]),
    row(
        "describe",
        Words,
        NONE,
        &[
            "all tags contains abbrev= exact-match candidates= long match= exclude= always first-parent dirty? broken?",
        ],
    ),
    row("diff", Files, &[DIFF], DIFF_LONG),
    row("diff-tree", Words, LOG, LOG_LONG),
    row(
        "for-each-ref",
        Words,
        NONE,
        &[
            "count= sort= format= color? points-at= merged? no-merged? contains= no-contains= ignore-case exclude=",
        ],
    ),
    row(
        "grep",
        Words,
        &["ivwahHIrnlLcpqEGFPzoWA:B:C:e:m:#"],
        &[
            "cached ignore-case word-regexp text invert-match full-name extended-regexp basic-regexp fixed-strings",
            "perl-regexp line-number column files-with-matches files-without-match name-only null count color? no-color",
            "break heading show-function context= after-context= before-context= function-context threads= and or not",
            "all-match quiet max-depth= only-matching max-count= recursive",
        ],
    ),
    row("log", Words, LOG, LOG_LONG),
    row(
        "ls-files",
        Words,
        &["cdmokiszutvfx:"],
        &[
            "cached deleted modified others ignored stage directory no-empty-directory unmerged killed exclude=",
            "exclude-standard error-unmatch full-name abbrev? eol deduplicate recurse-submodules",
        ],
    ),
    row(
        "ls-tree",
        Words,
        &["drtlz"],
        &["long name-only name-status full-name full-tree abbrev? object-only format="],
    ),
    row("merge-base", Words, &["a"], &["all octopus is-ancestor fork-point independent"]),
    row("name-rev", Words, NONE, &["tags refs= all always name-only"]),
    row("reflog show", Words, LOG, LOG_LONG),
    row("reflog", Only(NONE), LOG, LOG_LONG),
    row("remote get-url", Words, NONE, &["push all"]),
    row("remote", Only(NONE), &["v"], &["verbose"]),
    row("rev-list", Words, LOG, LOG_LONG),
    row(
        "rev-parse",
        Words,
        &["q"],
        &[
            "abbrev-ref? short? verify quiet show-toplevel show-cdup show-prefix git-dir absolute-git-dir git-common-dir",
            "is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository symbolic symbolic-full-name all",
            "branches? tags? remotes? since= until= not revs-only no-revs flags no-flags default= sq git-path= end-of-options",
            "show-superproject-working-tree show-object-format?",
        ],
    ),
    row("shortlog", Words, &["nsec#"], LOG_LONG),
    row("show", Words, LOG, LOG_LONG),
    row("stash list", Words, LOG, LOG_LONG),
    row("stash show", Words, LOG, LOG_LONG),
    row(
        "status",
        Words,
        &["sbvu?z"],
        &[
            "short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? column? no-column",
            "ahead-behind no-ahead-behind renames no-renames find-renames?",
        ],
    ),
    row("tag --list", Words, &["n?li"], TAG),
    row("tag -l", Words, &["n?li"], TAG),
    row("tag", Only(NONE), &["n?li"], TAG),
    row("worktree list", Only(NONE), &["vz"], &["porcelain verbose"]),
];
