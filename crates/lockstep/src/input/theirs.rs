//! Manifests of other projects: read with their dialect, and with the other objects of the same file around them.

use lockstep_api::{Document, Problem};
use lockstep_dialects::{Dialect, Kind, Lowered, Places, Served, World};
use serde_json::Value;

use super::complaint::{BadInput, Complaint};
use super::manifest::Manifest;

/// Where an object of another project stands in its file, and where its user wrote what.
#[derive(Debug)]
pub struct Theirs {
    document: Document,
    places: Places,
    /// What stands beside the set.
    pub beside: Vec<Value>,
}

impl Theirs {
    /// What is to be said of the set, said of the manifest.
    pub fn told(&self, problem: &Problem) -> Problem {
        let problem = self.places.translate(problem);
        Problem { line: self.document.line_of(&problem.path), ..problem }
    }
}

/// The objects of a file that become sets, each read or refused; nothing if there is none.
pub fn read(file: &str, text: &str) -> Option<Vec<Result<Manifest, BadInput>>> {
    let documents = Document::all(text).ok()?;
    let values: Vec<Value> = documents.iter().map(Document::to_json).collect();
    let mut all = Vec::new();
    for (document, value) in documents.iter().zip(&values) {
        let Some((dialect, _)) = lockstep_dialects::of(value) else { continue };
        all.push(manifest((file, text), document, value, dialect, &world(dialect, &values)));
    }
    (!all.is_empty()).then_some(all)
}

/// Whether an object is of a kind that some dialect has.
pub fn is_known(object: &Value) -> bool {
    kind_of(object).is_some()
}

fn kind_of(object: &Value) -> Option<&'static Kind> {
    let kinds = lockstep_dialects::ALL.into_iter().flat_map(|dialect| dialect.kinds());
    kinds.into_iter().find(|kind| kind.is_of(object))
}

/// The other objects of the dialect. What the cluster will be able to do nobody knows here: everything.
fn world(dialect: &dyn Dialect, values: &[Value]) -> World {
    let other = |value: &&Value| dialect.kinds().iter().any(|kind| !kind.becomes_set && kind.is_of(value));
    let objects = values.iter().filter(other).cloned().collect();
    World { objects, served: Served { pod_groups: true, volcano: true, pod_gangs: true }, partial: true }
}

fn manifest(
    (file, text): (&str, &str),
    document: &Document,
    value: &Value,
    dialect: &dyn Dialect,
    world: &World,
) -> Result<Manifest, BadInput> {
    let placed = |problem: Problem| Problem { line: document.line_of(&problem.path), ..problem };
    match dialect.lower(value, world) {
        Ok(Lowered { set, beside, places, warnings }) => {
            let warnings = warnings.into_iter().map(|it| Complaint::warning(file, placed(it))).collect();
            let spec = lockstep_api::lower(&set);
            let theirs = Some(Theirs { document: document.clone(), places, beside });
            Ok(Manifest { file: file.to_owned(), text: text.to_owned(), set, spec, warnings, theirs })
        }
        Err(problems) => {
            let errors = problems.into_iter().map(|it| Complaint::error(file, placed(it)));
            let warnings = dialect.warnings(value, world).into_iter();
            Err(BadInput(errors.chain(warnings.map(|it| Complaint::warning(file, placed(it)))).collect()))
        }
    }
}
