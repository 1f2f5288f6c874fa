//! What must not be so before anything is changed, each with what to do about it. Pure.

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use lockstep_dialects::Original;
use serde_json::Value;

use super::moves::{Moves, Stage};
use super::site::{Site, name, namespace, uid};
use crate::install::{NAME, title};

/// Everything that is in the way.
pub fn refusals(site: &Site, moves: &Moves) -> Vec<String> {
    let mut all = Vec::new();
    if site.definitions.is_empty() {
        let kinds: Vec<&str> =
            site.dialect.kinds().iter().filter(|kind| kind.becomes_set).map(|kind| kind.plural).collect();
        all.push(format!("the cluster does not know {}: there is nothing to take over", kinds.join(" and ")));
        return all;
    }
    all.extend(installed(site));
    all.extend(site.deployments.iter().filter_map(|it| running(site.dialect.original(), it)));
    all.extend(site.webhooks.iter().filter_map(|it| asking(site, it)));
    for (object, problems) in &moves.refused {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n    {problem}")).collect();
        let kind = object["kind"].as_str().unwrap_or_default();
        let title = format!("{}/{}", namespace(object), name(object));
        all.push(format!("{kind} {title} would be refused; mend it first:{}", lines.concat()));
    }
    all.extend(moves.all.iter().filter(|it| it.stage == Stage::New).filter_map(|it| {
        let set = it.set.as_ref()?;
        let owned = super::moves::owners(set).any(|owner| owner["uid"] == uid(&it.object));
        let title = it.title();
        (!owned).then(|| {
            format!("a LockstepSet {title} is there and has nothing to do with it; delete or rename either")
        })
    }));
    all
}

/// Our own side has to be there first.
fn installed(site: &Site) -> Option<String> {
    let dialect = site.dialect.name();
    if !site.knows_sets {
        return Some(format!("Lockstep is not installed; run `lockstep install --dialects {dialect}`"));
    }
    let ours = site.deployments.iter().find(|it| {
        it.labels().get("app.kubernetes.io/name").is_some_and(|it| it == NAME) && it.name_any() == NAME
    })?;
    let serves = arguments(ours).any(|argument| {
        let served = argument.strip_prefix("--dialects=");
        served.is_some_and(|served| served.split(',').any(|it| it == dialect))
    });
    (!serves).then(|| {
        format!("the operator that is installed does not serve {dialect}; run `lockstep install --dialects {dialect}`")
    })
}

fn arguments(deployment: &Deployment) -> impl Iterator<Item = &str> {
    let pod = deployment.spec.template.spec.as_ref();
    let containers = pod.into_iter().flat_map(|pod| &pod.containers);
    containers
        .flat_map(|container| container.args.iter().chain(&container.command).flatten())
        .map(String::as_str)
}

/// Two controllers of the same objects would take each other's pods down.
fn running(original: &Original, deployment: &Deployment) -> Option<String> {
    let title = deployment.name_any();
    if !original.controllers.contains(&title.as_str()) {
        return None;
    }
    let wished = deployment.spec.replicas.unwrap_or(1);
    let present = deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or(0);
    if wished == 0 && present == 0 {
        return None;
    }
    let off = original.choice.is_some_and(|(flag, ours)| {
        let chosen = arguments(deployment).filter_map(|argument| argument.strip_prefix(flag)).last();
        chosen.is_some_and(|chosen| !chosen.split(',').any(|it| it == ours || it == "*"))
    });
    let namespace = deployment.namespace().unwrap_or_default();
    (!off).then(|| {
        format!(
            "{} still runs: `kubectl scale deployment/{title} -n {namespace} --replicas=0` stops it ({present} of it are left)",
            original.name
        )
    })
}

/// A webhook whose server is gone refuses everything, and one whose server is there speaks for somebody else.
fn asking(site: &Site, configuration: &Value) -> Option<String> {
    if name(configuration) == NAME {
        return None;
    }
    let kinds = site.dialect.kinds();
    let about = |rule: &Value| {
        let has = |field: &str, word: &str| {
            rule[field].as_array().is_some_and(|all| all.iter().any(|it| it == word || it == "*"))
        };
        let named =
            |group: &str| rule["apiGroups"].as_array().is_some_and(|all| all.iter().any(|it| it == group));
        kinds.iter().any(|kind| named(kind.group) && has("resources", kind.plural))
    };
    let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    let asks = webhooks.flat_map(|it| it["rules"].as_array().into_iter().flatten()).any(about);
    asks.then(|| {
        let title = title(configuration);
        let name = site.dialect.original().name;
        format!("{title} still has {name} asked about its kinds: `kubectl delete {title}` removes it")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(name: &str, replicas: i32, args: &[&str]) -> Deployment {
        let pod = json!({"containers": [{"name": "main", "args": args}]});
        let value = json!({
            "metadata": {"name": name, "namespace": "kthena-system"},
            "spec": {"replicas": replicas, "selector": {}, "template": {"spec": pod}},
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_controller_that_runs_is_named_with_what_stops_it() {
        let original = lockstep_dialects::ALL[1].original();
        let cases = [
            (deployment("kthena-controller-manager", 1, &[]), true),
            (deployment("kthena-controller-manager", 0, &[]), false),
            (deployment("kthena-controller-manager", 1, &["--controllers=autoscaler,modelbooster"]), false),
            (deployment("kthena-controller-manager", 1, &["--controllers=autoscaler,modelserving"]), true),
            (deployment("kthena-router", 1, &[]), false),
        ];
        for (deployment, runs) in cases {
            let said = running(original, &deployment);
            assert_eq!(said.is_some(), runs, "{deployment:?}");
            assert!(said.is_none_or(|said| {
                said.contains("kubectl scale deployment/kthena-controller-manager -n kthena-system")
            }));
        }
    }
}
