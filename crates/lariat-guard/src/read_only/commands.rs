//! Lists the commands that only read, each with every option that it may have.
//!
//! See `arguments` for the notation of options. The table leaves out every option that writes, runs something, follows links
//! out of a directory, or reads file names from a file.

use super::Operands::{self, Files, OneFile, Only, PatternThenFiles, Variables, Words};
use crate::arguments::AllowedOptions;

/// A command that only reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) operands: Operands,
    /// `None`: every argument is a plain word, whatever it starts with.
    pub(super) options: Option<AllowedOptions>,
}

pub(super) const fn row(
    name: &'static str,
    operands: Operands,
    short: &'static [&'static str],
    long: &'static [&'static str],
) -> Row {
    Row { name, operands, options: Some(AllowedOptions { short, long, is_harmless_with_any_option: false }) }
}

/// A command of which no option does any harm, not even one that comes from an expansion.
const fn harmless(
    name: &'static str,
    operands: Operands,
    short: &'static [&'static str],
    long: &'static [&'static str],
) -> Row {
    Row { name, operands, options: Some(AllowedOptions { short, long, is_harmless_with_any_option: true }) }
}

const fn words_only(name: &'static str) -> Row {
    Row { name, operands: Words, options: None }
}

const NONE: &[&str] = &[];
const SUMS: &[&str] = &["binary text tag zero"];
const GREP: &[&str] = &["ivwxcloLnHhqsbUzZaIEFGPrTyA:B:C:m:e:f@d:D:#"];
const GREP_LONG: &[&str] = &[
    "ignore-case no-ignore-case invert-match word-regexp line-regexp count files-with-matches files-without-match",
    "line-number with-filename no-filename quiet silent no-messages byte-offset text recursive only-matching",
    "extended-regexp fixed-strings basic-regexp perl-regexp null null-data line-buffered initial-tab binary color?",
    "colour? include= exclude= exclude-dir= exclude-from@ max-count= after-context= before-context= context= label=",
    "regexp= file@ directories= devices= binary-files=",
];

/// Sorted by name.
pub(super) const COMMANDS: &[Row] = &[
    words_only(":"),
    words_only("["),
    row("arch", Only(NONE), NONE, NONE),
    harmless("b2sum", Files, &["btzl:"], SUMS),
    row("base64", Files, &["diw:"], &["decode ignore-garbage wrap="]),
    harmless("basename", Words, &["as:z"], &["multiple suffix= zero"]),
    row("break", Only(NONE), NONE, NONE),
    harmless(
        "cat",
        Files,
        &["AbeEnstTuv"],
        &["show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"],
    ),
    harmless("cksum", Files, NONE, NONE),
    harmless("cmp", Files, &["bi:ln:s"], &["silent quiet verbose print-bytes bytes= ignore-initial="]),
    harmless("column", Files, &["tc:s:o:xenN:"], &["table separator= output-separator= columns="]),
    harmless(
        "comm",
        Files,
        &["123z"],
        &["check-order nocheck-order output-delimiter= total zero-terminated"],
    ),
    row("continue", Only(NONE), NONE, NONE),
    harmless(
        "cut",
        Files,
        &["b:c:d:f:nsz"],
        &[
            "bytes= characters= delimiter= fields= only-delimited complement output-delimiter= zero-terminated",
        ],
    ),
    row("date", Only(NONE), &["uRI?d:"], &["utc universal rfc-email iso-8601? rfc-3339= date="]),
    harmless(
        "df",
        Files,
        &["ahHiklPTt:x:B:"],
        &[
            "all human-readable si inodes local portability print-type type= exclude-type= block-size= total output?",
        ],
    ),
    row(
        "diff",
        Files,
        &["abBcdeEinNpqstTuwyZU:C:W:I:F:x:L:#"],
        &[
            "unified? context? brief report-identical-files side-by-side ignore-case ignore-space-change ignore-all-space",
            "ignore-blank-lines ignore-trailing-space ignore-tab-expansion strip-trailing-cr text minimal new-file",
            "expand-tabs initial-tab label= width= ignore-matching-lines= exclude= color? normal suppress-common-lines",
            "left-column show-c-function show-function-line= speed-large-files",
        ],
    ),
    harmless("dirname", Words, &["z"], &["zero"]),
    row(
        "du",
        Files,
        &["0abchklmsxSd:B:t:"],
        &[
            "all bytes apparent-size human-readable si summarize total max-depth= exclude= block-size= time? threshold=",
            "one-file-system separate-dirs null inodes",
        ],
    ),
    words_only("echo"),
    row("egrep", PatternThenFiles, GREP, GREP_LONG),
    words_only("exit"),
    words_only("expr"),
    words_only("false"),
    row(
        "fd",
        PatternThenFiles,
        &["HIusgFiape:d:t:E:S:01c:j:q"],
        &[
            "hidden no-ignore unrestricted case-sensitive ignore-case glob fixed-strings absolute-path full-path max-depth=",
            "min-depth= exact-depth= type= extension= exclude= size= changed-within= changed-before= color= max-results=",
            "print0 base-directory@ search-path@ strip-cwd-prefix quiet",
        ],
    ),
    row("fgrep", PatternThenFiles, GREP, GREP_LONG),
    row(
        "file",
        Files,
        &["bhikprvN0"],
        &["brief mime mime-type mime-encoding extension no-dereference keep-going raw no-buffer print0"],
    ),
    harmless("fold", Files, &["bsw:"], &["bytes spaces width="]),
    row("free", Only(NONE), &["bkmghtlw"], &["human mega giga total wide si"]),
    row("grep", PatternThenFiles, GREP, GREP_LONG),
    harmless("head", Files, &["n:c:qvz#"], &["lines= bytes= quiet silent verbose zero-terminated"]),
    row("hexdump", Files, &["bcCdovxn:s:e:"], &["canonical length= skip= no-squeezing"]),
    row("id", Words, &["agGnruz"], &["group groups name real user zero"]),
    row(
        "jq",
        PatternThenFiles,
        &["cnrjaSseCMRb"],
        &[
            "compact-output null-input raw-output raw-output0 join-output ascii-output sort-keys slurp exit-status",
            "color-output monochrome-output raw-input tab indent= unbuffered stream seq arg== argjson== slurpfile=@ rawfile=@",
        ],
    ),
    harmless(
        "ls",
        Files,
        &["aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1I:w:T:"],
        &[
            "all almost-all author escape ignore-backups color? directory classify? file-type format= full-time",
            "group-directories-first no-group human-readable si hide= ignore= indicator-style= inode kibibytes numeric-uid-gid",
            "literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time=",
            "time-style= tabsize= width= zero",
        ],
    ),
    harmless("md5sum", Files, &["btz"], SUMS),
    harmless(
        "nl",
        Files,
        &["b:d:f:h:i:l:n:ps:v:w:"],
        &[
            "body-numbering= number-format= number-separator= number-width= starting-line-number= line-increment=",
        ],
    ),
    row("nproc", Only(NONE), NONE, &["all ignore="]),
    row(
        "od",
        Files,
        &["A:t:j:N:S:w?abcdfilosxv"],
        &["address-radix= format= skip-bytes= read-bytes= width? output-duplicates"],
    ),
    harmless("paste", Files, &["d:sz"], &["delimiters= serial zero-terminated"]),
    words_only("printf"),
    row(
        "ps",
        Only(&["aux", "ax", "auxw", "auxww"]),
        &["AaedfFjlLHTMwxcmyo:p:u:U:C:g:t:"],
        &["forest no-headers headers sort= pid= ppid= format= user= cols="],
    ),
    row("pwd", Only(NONE), &["LP"], NONE),
    row("read", Variables, &["rsp:n:t:d:"], NONE),
    harmless(
        "readlink",
        Files,
        &["femnqsvz"],
        &["canonicalize canonicalize-existing canonicalize-missing no-newline zero"],
    ),
    harmless(
        "realpath",
        Files,
        &["emqszLP"],
        &[
            "relative-to@ relative-base@ canonicalize-existing canonicalize-missing no-symlinks strip quiet zero",
        ],
    ),
    words_only("return"),
    harmless("rev", Files, NONE, NONE),
    row(
        "rg",
        PatternThenFiles,
        &["inwvclFxSsUNHhopqPaI0.uA:B:C:e:f@g:t:T:m:j:r:M:d:E:"],
        &[
            "ignore-case line-number word-regexp invert-match count count-matches files-with-matches files-without-match",
            "fixed-strings line-regexp smart-case case-sensitive multiline multiline-dotall no-line-number with-filename",
            "no-filename only-matching pretty quiet pcre2 text null hidden unrestricted no-ignore no-ignore-vcs no-hidden",
            "after-context= before-context= context= regexp= file@ glob= iglob= type= type-not= max-count= threads=",
            "replace= max-columns= max-depth= max-filesize= encoding= color= colors= heading no-heading vimgrep stats json",
            "sort= sortr= trim files type-list column no-column no-messages passthru path-separator= line-buffered",
            "glob-case-insensitive one-file-system crlf include-zero context-separator= field-match-separator= debug",
        ],
    ),
    harmless("seq", Words, &["ws:f:#"], &["equal-width separator= format="]),
    row("set", Only(&["errexit", "nounset", "pipefail", "xtrace"]), &["euxvofC"], NONE),
    harmless("sha1sum", Files, &["btz"], SUMS),
    harmless("sha256sum", Files, &["btz"], SUMS),
    harmless("sha512sum", Files, &["btz"], SUMS),
    words_only("sleep"),
    row(
        "sort",
        Files,
        &["bdfghiMnrRVcCmsuzk:t:S:"],
        &[
            "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort",
            "human-numeric-sort numeric-sort random-sort reverse sort= version-sort check? merge key= stable",
            "field-separator= unique zero-terminated parallel= buffer-size= debug batch-size=",
        ],
    ),
    harmless("stat", Files, &["Lfc:t"], &["format= printf= terse file-system dereference"]),
    row(
        "strings",
        Files,
        &["afown:t:e:s:#"],
        &["all bytes= radix= encoding= print-file-name include-all-whitespace"],
    ),
    harmless("tac", Files, &["bs:r"], &["before separator= regex"]),
    harmless(
        "tail",
        Files,
        &["n:c:fFqvzs:#"],
        &["lines= bytes= follow? retry quiet silent verbose sleep-interval= pid= zero-terminated"],
    ),
    words_only("test"),
    harmless("tr", Words, &["cCdst"], &["complement delete squeeze-repeats truncate-set1"]),
    row(
        "tree",
        Files,
        &["adfxL:P:I:hDFrtcpugQCnNSvUAsq"],
        &[
            "dirsfirst gitignore noreport filelimit= prune du si sort= matchdirs ignore-case charset= timefmt= inodes device",
        ],
    ),
    words_only("true"),
    row("tty", Only(NONE), &["s"], NONE),
    row("type", Words, &["atpPf"], NONE),
    row(
        "uname",
        Only(NONE),
        &["amnrspvio"],
        &["all kernel-name nodename kernel-release kernel-version machine"],
    ),
    row(
        "uniq",
        OneFile,
        &["cdDiuf:s:w:z"],
        &[
            "count repeated all-repeated? skip-fields= ignore-case skip-chars= unique zero-terminated check-chars= group?",
        ],
    ),
    row("uptime", Only(NONE), &["ps"], &["pretty since"]),
    row("wait", Only(NONE), NONE, NONE),
    harmless("wc", Files, &["clLmw"], &["bytes chars lines max-line-length words total="]),
    harmless("which", Words, &["as"], &["all"]),
    row("whoami", Only(NONE), NONE, NONE),
];

/// The arguments that `find` may have; a name that ends in `=` takes a value, one that ends in `@` a path.
pub(super) const FIND: &[&str] = &[
    "! ( ) , -not -o -or -a -and -true -false -print -print0 -printf= -ls -prune -quit -depth -mount -xdev -daystart -P",
    "-empty -executable -readable -writable -nouser -nogroup -noleaf -warn -nowarn -name= -iname= -path= -ipath=",
    "-wholename= -iwholename= -regex= -iregex= -regextype= -type= -xtype= -maxdepth= -mindepth= -size= -perm= -user=",
    "-group= -uid= -gid= -links= -inum= -lname= -ilname= -mtime= -mmin= -ctime= -cmin= -atime= -amin= -newermt= -newerct=",
    "-newer@ -anewer@ -cnewer@ -samefile@ -O0 -O1 -O2 -O3",
];
