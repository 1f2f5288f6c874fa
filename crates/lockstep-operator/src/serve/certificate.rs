//! The certificate a TLS server shows, changed while it runs.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// A certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Not PEM, or not of this.
    #[error("cannot read {what}: {source}")]
    Pem {
        /// The certificate, or its key.
        what: &'static str,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// No certificate in it.
    #[error("no certificate in it")]
    Empty,
    /// Certificate and key do not fit each other, or TLS cannot use them.
    #[error("certificate and key cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

/// The certificate that is shown from the next handshake on; none at first, and then no handshake succeeds.
#[derive(Debug, Default)]
pub struct ServingCertificate(ArcSwapOption<CertifiedKey>);

impl ServingCertificate {
    /// None yet, to be shared with a server.
    pub fn none() -> Arc<Self> {
        Arc::default()
    }

    /// Shows this chain from now on. If it cannot be used, what was shown before stays.
    pub fn install(&self, chain_pem: &[u8], key_pem: &[u8]) -> Result<(), CertificateError> {
        let pem = |what| move |source| CertificateError::Pem { what, source };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain_pem).collect();
        let chain = chain.map_err(pem("the certificate"))?;
        if chain.is_empty() {
            return Err(CertificateError::Empty);
        }
        let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(pem("the key"))?;
        let provider = rustls::crypto::ring::default_provider();
        self.0.store(Some(Arc::new(CertifiedKey::from_der(chain, key, &provider)?)));
        Ok(())
    }

    /// What is shown, if there is something.
    pub fn chain(&self) -> Option<Vec<CertificateDer<'static>>> {
        self.0.load().as_ref().map(|shown| shown.cert.clone())
    }

    /// Whether there is one.
    pub fn is_installed(&self) -> bool {
        self.0.load().is_some()
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}

#[cfg(test)]
mod tests {
    use lockstep_testkit::pki::Authority;

    use super::*;

    #[test]
    fn what_cannot_be_used_changes_nothing() {
        let authority = Authority::new("test").expect("an authority");
        let (one, other) = (authority.serve(&[]).expect("one"), authority.serve(&[]).expect("another"));
        let shown = ServingCertificate::none();
        assert!(!shown.is_installed());
        shown.install(one.certificate_pem.as_bytes(), one.key_pem.as_bytes()).expect("fits");
        let before = shown.0.load_full().expect("one");
        for (chain, key, word) in [
            (other.certificate_pem.as_str(), one.key_pem.as_str(), "cannot be used"),
            ("", one.key_pem.as_str(), "no certificate"),
            (other.certificate_pem.as_str(), "nonsense", "the key"),
        ] {
            let error =
                shown.install(chain.as_bytes(), key.as_bytes()).expect_err("does not fit").to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!(Arc::ptr_eq(&before, &shown.0.load_full().expect("one")));
        shown.install(other.certificate_pem.as_bytes(), other.key_pem.as_bytes()).expect("fits");
        assert!(!Arc::ptr_eq(&before, &shown.0.load_full().expect("one")));
    }
}
