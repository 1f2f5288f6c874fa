//! What a path of the API means: which resource, in which namespace, which object of it.

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: all other groups.
    Groups,
    /// `/apis/{group}`: the versions of a group.
    Group(String),
    /// `/api/v1`, `/apis/{group}/{version}`: the resources of a version.
    Version(GroupVersion),
    /// A resource, or one of its objects.
    Resource(ResourcePath),
    /// `/openapi/v3`, `/version`, `/readyz` and the like, without the first slash.
    Other(String),
}

/// A group (empty for the core) and a version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupVersion {
    /// The group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
}

impl std::fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.version),
            group => write!(f, "{group}/{}", self.version),
        }
    }
}

/// A resource, or one of its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePath {
    /// Group and version.
    pub of: GroupVersion,
    /// The namespace, if one is named.
    pub namespace: Option<String>,
    /// The resource: `pods`.
    pub plural: String,
    /// The object, if one is named.
    pub name: Option<String>,
    /// What of the object: `status`, `scale`.
    pub subresource: Option<String>,
}

impl Place {
    /// Reads a path, percent-decoded and without the query.
    pub fn read(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (of, rest) = match parts.as_slice() {
            ["api"] => return Self::CoreVersions,
            ["apis"] => return Self::Groups,
            ["apis", group] => return Self::Group((*group).to_owned()),
            ["api", version, rest @ ..] => (("", *version), rest),
            ["apis", group, version, rest @ ..] => ((*group, *version), rest),
            _ => return Self::Other(parts.join("/")),
        };
        let of = GroupVersion { group: of.0.to_owned(), version: of.1.to_owned() };
        let text = |part: &str| part.to_owned();
        let (namespace, plural, name, subresource) = match rest {
            [] => return Self::Version(of),
            // A namespace is a resource too, and has subresources of its own.
            ["namespaces"] => (None, "namespaces", None, None),
            ["namespaces", name] => (None, "namespaces", Some(*name), None),
            ["namespaces", name, sub @ ("status" | "finalize")] => {
                (None, "namespaces", Some(*name), Some(*sub))
            }
            ["namespaces", namespace, plural] => (Some(*namespace), *plural, None, None),
            ["namespaces", namespace, plural, name] => (Some(*namespace), *plural, Some(*name), None),
            ["namespaces", namespace, plural, name, sub] => {
                (Some(*namespace), *plural, Some(*name), Some(*sub))
            }
            [plural] => (None, *plural, None, None),
            [plural, name] => (None, *plural, Some(*name), None),
            [plural, name, sub] => (None, *plural, Some(*name), Some(*sub)),
            _ => return Self::Other(parts.join("/")),
        };
        Self::Resource(ResourcePath {
            of,
            namespace: namespace.map(text),
            plural: plural.to_owned(),
            name: name.map(text),
            subresource: subresource.map(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> String {
        match Place::read(path) {
            Place::Resource(at) => {
                let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                let (group, version) = (at.of.group, at.of.version);
                let rest = [or(at.namespace), at.plural, or(at.name), or(at.subresource)].join(" ");
                format!("{group}/{version} {rest}")
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn what_paths_mean() {
        for (path, meaning) in [
            ("/api", "CoreVersions"),
            ("/apis/", "Groups"),
            ("/apis/apps", "Group(\"apps\")"),
            ("/api/v1", "Version(GroupVersion { group: \"\", version: \"v1\" })"),
            ("/api/v1/pods", "/v1 - pods - -"),
            ("/api/v1/nodes/n/status", "/v1 - nodes n status"),
            ("/api/v1/namespaces", "/v1 - namespaces - -"),
            ("/api/v1/namespaces/a", "/v1 - namespaces a -"),
            ("/api/v1/namespaces/a/finalize", "/v1 - namespaces a finalize"),
            ("/api/v1/namespaces/a/pods", "/v1 a pods - -"),
            ("/api/v1/namespaces/a/pods/x/eviction", "/v1 a pods x eviction"),
            ("/apis/apps/v1/namespaces/a/deployments/x/scale", "apps/v1 a deployments x scale"),
            ("/openapi/v3/api/v1", "Other(\"openapi/v3/api/v1\")"),
            ("/readyz", "Other(\"readyz\")"),
            ("/apis/a/v1/b/c/d/e/f/g", "Other(\"apis/a/v1/b/c/d/e/f/g\")"),
        ] {
            assert_eq!(shown(path), meaning, "{path}");
        }
    }
}
