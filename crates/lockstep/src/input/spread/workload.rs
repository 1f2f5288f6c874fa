//! A resource template that is to be rolled over clusters.

use lockstep_api::Document;
use lockstep_core::align::Kind;
use lockstep_core::number::IntOrPercent;
use lockstep_core::simulate::federation::Modelled;
use lockstep_federation::interpret::{self, Interpretation};
use lockstep_federation::path::Path;
use lockstep_federation::{ALIGNED, ROLLOUT};
use serde_json::Value;

use super::super::complaint::{BadInput, Complaint};
use super::{Found, error};
use crate::show::words;

/// One, found to be right.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The file it is from.
    pub file: String,
    /// Its name.
    pub name: String,
    /// How it is read.
    pub kind: &'static Interpretation,
    /// Itself.
    pub object: Value,
    /// What deserves a word.
    pub warnings: Vec<Complaint>,
    document: Document,
}

impl Workload {
    /// `deployment/web`.
    pub fn called(&self) -> String {
        format!("{}/{}", self.kind.kind.to_lowercase(), self.name)
    }

    /// How many pods there are to be.
    pub fn replicas(&self) -> u32 {
        self.kind.replicas(&self.object)
    }

    /// Something is wrong with a field.
    pub fn wrong(&self, path: &str, message: impl Into<String>) -> BadInput {
        BadInput(vec![problem(&self.file, &self.document, &self.object, path, message.into())])
    }

    /// The model of its kind.
    pub fn model(&self) -> Result<Modelled, BadInput> {
        Modelled::of(self.kind.like).ok_or_else(|| {
            let modelled = interpret::built_in().iter().filter(|it| Modelled::of(it.like).is_some());
            let names: Vec<&str> = modelled.map(|it| it.kind.as_str()).collect();
            let accepted = words::list(&names);
            self.wrong("kind", format!("rollouts over clusters are played for {accepted}"))
        })
    }

    /// Whether it is another workload.
    pub fn differs_from(&self, other: &Self) -> Option<Complaint> {
        let same = self.name == other.name && self.kind.kind == other.kind.kind;
        (!same).then(|| {
            let message = format!(
                "this is {}, but {} is {}: both must be the same workload",
                self.called(),
                other.file,
                other.called()
            );
            Complaint::of_file(&self.file, message)
        })
    }
}

/// The one workload of the files that are wished for.
pub fn only(file: &str, found: &Found) -> Result<Workload, BadInput> {
    if let Some(workload) = at_most_one(found)? {
        return Ok(workload);
    }
    let kinds: Vec<String> =
        interpret::built_in().iter().map(|it| format!("{} ({})", it.kind, it.api_version)).collect();
    let there = match &found.others[..] {
        [] => String::new(),
        others => format!("; there is {}", words::list(others)),
    };
    let message = format!("holds no workload that can be aligned{there}; accepted: {}", words::list(&kinds));
    Err(BadInput(vec![Complaint::of_file(file, message)]))
}

/// The workload of some files, if there is one.
pub fn at_most_one(found: &Found) -> Result<Option<Workload>, BadInput> {
    match &found.workloads[..] {
        [] => Ok(None),
        [(file, document, value)] => check(file, document, value).map(Some),
        [_, (file, document, value), ..] => {
            let message = "one workload is expected, and another stands before it".to_owned();
            Err(BadInput(vec![problem(file, document, value, "metadata.name", message)]))
        }
    }
}

fn check(file: &str, document: &Document, value: &Value) -> Result<Workload, BadInput> {
    let Some(kind) = interpret::of(value) else {
        return Err(BadInput(vec![Complaint::of_file(file, "is of no kind that can be aligned")]));
    };
    let mut wrong = Vec::new();
    let mut refuse = |path: &str, message: String| wrong.push(problem(file, document, value, path, message));
    let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if name.is_empty() {
        refuse("metadata.name", "is required".to_owned());
    }
    let replicas = kind.replicas.get(value);
    if replicas.is_some_and(|it| it.as_u64().and_then(|n| u32::try_from(n).ok()).is_none()) {
        refuse(&kind.replicas.to_string(), "must be a whole number from 0 up".to_owned());
    }
    for path in &kind.template {
        if path.get(value).is_none() && kind.like != Kind::LockstepSet {
            refuse(&path.to_string(), "is required".to_owned());
        }
    }
    for (field, path) in kind.strategy_paths() {
        let said = path.get(value);
        let flag = field == interpret::Field::Paused;
        match said {
            Some(said) if flag && !said.is_boolean() => {
                refuse(&path.to_string(), "must be true or false".to_owned());
            }
            Some(said) if !flag && !is_number(said) => {
                let accepted = "must be a whole number from 0 up or a percentage such as 25%";
                refuse(&path.to_string(), accepted.to_owned());
            }
            _ => {}
        }
    }
    if !kind.rolls(value) {
        let strategy = if kind.like == Kind::Deployment { "spec.strategy" } else { "spec.updateStrategy" };
        let message = "does not roll, so there is nothing to align; accepted: RollingUpdate";
        refuse(&format!("{strategy}.type"), message.to_owned());
    }
    let asked = format!("metadata.annotations.{ROLLOUT}");
    let said = value["metadata"]["annotations"][ROLLOUT].as_str();
    if let Some(other) = said.filter(|it| *it != ALIGNED) {
        let message = format!("{other:?}: keeps it out of what is aligned; accepted: {ALIGNED}");
        refuse(&asked, message);
    }
    if !wrong.is_empty() {
        return Err(BadInput(wrong));
    }
    let (object, document, file) = (value.clone(), document.clone(), file.to_owned());
    Ok(Workload { file, name, kind, object, warnings: Vec::new(), document })
}

fn is_number(value: &Value) -> bool {
    serde_json::from_value::<IntOrPercent>(value.clone()).is_ok()
}

fn problem(file: &str, document: &Document, value: &Value, path: &str, message: String) -> Complaint {
    let said = Path::try_from(path.to_owned()).ok().and_then(|path| path.get(value).cloned());
    let said = said.filter(|it| !(it.is_null() || it.is_object() || it.is_array()));
    error(file, document, path, said.map(|it| it.to_string()), message)
}
