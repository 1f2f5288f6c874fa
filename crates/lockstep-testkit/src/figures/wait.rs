//! Waiting for what is listed.

use std::time::Duration;

use kube::Api;
use kube::api::{DynamicObject, ListParams};

use crate::cluster::ClusterError;

const PAUSE: Duration = Duration::from_millis(500);

/// Waits until what is listed passes a test, for so long.
pub async fn until(
    api: &Api<DynamicObject>,
    patience: Duration,
    what: &str,
    test: impl Fn(&[DynamicObject]) -> bool,
) -> Result<(), ClusterError> {
    let waiting = async {
        loop {
            let listed = api.list(&ListParams::default()).await;
            if test(&listed.map_err(ClusterError::api(what))?.items) {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(patience, waiting).await.map_err(ClusterError::access(what))?
}
