//! Parts of objects with paths of their own.

mod binding;
mod eviction;
mod scale;

use crate::refusal::{About, Refusal};
use crate::request::Method;

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
            (_, "get") => self.get(target),
            (_, "update") => self.replace(target),
            (_, "patch") => self.patch(target),
            _ => Err(Refusal::method_not_allowed().into()),
        };
        done.map(Answer::Done)
    }
}
