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

/// Every role to the next version, in a set or in an object that becomes one.
pub fn roll(object: &Value, versions: &mut Versions) -> Roll {
    let mut rename = remembered(|image| versions.after(image));
    let mut roll = Roll::default();
    for template in templates(object) {
        roll.images_of(&template, &mut rename);
        let place = format!("{}/{}", template.annotations(), escaped(MISSING));
        if object.pointer(&place).is_some() {
            roll.patch.push(json!({"op": "remove", "path": place}));
        }
    }
    roll
}

/// One role to a version that does not exist.
pub fn roll_badly(object: &Value, role: &str, versions: &mut Versions) -> Roll {
    let mut rename = remembered(|image| versions.after(image) + BAD);
    let mut roll = Roll::default();
    for template in templates(object).iter().filter(|template| template.role == role) {
        roll.images_of(template, &mut rename);
        roll.patch.push(annotate(object, template, MISSING, "missing"));
    }
    roll
}

/// The role that is scaled and broken: `decode`, if there is one, else the last.
pub fn favourite(object: &Value) -> String {
    let templates = templates(object);
    let decode = templates.iter().find(|template| template.role == "decode");
    decode.or(templates.last()).map(|template| template.role.clone()).unwrap_or_default()
}

/// The same name for the same image.
fn remembered(mut next: impl FnMut(&str) -> String) -> impl FnMut(&str) -> String {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    move |image| known.entry(image.to_owned()).or_insert_with(|| next(image)).clone()
}

impl Roll {
    /// Changes the images of the containers of a template.
    fn images_of(&mut self, template: &Template<'_>, rename: &mut impl FnMut(&str) -> String) {
        if !self.roles.contains(&template.role) {
            self.roles.push(template.role.clone());
        }
        let containers = template.spec["containers"].as_array();
        for (place, container) in containers.into_iter().flatten().enumerate() {
            let Some(image) = container["image"].as_str() else { continue };
            let next = rename(image);
            let path = format!("{}/containers/{place}/image", template.path);
            self.patch.push(json!({"op": "replace", "path": path, "value": next}));
            if !self.images.contains(&next) {
                self.images.push(next);
            }
        }
    }
}

/// Sets an annotation of a template, and whatever has to be there for it.
fn annotate(object: &Value, template: &Template<'_>, key: &str, value: &str) -> Value {
    let (mut path, mut value) = (format!("{}/{}", template.annotations(), escaped(key)), json!(value));
    // As much of the way there as is missing.
    while let Some((parent, last)) = path.rsplit_once('/')
        && !object.pointer(parent).is_some_and(Value::is_object)
    {
        value = json!({last.replace("~1", "/").replace("~0", "~"): value});
        path = parent.to_owned();
    }
    json!({"op": "add", "path": path, "value": value})
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Where the spec of a pod stands, and of which role.
struct Template<'a> {
    role: String,
    path: String,
    spec: &'a Value,
}

impl Template<'_> {
    /// Where annotations of its pods are written: in the metadata beside the spec, or at the clique it stands in.
    fn annotations(&self) -> String {
        match self.path.strip_suffix("/spec/podSpec") {
            Some(clique) => format!("{clique}/annotations"),
            None => format!("{}/metadata/annotations", self.path.strip_suffix("/spec").unwrap_or(&self.path)),
        }
    }
}

/// All templates of an object, whatever its kind: what has containers is the spec of a pod, and the outermost name above
/// it is that of its role.
fn templates(object: &Value) -> Vec<Template<'_>> {
    let mut found = Vec::new();
    below(&object["spec"], "/spec".to_owned(), None, &mut found);
    found
}

fn below<'a>(value: &'a Value, path: String, role: Option<&'a str>, found: &mut Vec<Template<'a>>) {
    match value {
        Value::Object(fields) if fields.contains_key("containers") => {
            found.push(Template { role: role.unwrap_or_default().to_owned(), path, spec: value });
        }
        Value::Object(fields) => {
            let role = role.or_else(|| fields.get("name")?.as_str());
            for (key, value) in fields {
                below(value, format!("{path}/{}", escaped(key)), role, found);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                below(item, format!("{path}/{i}"), role, found);
            }
        }
        _ => {}
    }
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

    fn set() -> Value {
        let template = |image: &str| json!({"spec": {"containers": [{"name": "a", "image": image}]}});
        json!({"spec": {"roles": [
            {"name": "prefill", "template": template("chat:v1")},
            {"name": "decode", "members": [
                {"name": "leader", "template": template("chat:v1")},
                {"name": "worker", "template": template("work:7")},
            ]},
        ]}})
    }

    #[test]
    fn every_role_rolls_and_equal_images_stay_equal() {
        let roll = roll(&set(), &mut Versions::default());
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
        let bad = roll_badly(&set(), "prefill", &mut versions);
        assert_eq!(
            (bad.roles.as_slice(), bad.images.as_slice()),
            (&["prefill".to_owned()][..], &["chat:v2-bad".to_owned()][..])
        );
        let mut object = set();
        json_patch::patch(
            &mut object,
            &serde_json::from_value::<json_patch::Patch>(json!(bad.patch)).unwrap(),
        )
        .unwrap();
        let template = &object["spec"]["roles"][0]["template"];
        assert_eq!(template["metadata"]["annotations"][MISSING], "missing");
        let good = roll(&object, &mut versions);
        json_patch::patch(
            &mut object,
            &serde_json::from_value::<json_patch::Patch>(json!(good.patch)).unwrap(),
        )
        .unwrap();
        let template = &object["spec"]["roles"][0]["template"];
        assert_eq!(template["spec"]["containers"][0]["image"], "chat:v3");
        assert_eq!(template["metadata"]["annotations"], json!({}));
    }

    #[test]
    fn objects_of_other_projects_roll_as_they_are() {
        let spec = |image: &str| json!({"containers": [{"name": "a", "image": image}]});
        let clique = |name: &str| json!({"name": name, "spec": {"podSpec": spec("chat:v1")}});
        let serving = json!({"name": "decode", "entryTemplate": {"spec": spec("chat:v1")}, "workerTemplate": {"spec": spec("work:7")}});
        let rows = [
            (
                json!({"spec": {"template": {"cliques": [clique("front"), clique("decode")]}}}),
                "/spec/template/cliques/1/annotations",
                "/spec/template/cliques/1/spec/podSpec",
            ),
            (
                json!({"spec": {"template": {"roles": [serving]}}}),
                "/spec/template/roles/0/entryTemplate/metadata",
                "/spec/template/roles/0/entryTemplate/spec",
            ),
        ];
        for (mut object, annotations, pod) in rows {
            let bad = roll_badly(&object, &favourite(&object), &mut Versions::default());
            assert_eq!(bad.roles, ["decode"]);
            assert!(bad.patch.iter().any(|op| op["path"] == annotations), "{:?}", bad.patch);
            let patch = serde_json::from_value::<json_patch::Patch>(json!(bad.patch)).unwrap();
            json_patch::patch(&mut object, &patch).unwrap();
            assert_eq!(object.pointer(pod).unwrap()["containers"][0]["image"], "chat:v2-bad");
            let mended = roll(&object, &mut Versions::default());
            assert!(mended.patch.iter().any(|op| op["op"] == "remove"), "{:?}", mended.patch);
        }
    }
}
