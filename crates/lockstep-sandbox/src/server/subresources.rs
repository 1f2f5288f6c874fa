//! Parts of objects with paths of their own.

mod binding;
mod eviction;
mod scale;

use crate::refusal::{About, Refusal};
use crate::request::{Method, Writes};

use super::modify::{carry, check_identity, owners};
use super::render::{Look, Response};
use super::routes::Target;
use super::{Answer, Step, Turn};

impl Turn<'_> {
    pub(super) fn part(&mut self, target: &Target, part: &str) -> Step<Answer> {
        let Some(served) = target.kind.subresource(part) else {
            return Err(match target.kind.schema {
                Some(_) => Refusal::no_such_path(),
                None => Refusal::not_found(target.about(target.name.as_deref().unwrap_or_default())),
            }
            .into());
        };
        let verb = match self.request.method {
            Method::Get => "get",
            Method::Post => "create",
            Method::Put => "update",
            Method::Patch => "patch",
            Method::Delete => "delete",
        };
        if target.kind.namespaced && target.namespace.is_none() {
            return Err(Refusal::no_such_path().into());
        }
        if !served.verbs.iter().any(|served| served == verb) && target.kind.schema.is_none() {
            let About { group, what, .. } = target.about("");
            let message = format!("{verb} is not supported on resources of kind \"{what}.{group}\"");
            return Err(Refusal::method_not_supported(target.about(""), message).into());
        }
        if !served.verbs.iter().any(|served| served == verb) {
            return Err(Refusal::method_not_allowed().into());
        }
        let done = match (part, verb) {
            ("scale", verb) => self.scale(target, verb),
            ("eviction", _) => self.evict(target),
            ("binding", _) => self.bind(target),
            ("finalize", _) => self.finalize(target),
            (_, "get") => self.get(target),
            (_, "update") => self.replace_part(target),
            (_, "patch") => self.patch(target),
            _ => Err(Refusal::method_not_allowed().into()),
        };
        done.map(Answer::Done)
    }

    /// Replaces the status.
    fn replace_part(&mut self, target: &Target) -> Step<Response> {
        self.replace(target)
    }

    /// What keeps a namespace is written here, by those who empty it.
    fn finalize(&mut self, target: &Target) -> Step<Response> {
        let look = Look::of(&target.kind, self.request)?;
        let writes = Writes::read(&self.request.query, "UpdateOptions")?;
        let mut object = self.object_of_body(&target.kind, writes.fields)?;
        self.check_name(target, &object)?;
        let live = self.stored(target)?;
        check_identity(target, &live, &object, writes.dry_run)?;
        carry(&live, &mut object);
        let mut kept = serde_json::Value::clone(&live);
        kept["spec"]["finalizers"] = object["spec"]["finalizers"].clone();
        if kept["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty)
            && let Some(spec) = kept["spec"].as_object_mut()
        {
            spec.remove("finalizers");
        }
        let managers = owners::of_update(&live, &kept);
        let kept = self.owned(target, &live, kept, &managers)?;
        let stored = self.keep_finalized(target, &live, kept, writes.dry_run)?;
        Ok(look.one(200, stored, &self.server.catalogue, self.now))
    }
}
