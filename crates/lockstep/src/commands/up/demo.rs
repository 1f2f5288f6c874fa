//! What is started: the demo, or what somebody has in files.

use anyhow::{Context, Result};
use kube::api::{DynamicObject, GroupVersionKind, Patch, PatchParams, TypeMeta};
use kube::discovery::Scope;
use kube::discovery::oneshot::pinned_kind;
use kube::{Api, Client};
use lockstep_api::{Document, Duration};
use lockstep_core::time::Millis;
use serde_json::{Value, json};

use super::args::UpArgs;
use crate::commands::live::home::FIELD_MANAGER;
use crate::input::manifest::Manifest;
use crate::input::objects::{api, plainly};
use crate::install::title;

const DEMO: &str = include_str!("../../../../../examples/up.yaml");
/// How long the kubelet stand-in takes for a pod, in the annotations of its template.
const TIMES: [&str; 2] = ["kubelet.lockstep.dev/ready-after", "kubelet.lockstep.dev/terminates-after"];

/// What to start: all that stands in the files, of which the sets are checked.
pub fn objects(args: &UpArgs) -> Result<Vec<Value>> {
    let mut texts = Vec::new();
    for file in &args.files {
        let of_file = Manifest::read_all(file).into_iter().collect::<Result<Vec<_>, _>>()?;
        // Each of them has the text of its whole file.
        texts.extend(of_file.into_iter().next().map(|manifest| manifest.text));
    }
    if args.files.is_empty() && !args.no_demo {
        texts.push(DEMO.to_owned());
    }
    let mut all: Vec<Value> = texts.iter().flat_map(|text| written(text)).collect();
    all.iter_mut().for_each(|object| hasten(object, args.speed));
    Ok(all)
}

/// The objects of a text, as they are written.
fn written(text: &str) -> Vec<Value> {
    let documents = Document::all(text).unwrap_or_default();
    documents.iter().map(Document::to_json).filter(|object| !object.is_null()).collect()
}

/// Makes pods start and end so many times faster, wherever annotations say how long they take.
fn hasten(value: &mut Value, speed: u32) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let length = value.as_str().filter(|_| TIMES.contains(&key.as_str()));
                match length.and_then(|text| text.parse().ok()) {
                    Some(Duration(length)) => {
                        *value = json!(Millis(length.0 / u64::from(speed.max(1))).to_string());
                    }
                    None => hasten(value, speed),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hasten(item, speed)),
        _ => {}
    }
}

/// Starts what there is to start: somebody's own is applied; a demo that is there already stays as it is.
pub async fn start(client: &Client, objects: &[Value], args: &UpArgs) -> Result<()> {
    let own = !args.files.is_empty();
    for object in objects {
        let (api, object) = placed(client, object, args.cluster.namespace.as_deref()).await?;
        let name = object["metadata"]["name"].as_str().context("an object without name")?;
        if own || api.get_opt(name).await.map_err(plainly)?.is_none() {
            apply_one(&api, name, &object).await?;
        }
    }
    Ok(())
}

/// An object in the namespace it belongs to, if its kind lives in any; and where that is.
async fn placed(client: &Client, object: &Value, home: Option<&str>) -> Result<(Api<DynamicObject>, Value)> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let types = TypeMeta { api_version: text("apiVersion"), kind: text("kind") };
    let kind = GroupVersionKind::try_from(&types)?;
    let found = pinned_kind(client, &kind).await.map_err(plainly);
    let (kind, can) =
        found.with_context(|| format!("cannot apply {}: its kind is not served", title(object)))?;
    if can.scope == Scope::Cluster {
        return Ok((Api::all_with(client.clone(), &kind), object.clone()));
    }
    let namespace = home.or(object["metadata"]["namespace"].as_str()).unwrap_or("default").to_owned();
    let api = Api::namespaced_with(client.clone(), &namespace, &kind);
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!(namespace);
    Ok((api, object))
}

/// Applies objects in their order.
pub async fn apply(client: &Client, objects: &[Value]) -> Result<()> {
    for object in objects {
        let (api, name) = api(client, object)?;
        apply_one(&api, &name, object).await?;
    }
    Ok(())
}

async fn apply_one(api: &Api<DynamicObject>, name: &str, object: &Value) -> Result<()> {
    let applied = api.patch(name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object)).await;
    applied.map_err(plainly).with_context(|| format!("cannot apply {}", title(object)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo(speed: u32) -> Value {
        let mut demo = written(DEMO).remove(0);
        hasten(&mut demo, speed);
        demo
    }

    #[test]
    fn the_demo_can_always_finish() {
        let manifest = Manifest::parse("up.yaml", DEMO.to_owned()).unwrap();
        let verdict = lockstep_api::proof::every_rollout(&manifest.set, &manifest.spec);
        assert!(verdict.problem().is_none(), "{:?}", verdict.problem());
        assert!(manifest.warnings.is_empty(), "{:?}", manifest.warnings);
    }

    #[test]
    fn speed_is_in_the_annotations() {
        let times = |object: &Value| {
            let annotations = &object["spec"]["roles"][1]["template"]["metadata"]["annotations"];
            TIMES.map(|key| annotations[key].as_str().unwrap().to_owned())
        };
        assert_eq!(times(&demo(1)), ["2s", "500ms"]);
        assert_eq!(times(&demo(10)), ["200ms", "50ms"]);
    }
}
