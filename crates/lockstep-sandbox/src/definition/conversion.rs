//! How objects get from one version to another.

use serde_json::Value;

use super::check::one_of;
use super::{list, text, there};
use crate::refusal::Cause;
use crate::schema::names::label_1035;
use crate::schema::words::{self, Path};

/// What is wrong with the conversion.
pub(super) fn check(at: &Path, conversion: &Value) -> Vec<Cause> {
    if conversion.is_null() {
        return Vec::new();
    }
    let strategy = text(conversion, "strategy");
    let webhook = &conversion["webhook"];
    let client = there(webhook, "clientConfig");
    let (client_at, reviews_at) = (at.child("webhookClientConfig"), at.child("conversionReviewVersions"));
    let reviews = list(webhook, "conversionReviewVersions");
    let mut causes: Vec<Cause> =
        one_of(&at.child("strategy"), strategy, &["None", "Webhook"]).into_iter().collect();
    if strategy == "Webhook" {
        match client {
            None => causes.push(words::required(&client_at, "required when strategy is set to Webhook")),
            Some(client) => causes.extend(target(&client_at, client)),
        }
        causes.extend(review_versions(&reviews_at, reviews));
        return causes;
    }
    let why = "should not be set when strategy is not set to Webhook";
    causes.extend(client.map(|_| words::forbidden(&client_at, why)));
    causes.extend((!reviews.is_empty()).then(|| words::forbidden(&reviews_at, why)));
    causes
}

/// Whom to ask: an address or a service, and not both.
fn target(at: &Path, client: &Value) -> Vec<Cause> {
    match (there(client, "url"), there(client, "service")) {
        (Some(url), None) => {
            let at = at.child("url");
            let url = url.as_str().unwrap_or_default();
            let format = "desired format: https://host[/path]";
            let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
            let mut causes = Vec::new();
            if scheme != "https" {
                let why = format!("'https' is the only allowed URL scheme; {format}");
                causes.push(words::invalid(&at, &scheme.into(), &why));
            }
            if rest.split('/').next().unwrap_or_default().is_empty() {
                causes.push(words::invalid(&at, &"".into(), &format!("host must be specified; {format}")));
            }
            causes
        }
        (None, Some(service)) => {
            let missing = ["name", "namespace"].into_iter().filter(|key| text(service, key).is_empty());
            missing.map(|key| words::required(&at.child("service").child(key), "")).collect()
        }
        _ => vec![words::required(at, "exactly one of url or service is required")],
    }
}

fn review_versions(at: &Path, versions: &[Value]) -> Vec<Cause> {
    if versions.is_empty() {
        return vec![words::required(at, "")];
    }
    let mut causes = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        if versions.iter().take(index).any(|before| before == version) {
            causes.push(words::invalid(&at.index(index), version, "duplicate version"));
            continue;
        }
        for problem in label_1035(version.as_str().unwrap_or_default()) {
            causes.push(words::invalid(&at.index(index), version, &problem));
        }
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        causes.push(words::invalid(at, &versions.to_vec().into(), why));
    }
    causes
}
