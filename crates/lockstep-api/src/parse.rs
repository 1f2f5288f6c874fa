//! Text in, a checked set out, or everything that is wrong with it.

use k8s_openapi::Resource;
use serde_json::Value;

use crate::budget::PodUnavailableBudget;
use crate::findings::Findings;
use crate::lockstep_set::{API_VERSION, KIND, LockstepSet};
use crate::problem::Problem;
use crate::valid::Valid;
use crate::yaml::{self, Data, Node};
use crate::{decode, validate};

/// A set that was read and checked, and what deserves a word nevertheless.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The set, defaults filled in.
    pub set: Valid,
    /// What is accepted but probably not meant.
    pub warnings: Vec<Problem>,
}

/// Reads a manifest in YAML or JSON. It holds one LockstepSet; objects of other kinds beside it are passed
/// over with a warning. The items of a `kind: List` count as documents.
pub fn parse(text: &str) -> Result<Parsed, Vec<Problem>> {
    let documents = yaml::objects(text).map_err(|problem| vec![problem])?;
    let (node, warnings) = the_set(&documents)?;
    let mut parsed = parse_node(node)?;
    parsed.warnings.splice(0..0, warnings);
    Ok(parsed)
}

/// Reads a manifest that is JSON already, as an API server sends it.
pub fn parse_json(value: &Value) -> Result<Parsed, Vec<Problem>> {
    parse_node(&Node::from(value))
}

/// Checks a set that was put together in code.
pub fn check(set: &LockstepSet) -> Result<Parsed, Vec<Problem>> {
    match serde_json::to_value(set) {
        Ok(value) => parse_json(&value),
        Err(error) => Err(vec![Problem::of_file(error.to_string(), None)]),
    }
}

fn parse_node(node: &Node) -> Result<Parsed, Vec<Problem>> {
    let mut found = Findings::new(node);
    let set = decode::set(node, &mut found);
    if let Some(set) = &set {
        validate::check(set, &mut found);
    }
    let warnings = found.close()?;
    match set {
        Some(set) => Ok(Parsed { set: Valid::new(set), warnings }),
        None => Err(vec![Problem::of_file("no LockstepSet could be read", None)]),
    }
}

/// The one document that is a LockstepSet.
fn the_set(documents: &[Node]) -> Result<(&Node, Vec<Problem>), Vec<Problem>> {
    match documents {
        [] => {
            let message = format!("nothing in it; a {KIND} ({API_VERSION}) is expected");
            return Err(vec![Problem::of_file(message, None)]);
        }
        [only] => return Ok((only, Vec::new())),
        _ => {}
    }
    let mut set: Option<(usize, &Node)> = None;
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for (i, node) in documents.iter().enumerate() {
        let line = Some(node.line).filter(|line| *line > 0);
        let document = format!("document {}", i + 1);
        match (what(node), set) {
            (What::Set, None) => set = Some((i, node)),
            (What::Set, Some((first, _))) => {
                let message = format!("{document}: a second {KIND}; document {} is one already", first + 1);
                errors.push(Problem::of_file(message, line));
            }
            // Whoever cares for budgets reads them too.
            (What::Other(PodUnavailableBudget::KIND), _) => {}
            (What::Other(kind), _) => {
                warnings.push(Problem::of_file(format!("{document}: a {kind}; passed over"), line));
            }
            (What::Nothing, _) => {
                let message =
                    format!("{document}: not a Kubernetes object: apiVersion and kind are required");
                errors.push(Problem::of_file(message, line));
            }
        }
    }
    match set {
        Some((_, node)) if errors.is_empty() => Ok((node, warnings)),
        None if errors.is_empty() => {
            let message = format!("no {KIND} ({API_VERSION}) among its {} documents", documents.len());
            Err(vec![Problem::of_file(message, None)])
        }
        _ => Err(errors),
    }
}

enum What<'a> {
    Set,
    Other(&'a str),
    Nothing,
}

fn what(node: &Node) -> What<'_> {
    let Data::Map(_) = node.data else { return What::Nothing };
    let text = |key| node.get(key).and_then(Node::as_text);
    match (text("apiVersion"), text("kind")) {
        // A misspelt kind of ours is an error of ours to report.
        (Some(version), _) if version.starts_with("lockstep.dev/") => What::Set,
        (_, Some(KIND)) => What::Set,
        (Some(_), Some(kind)) => What::Other(kind),
        _ => What::Nothing,
    }
}
