"""What the Python client is told. Before each step `$ step` is printed, after it what it said."""

import json
import sys
import time

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

config.load_kube_config(sys.argv[1])
core, apps, policy = client.CoreV1Api(), client.AppsV1Api(), client.PolicyV1Api()
custom, definitions = client.CustomObjectsApi(), client.ApiextensionsV1Api()
SPACE = "python"


def step(name, call, show=lambda answer: answer):
    """One call, and what came of it."""
    print(f"$ {name}")
    try:
        print(sorted_(show(call())))
    except ApiException as refusal:
        print(refusal.status, refusal.reason, sorted_(json.loads(refusal.body)))


def sorted_(answer):
    """Maps, by name: the order of fields in JSON means nothing."""
    return json.dumps(answer, sort_keys=True, indent=1) if isinstance(answer, (dict, list)) else answer


def outcome(answer):
    """What a deletion says: an object where the client knows it, else a map."""
    return answer.get("status") if isinstance(answer, dict) else answer.status


def until(call):
    """Waits until something holds."""
    for _ in range(2400):
        if call():
            return
        time.sleep(0.05)
    print("it never came true")


def named(*names, **labels):
    return client.V1ObjectMeta(name=names[0], labels=labels or None)


def config_map(name, data, **labels):
    return client.V1ConfigMap(metadata=named(name, **labels), data=data)


def deployment(image, replicas):
    container = client.V1Container(name="main", image=image)
    spec = client.V1PodSpec(containers=[container], termination_grace_period_seconds=1)
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=spec)
    selector = client.V1LabelSelector(match_labels={"app": "web"})
    spec = client.V1DeploymentSpec(replicas=replicas, selector=selector, template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)


def names(answer):
    # A real cluster has one more in every namespace.
    return [item.metadata.name for item in answer.items if item.metadata.name != "kube-root-ca.crt"]


def namespace():
    step("version", lambda: client.VersionApi().get_code(), lambda answer: (answer.major, answer.minor))
    step("create namespace", lambda: core.create_namespace(client.V1Namespace(metadata=named(SPACE))))
    until(lambda: "default" in names(core.list_namespaced_service_account(SPACE)))


def maps():
    create = core.create_namespaced_config_map
    step("create", lambda: create(SPACE, config_map("one", {"a": "1"}, tier="front")))
    step("create again", lambda: create(SPACE, config_map("one", {})))
    step("create badly", lambda: create(SPACE, config_map("No Name", {})))
    step("create another", lambda: create(SPACE, config_map("two", {"b": "2"}, tier="back")), lambda made: made.data)
    step("create dry", lambda: create(SPACE, config_map("dry", {}), dry_run="All"))
    step("read", lambda: core.read_namespaced_config_map("one", SPACE))
    step("read nothing", lambda: core.read_namespaced_config_map("none", SPACE))
    listed = core.list_namespaced_config_map
    step("list", lambda: listed(SPACE), names)
    step("list by label", lambda: listed(SPACE, label_selector="tier=front"), names)
    step("list by labels", lambda: listed(SPACE, label_selector="tier notin (front),tier"), names)
    step("list by field", lambda: listed(SPACE, field_selector="metadata.name=two"), names)
    step("list badly", lambda: listed(SPACE, label_selector="tier ="), names)
    step("list badly in", lambda: listed(SPACE, label_selector="tier in"), names)
    first = listed(SPACE, limit=1, label_selector="tier")
    rest = {"limit": 5, "label_selector": "tier", "_continue": first.metadata._continue}
    step("list pages", lambda: listed(SPACE, **rest), names)
    changed = core.read_namespaced_config_map("one", SPACE)
    changed.data["a"] = "10"
    step("replace", lambda: core.replace_namespaced_config_map("one", SPACE, changed), lambda made: made.data)
    step("replace stale", lambda: core.replace_namespaced_config_map("one", SPACE, changed))


def patches():
    patch = core.patch_namespaced_config_map

    def typed(kind, body, **more):
        return lambda: patch("one", SPACE, body, _content_type=kind, **more)

    step("patch", lambda: patch("one", SPACE, {"data": {"c": "3"}}), lambda made: made.data)
    step("patch json", lambda: patch("one", SPACE, [{"op": "remove", "path": "/data/c"}]), lambda made: made.data)
    step("patch json badly", lambda: patch("one", SPACE, [{"op": "remove", "path": "/data/c"}]))
    merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
    step("patch merge", typed(merge, {"data": {"a": None, "d": "4"}}), lambda made: made.data)
    step("patch strategic", typed(strategic, {"data": {"$patch": "replace", "e": "5"}}), lambda made: made.data)
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"e": "6"}}
    apply = "application/apply-patch+yaml"
    step("apply with a conflict", typed(apply, applied, field_manager="me"))
    step("apply with force", typed(apply, applied, field_manager="me", force=True))


def workloads():
    step("create deployment", lambda: apps.create_namespaced_deployment(SPACE, deployment("web:1", 2)).spec)
    until(lambda: apps.read_namespaced_deployment("web", SPACE).status.ready_replicas == 2)
    step("status", lambda: apps.read_namespaced_deployment_status("web", SPACE).status.ready_replicas)
    step("scale", lambda: apps.read_namespaced_deployment_scale("web", SPACE))
    step("scale up", lambda: apps.patch_namespaced_deployment_scale("web", SPACE, {"spec": {"replicas": 3}}).spec)
    until(lambda: apps.read_namespaced_deployment("web", SPACE).status.ready_replicas == 3)
    container = {"name": "main", "image": "web:2"}
    image = {"spec": {"template": {"spec": {"containers": [container]}}}}
    step("patch image", lambda: apps.patch_namespaced_deployment("web", SPACE, image).spec)
    until(lambda: settled(apps.read_namespaced_deployment("web", SPACE)))
    pods = lambda: core.list_namespaced_pod(SPACE, label_selector="app=web").items
    until(lambda: len(pods()) == 3)
    step("images", lambda: [pod.spec.containers[0].image for pod in pods()])
    budget = client.V1PodDisruptionBudget(
        metadata=named("web"),
        spec=client.V1PodDisruptionBudgetSpec(
            min_available=3, selector=client.V1LabelSelector(match_labels={"app": "web"})
        ),
    )
    step("budget", lambda: policy.create_namespaced_pod_disruption_budget(SPACE, budget))
    healthy = lambda: policy.read_namespaced_pod_disruption_budget("web", SPACE).status.current_healthy
    until(lambda: healthy() == 3)
    name = pods()[0].metadata.name
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=name, namespace=SPACE))
    evict = lambda: core.create_namespaced_pod_eviction(name, SPACE, eviction)
    step("evict against the budget", evict)
    step("delete budget", lambda: policy.delete_namespaced_pod_disruption_budget("web", SPACE), outcome)
    until(lambda: not names(policy.list_namespaced_pod_disruption_budget(SPACE)))
    step("evict", evict, lambda answer: answer.kind)
    until(lambda: name not in [pod.metadata.name for pod in pods()])
    step("evict nobody", evict)
    foreground = {"propagation_policy": "Foreground"}
    step("delete deployment", lambda: apps.delete_namespaced_deployment("web", SPACE, **foreground), lambda _: "")
    until(lambda: not pods())


def settled(found):
    status = found.status
    return status.observed_generation == found.metadata.generation and status.updated_replicas == 3 == status.ready_replicas == status.replicas


def watches():
    listed = core.list_namespaced_config_map(SPACE)
    core.create_namespaced_config_map(SPACE, config_map("seen", {"a": "1"}))
    core.patch_namespaced_config_map("seen", SPACE, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("seen", SPACE)

    def events():
        stream = watch.Watch().stream(
            core.list_namespaced_config_map,
            SPACE,
            resource_version=listed.metadata.resource_version,
            timeout_seconds=5,
        )
        return [(event["type"], event["object"].metadata.name, event["object"].data) for event in stream]

    step("watch", events)

    def expired():
        stream = watch.Watch().stream(core.list_namespaced_config_map, SPACE, timeout_seconds=5)
        seen = [(event["type"], event["object"].metadata.name) for event in stream]
        return [event for event in seen if event[1] != "kube-root-ca.crt"]

    step("watch from the beginning", expired)


def customs():
    group, version, plural = "python.lockstep.dev", "v1", "widgets"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {"size": {"type": "integer", "minimum": 1}, "colour": {"type": "string", "default": "red"}},
            },
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
    }
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": scale},
                }
            ],
        },
    }
    step("define", lambda: definitions.create_custom_resource_definition(definition).spec)
    served = lambda: definitions.read_custom_resource_definition(f"{plural}.{group}").status.conditions or []
    until(lambda: any(found.type == "Established" and found.status == "True" for found in served()))
    where = (group, version, SPACE, plural)

    def there():
        try:
            return custom.list_namespaced_custom_object(*where) is not None
        except ApiException:
            return False

    until(there)
    widget = {"apiVersion": f"{group}/{version}", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 2}}
    bad = {**widget, "metadata": {"name": "bad"}, "spec": {"size": 0, "colour": 7}}
    step("create custom", lambda: custom.create_namespaced_custom_object(*where, widget))
    step("create custom badly", lambda: custom.create_namespaced_custom_object(*where, bad))
    step("read custom", lambda: custom.get_namespaced_custom_object(*where, "w")["spec"])
    step("patch custom", lambda: custom.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 3}})["spec"])
    status = {"status": {"size": 3}, "spec": {"size": 9}}
    step("patch custom status", lambda: custom.patch_namespaced_custom_object_status(*where, "w", status))
    step("custom scale", lambda: custom.get_namespaced_custom_object_scale(*where, "w"))
    step(
        "scale custom",
        lambda: custom.patch_namespaced_custom_object_scale(*where, "w", {"spec": {"replicas": 5}})["spec"],
    )
    step("list custom", lambda: custom.list_namespaced_custom_object(*where)["items"])
    step("delete custom", lambda: custom.delete_namespaced_custom_object(*where, "w"))
    step("read custom again", lambda: custom.get_namespaced_custom_object(*where, "w"))
    step("undefine", lambda: definitions.delete_custom_resource_definition(f"{plural}.{group}"), lambda _: "")


def end():
    step("delete", lambda: core.delete_namespaced_config_map("one", SPACE))
    step("delete again", lambda: core.delete_namespaced_config_map("one", SPACE))
    step("delete all", lambda: core.delete_collection_namespaced_config_map(SPACE, label_selector="tier"), lambda _: "")
    step("delete namespace", lambda: core.delete_namespace(SPACE), lambda _: "")
    until(lambda: SPACE not in names(core.list_namespace()))
    step("create late", lambda: core.create_namespaced_config_map(SPACE, config_map("late", {})))


namespace()
maps()
patches()
watches()
workloads()
customs()
end()
