//! Processes that never outlive the test that started them, however it ends.
//!
//! A supervisor (a few lines of shell in a process group of its own) holds the other end of a pipe. When the
//! pipe closes, because the cluster was dropped, because the test panicked, or because somebody pressed
//! Ctrl-C or killed the test program, it kills what is listed in the folder and removes the folder. There is
//! no other way of cleaning up, so this one is taken every time.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// `$1` is the folder; `$2`, if not empty, keeps it for somebody to look into.
const SUPERVISOR: &str = r#"
trap '' INT TERM HUP QUIT
while read -r _; do :; done
for pid in "$1"/pids/*; do kill -9 "-${pid##*/}" 2>/dev/null; done
tries=0
while [ -z "$2" ] && [ -e "$1" ] && [ $tries -lt 100 ]; do
  rm -rf "$1" 2>/dev/null || sleep 0.05
  tries=$((tries + 1))
done
"#;

/// Writes down who it is before it becomes the program, so that the supervisor knows it from the first moment.
/// `$1` is the folder.
const LISTED: &str = r#"dir=$1; shift; : > "$dir/pids/$$"; exec "$@""#;

/// How often a process that is to end is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Ends all processes of a folder, and the folder, when it is dropped or this program dies.
#[derive(Debug)]
pub struct Supervisor {
    dir: PathBuf,
    shell: Child,
}

impl Supervisor {
    /// Watches over a new folder, which nobody else may look into: there are keys in it.
    pub fn start(dir: &Path, keep: bool) -> io::Result<Self> {
        fs::DirBuilder::new().mode(0o700).create(dir)?;
        fs::create_dir(dir.join("pids"))?;
        let shell = Command::new("sh")
            .args(["-c", SUPERVISOR, "lockstep-supervisor"])
            .arg(dir)
            .arg(if keep { "keep" } else { "" })
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { dir: dir.to_owned(), shell })
    }

    /// Starts a program that writes what it says to a log file.
    pub fn spawn(&self, program: &Path, arguments: &[String], log: &Path) -> io::Result<Process> {
        let out = fs::OpenOptions::new().create(true).append(true).open(log)?;
        let child = Command::new("sh")
            .args(["-c", LISTED, "sh"])
            .arg(&self.dir)
            .arg(program)
            .args(arguments)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()?;
        let listed = self.dir.join("pids").join(child.id().to_string());
        Ok(Process { child, listed, log: log.to_owned() })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Child,
    listed: PathBuf,
    log: PathBuf,
}

impl Process {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let ended = self.child.try_wait().ok().flatten();
        if ended.is_some() {
            // Its number may be given to somebody else from now on.
            let _ = fs::remove_file(&self.listed);
        }
        ended
    }

    /// The last lines it said.
    pub fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Asks it to end, and waits; after `patience` it is killed.
    pub async fn stop(self, patience: Duration) {
        self.end(Signal::TERM, patience).await;
    }

    /// Kills it on the spot.
    pub async fn kill(self) {
        self.end(Signal::KILL, Duration::from_secs(5)).await;
    }

    async fn end(mut self, signal: Signal, patience: Duration) {
        let deadline = tokio::time::Instant::now() + patience;
        if self.ended().is_none() {
            self.signal(signal);
        }
        while self.ended().is_none() {
            if tokio::time::Instant::now() >= deadline {
                self.signal(Signal::KILL);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    /// The supervisor has killed it by now, or it ended by itself: without this it would stay a zombie.
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
