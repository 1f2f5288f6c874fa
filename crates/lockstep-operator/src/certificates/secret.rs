//! Certificates that all replicas share, in a Secret.

use std::fmt;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watch_object};
use tokio::sync::watch;
use tokio::time::sleep;

use super::issue::issue;
use super::next::{Next, next};
use super::stored::Stored;
use super::{Lifetimes, PkiError};
use crate::clock::Clock;
use crate::serve::{CertificateError, Readiness, ServingCertificate};

/// How long to wait after a failure.
const BREATH: Duration = Duration::from_secs(2);

/// A clock may be set while we sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(6 * 3600);

/// Something went wrong with the Secret. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum SecretStoreError {
    /// The API server refused, or did not answer.
    #[error("cannot {doing} Secret {name}: {source}")]
    Api {
        /// What was tried.
        doing: &'static str,
        /// Which.
        name: String,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// Nothing can be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// What is in it cannot be shown.
    #[error("cannot show what is in Secret {name}: {source}")]
    Certificate {
        /// Which.
        name: String,
        /// Why not.
        source: CertificateError,
    },
}

/// The Secret, and what is wanted in it.
#[derive(Clone)]
pub struct SecretStore {
    api: Api<Secret>,
    name: String,
    names: Vec<String>,
    lives: Lifetimes,
    clock: Clock,
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretStore")
            .field("name", &self.name)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// Where what is in the Secret becomes visible.
struct Window<'a> {
    shown: &'a ServingCertificate,
    readiness: &'a Readiness,
    authorities: &'a watch::Sender<Option<String>>,
}

impl Window<'_> {
    fn show(&self, stored: &Stored) -> Result<(), CertificateError> {
        // Trust first: API servers need a moment to hear of it.
        self.authorities.send_if_modified(|told| {
            let news = told.as_ref() != Some(&stored.authorities);
            *told = Some(stored.authorities.clone());
            news
        });
        self.shown.install(stored.certificate.as_bytes(), stored.key.as_bytes())?;
        self.readiness.certificate(true);
        Ok(())
    }
}

impl SecretStore {
    /// The Secret of this name, with a certificate for these names (or addresses) in it.
    pub fn new(client: kube::Client, namespace: &str, name: &str, names: Vec<String>) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, name: name.to_owned(), names, lives: Lifetimes::default(), clock: Clock::default() }
    }

    /// With other lifetimes.
    pub fn lifetimes(self, lives: Lifetimes) -> Self {
        Self { lives, ..self }
    }

    /// By another clock.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Shows what is in the Secret, makes what is missing, changes what grows old, and tells which authorities are
    /// to be trusted; for ever. Every replica does so.
    pub async fn follow(
        &self,
        shown: &ServingCertificate,
        readiness: &Readiness,
        authorities: &watch::Sender<Option<String>>,
    ) {
        let window = Window { shown, readiness, authorities };
        let mut changes = watch_object(self.api.clone(), &self.name).default_backoff().boxed();
        let mut secret = None;
        loop {
            if let Err(error) = self.step(&mut secret, &mut changes, &window).await {
                tracing::warn!(%error, "webhook certificate");
                sleep(BREATH).await;
            }
        }
    }

    async fn step(
        &self,
        secret: &mut Option<Secret>,
        changes: &mut BoxStream<'_, watcher::Result<Option<Secret>>>,
        window: &Window<'_>,
    ) -> Result<(), SecretStoreError> {
        if secret.is_none() {
            *secret = self.api.get_opt(&self.name).await.map_err(self.cannot("read"))?;
        }
        let stored = secret.as_ref().and_then(|secret| Stored::from_data(secret.data.as_ref()?));
        let known = stored.as_ref().and_then(|stored| stored.read().ok());
        let now = self.clock.now();
        if let Some(stored) = stored.as_ref().filter(|_| known.is_some()) {
            // Even if it is about to be changed: who knows whether that succeeds.
            let show = window.show(stored);
            show.map_err(|source| SecretStoreError::Certificate { name: self.name.clone(), source })?;
        }
        let next = next(now, known.as_ref(), &self.names, &self.lives);
        if let Next::Keep { until } = next {
            return self.wait(secret, changes, until.duration_since(now).unsigned_abs()).await;
        }
        tracing::info!(?next, secret = self.name, "changing the webhook certificates");
        let wanted = issue(next, stored.as_ref(), &self.names, &self.lives, now)?;
        *secret = self.write(secret.as_ref(), &wanted).await?;
        Ok(())
    }

    /// Waits for somebody to change the Secret, or for its time.
    async fn wait(
        &self,
        secret: &mut Option<Secret>,
        changes: &mut BoxStream<'_, watcher::Result<Option<Secret>>>,
        until: Duration,
    ) -> Result<(), SecretStoreError> {
        let version =
            |secret: &Option<Secret>| secret.as_ref().and_then(|s| s.metadata.resource_version.clone());
        let time_is_up = sleep(until.min(LONGEST_SLEEP));
        tokio::pin!(time_is_up);
        loop {
            let change = tokio::select! {
                biased;
                () = &mut time_is_up => return Ok(()),
                change = changes.next() => change,
            };
            match change {
                Some(Ok(changed)) if version(&changed) == version(secret) => continue,
                Some(Ok(_)) => {}
                // Perhaps it may only be read.
                Some(Err(error)) => tracing::debug!(%error, secret = self.name, "watch"),
                None => {
                    *changes = watch_object(self.api.clone(), &self.name).default_backoff().boxed();
                }
            }
            // A watch may tell of the past; this does not.
            *secret = self.api.get_opt(&self.name).await.map_err(self.cannot("read"))?;
            return Ok(());
        }
    }

    /// Writes it over what was seen; what is there now if somebody else was faster.
    async fn write(
        &self,
        seen: Option<&Secret>,
        wanted: &Stored,
    ) -> Result<Option<Secret>, SecretStoreError> {
        let written = match seen {
            Some(seen) => {
                let data = Some(wanted.to_data());
                let secret = Secret { data, string_data: None, ..seen.clone() };
                self.api.replace(&self.name, &PostParams::default(), &secret).await
            }
            None => {
                let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
                let type_ = Some("kubernetes.io/tls".to_owned());
                let secret = Secret { metadata, data: Some(wanted.to_data()), type_, ..Secret::default() };
                self.api.create(&PostParams::default(), &secret).await
            }
        };
        match written {
            Ok(secret) => Ok(Some(secret)),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                tracing::debug!(secret = self.name, "somebody else was faster");
                self.api.get_opt(&self.name).await.map_err(self.cannot("read"))
            }
            Err(error) => Err(self.cannot("write")(error)),
        }
    }

    fn cannot(&self, doing: &'static str) -> impl FnOnce(kube::Error) -> SecretStoreError {
        let name = self.name.clone();
        move |source| SecretStoreError::Api { doing, name, source: Box::new(source) }
    }
}
