//! What an object of a dialect becomes.

use lockstep_api::proof::{self, Verdict};
use lockstep_api::{LockstepSet, Parsed, Problem, Valid};
use serde_json::Value;

use crate::findings::Findings;
use crate::places::Places;

/// Identity templates are the dialect's own. That one does not fit comes of a name in it, and is worth a word only if
/// nothing else is wrong; what the template is, never.
fn worth_saying(problems: Vec<Problem>, broken: bool) -> Vec<Problem> {
    let ours = |problem: &Problem| problem.path.contains(".identity");
    let others = broken || problems.iter().any(|problem| !ours(problem));
    let said = problems.into_iter().filter(|problem| !(others && ours(problem)));
    said.map(|problem| Problem { value: problem.value.clone().filter(|_| !ours(&problem)), ..problem })
        .collect()
}

/// What an object of a dialect becomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// The set, of the same name, checked.
    pub set: Valid,
    /// Objects that stand beside it, whole: config maps, services, autoscalers, children for autoscalers. The shell
    /// makes the object their owner and removes those of earlier times.
    pub beside: Vec<Value>,
    /// Where its user wrote what.
    pub places: Places,
    /// What is accepted but deserves a word, in the terms of the manifest.
    pub warnings: Vec<Problem>,
}

impl Lowered {
    /// Checks the set that was made, and translates what is wrong with it.
    pub fn close(
        set: &LockstepSet,
        beside: Vec<Value>,
        places: Places,
        mut found: Findings<'_>,
    ) -> Result<Self, Vec<Problem>> {
        match lockstep_api::check(set) {
            Ok(Parsed { set, warnings }) => {
                found.extend_warnings(warnings.iter().map(|problem| places.translate(problem)));
                Ok(Self { set, beside, warnings: found.close()?, places })
            }
            Err(problems) => {
                // A name that is wrong makes everything wrong that is made from it; once is enough.
                let mut said: Vec<String> = Vec::new();
                for problem in worth_saying(problems, found.is_broken()) {
                    let translated = places.translate(&problem);
                    if !places.is_folded(&problem.path) || !said.contains(&translated.path) {
                        said.push(translated.path.clone());
                        found.also(translated);
                    }
                }
                Err(found.close().err().unwrap_or_default())
            }
        }
    }

    /// Whether the rollout from what stands (or from nothing) to this can finish; if not, why, in the terms of the
    /// manifest.
    pub fn prove(&self, from: Option<&Self>) -> Verdict {
        let spec = lockstep_api::lower(&self.set);
        match from {
            Some(from) => {
                let before = lockstep_api::lower(&from.set);
                proof::rollout("this update", Some(&before), &self.set, &spec)
            }
            None => proof::every_rollout(&self.set, &spec),
        }
    }
}
