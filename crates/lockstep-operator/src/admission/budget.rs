//! Reviews of budgets themselves.

use k8s_openapi::Resource;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse};
use lockstep_api::budget::{PodUnavailableBudget, check};

use super::review::{Examined, about, concerns_us, denied, one_line, said, value};
use crate::metrics::ReviewOutcome;

/// Whether a request is about a budget.
pub(super) fn is_one(request: &AdmissionRequest<DynamicObject>) -> bool {
    request.kind.group == PodUnavailableBudget::GROUP && request.kind.kind == PodUnavailableBudget::KIND
}

/// Everything that is wrong with a budget, or deserves a word.
pub(super) fn examine(request: &AdmissionRequest<DynamicObject>) -> Examined {
    let mut response = AdmissionResponse::from(request);
    let Some(object) = request.object.as_ref().filter(|object| concerns_us(request, object)) else {
        return Examined::Answered(Box::new(response), ReviewOutcome::Allowed);
    };
    match check(&value(object)) {
        Ok(checked) => {
            response.warnings = said(checked.warnings.iter().map(one_line).collect());
            let outcome =
                if response.warnings.is_some() { ReviewOutcome::Warned } else { ReviewOutcome::Allowed };
            Examined::Answered(Box::new(response), outcome)
        }
        Err(problems) => {
            let response = denied(response, about(request), &problems);
            Examined::Answered(Box::new(response), ReviewOutcome::Denied)
        }
    }
}
