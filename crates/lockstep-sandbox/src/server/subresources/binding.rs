//! Binding pods to nodes.

use serde_json::{Value, json};

use crate::builtin;
use crate::refusal::Refusal;
use crate::request::Writes;
use crate::server::admission::Question;
use crate::server::create::text;
use crate::server::render::{Body, Response};
use crate::server::routes::Target;
use crate::server::{Step, Turn, decode, written};

impl Turn<'_> {
    /// `bindings`, where the pod is named in the body.
    pub(in crate::server) fn bind_by_name(&mut self, target: &Target) -> Step<Response> {
        let binding = decode::value(self.request, "Binding")?;
        let pods = crate::path::GroupVersion { group: String::new(), version: "v1".to_owned() };
        let kind = self.server.catalogue.find(&pods, "pods").ok_or_else(Refusal::no_such_path)?;
        let pod = Target {
            kind,
            name: Some(text(&binding["metadata"]["name"])),
            subresource: Some("binding".to_owned()),
            ..target.clone()
        };
        self.bind(&pod)
    }

    pub(super) fn bind(&mut self, target: &Target) -> Step<Response> {
        let writes = Writes::read(&self.request.query, "CreateOptions")?;
        let binding = decode::value(self.request, "Binding")?;
        let name = target.name.clone().unwrap_or_default();
        if text(&binding["target"]["name"]).is_empty() {
            return Err(Refusal::failure("target.name: Required value").into());
        }
        let mut read = binding.clone();
        if let Err(why) = builtin::decode(("", "Binding"), &mut read) {
            let why = format!("Binding in version \"v1\" cannot be handled as a Binding: {why}");
            return Err(Refusal::bad_request(why).into());
        }
        let causes = builtin::validate_binding(&read);
        if !causes.is_empty() {
            let about = crate::refusal::About { group: "", what: "Binding", name: &name };
            return Err(Refusal::invalid(about, causes).into());
        }
        let live = self.stored(target)?;
        let question = Question {
            target,
            operation: "CREATE",
            name: &name,
            object: &binding,
            old: &Value::Null,
            options: self.options("CreateOptions"),
            dry_run: writes.dry_run,
        };
        let binding = self.mutated(&question)?;
        self.agreed(&Question { object: &binding, options: self.options("CreateOptions"), ..question })?;
        let wanted = text(&binding["metadata"]["uid"]);
        if !wanted.is_empty() && live["metadata"]["uid"] != wanted.as_str() {
            let why = format!(
                "Precondition failed: UID in precondition: {wanted}, UID in object meta: {}",
                text(&live["metadata"]["uid"])
            );
            return Err(Refusal::conflict(target.about(&name), &why).into());
        }
        let node = text(&binding["target"]["name"]);
        let refuse = |why: &str| {
            Refusal::conflict(crate::refusal::About { group: "", what: "pods/binding", name: &name }, why)
        };
        if live["metadata"].get("deletionTimestamp").is_some() {
            return Err(refuse(&format!("pod {name} is being deleted, cannot be assigned to a host")).into());
        }
        if let Some(host) = live["spec"]["nodeName"].as_str().filter(|host| !host.is_empty()) {
            return Err(refuse(&format!("pod {name} is already assigned to node {host:?}")).into());
        }
        if live["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            return Err(refuse(&format!("pod {name} has non-empty .spec.schedulingGates")).into());
        }
        let bound = self.bound(&live, &binding, &node);
        let key = self.key(target, &name);
        self.keep(key, bound, writes.dry_run);
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Response::new(201, Body::Made(status)))
    }

    fn bound(&self, live: &Value, binding: &Value, node: &str) -> Value {
        let mut pod = live.clone();
        pod["spec"]["nodeName"] = Value::from(node);
        for part in ["annotations", "labels"] {
            for (key, value) in binding["metadata"][part].as_object().into_iter().flatten() {
                pod["metadata"][part][key] = value.clone();
            }
        }
        let key = crate::store::Key { resource: "nodes".into(), namespace: "".into(), name: node.into() };
        if let Some(node) = self.server.store.get(&key) {
            for (label, value) in builtin::topology_labels(node) {
                if pod["metadata"]["labels"].get(label).is_none() {
                    pod["metadata"]["labels"][label] = Value::from(value);
                }
            }
        }
        let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null,
            "lastTransitionTime": written(self.now),
        }));
        pod["status"]["conditions"] = Value::from(conditions);
        // Whoever binds owns nothing of the pod.
        pod
    }
}
