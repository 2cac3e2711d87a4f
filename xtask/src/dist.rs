//! Builds the release files: an archive and a Debian package with the program, its manual and its
//! completions.
//!
//! The program ([`program`]) is linked statically with musl, so that it runs on every Linux. Invariant: the
//! same commit gives the same bytes in every checkout: no machine paths, no times but the commit's, no
//! owners, sorted names. `--check` verifies it with a second checkout and build.

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

/// Builds the release files into `shipped` below the target directory, because cargo itself uses `dist`
/// there.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let check = match words {
        [] => false,
        [word] if word == "--check" => true,
        _ => bail!("`dist` accepts only `--check`"),
    };
    let made = make(workspace, workspace.root(), &format!("{}/shipped", workspace.target()))?;
    for (path, sum) in &made {
        let size = std::fs::metadata(path)?.len() as f64 / 1e6;
        println!("{sum}  {}  {size:.1} MB", path.display());
    }
    if check {
        rebuild_and_compare(workspace, &made)?;
        println!("a second checkout gives the same bytes");
    }
    Ok(())
}

type ReleaseFiles = Vec<(PathBuf, String)>;

/// Builds again from a second checkout of the same commit and compares the bytes.
fn rebuild_and_compare(workspace: &Workspace, made: &ReleaseFiles) -> Result<()> {
    let second_checkout = std::env::temp_dir().join(format!("lariat-dist-{}", std::process::id()));
    let path = second_checkout.display().to_string();
    CommandLine::of("git", "clone --quiet --no-hardlinks")
        .with_arguments([workspace.root().display().to_string(), path.clone()])
        .run(workspace)?;
    let second = make(workspace, &second_checkout, &format!("{path}/target/shipped"));
    let differs = second.map(|second| {
        let sums = |made: &ReleaseFiles| made.iter().map(|(_, sum)| sum.clone()).collect::<Vec<_>>();
        sums(&second) != sums(made)
    });
    std::fs::remove_dir_all(&second_checkout).with_context(|| path.clone())?;
    if differs? {
        bail!("a second checkout of the same commit gives other bytes (is everything committed?)");
    }
    Ok(())
}

/// Builds the release program in the checkout at `root` and returns its path.
pub(crate) fn program(workspace: &Workspace, root: &Path) -> Result<String> {
    let at = root.display().to_string();
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    CommandLine::of("musl-gcc", "--version")
        .capture(workspace)
        .context("`musl-gcc` is not installed; install Debian's `musl-tools`")?;
    CommandLine::of("rustup", &format!("target add {triple}")).run(workspace)?;
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| Ok::<_, std::env::VarError>(format!("{}/.cargo", std::env::var("HOME")?)))?;
    // Machine paths would otherwise appear in panics, in C assertions and in line tables.
    let places = [(at.as_str(), "lariat"), (home.as_str(), "cargo")];
    let rust: Vec<String> =
        places.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    // Nothing unwinds through C code, so its unwind tables are left out.
    let c = places.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}"));
    let c: Vec<String> = c.chain(["-fno-asynchronous-unwind-tables".to_owned()]).collect();
    // The toolchain's own linker merges identical functions and packs the relocation table. `-s` makes it
    // strip: the profile's setting leaves symbol names in.
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
fn make(workspace: &Workspace, root: &Path, place: &str) -> Result<ReleaseFiles> {
    let epoch = CommandLine::of("git", "-C")
        .with_arguments([root.display().to_string(), "log".into(), "-1".into(), "--format=%ct".into()])
        .capture(workspace)?;
    let epoch = epoch.trim().to_owned();
    let program = program(workspace, root)?;
    let version = CommandLine::of(&program, "--version").capture(workspace)?;
    let version =
        version.split_whitespace().nth(1).context("`lariat --version` printed no version")?.to_owned();

    let place = PathBuf::from(workspace.absolute(place));
    let _ = std::fs::remove_dir_all(&place);
    let name = format!("lariat-{version}-{}-linux", std::env::consts::ARCH);
    let tree = place.join(&name);
    fill(workspace, root, &program, &tree)?;
    let archive = place.join(format!("{name}.tar.gz"));
    let epoch_flag = format!("--mtime=@{epoch}");
    // `-n` keeps the name and the time out of gzip's header.
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

/// Lays out the files below a prefix.
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
        std::fs::create_dir_all(path.parent().context("the path has no parent directory")?)?;
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
         Description: crash-safe coding agent for the terminal\n\
         \x20A coding agent whose sessions survive crashes, whose commands run in a\n\
         \x20kernel sandbox and whose budgets limit costs.\n"
    );
    std::fs::write(root.join("DEBIAN/control"), control)?;
    // All timestamps are the commit's.
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
