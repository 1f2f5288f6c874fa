//! `lockstep convert`: what a manifest of another project becomes.

use lockstep_api::json_to_yaml;
use serde_json::Value;

use super::say;
use crate::args::ConvertArgs;
use crate::exit::Exit;
use crate::input::complaint::{BadInput, Complaint};
use crate::input::manifest::Manifest;
use crate::screen::Screen;

/// Runs the command.
pub fn run(args: &ConvertArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let mut bad = Vec::new();
    let mut made = Vec::new();
    for path in &args.files {
        for manifest in Manifest::read_all(path) {
            match manifest {
                Ok(manifest) => {
                    say(&manifest.warnings, screen);
                    made.extend(objects(&manifest, args.all)?);
                }
                Err(refused) => bad.extend(refused.0),
            }
        }
    }
    if !bad.is_empty() {
        return Err(BadInput(bad).into());
    }
    let documents: Vec<String> = made.iter().map(json_to_yaml).collect();
    write!(screen.out, "{}", documents.join("---\n"))?;
    Ok(Exit::Fine)
}

/// The set, and what stands beside it.
fn objects(manifest: &Manifest, all: bool) -> anyhow::Result<Vec<Value>> {
    let Some(theirs) = &manifest.theirs else {
        let already = "holds a LockstepSet: there is nothing to convert";
        return Err(BadInput(vec![Complaint::of_file(&manifest.file, already)]).into());
    };
    let mut objects = vec![serde_json::to_value(&*manifest.set)?];
    if all {
        objects.extend(theirs.beside.iter().cloned());
    }
    Ok(objects)
}
