//! Paths into objects: `spec.strategy.rollingUpdate.maxSurge`.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A path of field names, with dots between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path(Cow<'static, str>);

/// A text is no path.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no path of field names with dots between them, such as spec.template")]
pub struct NotAPath(pub String);

impl Path {
    /// A path that we wrote ourselves.
    pub(crate) const fn known(path: &'static str) -> Self {
        Self(Cow::Borrowed(path))
    }

    /// The names along the way.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }

    /// What stands there.
    pub fn get<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.names().try_fold(object, |at, name| at.get(name)).filter(|it| !it.is_null())
    }

    /// Puts a value there. What is in the way and is no object gives way.
    pub fn set(&self, object: &mut Value, value: Value) {
        let mut at = object;
        for name in self.names() {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[name];
        }
        *at = value;
    }

    /// Takes away what stands there.
    pub fn remove(&self, object: &mut Value) {
        let (parents, last) = self.0.rsplit_once('.').unwrap_or(("", &self.0));
        let parents = parents.split('.').filter(|it| !it.is_empty());
        if let Some(Value::Object(parent)) = { parents }.try_fold(object, |at, name| at.get_mut(name)) {
            parent.remove(last);
        }
    }

    /// Puts there what stands there in another object, or nothing.
    pub fn copy(&self, from: &Value, to: &mut Value) {
        match self.get(from) {
            Some(value) => self.set(to, value.clone()),
            None => self.remove(to),
        }
    }

    /// What a value that is put at `pointer` puts here: itself, or a part of it.
    pub fn within<'a>(&self, pointer: &str, value: &'a Value) -> Option<&'a Value> {
        let above = pointer.split('/').filter(|it| !it.is_empty()).count();
        let mut below = self.names().skip(above);
        let found = below.try_fold(value, |at, name| at.get(name));
        found.filter(|it| self.is_touched_by(pointer) && self.names().count() >= above && !it.is_null())
    }

    /// Whether a change at `pointer` (`/spec/strategy/type`) may change what stands here.
    pub fn is_touched_by(&self, pointer: &str) -> bool {
        let touched = pointer.trim_start_matches('/').split('/').filter(|it| !it.is_empty());
        touched.zip(self.names()).all(|(theirs, ours)| theirs == ours)
    }
}

impl TryFrom<String> for Path {
    type Error = NotAPath;

    fn try_from(text: String) -> Result<Self, NotAPath> {
        let is_name = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if text.split('.').all(is_name) { Ok(Self(Cow::Owned(text))) } else { Err(NotAPath(text)) }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(text: &str) -> Path {
        Path::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn values_are_found_put_and_taken_away() {
        let mut object = json!({"spec": {"replicas": 3, "strategy": null}});
        assert_eq!(path("spec.replicas").get(&object), Some(&json!(3)));
        assert_eq!(path("spec.strategy").get(&object), None);
        path("spec.strategy.rollingUpdate.maxSurge").set(&mut object, json!("10%"));
        assert_eq!(object["spec"]["strategy"]["rollingUpdate"]["maxSurge"], "10%");
        path("spec.strategy.rollingUpdate").remove(&mut object);
        path("spec.nothing.here").remove(&mut object);
        assert_eq!(object, json!({"spec": {"replicas": 3, "strategy": {}}}));
        path("spec.replicas").copy(&json!({}), &mut object);
        assert_eq!(object["spec"].get("replicas"), None);
    }

    #[test]
    fn a_change_above_or_below_touches_a_path() {
        let surge = path("spec.strategy.rollingUpdate.maxSurge");
        for touching in ["/spec/strategy", "/spec/strategy/rollingUpdate/maxSurge", "", "/spec"] {
            assert!(surge.is_touched_by(touching), "{touching}");
        }
        for other in ["/spec/strategy/rollingUpdate/maxUnavailable", "/metadata/labels/a", "/spec/replicas"] {
            assert!(!surge.is_touched_by(other), "{other}");
        }
    }

    #[test]
    fn a_value_that_is_put_above_is_one_here() {
        let surge = path("spec.strategy.rollingUpdate.maxSurge");
        let above = json!({"rollingUpdate": {"maxSurge": 3}});
        for (pointer, value, found) in [
            ("/spec/strategy/rollingUpdate/maxSurge", json!("10%"), Some(json!("10%"))),
            ("/spec/strategy", above.clone(), Some(json!(3))),
            ("/spec/strategy", json!({"type": "RollingUpdate"}), None),
            ("/spec/strategy/rollingUpdate/maxSurge", Value::Null, None),
            ("/spec/template", above.clone(), None),
            ("/spec/strategy/rollingUpdate/maxSurge/deeper", json!(3), None),
        ] {
            assert_eq!(surge.within(pointer, &value), found.as_ref(), "{pointer} {value}");
        }
    }

    #[test]
    fn what_is_no_path_says_so() {
        for wrong in ["", "spec..template", "spec.containers[0]", ".spec", "spec template"] {
            assert_eq!(Path::try_from(wrong.to_owned()), Err(NotAPath(wrong.to_owned())));
        }
    }
}
