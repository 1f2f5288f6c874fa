//! Pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::table::age;
use crate::table::look::{flag, holds, is_there, list, name, number, text, text_or};

/// The cells of a pod.
pub fn pod(object: &Value, now: Timestamp) -> Vec<Value> {
    let state = State::of(object);
    vec![
        name(object),
        format!("{}/{}", state.ready, containers(object)).into(),
        state.reason.into(),
        state.restarts.shown(now).into(),
        age::of(object, now),
        ip(object).into(),
        text_or(object, "/spec/nodeName", "<none>").into(),
        text_or(object, "/status/nominatedNodeName", "<none>").into(),
        readiness_gates(object).into(),
    ]
}

/// That a pod is through.
pub fn conditions(object: &Value) -> Option<Value> {
    let phase = text(object, "/status/phase");
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]))
}

/// How often containers were restarted, and when last.
#[derive(Debug, Clone, Copy, Default)]
struct Restarts {
    number: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.number += number(status, "/restartCount");
        self.last = self.last.max(age::time(status, "/lastState/terminated/finishedAt"));
    }

    fn shown(self, now: Timestamp) -> String {
        match self.last {
            Some(last) if self.number != 0 => format!("{} ({} ago)", self.number, age::ago(last, now)),
            _ => self.number.to_string(),
        }
    }
}

/// What is said of a pod in one word, and what is counted on the way.
struct State {
    reason: String,
    ready: usize,
    restarts: Restarts,
}

impl State {
    fn of(pod: &Value) -> Self {
        let phase = text(pod, "/status/phase");
        let reason = if is_gated(pod) { "SchedulingGated" } else { text_or(pod, "/status/reason", phase) };
        let mut state = Self { reason: reason.to_owned(), ready: 0, restarts: Restarts::default() };
        let (restarts_of_sidecars, initialized) = state.look_at_init_containers(pod);
        if initialized || holds(pod, "Initialized") {
            state.restarts = restarts_of_sidecars;
            state.look_at_containers(pod);
        }
        if is_there(pod, "/metadata/deletionTimestamp") {
            if text(pod, "/status/reason") == "NodeLost" {
                state.reason = "Unknown".to_owned();
            } else if !matches!(phase, "Failed" | "Succeeded") {
                state.reason = "Terminating".to_owned();
            }
        }
        state
    }

    /// Up to the first that is not done. Tells the restarts of those that run beside the containers, and whether all
    /// are done.
    fn look_at_init_containers(&mut self, pod: &Value) -> (Restarts, bool) {
        let mut of_sidecars = Restarts::default();
        for (index, status) in list(pod, "/status/initContainerStatuses").iter().enumerate() {
            let sidecar = is_sidecar(pod, text(status, "/name"));
            self.restarts.add(status);
            if sidecar {
                of_sidecars.add(status);
            }
            let ended = is_there(status, "/state/terminated");
            if ended && number(status, "/state/terminated/exitCode") == 0 {
                continue;
            }
            if sidecar && flag(status, "/started") {
                self.ready += usize::from(flag(status, "/ready"));
                continue;
            }
            let waits_for = text(status, "/state/waiting/reason");
            self.reason = if ended {
                format!("Init:{}", end(status))
            } else if !waits_for.is_empty() && waits_for != "PodInitializing" {
                format!("Init:{waits_for}")
            } else {
                format!("Init:{index}/{}", list(pod, "/spec/initContainers").len())
            };
            return (of_sidecars, false);
        }
        (of_sidecars, true)
    }

    /// From the last to the first: the first has the last word.
    fn look_at_containers(&mut self, pod: &Value) {
        let (mut runs, mut failure) = (false, None);
        for status in list(pod, "/status/containerStatuses").iter().rev() {
            self.restarts.add(status);
            let waits_for = text(status, "/state/waiting/reason");
            if !waits_for.is_empty() {
                self.reason = waits_for.to_owned();
            } else if is_there(status, "/state/terminated") {
                self.reason = end(status);
                if number(status, "/state/terminated/exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if flag(status, "/ready") && is_there(status, "/state/running") {
                runs = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            match failure {
                _ if runs && is_ready(pod) => self.reason = "Running".to_owned(),
                Some(failure) => self.reason = failure,
                None if runs => self.reason = "NotReady".to_owned(),
                None => {}
            }
        }
    }
}

/// How a container ended: its reason, its signal or its exit code.
fn end(status: &Value) -> String {
    let signal = number(status, "/state/terminated/signal");
    match text(status, "/state/terminated/reason") {
        "" if signal != 0 => format!("Signal:{signal}"),
        "" => format!("ExitCode:{}", number(status, "/state/terminated/exitCode")),
        reason => reason.to_owned(),
    }
}

fn is_gated(pod: &Value) -> bool {
    let gated = |condition: &Value| {
        text(condition, "/type") == "PodScheduled" && text(condition, "/reason") == "SchedulingGated"
    };
    list(pod, "/status/conditions").iter().any(gated)
}

fn is_ready(pod: &Value) -> bool {
    let ready =
        |condition: &Value| text(condition, "/type") == "Ready" && text(condition, "/status") == "True";
    list(pod, "/status/conditions").iter().any(ready)
}

/// An init container that goes on beside the containers.
fn is_sidecar(pod: &Value, name: &str) -> bool {
    let mut named = list(pod, "/spec/initContainers").iter().filter(|one| text(one, "/name") == name);
    named.next_back().is_some_and(goes_on)
}

fn goes_on(init_container: &Value) -> bool {
    text(init_container, "/restartPolicy") == "Always"
}

/// How many containers are to be ready.
fn containers(pod: &Value) -> usize {
    let sidecars = list(pod, "/spec/initContainers").iter().filter(|one| goes_on(one)).count();
    list(pod, "/spec/containers").len() + sidecars
}

fn ip(pod: &Value) -> &str {
    text_or(pod, "/status/podIP", text_or(pod, "/status/podIPs/0/ip", "<none>"))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| holds(pod, text(gate, "/conditionType")));
    format!("{}/{}", open.count(), gates.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::print::noon;

    /// A pod with a container for each status.
    fn of(phase: &str, containers: Value) -> Value {
        let names = list(&containers, "").iter().map(|status| json!({"name": status["name"]}));
        json!({
            "metadata": {"name": "p", "creationTimestamp": "2026-01-02T11:59:00Z"},
            "spec": {"containers": names.collect::<Vec<_>>()},
            "status": {"phase": phase, "containerStatuses": containers},
        })
    }

    /// Readiness, status and restarts.
    fn shown(pod: &Value) -> String {
        let cells = super::pod(pod, noon());
        let texts: Vec<&str> = cells[1..4].iter().filter_map(Value::as_str).collect();
        texts.join(" | ")
    }

    fn with(mut pod: Value, pointer: &str, field: &str, value: Value) -> Value {
        pod.pointer_mut(pointer).expect("there")[field] = value;
        pod
    }

    fn running() -> Value {
        json!({"name": "r", "ready": true, "state": {"running": {}}})
    }

    fn ended(code: i64, reason: &str) -> Value {
        json!({"name": "e", "state": {"terminated": {"exitCode": code, "reason": reason}}})
    }

    fn waiting(reason: &str) -> Value {
        json!({"name": "w", "state": {"waiting": {"reason": reason}}})
    }

    #[test]
    fn containers_tell_the_status() {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let restarted = json!({
            "name": "c", "ready": false, "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-02T11:55:00Z"}},
        });
        let signalled = json!({"name": "s", "state": {"terminated": {"exitCode": 137, "signal": 9}}});
        let both = of("Running", json!([ended(0, "Completed"), running()]));
        for (pod, said) in [
            (of("Pending", json!([])), "0/0 | Pending | 0"),
            (of("Running", json!([running(), running()])), "2/2 | Running | 0"),
            (of("Pending", json!([waiting("ContainerCreating")])), "0/1 | ContainerCreating | 0"),
            (of("Pending", json!([waiting("")])), "0/1 | Pending | 0"),
            (of("Running", json!([restarted])), "0/1 | CrashLoopBackOff | 3 (5m ago)"),
            (of("Succeeded", json!([ended(0, "Completed")])), "0/1 | Completed | 0"),
            (of("Failed", json!([ended(1, "Error")])), "0/1 | Error | 0"),
            (of("Failed", json!([ended(3, "")])), "0/1 | ExitCode:3 | 0"),
            (of("Failed", json!([signalled])), "0/1 | Signal:9 | 0"),
            (of("Failed", json!([ended(0, "Completed"), ended(1, "Error")])), "0/2 | Error | 0"),
            (both.clone(), "1/2 | NotReady | 0"),
            (with(both, "/status", "conditions", ready), "1/2 | Running | 0"),
        ] {
            assert_eq!(shown(&pod), said, "{pod}");
        }
    }

    #[test]
    fn pods_and_schedulers_tell_the_status() {
        let gated = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
        let going = |pod| with(pod, "/metadata", "deletionTimestamp", json!("2026-01-02T12:00:00Z"));
        let because = |pod, reason: &str| with(pod, "/status", "reason", json!(reason));
        for (pod, said) in [
            (with(of("Pending", json!([])), "/status", "conditions", gated), "0/0 | SchedulingGated | 0"),
            (because(of("Failed", json!([])), "Evicted"), "0/0 | Evicted | 0"),
            (going(of("Running", json!([running()]))), "1/1 | Terminating | 0"),
            (going(of("Succeeded", json!([ended(0, "Completed")]))), "0/1 | Completed | 0"),
            (because(going(of("Running", json!([running()]))), "NodeLost"), "1/1 | Unknown | 0"),
        ] {
            assert_eq!(shown(&pod), said, "{pod}");
        }
    }

    #[test]
    fn init_containers_tell_the_status() {
        let pod = |statuses: Value| {
            let pod = of("Pending", json!([waiting("PodInitializing")]));
            let spec = json!([{"name": "i"}, {"name": "side", "restartPolicy": "Always"}]);
            with(with(pod, "/spec", "initContainers", spec), "/status", "initContainerStatuses", statuses)
        };
        let init = |state: Value| json!({"name": "i", "restartCount": 2, "state": state});
        let done = init(json!({"terminated": {"exitCode": 0}}));
        let side = json!({
            "name": "side", "started": true, "ready": true, "restartCount": 1, "state": {"running": {}},
        });
        let starting = json!({"name": "side", "state": {"waiting": {"reason": "PodInitializing"}}});
        for (statuses, said) in [
            (json!([init(json!({"running": {}}))]), "0/2 | Init:0/2 | 2"),
            (json!([init(json!({"waiting": {"reason": "PodInitializing"}}))]), "0/2 | Init:0/2 | 2"),
            (json!([init(json!({"waiting": {"reason": "ErrImagePull"}}))]), "0/2 | Init:ErrImagePull | 2"),
            (json!([init(json!({"terminated": {"exitCode": 1}}))]), "0/2 | Init:ExitCode:1 | 2"),
            (json!([init(json!({"terminated": {"exitCode": 1, "signal": 9}}))]), "0/2 | Init:Signal:9 | 2"),
            (json!([init(json!({"terminated": {"exitCode": 1, "reason": "OOM"}}))]), "0/2 | Init:OOM | 2"),
            (json!([done, starting]), "0/2 | Init:1/2 | 2"),
            // Once all are done, only the restarts of what goes on count.
            (json!([done, side]), "1/2 | PodInitializing | 1"),
        ] {
            assert_eq!(shown(&pod(statuses.clone())), said, "{statuses}");
        }
        let initialized = json!([{"type": "Initialized", "status": "True"}]);
        let again = with(pod(json!([done, starting])), "/status", "conditions", initialized);
        assert_eq!(shown(&again), "0/2 | PodInitializing | 0");
    }

    #[test]
    fn where_a_pod_is() {
        let pod = json!({
            "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
            "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "b", "status": "True"}]},
        });
        assert_eq!(super::pod(&pod, noon())[5..], ["10.0.0.1", "n", "<none>", "1/2"]);
    }

    #[test]
    fn who_is_through() {
        assert_eq!(conditions(&of("Running", json!([]))), None);
        for phase in ["Succeeded", "Failed"] {
            let told = conditions(&of(phase, json!([]))).expect("through");
            assert_eq!((&told[0]["type"], &told[0]["reason"]), (&json!("Completed"), &json!(phase)));
        }
    }
}
