//! The two servers: plain HTTP for health and metrics, HTTPS for admission.
//!
//! Both end gracefully: what was begun is answered, what is new is not accepted.

mod certificate;
mod plain;
mod readiness;
mod shutdown;
mod tls;

use std::time::Duration;

pub use self::certificate::{CertificateError, ServingCertificate};
pub use self::plain::{health, serve_plain};
pub use self::readiness::Readiness;
pub use self::shutdown::{Shutdown, Trigger, shutdown};
pub use self::tls::serve_tls;

/// How long a server that ends waits for what was begun: longer than an API server waits for a webhook.
const DRAIN: Duration = Duration::from_secs(12);
