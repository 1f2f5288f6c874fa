//! All that is stored, in a file: a cluster that is started over it goes on where it was.

use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::controllers::read;
use crate::server::Server;

/// All that is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Data {
    /// The revision of the last change.
    pub revision: u64,
    /// All objects.
    pub objects: Vec<Value>,
}

/// A file that cannot be read or written.
#[derive(Debug, Error)]
pub enum DataError {
    /// It cannot be reached.
    #[error("{file}: {source}")]
    File {
        /// Which.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// It holds something else.
    #[error("{file} holds no cluster: {source}")]
    Content {
        /// Which.
        file: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl Data {
    pub(super) fn of(server: &Server) -> Self {
        let objects = server.store().all().map(|(_, object)| Value::clone(object)).collect();
        Self { revision: server.store().revision(), objects }
    }

    /// The same, begun again now: nobody counts as silent for the time in which nobody listened.
    pub(super) fn begun_again(mut self, now: Timestamp) -> Self {
        let of_nodes = |object: &&mut Value| {
            object["kind"] == "Lease" && object["metadata"]["namespace"] == "kube-node-lease"
        };
        for lease in self.objects.iter_mut().filter(of_nodes) {
            lease["spec"]["renewTime"] = Value::from(read::precise(now));
        }
        self
    }

    /// Reads a file; nothing if there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, DataError> {
        let file = || path.display().to_string();
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(DataError::File { file: file(), source }),
        };
        let read = serde_json::from_slice(&bytes);
        read.map(Some).map_err(|source| DataError::Content { file: file(), source })
    }

    /// Writes a file: all of it, or nothing.
    pub fn write(&self, path: &Path) -> Result<(), DataError> {
        let failed = |source: io::Error| DataError::File { file: path.display().to_string(), source };
        let bytes = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // It holds every secret of the cluster.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let whole = |mut file: std::fs::File| file.write_all(&bytes).and_then(|()| file.sync_all());
        options.open(&beside).and_then(whole).map_err(failed)?;
        std::fs::rename(&beside, path).and_then(|()| settle(path)).map_err(failed)
    }
}

/// Who loses power right after it finds the new file, too, and not the one before.
#[cfg(unix)]
fn settle(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    std::fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn settle(_: &Path) -> io::Result<()> {
    Ok(())
}
