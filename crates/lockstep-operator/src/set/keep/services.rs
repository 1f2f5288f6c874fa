//! Headless services, which give pods their names in DNS.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, ListParams};
use kube::{Error, ResourceExt};
use lockstep_api::identity::{Identity, Values, default_pod_name, expand};
use lockstep_api::{KIND, Valid, label};
use lockstep_core::model::{Role, Spec};
use lockstep_core::number::Limits;
use lockstep_core::time::Millis;
use serde_json::json;

use super::{Keeper, create};
use crate::act::ActError;

/// How long until a name that somebody else has is tried again: nobody watches what is not ours.
pub const UNTIL_FREE: Millis = Millis::seconds(60);

/// What a service selects besides the set: labels and their values.
type Selector = BTreeMap<&'static str, String>;

impl Keeper<'_> {
    /// Headless services, so that pods have stable names in DNS, ready or not: a leader waits for its workers.
    pub async fn services(&self, set: &Valid, spec: &Spec) -> Result<(), ActError> {
        let wanted = subdomains(set, spec);
        let now = self.handle.now();
        let missing: Vec<(String, Selector)> = {
            let mut desk = self.handle.desk();
            desk.taken.retain(|name, _| wanted.contains_key(name));
            let waits = |name: &String| desk.taken.get(name).is_some_and(|seen| now < *seen + UNTIL_FREE);
            wanted.into_iter().filter(|(name, _)| !desk.services.contains(name) && !waits(name)).collect()
        };
        let api: Api<Service> = self.api();
        for (name, mut selector) in missing {
            selector.insert(label::SET, self.set().name.clone());
            let object = json!({
                "metadata": {
                    "name": name,
                    "labels": {label::SET: self.set().name},
                    "ownerReferences": [self.set().owner_reference()],
                },
                "spec": {"clusterIP": "None", "publishNotReadyAddresses": true, "selector": selector},
            });
            let doing = || format!("create service {name}");
            let object = serde_json::from_value(object)
                .map_err(|error| ActError::Unknown { doing: doing(), message: error.to_string() })?;
            match api.create(&create(), &object).await {
                Ok(_) => {}
                // Somebody's own service of that name may do as well, or is theirs to mend.
                Err(Error::Api(status)) if status.reason == "AlreadyExists" => {
                    if self.is_of_others(&api, &name).await? {
                        self.handle.desk().taken.insert(name, now);
                        continue;
                    }
                }
                Err(error) => return Err(ActError::of(doing(), error)),
            }
            let mut desk = self.handle.desk();
            desk.taken.remove(&name);
            desk.services.insert(name);
        }
        Ok(())
    }

    /// Whether a service that is there belongs neither to the set nor to what the set is made from. One of an earlier
    /// set of this name is on its way out.
    async fn is_of_others(&self, api: &Api<Service>, name: &str) -> Result<bool, ActError> {
        let listed = api.list(&ListParams::default().fields(&format!("metadata.name={name}"))).await;
        let listed = listed.map_err(|error| ActError::of(format!("look at service {name}"), error))?;
        let maker = self.set().maker.as_ref();
        let ours = |service: &Service| {
            service.owner_references().iter().any(|owner| {
                let made = maker.is_some_and(|maker| maker.uid == owner.uid);
                owner.uid == self.set().uid || owner.kind == KIND || made
            })
        };
        Ok(listed.items.iter().any(|service| !ours(service)))
    }
}

/// The subdomains that pods of the set have, and which pods each is for. Looked at with every plan, so that nothing is
/// copied or hashed for it.
fn subdomains(set: &Valid, spec: &Spec) -> BTreeMap<String, Selector> {
    let mut names = BTreeMap::new();
    for (written, role) in set.spec.roles.iter().zip(&spec.roles) {
        for (k, member) in role.members.iter().enumerate() {
            let level = Level { set, spec, written, role, member: member.name.as_str() };
            match level.said(k, |identity| identity.subdomain.as_deref()) {
                Some("") => {}
                Some(template) => level.services(template, &mut names),
                None => {
                    names.insert(set.metadata.name.clone(), Selector::new());
                }
            }
        }
    }
    names
}

/// A member of a role: as it was written, and as it is rolled.
struct Level<'a> {
    set: &'a Valid,
    spec: &'a Spec,
    written: &'a lockstep_api::Role,
    role: &'a Role,
    member: &'a str,
}

/// Whether a template tells these apart.
fn by(template: &str, placeholders: &[&str]) -> bool {
    placeholders.iter().any(|name| template.contains(&format!("{{{name}}}")))
}

impl<'a> Level<'a> {
    /// What the narrowest identity that says something about it says for the `k`th member.
    fn said(&self, k: usize, about: impl Fn(&'a Identity) -> Option<&'a str>) -> Option<&'a str> {
        let member = self.written.members.get(k).and_then(|member| member.identity.as_ref());
        let all = [member, self.written.identity.as_ref(), self.set.spec.identity.as_ref()];
        all.into_iter().flatten().find_map(about)
    }

    fn services(&self, template: &str, names: &mut BTreeMap<String, Selector>) {
        // What is there only while a rollout lasts is called by its name, too.
        let surge = self.spec.strategy.limits(self.spec.replicas).surge;
        let groups = self.spec.replicas.saturating_add(surge);
        let surge = Limits::resolve(
            self.role.strategy.max_unavailable,
            self.role.strategy.max_surge,
            self.role.replicas,
        )
        .surge;
        let instances = self.role.replicas.saturating_add(surge);
        for group in 0..if by(template, &["group", "leader"]) { groups } else { 1 } {
            for instance in 0..if by(template, &["instance", "leader"]) { instances } else { 1 } {
                let (name, selector) = self.service(template, group, instance);
                names.insert(name, selector);
            }
        }
    }

    fn service(&self, template: &str, group: u32, instance: u32) -> (String, Selector) {
        let first = self.role.members.first().map(|member| member.name.as_str()).unwrap_or_default();
        let mut values = Values {
            set: &self.set.metadata.name,
            group,
            role: self.role.name.as_str(),
            instance,
            member: self.member,
            // Validation lets nothing into a subdomain that no service could select by.
            pod: 0,
            index: 0,
            revision: self.role.revision.as_str(),
            set_revision: "",
            leader: "",
            size: u64::from(self.role.pods()),
            namespace: self.set.metadata.namespace.as_deref().unwrap_or_default(),
            uid: "",
            gang: "",
        };
        let pod_name = self.said(0, |identity| identity.pod_name.as_deref());
        let pod_name = pod_name.unwrap_or_else(|| default_pod_name(values.size));
        let of_leader = Values { member: first, ..values };
        let leader = expand(pod_name, &of_leader);
        values.leader = &leader;
        let mut selector = Selector::new();
        let told = [
            (label::GROUP, &["group", "leader"][..], group.to_string()),
            (label::ROLE, &["role", "leader"], self.role.name.to_string()),
            (label::INSTANCE, &["instance", "leader"], instance.to_string()),
            (label::MEMBER, &["member"], self.member.to_owned()),
            (label::MEMBER, &["leader"], first.to_owned()),
            (label::POD, &["leader"], "0".to_owned()),
        ];
        for (label, placeholders, value) in told {
            if by(template, placeholders) {
                selector.insert(label, value);
            }
        }
        (expand(template, &values), selector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(identity: &str, role: &str) -> Vec<(String, Vec<String>)> {
        let text = format!(
            "{{apiVersion: lockstep.dev/v1alpha1, kind: LockstepSet, metadata: {{name: llama}}, spec: {{replicas: 2, \
             {identity} roles: [{{name: prefill, replicas: 2, {role} members: [{{name: entry, template: &t {{spec: \
             {{containers: [{{name: main, image: 'a:1'}}]}}}}}}, {{name: worker, template: *t}}]}}]}}}}"
        );
        let parsed = lockstep_api::parse(&text).unwrap();
        let shown = |(label, value): (&str, String)| format!("{}={value}", label.rsplit('/').next().unwrap());
        let services = subdomains(&parsed.set, &lockstep_api::lower(&parsed.set));
        services.into_iter().map(|(name, it)| (name, it.into_iter().map(shown).collect())).collect()
    }

    #[test]
    fn a_service_selects_what_its_template_tells_apart() {
        let one = |name: &str, selector: &[&str]| {
            (name.to_owned(), selector.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(names("", ""), [one("llama", &[])]);
        assert_eq!(
            names("identity: {subdomain: '{set}-{group}'},", ""),
            [one("llama-0", &["group=0"]), one("llama-1", &["group=1"])]
        );
        assert_eq!(
            names("", "identity: {subdomain: 's-{set}-{role}'},"),
            [one("s-llama-prefill", &["role=prefill"])]
        );
        let entries = names(
            "identity: {podName: '{set}-{group}-{role}-{instance}-{index}'},",
            "identity: {subdomain: '{leader}'},",
        );
        assert_eq!(entries.len(), 4);
        assert_eq!(
            entries[1],
            one("llama-0-prefill-1-0", &["group=0", "instance=1", "member=entry", "pod=0", "role=prefill"])
        );
        assert_eq!(names("identity: {subdomain: ''},", ""), []);
    }
}
