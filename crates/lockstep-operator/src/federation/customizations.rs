//! Keeping the customizations by which Karmada says back what is in force.

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use lockstep_federation::customization;
use lockstep_federation::interpret::Kinds;
use lockstep_feed::{InitialList, Source, feed};
use serde_json::Value;

use super::{MANAGER, karmada};
use crate::report::{Herald, Note};

/// Keeps them for ever. Somebody else's for the same kind is left alone, and told of: Karmada asks only one of them.
pub(super) async fn keep(
    client: Client,
    herald: Arc<Herald>,
    sure: Arc<dyn Fn() -> bool + Send + Sync>,
    kinds: &Kinds,
) {
    let resource = karmada("config.karmada.io", "v1alpha1", "ResourceInterpreterCustomization");
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    apply(&api, &sure, kinds).await;
    let mut events = std::pin::pin!(feed(Source::new(api.clone(), InitialList::Paged)));
    while let Some(event) = events.next().await {
        use kube::runtime::watcher::Event;
        match event {
            Event::InitApply(object) | Event::Apply(object) => {
                let other = serde_json::to_value(object).unwrap_or_default();
                warn_of(&other, &herald, kinds).await;
                apply(&api, &sure, kinds).await;
            }
            Event::Delete(_) | Event::InitDone => apply(&api, &sure, kinds).await,
            Event::Init => {}
        }
    }
}

/// What stands as it should is not changed by this, and tells nobody.
async fn apply(api: &Api<DynamicObject>, sure: &Arc<dyn Fn() -> bool + Send + Sync>, kinds: &Kinds) {
    for kind in kinds.iter() {
        if !sure() {
            return;
        }
        let (name, wanted) = (customization::name(kind), customization::of(kind));
        let how = PatchParams::apply(MANAGER).force();
        if let Err(error) = api.patch(&name, &how, &Patch::Apply(&wanted)).await {
            tracing::warn!(%error, name, "a customization cannot be applied");
        }
    }
}

async fn warn_of(other: &Value, herald: &Herald, kinds: &Kinds) {
    let found = kinds.iter().map(|kind| (kind, customization::in_the_way(kind, other)));
    let Some((kind, both)) = found.into_iter().find(|(_, both)| !both.is_empty()) else { return };
    let name = other["metadata"]["name"].as_str().unwrap_or_default();
    let message = format!(
        "speaks for {} as {} does, and Karmada asks only one of them: rollouts of {} over several clusters may wait \
         for ever; take {} out of it, or switch ours off",
        kind.kind,
        customization::name(kind),
        kind.kind,
        both.join(" and ")
    );
    tracing::warn!(name, message);
    let about = ObjectReference {
        api_version: Some("config.karmada.io/v1alpha1".to_owned()),
        kind: Some("ResourceInterpreterCustomization".to_owned()),
        name: Some(name.to_owned()),
        uid: other["metadata"]["uid"].as_str().map(str::to_owned),
        ..ObjectReference::default()
    };
    let note = Note { reason: "CustomizationInTheWay".to_owned(), message, warning: true };
    if let Err(error) = herald.tell(&about, &note).await {
        tracing::debug!(%error, "an event cannot be sent");
    }
}
