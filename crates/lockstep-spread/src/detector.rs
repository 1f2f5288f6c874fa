//! Keeps a binding for every resource template that a policy places.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use lockstep_federation::interpret::Interpretation;
use serde_json::Value;
use tokio::sync::Notify;

use crate::mirror::{Failed, Id, Mirror, look_again, whole};
use crate::{MANAGER, binding, kinds, resource_of, text};

/// Keeps bindings for ever.
pub async fn run(host: Client, spread: Vec<&'static Interpretation>) {
    let news = Arc::new(Notify::new());
    let all = |kind: &ApiResource| Mirror::of_wishes(Api::all_with(host.clone(), kind), kind, &news);
    let templates: Templates = spread.into_iter().map(|kind| (kind, all(&resource_of(kind)))).collect();
    let (policies, bindings) = (all(&kinds::policies()), all(&kinds::bindings()));
    loop {
        news.notified().await;
        let passed = pass(&host, &templates, &policies, &bindings).await;
        look_again("bindings", &news, passed).await;
    }
}

type Templates = Vec<(&'static Interpretation, Mirror)>;

async fn pass(
    host: &Client,
    templates: &Templates,
    policies: &Mirror,
    bindings: &Mirror,
) -> Result<(), Failed> {
    let (Some(policies), Some(bindings)) = (policies.all(), bindings.all()) else { return Ok(()) };
    for (kind, templates) in templates {
        for template in templates.all().unwrap_or_default().values() {
            if let Some(policy) = binding::policy_of(template, policies.values()) {
                attend(host, kind, template, policy, &bindings).await?;
            }
        }
    }
    Ok(())
}

/// Describes first, schedules then: in between a binding says other replicas than its clusters have, as with Karmada,
/// where two processes do it.
async fn attend(
    host: &Client,
    kind: &Interpretation,
    template: &Value,
    policy: &Value,
    bindings: &BTreeMap<Id, Value>,
) -> Result<(), Failed> {
    if !template["metadata"]["deletionTimestamp"].is_null() {
        return Ok(());
    }
    let namespace = text(&template["metadata"]["namespace"]);
    let api: Api<DynamicObject> = Api::namespaced_with(host.clone(), namespace, &kinds::bindings());
    let name = binding::name(template);
    let described = |it: &Value| binding::described(kind, template, it);
    let is_right = |it: &Value| binding::scheduled(policy, &described(it)) == *it;
    if bindings.get(&(namespace.to_owned(), name.clone())).is_some_and(is_right) {
        return Ok(());
    }
    // What is told of a binding makes another version of it, of which nobody here hears.
    let standing = match api.get_opt(&name).await? {
        Some(standing) => {
            let standing = whole(standing, &kinds::bindings());
            replace(&api, &standing, described(&standing)).await?
        }
        None => {
            let made = serde_json::from_value(binding::made(kind, template))?;
            whole(api.create(&how(), &made).await?, &kinds::bindings())
        }
    };
    replace(&api, &standing, binding::scheduled(policy, &standing)).await.map(drop)
}

/// Writes what differs from what stands.
async fn replace(api: &Api<DynamicObject>, standing: &Value, wanted: Value) -> Result<Value, Failed> {
    if wanted == *standing {
        return Ok(wanted);
    }
    let object: DynamicObject = serde_json::from_value(wanted)?;
    let written = api.replace(text(&standing["metadata"]["name"]), &how(), &object).await?;
    Ok(whole(written, &kinds::bindings()))
}

fn how() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}
