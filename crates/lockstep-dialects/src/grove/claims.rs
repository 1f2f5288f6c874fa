//! Resource claims that pods share.
//!
//! They are made beside the set. A claim that all pods of a set share has one name, which stands in the pod templates;
//! the name of any other differs from pod to pod, and is a template of the pods' identity.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_api::identity::{Values, expand};
use lockstep_core::number::{IntOrPercent, Limits};
use serde_json::{Value, json};

use super::children::{running, surge};
use super::form::{Clique, Form, Part};
use super::identity::{COMPONENT, MANAGED_BY, PART_OF};
use super::sharing::{Scope, Sharing};
use crate::findings::Findings;
use crate::world::World;

/// More claims than that are not made.
const MOST: u64 = 10_000;

/// Names that lead nowhere, claims without effect, and too many of them.
pub(super) fn check(form: &Form<'_>, world: &World, found: &mut Findings<'_>) {
    let template = &form.spec.template;
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (i, claim) in template.resource_claim_templates.iter().enumerate() {
        if !names.insert(&claim.name) {
            found.error(format!("spec.template.resourceClaimTemplates[{i}].name"), "given twice");
        }
    }
    listed(form, &template.resource_sharing, "spec.template", found);
    for part in &form.parts {
        if let Some(group) = part.group {
            listed(form, &group.resource_sharing, &part.at, found);
        }
        for clique in &part.cliques {
            listed(form, &clique.template.resource_sharing, &clique.at, found);
        }
    }
    let count = count(&all(form, world));
    if count > MOST {
        let message = format!("would make {count} claims; up to {MOST} are accepted");
        found.error("spec.template.resourceClaimTemplates", message);
    }
}

fn listed(form: &Form<'_>, sharing: &[Sharing], at: &str, found: &mut Findings<'_>) {
    for (i, share) in sharing.iter().enumerate() {
        let at = format!("{at}.resourceSharing[{i}]");
        filtered(form, share, &at, found);
        if internal(form, share).is_none() {
            let message = "has no effect: only templates of resourceClaimTemplates are used";
            found.warn(format!("{at}.name"), message);
        }
    }
}

fn filtered(form: &Form<'_>, share: &Sharing, at: &str, found: &mut Findings<'_>) {
    let Some(filter) = &share.filter else { return };
    let cliques = form.spec.template.cliques.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
    let groups =
        form.spec.template.pod_clique_scaling_groups.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
    let lists = [
        ("childCliqueNames", &filter.child_clique_names, cliques, "clique"),
        ("childScalingGroupNames", &filter.child_scaling_group_names, groups, "scaling group"),
    ];
    for (field, names, known, what) in lists {
        for (k, name) in names.iter().enumerate().filter(|(_, name)| !known.contains(&name.as_str())) {
            found.error(format!("{at}.filter.{field}[{k}]"), format!("there is no {what} {name}"));
        }
    }
}

/// The template among the set's own.
fn internal<'a>(form: &Form<'a>, share: &Sharing) -> Option<&'a Value> {
    let own = share.namespace.as_deref().is_none_or(str::is_empty);
    let templates = &form.spec.template.resource_claim_templates;
    templates.iter().find(|it| own && it.name == share.name).map(|it| &it.template_spec)
}

/// A claim that reaches a clique.
struct Claim<'a> {
    /// What the pod calls it.
    name: String,
    /// What it is called, as a template of identity.
    object: String,
    /// What it is made from.
    template: &'a Value,
}

/// The claims of the whole set, with their names and templates.
fn of_set<'a>(form: &Form<'a>) -> impl Iterator<Item = (String, &'a Sharing, &'a Value)> {
    let all = form.spec.template.resource_sharing.iter().filter(|share| share.scope == Scope::AllReplicas);
    all.filter_map(|share| Some((format!("{}-all-{}", form.name, share.name), share, internal(form, share)?)))
}

/// The claims of a clique that differ from pod to pod, from the widest to the narrowest.
fn of_clique<'a>(form: &Form<'a>, part: &Part<'a>, clique: &Clique<'a>) -> Vec<Claim<'a>> {
    const ROLE: &str = "{set}-{group}-{role}";
    let group = part.group.map(|group| group.name.as_str());
    let (own, pod) = match group {
        Some(_) => (format!("{ROLE}-{{instance}}-{{member}}"), "{pod}"),
        None => (ROLE.to_owned(), "{instance}"),
    };
    let of_group = part.group.map(|group| group.resource_sharing.as_slice()).unwrap_or_default();
    let of_set = form.spec.template.resource_sharing.as_slice();
    let of_set: Vec<&Sharing> = of_set.iter().filter(|share| share.scope == Scope::PerReplica).collect();
    let levels = [
        ("set", "{set}".to_owned(), "{group}", of_set),
        ("group", ROLE.to_owned(), "{instance}", of_group.iter().collect()),
        ("clique", own, pod, clique.template.resource_sharing.iter().collect()),
    ];
    let mut claims: BTreeMap<String, Claim<'a>> = BTreeMap::new();
    for (level, owner, replica, listed) in levels {
        for share in listed.into_iter().filter(|share| share.reaches(&clique.template.name, group)) {
            let Some(template) = internal(form, share) else { continue };
            let (word, replica) = match share.scope {
                Scope::AllReplicas => ("all", "all"),
                Scope::PerReplica => ("each", replica),
            };
            let name = format!("{level}-{word}-{}", share.name);
            let object = format!("{owner}-{replica}-{}", share.name.replace('{', "{{").replace('}', "}}"));
            claims.insert(name.clone(), Claim { name, object, template });
        }
    }
    claims.into_values().collect()
}

/// The names of the claims of a clique that differ from pod to pod.
pub(super) fn names(form: &Form<'_>, part: &Part<'_>, clique: &Clique<'_>) -> BTreeMap<String, String> {
    of_clique(form, part, clique).into_iter().map(|claim| (claim.name, claim.object)).collect()
}

/// Lets every container of a clique use the claims that reach it.
pub(super) fn share(form: &Form<'_>, part: &Part<'_>, clique: &Clique<'_>, pod_spec: &mut Value) {
    let group = part.group.map(|group| group.name.as_str());
    for (name, _, _) in of_set(form).filter(|(_, share, _)| share.reaches(&clique.template.name, group)) {
        push(pod_spec, "resourceClaims", json!({"name": name, "resourceClaimName": name}));
        use_in_containers(pod_spec, &name);
    }
    for claim in of_clique(form, part, clique) {
        use_in_containers(pod_spec, &claim.name);
    }
}

fn use_in_containers(pod_spec: &mut Value, name: &str) {
    for list in ["containers", "initContainers"] {
        for container in pod_spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(fields) = container.as_object_mut() {
                push(fields.entry("resources").or_insert_with(|| json!({})), "claims", json!({"name": name}));
            }
        }
    }
}

/// Every claim that differs from pod to pod, with the places it is made for, surge included.
fn all<'a>(form: &'a Form<'a>, world: &World) -> Vec<(Claim<'a>, Places<'a>)> {
    let of_part = |part: &'a Part<'a>| {
        let running = running(form, part, world);
        let none = IntOrPercent::Int(0);
        let extra = Limits::resolve(none, part.limits.surge.unwrap_or(none), running).surge;
        let instances = running.saturating_add(extra);
        part.members().flat_map(move |clique| {
            let claims = of_clique(form, part, clique).into_iter();
            claims.map(move |claim| (claim, Places { form, part, clique, instances }))
        })
    };
    form.parts.iter().flat_map(of_part).collect()
}

fn count(all: &[(Claim<'_>, Places<'_>)]) -> u64 {
    all.iter().map(|(claim, places)| places.count(&claim.object)).fold(0, u64::saturating_add)
}

/// The claims themselves: one for each place of a pod that has a name of its own for it.
pub(super) fn objects(form: &Form<'_>, world: &World) -> Vec<Value> {
    let mut named: BTreeMap<String, &Value> = BTreeMap::new();
    named.extend(of_set(form).map(|(name, _, template)| (name, template)));
    let all = all(form, world);
    if count(&all) <= MOST {
        for (claim, places) in &all {
            named.extend(places.names(&claim.object).into_iter().map(|name| (name, claim.template)));
        }
    }
    named.into_iter().map(|(name, template)| object(form, &name, template)).collect()
}

/// The places of a clique's pods.
struct Places<'a> {
    form: &'a Form<'a>,
    part: &'a Part<'a>,
    clique: &'a Clique<'a>,
    instances: u32,
}

impl Places<'_> {
    /// How many groups, instances and pods the template tells apart.
    fn ranges(&self, template: &str) -> [u32; 3] {
        let pods = if self.part.group.is_some() { self.clique.replicas.value.max(1) } else { 1 };
        let groups = self.form.spec.replicas.saturating_add(surge(self.form));
        [("{group}", groups), ("{instance}", self.instances), ("{pod}", pods)]
            .map(|(placeholder, count)| if template.contains(placeholder) { count } else { count.min(1) })
    }

    fn count(&self, template: &str) -> u64 {
        self.ranges(template).into_iter().fold(1, |product, count| product.saturating_mul(u64::from(count)))
    }

    /// Every name that a template comes to.
    fn names(&self, template: &str) -> BTreeSet<String> {
        let [groups, instances, pods] = self.ranges(template);
        let mut names = BTreeSet::new();
        for group in 0..groups {
            for instance in 0..instances {
                for pod in 0..pods {
                    names.insert(expand(template, &self.values(group, instance, pod)));
                }
            }
        }
        names
    }

    fn values(&self, group: u32, instance: u32, pod: u32) -> Values<'_> {
        Values {
            set: self.form.name,
            group,
            role: self.part.name,
            instance,
            member: &self.clique.template.name,
            pod,
            index: 0,
            revision: "",
            set_revision: "",
            leader: "",
            size: 0,
            namespace: self.form.namespace,
            uid: "",
            gang: "",
        }
    }
}

fn object(form: &Form<'_>, name: &str, template: &Value) -> Value {
    let mut labels =
        template.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, value) in [MANAGED_BY, (PART_OF, form.name), (COMPONENT, "resource-claim")] {
        labels.insert(key.to_owned(), json!(value));
    }
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": form.metadata(name, labels),
        "spec": template["spec"],
    })
}

fn push(parent: &mut Value, field: &str, item: Value) {
    let Some(fields) = parent.as_object_mut() else { return };
    if let Some(items) = fields.entry(field).or_insert_with(|| json!([])).as_array_mut() {
        items.push(item);
    }
}
