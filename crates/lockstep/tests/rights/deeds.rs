//! Everything an operator does, each with what a user would do to make it do so.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, EvictParams, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt};
use lockstep_api::budget::PodUnavailableBudget;
use lockstep_api::role_scale::RoleScale;
use lockstep_api::yaml_to_json;
use lockstep_operator::set::resource;
use serde_json::{Value, json};

use crate::cluster::{gang, role, set};
use crate::installed::replica::SOON;
use crate::installed::{HOME, Installed, USER, until};

const CONFLICT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/conflict.yaml");

/// Waits until the API server asks the operator, trusts it, and hears its refusal.
pub async fn conflicts_are_refused(installed: &Installed) {
    until("a set that cannot finish is refused", async || {
        let tried = installed.kubectl(&["apply", "-f", CONFLICT]).await;
        assert!(!tried.status.success(), "it must never be let in");
        let said = String::from_utf8_lossy(&tried.stderr).into_owned();
        said.contains("spec.coordination[1] prefill-first (steps) and spec.coordination[0] together (skew) block each other")
    })
    .await;
}

/// Somebody spoils the Secret: new certificates are made, written and trusted.
pub async fn certificates_are_mended(installed: &Installed) {
    let secrets: Api<Secret> = Api::namespaced(installed.cluster.client(), HOME);
    let name = "lockstep-webhook-cert";
    let spoiled = json!({"data": {"tls.crt": "c3BvaWxlZA=="}});
    let spoiled = secrets.patch(name, &PatchParams::default(), &Patch::Merge(&spoiled)).await;
    let spoiled = spoiled.expect("spoiled").metadata.resource_version;
    let mended =
        |secret: Option<&Secret>| secret.is_some_and(|secret| secret.metadata.resource_version != spoiled);
    soon("another certificate", await_condition(secrets, name, mended)).await;
    conflicts_are_refused(installed).await;
}

async fn soon<T, E: std::fmt::Debug>(what: &str, future: impl Future<Output = Result<T, E>>) -> T {
    let done = tokio::time::timeout(SOON, future).await;
    done.unwrap_or_else(|_| panic!("in vain: {what}")).expect("a watch")
}

/// A namespace with one set, `llama`.
pub struct Scene<'a> {
    installed: &'a Installed,
    namespace: String,
}

impl<'a> Scene<'a> {
    pub async fn new(installed: &'a Installed, name: &str) -> Self {
        let namespace = installed.cluster.new_namespace(name).await.expect("a namespace");
        Self { installed, namespace }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.installed.cluster.client(), &self.namespace)
    }

    pub fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.installed.cluster.client(), &self.namespace, &resource())
    }

    fn scales(&self) -> Api<RoleScale> {
        Api::namespaced(self.installed.cluster.client(), &self.namespace)
    }

    /// Applies a manifest, as the webhook lets it.
    pub async fn apply(&self, manifest: &str) {
        let manifest = yaml_to_json(manifest).expect("YAML");
        let params = PatchParams::apply("user").force();
        self.sets().patch("llama", &params, &Patch::Apply(&manifest)).await.expect("applied");
    }

    /// Waits until the status of the last spec is like this.
    pub async fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) {
        let known = |set: Option<&DynamicObject>| {
            set.is_some_and(|set| {
                let status = &set.data["status"];
                status["observedGeneration"].as_i64() >= set.metadata.generation && holds(status)
            })
        };
        let waiting = tokio::time::timeout(SOON, await_condition(self.sets(), "llama", known)).await;
        if waiting.is_err() {
            let set = self.sets().get("llama").await.expect("the set");
            panic!("in vain: {what}; it is {:#}", set.data["status"]);
        }
    }

    pub async fn until_phase(&self, phase: &str) {
        self.until(phase, |status| status["rollout"]["phase"] == phase).await;
    }

    /// Waits until the status names something that blocks.
    pub async fn until_blocked(&self, reason: &str, words: &str) {
        let said = |block: &Value| {
            block["reason"] == reason && block["message"].as_str().is_some_and(|it| it.contains(words))
        };
        self.until(words, |status| {
            status["rollout"]["blocked"].as_array().is_some_and(|blocked| blocked.iter().any(said))
        })
        .await;
    }

    /// A small set, applied.
    pub async fn starts(&self, image: &str) {
        self.apply(&set("", &[role("web", 2, image, "")])).await;
        self.until_phase("Complete").await;
    }

    /// Created with steps, surge and gangs, rolled, rolled back by hand, scaled, less of it, and rolled back by itself.
    pub async fn a_life_of_changes(&self) {
        let spec = "replicas: 2\ngang: {scheduler: PodGroup}\nrevisionHistoryLimit: 1\nonFailure: Rollback\n\
                    progressDeadlineSeconds: 12\n\
                    coordination:\n- name: canary\n  steps: [{role: decode, updateTo: 1}, {role: prefill, updateTo: 100%}]";
        let decode =
            |image: &str| role("decode", 2, image, "updateStrategy: {maxUnavailable: 0, maxSurge: 1}");
        let prefill = |image: &str| gang("prefill", 3, 1, image, "minAvailable: 1");
        let cache = |image: &str| role("cache", 1, image, "");
        let all = |image: &str| set(spec, &[decode(image), prefill(image), cache(image)]);
        let less = |image: &str| set(spec, &[decode(image), prefill(image)]);
        for image in ["1", "2", "3", "2"] {
            self.apply(&all(image)).await;
            self.until_phase("Complete").await;
        }
        self.until_revisions(2).await;

        let scale = ["scale", "rolescales/llama-prefill", "--replicas=2", "-n", &self.namespace];
        let scaled = self.installed.kubectl(&scale).await;
        assert!(scaled.status.success(), "{}", String::from_utf8_lossy(&scaled.stderr));
        self.until("prefill at 2 in each of 2 groups", |status| {
            let roles = status["roles"].as_array();
            roles.is_some_and(|all| all.iter().any(|it| it["name"] == "prefill" && it["replicas"] == 4))
                && status["rollout"]["phase"] == "Complete"
        })
        .await;

        let uid = self.scales().get("llama-cache").await.expect("a scale").uid().expect("a uid");
        self.apply(&less("2")).await;
        soon("no scale", await_condition(self.scales(), "llama-cache", conditions::is_deleted(&uid))).await;
        self.until_phase("Complete").await;

        self.apply(&less("missing")).await;
        self.until_phase("RolledBack").await;
        self.events_tell_the_story().await;
    }

    async fn until_revisions(&self, count: usize) {
        let revisions: Api<ControllerRevision> = self.api();
        until("old revisions are forgotten", async || {
            revisions.list(&ListParams::default()).await.expect("a list").items.len() == count
        })
        .await;
    }

    async fn events_tell_the_story(&self) {
        let events: Api<Event> = self.api();
        until("events", async || {
            let told = events.list(&ListParams::default()).await.expect("a list").items;
            let reasons: Vec<&str> = told.iter().filter_map(|event| event.reason.as_deref()).collect();
            ["RolloutStarted", "Complete", "Stalled", "RolledBack"].iter().all(|it| reasons.contains(it))
        })
        .await;
        let told = events.list(&ListParams::default()).await.expect("a list").items;
        let started = told.iter().filter(|event| event.reason.as_deref() == Some("RolloutStarted"));
        let notes: BTreeSet<_> = started.filter_map(|event| event.note.as_deref()).collect();
        assert!(notes.len() >= 4, "each rollout is told in its own words: {notes:?}");
    }

    /// Gates hold what must start later, and are lifted.
    pub async fn a_start_in_order(&self) {
        let roles = [role("decode", 1, "1", ""), role("prefill", 2, "1", "startsAfter: [decode]")];
        self.apply(&set("", &roles)).await;
        self.until_phase("Complete").await;
    }

    /// A budget over pods of every kind of owner, one of which is evicted; and then one may not be.
    pub async fn a_budget_over_everybody_s_pods(&self) {
        let template = json!({
            "metadata": {"labels": {"app": "guarded"}},
            "spec": {"containers": [{"name": "main", "image": "x:1"}]},
        });
        let spec = json!({"selector": {"matchLabels": {"app": "guarded"}}, "template": template});
        for kind in ["Deployment", "StatefulSet", "DaemonSet"] {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", kind));
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.installed.cluster.client(), &self.namespace, &resource);
            let owner = json!({"metadata": {"name": kind.to_lowercase()}, "spec": spec});
            let owner = serde_json::from_value(owner).expect("a workload");
            api.create(&PostParams::default(), &owner).await.expect("created");
        }
        let budgets: Api<PodUnavailableBudget> = self.api();
        let budget = json!({
            "apiVersion": "policy.kruise.io/v1alpha1", "kind": "PodUnavailableBudget",
            "metadata": {"name": "all"},
            "spec": {"selector": {"matchLabels": {"app": "guarded"}}, "maxUnavailable": "50%"},
        });
        let budget = serde_json::from_value(budget).expect("a budget");
        budgets.create(&PostParams::default(), &budget).await.expect("created");
        // Of two owners there is one pod each, of the third one on every node.
        let complete = |budget: Option<&PodUnavailableBudget>| {
            let status = budget.and_then(|budget| budget.status.as_ref());
            status.is_some_and(|it| it.total_replicas == 12 && it.current_available == 12)
        };
        soon("twelve pods", await_condition(budgets.clone(), "all", complete)).await;
        let (pods, now) = (self.api::<Pod>(), EvictParams::default());
        pods.evict("statefulset-0", &now).await.expect("evicted");
        let promised = |budget: Option<&PodUnavailableBudget>| {
            budget.and_then(|budget| budget.status.as_ref()).is_some_and(|it| it.disrupted_pods.is_empty())
        };
        soon("a promise that is kept", await_condition(budgets.clone(), "all", promised)).await;
        soon("twelve pods again", await_condition(budgets.clone(), "all", complete)).await;
        let none = json!({"spec": {"maxUnavailable": 0}});
        budgets.patch("all", &PatchParams::default(), &Patch::Merge(&none)).await.expect("patched");
        let refused = pods.evict("statefulset-0", &now).await;
        assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 429));
    }

    /// Somebody has a pod, and then a revision, of a name that is ours. That is said, and mended when it is gone.
    pub async fn names_that_are_taken(&self) {
        let (pods, revisions): (Api<Pod>, Api<ControllerRevision>) = (self.api(), self.api());
        let squatter = json!({
            "metadata": {"name": "llama-0-web-1"},
            "spec": {"containers": [{"name": "main", "image": "theirs"}]},
        });
        let squatter = serde_json::from_value(squatter).expect("a pod");
        pods.create(&PostParams::default(), &squatter).await.expect("created");
        self.apply(&set("", &[role("web", 2, "1", "")])).await;
        self.until_blocked("CreateFailed", "does not belong to this set").await;
        pods.delete("llama-0-web-1", &DeleteParams::default().grace_period(0)).await.expect("deleted");
        self.until_phase("Complete").await;

        let stored = revisions.list(&ListParams::default()).await.expect("a list").items.remove(0);
        let (name, uid) = (stored.name_any(), stored.uid().expect("a uid"));
        self.sets().delete("llama", &DeleteParams::foreground()).await.expect("deleted");
        soon("the end", await_condition(revisions.clone(), &name, conditions::is_deleted(&uid))).await;
        let squatter = json!({"metadata": {"name": name}, "revision": 1, "data": {}});
        let squatter = serde_json::from_value(squatter).expect("a revision");
        revisions.create(&PostParams::default(), &squatter).await.expect("created");
        until("the set is gone", async || self.sets().get_opt("llama").await.expect("an answer").is_none())
            .await;
        self.apply(&set("", &[role("web", 2, "1", "")])).await;
        self.until_blocked("WriteFailed", "does not belong to this set").await;
        revisions.delete(&name, &DeleteParams::default()).await.expect("deleted");
        self.until_phase("Complete").await;
    }

    /// A set that is written to without a pause: a status is refused as outdated, and the set read again.
    pub async fn somebody_else_writes_all_the_time(&self) {
        self.starts("1").await;
        self.apply(&set("", &[role("web", 2, "2", "")])).await;
        let mut n = 0;
        let read_again = || {
            let audit = self.installed.cluster.audit().expect("the audit log");
            audit.entries().iter().any(|entry| {
                let request = &entry.request;
                entry.user == USER
                    && request.target() == "lockstepsets"
                    && request.verb.as_str() == "get"
                    && request.namespace == self.namespace
            })
        };
        let waiting = async {
            while !read_again() {
                for _ in 0..100 {
                    n += 1;
                    let busy = json!({"metadata": {"annotations": {"busy": n.to_string()}}});
                    let (as_is, busy) = (PatchParams::default(), Patch::Merge(&busy));
                    self.sets().patch("llama", &as_is, &busy).await.expect("patched");
                }
                // Something to say.
                let image = format!("{n}");
                self.apply(&set("", &[role("web", 2, &image, "")])).await;
            }
        };
        tokio::time::timeout(SOON, waiting).await.expect("a conflict");
        self.until_phase("Complete").await;
    }

    /// While no operator runs, specs are refused; a status can be written, and a set can go.
    pub async fn without_an_operator(&self) {
        let sets = self.sets();
        let changed = yaml_to_json(&set("", &[role("web", 3, "1", "")])).expect("YAML");
        let params = PatchParams::apply("user").force();
        let refused = sets.patch("llama", &params, &Patch::Apply(&changed)).await.expect_err("refused");
        assert!(refused.to_string().contains("failed calling webhook"), "{refused}");
        let status = json!({"status": {"replicas": 7}});
        let written = sets.patch_status("llama", &PatchParams::default(), &Patch::Merge(&status)).await;
        assert_eq!(written.expect("written").data["status"]["replicas"], 7);
        let uid = sets.get("llama").await.expect("the set").uid().expect("a uid");
        sets.delete("llama", &DeleteParams::foreground()).await.expect("deleted");
        soon("the end", await_condition(sets, "llama", conditions::is_deleted(&uid))).await;
        let pods: Api<Pod> = self.api();
        assert!(pods.list(&ListParams::default()).await.expect("a list").items.is_empty());
    }
}
