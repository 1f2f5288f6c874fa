//! `lockstep abort`: back to what stood complete.

use anyhow::{Result, bail};
use lockstep_core::model::Spec;
use lockstep_core::snapshot::Memory;
use lockstep_core::verbs;
use serde_json::json;

use super::answer::give;
use super::args::{SetArgs, Subject, SubjectArgs};
use super::home::Home;
use super::memory;
use super::spread::{self, Spread};
use crate::exit::Exit;
use crate::screen::Screen;

/// Runs the command.
pub async fn run(args: &SubjectArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    match &args.subject {
        Subject::Spread(workload) => {
            let spread = Spread::open(&args.cluster, workload).await?;
            spread::abort(&spread, args.output, screen).await
        }
        Subject::Set(name) => {
            let set = SetArgs { name: name.clone(), cluster: args.cluster.clone(), output: args.output };
            act(&Home::open(&args.cluster).await?, &set, screen).await
        }
    }
}

/// Aborts where the set lives.
pub async fn act(home: &Home, args: &SetArgs, screen: &mut Screen<'_>) -> Result<Exit> {
    let name = &args.name;
    let to = memory::change(home, name, |_, spec, memory| abort(name, spec, memory)).await?;
    let value = json!({"name": name, "namespace": home.namespace, "abortedTo": to});
    give(screen, args.output, &value, || {
        format!(
            "lockstepset {name:?} goes back to {to} until its spec changes; \
             `lockstep undo {name}` changes the spec too\n"
        )
    })?;
    Ok(Exit::Fine)
}

/// Aborts if there is something to abort and somewhere to go.
fn abort(name: &str, spec: &Spec, memory: &mut Memory) -> Result<String> {
    let Some(complete) = &memory.complete else {
        bail!(
            "{name} has never stood complete, so there is nothing to go back to; \
             `lockstep pause {name}` stops it where it is"
        );
    };
    let to = complete.revision;
    if to == spec.revision() {
        bail!("there is nothing to abort: {name} stood complete at {to}, which is what its spec wishes for");
    }
    if memory.overridden.as_ref().is_some_and(|o| o.spec == spec.revision()) {
        bail!("{name} is going back to {to} already");
    }
    verbs::abort(spec, memory);
    Ok(to.to_string())
}

#[cfg(test)]
mod tests {
    use lockstep_core::revision::Revision;
    use lockstep_core::snapshot::CompleteSet;

    use super::*;

    fn spec() -> Spec {
        let manifest = include_str!("../../../../../examples/web.yaml");
        lockstep_api::lower(&lockstep_api::parse(manifest).unwrap().set)
    }

    fn complete_at(revision: Revision) -> Memory {
        let complete = Some(CompleteSet { revision, ..CompleteSet::default() });
        Memory { complete, ..Memory::default() }
    }

    #[test]
    fn only_where_there_is_something_to_go_back_to() {
        let spec = spec();
        let refused = |memory: &mut Memory| abort("shop", &spec, memory).unwrap_err().to_string();
        assert!(refused(&mut Memory::default()).contains("never stood complete"));
        assert!(refused(&mut complete_at(spec.revision())).contains("nothing to abort"));
        let mut memory = complete_at("6f2c9".parse().unwrap());
        assert_eq!(abort("shop", &spec, &mut memory).unwrap(), "6f2c9");
        assert!(refused(&mut memory).contains("already"));
    }
}
