//! Keeps a Work for every cluster of every binding.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams, Preconditions};
use lockstep_federation::binding::resource;
use lockstep_federation::interpret::{self, Interpretation};
use lockstep_federation::work::{PERMANENT_ID, Work};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::mirror::{Failed, Id, Mirror, look_again, unless_gone, whole};
use crate::work::{made, renewed, shares, space};
use crate::{MANAGER, kinds, overrides, resource_of, text};

/// What a Work was written from: the template and the binding, by their versions, and what is different in its cluster.
type Origin = (Value, Value, Value);

/// Keeps Works for ever. One is written when its template or its binding has changed, whatever became of it since.
pub async fn run(host: Client, spread: Vec<&'static Interpretation>) {
    let news = Arc::new(Notify::new());
    let all = |kind: &ApiResource| Mirror::of_wishes(Api::all_with(host.clone(), kind), kind, &news);
    let templates: Vec<_> = spread.into_iter().map(|kind| all(&resource_of(kind))).collect();
    let (bindings, works) = (all(&kinds::bindings()), all(&kinds::works()));
    let overrides = all(&kinds::override_policies());
    let mut written: BTreeMap<Id, Origin> = BTreeMap::new();
    loop {
        news.notified().await;
        let passed = pass(&host, &templates, &bindings, &overrides, &works, &mut written).await;
        look_again("works", &news, passed).await;
    }
}

async fn pass(
    host: &Client,
    templates: &[Mirror],
    bindings: &Mirror,
    overrides: &Mirror,
    works: &Mirror,
    written: &mut BTreeMap<Id, Origin>,
) -> Result<(), Failed> {
    let templates: Option<Vec<_>> = templates.iter().map(Mirror::all).collect();
    let (Some(templates), Some(bindings), Some(overrides), Some(works)) =
        (templates, bindings.all(), overrides.all(), works.all())
    else {
        return Ok(());
    };
    let templates: Vec<&Value> = templates.iter().flat_map(BTreeMap::values).collect();
    let overrides: Vec<&Value> = overrides.values().collect();
    // One that is not there, or not yet to be seen, is written once more.
    written.retain(|id, _| works.contains_key(id));
    for binding in bindings.values() {
        bring(host, &templates, &overrides, binding, written).await?;
    }
    for (id, work) in works.iter().filter(|(_, work)| is_orphan(work, &bindings)) {
        written.remove(id);
        remove(host, id, work).await?;
    }
    Ok(())
}

async fn bring(
    host: &Client,
    templates: &[&Value],
    overrides: &[&Value],
    binding: &Value,
    written: &mut BTreeMap<Id, Origin>,
) -> Result<(), Failed> {
    let Some(kind) = interpret::of(&binding["spec"]["resource"]) else { return Ok(()) };
    let Some(template) = template_of(templates, binding) else { return Ok(()) };
    let (of, at) = (&template["metadata"]["resourceVersion"], &binding["metadata"]["generation"]);
    for (cluster, share) in shares(binding) {
        let overrides = overrides::of(overrides.iter().copied(), template, cluster);
        let origin = (of.clone(), at.clone(), json!(overrides));
        let id = (space(cluster), text(&binding["metadata"]["name"]).to_owned());
        if written.get(&id) != Some(&origin) {
            let mut made = made(kind, template, binding, cluster, share);
            overrides::apply(&mut made, &overrides);
            write(host, cluster, made).await?;
            written.insert(id, origin);
        }
    }
    Ok(())
}

fn template_of<'a>(templates: &[&'a Value], binding: &Value) -> Option<&'a Value> {
    let (_, kind, namespace, name) = resource(binding)?;
    let is = |it: &Value| {
        it["kind"] == kind && it["metadata"]["namespace"] == namespace && it["metadata"]["name"] == name
    };
    templates.iter().copied().find(|it| is(it) && it["metadata"]["deletionTimestamp"].is_null())
}

async fn write(host: &Client, cluster: &str, made: Value) -> Result<(), Failed> {
    let api: Api<DynamicObject> = Api::namespaced_with(host.clone(), &space(cluster), &kinds::works());
    let name = text(&made["metadata"]["name"]);
    let how = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match api.get_opt(name).await? {
        Some(standing) => {
            let standing = whole(standing, &kinds::works());
            if Work(&standing).is_going() {
                return Err(Failed::Leaving);
            }
            api.replace(name, &how, &serde_json::from_value(renewed(&standing, &made))?).await?
        }
        None => api.create(&how, &serde_json::from_value(made)?).await?,
    };
    Ok(())
}

/// A Work of a binding that is gone, or goes elsewhere.
fn is_orphan(work: &Value, bindings: &BTreeMap<Id, Value>) -> bool {
    let Some((namespace, name)) = Work(work).binding() else { return false };
    let binding = bindings.get(&(namespace.to_owned(), name.to_owned()));
    let placed = binding.is_some_and(|it| {
        it["metadata"]["labels"][PERMANENT_ID] == work["metadata"]["labels"][PERMANENT_ID]
            && shares(it).any(|(cluster, _)| Some(cluster) == Work(work).cluster())
    });
    !placed && !Work(work).is_going()
}

async fn remove(host: &Client, (namespace, name): &Id, work: &Value) -> Result<(), Failed> {
    let api: Api<DynamicObject> = Api::namespaced_with(host.clone(), namespace, &kinds::works());
    let uid = work["metadata"]["uid"].as_str().map(str::to_owned);
    let this_one = Preconditions { uid, ..Preconditions::default() };
    let how = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
    unless_gone(api.delete(name, &how).await.map(drop).map_err(Failed::from))
}
