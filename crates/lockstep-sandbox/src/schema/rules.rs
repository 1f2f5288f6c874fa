//! Rules in CEL: when they are asked, and what is said where they do not hold.

use serde_json::Value;

use super::correlate::{Pair, find};
use super::words::{self, Path};
use super::{ListType, Schema, Values};
use crate::cel::{Program, Subject, Type};
use crate::refusal::Cause;

/// A rule of `x-kubernetes-validations`.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    /// The expression.
    pub text: String,
    /// What is said if it does not hold.
    pub message: String,
    /// What is said, as an expression.
    pub message_expression: String,
    /// `FieldValueInvalid` and the like.
    pub reason: String,
    /// The field that is blamed.
    pub field_path: String,
    /// Whether it is asked without an old value, too.
    pub optional_old: Option<bool>,
    compiled: Option<Compiled>,
    failed: Option<String>,
}

#[derive(Debug, Clone)]
struct Compiled {
    program: Program,
    message: Option<Program>,
    uses_old: bool,
    blamed: Option<Path>,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleProblem {
    Rule(String),
    Message(String),
}

impl Rule {
    pub(super) fn read(written: &Value) -> Self {
        let text = |key: &str| written.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            text: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: text("reason"),
            field_path: text("fieldPath"),
            optional_old: written.get("optionalOldSelf").and_then(Value::as_bool),
            compiled: None,
            failed: None,
        }
    }

    /// The rule compares with what was before.
    pub(crate) fn uses_old(&self) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.uses_old)
    }

    /// What is said if the rule does not hold and nobody wrote a better sentence.
    fn said(&self) -> String {
        match self.message.trim() {
            "" => format!("failed rule: {}", self.text.trim()),
            message => message.to_owned(),
        }
    }

    /// The rule, named in another sentence.
    fn named(&self) -> &str {
        if self.message.is_empty() { self.text.trim() } else { self.message.trim() }
    }

    fn failed(&mut self, why: String) -> Vec<RuleProblem> {
        self.failed = Some(why.clone());
        vec![RuleProblem::Rule(why)]
    }

    /// Reads the expressions. Their types are those of what they are about.
    fn compile(&mut self, about: &Type, schema: &Schema) -> Vec<RuleProblem> {
        if self.text.trim().is_empty() {
            return Vec::new();
        }
        let old = match self.optional_old {
            Some(true) => Type::Optional(Box::new(about.clone())),
            _ => about.clone(),
        };
        let variables = [("self", about.clone()), ("oldSelf", old)];
        let read = |text: &str| Program::compile_typed(text, &variables);
        let program = match read(&self.text) {
            Ok((program, Type::Bool)) => program,
            Ok(_) => return self.failed("cel expression must evaluate to a bool".to_owned()),
            Err(unsound) => return self.failed(unsound.shown(&self.text)),
        };
        let mut problems = Vec::new();
        let message = match self.message_expression.as_str() {
            "" => None,
            text => match read(text) {
                Ok((program, Type::Text)) => Some(program),
                Ok(_) => {
                    let what = "messageExpression must evaluate to a string".to_owned();
                    problems.push(RuleProblem::Message(what));
                    None
                }
                Err(unsound) => {
                    let shown = unsound.shown(text).replacen("program instantiation", "instantiation", 1);
                    problems.push(RuleProblem::Message(format!("messageExpression {shown}")));
                    None
                }
            },
        };
        let uses_old = program.uses("oldSelf");
        let blamed = match self.field_path.as_str() {
            "" => None,
            path => schema.field_path(path, true).ok().map(|(path, _)| path),
        };
        self.compiled = Some(Compiled { program, message, uses_old, blamed });
        problems
    }
}

/// Where a value is known again.
#[derive(Clone, Copy, Default)]
struct Known<'a> {
    here: Option<Pair<'a>>,
    /// The nearest part around it that is.
    around: Option<Pair<'a>>,
}

impl<'a> Known<'a> {
    fn unchanged(&self) -> bool {
        self.here.or(self.around).is_some_and(|pair| pair.unchanged())
    }

    fn key(self, name: &str) -> Self {
        match self.here {
            None => self,
            // The version an object is in changes without its doing.
            Some(_) if self.around.is_none() && matches!(name, "apiVersion" | "kind") => Self::default(),
            Some(here) => Self { here: here.key(name), around: Some(here) },
        }
    }

    fn index(self, index: usize) -> Self {
        match self.here {
            None => self,
            Some(here) => Self { here: here.index(index), around: Some(here) },
        }
    }
}

impl Schema {
    /// There are rules here or below.
    pub(super) fn has_rules(&self) -> bool {
        let values = match &self.values {
            Values::Of(schema) => schema.has_rules(),
            _ => false,
        };
        !self.rules.is_empty()
            || values
            || self.items.as_ref().is_some_and(|items| items.has_rules())
            || self.properties.values().any(Self::has_rules)
    }

    /// Reads the rules here and below. What is wrong with them was told when the definition was checked.
    pub(super) fn compile_rules(&mut self, root: bool) {
        self.compile_own_rules(root);
        for schema in self.properties.values_mut() {
            schema.compile_rules(false);
        }
        if let Values::Of(schema) = &mut self.values {
            schema.compile_rules(false);
        }
        if let Some(schema) = &mut self.items {
            schema.compile_rules(false);
        }
    }

    /// Reads the rules of this schema, and tells what is wrong with each.
    pub(crate) fn compile_own_rules(&mut self, root: bool) -> Vec<Vec<RuleProblem>> {
        if self.rules.is_empty() {
            return Vec::new();
        }
        let about = Type::of_schema(self, root || self.embedded).unwrap_or(Type::Dyn);
        let mut rules = std::mem::take(&mut self.rules);
        let problems = rules.iter_mut().map(|rule| rule.compile(&about, self)).collect();
        self.rules = rules;
        problems
    }

    /// Asks all rules.
    pub(crate) fn validate_rules(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let known = Known { here: old.map(|old| Pair::new(new, old, self)), around: None };
        let mut causes = Vec::new();
        self.rules_at(&Path::default(), new, old, known, true, &mut causes);
        causes
    }

    /// Asks the rules about a part of an object, with nothing let pass.
    pub(crate) fn validate_rules_at(&self, at: &Path, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = Vec::new();
        self.rules_at(at, new, old, Known::default(), false, &mut causes);
        causes
    }

    fn rules_at(
        &self,
        at: &Path,
        new: &Value,
        old: Option<&Value>,
        known: Known<'_>,
        root: bool,
        causes: &mut Vec<Cause>,
    ) {
        if new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        for rule in &self.rules {
            causes.extend(self.ask(rule, at, new, old, known, root));
        }
        match new {
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    let before = match (&self.list, old.and_then(Value::as_array)) {
                        (ListType::Map(keys), Some(old)) => find(keys, old, item),
                        _ => None,
                    };
                    schema.rules_at(&at.index(index), item, before, known.index(index), false, causes);
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    let before = old.and_then(|old| old.get(key));
                    match (self.properties.get(key), &self.values) {
                        (Some(schema), _) => {
                            schema.rules_at(&at.child(key), value, before, known.key(key), false, causes);
                        }
                        (None, Values::Of(schema)) => {
                            schema.rules_at(&at.key(key), value, before, known.key(key), false, causes);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn ask(
        &self,
        rule: &Rule,
        at: &Path,
        new: &Value,
        old: Option<&Value>,
        known: Known<'_>,
        root: bool,
    ) -> Option<Cause> {
        if let Some(why) = &rule.failed {
            let what = format!("rule compile error: {why}");
            return Some(words::invalid(at, &self.type_name.as_str().into(), &what));
        }
        let compiled = rule.compiled.as_ref()?;
        let optional = rule.optional_old.unwrap_or(false);
        if compiled.uses_old && old.is_none() && !optional {
            return None;
        }
        let subject = Subject { value: new, schema: self, root };
        let failed = |what: String| Some(words::invalid(at, &self.type_name.as_str().into(), &what));
        match compiled.program.eval_rule(subject, old, optional) {
            Ok(Value::Bool(true)) => return None,
            Ok(_) => {}
            Err(error) if error.starts_with("no such overload") => {
                let named = rule.named();
                return failed(format!(
                    "'{error}': call arguments did not match a supported operator, function or macro signature \
                     for rule: {named}"
                ));
            }
            Err(error) => return failed(format!("{error} evaluating rule: {}", rule.named())),
        }
        if !compiled.uses_old && known.unchanged() {
            return None;
        }
        let message = compiled.message.as_ref().and_then(|program| message(program, subject, old));
        let at = compiled.blamed.as_ref().map_or_else(|| at.clone(), |blamed| at.child(blamed.as_str()));
        Some(self.told(rule, &at, new, &message.unwrap_or_else(|| rule.said())))
    }

    fn told(&self, rule: &Rule, at: &Path, value: &Value, said: &str) -> Cause {
        let unseen = matches!(self.type_name.as_str(), "object" | "array");
        match rule.reason.as_str() {
            "FieldValueForbidden" => words::forbidden(at, said),
            "FieldValueRequired" => words::required(at, said),
            "FieldValueDuplicate" if unseen => words::duplicate_unseen(at),
            "FieldValueDuplicate" => words::duplicate(at, value),
            _ if unseen => words::invalid_unseen(at, said),
            _ => words::invalid(at, value, said),
        }
    }
}

/// A sentence made by an expression, if it is one.
fn message(program: &Program, subject: Subject<'_>, old: Option<&Value>) -> Option<String> {
    const LONGEST: usize = 5 * 1024;
    let value = program.eval_rule(subject, old, false).ok()?;
    let text = value.as_str()?.trim();
    (!text.is_empty() && text.len() <= LONGEST && !text.contains('\n')).then(|| text.to_owned())
}

impl Schema {
    /// Follows a path like `.spec.list['key']`, and tells it in the words of messages.
    pub(crate) fn field_path(&self, path: &str, brackets: bool) -> Result<(Path, &Self), String> {
        let mut tokens = tokens(path).into_iter();
        let (mut at, mut schema) = (Path::default(), self);
        while let Some(token) = tokens.next() {
            let name = match token.as_str() {
                "[" if !brackets => return Err("array notation is not allowed".to_owned()),
                "[" => {
                    let quoted = tokens.next().ok_or(UNEXPECTED_END)?;
                    let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                    let name =
                        inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                    match tokens.next().ok_or(UNEXPECTED_END)?.as_str() {
                        "]" => name.replace("\\'", "'").replace("\\\\", "\\"),
                        other => return Err(format!("expected ] but got {other}")),
                    }
                }
                "." => tokens.next().ok_or(UNEXPECTED_END)?,
                other => return Err(format!("expected [ or . but got: {other}")),
            };
            let unknown = || "does not refer to a valid field".to_owned();
            (at, schema) = match (schema.properties.is_empty(), &schema.values) {
                (false, _) => (at.child(&name), schema.properties.get(&name).ok_or_else(unknown)?),
                (true, Values::Of(values)) => (at.key(&name), values.as_ref()),
                _ => return Err(unknown()),
            };
        }
        Ok((at, schema))
    }
}

const UNEXPECTED_END: &str = "unexpected end of JSON path";

/// The words of a path: dots, brackets, and what is between them.
fn tokens(path: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for letter in path.chars() {
        match letter {
            '.' | '[' | ']' if !quoted => {
                if !word.is_empty() {
                    found.push(std::mem::take(&mut word));
                }
                found.push(letter.to_string());
            }
            '\'' => {
                quoted = !quoted || word.ends_with('\\');
                word.push(letter);
            }
            plain => word.push(plain),
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}
