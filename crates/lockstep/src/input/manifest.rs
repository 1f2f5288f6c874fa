//! Manifests: read, checked and lowered.

use std::io::Read;
use std::path::Path;

use lockstep_api::{Document, Problem, Valid};
use lockstep_core::model::Spec;

use super::complaint::{BadInput, Complaint};
use super::strangers;
use super::texts::{Text, Texts};
use super::theirs::{self, Theirs};

/// The largest file that is read: far above any manifest, far below any memory.
const LARGEST: u64 = 64 << 20;

/// A manifest that was found to be right.
#[derive(Debug)]
pub struct Manifest {
    /// Its file, as it was named.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The set.
    pub set: Valid,
    /// The same in the engine's words.
    pub spec: Spec,
    /// What deserves a word.
    pub warnings: Vec<Complaint>,
    /// The set was made from an object of another project.
    pub theirs: Option<Theirs>,
}

impl Manifest {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, BadInput> {
        let (file, text) = read_text(path)?;
        Self::parse(&file, text)
    }

    /// Reads a file that may hold several objects of other projects.
    pub fn read_all(path: &Path) -> Vec<Result<Self, BadInput>> {
        match read_text(path) {
            Ok((file, text)) => Self::parse_all(&file, text),
            Err(bad) => vec![Err(bad)],
        }
    }

    /// Reads a text that may hold several objects of other projects.
    pub fn parse_all(file: &str, text: String) -> Vec<Result<Self, BadInput>> {
        theirs::read(file, &text).unwrap_or_else(|| vec![Self::parse(file, text)])
    }

    /// Reads a text that came from somewhere.
    pub fn parse(file: &str, text: String) -> Result<Self, BadInput> {
        if let Some(mut theirs) = theirs::read(file, &text) {
            return match (theirs.pop(), theirs.len()) {
                (Some(only), 0) => only,
                (_, more) => {
                    let message = format!("one object that becomes a set is expected, not {}", more + 1);
                    Err(BadInput(vec![Complaint::of_file(file, message)]))
                }
            };
        }
        let strangers = strangers::read(file, &text);
        if !strangers.is_empty() {
            return Err(BadInput(strangers));
        }
        match lockstep_api::parse(&text) {
            Ok(parsed) => {
                let warnings = parsed.warnings.into_iter().map(|p| Complaint::warning(file, p)).collect();
                let spec = lockstep_api::lower(&parsed.set);
                Ok(Self { file: file.to_owned(), text, set: parsed.set, spec, warnings, theirs: None })
            }
            Err(problems) => Err(BadInput(problems.into_iter().map(|p| Complaint::error(file, p)).collect())),
        }
    }

    /// What is to be said of the set, where and as its user wrote it.
    pub fn told(&self, problem: &Problem) -> Problem {
        match &self.theirs {
            Some(theirs) => theirs.told(problem),
            None => {
                let line = self.written().and_then(|document| document.line_of(&problem.path));
                Problem { line, ..problem.clone() }
            }
        }
    }

    /// The LockstepSet as its user wrote it; nothing if it was made from something else. A file holds one at most.
    pub fn written(&self) -> Option<Document> {
        let is_set = |document: &Document| document.to_json()["kind"] == lockstep_api::KIND;
        Document::all(&self.text).ok()?.into_iter().find(is_set)
    }
}

/// Reads two manifests and reports what is wrong with either.
pub fn read_pair(texts: Texts) -> Result<(Option<Manifest>, Manifest), BadInput> {
    let parse = |text: Result<Text, BadInput>| text.and_then(|it| Manifest::parse(&it.file, it.text));
    let (from, to) = texts.of_a_set()?;
    match (from.map(parse).transpose(), parse(to)) {
        (Ok(from), Ok(to)) => {
            if let Some(complaint) = from.as_ref().and_then(|from| other_set(from, &to)) {
                return Err(BadInput(vec![complaint]));
            }
            Ok((from, to))
        }
        (Err(mut one), Err(other)) => {
            one.0.extend(other.0);
            Err(one)
        }
        (Err(bad), _) | (_, Err(bad)) => Err(bad),
    }
}

fn other_set(from: &Manifest, to: &Manifest) -> Option<Complaint> {
    let (old, new) = (&from.spec.name, &to.spec.name);
    (old != new).then(|| {
        let message =
            format!("this is set {new:?}, but {} is set {old:?}: both must be the same set", from.file);
        Complaint::of_file(&to.file, message)
    })
}

/// The name and the text of a file; `-` is stdin.
pub fn read_text(path: &Path) -> Result<(String, String), BadInput> {
    let stdin = path.as_os_str() == "-";
    let file = if stdin { "stdin".to_owned() } else { path.display().to_string() };
    let refuse = |message: String| BadInput(vec![Complaint::of_file(&file, message)]);
    let mut bytes = Vec::new();
    let read = if stdin {
        std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|open| open.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    match read {
        Err(error) => Err(refuse(format!("cannot be read: {error}"))),
        Ok(_) if bytes.len() as u64 > LARGEST => Err(refuse("larger than 64 MiB".to_owned())),
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => Ok((file, text)),
            Err(_) => Err(refuse("not text in UTF-8".to_owned())),
        },
    }
}
