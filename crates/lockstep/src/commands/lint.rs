//! `lockstep lint`: everything that is wrong with manifests.

use lockstep_api::Problem;
use lockstep_core::model::Spec;
use lockstep_core::prove::{Proof, prove};
use lockstep_core::revision::Revision;
use lockstep_core::simulate::{Scenario, run as play};
use lockstep_core::time::Millis;
use serde_json::json;

use super::coloured;
use crate::args::{LintArgs, LintForm};
use crate::exit::Exit;
use crate::input::complaint::{Complaint, Severity};
use crate::input::manifest::Manifest;
use crate::screen::Screen;
use crate::show::conflict::{self, Conflict};
use crate::show::words;
use crate::story::stage::Stage;

/// Runs the command.
pub fn run(args: &LintArgs, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let mut found = Vec::new();
    for path in &args.files {
        match Manifest::read(path) {
            Ok(manifest) => {
                found.extend(manifest.warnings.iter().cloned());
                found.extend(rules(&manifest));
            }
            Err(bad) => found.extend(bad.0),
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
fn rules(manifest: &Manifest) -> Vec<Complaint> {
    let spec = &manifest.spec;
    let before = other_revision(spec);
    let starts = [("a first start", None), ("an update of every role", Some(&before))];
    for (what, from) in starts {
        let message = match prove(from, spec) {
            Proof::Finishes => continue,
            Proof::TooLarge => {
                let message =
                    "too large for its rules to be tried out; nobody knows whether a rollout finishes";
                let problem = Problem {
                    path: "spec".to_owned(),
                    value: None,
                    message: message.to_owned(),
                    line: manifest.line(&["spec"]),
                };
                return vec![Complaint::warning(&manifest.file, problem)];
            }
            Proof::Blocked(_) => explain(manifest, from),
        };
        return complaints(manifest, what, &message);
    }
    Vec::new()
}

/// One complaint at each rule that takes part, or one for the whole.
fn complaints(manifest: &Manifest, what: &str, conflict: &Conflict) -> Vec<Complaint> {
    let message = format!("{what} cannot finish: {}", conflict.message);
    let index = conflict.rules.first().map(usize::to_string);
    let (path, line) = match &index {
        Some(index) => {
            (format!("spec.coordination[{index}]"), manifest.line(&["spec", "coordination", index]))
        }
        None => ("spec".to_owned(), manifest.line(&["spec"])),
    };
    vec![Complaint::error(&manifest.file, Problem { path, value: None, message, line })]
}

/// The same set with every role at another revision.
fn other_revision(spec: &Spec) -> Spec {
    let mut before = spec.clone();
    for role in &mut before.roles {
        role.revision = Revision::of(&json!({"before": role.revision}));
    }
    before
}

fn explain(manifest: &Manifest, from: Option<&Spec>) -> Conflict {
    let to = Spec { paused: false, ..manifest.spec.clone() };
    let scenario = Scenario {
        initial: from.cloned(),
        changes: vec![(Millis(0), to.clone())],
        most_plans: 100_000,
        ..Scenario::ideal(to.clone(), to)
    };
    let mut stage = Stage::default();
    let outcome = play(&scenario, &mut |event| stage.see(&event));
    conflict::explain(&manifest.set, &manifest.spec, &stage, &outcome.blocked)
}
