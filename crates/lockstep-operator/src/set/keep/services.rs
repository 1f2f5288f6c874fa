//! Headless services, which give pods their names in DNS.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Service;
use kube::Error;
use kube::api::Api;
use lockstep_api::identity::{Values, expand};
use lockstep_api::{Valid, label};
use lockstep_core::model::Spec;
use serde_json::json;

use super::{Keeper, create};
use crate::act::ActError;

impl Keeper<'_> {
    /// Headless services, so that pods have stable names in DNS, ready or not: a leader waits for its workers.
    pub async fn services(&self, set: &Valid, spec: &Spec) -> Result<(), ActError> {
        let wanted = subdomains(set, spec);
        let missing: Vec<String> = {
            let desk = self.handle.desk();
            wanted.into_iter().filter(|name| !desk.services.contains(name)).collect()
        };
        let api: Api<Service> = self.api();
        for name in missing {
            let object = json!({
                "metadata": {
                    "name": name,
                    "labels": {label::SET: self.set().name},
                    "ownerReferences": [self.set().owner_reference()],
                },
                "spec": {
                    "clusterIP": "None",
                    "publishNotReadyAddresses": true,
                    "selector": {label::SET: self.set().name},
                },
            });
            let doing = || format!("create service {name}");
            let object = serde_json::from_value(object)
                .map_err(|error| ActError::Unknown { doing: doing(), message: error.to_string() })?;
            match api.create(&create(), &object).await {
                Ok(_) => {}
                // Somebody's own service of that name does as well, or is theirs to mend.
                Err(Error::Api(status)) if status.reason == "AlreadyExists" => {}
                Err(error) => return Err(ActError::of(doing(), error)),
            }
            self.handle.desk().services.insert(name);
        }
        Ok(())
    }
}

/// The subdomains that pods of the set have: the set's name, or what its identity template says.
fn subdomains(set: &Valid, spec: &Spec) -> BTreeSet<String> {
    let template = set.spec.identity.as_ref().and_then(|identity| identity.subdomain.as_deref());
    let Some(template) = template else { return BTreeSet::from([set.metadata.name.clone()]) };
    let mut names = BTreeSet::new();
    // Surge groups are called by their names, too.
    let surge = spec.strategy.limits(spec.replicas).surge;
    let groups = if template.contains("{group}") { spec.replicas.saturating_add(surge) } else { 1 };
    for group in 0..groups {
        for role in &spec.roles {
            let values = Values {
                set: &set.metadata.name,
                group,
                role: role.name.as_str(),
                instance: 0,
                member: role.members.first().map(|member| member.name.as_str()).unwrap_or_default(),
                pod: 0,
                revision: role.revision.as_str(),
                leader: "",
                size: u64::from(role.pods()),
            };
            names.insert(expand(template, &values));
        }
    }
    names
}
