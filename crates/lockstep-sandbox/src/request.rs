//! Requests, before anybody has looked at what they mean.

use crate::refusal::{About, Cause, Refusal};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read, list or watch.
    Get,
    /// Create.
    Post,
    /// Replace.
    Put,
    /// Change a part.
    Patch,
    /// Remove.
    Delete,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Their name.
    pub name: String,
    /// The groups they belong to.
    pub groups: Vec<String>,
}

impl User {
    /// The one who may do everything: whoever reaches the embedded cluster.
    pub fn admin() -> Self {
        Self {
            name: "kubernetes-admin".to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        }
    }

    /// A part of the cluster itself.
    pub fn system(name: &str) -> Self {
        Self { name: format!("system:{name}"), groups: vec!["system:authenticated".to_owned()] }
    }
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is to be done.
    pub method: Method,
    /// The path, percent-decoded.
    pub path: String,
    /// What stands after the question mark.
    pub query: Query,
    /// What the body is written in.
    pub content_type: String,
    /// What the answer may be written in.
    pub accept: String,
    /// The program that asks.
    pub user_agent: String,
    /// Who asks.
    pub user: User,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without a body.
    pub fn new(method: Method, path_and_query: &str) -> Self {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        Self {
            method,
            path: decoded(path, false),
            query: Query::read(query),
            content_type: String::new(),
            accept: String::new(),
            user_agent: String::new(),
            user: User::admin(),
            body: Vec::new(),
        }
    }

    /// With a body.
    pub fn with_body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.content_type = content_type.to_owned();
        self.body = body.into();
        self
    }

    /// The media type of the body, without parameters.
    pub fn media_type(&self) -> &str {
        self.content_type.split(';').next().unwrap_or_default().trim()
    }

    /// The name fields are owned under: what they say, or the program they use.
    pub fn manager(&self) -> String {
        match self.query.get("fieldManager") {
            Some(named) if !named.is_empty() => named.to_owned(),
            _ => {
                let program = self.user_agent.split('/').next().unwrap_or_default();
                let program = if program.is_empty() { "unknown" } else { program };
                program.chars().take(128).collect()
            }
        }
    }
}

/// What stands after the question mark: names and values, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads it.
    pub fn read(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name, true), decoded(value, true))
        };
        Self(pairs.map(pair).collect())
    }

    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a name.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    }

    /// It is said, and not denied.
    pub fn says(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "false" | "0"))
    }

    /// A number; a refusal in Go's own words if it is none.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        match self.get(name) {
            None | Some("") => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| {
                Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
            }),
        }
    }
}

/// Without `%20` and, in queries, `+`.
fn decoded(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let escaped = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (escaped, byte) {
            (Some(byte), _) => {
                plain.push(byte);
                at += 2;
            }
            (None, b'+') if plus => plain.push(b' '),
            (None, byte) => plain.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// What becomes of fields nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the client is told.
    Warn,
    /// They are refused.
    Strict,
}

/// What a writer asks for besides the write itself.
#[derive(Debug, Clone, Copy)]
pub struct Writes {
    /// Nothing is to be kept.
    pub dry_run: bool,
    /// What becomes of fields nobody knows.
    pub fields: FieldValidation,
}

impl Writes {
    /// Reads and checks it. `options` is the kind of these options: `CreateOptions`.
    pub fn read(query: &Query, options: &'static str) -> Result<Self, Refusal> {
        let mut causes = Vec::new();
        let dry_run = query.all("dryRun");
        if !dry_run.iter().all(|stage| *stage == "All") {
            causes.push(Cause {
                reason: "FieldValueNotSupported",
                message: format!("Unsupported value: {dry_run:?}: supported values: \"All\""),
                field: "dryRun".to_owned(),
            });
        }
        let manager = query.get("fieldManager").unwrap_or_default();
        if manager.len() > 128 {
            causes.push(Cause {
                reason: "FieldValueTooLong",
                message: "Too long: may not be more than 128 bytes".to_owned(),
                field: "fieldManager".to_owned(),
            });
        }
        let fields = match query.get("fieldValidation").unwrap_or_default() {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = r#"supported values: "", "Ignore", "Strict", "Warn""#;
                causes.push(Cause {
                    reason: "FieldValueNotSupported",
                    message: format!("Unsupported value: {other:?}: {supported}"),
                    field: "fieldValidation".to_owned(),
                });
                FieldValidation::Ignore
            }
        };
        match causes.is_empty() {
            true => Ok(Self { dry_run: !dry_run.is_empty(), fields }),
            false => Err(Refusal::invalid(meta(options), causes)),
        }
    }
}

/// Options of requests, as refusals name them.
pub fn meta(options: &'static str) -> About<'static> {
    About { group: "meta.k8s.io", what: options, name: "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let query = Query::read("labelSelector=a%3Db%2Cc&watch&x=a+b&x=%zz&limit=q");
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert_eq!(query.all("x"), ["a b", "%zz"]);
        assert!(query.says("watch") && !query.says("dryRun"));
        let refused = query.number("limit").map_err(|refusal| refusal.message);
        assert_eq!(refused, Err("strconv.ParseInt: parsing \"q\": invalid syntax".to_owned()));
    }

    #[test]
    fn options_nobody_knows_are_refused_by_name() {
        let refused = |query: &str| {
            Writes::read(&Query::read(query), "CreateOptions").map(|_| ()).map_err(|refusal| refusal.message)
        };
        assert_eq!(refused("dryRun=All&fieldValidation=Strict"), Ok(()));
        let message = "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported \
                       values: \"All\"";
        assert_eq!(refused("dryRun=x"), Err(message.to_owned()));
    }
}
