use super::host;

#[test]
fn host_is_known_only_if_every_parser_agrees() {
    for (address, expected) in [
        ("https://example.com/a", Some("example.com")),
        ("HTTPS://Example.COM.", Some("example.com")),
        ("http://127.0.0.1:80/", Some("127.0.0.1")),
        ("https://a@b.c/", None),
        ("https://[::1]/", None),
        ("https://a.b:x/", None),
        ("https:///etc", None),
        ("https://a%2eb/", None),
        ("http://a.b:80@c.d/", None),
        ("http://0x7f.1/", None),
        ("http://2130706433/", None),
        ("https://b\u{fc}cher.example/", None),
        ("https:a.b/", None),
        ("ftp://a.b/", None),
        ("//a.b/", None),
        ("", None),
    ] {
        assert_eq!(host(address).as_deref(), expected, "{address}");
    }
}
