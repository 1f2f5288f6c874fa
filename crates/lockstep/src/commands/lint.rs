//! `lockstep lint`: everything that is wrong with manifests.

use lockstep_api::budget::{PodUnavailableBudget, never_fits};
use lockstep_api::proof::{self, Verdict};
use serde_json::json;

use super::coloured;
use crate::args::{LintArgs, LintForm};
use crate::exit::Exit;
use crate::input::complaint::{Complaint, Severity};
use crate::input::manifest::Manifest;
use crate::input::mixed::Mixed;
use crate::screen::Screen;
use crate::show::words;

/// Runs the command.
pub fn run(args: &LintArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let mut found = Vec::new();
    for path in &args.files {
        let file = Mixed::read(path);
        found.extend(file.complaints);
        for manifest in file.sets {
            match manifest {
                Ok(manifest) => {
                    found.extend(manifest.warnings.iter().cloned());
                    found.extend(rules(&manifest));
                    found.extend(file.budgets.iter().filter_map(|budget| fits(&manifest, budget)));
                }
                Err(bad) => found.extend(bad.0),
            }
        }
    }
    let count = |severity| found.iter().filter(|c| c.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    match args.output {
        LintForm::Json => {
            let value = json!({"errors": errors, "warnings": warnings, "problems": found});
            serde_json::to_writer_pretty(&mut screen.out, &value)?;
            writeln!(screen.out)?;
        }
        LintForm::Text => {
            for complaint in &found {
                writeln!(screen.out, "{}", coloured(complaint, screen.paint))?;
            }
            let files = words::count(args.files.len() as u64, "file");
            let say = |n: usize, word| words::count(n as u64, word);
            match (errors, warnings) {
                (0, 0) => writeln!(screen.out, "{files}: nothing wrong")?,
                _ => writeln!(screen.out, "{files}: {}, {}", say(errors, "error"), say(warnings, "warning"))?,
            }
        }
    }
    let bad = errors > 0 || (args.strict && warnings > 0);
    Ok(if bad { Exit::BadInput } else { Exit::Fine })
}

/// Whether rollouts under these rules can finish: a first start, and an update of every role.
fn rules(manifest: &Manifest) -> Option<Complaint> {
    let verdict = proof::every_rollout(&manifest.set, &manifest.spec);
    let problem = manifest.told(&verdict.problem()?);
    Some(match verdict {
        Verdict::TooLarge => Complaint::warning(&manifest.file, problem),
        _ => Complaint::error(&manifest.file, problem),
    })
}

/// Whether an instance of the set could ever be taken away under a budget of the same file.
fn fits(manifest: &Manifest, budget: &PodUnavailableBudget) -> Option<Complaint> {
    let problem = never_fits(&manifest.set, budget)?;
    Some(Complaint::error(&manifest.file, manifest.told(&problem)))
}
