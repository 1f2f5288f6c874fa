//! Telling API servers which authorities to trust.

use std::fmt::Debug;

use futures::StreamExt;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::{ByteString, ClusterResourceScope};
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Resource, ResourceExt};
use lockstep_api::label::FIELD_MANAGER;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

/// How long to wait after a failure.
const BREATH: std::time::Duration = std::time::Duration::from_secs(2);

/// A configuration of webhooks, validating or mutating.
trait Configuration:
    Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + DeserializeOwned + Debug + Send + 'static
{
    /// The webhooks: how each is called, and whom it asks.
    fn webhooks(&self) -> Vec<(&str, &WebhookClientConfig)>;
}

impl Configuration for ValidatingWebhookConfiguration {
    fn webhooks(&self) -> Vec<(&str, &WebhookClientConfig)> {
        self.webhooks.iter().flatten().map(|it| (it.name.as_str(), &it.client_config)).collect()
    }
}

impl Configuration for MutatingWebhookConfiguration {
    fn webhooks(&self) -> Vec<(&str, &WebhookClientConfig)> {
        self.webhooks.iter().flatten().map(|it| (it.name.as_str(), &it.client_config)).collect()
    }
}

/// Keeps the authorities in all our configurations: the validating one, and both of those that guard pods, if they do.
pub async fn keep_all(
    client: &kube::Client,
    sets: &str,
    guards: Option<&str>,
    authorities: watch::Receiver<Option<String>>,
) {
    let validating = |name| keep::<ValidatingWebhookConfiguration>(client.clone(), name, authorities.clone());
    let guards = async {
        if let Some(name) = guards {
            let mutating = keep::<MutatingWebhookConfiguration>(client.clone(), name, authorities.clone());
            tokio::join!(validating(name), mutating);
        }
    };
    tokio::join!(validating(sets), guards);
}

/// Keeps the authorities in a configuration of mutating webhooks.
pub async fn keep_mutating(client: &kube::Client, name: &str, authorities: watch::Receiver<Option<String>>) {
    keep::<MutatingWebhookConfiguration>(client.clone(), name, authorities).await;
}

/// Keeps the authorities in a webhook configuration as they should be, whoever changes them; for ever. Only the
/// leader does so.
async fn keep<K: Configuration>(
    client: kube::Client,
    name: &str,
    mut authorities: watch::Receiver<Option<String>>,
) {
    let api: Api<K> = Api::all(client);
    let mut changes = watch_object(api.clone(), name).default_backoff().boxed();
    let mut present = api.get_opt(name).await.unwrap_or_default();
    loop {
        let wanted = authorities.borrow_and_update().clone();
        let patch = wanted.zip(present.as_ref()).and_then(|(pem, present)| correction(present, &pem));
        if let Some(patch) = patch {
            let ours =
                PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            match api.patch(name, &ours, &Patch::Strategic(&patch)).await {
                Ok(patched) => present = Some(patched),
                Err(error) => {
                    // Somebody else was faster: nobody is trusted until it is written, so it is tried again at once.
                    let faster = matches!(&error, kube::Error::Api(status) if status.reason == "Conflict");
                    if !faster {
                        tracing::warn!(%error, configuration = name, "cannot write the authorities");
                        sleep(BREATH).await;
                    }
                    match api.get_opt(name).await {
                        Ok(read) => present = read,
                        Err(error) => {
                            tracing::debug!(%error, configuration = name, "cannot read it again");
                            sleep(BREATH).await;
                        }
                    }
                    continue;
                }
            }
        }
        tokio::select! {
            biased;
            told = authorities.changed() => if told.is_err() { return },
            change = changes.next() => match change {
                Some(Ok(configuration)) => present = configuration,
                Some(Err(error)) => {
                    // Perhaps it may only be read.
                    tracing::debug!(%error, configuration = name, "watch");
                    present = api.get_opt(name).await.unwrap_or(present);
                }
                None => changes = watch_object(api.clone(), name).default_backoff().boxed(),
            },
        }
    }
}

/// What has to be changed so that every webhook of a configuration trusts these; nothing if all do.
fn correction(present: &impl Configuration, pem: &str) -> Option<Value> {
    let bundle = ByteString(pem.as_bytes().to_vec());
    let webhooks = present.webhooks().into_iter();
    let wrong: Vec<Value> = webhooks
        .filter(|(_, client)| client.ca_bundle.as_ref() != Some(&bundle))
        .map(|(name, _)| json!({"name": name, "clientConfig": {"caBundle": bundle}}))
        .collect();
    // With the version that was seen: a webhook that is gone meanwhile must not come back half made.
    let version = present.resource_version();
    (!wrong.is_empty()).then(|| json!({"metadata": {"resourceVersion": version}, "webhooks": wrong}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_is_changed() {
        let present: ValidatingWebhookConfiguration = serde_json::from_value(json!({
            "metadata": {"name": "lockstep", "resourceVersion": "7"},
            "webhooks": [
                {"name": "a", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                 "clientConfig": {"caBundle": "cGVt"}},
                {"name": "b", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                 "clientConfig": {"service": {"name": "x", "namespace": "y"}}},
            ],
        }))
        .expect("a configuration");
        let expected = json!({
            "metadata": {"resourceVersion": "7"},
            "webhooks": [{"name": "b", "clientConfig": {"caBundle": "cGVt"}}],
        });
        assert_eq!(correction(&present, "pem"), Some(expected));
        let both = correction(&present, "other").expect("a change");
        assert_eq!(both["webhooks"].as_array().map(Vec::len), Some(2));
        let fine = ValidatingWebhookConfiguration { webhooks: None, ..present };
        assert_eq!(correction(&fine, "pem"), None);
    }
}
