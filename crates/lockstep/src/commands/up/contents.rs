//! What a revision is, as a person knows it: by its images, or by what else changed. Pure.

use std::collections::BTreeSet;

use lockstep_api::stored::{StoredRole, StoredSet};

use crate::show::{revision_diff, words};

/// An image, and the one before it.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    from: Option<String>,
    to: String,
    roles: Vec<String>,
}

/// What a set is made of, or goes from and to: at length, and without the registries. Nothing, where nothing can be said.
pub fn names(from: Option<&StoredSet>, to: &StoredSet) -> Vec<String> {
    let steps = steps(from, to);
    if steps.iter().any(|step| step.from.is_some()) {
        let moved: Vec<&Step> = steps.iter().filter(|step| step.from.is_some()).collect();
        return [false, true].map(|short| told(&moved, to, short)).to_vec();
    }
    let diff = from.map(|from| revision_diff::compare(from, to)).unwrap_or_default();
    if !diff.is_empty() {
        return vec![format!("changed: {}", revision_diff::in_short(&diff))];
    }
    let all: BTreeSet<&str> = steps.iter().map(|step| step.to.as_str()).collect();
    let list = |short: bool| all.iter().map(|image| shortened(image, short)).collect::<Vec<_>>().join(", ");
    if all.is_empty() { Vec::new() } else { vec![list(false), list(true)] }
}

/// The images of a set, each with the one before it where that was another, and the roles for which that is so.
fn steps(from: Option<&StoredSet>, to: &StoredSet) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (name, role) in &to.roles {
        let before = from.and_then(|from| from.roles.get(name)).map(images).unwrap_or_default();
        for (place, image) in images(role) {
            let earlier = before.iter().find(|(known, _)| *known == place).map(|(_, image)| image.clone());
            let from = earlier.filter(|earlier| *earlier != image);
            match steps.iter_mut().find(|step| step.from == from && step.to == image) {
                Some(step) if step.roles.contains(&name.to_string()) => {}
                Some(step) => step.roles.push(name.to_string()),
                None => steps.push(Step { from, to: image, roles: vec![name.to_string()] }),
            }
        }
    }
    steps
}

/// The images of a role, by member and container.
fn images(role: &StoredRole) -> Vec<((String, String), String)> {
    let members = role.content["members"].as_array().into_iter().flatten();
    let of_member = members.flat_map(|member| {
        let containers = member["template"]["spec"]["containers"].as_array().into_iter().flatten();
        containers.filter_map(|container| {
            let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
            Some(((name(member), name(container)), container["image"].as_str()?.to_owned()))
        })
    });
    of_member.collect()
}

/// `chat:v1 → v2`, with the roles in front where others have something else.
fn told(steps: &[&Step], set: &StoredSet, short: bool) -> String {
    let line = |step: &&Step| {
        let from = step.from.as_deref().unwrap_or_default();
        let arrow = format!("{} → {}", shortened(from, short), tail(from, &step.to, short));
        let everywhere = steps.len() == 1 && step.roles.len() == set.roles.len();
        if everywhere { arrow } else { format!("{}: {arrow}", words::list(&step.roles)) }
    };
    steps.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// What of the new image is not said by the old one already.
fn tail(from: &str, to: &str, short: bool) -> String {
    let (name, version) = split(to);
    if split(from).0 == name && !version.is_empty() { version.to_owned() } else { shortened(to, short) }
}

/// An image, and its tag or digest.
fn split(image: &str) -> (&str, &str) {
    let path = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[path..].find([':', '@']) {
        Some(at) => (&image[..path + at], &image[path + at + 1..]),
        None => (image, ""),
    }
}

fn shortened(image: &str, short: bool) -> String {
    let path = image.rfind('/').filter(|_| short).map_or(0, |slash| slash + 1);
    image[path..].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A set of roles of one container each.
    fn set(roles: &[(&str, &str, &str)]) -> StoredSet {
        let role = |&(name, image, arg): &(&str, &str, &str)| {
            let template = json!({"spec": {"containers": [{"name": "main", "image": image, "args": [arg]}]}});
            let members = json!([{"name": name, "count": 1, "template": template}]);
            let content = json!({"members": members, "identity": null});
            (name.to_owned(), json!({"revision": hash(image, arg), "content": content, "layout": []}))
        };
        let roles: serde_json::Map<String, Value> = roles.iter().map(role).collect();
        serde_json::from_value(json!({ "roles": roles })).unwrap()
    }

    /// Differs where they differ.
    fn hash(image: &str, arg: &str) -> String {
        let sum =
            image.bytes().chain(arg.bytes()).fold(7u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
        format!("{sum:x}")
    }

    #[test]
    fn images_or_what_else_changed() {
        let (v1, v2, bad) = ("r.example/chat:v1", "r.example/chat:v2", "r.example/chat:v3-bad");
        let both = |p: &str, d: &str| set(&[("prefill", p, "x"), ("decode", d, "x")]);
        let rows: [(Option<StoredSet>, StoredSet, &[&str]); 8] = [
            (None, both(v1, v1), &["r.example/chat:v1", "chat:v1"]),
            (Some(both(v1, v1)), both(v1, v1), &["r.example/chat:v1", "chat:v1"]),
            (Some(both(v1, v1)), both(v2, v2), &["r.example/chat:v1 → v2", "chat:v1 → v2"]),
            (
                Some(both(v2, v2)),
                both(v2, bad),
                &["decode: r.example/chat:v2 → v3-bad", "decode: chat:v2 → v3-bad"],
            ),
            (
                Some(both(v1, v2)),
                both(v2, bad),
                &[
                    "decode: r.example/chat:v2 → v3-bad, prefill: r.example/chat:v1 → v2",
                    "decode: chat:v2 → v3-bad, prefill: chat:v1 → v2",
                ],
            ),
            (
                Some(set(&[("web", "r:5000/a", "x")])),
                set(&[("web", "r:5000/b@sha256:0f", "x")]),
                &["r:5000/a → r:5000/b@sha256:0f", "a → b@sha256:0f"],
            ),
            (Some(set(&[("web", v1, "x")])), set(&[("web", v1, "y")]), &["changed: web (args)"]),
            (
                Some(set(&[("web", v1, "x")])),
                set(&[("web", v1, "x"), ("router", v1, "x")]),
                &["changed: router is new"],
            ),
        ];
        for (from, to, told) in rows {
            assert_eq!(names(from.as_ref(), &to), told);
        }
    }
}
