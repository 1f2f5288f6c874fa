//! The sets that are started: the demo, or those of somebody's own.

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Patch, PatchParams};
use lockstep_api::Duration;
use lockstep_core::time::Millis;
use serde_json::{Value, json};

use super::args::UpArgs;
use crate::commands::live::home::FIELD_MANAGER;
use crate::input::manifest::Manifest;
use crate::input::objects::{api, plainly};
use crate::input::theirs;
use crate::install::title;

const DEMO: &str = include_str!("../../../../../examples/up.yaml");
/// How long the kubelet stand-in takes for a pod, in the annotations of its template.
const TIMES: [&str; 2] = ["kubelet.lockstep.dev/ready-after", "kubelet.lockstep.dev/terminates-after"];

/// The sets to start, or what they are made from, checked.
pub fn sets(args: &UpArgs) -> Result<Vec<Value>> {
    let mut manifests = Vec::new();
    for file in &args.files {
        let mut of_file = Manifest::read_all(file).into_iter().collect::<Result<Vec<_>, _>>()?;
        // Each of them stands for its whole file.
        of_file.truncate(1);
        manifests.extend(of_file);
    }
    if args.files.is_empty() && !args.no_demo {
        manifests.push(Manifest::parse("up.yaml", DEMO.to_owned())?);
    }
    let home = args.cluster.namespace.as_deref();
    let mut all = Vec::new();
    for manifest in &manifests {
        all.extend(objects(manifest, home, args.speed)?);
    }
    Ok(all)
}

/// What of a manifest is applied: the set, or the objects of another project as they are.
fn objects(manifest: &Manifest, namespace: Option<&str>, speed: u32) -> Result<Vec<Value>> {
    let mut objects = match manifest.theirs {
        Some(_) => theirs::objects(&manifest.text),
        None => {
            let written = manifest.written().map(|document| document.to_json());
            vec![written.with_context(|| format!("{} cannot be read again", manifest.file))?]
        }
    };
    for object in &mut objects {
        hasten(object, speed);
        if theirs::is_of_all(object) {
            continue;
        }
        let place = &mut object["metadata"]["namespace"];
        match namespace {
            Some(namespace) => *place = json!(namespace),
            None if place.is_null() => *place = json!("default"),
            None => {}
        }
    }
    Ok(objects)
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

/// Starts sets: somebody's own are applied; a demo that is there already stays as it is.
pub async fn start(client: &Client, sets: &[Value], own: bool) -> Result<()> {
    let mut wanted = Vec::new();
    for set in sets {
        let (api, name) = api(client, set)?;
        if own || api.get_opt(&name).await.map_err(plainly)?.is_none() {
            wanted.push(set.clone());
        }
    }
    apply(client, &wanted).await
}

/// Applies objects in their order.
pub async fn apply(client: &Client, objects: &[Value]) -> Result<()> {
    let manager = PatchParams::apply(FIELD_MANAGER).force();
    for object in objects {
        let (api, name) = api(client, object)?;
        let applied = api.patch(&name, &manager, &Patch::Apply(object)).await;
        applied.map_err(plainly).with_context(|| format!("cannot apply {}", title(object)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo(speed: u32) -> Value {
        let manifest = Manifest::parse("up.yaml", DEMO.to_owned()).unwrap();
        objects(&manifest, None, speed).unwrap().remove(0)
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
