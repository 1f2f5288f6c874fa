//! What the keys do: the verbs of the command line on a workload that is spread, and a way that is cut.

use anyhow::{Result, bail};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::clusters::Clusters;
use super::demo::{NAME, NAMESPACE};
use super::scene::Sight;
use super::session::Session;
use crate::commands::live::args::{Form, Workload};
use crate::commands::live::home::FIELD_MANAGER;
use crate::commands::live::spread::{self, Spread};
use crate::commands::up::deeds::{Deed, said};
use crate::commands::up::images::{self, Versions};
use crate::input::live_set::now;
use crate::show::words;
use crate::view::scene::{Said, Tone};

/// What was done so far.
#[derive(Debug, Default)]
pub struct Doings {
    versions: Versions,
    /// The last member is cut off.
    pub cut: bool,
}

impl Doings {
    /// Does what a key means, and has the session say what came of it.
    pub async fn perform(&mut self, deed: Deed, session: &mut Session, clusters: &Clusters) {
        let Some(sight) = &session.sight else { return };
        let mut command = None;
        let done = self.act(deed, sight, clusters, &mut command).await;
        let generation = match done {
            Ok(_) => clusters.template().await.ok().and_then(|it| it.metadata.generation),
            Err(_) => None,
        };
        let (tone, text) = match done {
            Ok(text) => (Tone::Good, text),
            Err(error) => (Tone::Bad, format!("{error:#}")),
        };
        session.done(Said { tone, text, command, is_old: false }, generation, now());
    }

    async fn act(
        &mut self,
        deed: Deed,
        sight: &Sight,
        clusters: &Clusters,
        command: &mut Option<String>,
    ) -> Result<String> {
        let verb = |verb: &str| Some(format!("lockstep {verb} deployment/{NAME} -n {NAMESPACE}"));
        let workload = Workload::Template { kind: "Deployment", name: NAME.to_owned() };
        let found = || Spread::find(clusters.client.clone(), NAMESPACE.to_owned(), &workload);
        match deed {
            Deed::Roll | Deed::RollBadly => self.roll(deed, sight, clusters, command).await,
            Deed::Pause => {
                let paused = sight.template["spec"]["paused"] != true;
                *command = verb(if paused { "pause" } else { "resume" });
                let spread = found().await?;
                said(async |screen| spread::pause(&spread, paused, Form::Text, screen).await.map(drop)).await
            }
            Deed::Abort => {
                *command = verb("abort");
                let spread = found().await?;
                said(async |screen| spread::abort(&spread, Form::Text, screen).await.map(drop)).await
            }
            Deed::Node => self.cut(clusters),
            _ => bail!("this key is for sets, which stand in one cluster; ? shows the keys"),
        }
    }

    async fn roll(
        &mut self,
        deed: Deed,
        sight: &Sight,
        clusters: &Clusters,
        command: &mut Option<String>,
    ) -> Result<String> {
        let (roll, end) = match deed {
            Deed::RollBadly => {
                (images::roll_badly(&sight.template, "", &mut self.versions), ", which does not exist")
            }
            _ => (images::roll(&sight.template, &mut self.versions), ""),
        };
        let patch = json!(roll.patch);
        *command = Some(format!("kubectl patch deployment {NAME} -n {NAMESPACE} --type=json -p '{patch}'"));
        let patch: json_patch::Patch = serde_json::from_value(patch)?;
        let how = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        clusters.templates().patch(NAME, &how, &Patch::Json::<()>(patch)).await?;
        Ok(format!("{NAME} rolls to {}{end}", words::list(&roll.images)))
    }

    fn cut(&mut self, clusters: &Clusters) -> Result<String> {
        let cut = !self.cut;
        let Some(name) = clusters.toggle(cut) else { bail!("there is no cluster to cut off") };
        self.cut = cut;
        Ok(match cut {
            true => format!("{name} cannot be reached from the host: its pods run on; n mends the way"),
            false => format!("{name} can be reached again"),
        })
    }
}
