//! The manifests a neighbour comes with, changed for a control plane of plain processes.

use std::fs;
use std::path::Path;
use std::process::Command;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::Door;
use crate::cluster::{Cluster, ClusterError, apply};

/// All manifests of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Value>, ClusterError> {
    documents(&fs::read_to_string(path).map_err(ClusterError::file(path))?, path)
}

pub(super) fn documents(text: &str, from: &Path) -> Result<Vec<Value>, ClusterError> {
    let document = |text: String| {
        lockstep_api::yaml_to_json(&text).map_err(|problems| ClusterError::Access {
            what: format!("read the manifests of {}", from.display()),
            reason: problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        })
    };
    split(text).into_iter().map(document).collect()
}

/// The documents of a YAML stream that are not empty.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match documents.last_mut() {
            Some(last) if line.trim_end() != "---" => *last += &format!("{line}\n"),
            _ => documents.push(String::new()),
        }
    }
    let says_something =
        |text: &String| text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
    documents.into_iter().filter(says_something).collect()
}

impl Door {
    /// How the API server is told of it.
    pub(super) fn client_config(&self, path: &str) -> Value {
        let url = format!("https://127.0.0.1:{}{path}", self.port);
        json!({"url": url, "caBundle": ByteString(self.ca_pem.as_bytes().to_vec())})
    }

    /// A webhook configuration that calls this door instead of a Service inside the cluster, which it names or has the
    /// URL of.
    pub(super) fn answer_for(&self, configuration: &mut Value) {
        for hook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            let called = &hook["clientConfig"];
            let by_url = called["url"].as_str().and_then(|url| url.rsplit_once('/')).map(|(_, path)| path);
            let by_name = called["service"]["path"].as_str().map(|path| path.trim_start_matches('/'));
            let path = format!("/{}", by_name.or(by_url).unwrap_or_default());
            hook["clientConfig"] = self.client_config(&path);
        }
    }
}

impl Cluster {
    /// Makes the kinds known whose definitions lie in a folder.
    pub(super) async fn define_all(&self, folder: &Path) -> Result<(), ClusterError> {
        let entries = fs::read_dir(folder).map_err(ClusterError::file(folder))?;
        let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        for file in files {
            for definition in read(&file)? {
                self.define(&definition).await?;
            }
        }
        Ok(())
    }

    /// Registers the webhooks of a folder for kustomize, all to be answered at this door. A neighbour's own folder
    /// names its configurations as everybody does, so they get a prefix.
    pub(super) async fn register(
        &self,
        folder: &Path,
        prefix: &str,
        door: &Door,
    ) -> Result<(), ClusterError> {
        for mut manifest in self.kustomize(folder)? {
            if !manifest["kind"].as_str().is_some_and(|kind| kind.ends_with("WebhookConfiguration")) {
                continue;
            }
            let name = format!("{prefix}-{}", manifest["metadata"]["name"].as_str().unwrap_or_default());
            manifest["metadata"]["name"] = json!(name);
            door.answer_for(&mut manifest);
            apply(&self.client(), &manifest).await?;
        }
        Ok(())
    }

    /// What `kubectl kustomize` makes of a folder.
    pub(super) fn kustomize(&self, folder: &Path) -> Result<Vec<Value>, ClusterError> {
        let kubectl = self.program("kubectl").unwrap_or_else(|| "kubectl".into());
        let output = Command::new(&kubectl).arg("kustomize").arg(folder).output();
        let output = output.map_err(ClusterError::file(&kubectl))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(ClusterError::Access { what: format!("kustomize {}", folder.display()), reason });
        }
        documents(&String::from_utf8_lossy(&output.stdout), folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_told_apart_and_empty_ones_left_out() {
        let text = "---\n# only a comment\n---\na: 1\nb: |\n  ---\n--- \nc: 2\n";
        assert_eq!(split(text), ["a: 1\nb: |\n  ---\n", "c: 2\n"]);
        let documents = documents(text, Path::new("x.yaml")).unwrap();
        assert_eq!(documents, [json!({"a": 1, "b": "---\n"}), json!({"c": 2})]);
    }

    #[test]
    fn webhooks_are_called_on_loopback() {
        let door = Door { port: 9443, certificates: "certs".into(), ca_pem: "ca".to_owned() };
        let service = json!({"name": "webhook-service", "namespace": "system", "path": "/mutate--v1-pod"});
        let mut configuration = json!({"webhooks": [
            {"name": "a", "objectSelector": {}, "clientConfig": {"service": service}},
            {"name": "b", "clientConfig": {"service": {"name": "webhook-service"}}},
            {"name": "c", "clientConfig": {"url": "https://webhook.system.svc:443/mutate-work", "caBundle": "any"}},
        ]});
        door.answer_for(&mut configuration);
        let expected = json!({"webhooks": [
            {
                "name": "a", "objectSelector": {},
                "clientConfig": {"url": "https://127.0.0.1:9443/mutate--v1-pod", "caBundle": "Y2E="},
            },
            {"name": "b", "clientConfig": {"url": "https://127.0.0.1:9443/", "caBundle": "Y2E="}},
            {"name": "c", "clientConfig": {"url": "https://127.0.0.1:9443/mutate-work", "caBundle": "Y2E="}},
        ]});
        assert_eq!(configuration, expected);
    }
}
