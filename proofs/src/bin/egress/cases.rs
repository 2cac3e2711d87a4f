//! The addresses that no request may reach, in every way to write them, and public ones that must be reached.
//!
//! Which addresses are forbidden comes from the registries of special-purpose addresses, not from the product.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::world::{SITE, ZONE, redirect};

/// Networks that are not on the public internet, or belong to the machine's own cloud: address and length of the prefix.
const FORBIDDEN_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([168, 63, 129, 16], 32),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Whether an address must not be connected to.
pub(crate) fn is_forbidden(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => FORBIDDEN_V4.iter().any(|(network, length)| {
            let mask = u32::MAX << (32 - length);
            u32::from(v4) & mask == u32::from(Ipv4Addr::from(*network)) & mask
        }),
        IpAddr::V6(v6) => {
            let number = u128::from(v6);
            let embedded = |shift: u32| is_forbidden(Ipv4Addr::from((number >> shift) as u32).into());
            let starts = |prefix: u128, length: u32| number >> (128 - length) == prefix >> (128 - length);
            match () {
                () if starts(0x0064_ff9b << 96, 96) => embedded(0),
                () if starts(0x2002 << 112, 16) => embedded(80),
                () => {
                    !starts(0x2000 << 112, 3)
                        || starts(0x2001 << 112, 23)
                        || starts(0x2001_0db8 << 96, 32)
                        || starts(0x3fff << 112, 20)
                }
            }
        }
    }
}

/// The start of the names that lead elsewhere the second time.
pub(crate) const CHANGING: &str = "flip-";

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) url: String,
    pub(crate) kind: CaseKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseKind {
    /// A forbidden address, written in some way.
    Written,
    /// A name that leads to a forbidden address, at once or later.
    Name,
    /// A public address that redirects to a forbidden one.
    Redirect,
    /// A public address, which must be reached.
    Public,
}

/// Forbidden addresses: one or two of each network.
const V4: &[[u8; 4]] = &[
    [0, 0, 0, 0],
    [0, 1, 2, 3],
    [10, 0, 0, 1],
    [10, 255, 0, 9],
    [100, 100, 100, 200],
    [100, 127, 255, 1],
    [127, 0, 0, 1],
    [127, 8, 8, 8],
    [168, 63, 129, 16],
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [172, 16, 0, 1],
    [172, 31, 255, 1],
    [192, 0, 0, 192],
    [192, 0, 2, 1],
    [192, 88, 99, 1],
    [192, 168, 0, 1],
    [192, 168, 255, 1],
    [198, 18, 0, 1],
    [198, 19, 255, 1],
    [198, 51, 100, 7],
    [203, 0, 113, 7],
    [240, 0, 0, 1],
    [255, 255, 255, 254],
];

const V6: &[&str] = &[
    "::",
    "::1",
    "::7f00:1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
];

/// All requests.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |kind: CaseKind, url: String| cases.push(Case { url, kind });
    for octets in V4 {
        let v4 = Ipv4Addr::from(*octets);
        for host in written(v4) {
            add(CaseKind::Written, format!("http://{host}/"));
        }
        let [a, b, c, d] = *octets;
        let [w, x, y, z] = SITE.octets();
        for name in [
            format!("v4-{a}-{b}-{c}-{d}"),
            format!("both-{w}-{x}-{y}-{z}-{a}-{b}-{c}-{d}"),
            format!("both-{a}-{b}-{c}-{d}-{w}-{x}-{y}-{z}"),
            format!("flip-{w}-{x}-{y}-{z}-{a}-{b}-{c}-{d}"),
            format!("flip-{a}-{b}-{c}-{d}-{w}-{x}-{y}-{z}"),
            format!("V4-{a}-{b}-{c}-{d}"),
        ] {
            add(CaseKind::Name, format!("http://{name}.{ZONE}/"));
        }
        for (status, target) in [
            (301, format!("http://{v4}/secret")),
            (302, format!("http://v4-{a}-{b}-{c}-{d}.{ZONE}/secret")),
            (307, format!("//{v4}:8080/secret")),
            (308, format!("http://{SITE}@{v4}/secret")),
        ] {
            add(CaseKind::Redirect, redirect(status, &target));
        }
        // The same host, whose name leads elsewhere the second time.
        let host = format!("flip-{w}-{x}-{y}-{z}-{a}-{b}-{c}-{d}-again.{ZONE}");
        let back = redirect(302, &format!("http://{host}/secret")).replace(&SITE.to_string(), &host);
        add(CaseKind::Redirect, back);
    }
    for text in V6 {
        let Ok(v6) = text.parse::<Ipv6Addr>() else { continue };
        add(CaseKind::Written, format!("http://[{text}]/"));
        add(CaseKind::Name, format!("http://v6-{:032x}.{ZONE}/", u128::from(v6)));
        add(CaseKind::Redirect, redirect(303, &format!("http://[{text}]:3000/secret")));
    }
    for target in [
        "file:///etc/passwd",
        "ftp://10.0.0.1/",
        "gopher://127.0.0.1:80/_GET",
        "http:127.0.0.1",
        "\\\\10.0.0.1\\x",
    ] {
        add(CaseKind::Redirect, redirect(302, target));
    }
    for host in ["localhost", "LOCALHOST", "localhost.", "a.localhost"] {
        add(CaseKind::Name, format!("http://{host}/"));
    }
    for octets in [
        [93, 184, 216, 34],
        [1, 1, 1, 1],
        [8, 8, 8, 8],
        [100, 63, 0, 1],
        [172, 32, 0, 1],
        [192, 169, 0, 1],
        [198, 20, 0, 1],
    ] {
        let [a, b, c, d] = octets;
        add(CaseKind::Public, format!("http://{a}.{b}.{c}.{d}/"));
        add(CaseKind::Public, format!("http://v4-{a}-{b}-{c}-{d}.{ZONE}:8080/"));
    }
    add(CaseKind::Public, "http://[2606:4700::1111]/".to_owned());
    add(CaseKind::Public, format!("http://v6-{:032x}.{ZONE}/", 0x2606_4700_u128 << 96 | 0x1111));
    cases
}

/// The ways to write an IPv4 address in a URL.
fn written(v4: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = v4.octets();
    let number = u32::from(v4);
    let (high, low) = (number >> 16, number & 0xffff);
    vec![
        format!("{a}.{b}.{c}.{d}"),
        format!("{a}.{b}.{c}.{d}."),
        number.to_string(),
        format!("0x{number:x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{}", number & 0x00ff_ffff),
        format!("{a}.{b}.{low}"),
        format!("%{:02x}{}", b'0' + a / 100 % 10, format!("{a:03}").get(1..).unwrap_or_default())
            + &format!(".{b}.{c}.{d}"),
        format!("{SITE}@{a}.{b}.{c}.{d}"),
        format!("[::ffff:{a}.{b}.{c}.{d}]"),
        format!("[::{high:x}:{low:x}]"),
        format!("[64:ff9b::{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
        format!("{a}。{b}。{c}。{d}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_forbidden_networks_by_their_edges() {
        let forbidden = |text: &str| is_forbidden(text.parse().unwrap());
        for text in
            ["10.0.0.0", "172.31.255.255", "100.127.0.0", "::1", "fd00::1", "64:ff9b::a00:1", "2002:7f00:1::"]
        {
            assert!(forbidden(text), "{text}");
        }
        for text in [
            "9.255.255.255",
            "172.32.0.0",
            "100.128.0.0",
            "2606:4700::1",
            "64:ff9b::101:101",
            "2002:101:101::",
        ] {
            assert!(!forbidden(text), "{text}");
        }
        let forbidden = all().iter().filter(|case| case.kind != CaseKind::Public).count();
        assert!(forbidden >= 300, "{forbidden}");
    }
}
