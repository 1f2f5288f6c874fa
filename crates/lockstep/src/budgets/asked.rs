//! Whether anybody is asked before a pod of a namespace goes: budgets are counted all the same, and then hold nothing.

use anyhow::{Context, Result};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt};
use kube::{Api, Client, Error, ResourceExt};

use crate::input::objects::plainly;
use crate::install::budgets::{NAME, SWITCH};

/// Why nobody is asked about the pods of a namespace; nothing if somebody is, or if that may not be read.
pub async fn nobody_is_asked(client: &Client, namespace: &str) -> Result<Option<String>> {
    let guards: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let guard = match guards.get_opt(NAME).await {
        Ok(guard) => guard,
        Err(Error::Api(status)) if status.code == 403 => return Ok(None),
        Err(error) => return Err(plainly(error)).context("cannot read the webhook configurations"),
    };
    let Some(guard) = guard else { return Ok(Some(missing())) };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let Ok(Some(found)) = namespaces.get_opt(namespace).await else { return Ok(None) };
    Ok(leaves_out(&guard, &found))
}

fn missing() -> String {
    format!(
        "nothing is held: there is no webhook configuration {NAME}, so no delete and no eviction is asked about; \
         `lockstep install` brings it"
    )
}

fn leaves_out(guard: &MutatingWebhookConfiguration, namespace: &Namespace) -> Option<String> {
    let labels = namespace.labels();
    let covers = |selector: Option<&LabelSelector>| {
        selector.is_none_or(|it| Selector::try_from(it.clone()).is_ok_and(|it| it.matches(labels)))
    };
    let mut webhooks = guard.webhooks.iter().flatten();
    if webhooks.any(|webhook| covers(webhook.namespace_selector.as_ref())) {
        return None;
    }
    let name = namespace.name_any();
    Some(match labels.get(SWITCH).filter(|value| *value == "off") {
        Some(value) => {
            format!(
                "nothing is held: namespace {name} is labelled {SWITCH}={value}, so no pod of it is asked about"
            )
        }
        None => {
            format!("nothing is held: webhook configuration {NAME} leaves out the pods of namespace {name}")
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_is_left_out_is_told_why() {
        let guard = |webhooks| {
            serde_json::from_value(json!({"metadata": {"name": NAME}, "webhooks": webhooks})).unwrap()
        };
        let selector = json!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]},
            {"key": SWITCH, "operator": "NotIn", "values": ["off"]},
        ]});
        let one = guard(json!([{
            "name": "evict.budgets.lockstep.dev", "clientConfig": {}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "namespaceSelector": selector,
        }]));
        for (name, switch, said) in [
            ("default", None, None),
            ("default", Some("on"), None),
            ("default", Some("off"), Some("namespace default is labelled lockstep.dev/budgets=off")),
            ("kube-system", None, Some("leaves out the pods of namespace kube-system")),
        ] {
            let mut labels = json!({"kubernetes.io/metadata.name": name});
            if let Some(switch) = switch {
                labels[SWITCH] = json!(switch);
            }
            let namespace =
                serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
            let found = leaves_out(&one, &namespace);
            assert_eq!(found.is_some(), said.is_some(), "{name} {switch:?}: {found:?}");
            assert!(found.unwrap_or_default().contains(said.unwrap_or_default()), "{name} {switch:?}");
            assert!(leaves_out(&guard(json!([])), &namespace).is_some(), "an empty one asks about nobody");
        }
    }
}
