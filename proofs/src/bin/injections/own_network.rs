//! A private network: an unconnected interface with addresses and names that look public.
//!
//! Starts this program again inside such a network. Only root can create one; otherwise the listeners use the
//! machine's loopback interface, and `fetch` is configured to allow it.

use std::path::Path;
use std::process::{Command, Stdio};

use super::listeners::{OUTSIDER, SITE};

/// Creates the network and its names, then executes the program. `$1` is a directory for files.
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

/// Whether this machine lets us create a private network.
pub(crate) fn can_be_made() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", "ip link set lo up"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    rustix::process::geteuid().is_root() && command.status().is_ok_and(|status| status.success())
}

/// This program with other arguments, inside a new network if one can be created.
pub(crate) fn restart_inside(place: &Path, is_own: bool) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    if !is_own {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", SCRIPT, "sh"]).arg(place).arg(program);
    command.env("OUTSIDER", OUTSIDER).env("SITE", SITE);
    Ok(command)
}
