//! What a real API server answers.

use anyhow::{Context, Result};
use http::Request;
use http::header::ACCEPT;
use kube::Client;
use serde_json::{Map, Value, json};

const JSON: &str = "application/json";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// A server that is asked.
pub struct Server {
    client: Client,
}

impl Server {
    /// Behind this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    async fn get(&self, path: &str, accept: &str) -> Result<Value> {
        let request = Request::get(path).header(ACCEPT, accept).body(Vec::new())?;
        let answer = self.client.request_text(request).await.with_context(|| format!("cannot get {path}"))?;
        serde_json::from_str(&answer).with_context(|| format!("{path} is no JSON"))
    }

    /// Its version: `v1.37.0`.
    pub async fn version(&self) -> Result<String> {
        let told = self.get("/version", JSON).await?;
        Ok(told["gitVersion"].as_str().unwrap_or_default().to_owned())
    }

    /// Aggregated discovery: `core` and `groups`.
    pub async fn discovery(&self) -> Result<Value> {
        Ok(json!({"core": self.get("/api", DISCOVERY).await?, "groups": self.get("/apis", DISCOVERY).await?}))
    }

    /// The schemas of all kinds, by name.
    pub async fn schemas(&self) -> Result<Value> {
        let index = self.get("/openapi/v3", JSON).await?;
        let documents = index["paths"].as_object().context("/openapi/v3 names no paths")?;
        let mut schemas = Map::new();
        // Documents of versions alone: `api/v1`, `apis/apps/v1`. The others tell how to find those.
        let of_version = |name: &str| match name.split('/').next() {
            Some("api") => name.matches('/').count() == 1,
            Some("apis") => name.matches('/').count() == 2,
            _ => false,
        };
        for (_, document) in documents.iter().filter(|(name, _)| of_version(name)) {
            let path = document["serverRelativeURL"].as_str().context("a document without a path")?;
            let read = self.get(path, JSON).await?;
            schemas.extend(read["components"]["schemas"].as_object().cloned().unwrap_or_default());
        }
        Ok(Value::Object(schemas))
    }

    /// The heads of the tables of all kinds that can be listed, by resource. They are the same for all versions.
    pub async fn columns(&self, discovery: &Value) -> Result<Value> {
        let mut columns = Map::new();
        for version in versions(discovery) {
            let listable = version.resources.iter().filter(|resource| {
                resource["verbs"].as_array().is_some_and(|verbs| verbs.contains(&json!("list")))
            });
            for plural in listable.filter_map(|resource| resource["resource"].as_str()) {
                let resource = match version.group {
                    "" => plural.to_owned(),
                    group => format!("{plural}.{group}"),
                };
                if !columns.contains_key(&resource) {
                    let path = format!("{}/{plural}?limit=1&includeObject=None", version.path());
                    let mut table = self.get(&path, TABLE).await?;
                    columns.insert(resource, table["columnDefinitions"].take());
                }
            }
        }
        Ok(Value::Object(columns))
    }
}

/// A version of a group.
pub struct Version<'a> {
    /// The group; empty for the core.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    resources: &'a [Value],
}

impl Version<'_> {
    fn path(&self) -> String {
        match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

/// All versions of all groups, as discovery tells.
pub fn versions(discovery: &Value) -> impl Iterator<Item = Version<'_>> {
    let groups = items(&discovery["core"], "items").iter().chain(items(&discovery["groups"], "items"));
    groups.flat_map(move |group| {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        items(group, "versions").iter().map(move |version| Version {
            group: name,
            version: version["version"].as_str().unwrap_or_default(),
            resources: items(version, "resources"),
        })
    })
}

fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}
