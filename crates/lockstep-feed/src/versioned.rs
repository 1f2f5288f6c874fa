//! Watches that say how far they have seen: for whoever must not decide from an older view than somebody else did.

use std::fmt::Debug;
use std::time::Duration;

use futures::stream::{self, BoxStream, Stream, StreamExt};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::pause;

/// How many objects are asked for at once.
const PAGE: u32 = 500;

/// A watch that nothing is heard of for longer than this is dead: the server ends each of them before.
const SILENCE: Duration = Duration::from_secs(330);

/// What a watch showed.
#[derive(Debug, Clone)]
pub enum Seen<K> {
    /// These are there, and nothing else, at this version.
    Listed(Vec<K>, u64),
    /// So it stands from this version on.
    Applied(K, u64),
    /// Gone from this version on.
    Deleted(K, u64),
    /// Nothing else has happened up to this version.
    Reached(u64),
}

/// Lists objects, all pages of one moment; says which.
pub async fn list<K>(api: &Api<K>, params: &ListParams) -> kube::Result<(Vec<K>, u64)>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut params = params.clone().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page = api.list(&params).await?;
        let version = page.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => {
                // What follows the first page is of the first page's moment.
                params = ListParams { version_match: None, resource_version: None, ..params }
                    .continue_token(&token);
            }
            None => return Ok((all, version.unwrap_or_default())),
        }
    }
}

struct Watch<K> {
    api: Api<K>,
    /// The selector of labels.
    selector: Option<String>,
    reached: Option<u64>,
    stream: Option<BoxStream<'static, kube::Result<WatchEvent<K>>>>,
    errors: u32,
}

/// Everything that happens to the objects behind `api`, in order, without end and without errors.
pub fn versioned<K>(api: Api<K>, selector: Option<String>) -> impl Stream<Item = Seen<K>> + Send
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    stream::unfold(Watch { api, selector, reached: None, stream: None, errors: 0 }, |mut watch| async move {
        loop {
            match watch.step().await {
                Ok(Some(seen)) => {
                    watch.errors = 0;
                    return Some((seen, watch));
                }
                // The server has ended the watch in good order.
                Ok(None) => {}
                Err(error) => {
                    let what = watch.api.resource_url();
                    if watch.errors == crate::LOUD {
                        tracing::warn!(%error, what, "cannot watch");
                    } else {
                        tracing::debug!(%error, what, "the watch stumbled");
                    }
                    tokio::time::sleep(pause(watch.errors)).await;
                    watch.errors = watch.errors.saturating_add(1);
                }
            }
        }
    })
}

impl<K> Watch<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    async fn step(&mut self) -> kube::Result<Option<Seen<K>>> {
        let Some(reached) = self.reached else {
            let params = ListParams { label_selector: self.selector.clone(), ..ListParams::default() };
            let (all, version) = list(&self.api, &params).await?;
            self.reached = Some(version);
            return Ok(Some(Seen::Listed(all, version)));
        };
        if self.stream.is_none() {
            let params = WatchParams { label_selector: self.selector.clone(), ..WatchParams::default() };
            match self.api.watch(&params, &reached.to_string()).await {
                Ok(stream) => self.stream = Some(stream.boxed()),
                Err(error) => return Err(self.forget_if_too_old(error)),
            }
        }
        let next = match &mut self.stream {
            Some(stream) => tokio::time::timeout(SILENCE, stream.next()).await.unwrap_or(None),
            None => None,
        };
        match next {
            Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                let version = self.advance(object.resource_version().as_deref());
                Ok(Some(Seen::Applied(object, version)))
            }
            Some(Ok(WatchEvent::Deleted(object))) => {
                let version = self.advance(object.resource_version().as_deref());
                Ok(Some(Seen::Deleted(object, version)))
            }
            Some(Ok(WatchEvent::Bookmark(bookmark))) => {
                Ok(Some(Seen::Reached(self.advance(Some(&bookmark.metadata.resource_version)))))
            }
            Some(Ok(WatchEvent::Error(status))) => Err(self.forget_if_too_old(kube::Error::Api(status))),
            Some(Err(error)) => {
                self.stream = None;
                Err(error)
            }
            None => {
                self.stream = None;
                Ok(None)
            }
        }
    }

    fn advance(&mut self, version: Option<&str>) -> u64 {
        let seen = version.and_then(|version| version.parse().ok()).unwrap_or_default();
        let reached = self.reached.unwrap_or_default().max(seen);
        self.reached = Some(reached);
        reached
    }

    /// Watches anew after an error; lists anew if the server does not know that version any more, or not yet.
    fn forget_if_too_old(&mut self, error: kube::Error) -> kube::Error {
        self.stream = None;
        if let kube::Error::Api(status) = &error
            && (status.code == 410 || status.message.contains("Too large resource version"))
        {
            self.reached = None;
        }
        error
    }
}
