//! Tells the host what becomes of its workloads: what the members say stands in the bindings, and its sum in the
//! templates.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use lockstep_federation::binding::resource;
use lockstep_federation::interpret::Interpretation;
use lockstep_federation::work::PERMANENT_ID;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::mirror::{Failed, Id, Mirror, look_again, unless_gone};
use crate::{MANAGER, aggregate, kinds, resource_of, text};

/// Tells for ever.
pub async fn run(host: Client, spread: Vec<&'static Interpretation>) {
    let news = Arc::new(Notify::new());
    let all = |kind: &ApiResource| Mirror::of(Api::all_with(host.clone(), kind), kind, &news);
    let templates: Vec<_> = spread.into_iter().map(|kind| (kind, all(&resource_of(kind)))).collect();
    let (bindings, works) = (all(&kinds::bindings()), all(&kinds::works()));
    loop {
        news.notified().await;
        let passed = pass(&host, &templates, &bindings, &works).await;
        look_again("what members say", &news, passed).await;
    }
}

async fn pass(
    host: &Client,
    templates: &[(&'static Interpretation, Mirror)],
    bindings: &Mirror,
    works: &Mirror,
) -> Result<(), Failed> {
    let (Some(bindings), Some(works)) = (bindings.all(), works.all()) else { return Ok(()) };
    for (kind, templates) in templates {
        let Some(templates) = templates.all() else { continue };
        for ((namespace, name), binding) in
            bindings.iter().filter(|(_, it)| kind.is_of(&it["spec"]["resource"]))
        {
            let items = aggregate::items(of(binding, &works));
            if stored(binding) != items {
                let status = json!({"aggregatedStatus": items});
                tell(host, &kinds::bindings(), (namespace, name), &status).await?;
            }
            let Some(template) = template_of(binding, &templates) else { continue };
            if let Some(status) = aggregate::news(kind, template, &items) {
                let name = text(&template["metadata"]["name"]);
                tell(host, &resource_of(kind), (namespace, name), &status).await?;
            }
        }
    }
    Ok(())
}

/// The Works of a binding.
fn of<'a>(binding: &'a Value, works: &'a BTreeMap<Id, Value>) -> impl Iterator<Item = &'a Value> {
    let its =
        |it: &&Value| it["metadata"]["labels"][PERMANENT_ID] == binding["metadata"]["labels"][PERMANENT_ID];
    works.values().filter(its)
}

fn stored(binding: &Value) -> &[Value] {
    binding["status"]["aggregatedStatus"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn template_of<'a>(binding: &Value, templates: &'a BTreeMap<Id, Value>) -> Option<&'a Value> {
    let (_, _, namespace, name) = resource(binding)?;
    templates.get(&(namespace.to_owned(), name.to_owned()))
}

/// Writes a part of a status. Nobody else writes that part, so what else has changed does not matter.
async fn tell(
    host: &Client,
    kind: &ApiResource,
    (namespace, name): (&str, &str),
    status: &Value,
) -> Result<(), Failed> {
    let api: Api<DynamicObject> = Api::namespaced_with(host.clone(), namespace, kind);
    let how = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let told = api.patch_status(name, &how, &Patch::Merge(&json!({"status": status}))).await;
    unless_gone(told.map(drop).map_err(Failed::from))
}
