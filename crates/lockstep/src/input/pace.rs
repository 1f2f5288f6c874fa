//! How long pods take, as said on the command line.

use lockstep_core::model::Spec;
use lockstep_core::names::RoleName;
use lockstep_core::simulate::faults::{Nature, Span};

use super::complaint::{BadInput, Complaint};
use crate::args::Pace;

/// Puts what was said into a nature. Every role that is named must exist.
pub fn apply(pace: &Pace, nature: &mut Nature, specs: &[&Spec]) -> Result<(), BadInput> {
    let mut wrong = Vec::new();
    for ready in &pace.ready {
        let Some(role) = &ready.role else {
            nature.start_up_default = Span::fixed(ready.time);
            nature.start_up.clear();
            continue;
        };
        let name = RoleName::new(role);
        if !specs.iter().any(|spec| spec.role(&name).is_some()) {
            wrong.push(Complaint::of_file(
                "--ready",
                format!("no role {role:?}; {}", super::roles::known(specs)),
            ));
        }
        nature.start_up.insert(name, Span::fixed(ready.time));
    }
    if let Some(time) = pace.terminate {
        nature.termination = Span::fixed(time);
    }
    if wrong.is_empty() { Ok(()) } else { Err(BadInput(wrong)) }
}

/// How long pods take, in words: `prefill 8m, decode 6m, termination 1s`.
pub fn say(nature: &Nature, spec: &Spec) -> String {
    let of = |role: &RoleName| nature.start_up.get(role).copied().unwrap_or(nature.start_up_default);
    let spans: Vec<Span> = spec.roles.iter().map(|role| of(&role.name)).collect();
    let alike = spans.windows(2).all(|pair| pair[0] == pair[1]);
    let start = match (alike, spans.first()) {
        (true, Some(span)) => say_span(*span),
        _ => {
            let each = spec.roles.iter().zip(&spans);
            each.map(|(role, span)| format!("{} {}", role.name, say_span(*span)))
                .collect::<Vec<_>>()
                .join(", ")
        }
    };
    format!("start-up {start}, termination {}", say_span(nature.termination))
}

/// A length of time, or from one to another.
pub fn say_span(span: Span) -> String {
    if span.min == span.max { span.min.to_string() } else { format!("{}–{}", span.min, span.max) }
}
