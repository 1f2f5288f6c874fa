//! Undo, as a function: the templates of a stored revision in the spec of today.

use anyhow::{Context, Result, bail};
use lockstep_api::stored::{Content, ContentMember, StoredRole, StoredSet};
use lockstep_core::model;
use serde_json::{Map, Value, json};

use crate::show::words;

/// What undo comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct PutBack {
    /// The roles as they are to be.
    pub roles: Value,
    /// The identity as it is to be; null removes it.
    pub identity: Value,
    /// The roles that change.
    pub changed: Vec<String>,
    /// What deserves a word.
    pub warnings: Vec<String>,
}

/// Puts the members, templates and identity of a stored revision into a spec that is at revision `now`.
/// Everything else stays as it is: replicas, strategies, rules.
pub fn put_back(spec: &Value, now: &StoredSet, stored: &StoredSet) -> Result<PutBack> {
    let mut roles = spec["roles"].as_array().cloned().context("the spec has no roles")?;
    refuse_lost_roles(&roles, stored)?;
    let mut identity = spec.get("identity").cloned().unwrap_or_default();
    let (mut changed, mut added, mut other_identity) = (Vec::new(), Vec::new(), false);
    for role in &mut roles {
        let name = role["name"].as_str().unwrap_or_default().to_owned();
        let Some(known) = stored.roles.get(name.as_str()) else {
            added.push(name);
            continue;
        };
        let present = now.roles.get(name.as_str());
        // What has the same revision may be written in another way, and stays so.
        if present.is_some_and(|present| present.revision == known.revision) {
            continue;
        }
        let content = readable(&name, known)?;
        let present = present.map(|present| readable(&name, present)).transpose()?;
        if present.is_some_and(|present| present.identity != content.identity) {
            identity = identity_of(&content)?;
            other_identity = true;
        }
        restore(role, &name, known, &content);
        changed.push(name);
    }
    let warnings = warnings(&added, other_identity);
    Ok(PutBack { roles: Value::Array(roles), identity, changed, warnings })
}

fn readable(name: &str, role: &StoredRole) -> Result<Content> {
    role.content().with_context(|| format!("what is stored of role {name} is unreadable"))
}

/// Of a role that left the spec nothing but its templates is known: neither its size nor how it moves.
fn refuse_lost_roles(roles: &[Value], stored: &StoredSet) -> Result<()> {
    let present = |name: &str| roles.iter().any(|role| role["name"] == name);
    let lost: Vec<&str> =
        stored.roles.keys().map(|role| role.as_str()).filter(|role| !present(role)).collect();
    if lost.is_empty() {
        return Ok(());
    }
    bail!(
        "that revision has the {} {}, which the spec no longer has, and only templates are stored: \
         add {} to spec.roles with its replicas, then undo",
        words::plural(lost.len(), "role"),
        words::list(&lost),
        if lost.len() == 1 { "it" } else { "them" },
    )
}

fn warnings(added: &[String], identity_changes: bool) -> Vec<String> {
    if added.is_empty() {
        return Vec::new();
    }
    let (roles, names) = (words::plural(added.len(), "role"), words::list(added));
    let mut warnings = vec![format!("{roles} {names} came later than that revision and stays as it is")];
    if identity_changes {
        warnings.push(format!("spec.identity goes back too, which gives {roles} {names} a new revision"));
    }
    warnings
}

/// Gives a role the members it had. One member of one pod with the role's name was written as a template.
fn restore(role: &mut Value, name: &str, known: &StoredRole, content: &Content) {
    let had = role.clone();
    let Some(fields) = role.as_object_mut() else { return };
    match &content.members[..] {
        [only] if only.name == name && only.count == 1 => {
            fields.remove("members");
            fields.insert("template".to_owned(), only.template.clone());
        }
        members => {
            fields.remove("template");
            let members = members.iter().map(|member| member_of(&had, known, member)).collect();
            fields.insert("members".to_owned(), Value::Array(members));
        }
    }
}

/// A member as it was, with as little said as before: what is the default stays unsaid.
fn member_of(had: &Value, known: &StoredRole, member: &ContentMember) -> Value {
    let mut fields = Map::new();
    let before =
        had["members"].as_array().into_iter().flatten().find(|had| had["name"] == member.name.as_str());
    fields.insert("name".to_owned(), json!(member.name));
    if member.count != 1 || before.is_some_and(|before| before.get("count").is_some()) {
        fields.insert("count".to_owned(), json!(member.count));
    }
    let layout = known.layout.iter().find(|layout: &&model::Member| layout.name.as_str() == member.name);
    let needed = layout.map_or(member.count, |layout| layout.min_available);
    if needed != member.count || before.is_some_and(|before| before.get("minAvailable").is_some()) {
        fields.insert("minAvailable".to_owned(), json!(needed));
    }
    fields.insert("template".to_owned(), member.template.clone());
    Value::Object(fields)
}

fn identity_of(content: &Content) -> Result<Value> {
    Ok(match &content.identity {
        None => Value::Null,
        Some(identity) => serde_json::to_value(identity)?,
    })
}

#[cfg(test)]
mod tests {
    use lockstep_api::{API_VERSION, KIND};

    use super::*;

    fn manifest(spec: &Value) -> Value {
        json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "llama"}, "spec": spec})
    }

    fn store(spec: &Value) -> StoredSet {
        let parsed = lockstep_api::parse_json(&manifest(spec)).map_err(|p| format!("{p:?}")).unwrap();
        // As it comes back from the API server.
        serde_json::from_value(serde_json::to_value(StoredSet::of(&parsed.set)).unwrap()).unwrap()
    }

    fn template(image: &str) -> Value {
        json!({"spec": {"containers": [{"name": "main", "image": image}]}})
    }

    fn one(image: &str) -> Value {
        json!({"replicas": 2, "roles": [{"name": "decode", "replicas": 3, "template": template(image)}]})
    }

    fn put(now: &Value, then: &Value) -> Result<PutBack> {
        put_back(now, &store(now), &store(then))
    }

    /// The spec with the answer in it.
    fn done(spec: &Value, put: &PutBack) -> Value {
        let mut spec = spec.clone();
        spec["roles"] = put.roles.clone();
        match &put.identity {
            Value::Null => spec.as_object_mut().unwrap().remove("identity"),
            identity => spec.as_object_mut().unwrap().insert("identity".to_owned(), identity.clone()),
        };
        spec
    }

    #[test]
    fn the_template_comes_back_and_the_rest_stays() {
        let (old, mut new) = (one("vllm:1"), one("vllm:2"));
        new["roles"][0]["replicas"] = json!(9);
        new["roles"][0]["updateStrategy"] = json!({"maxSurge": 1});
        let back = put(&new, &old).unwrap();
        assert_eq!(back.roles[0]["template"], template("vllm:1"));
        assert_eq!(back.roles[0]["replicas"], 9);
        assert_eq!(back.roles[0]["updateStrategy"], json!({"maxSurge": 1}));
        assert_eq!((back.changed, back.warnings), (vec!["decode".to_owned()], vec![]));
    }

    #[test]
    fn members_become_a_template_and_a_template_members() {
        let mut new = one("vllm:1");
        let members = json!([
            {"name": "leader", "template": template("lead:1")},
            {"name": "worker", "count": 3, "minAvailable": 2, "template": template("work:1")},
        ]);
        new["roles"][0].as_object_mut().unwrap().remove("template");
        new["roles"][0]["members"] = members.clone();
        let back = put(&new, &one("vllm:1")).unwrap();
        assert_eq!(back.roles[0]["template"], template("vllm:1"));
        assert!(back.roles[0].get("members").is_none());
        let back = put(&one("vllm:2"), &new).unwrap();
        assert_eq!(back.roles[0]["members"], members);
        assert!(back.roles[0].get("template").is_none());
    }

    #[test]
    fn it_has_the_revision_it_had() {
        let mut old = one("vllm:1");
        old["identity"] = json!({"podName": "{set}-{group}-{instance}", "labels": {"a": "b"}});
        let new = one("vllm:2");
        for (now, then) in [(&new, &old), (&old, &new)] {
            let stored = store(then);
            let back = put(now, then).unwrap();
            assert_eq!(store(&done(now, &back)).revision(), stored.revision());
        }
        let mut empty = one("vllm:1");
        empty["identity"] = json!({});
        let back = put(&new, &empty).unwrap();
        assert_eq!(store(&done(&new, &back)).revision(), store(&empty).revision());
    }

    #[test]
    fn a_role_that_is_gone_is_refused_and_one_that_came_stays() {
        let (old, mut new) = (one("vllm:1"), one("vllm:2"));
        new["roles"].as_array_mut().unwrap().push(json!({"name": "router", "template": template("r:1")}));
        let back = put(&new, &old).unwrap();
        assert_eq!(back.roles[1]["template"], template("r:1"));
        assert_eq!(back.changed, ["decode"]);
        assert_eq!(back.warnings, ["role router came later than that revision and stays as it is"]);
        let refused = put(&old, &new).unwrap_err().to_string();
        assert!(refused.contains("the role router, which the spec no longer has"), "{refused}");
    }

    #[test]
    fn nothing_to_change_is_nothing_changed() {
        let set = one("vllm:1");
        let back = put(&set, &set).unwrap();
        assert_eq!((done(&set, &back), back.changed), (set, vec![]));
    }
}
