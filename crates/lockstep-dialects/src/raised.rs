//! What is said of an object of a dialect.

use lockstep_api::status::{CHILDREN, INVALID_SPEC, LockstepSetStatus, NAME_TAKEN, WRITE_FAILED};
use serde_json::{Value, json};

/// Something that belongs beside a set and is not there as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: String,
}

/// Its set, as it is seen now.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// What was made of the object, or what is wrong with it.
    pub lowered: Result<&'a crate::Lowered, &'a [lockstep_api::Problem]>,
    /// The set's status; the default one if there is no set yet.
    pub status: &'a LockstepSetStatus,
    /// The generation of the set, and whether its status speaks of it.
    pub current: bool,
    /// What belongs beside the set and is not there as it should be.
    pub lacking: &'a [Lack],
    /// Now, as RFC 3339 in whole seconds.
    pub now: &'a str,
}

/// What is said of an object, and of those beside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Raised {
    /// The object's status, whole.
    pub status: Value,
    /// Status of objects that were made beside it: kind, name and `status` as they are to be.
    pub beside: Vec<Value>,
}

impl Seen<'_> {
    /// Everything that is lacking: beside the set, and what the set itself misses. What both say is said once.
    pub fn lacks(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            self.lacking.iter().map(|lack| (lack.reason.to_owned(), lack.message.clone())).collect();
        let of_set = self.status.conditions.iter().find(|it| it.type_ == CHILDREN && it.status == "False");
        for line in of_set.into_iter().flat_map(|it| it.message.lines()) {
            let what = |message: &str| message.split(" is there").next().unwrap_or_default().to_owned();
            if !all.iter().any(|(_, message)| what(message) == what(line)) {
                let reason = of_set.map(|it| it.reason.clone()).unwrap_or_default();
                all.push((reason, line.to_owned()));
            }
        }
        all
    }

    /// The same as a condition, if anything is lacking.
    pub fn children(&self, before: &Value, generation: i64) -> Option<Value> {
        let lacks = self.lacks();
        let (reason, _) = lacks.first()?;
        let said: Vec<&str> = lacks.iter().map(|(_, message)| message.as_str()).collect();
        Some(condition(before, CHILDREN, false, reason, &said.join("\n"), (self.now, generation)))
    }
}

/// What a status says is wrong with its object, or lacking beside it: whatever the dialect, each once.
pub fn wrong(status: &Value) -> Vec<String> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let bad = |it: &&Value| {
        let reason = it["reason"].as_str().unwrap_or_default();
        it["status"] == "False" && [INVALID_SPEC, NAME_TAKEN, WRITE_FAILED].contains(&reason)
    };
    let said = conditions.filter(bad).filter_map(|it| it["message"].as_str());
    let errors = status["lastErrors"].as_array().into_iter().flatten();
    let errors = errors.filter_map(|it| it["description"].as_str());
    let mut all: Vec<String> = Vec::new();
    for line in said.chain(errors).flat_map(str::lines) {
        if !all.iter().any(|known| known == line) {
            all.push(line.to_owned());
        }
    }
    all
}

/// A condition, with the time of its last change kept if `before` (a status) has it the same already.
pub fn condition(
    before: &Value,
    kind: &str,
    holds: bool,
    reason: &str,
    message: &str,
    seen: (&str, i64),
) -> Value {
    let (now, generation) = seen;
    let status = if holds { "True" } else { "False" };
    let old = before["conditions"].as_array().into_iter().flatten().find(|old| old["type"] == kind);
    let since =
        old.filter(|old| old["status"] == status).map_or(json!(now), |old| old["lastTransitionTime"].clone());
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
        "observedGeneration": generation,
    })
}
