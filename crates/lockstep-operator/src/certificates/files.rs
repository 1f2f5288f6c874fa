//! Certificates that somebody else makes, in a folder: `tls.crt` and `tls.key`, as in a mounted Secret.

use std::io;
use std::path::{Path, PathBuf};

use futures::StreamExt;
use futures::stream::BoxStream;

use crate::serve::{CertificateError, Readiness, ServingCertificate};

/// A folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file or the folder cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What is in it cannot be shown.
    #[error("{path}: {source}")]
    Certificate {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: CertificateError,
    },
}

/// Shows what is in a folder, and again whenever it changes; for ever. What cannot be used leaves what was shown
/// before: files may be written one after the other.
pub async fn follow(dir: &Path, shown: &ServingCertificate, readiness: &Readiness) -> Result<(), FilesError> {
    // Watched before it is read, so that nothing is missed between the two.
    let mut changes = changes(dir).map_err(|source| FilesError::Read { path: dir.to_owned(), source })?;
    loop {
        if let Err(error) = show(dir, shown).await {
            tracing::warn!(%error, "webhook certificate");
        }
        readiness.certificate(shown.is_installed());
        if changes.next().await.is_none() {
            return Ok(());
        }
    }
}

async fn show(dir: &Path, shown: &ServingCertificate) -> Result<(), FilesError> {
    let read = async |name: &str| {
        let path = dir.join(name);
        tokio::fs::read(&path).await.map_err(|source| FilesError::Read { path, source })
    };
    let (certificate, key) = (read("tls.crt").await?, read("tls.key").await?);
    let installed = shown.install(&certificate, &key);
    installed.map_err(|source| FilesError::Certificate { path: dir.to_owned(), source })
}

/// Something in the folder has changed. A mounted Secret changes by renaming a link in it.
#[cfg(target_os = "linux")]
fn changes(dir: &Path) -> io::Result<BoxStream<'static, ()>> {
    use inotify::{Inotify, WatchMask};

    let inotify = Inotify::init()?;
    let what = WatchMask::CLOSE_WRITE | WatchMask::CREATE | WatchMask::MOVED_TO | WatchMask::DELETE;
    inotify.watches().add(dir, what)?;
    let events = inotify.into_event_stream(vec![0; 4096])?;
    Ok(events.filter_map(async |event| event.ok().map(drop)).boxed())
}

/// Nobody tells us of changes here: the operator runs on Linux, and this is for trying it out.
#[cfg(not(target_os = "linux"))]
fn changes(dir: &Path) -> io::Result<BoxStream<'static, ()>> {
    std::fs::metadata(dir)?;
    let minute = std::time::Duration::from_secs(60);
    Ok(futures::stream::unfold((), move |()| async move {
        tokio::time::sleep(minute).await;
        Some(((), ()))
    })
    .boxed())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use lockstep_testkit::pki::{Authority, Identity};

    use super::*;

    /// As a kubelet does it: a folder of the new version, then a link to it that is put in place by renaming.
    fn mount(dir: &Path, version: &str, identity: &Identity) {
        let files = dir.join(format!("..{version}"));
        std::fs::create_dir(&files).expect("a folder");
        std::fs::write(files.join("tls.crt"), &identity.certificate_pem).expect("written");
        std::fs::write(files.join("tls.key"), &identity.key_pem).expect("written");
        std::os::unix::fs::symlink(&files, dir.join("..data_tmp")).expect("a link");
        std::fs::rename(dir.join("..data_tmp"), dir.join("..data")).expect("renamed");
    }

    #[tokio::test]
    async fn a_mounted_secret_is_followed() {
        let dir = std::env::temp_dir().join(format!("lockstep-files-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        for name in ["tls.crt", "tls.key"] {
            std::os::unix::fs::symlink(format!("..data/{name}"), dir.join(name)).expect("a link");
        }
        let authority = Authority::new("test").expect("an authority");
        let (shown, readiness) = (ServingCertificate::none(), Readiness::default());
        let task = {
            let (dir, shown, readiness) = (dir.clone(), Arc::clone(&shown), readiness.clone());
            tokio::spawn(async move { follow(&dir, &shown, &readiness).await })
        };
        let mut before = None;
        for version in ["1", "2"] {
            let identity = authority.serve(&[]).expect("an identity");
            mount(&dir, version, &identity);
            let changed = async {
                while shown.chain() == before {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(10), changed).await.expect("seen");
            before = shown.chain();
        }
        assert!(readiness.missing().is_empty());
        // Half of it is wrong: the other half stays.
        std::fs::write(dir.join("..data/tls.key"), "nonsense").expect("written");
        std::fs::write(dir.join("touched"), "").expect("written");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(shown.chain(), before);
        assert!(!task.is_finished());
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
