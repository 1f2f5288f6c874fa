//! One version of a definition.

use std::sync::Arc;

use serde_json::Value;

use super::{list, says, text, there};
use crate::refusal::Cause;
use crate::schema::Schema;
use crate::schema::words::{self, Path};
use crate::server::go_map;

/// One version of a definition.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its name: `v1`.
    pub name: String,
    /// It is served.
    pub served: bool,
    /// Objects are stored in it.
    pub storage: bool,
    /// Who uses it is warned.
    pub deprecated: bool,
    /// In which words; those of Kubernetes if there are none.
    pub deprecation_warning: Option<String>,
    /// What its objects are made of.
    pub schema: Arc<Schema>,
    /// The same, as it was written.
    pub written: Value,
    /// The status is written by a path of its own.
    pub status: bool,
    /// Its objects can be scaled.
    pub scale: Option<Scale>,
    /// What `kubectl get` shows.
    pub columns: Vec<Column>,
    /// Fields that objects can be selected by: `.spec.color`.
    pub selectable: Vec<String>,
}

/// Where objects hold what `scale` reads and writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scale {
    /// How many there shall be: `.spec.replicas`.
    pub spec_replicas: String,
    /// How many there are: `.status.replicas`.
    pub status_replicas: String,
    /// Which they are: `.status.selector`.
    pub label_selector: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub type_name: String,
    /// How values are meant.
    pub format: String,
    /// What it tells.
    pub description: String,
    /// Shown always if it is 0.
    pub priority: i64,
    /// Where its value is.
    pub json_path: String,
}

impl Version {
    pub(super) fn read(version: &Value) -> Self {
        let written = version["schema"]["openAPIV3Schema"].clone();
        let subresources = &version["subresources"];
        let warning = version.get("deprecationWarning").and_then(Value::as_str);
        let paths = list(version, "selectableFields").iter().map(|field| text(field, "jsonPath").to_owned());
        Self {
            name: text(version, "name").to_owned(),
            served: says(version, "served"),
            storage: says(version, "storage"),
            deprecated: says(version, "deprecated"),
            deprecation_warning: warning.map(str::to_owned),
            schema: Arc::new(Schema::read(&written)),
            written,
            status: there(subresources, "status").is_some(),
            scale: there(subresources, "scale").map(Scale::read),
            columns: list(version, "additionalPrinterColumns").iter().map(Column::read).collect(),
            selectable: paths.collect(),
        }
    }

    /// All that is wrong with an object, after what is wrong with its metadata: some of that keeps rules from being
    /// asked.
    pub fn validate_after(&self, metadata: Vec<Cause>, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let scale = self.scale.iter().flat_map(|scale| {
            let spec = scale.validate_replicas(new, &scale.spec_replicas);
            spec.into_iter().chain(scale.validate_status(new))
        });
        let before = metadata.into_iter().chain(scale).collect();
        self.schema.validate_with(new, old, before)
    }

    /// The same for an object of which only the status changes.
    pub fn validate_status_after(&self, metadata: Vec<Cause>, new: &Value, old: &Value) -> Vec<Cause> {
        let scale = self.scale.iter().flat_map(|scale| scale.validate_status(new));
        self.schema.validate_status_with(new, old, metadata.into_iter().chain(scale).collect())
    }
}

impl Scale {
    fn read(scale: &Value) -> Self {
        let selector = scale.get("labelSelectorPath").and_then(Value::as_str);
        Self {
            spec_replicas: text(scale, "specReplicasPath").to_owned(),
            status_replicas: text(scale, "statusReplicasPath").to_owned(),
            label_selector: selector.map(str::to_owned),
        }
    }

    fn validate_status(&self, object: &Value) -> Vec<Cause> {
        let mut causes = self.validate_replicas(object, &self.status_replicas);
        if let Some(path) = &self.label_selector
            && let Err(error) = nested(object, path, "string", |value| value.as_str())
        {
            causes.push(words::invalid(&Path::new(path), &"".into(), &error));
        }
        causes
    }

    /// Replicas are counted in numbers that 32 bits can hold.
    fn validate_replicas(&self, object: &Value, path: &str) -> Vec<Cause> {
        let at = Path::new(path);
        let wrong = |number: i64, why: &str| vec![words::invalid(&at, &number.into(), why)];
        match nested(object, path, "int64", Value::as_i64) {
            Err(error) => wrong(0, &error),
            Ok(Some(number)) if number < 0 => wrong(number, "should be a non-negative integer"),
            Ok(Some(number)) if number > i64::from(i32::MAX) => {
                wrong(number, &format!("should be less than or equal to {}", i32::MAX))
            }
            Ok(_) => Vec::new(),
        }
    }
}

/// What lies at a path, if it is what is wanted.
fn nested<'a, T>(
    object: &'a Value,
    path: &str,
    wanted: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, String> {
    let mut at = object;
    let shown = format!(".{}", path.trim_start_matches('.'));
    let wrong = |is: &Value, wanted: &str| {
        format!("{shown} accessor error: {} is of the type {}, expected {wanted}", go_map(is), go_type(is))
    };
    for name in path.trim_start_matches('.').split('.') {
        if at.is_null() {
            return Ok(None);
        }
        let map = at.as_object().ok_or_else(|| wrong(at, "map[string]interface{}"))?;
        match map.get(name) {
            Some(value) => at = value,
            None => return Ok(None),
        }
    }
    read(at).map(Some).ok_or_else(|| wrong(at, wanted))
}

/// The type Go has for a value of JSON.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
    }
}

impl Column {
    fn read(column: &Value) -> Self {
        Self {
            name: text(column, "name").to_owned(),
            type_name: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: text(column, "description").to_owned(),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
            json_path: text(column, "jsonPath").to_owned(),
        }
    }
}
