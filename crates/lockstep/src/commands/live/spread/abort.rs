//! Back to the template that stood complete in all clusters.

use anyhow::{Result, bail};
use lockstep_api::federation::{CompleteTemplate, FederatedRolloutStatus};
use serde_json::json;

use super::Spread;
use crate::commands::live::answer::give;
use crate::commands::live::args::Form;
use crate::exit::Exit;
use crate::screen::Screen;

/// Puts it back into the resource template: Karmada brings nothing else to the clusters.
pub async fn abort(spread: &Spread, output: Form, screen: &mut Screen<'_>) -> Result<Exit> {
    let status = spread.rollout.status.clone().unwrap_or_default();
    let complete = to_go_back_to(&spread.called, &status, spread.template.metadata.generation)?;
    spread.change(|kind, template| kind.set_template(template, &complete.content)).await?;
    let called = &spread.called;
    let value = json!({
        "name": spread.name(), "namespace": spread.namespace, "abortedTo": complete.template,
        "generation": complete.generation,
    });
    give(screen, output, &value, || {
        format!(
            "{called} has the template of its generation {} again, and goes back to it in all clusters; what applies \
             its manifest has to go back too\n",
            complete.generation
        )
    })?;
    Ok(Exit::Fine)
}

fn to_go_back_to<'a>(
    called: &str,
    status: &'a FederatedRolloutStatus,
    generation: Option<i64>,
) -> Result<&'a CompleteTemplate> {
    let Some(complete) = &status.complete else {
        bail!(
            "{called} has never stood complete in all clusters, so there is nothing to go back to: put the template \
             back yourself"
        );
    };
    if complete.template == status.template && generation <= Some(status.template_generation) {
        bail!("there is nothing to abort: {called} has the template that stood complete");
    }
    Ok(complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_there_is_something_to_go_back_to() {
        let mut status = FederatedRolloutStatus {
            template: "b".to_owned(),
            template_generation: 2,
            ..FederatedRolloutStatus::default()
        };
        let refused = |status: &FederatedRolloutStatus, generation| {
            to_go_back_to("deployment/web", status, generation).unwrap_err().to_string()
        };
        assert!(refused(&status, Some(2)).contains("never stood complete"));
        let complete =
            |hash: &str| CompleteTemplate { template: hash.to_owned(), ..CompleteTemplate::default() };
        status.complete = Some(complete("b"));
        assert!(refused(&status, Some(2)).contains("nothing to abort"));
        // A change that nobody has looked at yet can be taken back.
        assert!(to_go_back_to("deployment/web", &status, Some(3)).is_ok());
        status.complete = Some(complete("a"));
        assert_eq!(to_go_back_to("deployment/web", &status, Some(2)).unwrap().template, "a");
    }
}
