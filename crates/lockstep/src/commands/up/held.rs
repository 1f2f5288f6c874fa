//! A file that one process holds: whoever ends, in whatever way, holds it no longer.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A file that is held for as long as this lives, and is gone afterwards.
#[derive(Debug)]
pub struct Held {
    file: File,
    path: PathBuf,
}

/// Why a file is not held.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Another process holds it.
    #[error("process {by} holds {}", path.display())]
    Taken {
        /// Which file.
        path: PathBuf,
        /// Who, by what it wrote.
        by: String,
    },
    /// It cannot be made or locked.
    #[error("cannot lock {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Held {
    /// Holds a file, which is made if it is not there.
    pub fn take(path: &Path) -> Result<Self, HoldError> {
        Self::hold(path, OpenOptions::new().create(true)).map_err(|error| error.named(path))
    }

    /// Holds a file that somebody left: not one that is not there, and not one that is held.
    pub fn take_over(path: &Path) -> Result<Self, HoldError> {
        Self::hold(path, &mut OpenOptions::new()).map_err(|error| error.named(path))
    }

    fn hold(path: &Path, options: &mut OpenOptions) -> Result<Self, Refused> {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        // A link is nobody's lock: what it leads to is not what has this path.
        if std::fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
            return Err(Refused::File(io::Error::other("it is a symbolic link; remove it")));
        }
        loop {
            let mut file = options.read(true).write(true).open(path).map_err(Refused::File)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(Refused::Taken(owner(&mut file))),
                Err(TryLockError::Error(error)) => return Err(Refused::File(error)),
            }
            // The one before may have removed it between our opening and our locking: then we hold what nobody finds.
            if is_at(&file, path).map_err(Refused::File)? {
                write_owner(&mut file).map_err(Refused::File)?;
                return Ok(Self { file, path: path.to_owned() });
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Removed while it is held: whoever opens it later opens another. The lock goes with the file.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

enum Refused {
    Taken(String),
    File(io::Error),
}

impl Refused {
    fn named(self, path: &Path) -> HoldError {
        let path = path.to_owned();
        match self {
            Self::Taken(by) => HoldError::Taken { path, by },
            Self::File(source) => HoldError::File { path, source },
        }
    }
}

/// Who wrote into the file that it is theirs.
fn owner(file: &mut File) -> String {
    let mut text = String::new();
    // It may be about to be written; that it is held is what counts.
    let _ = file.read_to_string(&mut text);
    let number: String = text.trim().chars().filter(char::is_ascii_digit).collect();
    if number.is_empty() { "of somebody else".to_owned() } else { number }
}

fn write_owner(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Whether this is the file that has this path now.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(there) => Ok(is_same(&file.metadata()?, &there)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;

    #[test]
    fn one_holds_it_until_it_lets_go() {
        let folder = Scratch::new("held");
        let path = folder.join("data.lock");
        assert!(Held::take_over(&path).is_err(), "nobody left it");
        let held = Held::take(&path).unwrap();
        let refused = Held::take(&path).unwrap_err().to_string();
        let own = format!("process {} holds {}", std::process::id(), path.display());
        assert_eq!(refused, own);
        assert!(Held::take_over(&path).is_err(), "it is held");
        drop(held);
        assert!(!path.exists());
        drop(Held::take(&path).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused() {
        let folder = Scratch::new("link");
        let (path, other) = (folder.join("data.lock"), folder.join("other"));
        std::fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        let refused = Held::take(&path).unwrap_err().to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
        assert!(path.is_symlink() && other.exists());
    }

    #[test]
    fn what_was_left_behind_can_be_taken() {
        let folder = Scratch::new("left");
        let path = folder.join("data.lock");
        std::fs::write(&path, "1\n").unwrap();
        let held = Held::take_over(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        drop(held);
    }
}
