//! What a login needs of a user's machine: a place for the login, and a browser.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;
use http::Request;
use lariat_connect::mcp::LoginStore;
use lariat_http::{ClientConfig, HttpClient, Transport as _};

/// A store in memory.
#[derive(Default)]
pub(crate) struct MemoryLogins {
    pub(crate) login: Mutex<Option<String>>,
    pub(crate) hidden: Mutex<Vec<String>>,
}

impl LoginStore for MemoryLogins {
    fn load(&self) -> Option<String> {
        self.login.lock().unwrap().clone()
    }

    fn save(&self, login: Option<&str>) -> Result<(), String> {
        *self.login.lock().unwrap() = login.map(str::to_owned);
        Ok(())
    }

    fn hide(&self, secret: &str) {
        self.hidden.lock().unwrap().push(secret.to_owned());
    }
}

/// Does what a browser does: opens the address, follows the redirects and keeps cookies.
pub(crate) async fn browse(address: &str) {
    let http = HttpClient::new(ClientConfig::default());
    let (mut address, mut cookies) = (address.to_owned(), BTreeMap::new());
    for _ in 0..12 {
        let all: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::get(&address).header("cookie", all.join("; "));
        let response = http.send(request.body(Bytes::new()).unwrap()).await.unwrap();
        for cookie in response.headers.get_all("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            cookies.insert(name.to_owned(), value.to_owned());
        }
        let Some(next) = response.headers.get("location") else { return };
        let next = next.to_str().unwrap();
        let origin: String = address.split_inclusive('/').take(3).collect();
        address = match next.strip_prefix('/') {
            Some(path) => format!("{origin}{path}"),
            None => next.to_owned(),
        };
    }
}
