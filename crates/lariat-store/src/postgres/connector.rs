//! Makes the TLS connector for PostgreSQL, in builds with the feature `postgres-tls`.

use std::sync::Arc;

use lariat_core::store::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::config::PostgresConfig;

/// Makes a connector that trusts the root certificates of the configuration, or the system's if it has none.
pub(super) fn connector(config: &PostgresConfig) -> Result<MakeRustlsConnect, StoreError> {
    let pem = root_certificates(config)?;
    let unusable = |what: String| StoreError::Unavailable(format!("PostgreSQL: {what}"));
    let mut roots = RootCertStore::empty();
    if pem.is_empty() {
        // Ignore unreadable system certificates if others are readable.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    for bytes in &pem {
        for certificate in CertificateDer::pem_slice_iter(bytes) {
            let certificate =
                certificate.map_err(|error| unusable(format!("a root certificate is not PEM: {error}")))?;
            roots
                .add(certificate)
                .map_err(|error| unusable(format!("a root certificate is unusable: {error}")))?;
        }
    }
    if roots.is_empty() {
        return Err(unusable(
            "no root certificate to verify the server; set one with `sslrootcert`".to_owned(),
        ));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The root certificates that the configuration carries or names.
#[expect(clippy::disallowed_methods, reason = "the connection string names the file")]
fn root_certificates(config: &PostgresConfig) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut certificates = config.roots.clone();
    if let Some(path) = &config.root_file {
        let unusable =
            |error| StoreError::Unavailable(format!("cannot read `sslrootcert` {}: {error}", path.display()));
        certificates.push(std::fs::read(path).map_err(unusable)?);
    }
    Ok(certificates)
}
