//! Rolling to other images, as JSON patches. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The end of a tag that means an image that does not exist.
const BAD: &str = "-bad";
/// Tells the kubelet stand-in that an image cannot be pulled.
const MISSING: &str = "kubelet.lockstep.dev/image";

/// The versions that were used, so that none is used twice.
#[derive(Debug, Default)]
pub struct Versions(BTreeMap<String, u64>);

impl Versions {
    /// The image after this one: `chat:v1` is followed by `chat:v2`, or by a later one if that was used before.
    fn after(&mut self, image: &str) -> String {
        let (stem, number) = take_apart(image);
        let highest = self.0.entry(stem.clone()).or_default();
        *highest = number.max(*highest).saturating_add(1);
        format!("{stem}{highest}")
    }
}

/// An image up to its version, and its version: `vllm:v0.11.0` is `vllm:v0.11.` and 0.
fn take_apart(image: &str) -> (String, u64) {
    let image = image.split('@').next().unwrap_or_default();
    let image = image.strip_suffix(BAD).unwrap_or(image);
    let name = image.rfind('/').map_or(0, |slash| slash + 1);
    let Some(colon) = image[name..].find(':') else { return (format!("{image}:v"), 1) };
    let tag = name + colon + 1;
    let digits = image[tag..].bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = image.split_at(image.len() - digits);
    match number.parse() {
        Ok(number) => (stem.to_owned(), number),
        Err(_) => (format!("{image}-"), 1),
    }
}

/// A change of a spec.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Roll {
    /// The roles that change.
    pub roles: Vec<String>,
    /// The images they get.
    pub images: Vec<String>,
    /// The change, as a JSON patch of the set.
    pub patch: Vec<Value>,
}

/// Every role to the next version.
pub fn roll(spec: &Value, versions: &mut Versions) -> Roll {
    let mut roll = Roll::default();
    let mut renamed = BTreeMap::new();
    for role in roles(spec) {
        roll.roles.push(role.name.clone());
        for (path, template) in &role.templates {
            let rename = |image: &str| {
                renamed.entry(image.to_owned()).or_insert_with(|| versions.after(image)).clone()
            };
            roll.images_of(path, template, rename);
            if template.pointer(&format!("/metadata/annotations/{}", escaped(MISSING))).is_some() {
                let path = format!("{path}/metadata/annotations/{}", escaped(MISSING));
                roll.patch.push(json!({"op": "remove", "path": path}));
            }
        }
    }
    roll
}

/// One role to a version that does not exist.
pub fn roll_badly(spec: &Value, role: &str, versions: &mut Versions) -> Roll {
    let mut roll = Roll::default();
    let mut renamed = BTreeMap::new();
    for role in roles(spec).iter().filter(|known| known.name == role) {
        roll.roles.push(role.name.clone());
        for (path, template) in &role.templates {
            let rename = |image: &str| {
                let next = || versions.after(image) + BAD;
                renamed.entry(image.to_owned()).or_insert_with(next).clone()
            };
            roll.images_of(path, template, rename);
            roll.patch.push(annotate(path, template, MISSING, "missing"));
        }
    }
    roll
}

impl Roll {
    /// Changes the images of the containers of a template.
    fn images_of(&mut self, path: &str, template: &Value, mut rename: impl FnMut(&str) -> String) {
        let containers = template["spec"]["containers"].as_array();
        for (place, container) in containers.into_iter().flatten().enumerate() {
            let Some(image) = container["image"].as_str() else { continue };
            let next = rename(image);
            let path = format!("{path}/spec/containers/{place}/image");
            self.patch.push(json!({"op": "replace", "path": path, "value": next}));
            if !self.images.contains(&next) {
                self.images.push(next);
            }
        }
    }
}

/// Sets an annotation of a template, and whatever has to be there for it.
fn annotate(path: &str, template: &Value, key: &str, value: &str) -> Value {
    let metadata = &template["metadata"];
    let (path, value) = match (metadata.is_object(), metadata["annotations"].is_object()) {
        (_, true) => (format!("{path}/metadata/annotations/{}", escaped(key)), json!(value)),
        (true, false) => (format!("{path}/metadata/annotations"), json!({key: value})),
        (false, false) => (format!("{path}/metadata"), json!({"annotations": {key: value}})),
    };
    json!({"op": "add", "path": path, "value": value})
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A role, and where its templates are.
struct Templates<'a> {
    name: String,
    templates: Vec<(String, &'a Value)>,
}

fn roles(spec: &Value) -> Vec<Templates<'_>> {
    let roles = spec["roles"].as_array().into_iter().flatten().enumerate();
    roles
        .map(|(place, role)| {
            let path = format!("/spec/roles/{place}");
            let mut templates = Vec::new();
            if let Some(template) = role.get("template") {
                templates.push((format!("{path}/template"), template));
            }
            for (place, member) in role["members"].as_array().into_iter().flatten().enumerate() {
                templates.push((format!("{path}/members/{place}/template"), &member["template"]));
            }
            Templates { name: role["name"].as_str().unwrap_or_default().to_owned(), templates }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_version() {
        for (image, next) in [
            ("registry.example/chat:v1", "registry.example/chat:v2"),
            ("registry.example:5000/chat", "registry.example:5000/chat:v2"),
            ("vllm/vllm-openai:v0.11.9", "vllm/vllm-openai:v0.11.10"),
            ("nginx:1.29", "nginx:1.30"),
            ("nginx:latest", "nginx:latest-2"),
            ("nginx:latest-2", "nginx:latest-3"),
            ("chat:v3-bad", "chat:v4"),
            ("chat:v1@sha256:0f", "chat:v2"),
        ] {
            assert_eq!(Versions::default().after(image), next, "{image}");
        }
    }

    #[test]
    fn no_version_is_used_twice() {
        let mut versions = Versions::default();
        assert_eq!(versions.after("chat:v1"), "chat:v2");
        assert_eq!(versions.after("chat:v1"), "chat:v3", "after an undo");
        assert_eq!(versions.after("other:v1"), "other:v2");
    }

    fn spec() -> Value {
        let template = |image: &str| json!({"spec": {"containers": [{"name": "a", "image": image}]}});
        json!({"roles": [
            {"name": "prefill", "template": template("chat:v1")},
            {"name": "decode", "members": [
                {"name": "leader", "template": template("chat:v1")},
                {"name": "worker", "template": template("work:7")},
            ]},
        ]})
    }

    #[test]
    fn every_role_rolls_and_equal_images_stay_equal() {
        let roll = roll(&spec(), &mut Versions::default());
        assert_eq!(roll.roles, ["prefill", "decode"]);
        assert_eq!(roll.images, ["chat:v2", "work:8"]);
        let paths: Vec<&str> = roll.patch.iter().map(|op| op["path"].as_str().unwrap()).collect();
        assert_eq!(
            paths,
            [
                "/spec/roles/0/template/spec/containers/0/image",
                "/spec/roles/1/members/0/template/spec/containers/0/image",
                "/spec/roles/1/members/1/template/spec/containers/0/image",
            ]
        );
    }

    #[test]
    fn a_bad_image_is_mended_by_the_next_roll() {
        let mut versions = Versions::default();
        let bad = roll_badly(&spec(), "prefill", &mut versions);
        assert_eq!(
            (bad.roles.as_slice(), bad.images.as_slice()),
            (&["prefill".to_owned()][..], &["chat:v2-bad".to_owned()][..])
        );
        let mut object = json!({"spec": spec()});
        json_patch::patch(
            &mut object,
            &serde_json::from_value::<json_patch::Patch>(json!(bad.patch)).unwrap(),
        )
        .unwrap();
        let template = &object["spec"]["roles"][0]["template"];
        assert_eq!(template["metadata"]["annotations"][MISSING], "missing");
        let good = roll(&object["spec"], &mut versions);
        json_patch::patch(
            &mut object,
            &serde_json::from_value::<json_patch::Patch>(json!(good.patch)).unwrap(),
        )
        .unwrap();
        let template = &object["spec"]["roles"][0]["template"];
        assert_eq!(template["spec"]["containers"][0]["image"], "chat:v3");
        assert_eq!(template["metadata"]["annotations"], json!({}));
    }
}
