//! Where programs are kept once they are built: outside the checkout, by version and module files.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{BuildError, Part, go};

/// The cache of this project: `LOCKSTEP_CACHE`, else `lockstep` in the user's cache folder.
pub fn cache_dir() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let in_home = || set("HOME").unwrap_or_else(std::env::temp_dir).join(".cache");
    set("LOCKSTEP_CACHE").unwrap_or_else(|| set("XDG_CACHE_HOME").unwrap_or_else(in_home).join("lockstep"))
}

/// The folder with a part's programs, built if it is not there yet.
pub(super) fn find_or_build(part: Part, say: &mut dyn FnMut(&str)) -> Result<PathBuf, BuildError> {
    let root = cache_dir().join("control-plane");
    let home = root.join(format!("{}-{}-{}", part.name(), part.version(), key(part)));
    if home.is_dir() {
        return Ok(home);
    }
    if !go::is_there() {
        return Err(BuildError::NoGo { part, needed: part.needed_go() });
    }
    fs::create_dir_all(&root).map_err(BuildError::file(&root))?;
    let _lock = lock(&home.with_added_extension("lock"), part, say)?;
    // Somebody else may have built it while we waited.
    if !home.is_dir() {
        build_aside(part, &home, say)?;
    }
    Ok(home)
}

/// Builds beside the final place and moves it there whole: what is found is always complete.
fn build_aside(part: Part, home: &Path, say: &mut dyn FnMut(&str)) -> Result<(), BuildError> {
    let aside = home.with_added_extension("building");
    let _ = fs::remove_dir_all(&aside);
    fs::create_dir_all(&aside).map_err(BuildError::file(&aside))?;
    go::build(part, &aside, say)?;
    fs::rename(&aside, home).map_err(BuildError::file(home))
}

/// One build at a time: several test programs may ask at once.
fn lock(path: &Path, part: Part, say: &mut dyn FnMut(&str)) -> Result<fs::File, BuildError> {
    let file = fs::File::create(path).map_err(BuildError::file(path))?;
    if file.try_lock().is_err() {
        say(&format!("{part}: waiting for another build"));
        file.lock().map_err(BuildError::file(path))?;
    }
    Ok(file)
}

/// What decides about the bytes of the programs.
fn key(part: Part) -> String {
    let (module, sums) = part.module_files();
    let flags = part.linker_flags();
    let programs: Vec<&str> = part.programs().iter().flat_map(|it| [it.name, it.package]).collect();
    let digest = Sha256::digest([module, sums, &flags, &programs.join(" ")].join("\n").as_bytes());
    digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}
