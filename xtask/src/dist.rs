//! What is shipped: an archive and a Debian package of the program, its manual and its completions.
//!
//! Owns how the program is built ([`program`]: with its own C library, so that it runs on every Linux) and what is in them. Invariant: the same commit gives the same bytes, wherever the checkout is: no path of the machine, no time but
//! the commit's, no owner, names in order. `--check` proves it with a second checkout and a second build.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const PROFILE: &str = "dist";
const SHELLS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/lariat"),
    ("zsh", "share/zsh/vendor-completions/_lariat"),
    ("fish", "share/fish/vendor_completions.d/lariat.fish"),
];
const TEXTS: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "SECURITY.md"];

/// Builds what is shipped into `shipped` below the target directory: `dist` there is cargo's own.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let check = match words {
        [] => false,
        [word] if word == "--check" => true,
        _ => bail!("`dist` knows `--check` only"),
    };
    let made = make(workspace, workspace.root(), &format!("{}/shipped", workspace.target()))?;
    for (path, sum) in &made {
        let size = std::fs::metadata(path)?.len() as f64 / 1e6;
        println!("{sum}  {}  {size:.1} MB", path.display());
    }
    if check {
        again(workspace, &made)?;
        println!("a second checkout gives the same bytes");
    }
    Ok(())
}

type Made = Vec<(PathBuf, String)>;

/// Builds once more from a second checkout of the same commit, elsewhere, and compares.
fn again(workspace: &Workspace, made: &Made) -> Result<()> {
    let elsewhere = std::env::temp_dir().join(format!("lariat-dist-{}", std::process::id()));
    let path = elsewhere.display().to_string();
    CommandLine::of("git", "clone --quiet --no-hardlinks")
        .with_arguments([workspace.root().display().to_string(), path.clone()])
        .run(workspace)?;
    let second = make(workspace, &elsewhere, &format!("{path}/target/shipped"));
    let differing = second.map(|second| {
        let sums = |made: &Made| made.iter().map(|(_, sum)| sum.clone()).collect::<Vec<_>>();
        sums(&second) != sums(made)
    });
    std::fs::remove_dir_all(&elsewhere).with_context(|| path.clone())?;
    if differing? {
        bail!("a second checkout of the same commit gives other bytes (is everything committed?)");
    }
    Ok(())
}

/// Builds the program that is shipped, in the checkout at `root`. Gives its path.
pub(crate) fn program(workspace: &Workspace, root: &Path) -> Result<String> {
    let at = root.display().to_string();
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    CommandLine::of("musl-gcc", "--version")
        .capture(workspace)
        .context("`musl-gcc` is missing: install Debian's `musl-tools`")?;
    CommandLine::of("rustup", &format!("target add {triple}")).run(workspace)?;
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| Ok::<_, std::env::VarError>(format!("{}/.cargo", std::env::var("HOME")?)))?;
    // Places of the machine would be in panics, in assertions of C and in the tables of lines.
    let places = [(at.as_str(), "lariat"), (home.as_str(), "cargo")];
    let rust: Vec<String> =
        places.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    // Nothing of ours unwinds through C, so its tables for that stay out.
    let c = places.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}"));
    let c: Vec<String> = c.chain(["-fno-asynchronous-unwind-tables".to_owned()]).collect();
    // The toolchain's own linker folds functions that are the same, and packs the table of what moves with the program. It is told
    // to strip by itself: the profile's wish leaves the names of symbols in.
    let sysroot = CommandLine::of("rustc", "--print sysroot").capture(workspace)?;
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let linker = format!("{}/lib/rustlib/{host}/bin/gcc-ld", sysroot.trim());
    let link = [
        &format!("-B{linker}"),
        "-fuse-ld=lld",
        "-Wl,-O2",
        "-Wl,--icf=all",
        "-Wl,-z,pack-relative-relocs",
        "-s",
    ];
    let flags = rust.into_iter().chain(link.iter().map(|word| format!("-Clink-arg={word}")));
    let target = format!("{at}/target");
    CommandLine::cargo(&format!("build --locked --profile {PROFILE} -p lariat-cli --target {triple}"))
        .with_arguments(["--manifest-path", &format!("{at}/Cargo.toml"), "--target-dir", &target])
        .with_environment("RUSTFLAGS", &flags.collect::<Vec<_>>().join(" "))
        .with_environment(&format!("CFLAGS_{}", triple.replace('-', "_")), &c.join(" "))
        .run(workspace)?;
    Ok(format!("{target}/{triple}/{PROFILE}/lariat"))
}

/// Builds the program in `root` and packs it into `place`.
fn make(workspace: &Workspace, root: &Path, place: &str) -> Result<Made> {
    let epoch = CommandLine::of("git", "-C")
        .with_arguments([root.display().to_string(), "log".into(), "-1".into(), "--format=%ct".into()])
        .capture(workspace)?;
    let epoch = epoch.trim().to_owned();
    let program = program(workspace, root)?;
    let version = CommandLine::of(&program, "--version").capture(workspace)?;
    let version = version.split_whitespace().nth(1).context("`lariat --version` says no version")?.to_owned();

    let place = PathBuf::from(workspace.absolute(place));
    let _ = std::fs::remove_dir_all(&place);
    let name = format!("lariat-{version}-{}-linux", std::env::consts::ARCH);
    let tree = place.join(&name);
    fill(workspace, root, &program, &tree)?;
    let archive = place.join(format!("{name}.tar.gz"));
    let epoch_flag = format!("--mtime=@{epoch}");
    // Without a name and a time in gzip's own header.
    CommandLine::of(
        "tar",
        "--sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --use-compress-program",
    )
    .with_arguments(["gzip -9 -n", &epoch_flag, "-C", &place.display().to_string(), "-cf"])
    .with_arguments([archive.display().to_string(), name])
    .run(workspace)?;
    let package = debian(workspace, &tree, &place, &version, &epoch)?;
    [archive, package].into_iter().map(|path| Ok((path.clone(), sum(workspace, &path)?))).collect()
}

/// Lays out the files as they are below a prefix.
fn fill(workspace: &Workspace, root: &Path, program: &str, tree: &Path) -> Result<()> {
    for folder in ["bin", "share/man/man1", "share/doc/lariat"] {
        std::fs::create_dir_all(tree.join(folder))?;
    }
    std::fs::copy(program, tree.join("bin/lariat"))?;
    CommandLine::of(program, "man --dir")
        .with_arguments([tree.join("share/man/man1").display().to_string()])
        .run(workspace)?;
    for (shell, path) in SHELLS {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        std::fs::write(path, CommandLine::of(program, &format!("completions {shell}")).capture(workspace)?)?;
    }
    for text in TEXTS {
        std::fs::copy(root.join(text), tree.join("share/doc/lariat").join(text)).with_context(|| text)?;
    }
    Ok(())
}

/// Packs the same files for Debian, below `/usr`.
fn debian(workspace: &Workspace, tree: &Path, place: &Path, version: &str, epoch: &str) -> Result<PathBuf> {
    let architecture = CommandLine::of("dpkg", "--print-architecture").capture(workspace)?;
    let architecture = architecture.trim();
    let root = place.join("debian");
    std::fs::create_dir_all(root.join("DEBIAN"))?;
    CommandLine::of("cp", "-r")
        .with_arguments([tree.display().to_string(), root.join("usr").display().to_string()])
        .run(workspace)?;
    let control = format!(
        "Package: lariat\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: The Lariat authors <lariat@localhost>\n\
         Section: devel\nPriority: optional\nRecommends: git\nSuggests: bubblewrap\n\
         Description: coding agent for the terminal whose loop holds\n\
         \x20A coding agent whose sessions survive crashes, whose commands run in a\n\
         \x20kernel sandbox and whose bills have caps.\n"
    );
    std::fs::write(root.join("DEBIAN/control"), control)?;
    // The times of everything in it are the commit's.
    CommandLine::of("find", "")
        .with_arguments([root.display().to_string()])
        .with_arguments(["-exec", "touch", "--no-dereference"])
        .with_arguments([format!("--date=@{epoch}"), "{}".to_owned(), "+".to_owned()])
        .run(workspace)?;
    let package = place.join(format!("lariat_{version}_{architecture}.deb"));
    CommandLine::of("dpkg-deb", "--root-owner-group --build")
        .with_arguments([root.display().to_string(), package.display().to_string()])
        .with_environment("SOURCE_DATE_EPOCH", epoch)
        .run(workspace)?;
    Ok(package)
}

fn sum(workspace: &Workspace, path: &Path) -> Result<String> {
    let said =
        CommandLine::of("sha256sum", "").with_arguments([path.display().to_string()]).capture(workspace)?;
    Ok(said.split_whitespace().next().unwrap_or_default().to_owned())
}
