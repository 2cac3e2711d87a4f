use super::*;

fn address(url: &str) -> Option<(String, u16, String)> {
    Address::of(url).map(|address| (address.host, address.port, address.path))
}

#[test]
fn parses_provider_urls() {
    for (url, host, port, path) in [
        ("http://127.0.0.1:11434/v1", "127.0.0.1", 11434, "/v1"),
        ("https://api.example.com", "api.example.com", 443, ""),
        ("http://localhost/v1/", "localhost", 80, "/v1"),
        ("http://user:word@127.0.0.1:81/x", "127.0.0.1", 81, "/x"),
        ("http://[::1]:8080/v1", "::1", 8080, "/v1"),
    ] {
        assert_eq!(address(url), Some((host.to_owned(), port, path.to_owned())), "{url}");
    }
    for wrong in ["", "127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://h:port/"] {
        assert_eq!(address(wrong), None, "{wrong}");
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
        assert_eq!(Address::of(url).unwrap().is_loopback(), is_here, "{url}");
    }
}
