//! The Python client: its script, in an environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use lockstep_testkit::say;

use crate::script::Said;

/// The release the script is written for.
const CLIENT: &str = "kubernetes==37.0.2";

/// A Python that has the client.
#[derive(Debug, Clone)]
pub struct Python(PathBuf);

/// Prepares it, or says loudly that it cannot.
///
/// # Panics
/// If it cannot although it must: `LOCKSTEP_NEVER_SKIP` or `CI` is set.
pub fn ready() -> Option<Python> {
    match prepared() {
        Ok(python) => Some(python),
        Err(reason) => {
            assert!(!crate::must_not_skip(), "no Python client: {reason}");
            say(&format!("SKIPPED the Python client: {reason}"));
            None
        }
    }
}

/// An environment under the target folder. It is made under another name first: a half-made one is none.
fn prepared() -> Result<Python, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(CLIENT.replace("==", "-"));
    let python = folder.join("bin/python3");
    if folder.join("done").is_file() {
        return Ok(Python(python));
    }
    let _ = std::fs::remove_dir_all(&folder);
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", CLIENT]))?;
    std::fs::write(folder.join("done"), "").map_err(|error| error.to_string())?;
    Ok(Python(python))
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Python {
    /// Runs the script, which writes `$ step` before what each step says.
    pub fn play(&self, kubeconfig: &Path) -> Vec<Said> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/client.py");
        let said = run(Command::new(&self.0).arg(script).arg(kubeconfig)).expect("the script ends well");
        let steps = said.split("$ ").filter(|step| !step.is_empty());
        steps
            .map(|step| step.split_once('\n').unwrap_or((step, "")))
            .map(|(step, said)| Said::new(step, said))
            .collect()
    }
}
