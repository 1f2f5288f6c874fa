//! Where requests go.

use std::sync::Arc;

use serde_json::json;

use crate::kinds::Kind;
use crate::path::{Place, ResourcePath};
use crate::refusal::{About, Refusal};
use crate::request::Method;

use super::render::FORMS;
use super::{Answer, Body, Response, Step, Turn};

/// A request for a resource, or for one of its objects.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub kind: Arc<Kind>,
    /// The namespace that is named.
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub subresource: Option<String>,
}

impl Target {
    /// As refusals name the resource.
    pub fn about<'a>(&'a self, name: &'a str) -> About<'a> {
        About { group: &self.kind.of.group, what: &self.kind.plural, name }
    }

    /// As refusals name the kind.
    pub fn about_kind<'a>(&'a self, name: &'a str) -> About<'a> {
        About { group: &self.kind.of.group, what: &self.kind.kind, name }
    }

    /// The same object, without its part.
    pub fn whole(&self) -> Self {
        Self { subresource: None, ..self.clone() }
    }

    /// The namespace objects lie in; empty for none.
    pub fn space(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

/// What goes into no body of ours: a real server stops reading at some three megabytes too.
const LARGEST: usize = 3 * 1024 * 1024;

impl Turn<'_> {
    pub(super) fn route(&mut self) -> Step<Answer> {
        if self.request.body.len() > LARGEST {
            return Err(Refusal::too_large(LARGEST).into());
        }
        match Place::read(&self.request.path) {
            Place::Resource(path) => self.resource(path),
            Place::Other(path) if path.starts_with("api/") || path.starts_with("apis/") => {
                self.too_deep(&path)
            }
            place if self.request.method == Method::Get => Ok(Answer::Done(self.page(place)?)),
            Place::Other(path) if path != "version" => Ok(Answer::Done(self.other_page(&path))),
            _ => Err(Refusal::method_not_allowed().into()),
        }
    }

    /// More than a path of a resource ever has.
    fn too_deep(&mut self, path: &str) -> Step<Answer> {
        let parts: Vec<&str> = path.split('/').collect();
        let ["apis", group, version, "namespaces", _, plural, name, ..] = parts.as_slice() else {
            return Err(Refusal::no_such_path().into());
        };
        let of = crate::path::GroupVersion { group: (*group).to_owned(), version: (*version).to_owned() };
        match self.server.catalogue.find(&of, plural) {
            Some(kind) if kind.schema.is_none() => {
                self.warnings.extend(self.server.catalogue.deprecation(&kind));
                Err(Refusal::not_found(About { group, what: plural, name }).into())
            }
            _ => Err(Refusal::no_such_path().into()),
        }
    }

    /// Whatever is no resource.
    fn page(&mut self, place: Place) -> Step<Response> {
        match place {
            Place::Groups | Place::Group(_) if self.accepts_nothing() => Err(Refusal::no_such_form().into()),
            _ if self.accepts_nothing() && !matches!(place, Place::Other(_)) => {
                Err(Refusal::not_acceptable(FORMS).into())
            }
            Place::CoreVersions => Ok(self.core_versions()),
            Place::Groups => Ok(self.groups()),
            Place::Group(group) => Ok(self.group(&group)),
            Place::Version(of) => self.version(&of),
            Place::Other(path) => Ok(self.other_page(&path)),
            Place::Resource(_) => Err(Refusal::no_such_path().into()),
        }
    }

    /// None of the forms the client accepts can be written here.
    fn accepts_nothing(&self) -> bool {
        let known = |form: &str| {
            matches!(form, "" | "*/*" | "application/*" | "application/json" | "application/yaml")
                || form == "application/vnd.kubernetes.protobuf"
        };
        !self.request.accept.split(',').any(|form| known(form.split(';').next().unwrap_or_default().trim()))
    }

    fn other_page(&mut self, path: &str) -> Response {
        match path {
            "" => {
                let paths =
                    json!(["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]);
                Response::new(200, Body::Made(json!({"paths": paths})))
            }
            "version" => Response::new(200, Body::Made(version())),
            "healthz" | "livez" | "readyz" => Response::new(200, Body::Text("ok".to_owned())),
            "openapi/v2" => self.openapi_of_old(),
            "openapi/v3" => self.openapi_index(),
            path => match path.strip_prefix("openapi/v3/") {
                Some(of) => self.openapi_document(of),
                None => Response::no_page(),
            },
        }
    }

    fn resource(&mut self, path: ResourcePath) -> Step<Answer> {
        let is_built_in = self.server.catalogue.is_built_in(&path.of.group);
        let nowhere = || match is_built_in {
            true => Err(Refusal::no_such_path().into()),
            false => Ok(Answer::Done(Response::no_page())),
        };
        let Some(kind) = self.server.catalogue.find(&path.of, &path.plural) else { return nowhere() };
        let ResourcePath { namespace, name, subresource, .. } = path;
        let placed = namespace.is_some() == kind.namespaced;
        if namespace.is_some() && !kind.namespaced
            || !is_built_in && !placed && (name.is_some() || !self.reads())
        {
            return nowhere();
        }
        self.warnings.extend(self.server.catalogue.deprecation(&kind));
        let target = Target { kind, namespace, name, subresource };
        match target.subresource.clone() {
            Some(part) => self.part(&target, &part),
            None => self.object(&target),
        }
    }

    fn reads(&self) -> bool {
        matches!(self.request.method, Method::Get | Method::Delete)
    }

    fn object(&mut self, target: &Target) -> Step<Answer> {
        let kind = &target.kind;
        let verb = match (kind.schema.is_none(), self.request.method, &target.name) {
            // Custom kinds are served by another hand, which asks for a name later, or not at all.
            (true, Method::Put | Method::Patch, None) => {
                return Err(Refusal::bad_request("name must be provided").into());
            }
            (true, Method::Post, Some(_)) => "create",
            _ => self.verb(target),
        };
        // An object of a namespaced kind has no path outside of its namespace.
        let placed = !kind.namespaced || target.namespace.is_some();
        if target.name.is_some() && !placed {
            return Err(Refusal::no_such_path().into());
        }
        let in_a_place = match verb {
            "create" => !is_asked_only(kind),
            verb => verb == "deletecollection",
        };
        if !kind.allows(verb) || (in_a_place && !placed) {
            return Err(Refusal::method_not_allowed().into());
        }
        match verb {
            "create" if is_asked_only(kind) => Ok(Answer::Done(self.review(target)?)),
            "create" if &*kind.plural == "bindings" => Ok(Answer::Done(self.bind_by_name(target)?)),
            "create" => Ok(Answer::Done(self.create(target)?)),
            "get" => Ok(Answer::Done(self.get(target)?)),
            "list" => Ok(Answer::Done(self.list(target)?)),
            "watch" => Ok(Answer::Watch(Box::new(self.watch(target)?))),
            "update" => Ok(Answer::Done(self.replace(target)?)),
            "patch" => Ok(Answer::Done(self.patch(target)?)),
            "delete" => Ok(Answer::Done(self.delete(target)?)),
            _ => Ok(Answer::Done(self.delete_many(target)?)),
        }
    }

    /// What is to be done, in one word.
    pub(super) fn verb(&self, target: &Target) -> &'static str {
        match (self.request.method, target.name.is_some()) {
            (Method::Get, true) => "get",
            (Method::Get, false) if self.request.query.says("watch") => "watch",
            (Method::Get, false) => "list",
            (Method::Post, false) => "create",
            (Method::Put, true) => "update",
            (Method::Patch, true) => "patch",
            (Method::Delete, true) => "delete",
            (Method::Delete, false) => "deletecollection",
            _ => "none",
        }
    }
}

/// Answered, and not kept.
fn is_asked_only(kind: &Kind) -> bool {
    kind.verbs == ["create"] && &*kind.plural != "bindings"
}

fn version() -> serde_json::Value {
    json!({
        "major": "1", "minor": "37", "gitVersion": "v1.37.0", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "lockstep/sandbox",
        "emulationMajor": "1", "emulationMinor": "37", "minCompatibilityMajor": "1", "minCompatibilityMinor": "36",
    })
}
