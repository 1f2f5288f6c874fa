//! Doing it: each write with the precondition that makes it safe to be late, and safe to be done again.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{
    Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};
use lockstep_api::stored::StoredSet;
use lockstep_api::{API_VERSION, KIND, label};
use lockstep_dialects::definition;
use lockstep_operator::act::SetRef;
use lockstep_operator::adopt::{Adoption, Estate, Fate, judge, patch};
use lockstep_operator::dialects::Dialects;
use lockstep_operator::observe::revision_name;
use lockstep_operator::set::resource;
use serde_json::{Value, json};

use super::moves::{Move, Moves, Stage, owners, set_ref};
use super::site::{Reader, Site, name, namespace, uid};
use crate::commands::live::home::FIELD_MANAGER;
use crate::input::objects::{api, is_missing, plainly};
use crate::install::{Installation, title};
use crate::screen::Screen;
use crate::show::words;

/// How long the garbage collector may take to let go of what an object owned.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often pods may change under our hands.
const ROUNDS: usize = 10;

/// Carries out what was planned.
pub struct Mover<'a> {
    /// The way to the API server.
    pub client: Client,
    /// What there was.
    pub site: &'a Site,
    /// Where the operator is.
    pub home: &'a str,
}

impl Mover<'_> {
    /// Everything, in an order in which nothing that runs is ever without somebody who would bring it back, nor with
    /// two of them.
    pub async fn carry_out(&self, moves: &Moves, screen: &mut Screen<'_>) -> Result<()> {
        let due: Vec<&Move> = moves.all.iter().filter(|it| it.stage != Stage::Done).collect();
        let mut sets = Vec::new();
        for it in &due {
            sets.push(self.hold(it).await?);
            say(screen, &format!("lockstepset/{} is held: nothing moves", it.title()))?;
        }
        for it in &due {
            self.keep(it).await?;
            self.let_go(it, screen).await?;
        }
        self.define(screen).await?;
        for (it, set) in due.iter().zip(&sets) {
            let adoption = self.adopt(it, set, screen).await?;
            self.without_finalizers(&it.object).await?;
            self.mark(&it.object, label::ADOPTED).await?;
            let count = |fate| adoption.pods.iter().filter(|pod| pod.fate == fate).count() as u64;
            let (stays, rolls) =
                (words::count(count(Fate::Stays), "pod"), count(Fate::Rolls) + count(Fate::Goes));
            say(
                screen,
                &format!("lockstepset/{} goes: {stays} as before, {rolls} to be replaced", it.title()),
            )?;
        }
        if due.is_empty() {
            return say(screen, "Nothing is left to do.");
        }
        say(screen, "Done. `lockstep status NAME -n NAMESPACE` follows what is still to be replaced.")
    }

    fn sets(&self, object: &Value) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace(object), &resource())
    }

    /// Makes the set, held from its very beginning.
    async fn hold(&self, it: &Move) -> Result<SetRef> {
        if it.set.is_none() {
            // Under the name of who looks after it later, so that what is dropped from it then does not stay.
            let mut wanted = it.wanted.clone();
            wanted["metadata"]["annotations"][label::MIGRATION] = json!(label::HELD);
            let how = PatchParams::apply(label::DIALECT_MANAGER).force();
            let made = self.sets(&it.object).patch(name(&it.object), &how, &Patch::Apply(&wanted)).await;
            made.map_err(plainly).with_context(|| format!("cannot make lockstepset/{}", it.title()))?;
        }
        let set = self.mark(&it.object, label::HELD).await?;
        Ok(set_ref(&it.object, &set.uid().unwrap_or_default()))
    }

    /// Writes on a set how far it has come. That it is ours to say stays, whoever applies the set.
    async fn mark(&self, object: &Value, word: &str) -> Result<DynamicObject> {
        let name = name(object);
        let body = json!({
            "apiVersion": API_VERSION, "kind": KIND,
            "metadata": {"name": name, "annotations": {label::MIGRATION: word}},
        });
        let how = PatchParams::apply(FIELD_MANAGER).force();
        let marked = self.sets(object).patch(name, &how, &Patch::Apply(&body)).await;
        marked.map_err(plainly).with_context(|| format!("cannot mark lockstepset/{name} as {word}"))
    }

    /// What has a name that we need becomes the object's own, if it was nobody's.
    async fn keep(&self, it: &Move) -> Result<()> {
        for kept in &it.kept {
            self.without_finalizers(kept).await?;
            if owners(kept).any(|owner| owner["controller"] == true) {
                continue;
            }
            let object = &it.object;
            let ours = json!({
                "apiVersion": object["apiVersion"], "kind": object["kind"], "name": name(object), "uid": uid(object),
                "controller": true, "blockOwnerDeletion": true,
            });
            let others = owners(kept).filter(|owner| owner["uid"] != uid(object)).cloned();
            let all: Vec<Value> = others.chain([ours]).collect();
            self.change(kept, &json!({"ownerReferences": all})).await?;
        }
        Ok(())
    }

    /// Removes what stands between the object and its pods, the owners first, and leaves the pods where they are.
    /// An owner whose end has begun makes nothing any more; it is kept until nobody refers to it, because what refers to
    /// one that is gone is garbage to the collector.
    async fn let_go(&self, it: &Move, screen: &mut Screen<'_>) -> Result<()> {
        for between in &it.between {
            let what = title(between);
            let (api, name) = self.api(between)?;
            self.sign(it, between).await?;
            if !self.begin_end(between, uid(&it.object)).await? {
                continue;
            }
            self.cut(it, between).await?;
            self.finalizers(between, |finalizer| finalizer == label::LEFT_BY).await?;
            let gone = await_condition(api, &name, conditions::is_deleted(uid(between)));
            let gone = tokio::time::timeout(PATIENCE, gone).await;
            let gone =
                gone.with_context(|| format!("{what} does not go; who holds it? Run this again then"))?;
            gone.with_context(|| format!("cannot see whether {what} is gone"))?;
            say(screen, &format!("{what} is gone; its pods are left"))?;
        }
        Ok(())
    }

    /// Says whose everything is that an owner owns, while it is there to be asked: once its end has begun, the collector
    /// may cut faster than we do, and whoever goes on after us would not know.
    async fn sign(&self, it: &Move, between: &Value) -> Result<()> {
        let mut below = Reader(&self.client).pods(namespace(&it.object)).await?;
        below.extend(it.between.iter().cloned());
        let object = uid(&it.object);
        for owned in below.iter().filter(|owned| owners(owned).any(|it| it["uid"] == uid(between))) {
            if owned["metadata"]["annotations"][label::LEFT_BY] != object {
                self.change(owned, &json!({"annotations": {label::LEFT_BY: object}})).await?;
            }
        }
        Ok(())
    }

    /// Begins the end of an owner, which it outlives as long as we wish. Returns whether it is there.
    async fn begin_end(&self, between: &Value, object: &str) -> Result<bool> {
        let doing = || format!("cannot delete {}", title(between));
        let (api, name) = self.api(between)?;
        let found = api.get_opt(&name).await.map_err(plainly).with_context(doing)?;
        let Some(found) = found.filter(|found| found.uid().as_deref() == Some(uid(between))) else {
            return Ok(false);
        };
        if found.metadata.deletion_timestamp.is_some() {
            return Ok(true);
        }
        let mut finalizers: Vec<String> =
            found.finalizers().iter().filter(|finalizer| !self.is_original(finalizer)).cloned().collect();
        if !finalizers.iter().any(|finalizer| finalizer == label::LEFT_BY) {
            finalizers.push(label::LEFT_BY.to_owned());
        }
        let metadata = json!({"finalizers": finalizers, "annotations": {label::LEFT_BY: object}});
        if !self.change(between, &metadata).await? {
            return Ok(false);
        }
        let how = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Orphan),
            preconditions: Some(Preconditions { uid: Some(uid(between).to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        match api.delete(&name, &how).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(plainly(error)).with_context(doing),
        }
    }

    /// Cuts what an owner owns off it. What we know nothing of is the collector's to cut.
    async fn cut(&self, it: &Move, between: &Value) -> Result<()> {
        let owner = uid(between);
        // What was read long ago is cut whatever became of it since.
        let mut others = it.between.clone();
        for other in &mut others {
            other["metadata"]["resourceVersion"] = Value::Null;
        }
        for _ in 0..ROUNDS {
            let mut below = Reader(&self.client).pods(namespace(&it.object)).await?;
            below.append(&mut others);
            let mut settled = true;
            for object in below.iter().filter(|object| owners(object).any(|it| it["uid"] == owner)) {
                settled = false;
                let left: Vec<&Value> = owners(object).filter(|it| it["uid"] != owner).collect();
                let mut mine =
                    json!({"ownerReferences": left, "annotations": {label::LEFT_BY: uid(&it.object)}});
                if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
                    mine["resourceVersion"] = json!(version);
                }
                self.change(object, &mine).await?;
            }
            if settled {
                return Ok(());
            }
        }
        bail!("{} keeps getting new pods; who runs it? Run this again then", title(between))
    }

    fn api(&self, object: &Value) -> Result<(Api<DynamicObject>, String)> {
        api(&self.client, object)
    }

    /// Takes the finalizers of the original off an object: nobody else would, and it could never go.
    async fn without_finalizers(&self, object: &Value) -> Result<()> {
        self.finalizers(object, |finalizer| self.is_original(finalizer)).await
    }

    fn is_original(&self, finalizer: &str) -> bool {
        let domain = self.site.dialect.original().domain;
        let owner = finalizer.split('/').next().unwrap_or_default();
        !domain.is_empty() && (owner == domain || owner.ends_with(&format!(".{domain}")))
    }

    /// Takes some finalizers off an object.
    async fn finalizers(&self, object: &Value, off: impl Fn(&str) -> bool) -> Result<()> {
        let doing = || format!("cannot take finalizers off {}", title(object));
        let (api, name) = self.api(object)?;
        for _ in 0..ROUNDS {
            let found = api.get_opt(&name).await.map_err(plainly).with_context(doing)?;
            let Some(found) = found.filter(|it| it.finalizers().iter().any(|finalizer| off(finalizer)))
            else {
                return Ok(());
            };
            let left: Vec<&String> = found.finalizers().iter().filter(|it| !off(it)).collect();
            let version = found.resource_version();
            let patch =
                json!({"metadata": {"finalizers": left, "resourceVersion": version, "uid": uid(object)}});
            match api.patch(&name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(patch)).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => return Err(plainly(error)).with_context(doing),
            }
        }
        bail!("{} is being changed by somebody else; run this again", title(object))
    }

    /// Changes the metadata of an object. Returns whether it is the one that was meant, in the state that was meant.
    async fn change(&self, object: &Value, metadata: &Value) -> Result<bool> {
        let (api, name) = self.api(object)?;
        let mut metadata = metadata.clone();
        metadata["uid"] = json!(uid(object));
        let patch = Patch::Merge(json!({"metadata": metadata}));
        match api.patch(&name, &PatchParams::apply(FIELD_MANAGER), &patch).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(plainly(error)).with_context(|| format!("cannot change {}", title(object))),
        }
    }

    /// Takes over the definitions of the kinds: from then on our operator looks after their objects.
    async fn define(&self, screen: &mut Screen<'_>) -> Result<()> {
        let dialects = Dialects(vec![self.site.dialect]);
        let (namespace, image) = (self.home.to_owned(), String::new());
        let installation = Installation { namespace, image, replicas: 0, dialects, budgets: false };
        let (key, us) = definition::MADE_BY;
        for wanted in installation.all_definitions() {
            let ours = wanted["metadata"]["labels"][key] == us;
            if !ours || self.site.definitions.get(name(&wanted)) == Some(&true) {
                continue;
            }
            self.take_definition(&wanted).await?;
            say(screen, &format!("{} is Lockstep's", title(&wanted)))?;
        }
        Ok(())
    }

    async fn take_definition(&self, wanted: &Value) -> Result<()> {
        let (api, name) = self.api(wanted)?;
        let doing = || format!("cannot take over definition {name}");
        for _ in 0..ROUNDS {
            let found = api.get_opt(&name).await.map_err(plainly).with_context(doing)?;
            let Some(mut found) = found else {
                let new = serde_json::from_value(wanted.clone()).with_context(doing)?;
                api.create(&PostParams::default(), &new).await.map_err(plainly).with_context(doing)?;
                return Ok(());
            };
            // The whole of its spec: a conversion by somebody who is gone must not stay.
            found.data["spec"] = wanted["spec"].clone();
            let labels = wanted["metadata"]["labels"].as_object().into_iter().flatten();
            let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
            found.metadata.labels.get_or_insert_default().extend(labels);
            match api.replace(&name, &PostParams::default(), &found).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(plainly(error)).with_context(doing),
            }
        }
        bail!("definition {name} is being changed by somebody else; run this again")
    }

    /// Makes all pods the set's own. Each is judged as it stands, and written on only as it was judged.
    async fn adopt(&self, it: &Move, set: &SetRef, screen: &mut Screen<'_>) -> Result<Adoption> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &set.namespace);
        let others = Site::near(&self.site.between, &it.object);
        let former = it.former_owners();
        for _ in 0..ROUNDS {
            let standing = Reader(&self.client).pods(&set.namespace).await?;
            let estate = Estate::of(&it.object, &it.lowered.set, &set.uid, &others, &standing);
            let volumes = self.site.dialect.original().volumes;
            let adoption = judge(set, &it.lowered.set, volumes, &estate.pods);
            for (number, stored) in adoption.former.iter().enumerate() {
                self.store(set, stored, number).await?;
            }
            let mut settled = true;
            for judged in &adoption.pods {
                let Some(pod) = estate.pods.iter().find(|pod| uid(pod) == judged.uid) else { continue };
                let Some(patch) = patch(judged, pod, set, &former) else { continue };
                settled = false;
                let how = PatchParams::apply(FIELD_MANAGER);
                match pods.patch(&judged.name, &how, &Patch::Merge(patch)).await {
                    Ok(_) => say(screen, &format!("pod/{} is {}'s", judged.name, it.title()))?,
                    // Another state, or gone: it is judged again.
                    Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                    Err(error) => {
                        return Err(plainly(error))
                            .with_context(|| format!("cannot take over pod {}", judged.name));
                    }
                }
            }
            if settled {
                return Ok(adoption);
            }
        }
        bail!("the pods of {} keep changing; run this again", it.title())
    }

    /// Stores what older pods were made from.
    async fn store(&self, set: &SetRef, stored: &StoredSet, number: usize) -> Result<()> {
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &set.namespace);
        let name = revision_name(&set.name, stored.revision());
        let object = json!({
            "metadata": {
                "name": name,
                "labels": {label::SET: set.name, label::SET_REVISION: stored.revision().as_str()},
                "ownerReferences": [set.owner_reference()],
            },
            "revision": number + 1,
            "data": stored,
        });
        let doing = || format!("cannot store revision {name}");
        let object = serde_json::from_value(object).with_context(doing)?;
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
            Err(error) => Err(plainly(error)).with_context(doing),
        }
    }
}

/// Whoever reads along sees every step when it is done.
fn say(screen: &mut Screen<'_>, line: &str) -> Result<()> {
    writeln!(screen.out, "{line}")?;
    Ok(screen.out.flush()?)
}
