//! `lockstep drain-check`: whether a node can be drained, in what order, and what would hold it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::ListParams;
use serde::Serialize;

use super::answer::give;
use super::args::DrainArgs;
use crate::budgets::asked::nobody_is_asked;
use crate::budgets::drain::{Drain, Ground, Leaving, Passed, leaving, simulate};
use crate::budgets::gather::{Gathered, budgets};
use crate::budgets::held::Held;
use crate::budgets::pdb::Guard;
use crate::exit::Exit;
use crate::input::live_set::now;
use crate::input::objects::plainly;
use crate::screen::{Paint, Screen};
use crate::show::drain_table::draw;
use crate::show::words;

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    node: String,
    /// `passes`, `waits` or `never`.
    verdict: &'static str,
    /// Pods that nobody brings back, for which `kubectl drain` wants `--force`.
    unmanaged: Vec<String>,
    /// Why budgets hold nothing, where that is so.
    unasked: Vec<String>,
    /// Pods that a drain leaves where they are.
    passed_over: usize,
    #[serde(flatten)]
    drain: Drain,
}

/// Runs the command.
pub async fn run(args: &DrainArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let (client, _) = args.cluster.client().await?;
    let nodes: Api<Node> = Api::all(client.clone());
    nodes.get(&args.node).await.map_err(plainly)?;
    let pods: Api<Pod> = Api::all(client.clone());
    let here = ListParams::default().fields(&format!("spec.nodeName={}", args.node));
    let listed = pods.list(&here).await.map_err(plainly).context("cannot list the pods of the node")?;
    let sorted: Vec<Result<Leaving, Passed>> = listed.items.iter().map(leaving).collect();
    let pods: Vec<Leaving> = sorted.iter().filter_map(|it| it.as_ref().ok()).cloned().collect();

    let namespaces: BTreeSet<&str> = pods.iter().map(|pod| pod.namespace.as_str()).collect();
    let (mut grounds, mut unasked) = (BTreeMap::new(), Vec::new());
    for namespace in namespaces {
        // Budgets first: what they promised may be gone when the pods are read, never the other way round.
        let mut objects = budgets(&client, Some(namespace)).await?.unwrap_or_default();
        if !objects.is_empty()
            && let Some(why) = nobody_is_asked(&client, namespace).await?
        {
            objects.clear();
            unasked.push(why);
        }
        let gathered = if objects.is_empty() {
            Gathered::default()
        } else {
            Gathered::of(&client, namespace, &objects).await?
        };
        let held = objects.iter().map(|budget| Ok(Held::of(budget, &gathered)?.counted()));
        let (budgets, guards) = (held.collect::<Result<Vec<_>>>()?, Guard::all(&client, namespace).await?);
        grounds.insert(namespace.to_owned(), Ground { budgets, guards });
    }
    let drain = simulate(&grounds, &pods, now());
    let unmanaged =
        pods.iter().filter(|pod| !pod.returns).map(|pod| format!("{}/{}", pod.namespace, pod.name));
    let (verdict, exit) = match (drain.never.is_empty(), drain.steps.len()) {
        (false, _) => ("never", Exit::NeverDrains),
        (true, 0 | 1) => ("passes", Exit::Fine),
        (true, _) => ("waits", Exit::DrainWaits),
    };
    let answer = Answer {
        node: args.node.clone(),
        verdict,
        unmanaged: unmanaged.collect(),
        unasked,
        passed_over: sorted.len() - pods.len(),
        drain,
    };
    let paint = screen.paint;
    give(screen, args.output, &answer, || text(&answer, pods.len(), paint))?;
    Ok(exit)
}

fn text(answer: &Answer, pods: usize, paint: Paint) -> String {
    let verdict = match answer.verdict {
        "passes" => paint.good("would pass at once"),
        "waits" => paint.warn("would pass, after waiting"),
        _ => paint.bad("could never finish"),
    };
    let mut text = format!(
        "Draining {} {verdict}: {} to evict, {} left where they are.\n",
        paint.bold(&answer.node),
        words::count(pods as u64, "pod"),
        answer.passed_over
    );
    if !answer.unmanaged.is_empty() {
        let pods = words::list(&answer.unmanaged);
        text.push_str(&format!(
            "{}: nobody brings back {pods}; kubectl wants --force.\n",
            paint.warn("warning")
        ));
    }
    for why in &answer.unasked {
        text.push_str(&format!("{}: {why}.\n", paint.warn("warning")));
    }
    if pods > 0 {
        text.push('\n');
        text.push_str(&draw(&answer.drain, paint));
    }
    text
}
