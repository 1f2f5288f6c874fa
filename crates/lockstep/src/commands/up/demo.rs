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
use crate::install::title;

const DEMO: &str = include_str!("../../../../../examples/up.yaml");
/// How long the kubelet stand-in takes for a pod, in the annotations of its template.
const TIMES: [&str; 2] = ["kubelet.lockstep.dev/ready-after", "kubelet.lockstep.dev/terminates-after"];

/// The sets to start, checked.
pub fn sets(args: &UpArgs) -> Result<Vec<Value>> {
    let mut manifests = Vec::new();
    for file in &args.files {
        manifests.push(Manifest::read(file)?);
    }
    if args.files.is_empty() && !args.no_demo {
        manifests.push(Manifest::parse("up.yaml", DEMO.to_owned())?);
    }
    let home = args.cluster.namespace.as_deref();
    manifests.iter().map(|manifest| object(manifest, home, args.speed)).collect()
}

fn object(manifest: &Manifest, namespace: Option<&str>, speed: u32) -> Result<Value> {
    // What was made from another project's object goes as what it became.
    let read = match manifest.theirs {
        Some(_) => serde_json::to_value(&*manifest.set).ok(),
        None => lockstep_api::yaml_to_json(&manifest.text).ok(),
    };
    let mut object = read.with_context(|| format!("{} cannot be read again", manifest.file))?;
    let place = &mut object["metadata"]["namespace"];
    match namespace {
        Some(namespace) => *place = json!(namespace),
        None if place.is_null() => *place = json!("default"),
        None => {}
    }
    hasten(&mut object, speed);
    Ok(object)
}

/// Makes pods start and end so many times faster, where their annotations say how long they take.
fn hasten(object: &mut Value, speed: u32) {
    for role in object["spec"]["roles"].as_array_mut().into_iter().flatten() {
        if role.get("template").is_some() {
            hasten_template(&mut role["template"], speed);
        }
        for member in role.get_mut("members").and_then(Value::as_array_mut).into_iter().flatten() {
            hasten_template(&mut member["template"], speed);
        }
    }
}

fn hasten_template(template: &mut Value, speed: u32) {
    for key in TIMES {
        let Some(time) = template.pointer_mut(&format!("/metadata/annotations/{}", key.replace('/', "~1")))
        else {
            continue;
        };
        let length = time.as_str().and_then(|text| text.parse().ok());
        if let Some(Duration(length)) = length {
            *time = json!(Millis(length.0 / u64::from(speed.max(1))).to_string());
        }
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
        object(&manifest, None, speed).unwrap()
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
