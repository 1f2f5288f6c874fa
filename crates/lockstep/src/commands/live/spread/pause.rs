//! Pausing and resuming in all clusters at once.

use anyhow::{Result, bail};
use serde_json::json;

use super::Spread;
use crate::commands::live::answer::give;
use crate::commands::live::args::Form;
use crate::exit::Exit;
use crate::screen::Screen;

/// Pauses or resumes.
pub async fn pause(spread: &Spread, paused: bool, output: Form, screen: &mut Screen<'_>) -> Result<Exit> {
    let called = &spread.called;
    let Some(path) = &spread.kind()?.paused else {
        bail!(
            "a {} cannot be paused; `lockstep abort {called}` goes back to the template that stood complete",
            spread.rollout.spec.resource.kind
        );
    };
    let template = serde_json::to_value(&spread.template)?;
    let was = path.get(&template).and_then(serde_json::Value::as_bool).unwrap_or_default();
    if was != paused {
        spread.change(|_, template| path.set(template, paused.into())).await?;
    }
    let text = match (paused, was) {
        (true, true) => format!("{called} is paused already\n"),
        (true, false) => {
            format!("{called} paused in all clusters; `lockstep resume {called}` lets it go on\n")
        }
        (false, true) => format!("{called} resumed\n"),
        (false, false) => format!("{called} is not paused\n"),
    };
    let value = json!({
        "name": spread.name(), "namespace": spread.namespace, "paused": paused, "changed": was != paused,
    });
    give(screen, output, &value, || text)?;
    Ok(Exit::Fine)
}
