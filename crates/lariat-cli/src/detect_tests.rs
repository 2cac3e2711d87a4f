use super::*;

#[test]
fn parses_provider_urls() {
    for (url, host, port) in [
        ("http://127.0.0.1:11434/v1", "127.0.0.1", 11434),
        ("https://api.example.com", "api.example.com", 443),
        ("http://localhost/v1/", "localhost", 80),
        ("http://user:word@127.0.0.1:81/x", "127.0.0.1", 81),
        ("http://[::1]:8080/v1", "::1", 8080),
    ] {
        assert_eq!(host_and_port(url), Some((host.to_owned(), port)), "{url}");
    }
    for wrong in ["", "127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://h:port/"] {
        assert_eq!(host_and_port(wrong), None, "{wrong}");
    }
}

#[test]
fn recognizes_loopback_hosts_only() {
    for (url, is_here) in [
        ("http://127.0.0.1:1/v1", true),
        ("http://localhost:1/v1", true),
        ("http://[::1]:1/v1", true),
        ("http://127.0.0.1@example.com/v1", false),
        ("http://localhost.example.com/v1", false),
        ("http://10.0.0.1/v1", false),
    ] {
        assert_eq!(is_loopback(&Url::parse(url).unwrap()), is_here, "{url}");
    }
}
