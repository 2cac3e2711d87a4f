//! A network of the proof's own: an interface that leads nowhere, with addresses and names that look public.
//!
//! Owns how this program is started again inside of one. Only root can make one; others get the machine's loopback
//! interface, where `fetch` is told that it may reach it.

use std::path::Path;
use std::process::{Command, Stdio};

use super::listeners::{OUTSIDER, SITE};

/// Makes the network and the names in it, then becomes the program. `$1` is a folder for files.
const SCRIPT: &str = r#"
set -e
place=$1; shift
ip link set lo up
ip addr add "$OUTSIDER/32" dev lo
ip addr add "$SITE/32" dev lo
printf '127.0.0.1 localhost\n%s evil.example\n%s docs.example\n' "$OUTSIDER" "$SITE" > "$place/hosts"
printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' > "$place/resolv.conf"
mount --bind "$place/hosts" /etc/hosts
mount --bind "$place/resolv.conf" /etc/resolv.conf
exec "$@"
"#;

/// True when this machine lets us make one.
pub(crate) fn can_be_made() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", "ip link set lo up"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    rustix::process::geteuid().is_root() && command.status().is_ok_and(|status| status.success())
}

/// This program, with other arguments, inside of a new network where there can be one.
pub(crate) fn again(place: &Path, is_own: bool) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    if !is_own {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", SCRIPT, "sh"]).arg(place).arg(program);
    command.env("OUTSIDER", OUTSIDER).env("SITE", SITE);
    Ok(command)
}
