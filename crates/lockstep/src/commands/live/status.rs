//! `lockstep status`: follow a rollout to its end.

use std::time::Duration;

use anyhow::{Result, bail};
use futures::{StreamExt, pin_mut};
use kube::runtime::{WatchStreamExt, watcher};
use serde::Serialize;
use serde_json::Value;

use super::answer::{give, give_next};
use super::args::{StatusArgs, Subject};
use super::home::{Home, plain};
use super::spread;
use crate::exit::Exit;
use crate::input::live_set::{LiveSet, now};
use crate::screen::Screen;
use crate::show::progress::{self, Ended};

/// A set's status for machines: all but the engine's memory.
#[derive(Serialize)]
struct Told {
    name: String,
    namespace: String,
    generation: i64,
    #[serde(flatten)]
    status: Value,
}

/// Runs the command.
pub async fn run(args: &StatusArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let name = match &args.subject.subject {
        Subject::Set(name) => name,
        Subject::Spread(workload) => return spread::status(args, workload, screen).await,
    };
    let home = Home::open(&args.subject.cluster).await?;
    let set = home.set(name).await?;
    if args.no_wait {
        let line = progress::line(&set, now());
        give(screen, args.subject.output, &told(&set)?, || line + "\n")?;
        return Ok(progress::ended(&set, now()).map_or(Exit::Fine, Exit::from));
    }
    let waiting = wait(&home, name, args, screen);
    match args.timeout {
        None => Ok(waiting.await?.into()),
        Some(limit) => match tokio::time::timeout(Duration::from_millis(limit.0), waiting).await {
            Ok(ended) => Ok(ended?.into()),
            Err(_) => {
                let word = screen.paint_err.bad("error");
                writeln!(screen.err, "{word}: {name} is not at its end after {limit}")?;
                Ok(Exit::TimedOut)
            }
        },
    }
}

/// Says what happens until it is at its end.
async fn wait(home: &Home, name: &str, args: &StatusArgs, screen: &mut Screen<'_>) -> Result<Ended> {
    let changes = watcher::watch_object(home.sets(), name).default_backoff();
    pin_mut!(changes);
    let mut said = String::new();
    while let Some(change) = changes.next().await {
        let object = match change {
            Ok(Some(object)) => object,
            Ok(None) => bail!("lockstepset {name:?} is gone from namespace {:?}", home.namespace),
            Err(error) => {
                refuse_to_watch(error)?;
                continue;
            }
        };
        let set = LiveSet::of(object)?;
        let line = progress::line(&set, now());
        if line != said {
            said.clone_from(&line);
            give_next(screen, args.subject.output, &told(&set)?, || line)?;
        }
        if let Some(ended) = progress::ended(&set, now()) {
            return Ok(ended);
        }
    }
    bail!("the watch of {name} has ended")
}

/// A watch that breaks is taken up again; one that is refused never gets better.
pub fn refuse_to_watch(error: watcher::Error) -> Result<()> {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => match error {
            kube::Error::Api(ref status) if matches!(status.code, 401 | 403 | 404) => Err(plain(error)),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn told(set: &LiveSet) -> Result<Told> {
    let mut status = serde_json::to_value(&set.status)?;
    if let Some(fields) = status.as_object_mut() {
        fields.remove("memory");
    }
    let (name, namespace) = (set.name.clone(), set.namespace.clone());
    Ok(Told { name, namespace, generation: set.generation(), status })
}
