//! Tests the search with words of many languages.

use lariat_core::archive::{ListQuery, SessionArchive};
use lariat_core::id::SessionId;
use lariat_core::store::Durability;
use lariat_test::conformance::{Script, description_event, message_event};

use super::SqliteFixture;

async fn found(store: &dyn SessionArchive, text: &str) -> Vec<String> {
    let mut query = ListQuery::default();
    query.text = Some(text.to_owned());
    let listed = store.list(&query).await.unwrap();
    listed.into_iter().map(|summary| summary.session_id.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finds_whole_words_of_all_scripts_in_any_case() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let texts = [
        ("german", "Die STRASSE, straße, Größe: ÄÖÜ"),
        ("greek", "ΟΔΥΣΣΕΥΣ και Πηνελόπη"),
        ("cyrillic", "Ёлка; ПРИВЕТ мир"),
        ("japanese", "日本語。テスト"),
        ("arabic", "مرحبا، بالعالم"),
        ("marks", "cafe\u{301} r\u{e9}sum\u{e9}"),
        ("code", "snake_case fooBar2 x=1;y=22"),
        ("emoji", "done \u{1F98A} well"),
    ];
    for (number, (name, text)) in texts.iter().enumerate() {
        Script::claim(&store, name, number as u64 * 1_000).await.write(&store, [message_event(text)]).await;
    }
    for (text, expected) in [
        ("größe äöü", "german"),
        ("STRAßE", "german"),
        ("οδυσσευς", "greek"),
        ("ΠΗΝΕΛΌΠΗ", "greek"),
        ("ёлка", "cyrillic"),
        ("Привет МИР", "cyrillic"),
        ("日本語", "japanese"),
        ("テスト", "japanese"),
        ("بالعالم", "arabic"),
        ("RÉSUMÉ", "marks"),
        ("snake", "code"),
        ("foobar2 22", "code"),
        ("\u{1F98A} WELL", "emoji"),
    ] {
        assert_eq!(found(&store, text).await, [expected], "{text}");
    }
    for text in ["groß", "resume", "οδυσσευ", "日本", "snakecase", "foo", "AND", "NEAR", "2"] {
        assert_eq!(found(&store, text).await, [""; 0], "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finds_a_fork_by_shared_words_and_never_a_deleted_session() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut parent = Script::claim(&store, "parent", 1_000).await;
    parent.write(&store, [message_event("apple"), message_event("pear")]).await;
    assert_eq!(found(&store, "apple").await, ["parent"]);
    store.fork(&parent.session_id, 1, &SessionId::from("fork")).await.unwrap();
    let mut fork = Script::claim(&store, "fork", 9_000_000).await;
    fork.catch_up(&store).await;
    fork.write(&store, [description_event(Some("Plum"), None, None)]).await;
    assert_eq!(found(&store, "apple").await, ["fork", "parent"]);
    assert_eq!(found(&store, "apple plum").await, ["fork"]);
    assert_eq!(found(&store, "pear").await, ["parent"]);
    store.delete(&parent.session_id).await.unwrap();
    assert_eq!(found(&store, "apple").await, ["fork"]);
    store.collect_garbage(std::time::Duration::ZERO).await.unwrap();
    assert_eq!(found(&store, "apple").await, ["fork"]);
    store.rebuild_projections().await.unwrap();
    assert_eq!(found(&store, "apple plum").await, ["fork"]);
    assert_eq!(found(&store, "pear").await, [""; 0]);
}
