//! A watch that goes on whatever happens to it.

use std::fmt::Debug;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// How long to wait before a watch that broke is begun again.
const BREATH: Duration = Duration::from_millis(100);

/// Hands on every event, and why the watch was interrupted if it was. A new watch begins with a list, whatever ended
/// the old one: who takes them has to compare.
pub(crate) async fn follow<K>(
    api: Api<K>,
    mut take: impl FnMut(Result<watcher::Event<K>, watcher::Error>) + Send,
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    loop {
        let mut events = watcher(api.clone(), watcher::Config::default()).boxed();
        loop {
            match events.try_next().await {
                Ok(Some(event)) => take(Ok(event)),
                Ok(None) => break,
                Err(error) => {
                    take(Err(error));
                    break;
                }
            }
        }
        tokio::time::sleep(BREATH).await;
    }
}
