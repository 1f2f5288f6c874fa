//! Workloads that are spread over clusters, from files: what stands, what is wished for, and how it is split.

mod binding;
pub mod clusters;
pub mod fault_profile;
mod policy;
mod workload;

use lockstep_api::federation::FederationPolicySpec;
use lockstep_api::{Document, Problem};
use lockstep_core::align::{TemplateHash, Wish};
use lockstep_core::simulate::federation::Modelled;
use lockstep_core::simulate::federation::workload::{Template, hash};
use lockstep_federation::{binding as read_binding, pace};
use serde_json::Value;

use self::binding::Binding;
use self::clusters::Clusters;
use self::workload::Workload;
use super::complaint::{BadInput, Complaint};
use super::texts::{Text, Texts};
use crate::show::words;

/// A workload at one time, and where it is to run.
#[derive(Debug, Clone)]
pub struct Side {
    /// The file it is from.
    pub file: String,
    /// The resource template.
    pub object: Value,
    /// What is asked for.
    pub wish: Wish,
}

/// A change of a workload that is spread over clusters.
#[derive(Debug, Clone)]
pub struct Change {
    /// How it is read.
    pub workload: Workload,
    /// Its model.
    pub model: Modelled,
    /// What stands; nothing at a first start.
    pub from: Option<Side>,
    /// What is wished for.
    pub to: Side,
    /// How it goes from one cluster to the next.
    pub policy: FederationPolicySpec,
    /// Templates by their number.
    pub templates: Templates,
    /// What deserves a word.
    pub warnings: Vec<Complaint>,
}

/// The numbers that templates have in the model world.
#[derive(Debug, Clone, Default)]
pub struct Templates(Vec<TemplateHash>);

impl Templates {
    /// The number of a template; a new one if it has none.
    pub fn number(&mut self, of: &TemplateHash) -> Template {
        let at = self.0.iter().position(|it| it == of).unwrap_or_else(|| {
            self.0.push(of.clone());
            self.0.len() - 1
        });
        Template::try_from(at).unwrap_or(Template::MAX)
    }

    /// What the model world calls it.
    pub fn called(&mut self, of: &TemplateHash) -> TemplateHash {
        hash(self.number(of))
    }
}

/// All objects of some files that have to do with it.
#[derive(Debug, Default)]
struct Found {
    workloads: Vec<(String, Document, Value)>,
    bindings: Vec<(String, Document, Value)>,
    policies: Vec<(String, Document, Value)>,
    others: Vec<String>,
}

impl Found {
    fn take(&mut self, text: &Text) -> Result<(), BadInput> {
        let documents = Document::all(&text.text).map_err(|problems| {
            BadInput(problems.into_iter().map(|it| Complaint::error(&text.file, it)).collect())
        })?;
        for document in documents {
            let value = document.to_json();
            let list = match value["kind"].as_str() {
                Some("ResourceBinding") => &mut self.bindings,
                Some("FederationPolicy") => &mut self.policies,
                _ if lockstep_federation::interpret::of(&value).is_some() => &mut self.workloads,
                _ => {
                    self.others.extend(named(&value));
                    continue;
                }
            };
            list.push((text.file.clone(), document, value));
        }
        Ok(())
    }
}

/// `DaemonSet (apps/v1)`.
fn named(value: &Value) -> Option<String> {
    Some(format!("{} ({})", value["kind"].as_str()?, value["apiVersion"].as_str().unwrap_or("no apiVersion")))
}

impl Change {
    /// Reads it, or says everything that is wrong.
    pub fn read(texts: Texts, clusters: Option<&Clusters>) -> Result<Self, BadInput> {
        let (mut before, mut after, mut wrong) = (Found::default(), Found::default(), Vec::new());
        for text in texts.from {
            wrong.extend(text.and_then(|text| before.take(&text)).err().into_iter().flat_map(|bad| bad.0));
        }
        let taken = texts.to.and_then(|text| after.take(&text).map(|()| text.file));
        let file = taken.map_err(|bad| wrong.extend(bad.0)).unwrap_or_default();
        if !wrong.is_empty() {
            return Err(BadInput(wrong));
        }
        let to = workload::only(&file, &after)?;
        let from = workload::at_most_one(&before)?;
        if let Some(bad) = from.as_ref().and_then(|from| to.differs_from(from)) {
            return Err(BadInput(vec![bad]));
        }
        let model = to.model()?;
        let warned = |it: &Workload| it.warnings.clone();
        let mut warnings: Vec<Complaint> = from.iter().flat_map(warned).chain(to.warnings.clone()).collect();
        let policy = policy::read(&before, &after, &to, &mut warnings)?;
        let (old, new) = binding::pair(&before, &after, from.as_ref(), &to, clusters)?;
        let mut templates = Templates::default();
        let mut side = |it: &Workload, split: &Binding| {
            let mut wish = read_binding::wish(it.kind, &it.object, &split.object, policy.split.into());
            wish.template = templates.called(&wish.template);
            pace::order(&policy, &mut wish.clusters);
            Side { file: it.file.clone(), object: it.object.clone(), wish }
        };
        let from = from.as_ref().zip(old.as_ref()).map(|(it, split)| side(it, split));
        let wished = side(&to, &new);
        warnings.extend(policy::unknown_clusters(&policy, &wished));
        Ok(Self { workload: to, model, from, to: wished, policy, templates, warnings })
    }

    /// Reads another manifest of the same workload, to be applied in mid-rollout.
    pub fn also(&mut self, file: &str, text: String) -> Result<Wish, BadInput> {
        let mut found = Found::default();
        found.take(&Text { file: file.to_owned(), text })?;
        let next = workload::only(file, &found)?;
        if let Some(bad) = next.differs_from(&self.workload) {
            return Err(BadInput(vec![bad]));
        }
        let template = lockstep_federation::interpret::Interpreter::template_hash(next.kind, &next.object);
        let strategy = lockstep_federation::interpret::Interpreter::rolling_strategy(next.kind, &next.object);
        Ok(Wish { template: self.templates.called(&template), strategy, ..self.to.wish.clone() })
    }

    /// The clusters of all that is known, as words.
    pub fn known_clusters(&self) -> String {
        let names: Vec<&str> = self.to.wish.clusters.iter().map(|it| it.cluster.as_str()).collect();
        format!("there is {}", words::list(&names))
    }
}

/// An error at a field of a file.
fn error(file: &str, document: &Document, path: &str, value: Option<String>, message: String) -> Complaint {
    let line = document.line_of(path);
    Complaint::error(file, Problem { path: path.to_owned(), value, message, line })
}
