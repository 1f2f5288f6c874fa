//! Telling API servers which authorities to trust when they have objects converted.

use std::collections::BTreeMap;

use futures::StreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt};
use lockstep_api::label::FIELD_MANAGER;
use lockstep_dialects::definition::MADE_BY;
use lockstep_feed::{InitialList, Source, feed};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// How long to wait after a failure.
const BREATH: std::time::Duration = std::time::Duration::from_secs(2);

/// Keeps the authorities in our definitions as they should be, whoever changes them; for ever. Only the leader does so.
pub async fn keep(client: Client, mut authorities: watch::Receiver<Option<String>>) {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let mut source = Source::new(api.clone(), InitialList::Paged);
    source.config.label_selector = Some(format!("{}={}", MADE_BY.0, MADE_BY.1));
    let mut events = feed(source).boxed();
    let mut known: BTreeMap<String, CustomResourceDefinition> = BTreeMap::new();
    let mut again = None;
    loop {
        let pem = authorities.borrow_and_update().clone();
        if pem.is_some_and(|pem| known.values().any(|it| correction(it, &pem).is_some())) && again.is_none() {
            again = mend(&api, &mut known, &authorities).await.then(|| Instant::now() + BREATH);
        }
        tokio::select! {
            biased;
            told = authorities.changed() => if told.is_err() { return },
            Some(event) = events.next() => match event {
                Event::Init => known.clear(),
                Event::InitApply(it) | Event::Apply(it) => drop(known.insert(it.name_any(), it)),
                Event::Delete(it) => drop(known.remove(&it.name_any())),
                Event::InitDone => {}
            },
            () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => again = None,
        }
    }
}

/// Corrects what is wrong. Returns whether something could not be.
async fn mend(
    api: &Api<CustomResourceDefinition>,
    known: &mut BTreeMap<String, CustomResourceDefinition>,
    authorities: &watch::Receiver<Option<String>>,
) -> bool {
    let Some(pem) = authorities.borrow().clone() else { return false };
    let mut failed = false;
    for (name, present) in known.iter_mut() {
        let Some(patch) = correction(present, &pem) else { continue };
        let ours = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(name, &ours, &Patch::Merge(&patch)).await {
            Ok(patched) => *present = patched,
            Err(error) => {
                tracing::warn!(%error, definition = name, "cannot write the authorities");
                failed = true;
            }
        }
    }
    failed
}

/// What has to be changed so that an API server trusts us with the objects of a kind; nothing if it does, or if these
/// are not converted.
fn correction(present: &CustomResourceDefinition, pem: &str) -> Option<Value> {
    let bundle = ByteString(pem.as_bytes().to_vec());
    let webhook = present.spec.conversion.as_ref()?.webhook.as_ref()?;
    let client = webhook.client_config.as_ref()?;
    // With the version that was seen: who has taken the webhook out meanwhile must not get half of it back.
    let version = present.metadata.resource_version.as_deref();
    (client.ca_bundle.as_ref() != Some(&bundle)).then(|| {
        json!({
            "metadata": {"resourceVersion": version},
            "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}},
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_definitions_whose_objects_we_convert_are_changed() {
        let definition = |conversion: Value| -> CustomResourceDefinition {
            let spec = json!({
                "group": "a", "scope": "Namespaced", "names": {"kind": "A", "plural": "as"}, "versions": [],
                "conversion": conversion,
            });
            serde_json::from_value(json!({"metadata": {"resourceVersion": "7"}, "spec": spec})).expect("one")
        };
        let webhook = |client: Value| json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}});
        let wrong = correction(&definition(webhook(json!({}))), "pem").expect("a change");
        assert_eq!(wrong["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"], "cGVt");
        assert_eq!(correction(&definition(webhook(json!({"caBundle": "cGVt"}))), "pem"), None);
        assert_eq!(correction(&definition(json!({"strategy": "None"})), "pem"), None);
        assert_eq!(correction(&definition(Value::Null), "pem"), None);
    }
}
