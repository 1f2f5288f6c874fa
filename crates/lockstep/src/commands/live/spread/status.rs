//! Following a rollout over clusters to its end.

use std::time::Duration;

use anyhow::{Result, bail};
use futures::{StreamExt, pin_mut};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};

use super::{Spread, read, rollouts, templates};
use crate::commands::live::answer::{give, give_next};
use crate::commands::live::args::{StatusArgs, Workload};
use crate::commands::live::home::plain;
use crate::commands::live::status::refuse_to_watch;
use crate::exit::Exit;
use crate::screen::Screen;
use crate::show::spread::{ended, line};

/// Says how it stands, and waits for its end if asked to.
pub async fn status(args: &StatusArgs, workload: &Workload, screen: &mut Screen<'_>) -> Result<Exit> {
    let spread = Spread::open(&args.subject.cluster, workload).await?;
    if args.no_wait {
        let generation = spread.template.metadata.generation;
        let text = line(&spread.called, &spread.rollout, generation);
        give(screen, args.subject.output, &told(&spread)?, || text + "\n")?;
        return Ok(ended(&spread.rollout, generation).unwrap_or(Exit::Fine));
    }
    let called = spread.called.clone();
    let waiting = wait(spread, args, screen);
    match args.timeout {
        None => waiting.await,
        Some(limit) => match tokio::time::timeout(Duration::from_millis(limit.0), waiting).await {
            Ok(exit) => exit,
            Err(_) => {
                let word = screen.paint_err.bad("error");
                writeln!(screen.err, "{word}: {called} is not at its end after {limit}")?;
                Ok(Exit::TimedOut)
            }
        },
    }
}

/// Says what happens until it is at its end. What a rollout is about is looked at anew each time it changes: a template
/// that nobody has seen yet is no end.
async fn wait(mut spread: Spread, args: &StatusArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let name = spread.rollout.metadata.name.clone().unwrap_or_default();
    let changes = watcher::watch_object(rollouts(&spread.client, &spread.namespace), &name).default_backoff();
    pin_mut!(changes);
    let mut said = String::new();
    while let Some(change) = changes.next().await {
        match change {
            Ok(Some(object)) => spread.rollout = read(object)?,
            Ok(None) => bail!("{} no longer has a rollout over clusters", spread.called),
            Err(error) => {
                refuse_to_watch(error)?;
                continue;
            }
        }
        let api = templates(&spread.client, &spread.namespace, &spread.rollout.spec.resource)?;
        spread.template = api.get(spread.name()).await.map_err(plain)?;
        let generation = spread.template.metadata.generation;
        let text = line(&spread.called, &spread.rollout, generation);
        if text != said {
            said.clone_from(&text);
            give_next(screen, args.subject.output, &told(&spread)?, || text)?;
        }
        if let Some(exit) = ended(&spread.rollout, generation) {
            return Ok(exit);
        }
    }
    bail!("the watch of {name} has ended")
}

/// A rollout's status for machines: all but the ledger and the template that could be put back.
pub(super) fn told(spread: &Spread) -> Result<Value> {
    let mut status = serde_json::to_value(&spread.rollout.status)?;
    if let Some(fields) = status.as_object_mut() {
        fields.remove("ledger");
        fields.remove("templates");
        fields.remove("complete");
    }
    let mut told = json!({
        "name": spread.name(), "namespace": spread.namespace, "kind": spread.rollout.spec.resource.kind,
        "generation": spread.template.metadata.generation,
    });
    if let (Some(told), Value::Object(status)) = (told.as_object_mut(), status) {
        told.extend(status);
    }
    Ok(told)
}
