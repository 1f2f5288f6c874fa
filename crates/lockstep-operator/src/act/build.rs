//! A pod, built from the stored revision it is assigned to. Pure: equal inputs give equal pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use lockstep_api::identity::{Identity, Values, default_pod_name, expand};
use lockstep_api::stored::Content;
use lockstep_api::{API_VERSION, KIND, label};
use lockstep_core::model::{GangScheduler, Role, RuleKind, Spec};
use lockstep_core::plan::{BatchRef, Create, PodSlot};
use serde_json::{Map, Value, json};

use super::gang::{Volcano, gang_name};

/// Which set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID: a set of the same name that came later is another.
    pub uid: String,
    /// What the set was made from, if it was.
    pub maker: Option<Maker>,
    /// What Volcano is told of its gangs.
    pub volcano: Volcano,
}

/// An object of another kind that a set was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maker {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl SetRef {
    /// The UID of what the set was made from; its own if it was made by hand.
    pub fn origin(&self) -> &str {
        self.maker.as_ref().map_or(&self.uid, |maker| &maker.uid)
    }

    /// All that an event about the set may be about: the set, and what it was made from.
    pub fn concerned(&self) -> Vec<ObjectReference> {
        let reference = |api_version: &str, kind: &str, name: &str, uid: &str| ObjectReference {
            api_version: Some(api_version.to_owned()),
            kind: Some(kind.to_owned()),
            namespace: Some(self.namespace.clone()),
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        };
        let maker = self.maker.iter().map(|it| reference(&it.api_version, &it.kind, &it.name, &it.uid));
        std::iter::once(reference(API_VERSION, KIND, &self.name, &self.uid)).chain(maker).collect()
    }

    /// The owner reference that everything of the set carries.
    pub fn owner_reference(&self) -> Value {
        json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// What pods of an instance are built from.
#[derive(Debug, Clone, Copy)]
pub struct Blueprint<'a> {
    /// The set.
    pub set: &'a SetRef,
    /// The spec, for what is not part of a revision: gangs and placement.
    pub spec: &'a Spec,
    /// The stored content of the role's revision.
    pub content: &'a Content,
}

/// The name of a pod.
pub fn pod_name(set: &SetRef, content: &Content, create: &Create, slot: &PodSlot) -> String {
    let given = content.identity_of(slot.member.as_str()).pod_name;
    let template = given.as_deref().unwrap_or_else(|| default_pod_name(content.size()));
    expand(template, &values(set, content, create, slot, "", ""))
}

/// The name of the instance's first pod.
fn leader_name(set: &SetRef, content: &Content, create: &Create) -> String {
    let Some(first) = content.members.first() else { return String::new() };
    pod_name(set, content, create, &PodSlot { member: first.name.as_str().into(), index: 0 })
}

fn values<'a>(
    set: &'a SetRef,
    content: &Content,
    create: &'a Create,
    slot: &'a PodSlot,
    leader: &'a str,
    gang: &'a str,
) -> Values<'a> {
    Values {
        set: &set.name,
        group: create.of.group,
        role: create.of.role.as_str(),
        instance: create.of.instance,
        member: slot.member.as_str(),
        pod: slot.index,
        revision: create.revision.as_str(),
        set_revision: create.set_revision.as_str(),
        leader,
        size: content.size(),
        index: content.index(slot.member.as_str(), slot.index),
        namespace: &set.namespace,
        uid: set.origin(),
        gang,
    }
}

impl Blueprint<'_> {
    /// One pod; nothing if the revision has no such member.
    pub fn pod(&self, create: &Create, slot: &PodSlot) -> Option<Value> {
        let member = self.content.members.iter().find(|member| member.name == slot.member.as_str())?;
        let leader = leader_name(self.set, self.content, create);
        let gang = self.gang_of_place(create);
        let values = values(self.set, self.content, create, slot, &leader, &gang);
        let name = pod_name(self.set, self.content, create, slot);
        let identity = &self.content.identity_of(slot.member.as_str());
        let mut spec = member.template.get("spec").cloned().unwrap_or_else(|| json!({}));
        self.name_host(&mut spec, identity, &name, &values);
        add_environment(&mut spec, &expanded(&identity.env, &values));
        for (claim, template) in &identity.resource_claims {
            let named = json!({"name": claim, "resourceClaimName": expand(template, &values)});
            push(&mut spec, "resourceClaims", named);
        }
        if create.gated {
            push(&mut spec, "schedulingGates", json!({"name": label::GATE}));
        }
        let joined = |field: &str, ours: &BTreeMap<String, String>| {
            let (theirs, ours) = (strings(member.template.pointer(field)), expanded(ours, &values));
            let (weak, strong) = if identity.template_wins { (ours, theirs) } else { (theirs, ours) };
            weak.into_iter().chain(strong).collect::<BTreeMap<String, String>>()
        };
        let mut labels = joined("/metadata/labels", &identity.labels);
        labels.extend(self.own_labels(create, slot));
        let mut annotations = joined("/metadata/annotations", &identity.annotations);
        for batch in &create.batches {
            self.place(&mut spec, &mut labels, create, batch);
        }
        self.join_gang(&mut spec, &mut labels, &mut annotations, create);
        let mut metadata = json!({
            "name": name,
            "namespace": self.set.namespace,
            "labels": labels,
            "ownerReferences": [self.set.owner_reference()],
        });
        if !annotations.is_empty() {
            metadata["annotations"] = json!(annotations);
        }
        Some(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
    }

    /// The gang an instance is in by its place, whether anybody schedules gangs or not.
    fn gang_of_place(&self, create: &Create) -> String {
        let base = format!("{}-{}", self.set.name, create.of.group);
        let role = self.spec.roles.iter().find(|role| role.name == create.of.role);
        let minimum = role.map_or(u32::MAX, Role::needed);
        match create.of.instance.checked_sub(minimum) {
            Some(beyond) if self.content.size() > 1 => format!("{base}-{}-{beyond}", create.of.role),
            _ => base,
        }
    }

    fn own_labels(&self, create: &Create, slot: &PodSlot) -> [(String, String); 9] {
        [
            (label::SET, self.set.name.clone()),
            (label::GROUP, create.of.group.to_string()),
            (label::ROLE, create.of.role.to_string()),
            (label::INSTANCE, create.of.instance.to_string()),
            (label::MEMBER, slot.member.to_string()),
            (label::POD, slot.index.to_string()),
            (label::REVISION, create.revision.to_string()),
            (label::SET_REVISION, create.set_revision.to_string()),
            (label::INCARNATION, create.incarnation.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
    }

    /// Stable names: what identity templates say, else what the pod template says, else the pod's own name under
    /// the set's headless service.
    fn name_host(&self, spec: &mut Value, identity: &Identity, name: &str, values: &Values<'_>) {
        let names = [
            ("hostname", identity.hostname.as_deref(), name),
            ("subdomain", identity.subdomain.as_deref(), self.set.name.as_str()),
        ];
        for (field, given, otherwise) in names {
            match given {
                Some("") => {}
                Some(template) => spec[field] = json!(expand(template, values)),
                None if spec.get(field).is_none_or(Value::is_null) => spec[field] = json!(otherwise),
                None => {}
            }
        }
    }

    /// Puts a pod beside the others of its batch: required, or beyond the last full batch preferred. Batches that
    /// find their places at the same time keep apart where they can: a scheduler takes pods one by one, and two
    /// batches that begin on a node with room for one would both wait for ever.
    fn place(
        &self,
        spec: &mut Value,
        labels: &mut BTreeMap<String, String>,
        create: &Create,
        batch: &BatchRef,
    ) {
        let key = format!("{}{}", label::BATCH_PREFIX, batch.rule);
        let value = format!("{}-{}-{}", self.set.name, create.of.group, batch.batch);
        labels.insert(format!("{}{}", label::COORDINATION_PREFIX, batch.rule), "member".to_owned());
        labels.insert(key.clone(), value.clone());
        let topology = self.spec.rules.iter().find_map(|rule| match &rule.kind {
            RuleKind::AffinityScheduling(affinity) if rule.name == batch.rule => Some(&affinity.topology_key),
            _ => None,
        });
        let Some(topology) = topology else { return };
        let beside = json!({"labelSelector": {"matchLabels": {&key: &value}}, "topologyKey": topology});
        let preferred = |term: Value| json!({"weight": 100, "podAffinityTerm": term});
        let affinity = object(spec, "affinity");
        if batch.required {
            push(&mut affinity["podAffinity"], "requiredDuringSchedulingIgnoredDuringExecution", beside);
        } else {
            let beside = preferred(beside);
            push(&mut affinity["podAffinity"], "preferredDuringSchedulingIgnoredDuringExecution", beside);
        }
        if batch.apart {
            let others = json!([{"key": key, "operator": "Exists"}, {"key": key, "operator": "NotIn", "values": [value]}]);
            let others =
                preferred(json!({"labelSelector": {"matchExpressions": others}, "topologyKey": topology}));
            push(&mut affinity["podAntiAffinity"], "preferredDuringSchedulingIgnoredDuringExecution", others);
        }
    }

    fn join_gang(
        &self,
        spec: &mut Value,
        labels: &mut BTreeMap<String, String>,
        annotations: &mut BTreeMap<String, String>,
        create: &Create,
    ) {
        let Some(gang) = &create.gang else { return };
        labels.insert(label::GANG.to_owned(), gang.to_string());
        let name = gang_name(&self.set.name, create.of.group, create.incarnation, gang);
        match self.spec.gang.scheduler {
            GangScheduler::None => {}
            GangScheduler::PodGroup => spec["schedulingGroup"] = json!({"podGroupName": name}),
            GangScheduler::PodGang => {
                labels.insert("grove.io/podgang".to_owned(), name);
            }
            GangScheduler::Volcano => {
                annotations.insert("scheduling.k8s.io/group-name".to_owned(), name);
                if spec.get("schedulerName").is_none_or(Value::is_null) {
                    spec["schedulerName"] = json!("volcano");
                }
            }
        }
    }
}

fn expanded(templates: &BTreeMap<String, String>, values: &Values<'_>) -> BTreeMap<String, String> {
    templates.iter().map(|(key, template)| (key.clone(), expand(template, values))).collect()
}

/// Puts variables into every container that does not set them itself. They come first, so that the container's own
/// may refer to them.
fn add_environment(spec: &mut Value, env: &BTreeMap<String, String>) {
    if env.is_empty() {
        return;
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let own = container.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
            let set = |name: &str| own.iter().any(|variable| variable["name"] == name);
            let added = env.iter().filter(|(name, _)| !set(name));
            let mut all: Vec<Value> =
                added.map(|(name, value)| json!({"name": name, "value": value})).collect();
            all.extend(own.iter().cloned());
            container["env"] = Value::Array(all);
        }
    }
}

fn strings(value: Option<&Value>) -> BTreeMap<String, String> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The object in a field, made if it is not there.
fn object<'a>(parent: &'a mut Value, field: &str) -> &'a mut Value {
    if !parent[field].is_object() {
        parent[field] = Value::Object(Map::new());
    }
    &mut parent[field]
}

fn push(parent: &mut Value, field: &str, item: Value) {
    if !parent.is_object() {
        *parent = Value::Object(Map::new());
    }
    match parent[field].as_array_mut() {
        Some(items) => items.push(item),
        None => parent[field] = json!([item]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_api::stored::StoredSet;
    use lockstep_core::gang::GangName;
    use lockstep_core::plan::{CreateWhy, InstanceRef};

    const LLAMA: &str = "
apiVersion: lockstep.dev/v1alpha1
kind: LockstepSet
metadata: {name: llama}
spec:
  gang: {scheduler: PodGroup}
  identity: {env: {LEADER: '{leader}.{set}', RANK: '{pod}', SIZE: '{size}'}, labels: {app: '{set}-{role}'}, resourceClaims: {gpus: '{set}-{group}-{instance}-gpus'}}
  coordination:
  - name: near
    affinityScheduling: {topologyKey: zone, ratios: {prefill: 2}}
  roles:
  - name: prefill
    replicas: 4
    members:
    - name: leader
      template: {spec: {containers: [{name: main, image: 'vllm:1', env: [{name: RANK, value: own}]}]}}
    - name: worker
      count: 2
      template:
        metadata: {labels: {a: b, lockstep.dev/set: fake}}
        spec: {hostname: mine, containers: [{name: main, image: 'vllm:1'}]}
";

    fn build(member: &str, index: u32, gated: bool, required: bool) -> Value {
        let parsed = lockstep_api::parse(LLAMA).unwrap();
        let spec = lockstep_api::lower(&parsed.set);
        let stored = StoredSet::of(&parsed.set);
        let content = stored.roles.values().next().unwrap().content().unwrap();
        let set =
            SetRef { namespace: "ml".into(), name: "llama".into(), uid: "u".into(), ..SetRef::default() };
        let create = Create {
            of: InstanceRef { group: 1, role: "prefill".into(), instance: 2 },
            revision: spec.roles[0].revision,
            set_revision: spec.revision(),
            incarnation: 3,
            pods: Vec::new(),
            refill: false,
            gated,
            gang: Some(GangName::Base(0)),
            batches: vec![BatchRef { rule: "near".into(), batch: 1, required, apart: required }],
            why: CreateWhy::Recover,
        };
        let slot = PodSlot { member: member.into(), index };
        Blueprint { set: &set, spec: &spec, content: &content }.pod(&create, &slot).unwrap()
    }

    #[test]
    fn names_labels_and_environment() {
        let pod = build("worker", 1, false, true);
        assert_eq!(pod["metadata"]["name"], "llama-1-prefill-2-worker-1");
        let labels = &pod["metadata"]["labels"];
        // The template cannot make a pod somebody else's.
        assert_eq!(
            (&labels["lockstep.dev/set"], &labels["a"], &labels["app"]),
            (&json!("llama"), &json!("b"), &json!("llama-prefill"))
        );
        assert_eq!(labels["lockstep.dev/incarnation"], "3");
        assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!("mine"), &json!("llama")));
        let env = &pod["spec"]["containers"][0]["env"];
        assert_eq!(env[0], json!({"name": "LEADER", "value": "llama-1-prefill-2-leader-0.llama"}));
        assert_eq!(env[2], json!({"name": "SIZE", "value": "3"}));
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "u");
    }

    #[test]
    fn what_a_container_sets_itself_stays() {
        let pod = build("leader", 0, false, true);
        let env = pod["spec"]["containers"][0]["env"].as_array().unwrap();
        let rank: Vec<_> = env.iter().filter(|variable| variable["name"] == "RANK").collect();
        assert_eq!(rank, [&json!({"name": "RANK", "value": "own"})]);
        assert_eq!(pod["spec"]["hostname"], "llama-1-prefill-2-leader-0");
        let claim = json!([{"name": "gpus", "resourceClaimName": "llama-1-2-gpus"}]);
        assert_eq!(pod["spec"]["resourceClaims"], claim);
    }

    #[test]
    fn gates_gangs_and_batches() {
        let pod = build("worker", 0, true, true);
        assert_eq!(pod["spec"]["schedulingGates"], json!([{"name": "lockstep.dev/hold"}]));
        assert_eq!(pod["spec"]["schedulingGroup"]["podGroupName"], "llama-1-3-base-0");
        let labels = &pod["metadata"]["labels"];
        assert_eq!(labels["coordination.workloads.x-k8s.io/near"], "member");
        assert_eq!(labels["batch.lockstep.dev/near"], "llama-1-1");
        let affinity = &pod["spec"]["affinity"]["podAffinity"];
        let term = &affinity["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(term["topologyKey"], "zone");
        assert_eq!(term["labelSelector"]["matchLabels"]["batch.lockstep.dev/near"], "llama-1-1");
        let apart =
            &pod["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0];
        let others = &apart["podAffinityTerm"]["labelSelector"]["matchExpressions"];
        assert_eq!((&others[0]["operator"], &others[1]["values"]), (&json!("Exists"), &json!(["llama-1-1"])));
        let beyond = build("worker", 0, false, false);
        assert!(beyond["spec"]["affinity"].get("podAntiAffinity").is_none());
        assert_eq!(
            beyond["spec"]["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["weight"],
            100
        );
        assert!(beyond["spec"].get("schedulingGates").is_none());
    }
}
