//! What happens when a pod fails or restarts: said at the role, or at its pattern, in a word or at length.

use lockstep_api::{RestartPolicy, RestartType};
use serde::Deserialize;
use serde_json::Value;

use super::names::Naming;
use super::spec::pattern::RestartConfig;
use super::spec::role::RoleSpec;
use crate::Findings;

/// Without a word an instance of several pods is replaced as a whole.
pub(crate) fn lower(
    role: &RoleSpec,
    at: &str,
    naming: Naming,
    found: &mut Findings<'_>,
) -> Option<RestartPolicy> {
    let mut config = Gathered { config: RestartConfig::default(), at: format!("{at}.restartPolicy") };
    config.take(role.restart_policy.as_ref(), format!("{at}.restartPolicy"), found);
    if let Some(it) = &role.leader_worker_pattern {
        config.take(it.restart_policy.as_ref(), format!("{at}.leaderWorkerPattern.restartPolicy"), found);
        config.narrow(it.restart_policy_config.as_ref(), (it.base_delay_seconds, it.max_delay_seconds));
    }
    if let Some(it) = &role.custom_components_pattern {
        config.take(it.restart_policy.as_ref(), format!("{at}.customComponentsPattern.restartPolicy"), found);
        config.narrow(it.restart_policy_config.as_ref(), (it.base_delay_seconds, it.max_delay_seconds));
    }
    let kind = match config.config.kind.as_deref() {
        None | Some("") if naming == Naming::Standalone => RestartType::None,
        None | Some("" | "RecreateRoleInstanceOnPodRestart") => RestartType::Instance,
        Some("None") => RestartType::None,
        Some("RecreateRBGOnPodRestart") => RestartType::Group,
        Some(_) => {
            let words = "None, RecreateRoleInstanceOnPodRestart, RecreateRBGOnPodRestart";
            found.error(config.at, format!("must be one of {words}"));
            return None;
        }
    };
    let default = RestartPolicy::default();
    let base_delay_seconds = config.config.base_delay_seconds.unwrap_or(default.base_delay_seconds);
    let longest = default.max_delay_seconds.max(base_delay_seconds);
    let max_delay_seconds = config.config.max_delay_seconds.unwrap_or(longest);
    if base_delay_seconds > max_delay_seconds {
        let message = format!(
            "baseDelaySeconds ({base_delay_seconds}) must not be above maxDelaySeconds ({max_delay_seconds})"
        );
        found.error(config.at, message);
        return None;
    }
    Some(RestartPolicy { kind: Some(kind), base_delay_seconds, max_delay_seconds, ..default })
}

/// What was said so far, and where last.
struct Gathered {
    config: RestartConfig,
    at: String,
}

impl Gathered {
    fn take(&mut self, value: Option<&Value>, at: String, found: &mut Findings<'_>) {
        let Some(value) = value else { return };
        let read = match value {
            Value::String(word) => Ok(RestartConfig { kind: Some(word.clone()), ..RestartConfig::default() }),
            other => {
                unknown(other, &at, found);
                RestartConfig::deserialize(other)
            }
        };
        match read {
            Ok(read) => self.overlay(read),
            Err(error) => found.error(at.clone(), format!("must be a word, or type and delays: {error}")),
        }
        self.at = at;
    }

    fn narrow(&mut self, given: Option<&RestartConfig>, delays: (Option<u32>, Option<u32>)) {
        if let Some(given) = given {
            self.overlay(given.clone());
        }
        self.overlay(RestartConfig { kind: None, base_delay_seconds: delays.0, max_delay_seconds: delays.1 });
    }

    fn overlay(&mut self, over: RestartConfig) {
        let config = &mut self.config;
        config.kind = over.kind.or(config.kind.take());
        config.base_delay_seconds = over.base_delay_seconds.or(config.base_delay_seconds);
        config.max_delay_seconds = over.max_delay_seconds.or(config.max_delay_seconds);
    }
}

/// A word or an object cannot be described to an API server, so what is in the object is checked here.
fn unknown(value: &Value, at: &str, found: &mut Findings<'_>) {
    let known = ["type", "baseDelaySeconds", "maxDelaySeconds"];
    let fields = value.as_object().into_iter().flatten().map(|(name, _)| name);
    for name in fields.filter(|name| !known.contains(&name.as_str())) {
        found.error(format!("{at}.{name}"), format!("unknown field; accepted here: {}", known.join(", ")));
    }
}
