//! Sets up TLS: the system's certificates and the configured ones, and the protocols that a server may choose.
//!
//! Loading the system's certificates takes longer than a local server needs to respond, so the first connection with
//! TLS loads them. Configured certificates are read at once, so that a wrong file is an error even without TLS.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::failure::{BoxError, UnreachableError};
use crate::transport::TransportError;

/// What a server may choose to speak, the preferred first.
const PROTOCOLS: &[&[u8]] = &[
    #[cfg(feature = "http2")]
    b"h2",
    b"http/1.1",
];

/// With whom a TLS connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Server,
    /// A proxy speaks HTTP/1.1: an HTTP/2 connection could not carry a tunnel as a byte stream.
    Proxy,
}

/// TLS settings, loaded with the first connection that needs them.
pub(crate) struct Tls {
    extra: Vec<CertificateDer<'static>>,
    config: OnceLock<Result<Arc<ClientConfig>, UnreachableError>>,
}

impl Tls {
    /// Reads certificates to trust besides the system's, as PEM.
    pub(crate) fn new(bundles: &[Arc<[u8]>]) -> Result<Self, TransportError> {
        let invalid = |what: &dyn std::fmt::Display| {
            TransportError::Impossible(format!("invalid extra certificate: {what}"))
        };
        let mut extra = Vec::new();
        for pem in bundles {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                extra.push(certificate.map_err(|error| invalid(&error))?);
            }
        }
        let mut trial = RootCertStore::empty();
        for certificate in &extra {
            trial.add(certificate.clone()).map_err(|error| invalid(&error))?;
        }
        Ok(Self { extra, config: OnceLock::new() })
    }

    /// Makes a TLS connection to `host` on a connection that exists.
    pub(crate) async fn connect<S>(&self, peer: Peer, host: &str, socket: S) -> Result<TlsStream<S>, BoxError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut config = self.config.get_or_init(|| self.load()).clone()?;
        if peer == Peer::Proxy {
            Arc::make_mut(&mut config).alpn_protocols.clear();
        }
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| UnreachableError("the host is not a name that a certificate can have".to_owned()))?;
        let connected = TlsConnector::from(config).connect(name, socket).await;
        connected.map_err(|error| match is_untrusted(&error) {
            // A retry does not make a certificate trusted.
            true => UnreachableError(error.to_string()).into(),
            false => error.into(),
        })
    }

    fn load(&self) -> Result<Arc<ClientConfig>, UnreachableError> {
        let failed = |error: rustls::Error| UnreachableError(format!("cannot set up TLS: {error}"));
        let provider = CryptoProvider::get_default();
        let provider = provider.map_or_else(|| Arc::new(aws_lc_rs::default_provider()), Arc::clone);
        let verifier = match self.extra.is_empty() {
            true => Verifier::new(Arc::clone(&provider)),
            false => Verifier::new_with_extra_roots(self.extra.clone(), Arc::clone(&provider)),
        };
        let verifier = Arc::new(verifier.map_err(failed)?);
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(failed)?.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = PROTOCOLS.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// Whether the server chose HTTP/2.
pub(crate) fn is_http2<S>(stream: &TlsStream<S>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}

fn is_untrusted(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}
