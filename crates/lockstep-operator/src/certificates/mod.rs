//! The webhook's certificates: made here, kept in a Secret, changed before they expire.
//!
//! Every replica does the same and they need not talk to each other: what is to be done is a pure function of the
//! Secret and the clock ([`next`](next::next)), it is written by compare-and-swap, and all follow the Secret. A new
//! authority is published some time before anything is signed by it, and the one before stays trusted until it
//! expires, so there is no moment at which an API server could meet a certificate it does not trust.
//!
//! Where somebody else makes the certificates (cert-manager, say), [`files::follow`] reads them from a folder.

pub mod bundle;
pub mod conversion;
pub mod files;
pub mod issue;
pub mod next;
pub mod stored;

mod secret;

use std::time::Duration;

pub use self::secret::{SecretStore, SecretStoreError};

/// How long things live, and how early they are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// Of an authority.
    pub authority: Duration,
    /// Of the certificate that is shown.
    pub certificate: Duration,
    /// How long an authority is published before it signs: everybody must have heard of it.
    pub overlap: Duration,
    /// By how much the clocks of this cluster may differ: what is made now is good that long ago already.
    pub skew: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Default for Lifetimes {
    /// An authority lives for a year and a certificate for three months; both are replaced after two thirds.
    fn default() -> Self {
        Self {
            authority: DAY * 365,
            certificate: DAY * 90,
            overlap: Duration::from_secs(3600),
            skew: Duration::from_secs(300),
        }
    }
}

/// The names a webhook's Service is called by.
pub fn service_names(namespace: &str, service: &str) -> Vec<String> {
    let short = format!("{service}.{namespace}.svc");
    vec![format!("{short}.cluster.local"), short, format!("{service}.{namespace}")]
}

/// A certificate cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// It could not be made.
    #[error("cannot make {what}: {source}")]
    Make {
        /// Which.
        what: &'static str,
        /// Why.
        source: rcgen::Error,
    },
    /// It is no certificate.
    #[error("cannot read {what}: {reason}")]
    Read {
        /// Which.
        what: &'static str,
        /// Why.
        reason: String,
    },
}
