//! Runs sessions in a directory, with a real connection and a real store.
#![cfg(feature = "service")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests create their own files, and fail if they cannot"
)]

mod hosted;
mod protected;
mod regression;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::archive::ListQuery;
use lariat_host::process::Environment;
use lariat_proofs::server::{Script, Server, Turn, Wire};
use lariat_service::config::StoreSettings;
use lariat_service::models::Keys;
use lariat_service::{
    LoadOptions, LoadedProject, LocalService, Prompt, ServiceError, SessionOptions, SessionSelector,
    UserDirectories,
};
use serde_json::json;

/// A key for the scripted provider.
struct OneKey;

impl Keys for OneKey {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn stored_key(&self, provider: &str) -> Option<String> {
        (provider == "test").then(|| "key".to_owned())
    }
}

/// A temporary home and project, deleted after the test.
struct Fixture(PathBuf);

impl Fixture {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-service-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        for folder in ["home", "project"] {
            std::fs::create_dir_all(path.join(folder)).unwrap();
        }
        Self(path)
    }

    fn folders(&self) -> UserDirectories {
        let home = self.0.join("home");
        UserDirectories { config: home.join("config"), state: home.join("state"), home }
    }

    fn project(&self) -> PathBuf {
        self.0.join("project")
    }

    async fn service(&self) -> LocalService {
        let environment = Environment::default().with("PATH", "/usr/bin:/bin");
        LocalService::open(self.folders(), &StoreSettings::default(), environment, Arc::new(OneKey))
            .await
            .unwrap()
    }

    fn place(&self, server: &Server) -> LoadedProject {
        LoadedProject::load(&self.options(server), &self.folders()).unwrap()
    }

    fn options(&self, server: &Server) -> LoadOptions {
        let mut visit = LoadOptions::new(self.project());
        let provider = json!({ "api": "openai-chat", "base_url": server.base_url(Wire::OpenAiChat) });
        visit.flags = json!({
            "model": "test/model",
            "sandbox": { "enabled": false },
            "providers": { "test": provider },
        })
        .as_object()
        .cloned()
        .unwrap();
        visit
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn say(
    service: &LocalService,
    place: &LoadedProject,
    which: &SessionSelector,
    words: &str,
) -> (String, String) {
    let session = service.open_session(place, which, SessionOptions::default()).await.unwrap();
    let output = session.prompt(Prompt::text(words)).unwrap().finish().await.unwrap();
    session.close().await;
    (session.id().to_string(), output.text)
}

#[tokio::test]
async fn session_is_saved_with_its_directory_and_continued() {
    let fixture = Fixture::new("kept");
    let server =
        Server::start(Script::queue([Turn::new().text("one"), Turn::new().text("two")])).await.unwrap();
    let place = fixture.place(&server);
    let (first, text) = say(&fixture.service().await, &place, &SessionSelector::New, "Begin.").await;
    assert_eq!(text, "one");
    // Another process would open the store anew.
    let service = fixture.service().await;
    let (second, text) = say(&service, &place, &SessionSelector::Continue, "Go on.").await;
    assert_eq!((second.as_str(), text.as_str()), (first.as_str(), "two"));
    let listed = service.archive().list(&ListQuery::default()).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].cwd.as_deref(), Some(fixture.project().canonicalize().unwrap().to_str().unwrap()));
    assert_eq!(listed[0].first_prompt.as_deref(), Some("Begin."));
}

#[tokio::test]
async fn fork_leaves_the_original_unchanged() {
    let fixture = Fixture::new("fork");
    let server =
        Server::start(Script::queue([Turn::new().text("one"), Turn::new().text("two")])).await.unwrap();
    let (service, place) = (fixture.service().await, fixture.place(&server));
    let (first, _) = say(&service, &place, &SessionSelector::New, "Begin.").await;
    let before = service.find(&first).await.unwrap().events;
    let (fork, _) = say(&service, &place, &SessionSelector::Fork(first.clone()), "Go elsewhere.").await;
    assert_ne!(fork, first);
    assert_eq!(service.find(&first).await.unwrap().events, before);
    assert!(service.find(&fork).await.unwrap().events > before);
}

#[tokio::test]
async fn finds_session_by_unique_prefix() {
    let fixture = Fixture::new("find");
    let server =
        Server::start(Script::queue([Turn::new().text("one"), Turn::new().text("two")])).await.unwrap();
    let (service, place) = (fixture.service().await, fixture.place(&server));
    let (first, _) = say(&service, &place, &SessionSelector::New, "Begin.").await;
    say(&service, &place, &SessionSelector::New, "Begin another.").await;
    assert_eq!(service.find(&first[..12]).await.unwrap().session_id.as_str(), first);
    assert!(matches!(service.find("").await, Err(ServiceError::AmbiguousSession { .. })));
    assert!(matches!(service.find("no-such").await, Err(ServiceError::UnknownSession(_))));
    let elsewhere = service.newest(Path::new("/nowhere")).await;
    assert!(matches!(elsewhere, Err(ServiceError::NothingToContinue(_))));
}

#[tokio::test]
async fn rewound_session_continues_from_the_kept_message() {
    let fixture = Fixture::new("rewound");
    let server = Server::start(Script::queue(["one", "two", "three"].map(|text| Turn::new().text(text))))
        .await
        .unwrap();
    let (service, place) = (fixture.service().await, fixture.place(&server));
    let session =
        service.open_session(&place, &SessionSelector::New, SessionOptions::default()).await.unwrap();
    session.prompt(Prompt::text("First.")).unwrap().finish().await.unwrap();
    let kept = session.messages();
    session.prompt(Prompt::text("Second.")).unwrap().finish().await.unwrap();
    session.rewind(kept.last().map(|message| message.id())).await.unwrap();
    session.prompt(Prompt::text("Third.")).unwrap().finish().await.unwrap();
    let texts: Vec<String> =
        session.messages().iter().filter_map(|message| Some(message.as_llm()?.text())).collect();
    assert!(!texts.iter().any(|text| text.contains("Second.")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("First.")), "{texts:?}");
    assert!(texts.last().is_some_and(|text| text == "three"), "{texts:?}");
}
