//! The programs of a control plane: found, or built from pinned Go modules into a cache, once.

mod cache;
mod go;
mod part;

use std::path::{Path, PathBuf};

pub use self::cache::cache_dir;
pub use self::part::Part;

/// The programs of a part cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no Go to build with.
    #[error(
        "{part} has to be built from Go modules, and `go` is not in PATH: install Go {needed} or newer, or \
         point KUBEBUILDER_ASSETS to a folder that holds the programs"
    )]
    NoGo {
        /// What was to be built.
        part: Part,
        /// The version its module file asks for.
        needed: &'static str,
    },
    /// The modules could not be downloaded.
    #[error("cannot download the Go modules of {part} (is the module proxy reachable?):\n{output}")]
    Download {
        /// What was to be built.
        part: Part,
        /// What Go said last.
        output: String,
    },
    /// The compiler refused.
    #[error("cannot build {part}:\n{output}")]
    Compile {
        /// What was to be built.
        part: Part,
        /// What Go said last.
        output: String,
    },
    /// The folder lacks a program.
    #[error("{dir} holds no {program} (KUBEBUILDER_ASSETS, if set, names the folder)")]
    NotInAssets {
        /// The folder.
        dir: PathBuf,
        /// What is not there.
        program: String,
    },
    /// A file or folder of the cache could not be used.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl BuildError {
    /// The machine cannot build at all, as opposed to a build that went wrong.
    pub fn is_missing_toolchain(&self) -> bool {
        matches!(self, Self::NoGo { .. })
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// A folder with the programs of a part.
#[derive(Debug, Clone)]
pub struct Programs {
    dir: PathBuf,
}

impl Programs {
    /// Finds the programs of a part: in the folder the user named, else in the cache, else by building them.
    /// `say` is told what goes on.
    pub fn of(part: Part, say: &mut dyn FnMut(&str)) -> Result<Self, BuildError> {
        match std::env::var_os("KUBEBUILDER_ASSETS") {
            Some(dir) if part == Part::Kubernetes => Ok(Self { dir: dir.into() }),
            _ => Ok(Self { dir: cache::find_or_build(part, say)? }),
        }
    }

    /// All of them must be there.
    pub fn check(&self, part: Part) -> Result<(), BuildError> {
        part.program_names().try_for_each(|program| self.path(program).map(drop))
    }

    /// The folder with the sources of the part's main module, where its manifests are.
    pub fn sources(&self, part: Part) -> Result<PathBuf, BuildError> {
        if !go::is_there() {
            return Err(BuildError::NoGo { part, needed: part.needed_go() });
        }
        go::sources(part, &self.dir)
    }

    /// Where they are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// One of them.
    pub fn path(&self, program: &str) -> Result<PathBuf, BuildError> {
        let path = self.dir.join(program);
        if path.is_file() {
            return Ok(path);
        }
        Err(BuildError::NotInAssets { dir: self.dir.clone(), program: program.to_owned() })
    }
}
