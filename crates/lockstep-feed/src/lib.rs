//! Watches that go on whatever happens: lost connections, versions that are too old, servers that restart.

mod versioned;

use std::fmt::Debug;
use std::time::Duration;

use futures::stream::{self, BoxStream, Stream, StreamExt};
use kube::runtime::watcher::{self, Event, InitialListStrategy, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

pub use versioned::{Seen, list, versioned};

/// The first pause after an error; it doubles up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// So many errors in a row are no stumbling any more: a second or two have passed.
const LOUD: u32 = 4;

/// Lets a type that reads only a part of a pod be watched as one. `$meta` is the field that holds its metadata.
#[macro_export]
macro_rules! watched_as_pod {
    ($part:ty, $meta:ident) => {
        impl ::kube::Resource for $part {
            type DynamicType = ();
            type Scope = ::k8s_openapi::NamespaceResourceScope;

            fn kind(dt: &()) -> ::std::borrow::Cow<'_, str> {
                <::k8s_openapi::api::core::v1::Pod as ::kube::Resource>::kind(dt)
            }

            fn group(dt: &()) -> ::std::borrow::Cow<'_, str> {
                <::k8s_openapi::api::core::v1::Pod as ::kube::Resource>::group(dt)
            }

            fn version(dt: &()) -> ::std::borrow::Cow<'_, str> {
                <::k8s_openapi::api::core::v1::Pod as ::kube::Resource>::version(dt)
            }

            fn plural(dt: &()) -> ::std::borrow::Cow<'_, str> {
                <::k8s_openapi::api::core::v1::Pod as ::kube::Resource>::plural(dt)
            }

            fn meta(&self) -> &::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.$meta
            }

            fn meta_mut(&mut self) -> &mut ::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.$meta
            }
        }
    };
}

/// How a watch begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InitialList {
    /// With a list in pages.
    #[default]
    Paged,
    /// With all objects in the stream itself.
    Streaming,
}

/// What is watched.
pub struct Source<K> {
    /// Where.
    pub api: Api<K>,
    /// How.
    pub config: watcher::Config,
}

impl<K> Source<K> {
    /// Everything behind `api`.
    pub fn new(api: Api<K>, initial: InitialList) -> Self {
        let initial_list_strategy = match initial {
            InitialList::Paged => InitialListStrategy::ListWatch,
            InitialList::Streaming => InitialListStrategy::StreamingList,
        };
        let config = watcher::Config { initial_list_strategy, ..watcher::Config::default() };
        Self { api, config }
    }
}

struct Feed<K> {
    source: Source<K>,
    stream: BoxStream<'static, watcher::Result<Event<K>>>,
    errors: u32,
}

/// The events of a watch, without end and without errors.
pub fn feed<K>(source: Source<K>) -> impl Stream<Item = Event<K>> + Send
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let stream = open(&source);
    stream::unfold(Feed { source, stream, errors: 0 }, |mut feed| async move {
        loop {
            match feed.stream.next().await {
                Some(Ok(event)) => {
                    // That a list begins says nothing yet: it may fail like the one before.
                    if !matches!(event, Event::Init) {
                        if feed.errors > LOUD {
                            tracing::info!(what = feed.source.api.resource_url(), "watches again");
                        }
                        feed.errors = 0;
                    }
                    return Some((event, feed));
                }
                Some(Err(error)) => {
                    tell(&error, feed.errors, feed.source.api.resource_url());
                    if must_start_over(&error) {
                        feed.stream = open(&feed.source);
                    }
                }
                None => feed.stream = open(&feed.source),
            }
            tokio::time::sleep(pause(feed.errors)).await;
            feed.errors = feed.errors.saturating_add(1);
        }
    })
}

/// A watch stumbles now and then. What lasts only a person can mend, who must hear of it, and now and then again.
fn tell(error: &watcher::Error, errors: u32, what: &str) {
    let code = refusal(error);
    let lasts = errors % 20 == if code == Some(403) { 0 } else { LOUD };
    match code {
        _ if !lasts => tracing::debug!(%error, what, "the watch stumbled"),
        Some(403) => tracing::warn!(%error, what, "not allowed to watch"),
        Some(404) => tracing::warn!(what, "the API server does not know this kind: its CRD is missing"),
        _ => tracing::warn!(%error, what, "cannot watch"),
    }
}

fn open<K>(source: &Source<K>) -> BoxStream<'static, watcher::Result<Event<K>>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    watcher(source.api.clone(), source.config.clone()).boxed()
}

fn pause(errors: u32) -> Duration {
    PAUSE.saturating_mul(1u32.checked_shl(errors).unwrap_or(u32::MAX)).min(LONGEST_PAUSE)
}

/// How the API server refused a watch.
fn refusal(error: &watcher::Error) -> Option<u16> {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status))
        | WatchStartFailed(kube::Error::Api(status))
        | WatchFailed(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// kube lists again by itself if the watch reports that its version is too old. If the server says so when the
/// watch is opened, or does not know the version yet (it restarted with other data), kube would ask for the
/// same version for ever.
fn must_start_over(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => {
            status.code == 410 || status.message.contains("Too large resource version")
        }
        _ => false,
    }
}
