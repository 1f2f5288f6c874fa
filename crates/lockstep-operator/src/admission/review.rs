//! One review: pure, from the request to the response.

use std::time::Duration;

use kube::core::DynamicObject;
use kube::core::Status;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, Operation};
use kube::core::response::{StatusCause, StatusDetails};
use lockstep_api::budget::{PodUnavailableBudget, never_fits};
use lockstep_api::proof::{self, Verdict};
use lockstep_api::{API_VERSION, KIND, Problem, Valid, lower};
use lockstep_core::model::Spec;
use lockstep_dialects::Places;
use serde_json::Value;

use super::tongue::{Tongue, Understood};
use crate::metrics::ReviewOutcome;

/// What a first look at a request gives.
#[derive(Debug, Clone)]
pub enum Examined {
    /// The answer.
    Answered(Box<AdmissionResponse>, ReviewOutcome),
    /// Nothing is wrong with the object; whether its rollout can finish has to be tried.
    ToProve(Box<Question>),
}

/// An object without errors, and what it is to replace.
#[derive(Debug, Clone)]
pub struct Question {
    response: AdmissionResponse,
    about: StatusDetails,
    before: Option<Spec>,
    set: Valid,
    spec: Spec,
    /// Where its user wrote what, if it is not a set.
    places: Option<Places>,
    warnings: Vec<String>,
}

/// Answers a request, however long the proof takes.
pub fn review(request: &AdmissionRequest<DynamicObject>, tongue: &Tongue) -> AdmissionResponse {
    match examine(request, tongue) {
        Examined::Answered(response, _) => *response,
        Examined::ToProve(question) => question.answer().0,
    }
}

/// Everything but the proof. What is not about the spec of a set that stays is admitted unseen.
pub fn examine(request: &AdmissionRequest<DynamicObject>, tongue: &Tongue) -> Examined {
    let response = AdmissionResponse::from(request);
    let Some(object) = request.object.as_ref().filter(|object| concerns_us(request, object)) else {
        return Examined::Answered(Box::new(response), ReviewOutcome::Allowed);
    };
    if matches!(tongue, Tongue::Ours) && !is_set(request) {
        return Examined::Answered(Box::new(response), ReviewOutcome::Allowed);
    }
    let about = about(request);
    let object = value(object);
    let old = request.old_object.as_ref().map(value);
    let mut problems = old.as_ref().map(|old| tongue.forbidden(old, &object)).unwrap_or_default();
    match tongue.read(&object) {
        Ok(understood) if problems.is_empty() => {
            let Understood { set, warnings, places } = understood;
            let before = old.and_then(|old| tongue.read(&old).ok());
            Examined::ToProve(Box::new(Question {
                response,
                about,
                before: before.map(|before| lower(&before.set)),
                spec: lower(&set),
                set,
                places,
                warnings: warnings.iter().map(one_line).collect(),
            }))
        }
        read => {
            problems.extend(read.err().into_iter().flatten());
            let mut response = denied(response, about, &problems);
            response.warnings = said(tongue.warnings(&object).iter().map(one_line).collect());
            Examined::Answered(Box::new(response), ReviewOutcome::Denied)
        }
    }
}

/// What an object is read together with cannot be had: nobody can say whether it is right.
pub(super) fn unreadable(request: &AdmissionRequest<DynamicObject>, error: &kube::Error) -> Examined {
    let why = format!("cannot read what this is to be read together with: {error}");
    let mut response = AdmissionResponse::from(request).deny(&why);
    response.result = Status::failure(&why, "InternalError").with_code(500).with_details(about(request));
    Examined::Answered(Box::new(response), ReviewOutcome::Denied)
}

/// What a refusal speaks of.
pub(super) fn about(request: &AdmissionRequest<DynamicObject>) -> StatusDetails {
    StatusDetails {
        name: request.name.clone(),
        group: request.kind.group.clone(),
        kind: request.kind.kind.clone(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    }
}

fn is_set(request: &AdmissionRequest<DynamicObject>) -> bool {
    let group = API_VERSION.split('/').next().unwrap_or_default();
    request.kind.group == group && request.kind.kind == KIND
}

/// An object that is created or whose spec is changed, and that is not on its way out: then nothing of it will be
/// rolled out, and who takes its finalizers off must not be held up.
pub(super) fn concerns_us(request: &AdmissionRequest<DynamicObject>, object: &DynamicObject) -> bool {
    let whole = request.sub_resource.as_deref().unwrap_or_default().is_empty();
    let changed = match (&request.operation, &request.old_object) {
        (Operation::Create, _) => true,
        (Operation::Update, Some(old)) => old.data.get("spec") != object.data.get("spec"),
        (Operation::Update, None) => true,
        (Operation::Delete | Operation::Connect, _) => false,
    };
    let stays = object.metadata.deletion_timestamp.is_none();
    whole && changed && stays
}

/// The object as it was sent. Who manages which field is long and says nothing to us.
pub(super) fn value(object: &DynamicObject) -> Value {
    let mut object = object.clone();
    object.metadata.managed_fields = None;
    // Null is no set, and the parser says so.
    serde_json::to_value(object).unwrap_or_default()
}

impl Question {
    /// The namespace the set is in.
    pub(super) fn namespace(&self) -> String {
        self.set.metadata.namespace.clone().unwrap_or_default()
    }

    /// The same under these budgets: refused if an instance could never go under one of them.
    pub(super) fn under(self: Box<Self>, budgets: &[PodUnavailableBudget]) -> Examined {
        let never = budgets.iter().filter_map(|budget| never_fits(&self.set, budget));
        let told = |problem: Problem| match &self.places {
            Some(places) => places.translate(&problem),
            None => problem,
        };
        let problems: Vec<Problem> = never.map(told).collect();
        if problems.is_empty() {
            return Examined::ToProve(self);
        }
        let mut response = denied(self.response, self.about, &problems);
        response.warnings = said(self.warnings);
        Examined::Answered(Box::new(response), ReviewOutcome::Denied)
    }

    /// Plays the rollout, and answers. A new set must be able to start and to update every role; a changed one must
    /// get from what was stored to what is wished, and is warned of what later updates would meet.
    pub fn answer(mut self) -> (AdmissionResponse, ReviewOutcome) {
        let now = match &self.before {
            Some(before) => proof::rollout("this update", Some(before), &self.set, &self.spec),
            None => proof::every_rollout(&self.set, &self.spec),
        };
        match (self.told(&now), &now) {
            (Some(problem), Verdict::Blocked { .. }) => {
                self.response.warnings = said(self.warnings);
                return (denied(self.response, self.about, &[problem]), ReviewOutcome::Denied);
            }
            (Some(problem), _) => self.warnings.push(one_line(&problem)),
            (None, _) if self.before.is_some() => {
                let later = proof::every_rollout(&self.set, &self.spec);
                self.warnings.extend(self.told(&later).as_ref().map(one_line));
            }
            (None, _) => {}
        }
        self.allowed()
    }

    /// What there is to say of a verdict, in the terms of the manifest.
    fn told(&self, verdict: &Verdict) -> Option<Problem> {
        let problem = verdict.problem()?;
        Some(self.places.as_ref().map_or_else(|| problem.clone(), |places| places.translate(&problem)))
    }

    /// Answers without a proof.
    pub fn unproven(mut self, bound: Duration) -> (AdmissionResponse, ReviewOutcome) {
        let lack = "nobody knows whether this rollout can finish";
        self.warnings.push(format!("spec: {lack}: playing it took longer than {bound:?}"));
        (self.allowed().0, ReviewOutcome::Unproven)
    }

    fn allowed(self) -> (AdmissionResponse, ReviewOutcome) {
        let mut response = self.response;
        response.warnings = said(self.warnings);
        let outcome =
            if response.warnings.is_some() { ReviewOutcome::Warned } else { ReviewOutcome::Allowed };
        (response, outcome)
    }
}

pub(super) fn said(warnings: Vec<String>) -> Option<Vec<String>> {
    Some(warnings).filter(|warnings| !warnings.is_empty())
}

/// A warning travels in a header, which has one line.
pub(super) fn one_line(problem: &Problem) -> String {
    problem.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Refuses, with every problem on a line of its own, and once more for machines.
pub(super) fn denied(
    response: AdmissionResponse,
    about: StatusDetails,
    problems: &[Problem],
) -> AdmissionResponse {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    let cause = |problem: &Problem| {
        let whole = Problem { path: String::new(), ..problem.clone() };
        StatusCause {
            reason: "FieldValueInvalid".to_owned(),
            message: whole.to_string(),
            field: problem.path.clone(),
        }
    };
    let details = StatusDetails { causes: problems.iter().map(cause).collect(), ..about };
    let mut response = response.deny(lines.join("\n"));
    response.result = Status::failure(&lines.join("\n"), "Invalid").with_code(422).with_details(details);
    response
}
