//! One binding after the other: what its clusters said, what they may do now, and that they are told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use lockstep_api::federation::{
    CompleteTemplate, FederatedRollout, FederatedRolloutSpec, FederatedRolloutStatus, FederationPolicySpec,
    ResourceRef,
};
use lockstep_core::align::{self, TemplateHash, Wish};
use lockstep_federation::interpret::{Interpretation, Kinds};
use lockstep_federation::{binding, outlook, pace, policy};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::book::{Book, Case};
use super::reports::own_templates;
use super::settled::Settler;
use super::{FederationError, Key, MANAGER, namespaced, resource_of, rollouts};
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::report::{Herald, Note, conditions};

/// So many bindings are looked at at the same time.
const AT_ONCE: usize = 16;
/// The pause after something failed.
const PAUSE: Duration = Duration::from_secs(1);
/// The first pause after somebody else was faster: members report all the time, and every report is a write to a Work.
/// Whoever is outdone again and again waits longer: the watch may be far behind.
const BREATH: Duration = Duration::from_millis(50);

/// Aligns bindings.
pub(super) struct Aligner {
    pub client: Client,
    pub book: Arc<Book>,
    pub settler: Settler,
    pub herald: Arc<Herald>,
    pub sure: Arc<dyn Fn() -> bool + Send + Sync>,
    pub clock: Clock,
    pub metrics: Metrics,
    pub kinds: Kinds,
}

impl Aligner {
    /// Aligns whatever has news, for ever; never one binding twice at the same time.
    pub async fn run(self: Arc<Self>) {
        let mut busy: BTreeSet<Key> = BTreeSet::new();
        let mut waiting: BTreeSet<Key> = BTreeSet::new();
        // How often in a row somebody else was faster.
        let mut outdone: BTreeMap<Key, u32> = BTreeMap::new();
        let mut running = JoinSet::new();
        loop {
            while running.len() < AT_ONCE
                && let Some(key) = waiting.iter().find(|key| !busy.contains(*key)).cloned()
            {
                waiting.remove(&key);
                busy.insert(key.clone());
                let aligner = Arc::clone(&self);
                let so_often = outdone.remove(&key).unwrap_or_default();
                running.spawn(async move {
                    let so_often = aligner.attend(&key, so_often).await;
                    (key, so_often)
                });
            }
            tokio::select! {
                biased;
                Some(done) = running.join_next() => match done {
                    Ok((key, so_often)) => {
                        busy.remove(&key);
                        outdone.insert(key, so_often);
                        outdone.retain(|_, so_often| *so_often > 0);
                    }
                    Err(error) => {
                        tracing::error!(%error, "an alignment broke down");
                        busy.clear();
                    }
                },
                dirty = self.book.dirty() => waiting.extend(dirty),
            }
        }
    }

    /// Aligns a binding, and sees to it that it is tried again where that failed. Somebody else was faster so often
    /// before; how often it is now.
    async fn attend(&self, key: &Key, outdone: u32) -> u32 {
        if !(self.sure)() {
            return 0;
        }
        let Err(error) = self.align(key).await else { return 0 };
        let (pause, outdone) = if error.is_conflict() {
            tracing::debug!(%error, ?key, "somebody else was faster");
            (PAUSE.min(BREATH * 2_u32.pow(outdone.min(5))), outdone + 1)
        } else {
            tracing::warn!(%error, namespace = key.namespace, name = key.name, "cannot be aligned");
            if let Some(case) = self.book.case(key) {
                let note =
                    Note { reason: "CannotBeAligned".to_owned(), message: error.to_string(), warning: true };
                self.say(&resource_template(&case.binding), &note).await;
            }
            (PAUSE, 0)
        };
        tokio::time::sleep(pause).await;
        self.book.stir(key);
        outdone
    }

    async fn align(&self, key: &Key) -> Result<(), FederationError> {
        let Some(case) = self.book.case(key) else {
            self.forget(key);
            return Ok(());
        };
        let leaving = !case.binding["metadata"]["deletionTimestamp"].is_null();
        let of = &case.binding["spec"]["resource"];
        let Some(kind) = self.kinds.of(of).filter(|_| !leaving) else { return Ok(()) };
        let Some(template) = self.template(kind, &case.binding).await? else { return Ok(()) };
        let asked = policy::of(&template, kind, &case.policies).filter(|_| kind.rolls(&template));
        let Some(policy) = asked else { return self.release(key, &case, kind, &template).await };
        let rollout = self.rollout(key, &case, kind).await?;
        let status = rollout.status.clone().unwrap_or_default();
        let mut now = status.clone();
        let own = own_templates(&case, kind, &template);
        let wish = self.wish(key, &case, (kind, &template), &policy, &own, &mut now);
        let ledger = status.ledger().map_err(FederationError::unreadable("the ledger"))?;
        let reports = self.reports(key, &case, kind, &wish, own, &ledger).await?;
        let begun = Instant::now();
        let alignment = align::align(&wish, &reports, &ledger);
        self.metrics.aligned(alignment.leases.len(), begun.elapsed());
        let paused = wish.strategy.paused.unwrap_or(false);
        now.put(&alignment, paused, self.clock.time()).map_err(FederationError::unreadable("the ledger"))?;
        let ran = alignment.totals.replicas > 0 && alignment.totals.partition == 0;
        if alignment.complete && ran {
            now.complete = Some(CompleteTemplate {
                template: now.template.clone(),
                generation: now.template_generation,
                content: kind.template(&template),
            });
        }
        now.observed_generation = rollout.metadata.generation.unwrap_or_default();
        now.conditions = self.conditions(&status, &now);
        self.metrics.federated_rollout(&key.namespace, &key.name, &now);
        if says_more(&status, &now) {
            self.store(key, rollout, &now).await?;
            self.tell(&case.binding, &status, &now).await;
        }
        self.stamp(&case, kind, &alignment.ledger).await
    }

    /// What is asked for now: by the template, the binding and the policy. A turn that comes with time alone is looked
    /// at then.
    fn wish(
        &self,
        key: &Key,
        case: &Case,
        (kind, template): (&Interpretation, &Value),
        policy: &FederationPolicySpec,
        own: &BTreeMap<String, TemplateHash>,
        status: &mut FederatedRolloutStatus,
    ) -> Wish {
        let mut wish = binding::wish(kind, template, &case.binding, policy.split.into());
        status.template_generation = template["metadata"]["generation"].as_i64().unwrap_or_default();
        status.begin(&wish.template, own);
        pace::order(policy, &mut wish.clusters);
        let now = self.clock.time();
        let pace = pace::pace(policy, &wish.clusters, &status.members, now);
        wish.held = pace.held;
        if let Some(wake) = pace.wake {
            let (book, key) = (Arc::clone(&self.book), key.clone());
            let wait = Duration::from_millis(wake.0.saturating_sub(now.0));
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                book.stir(&key);
            });
        }
        wish
    }

    pub(super) fn forget(&self, key: &Key) {
        self.settler.forget_where(key, |_| true);
        self.metrics.forget_federated_rollout(&key.namespace, &key.name);
    }

    fn conditions(&self, before: &FederatedRolloutStatus, now: &FederatedRolloutStatus) -> Vec<Condition> {
        let (generation, time) = (now.observed_generation, self.clock.time());
        let told = outlook::claims(now).into_iter();
        told.map(|it| {
            let claim = (it.kind, it.holds, it.reason, it.message);
            conditions::condition(claim, &before.conditions, generation, time)
        })
        .collect()
    }

    async fn template(
        &self,
        kind: &Interpretation,
        binding: &Value,
    ) -> Result<Option<Value>, FederationError> {
        let Some((_, _, namespace, name)) = binding::resource(binding) else { return Ok(None) };
        let found = namespaced(&self.client, namespace, &resource_of(kind)).get_opt(name).await;
        let found =
            found.map_err(FederationError::refused(format!("read {} {namespace}/{name}", kind.kind)))?;
        found
            .map(serde_json::to_value)
            .transpose()
            .map_err(FederationError::unreadable("a resource template"))
    }

    pub(super) fn rollouts(&self, namespace: &str) -> Api<DynamicObject> {
        namespaced(&self.client, namespace, &rollouts())
    }

    /// The rollout of a binding, made if there is none. It goes with the binding.
    async fn rollout(
        &self,
        key: &Key,
        case: &Case,
        kind: &Interpretation,
    ) -> Result<FederatedRollout, FederationError> {
        if let Some(rollout) = &case.rollout {
            return Ok(rollout.clone());
        }
        let binding = &case.binding;
        let resource = ResourceRef {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
            name: binding::resource(binding).map(|(_, _, _, name)| name.to_owned()).unwrap_or_default(),
        };
        let object = json!({
            "apiVersion": "lockstep.dev/v1alpha1", "kind": "FederatedRollout",
            "metadata": {
                "name": key.name, "namespace": key.namespace,
                "ownerReferences": [{
                    "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
                    "name": key.name, "uid": binding["metadata"]["uid"], "controller": true,
                }],
            },
            "spec": FederatedRolloutSpec { resource },
        });
        let object = serde_json::from_value(object).map_err(FederationError::unreadable("a rollout"))?;
        let made = self.rollouts(&key.namespace).create(&PostParams::default(), &object).await;
        let made = read(made.map_err(FederationError::refused("make a FederatedRollout"))?)?;
        // Whoever tries again must not make it again before the watch shows it.
        self.book.put_rollout(key.clone(), Some(&made));
        Ok(made)
    }

    /// Stores the ledger, if it is still the one that was read.
    async fn store(
        &self,
        key: &Key,
        rollout: FederatedRollout,
        status: &FederatedRolloutStatus,
    ) -> Result<(), FederationError> {
        if !(self.sure)() {
            return Ok(());
        }
        let rollout = FederatedRollout { status: Some(status.clone()), ..rollout };
        let object = serde_json::to_value(&rollout).and_then(serde_json::from_value::<DynamicObject>);
        let object = object.map_err(FederationError::unreadable("a rollout"))?;
        let how = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let stored = self.rollouts(&key.namespace).replace_status(&key.name, &how, &object).await;
        let stored = stored.map_err(FederationError::refused("store the ledger"))?;
        self.book.put_rollout(key.clone(), Some(&read(stored)?));
        Ok(())
    }

    /// Says on the resource template what changed.
    async fn tell(&self, binding: &Value, before: &FederatedRolloutStatus, now: &FederatedRolloutStatus) {
        let mut notes: Vec<Note> = outlook::news(before, now)
            .map(|news| {
                let message = outlook::sentence(news);
                Note { reason: "FederatedRolloutWaiting".to_owned(), message, warning: false }
            })
            .collect();
        if now.phase != before.phase && now.phase == "Complete" {
            let message = format!("all of {} have arrived", now.clusters);
            notes.push(Note { reason: "FederatedRolloutComplete".to_owned(), message, warning: false });
        }
        if notes.is_empty() {
            return;
        }
        let about = resource_template(binding);
        for note in &notes {
            self.say(&about, note).await;
        }
    }

    async fn say(&self, about: &ObjectReference, note: &Note) {
        if let Err(error) = self.herald.tell(about, note).await {
            tracing::debug!(%error, "an event cannot be sent");
        }
    }
}

/// Whom events are about: the binding names it.
fn resource_template(binding: &Value) -> ObjectReference {
    let text = |name: &str| binding["spec"]["resource"][name].as_str().map(str::to_owned);
    ObjectReference {
        api_version: text("apiVersion"),
        kind: text("kind"),
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        ..ObjectReference::default()
    }
}

/// Whether a status says more than the one that is stored. That a member was heard from again is not worth a write:
/// whatever is granted on the strength of what it said is stored together with that.
fn says_more(stored: &FederatedRolloutStatus, now: &FederatedRolloutStatus) -> bool {
    let without_counts = |status: &FederatedRolloutStatus| {
        let mut status = status.clone();
        let members = status.ledger["members"].as_object_mut();
        for entry in members.into_iter().flat_map(|members| members.values_mut()) {
            entry["seen"] = Value::Bool(entry["seen"].is_object());
        }
        status
    };
    without_counts(stored) != without_counts(now)
}

fn read(object: DynamicObject) -> Result<FederatedRollout, FederationError> {
    let object = serde_json::to_value(object).and_then(serde_json::from_value);
    object.map_err(FederationError::unreadable("a FederatedRollout"))
}
