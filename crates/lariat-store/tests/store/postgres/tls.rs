//! Tests a server with TLS and its own certificate authority.

use lariat_core::store::StoreError;
use lariat_proofs::postgres::Server;
use lariat_store::StoreOptions;
use lariat_store::postgres::PostgresStore;

async fn connect(address: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::connect(address.parse()?, StoreOptions::default()).await
}

/// Managed databases require TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connects_with_tls_only_to_a_verified_server() {
    let server = Server::start();
    let (port, authority) = tokio::task::block_in_place(|| {
        server.kill();
        server.resume_with_tls()
    });
    let (base, root) =
        (format!("host=localhost port={port} user=postgres dbname=postgres"), authority.display());
    let store = connect(&format!("{base} sslmode=verify-full sslrootcert={root}")).await.unwrap();
    let sql = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
    let encrypted = "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'lariat'";
    assert_eq!(
        tokio::task::block_in_place(|| server.sql(&sql, encrypted)).trim(),
        "t",
        "every connection is encrypted"
    );
    drop(store);

    let url = format!("postgres://postgres@localhost:{port}/postgres?sslmode=require&sslrootcert={root}");
    connect(&url).await.unwrap();
    let unknown = connect(&format!("{base} sslmode=require")).await.unwrap_err().to_string();
    assert!(unknown.contains("UnknownIssuer") || unknown.contains("root certificate"), "{unknown}");
    let by_address = format!(
        "host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=require sslrootcert={root}"
    );
    let other_name = connect(&by_address).await.unwrap_err().to_string();
    assert!(other_name.contains("NotValidForName") || other_name.contains("certificate"), "{other_name}");
}

/// The store must not connect in clear text to a server without TLS when TLS is required.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn required_tls_does_not_fall_back_to_clear_text() {
    let server = Server::start();
    let address = server.database();
    let refused = connect(&format!("{address} sslmode=require")).await.unwrap_err().to_string();
    assert!(refused.contains("TLS") || refused.contains("certificate"), "{refused}");
    connect(&format!("{address} sslmode=disable")).await.unwrap();
}
