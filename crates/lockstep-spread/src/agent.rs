//! One member: Works are applied to it, and what it says of them is put into their status.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use lockstep_federation::customization::retain;
use lockstep_federation::interpret::{self, Interpretation};
use lockstep_federation::work::{Work, reflect};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::mirror::{Failed, Id, Mirror, look_again, unless_gone, whole};
use crate::work::{FINALIZER, space};
use crate::{Lateness, MANAGER, Member, PATIENCE, kinds, resource_of, text};

/// Between the host and one member.
#[derive(Clone)]
pub struct Agent {
    pub host: Client,
    pub member: Member,
    pub lateness: Lateness,
    pub kinds: Vec<&'static Interpretation>,
}

/// What was applied last: the manifest, and the generation it made.
type Applied = (Value, Value);

impl Agent {
    /// Applies Works to the member, for ever.
    pub async fn execute(self) {
        let news = Arc::new(Notify::new());
        let (works, objects) = self.mirrors(&news);
        let mut applied: BTreeMap<Id, Applied> = BTreeMap::new();
        loop {
            news.notified().await;
            let passed = self.execute_all(works.all(), &seen(&objects), &mut applied).await;
            look_again("members", &news, passed).await;
        }
    }

    async fn execute_all(
        &self,
        works: Option<BTreeMap<Id, Value>>,
        objects: &BTreeMap<Id, Value>,
        applied: &mut BTreeMap<Id, Applied>,
    ) -> Result<(), Failed> {
        for (id, work) in works.unwrap_or_default() {
            if Work(&work).is_going() {
                applied.remove(&id);
                self.take_away(&work).await?;
                continue;
            }
            let Some((kind, manifest)) = carried(&work) else { continue };
            let now = objects.get(&named(manifest)).map(|it| &it["metadata"]["generation"]);
            // A member that shows an older state than the one that was applied will show that, too.
            let stands = |(last, generation): &Applied| {
                last == manifest && now.is_some_and(|now| now.as_i64() <= generation.as_i64())
            };
            if !applied.get(&id).is_some_and(stands) {
                let generation = self.apply(kind, manifest).await?;
                applied.insert(id, (manifest.clone(), generation));
            }
        }
        Ok(())
    }

    /// Puts what the member says into the status of Works, for ever.
    pub async fn reflect(self) {
        let news = Arc::new(Notify::new());
        let (works, objects) = self.mirrors(&news);
        loop {
            news.notified().await;
            self.lateness.wait().await;
            let passed = self.reflect_all(works.all(), &seen(&objects)).await;
            look_again("status", &news, passed).await;
        }
    }

    async fn reflect_all(
        &self,
        works: Option<BTreeMap<Id, Value>>,
        objects: &BTreeMap<Id, Value>,
    ) -> Result<(), Failed> {
        for ((_, name), work) in works.unwrap_or_default() {
            let Some((kind, manifest)) = carried(&work).filter(|_| !Work(&work).is_going()) else { continue };
            let Some(object) = objects.get(&named(manifest)) else { continue };
            let said = reflect(kind, object);
            if Work(&work).status() != Some(&said) {
                self.tell(&name, manifest, &said).await?;
            }
        }
        Ok(())
    }

    fn mirrors(&self, news: &Arc<Notify>) -> (Mirror, Vec<Mirror>) {
        let works = Mirror::of(self.works(), &kinds::works(), news);
        let of =
            |kind: ApiResource| Mirror::of(Api::all_with(self.member.client.clone(), &kind), &kind, news);
        (works, self.kinds.iter().map(|kind| resource_of(kind)).map(of).collect())
    }

    fn works(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.host.clone(), &space(&self.member.name), &kinds::works())
    }

    fn objects(&self, kind: &Interpretation, manifest: &Value) -> Api<DynamicObject> {
        let namespace = text(&manifest["metadata"]["namespace"]);
        Api::namespaced_with(self.member.client.clone(), namespace, &resource_of(kind))
    }

    /// Applies a manifest, but never one with an older lease; the generation of what stands then.
    async fn apply(&self, kind: &Interpretation, manifest: &Value) -> Result<Value, Failed> {
        let api = self.objects(kind, manifest);
        let name = text(&manifest["metadata"]["name"]);
        let how = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let written = match in_time(api.get_opt(name)).await? {
            Some(standing) => {
                let standing = whole(standing, &resource_of(kind));
                let mut wanted = retain(kind, manifest, &standing);
                wanted["metadata"]["resourceVersion"] = standing["metadata"]["resourceVersion"].clone();
                let wanted = serde_json::from_value(wanted)?;
                in_time(api.replace(name, &how, &wanted)).await?
            }
            None => {
                self.ensure_namespace(text(&manifest["metadata"]["namespace"])).await?;
                let wanted = serde_json::from_value(manifest.clone())?;
                in_time(api.create(&how, &wanted)).await?
            }
        };
        Ok(json!(written.metadata.generation))
    }

    async fn ensure_namespace(&self, name: &str) -> Result<(), Failed> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let api: Api<DynamicObject> = Api::all_with(self.member.client.clone(), &kinds::namespaces());
        let how = PatchParams::apply(MANAGER).force();
        in_time(api.patch(name, &how, &Patch::Apply(&namespace))).await.map(drop)
    }

    /// Takes away what a Work brought, and then lets go of it.
    async fn take_away(&self, work: &Value) -> Result<(), Failed> {
        if let Some((kind, manifest)) = carried(work) {
            let api = self.objects(kind, manifest);
            let name = text(&manifest["metadata"]["name"]);
            unless_gone(in_time(api.delete(name, &DeleteParams::background())).await.map(drop))?;
        }
        let mut work = work.clone();
        if let Some(finalizers) = work["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|it| it != FINALIZER);
        }
        let released = serde_json::from_value(work.clone())?;
        let released =
            self.works().replace(text(&work["metadata"]["name"]), &PostParams::default(), &released).await;
        unless_gone(released.map(drop).map_err(Failed::from))
    }

    async fn tell(&self, work: &str, manifest: &Value, said: &Value) -> Result<(), Failed> {
        let identifier = json!({
            "ordinal": 0, "kind": manifest["kind"],
            "namespace": manifest["metadata"]["namespace"], "name": manifest["metadata"]["name"],
        });
        let status = json!({"status": {"manifestStatuses": [{"identifier": identifier, "status": said}]}});
        let how = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        Ok(self.works().patch_status(work, &how, &Patch::Merge(&status)).await.map(drop)?)
    }
}

/// All that the member is seen to have.
fn seen(objects: &[Mirror]) -> BTreeMap<Id, Value> {
    objects.iter().filter_map(Mirror::all).flatten().collect()
}

/// What a Work brings, and its kind.
fn carried(work: &Value) -> Option<(&'static Interpretation, &Value)> {
    let manifest = Work(work).manifest()?;
    Some((interpret::of(manifest)?, manifest))
}

fn named(manifest: &Value) -> Id {
    let metadata = &manifest["metadata"];
    (text(&metadata["namespace"]).to_owned(), text(&metadata["name"]).to_owned())
}

async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, Failed> {
    Ok(tokio::time::timeout(PATIENCE, answer).await??)
}
