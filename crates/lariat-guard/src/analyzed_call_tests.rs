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
        ("//a.b/", None),
        ("", None),
    ] {
        assert_eq!(host(address).as_deref(), expected, "{address}");
    }
}
