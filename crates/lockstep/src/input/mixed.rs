//! Files in which sets and unavailable budgets stand side by side.

use std::path::Path;

use k8s_openapi::Resource;
use lockstep_api::Document;
use lockstep_api::budget::{PodUnavailableBudget, check_document};

use super::complaint::{BadInput, Complaint};
use super::manifest::{Manifest, read_text};

/// What a file holds.
#[derive(Debug, Default)]
pub struct Mixed {
    /// Objects that become sets, each read or refused.
    pub sets: Vec<Result<Manifest, BadInput>>,
    /// Budgets that were found to be right.
    pub budgets: Vec<PodUnavailableBudget>,
    /// What is to be said of the budgets.
    pub complaints: Vec<Complaint>,
}

impl Mixed {
    /// Reads a file.
    pub fn read(path: &Path) -> Self {
        match read_text(path) {
            Ok((file, text)) => Self::parse(&file, text),
            Err(bad) => Self { sets: vec![Err(bad)], ..Self::default() },
        }
    }

    fn parse(file: &str, text: String) -> Self {
        let mut mixed = Self::default();
        let documents = Document::all(&text).unwrap_or_default();
        let (budgets, others): (Vec<Document>, Vec<Document>) = documents
            .into_iter()
            .partition(|document| document.to_json()["kind"] == PodUnavailableBudget::KIND);
        for budget in &budgets {
            match check_document(budget) {
                Ok(checked) => {
                    let warnings = checked.warnings.into_iter();
                    mixed.complaints.extend(warnings.map(|problem| Complaint::warning(file, problem)));
                    mixed.budgets.push(checked.budget);
                }
                Err(problems) => {
                    mixed.complaints.extend(problems.into_iter().map(|it| Complaint::error(file, it)));
                }
            }
        }
        if budgets.is_empty() || !others.is_empty() {
            mixed.sets = Manifest::parse_all(file, text);
        }
        mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: &str = "apiVersion: policy.kruise.io/v1alpha1\nkind: PodUnavailableBudget\n\
                          metadata: {name: b}\nspec: {selector: {matchLabels: {app: a}}, maxUnavailable: 0}\n";
    const SET: &str = "apiVersion: lockstep.dev/v1alpha1\nkind: LockstepSet\nmetadata: {name: a}\n\
                       spec: {roles: [{name: r, template: {spec: {containers: [{name: c, image: x}]}}}]}\n";

    #[test]
    fn sets_and_budgets_side_by_side() {
        let both = Mixed::parse("f", format!("{SET}---\n{BUDGET}"));
        assert_eq!((both.sets.len(), both.budgets.len(), both.complaints.len()), (1, 1, 1));
        assert!(both.sets[0].as_ref().is_ok_and(|set| set.warnings.is_empty()), "{:?}", both.sets);
        assert_eq!(both.complaints[0].place(), "f:9");

        let alone = Mixed::parse("f", BUDGET.replace("maxUnavailable: 0", "minAvailble: 1"));
        assert_eq!((alone.sets.len(), alone.budgets.len(), alone.complaints.len()), (0, 0, 2));
        assert_eq!(Mixed::parse("f", SET.to_owned()).sets.len(), 1);
        assert!(Mixed::parse("f", String::new()).sets[0].is_err());
    }
}
