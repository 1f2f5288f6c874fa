//! What is left of a rollout over clusters, from the ledger that stands there.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use kube::Error;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use lockstep_api::json_to_yaml;
use lockstep_core::align::{Ledger, TemplateHash};
use lockstep_core::simulate::federation::Start;
use lockstep_federation::rehearsal::Paced;
use serde_json::Value;

use super::{Spread, plain};
use crate::args::PlanArgs;
use crate::commands::live::args::Workload;
use crate::commands::{over_clusters, say};
use crate::exit::Exit;
use crate::input::cluster::block_on;
use crate::input::manifest::read_text;
use crate::input::spread::Change;
use crate::input::texts::{Text, Texts};
use crate::screen::Screen;
use crate::show::over_clusters::title;
use crate::show::words;

/// Plays on from what every cluster reported last.
pub fn plan(args: &PlanArgs, workload: &Workload, screen: &mut Screen<'_>) -> Result<Exit> {
    let (spread, text) = block_on(async {
        let spread = Spread::open(&args.cluster, workload).await?;
        let objects = spread.all().await?;
        let text: Vec<String> = objects.iter().map(json_to_yaml).collect();
        let text = Text { file: spread.called.clone(), text: text.join("---\n") };
        anyhow::Ok((spread, text))
    })?;
    let to = args.to.as_deref().map(|path| read_text(path).map(|(file, text)| Text { file, text }));
    let texts = Texts { from: vec![Ok(text.clone())], to: to.unwrap_or(Ok(text)) };
    let mut change = Change::read(texts, None)?;
    say(&change.warnings, screen);
    let status = spread.rollout.status.clone().unwrap_or_default();
    let ledger = status.ledger().context("the ledger cannot be read")?;
    if ledger.members.is_empty() {
        bail!("{} has not been looked at yet: is `lockstep federation` running?", spread.called);
    }
    let seen = ledger.members.values().filter_map(|it| it.seen.as_ref());
    let down: u32 = seen.map(|it| it.replicas.saturating_sub(it.available)).sum();
    if down > 0 {
        let pods = words::count(down, "pod");
        let note = screen.paint_err.warn("note");
        writeln!(
            screen.err,
            "{note}: {pods} not available now; taken to be so after the whole start-up time"
        )?;
    }
    let line = match args.to {
        Some(_) => format!("{}, from what stands now", title::title(&change)),
        None => {
            let pods = title::spread(&change.to.wish);
            let (name, kind) = (&change.workload.name, &change.workload.kind.kind);
            format!("{name}: {kind} of {pods}, what is left of the rollout")
        }
    };
    let in_force = status.template.clone();
    let (start, template) = start(&mut change, ledger, &status, &TemplateHash(in_force));
    let policy = change.policy.clone();
    let mut turns = Paced::since(&policy, status, &template);
    over_clusters::tell(change, line, Some(start), &mut turns, args, screen)
}

/// The world as the ledger has it, in the words of the model; and the template it speaks of.
fn start(
    change: &mut Change,
    mut ledger: Ledger,
    status: &lockstep_api::federation::FederatedRolloutStatus,
    in_force: &TemplateHash,
) -> (Start, TemplateHash) {
    let in_force = change.templates.called(in_force);
    for entry in ledger.members.values_mut() {
        for lease in &mut entry.live {
            lease.template = change.templates.called(&lease.template);
        }
        if let Some(seen) = &mut entry.seen {
            seen.template = change.templates.called(&seen.template);
        }
    }
    let wanted = change.to.wish.template.clone();
    let seen = ledger.members.values().filter_map(|it| it.seen.as_ref());
    let other = seen.map(|it| &it.template).find(|it| **it != wanted).cloned();
    let unknown = TemplateHash("what stood before".to_owned());
    let other = other.unwrap_or_else(|| change.templates.called(&unknown));
    let gone = |it: &&lockstep_api::federation::ReasonStatus| it.code == "ClusterUnreachable";
    let unreachable: BTreeSet<String> =
        status.reasons.iter().filter(gone).filter_map(|it| it.cluster.clone()).collect();
    let wish = change.from.as_ref().unwrap_or(&change.to).wish.clone();
    let old = lockstep_core::simulate::federation::workload::template(&other);
    (Start::Ledger { ledger, wish, old, unreachable }, in_force)
}

impl Spread {
    /// The resource template, its binding, and the policies of its namespace.
    async fn all(&self) -> Result<Vec<Value>> {
        let name = self.rollout.metadata.name.clone().unwrap_or_default();
        let bindings = self.api("work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings");
        let binding = bindings.get(&name).await.map_err(plain);
        let binding = binding.with_context(|| format!("cannot read the ResourceBinding {name}"))?;
        let policies = self.api("lockstep.dev", "v1alpha1", "FederationPolicy", "federationpolicies");
        let policies = match policies.list(&ListParams::default()).await {
            Ok(listed) => listed.items,
            Err(Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(plain(error).context("cannot list the FederationPolicies")),
        };
        let mut objects = Vec::new();
        for (object, (version, kind)) in [
            (self.template.clone(), self.kind().map(|it| (it.api_version.clone(), it.kind.clone()))?),
            (binding, ("work.karmada.io/v1alpha2".to_owned(), "ResourceBinding".to_owned())),
        ] {
            objects.push(as_written(&object, &version, &kind)?);
        }
        for policy in policies {
            objects.push(as_written(&policy, "lockstep.dev/v1alpha1", "FederationPolicy")?);
        }
        Ok(objects)
    }

    fn api(&self, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }
}

/// An object as a manifest has it. One out of a list does not say what it is.
fn as_written(object: &DynamicObject, version: &str, kind: &str) -> Result<Value> {
    let mut value = serde_json::to_value(object)?;
    value["apiVersion"] = version.into();
    value["kind"] = kind.into();
    value["status"] = Value::Null;
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    Ok(value)
}
