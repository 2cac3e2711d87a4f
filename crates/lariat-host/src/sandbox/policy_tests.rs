use super::*;
use crate::sandbox::Rule;

#[test]
fn destination_matches_its_host_but_no_lookalikes() {
    let one = Destination::host("crates.io");
    assert!(one.admits("crates.io", 443));
    assert!(one.admits("CRATES.io.", 80));
    for other in ["evil-crates.io", "crates.io.evil.com", "static.crates.io", "crates.io\0.evil.com", ""] {
        assert!(!one.admits(other, 443), "{other}");
    }
    let below = Destination::host("*.crates.io");
    assert!(below.admits("static.crates.io", 443));
    assert!(below.admits("a.b.crates.io", 443));
    for other in ["crates.io", "evilcrates.io", ".crates.io", "x.crates.io.evil.com"] {
        assert!(!below.admits(other, 443), "{other}");
    }
    let port = Destination { host: "crates.io".into(), port: Some(443) };
    assert!(port.admits("crates.io", 443) && !port.admits("crates.io", 80));
}

#[test]
fn recognises_internal_addresses() {
    let internal = [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "240.0.0.1",
        "198.18.0.1",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::127.0.0.1",
        "ff02::1",
        "168.63.129.16",
        "192.0.0.192",
        "192.88.99.1",
        "64:ff9b:1::808:808",
        "::ffff:0:127.0.0.1",
        "2001::1",
        "3fff::1",
        "100::1",
        "fec0::1",
    ];
    for address in internal {
        assert!(is_internal(address.parse().unwrap()), "{address}");
    }
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.0.1",
        "100.128.0.1",
        "172.32.0.1",
        "2606:4700::1111",
        "64:ff9b::808:808",
        "192.0.78.9",
        "2001:200::1",
        "2002:808:808::1",
    ] {
        assert!(!is_internal(address.parse().unwrap()), "{address}");
    }
}

#[test]
fn denied_write_names_its_rule() {
    let policy = Policy::workspace(Path::new("/w"), Some(Path::new("/h"))).with_temporary("/x");
    assert_eq!(policy.write_denial(Path::new("/w/src/main.rs")), None);
    assert_eq!(policy.write_denial(Path::new("/tmp/a")), None);
    assert_eq!(policy.write_denial(Path::new("/etc/passwd")), Some(Rule::NotWritable));
    assert_eq!(policy.write_denial(Path::new("/w2/a")), Some(Rule::NotWritable));
    let git = Some(Rule::Protected("/w/.git".into()));
    assert_eq!(policy.write_denial(Path::new("/w/.git/hooks/pre-commit")), git);
    assert_eq!(policy.write_denial(Path::new("/w/.github/x")), None);
}
