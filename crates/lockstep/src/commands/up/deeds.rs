//! What the keys do: the verbs of the command line, and a few things that kubectl would do.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use jiff::SignedDuration;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use lockstep_api::role_scale::RoleScale;
use lockstep_core::time::Millis;
use lockstep_sandbox::builtin::STAY;
use lockstep_sandbox::controllers::GRACE;
use serde_json::{Value, json};

use super::cluster::NodeSwitch;
use super::images::{self, Roll, Versions};
use crate::commands::live::args::{Form, PromoteArgs, SetArgs, UndoArgs};
use crate::commands::live::home::{FIELD_MANAGER, Home, plain};
use crate::commands::live::{abort, pause, promote, retry, undo};
use crate::input::cluster::ClusterArgs;
use crate::input::live_set::LiveSet;
use crate::screen::{Paint, Screen};
use crate::show::words;
use crate::view::scene::{Said, Tone};

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Roll to the next version.
    Roll,
    /// Roll one role to a version that does not exist.
    RollBadly,
    /// Lose a node, or bring it back.
    Node,
    /// Pause, or resume.
    Pause,
    /// Let a pause pass.
    Promote,
    /// Put the revision before back.
    Undo,
    /// Back to what stood complete.
    Abort,
    /// Try again.
    Retry,
    /// One more instance of a role.
    Grow,
    /// One less.
    Shrink,
}

/// Where something is done.
pub struct Stage {
    /// The namespace.
    pub home: Home,
    /// The set.
    pub name: String,
    /// What takes nodes away.
    pub nodes: Option<Rc<dyn NodeSwitch>>,
    /// A node that is lost.
    pub lost: Option<String>,
    /// The node with the most pods of the set.
    pub fullest: Option<String>,
    /// The versions that were used.
    pub versions: Rc<RefCell<Versions>>,
}

/// An object that is rolled: where it lives, what kubectl calls its kind, and itself.
struct Rolled {
    api: Api<DynamicObject>,
    kind: String,
    object: Value,
    /// It is the set, and not what the set is made from.
    of_set: bool,
}

/// What came of it.
pub struct Outcome {
    /// What was done.
    pub deed: Deed,
    /// To which set.
    pub set: String,
    /// In words.
    pub said: Said,
    /// The version of the spec that was written, if one was.
    pub generation: Option<i64>,
}

/// Does something and says what came of it. What is refused is said, too.
pub async fn perform(deed: Deed, stage: Stage) -> Outcome {
    let mut command = None;
    let mut generation = None;
    let done = stage.act(deed, &mut command, &mut generation).await;
    let said = match done {
        Ok(text) => Said { tone: Tone::Good, text, command, is_old: false },
        Err(error) => Said { tone: Tone::Bad, text: format!("{error:#}"), command, is_old: false },
    };
    Outcome { deed, set: stage.name, said, generation }
}

impl Stage {
    async fn act(
        &self,
        deed: Deed,
        command: &mut Option<String>,
        generation: &mut Option<i64>,
    ) -> Result<String> {
        let verb = |verb: &str| Some(format!("lockstep {verb} {} -n {}", self.name, self.home.namespace));
        match deed {
            Deed::Roll | Deed::RollBadly => {
                let set = self.home.set(&self.name).await?;
                let rolled = self.rolled(&set).await?;
                let roll = self.plan_roll(deed, &rolled.object);
                *command = Some(self.patch_command(&rolled, &roll));
                let written = self.write(&rolled, &roll).await?;
                // What a set is made from has versions of its own; the set has its next one in a moment.
                *generation =
                    if rolled.of_set { written.metadata.generation } else { Some(set.generation() + 1) };
                let (roles, images) = (words::list(&roll.roles), words::list(&roll.images));
                let end = if deed == Deed::Roll { "" } else { ", which does not exist" };
                Ok(format!("{roles} of {}: rolls to {images}{end}", self.name))
            }
            Deed::Node => self.switch_node(command).await,
            Deed::Pause => {
                let paused = self.home.set(&self.name).await?.spec()["paused"] != json!(true);
                *command = verb(if paused { "pause" } else { "resume" });
                let (home, args) = (&self.home, &self.set_args());
                said(async |screen| pause::act(home, args, paused, screen).await.map(drop)).await
            }
            Deed::Promote => {
                *command = verb("promote");
                let (home, args) = (&self.home, &PromoteArgs { set: self.set_args(), group: None });
                said(async |screen| promote::act(home, args, screen).await.map(drop)).await
            }
            Deed::Undo => {
                *command = verb("undo");
                let args = &UndoArgs { set: self.set_args(), to_revision: None, dry_run: false };
                said(async |screen| undo::act(&self.home, args, screen).await.map(drop)).await
            }
            Deed::Abort => {
                *command = verb("abort");
                let (home, args) = (&self.home, &self.set_args());
                said(async |screen| abort::act(home, args, screen).await.map(drop)).await
            }
            Deed::Retry => {
                *command = verb("retry");
                let (home, args) = (&self.home, &self.set_args());
                said(async |screen| retry::act(home, args, screen).await.map(drop)).await
            }
            Deed::Grow | Deed::Shrink => self.scale(deed == Deed::Grow, command).await,
        }
    }

    fn set_args(&self) -> SetArgs {
        SetArgs { name: self.name.clone(), cluster: ClusterArgs::default(), output: Form::Text }
    }

    /// The object whose templates count: the set, or what it is made from.
    async fn rolled(&self, set: &LiveSet) -> Result<Rolled> {
        let Some((api, kind)) = self.home.maker(set) else {
            let object = serde_json::to_value(&set.object)?;
            return Ok(Rolled { api: self.home.sets(), kind: "lss".to_owned(), object, of_set: true });
        };
        let object = serde_json::to_value(api.get(&self.name).await.map_err(plain)?)?;
        Ok(Rolled { api, kind, object, of_set: false })
    }

    fn plan_roll(&self, deed: Deed, object: &Value) -> Roll {
        let mut versions = self.versions.borrow_mut();
        match deed {
            Deed::RollBadly => images::roll_badly(object, &images::favourite(object), &mut versions),
            _ => images::roll(object, &mut versions),
        }
    }

    fn patch_command(&self, rolled: &Rolled, roll: &Roll) -> String {
        let (kind, name, namespace) = (&rolled.kind, &self.name, &self.home.namespace);
        format!("kubectl patch {kind} {name} -n {namespace} --type=json -p '{}'", json!(roll.patch))
    }

    async fn write(&self, rolled: &Rolled, roll: &Roll) -> Result<DynamicObject> {
        if roll.patch.is_empty() {
            bail!("{} has no container whose image could be changed", self.name);
        }
        let patch: json_patch::Patch = serde_json::from_value(json!(roll.patch))?;
        let manager = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = rolled.api.patch(&self.name, &manager, &Patch::Json::<()>(patch)).await;
        written.map_err(|error| self.home.explain(error, &self.name))
    }

    async fn switch_node(&self, command: &mut Option<String>) -> Result<String> {
        let Some(nodes) = &self.nodes else {
            bail!("the nodes of this cluster are not ours to take");
        };
        if let Some(node) = &self.lost {
            *command = Some(nodes.command(node, false));
            nodes.bring_back(node).await?;
            return Ok(format!("{node} is back"));
        }
        let node = self.fullest.as_ref().context("there is no node to lose")?;
        *command = Some(nodes.command(node, true));
        nodes.lose(node).await?;
        Ok(lost(node))
    }

    async fn scale(&self, grow: bool, command: &mut Option<String>) -> Result<String> {
        let set = self.home.set(&self.name).await?;
        let role = images::favourite(&serde_json::to_value(&set.object)?);
        let object = RoleScale::name_of(&self.name, &role);
        let scales = self.home.role_scales();
        let found = scales.get_opt(&object).await.map_err(plain)?;
        let found = found.with_context(|| {
            format!("there is no RoleScale {object} yet: the operator makes it when it looks at the set")
        })?;
        let now = found.spec.replicas;
        let wished = if grow { now.saturating_add(1) } else { now.saturating_sub(1).max(1) };
        let namespace = &self.home.namespace;
        *command = Some(format!("kubectl scale rolescale {object} -n {namespace} --replicas={wished}"));
        if wished == now {
            bail!("{role} has only one instance in each group; it stays");
        }
        let patch = Patch::Merge(json!({"spec": {"replicas": wished}}));
        let manager = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let after = scales.patch(&found.name_any(), &manager, &patch).await.map_err(plain)?;
        Ok(format!("{role} of {}: {now} → {} in each group", self.name, after.spec.replicas))
    }
}

/// What becomes of a node that falls silent, and when.
fn lost(node: &str) -> String {
    let span =
        |length: SignedDuration| Millis(length.unsigned_abs().as_millis().try_into().unwrap_or(u64::MAX));
    let (silent, stay) = (span(GRACE), span(STAY));
    format!(
        "{node} is lost: silent from now on, NotReady in {silent}, its pods sent away {stay} later; n brings it back"
    )
}

/// What a verb of the command line says, warnings included, on one line.
pub async fn said(verb: impl AsyncFnOnce(&mut Screen<'_>) -> Result<()>) -> Result<String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (paint, paint_err) = (Paint::default(), Paint::default());
    verb(&mut Screen { out: &mut out, err: &mut err, paint, paint_err, watched: false }).await?;
    out.extend(err);
    let text = String::from_utf8_lossy(&out);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    Ok(lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_node_says_what_happens_when() {
        assert_eq!(
            lost("node-2"),
            "node-2 is lost: silent from now on, NotReady in 40s, its pods sent away 5m later; n brings it back"
        );
    }
}
