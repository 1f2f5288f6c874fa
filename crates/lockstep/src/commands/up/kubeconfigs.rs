//! Kubeconfigs that go with their clusters, in a folder of their own; and what is left of folders whose process is gone.

use std::fs::Metadata;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::held::Held;

/// How the folders begin; the number of the process follows.
const PREFIX: &str = "lockstep-up-";
/// In every folder: held by the process whose it is.
const LOCK: &str = "lock";
/// Few have had the same number.
const ATTEMPTS: u32 = 100;

/// Kubeconfigs of one process.
pub struct Kubeconfigs {
    folder: PathBuf,
    files: Vec<PathBuf>,
    lock: Option<Held>,
}

impl Kubeconfigs {
    /// Makes a folder for them, and removes those of processes that were killed.
    pub fn make() -> Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(temp: &Path) -> Result<Self> {
        for attempt in 0..ATTEMPTS {
            let again = if attempt == 0 { String::new() } else { format!("-{attempt}") };
            let folder = temp.join(format!("{PREFIX}{}{again}", std::process::id()));
            // They hold tokens: nobody else may read them, or have put them there before us.
            let mut folders = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
            match folders.create(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error).with_context(|| format!("cannot make {}", folder.display())),
            }
            // Whoever tidies up in this moment may take an empty folder for one that was left.
            let Ok(lock) = Held::take(&folder.join(LOCK)) else { continue };
            let ours = std::fs::symlink_metadata(&folder);
            let ours = ours.with_context(|| format!("cannot look at {}", folder.display()))?;
            tidy(temp, &ours);
            return Ok(Self { folder, files: Vec::new(), lock: Some(lock) });
        }
        bail!("cannot make a folder {PREFIX}{} in {}", std::process::id(), temp.display())
    }

    /// Writes one, and says where it is.
    pub fn write(&mut self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.file(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        self.files.push(path.clone());
        let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Where the one of this name is.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Kubeconfigs {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        drop(self.lock.take());
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// Removes the folders of processes that are gone. What cannot be removed is nobody's trouble now.
fn tidy(temp: &Path, ours: &Metadata) {
    for entry in std::fs::read_dir(temp).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let named = number.is_some_and(|it| it.bytes().all(|sign| sign.is_ascii_digit() || sign == b'-'));
        // Not through links: they may lead anywhere.
        let found = std::fs::symlink_metadata(entry.path());
        if named && found.is_ok_and(|found| is_like(&found, ours)) {
            clear(&entry.path());
        }
    }
}

/// A folder of the same person, closed to everybody else.
#[cfg(unix)]
fn is_like(found: &Metadata, ours: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.is_dir() && (found.uid(), found.mode()) == (ours.uid(), ours.mode())
}

#[cfg(not(unix))]
fn is_like(found: &Metadata, _: &Metadata) -> bool {
    found.is_dir()
}

/// Removes what a process wrote that is gone, and nothing that anybody else put there: then the folder stays.
fn clear(folder: &Path) {
    let Ok(left) = Held::take_over(&folder.join(LOCK)) else { return };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_kubeconfig) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    drop(left);
    let _ = std::fs::remove_dir(folder);
}

/// The names that are given: of the one cluster, of a host, of its members.
fn is_kubeconfig(name: &str) -> bool {
    let member = name.strip_prefix("member");
    let counted =
        member.is_some_and(|number| !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()));
    counted || matches!(name, "kubeconfig" | "host")
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;

    /// A folder as a process leaves it that was killed.
    fn left(temp: &Path, name: &str, files: &[&str]) -> PathBuf {
        let folder = temp.join(name);
        let mut folders = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.create(&folder).unwrap();
        for file in files {
            std::fs::write(folder.join(file), "").unwrap();
        }
        folder
    }

    #[test]
    fn only_what_a_process_left_that_is_gone_is_removed() {
        let temp = Scratch::new("kubeconfigs");
        let gone = [
            left(&temp, "lockstep-up-1", &["lock", "kubeconfig"]),
            left(&temp, "lockstep-up-2-1", &["lock", "host", "member1", "member2"]),
        ];
        let open = left(&temp, "lockstep-up-7", &["lock", "kubeconfig"]);
        std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let elsewhere = left(&temp, "elsewhere", &["lock", "kubeconfig"]);
        std::os::unix::fs::symlink(&elsewhere, temp.join("lockstep-up-8")).unwrap();
        let stays = [
            left(&temp, "lockstep-up-3", &["lock", "kubeconfig"]),
            left(&temp, "lockstep-up-4", &["kubeconfig"]),
            left(&temp, "lockstep-up-mine", &["lock", "kubeconfig"]),
            left(&temp, "lockstep-up-5", &["lock", "kubeconfig", "notes.txt"]),
            open,
            elsewhere,
        ];
        let held = Held::take(&stays[0].join("lock")).unwrap();
        let mut ours = Kubeconfigs::make_in(&temp).unwrap();
        assert!(gone.iter().all(|folder| !folder.exists()));
        assert!(stays.iter().all(|folder| folder.exists()));
        let kept = |at: usize, file: &str| stays[at].join(file).exists();
        assert!(
            kept(0, "kubeconfig") && kept(2, "kubeconfig") && kept(3, "notes.txt") && kept(5, "kubeconfig")
        );

        let file = ours.write("kubeconfig", "x").unwrap();
        let beside = Kubeconfigs::make_in(&temp).unwrap();
        assert_ne!(beside.folder, ours.folder, "the number is taken");
        assert!(file.exists(), "those of a process that lives stay");
        let folders = [ours.folder.clone(), beside.folder.clone()];
        drop((ours, beside));
        assert!(folders.iter().all(|folder| !folder.exists()));
        drop(held);
    }
}
