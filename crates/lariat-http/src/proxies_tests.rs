use super::*;

fn proxies(all: Option<&str>, http: Option<&str>, no: Option<&str>) -> Proxies {
    let owned = |value: Option<&str>| value.map(str::to_owned);
    let config = ClientConfig {
        proxy: owned(all),
        http_proxy: owned(http),
        no_proxy: owned(no),
        ..Default::default()
    };
    Proxies::new(&config).unwrap()
}

fn proxy_of(proxies: &Proxies, uri: &str) -> Option<String> {
    proxies.for_uri(&uri.parse().unwrap()).map(|proxy| proxy.uri().to_string())
}

#[test]
fn http_proxy_applies_to_plain_requests_only() {
    let both = proxies(Some("http://all:1"), Some("http://plain:2"), None);
    assert_eq!(proxy_of(&both, "http://host/").as_deref(), Some("http://plain:2/"));
    assert_eq!(proxy_of(&both, "https://host/").as_deref(), Some("http://all:1/"));
    let plain = proxies(None, Some("http://plain:2"), None);
    assert_eq!(proxy_of(&plain, "https://host/"), None);
}

#[test]
fn hosts_without_proxy_match_names_subdomains_and_networks() {
    let proxies = proxies(Some("p:1"), None, Some("example.org, .internal, 10.0.0.0/8, ::1"));
    for direct in [
        "http://example.org/",
        "https://a.EXAMPLE.org/",
        "http://x.internal",
        "http://10.1.2.3/",
        "http://[::1]:8/",
    ] {
        assert_eq!(proxy_of(&proxies, direct), None, "{direct}");
    }
    for proxied in ["http://notexample.org/", "http://11.0.0.1/", "http://[::2]/"] {
        assert_eq!(proxy_of(&proxies, proxied).as_deref(), Some("http://p:1/"), "{proxied}");
    }
}

#[test]
fn credentials_may_contain_any_character_and_reach_only_who_reads_them() {
    let uri = Uri::from_static("http://host/");
    let odd = proxies(Some("http://me:p@s^s%20word@proxy:8080"), None, None);
    assert_eq!(proxy_of(&odd, "http://host/").as_deref(), Some("http://proxy:8080/"));
    // `me:p@s^s word`
    assert_eq!(odd.authorization(&uri).unwrap(), "Basic bWU6cEBzXnMgd29yZA==");
    assert!(odd.authorization(&uri).unwrap().is_sensitive());
    assert_eq!(odd.authorization(&Uri::from_static("https://host/")), None);
    let socks = proxies(Some("socks5://me:word@proxy:1"), None, None);
    assert_eq!(socks.authorization(&uri), None);
    assert_eq!(socks.for_uri(&uri).unwrap().raw_auth(), Some(("me", "word")));
}

#[test]
fn unusable_proxy_is_an_error_that_does_not_show_it() {
    for proxy in ["http://me:a-password@[bad", "ftp://me:a-password@host", "http://", "", "a b"] {
        let config = ClientConfig { proxy: Some(proxy.to_owned()), ..Default::default() };
        let error = Proxies::new(&config).unwrap_err();
        assert!(matches!(error, TransportError::Impossible(_)), "{proxy}");
        assert!(!error.to_string().contains("a-password"), "{error}");
    }
}
