//! A request to an API server, in Kubernetes' words.

use std::fmt;

use http::{HeaderMap, Method, Uri};
use serde::{Deserialize, Serialize};

/// What a request wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads many.
    List,
    /// Follows changes.
    Watch,
    /// Creates an object, or calls a subresource such as an eviction.
    Create,
    /// Replaces an object.
    Update,
    /// Changes an object.
    Patch,
    /// Deletes one object.
    Delete,
    /// Deletes many.
    DeleteCollection,
    /// Anything else, such as `options`.
    Other,
}

impl Verb {
    /// Reads Kubernetes' word for it.
    pub fn parse(word: &str) -> Self {
        match word {
            "get" => Self::Get,
            "list" => Self::List,
            "watch" => Self::Watch,
            "create" => Self::Create,
            "update" => Self::Update,
            "patch" => Self::Patch,
            "delete" => Self::Delete,
            "deletecollection" => Self::DeleteCollection,
            _ => Self::Other,
        }
    }

    /// Kubernetes' word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }

    /// Whether it changes anything.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Patch | Self::Delete | Self::DeleteCollection)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a request is about. Parts it does not have are empty, as in Kubernetes: the core group, the namespace
/// of an object without one, and all but verb and user agent of a request that is not about resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub verb: Verb,
    /// The API group; empty for the core.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The resource, plural; empty for paths such as `/version`.
    pub resource: String,
    /// The subresource, such as `eviction`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object. Of a create, its name is in the body (see [`Request::named_by`]).
    pub name: String,
    /// Who asks, as it calls itself.
    pub user_agent: String,
}

impl Request {
    /// Reads the first lines of a request.
    pub fn parse(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let user_agent = headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
        let mut request = Self {
            verb: verb_of(method),
            group: String::new(),
            version: String::new(),
            resource: String::new(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            user_agent: user_agent.unwrap_or_default().to_owned(),
        };
        let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return request,
        };
        request.group = group.to_owned();
        request.version = version.to_owned();
        request.place(rest);
        request.refine(uri.query().unwrap_or_default());
        request
    }

    /// What stands after group and version.
    fn place(&mut self, parts: &[&str]) {
        let parts = match parts {
            // Older form: /api/v1/watch/pods.
            ["watch", rest @ ..] if !rest.is_empty() => {
                self.verb = Verb::Watch;
                rest
            }
            all => all,
        };
        let object = match parts {
            ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize"] => {
                self.namespace = (*namespace).to_owned();
                parts
            }
            ["namespaces", namespace, rest @ ..] => {
                self.namespace = (*namespace).to_owned();
                rest
            }
            all => all,
        };
        let part = |index: usize| object.get(index).copied().unwrap_or_default().to_owned();
        self.resource = part(0);
        self.name = part(1);
        self.subresource = part(2);
    }

    /// Without a name, a read is a list or a watch, and a delete means all of them.
    fn refine(&mut self, query: &str) {
        if !self.name.is_empty() {
            return;
        }
        let value =
            |key: &str| query.split('&').filter_map(|pair| pair.split_once('=')).find(|(k, _)| *k == key);
        let watching = value("watch").is_some_and(|(_, on)| matches!(on, "true" | "1"));
        self.verb = match self.verb {
            Verb::Get if watching => Verb::Watch,
            Verb::Get => Verb::List,
            Verb::Delete => Verb::DeleteCollection,
            other => other,
        };
        // One object, asked for in a roundabout way: Kubernetes knows its name, too.
        let selector = value("fieldSelector").map(|(_, selector)| selector).unwrap_or_default();
        let name = selector.strip_prefix("metadata.name%3D").or(selector.strip_prefix("metadata.name="));
        if let (Verb::List | Verb::Watch, Some(name)) = (self.verb, name)
            && !name.contains(['%', ','])
        {
            self.name = name.to_owned();
        }
    }

    /// Whether only its body tells the object's name.
    pub fn lacks_name(&self) -> bool {
        self.verb == Verb::Create && self.name.is_empty() && !self.resource.is_empty()
    }

    /// Learns the name from the object in the body, if it is JSON and has one.
    pub fn named_by(&mut self, body: &[u8]) {
        #[derive(Deserialize)]
        struct Named {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            name: Option<String>,
            generate_name: Option<String>,
        }
        if let Ok(Named { metadata }) = serde_json::from_slice(body) {
            self.name = metadata.name.or(metadata.generate_name).unwrap_or_default();
        }
    }

    /// The resource with its subresource, as in `pods/eviction`.
    pub fn target(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

fn verb_of(method: &Method) -> Verb {
    match method.as_str() {
        "GET" | "HEAD" => Verb::Get,
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" => Verb::Delete,
        _ => Verb::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, uri: &str) -> String {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let r = Request::parse(&method, &uri.parse().unwrap(), &HeaderMap::new());
        format!("{} {}|{}|{}|{}|{}", r.verb, r.group, r.version, r.target(), r.namespace, r.name)
    }

    #[test]
    fn paths_are_read_as_kubernetes_reads_them() {
        let table = [
            ("GET", "/api/v1/namespaces/x/pods/y", "get |v1|pods|x|y"),
            ("HEAD", "/api/v1/namespaces/x/pods/y", "get |v1|pods|x|y"),
            ("POST", "/api/v1/namespaces/x/pods/y/eviction", "create |v1|pods/eviction|x|y"),
            ("GET", "/api/v1/namespaces/x/pods", "list |v1|pods|x|"),
            ("GET", "/api/v1/pods", "list |v1|pods||"),
            ("GET", "/api/v1/pods?limit=500&watch=true", "watch |v1|pods||"),
            ("GET", "/api/v1/pods?watch=1", "watch |v1|pods||"),
            ("GET", "/api/v1/pods?watch=false", "list |v1|pods||"),
            ("GET", "/api/v1/pods?allowWatchBookmarks=true", "list |v1|pods||"),
            ("GET", "/api/v1/watch/namespaces/x/pods", "watch |v1|pods|x|"),
            (
                "GET",
                "/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Dy&watch=true",
                "watch |v1|pods|x|y",
            ),
            ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn", "list |v1|pods||"),
            ("POST", "/api/v1/namespaces/x/pods?fieldManager=us", "create |v1|pods|x|"),
            ("DELETE", "/api/v1/namespaces/x/pods/y", "delete |v1|pods|x|y"),
            ("DELETE", "/api/v1/namespaces/x/pods", "deletecollection |v1|pods|x|"),
            ("PUT", "/apis/apps/v1/namespaces/x/deployments/y/scale", "update apps|v1|deployments/scale|x|y"),
            ("PATCH", "/apis/apps/v1/namespaces/x/deployments/y", "patch apps|v1|deployments|x|y"),
            ("GET", "/api/v1/nodes/n", "get |v1|nodes||n"),
            ("PATCH", "/api/v1/nodes/n/status", "patch |v1|nodes/status||n"),
            ("GET", "/api/v1/namespaces", "list |v1|namespaces||"),
            ("POST", "/api/v1/namespaces", "create |v1|namespaces||"),
            ("GET", "/api/v1/namespaces/x", "get |v1|namespaces|x|x"),
            ("PUT", "/api/v1/namespaces/x/finalize", "update |v1|namespaces/finalize|x|x"),
            ("PUT", "/api/v1/namespaces/x/status", "update |v1|namespaces/status|x|x"),
            ("DELETE", "/api/v1/namespaces/x", "delete |v1|namespaces|x|x"),
            (
                "GET",
                "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                "list rbac.authorization.k8s.io|v1|clusterroles||",
            ),
        ];
        for (method, uri, expected) in table {
            assert_eq!(read(method, uri), expected, "{method} {uri}");
        }
    }

    #[test]
    fn paths_without_resources_are_no_resource_requests() {
        for uri in
            ["/version", "/healthz", "/openapi/v3/apis/apps/v1", "/api/v1", "/apis", "/apis/apps/v1", "/"]
        {
            assert_eq!(read("GET", uri), "get ||||", "{uri}");
        }
    }

    #[test]
    fn the_name_of_a_create_is_in_its_body() {
        let table = [
            (r#"{"metadata":{"name":"a"}}"#, "a"),
            (r#"{"metadata":{"generateName":"a-"}}"#, "a-"),
            (r#"{"metadata":{}}"#, ""),
            ("k8s\0 not JSON", ""),
        ];
        let uri = "/api/v1/namespaces/x/pods".parse().unwrap();
        for (body, name) in table {
            let mut request = Request::parse(&Method::POST, &uri, &HeaderMap::new());
            assert!(request.lacks_name());
            request.named_by(body.as_bytes());
            assert_eq!(request.name, name);
        }
    }

    #[test]
    fn words_are_read_back() {
        for word in ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"] {
            assert_eq!(Verb::parse(word).as_str(), word);
        }
        assert_eq!(Verb::parse("options"), Verb::Other);
        assert!(Verb::DeleteCollection.is_write() && !Verb::Watch.is_write());
    }
}
