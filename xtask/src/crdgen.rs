//! `cargo xtask crdgen`: the definitions of our kinds as files, for those who install with kubectl alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lockstep_api::{crd, json_to_yaml};

const HEAD: &str =
    "# Written by `cargo xtask crdgen` from the types in crates/lockstep-api; change those instead.\n";

/// Writes the files.
pub fn write() -> Result<()> {
    for (path, text) in files() {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Says which file is not what it would be if it were written now.
pub fn check() -> Result<()> {
    for (path, text) in files() {
        let found = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if let Some(hint) = difference(&found, &text) {
            bail!("{} is out of date: {hint}\nrun `cargo xtask crdgen`", path.display());
        }
    }
    Ok(())
}

fn files() -> impl Iterator<Item = (PathBuf, String)> {
    let folder = Path::new("deploy/crds");
    crd::all().into_iter().map(move |(name, definition)| {
        (folder.join(format!("{name}.yaml")), format!("{HEAD}{}", json_to_yaml(&definition)))
    })
}

/// The first line that differs.
fn difference(found: &str, wanted: &str) -> Option<String> {
    if found == wanted {
        return None;
    }
    let (mut found, mut wanted) = (found.lines(), wanted.lines());
    for number in 1.. {
        match (found.next(), wanted.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let shown =
                    |line: Option<&str>| line.map_or("the end".to_owned(), |line| format!("`{line}`"));
                return Some(format!("line {number} is {}, and should be {}", shown(a), shown(b)));
            }
        }
    }
    Some("its line ends differ".to_owned())
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").as_deref(), Some("line 2 is `b`, and should be `c`"));
        assert_eq!(difference("a\n", "a\nc\n").as_deref(), Some("line 2 is the end, and should be `c`"));
        assert_eq!(difference("a", "a\n").as_deref(), Some("its line ends differ"));
    }
}
