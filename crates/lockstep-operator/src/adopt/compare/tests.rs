use lockstep_api::yaml_to_json;
use serde_json::json;

use super::*;

const BUILT: &str = "
metadata: {name: llama-0, labels: {index: '0'}}
spec:
  hostname: llama-0
  subdomain: s-llama
  schedulerName: volcano
  volumes: [{name: models, hostPath: {path: /models}}]
  tolerations: [{key: gpu, operator: Exists}]
  topologySpreadConstraints: []
  containers:
  - name: engine
    image: vllm:1
    args: [--port, '80']
    ports: [{containerPort: 80, name: http}]
    resources: {limits: {cpu: 1000m, nvidia.com/gpu: 8}}
    volumeMounts: [{name: models, mountPath: /models}]
    env:
    - {name: INDEX, value: '0'}
    - {name: ADDRESS, value: llama-0.s-llama}
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}
    - {name: MODE, value: fast}
";

/// As it stands in a cluster, made by somebody else.
const RUNNING: &str = "
metadata: {name: llama-0, labels: {index: '0', more: x}}
spec:
  nodeName: node-1
  hostname: llama-0
  subdomain: s-llama
  schedulerName: volcano
  restartPolicy: Always
  volumes:
  - {name: kube-api-access-x7k2p, projected: {sources: []}}
  - {name: models, hostPath: {path: /models, type: ''}}
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {key: gpu, operator: Exists, effect: NoSchedule}
  initContainers: [{name: waits, image: initc:1}]
  containers:
  - name: sidecar
    image: proxy:1
  - name: engine
    image: vllm:1
    imagePullPolicy: IfNotPresent
    args: [--port, '80']
    ports: [{containerPort: 80, name: http, protocol: TCP}]
    resources: {limits: {cpu: '1', nvidia.com/gpu: '8'}, requests: {cpu: '1'}}
    volumeMounts: [{name: kube-api-access-x7k2p, mountPath: /var/run}, {name: models, mountPath: /models}]
    env:
    - {name: MODE, value: fast}
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}
    - {name: INDEX, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: \"metadata.labels['index']\"}}}
    - {name: ADDRESS, value: llama-$(INDEX).s-llama}
    - {name: THEIRS, value: x}
";

fn compared(change: impl Fn(&mut Value, &mut Value)) -> (Vec<String>, Vec<String>) {
    let (mut built, mut running) = (yaml_to_json(BUILT).unwrap(), yaml_to_json(RUNNING).unwrap());
    change(&mut built, &mut running);
    let env = ["INDEX", "ADDRESS"].map(|name| (name.to_owned(), "{pod}".to_owned())).into();
    let came = compare(&built, &running, &Identity { env, ..Identity::default() }, &[]);
    (came.differs.iter().map(ToString::to_string).collect(), came.lacks)
}

#[test]
fn what_stands_besides_does_not_matter() {
    assert_eq!(compared(|_, _| {}), (vec![], vec![]));
}

#[test]
fn what_is_another_template_is_named() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 12] = [
        (
            |pod| pod["spec"]["containers"][1]["image"] = json!("vllm:0"),
            "containers[engine].image is vllm:0, would be vllm:1",
        ),
        (
            |pod| pod["spec"]["containers"][1]["name"] = json!("main"),
            "containers[engine] is missing, would be vllm:1",
        ),
        (
            |pod| pod["spec"]["containers"][1]["args"] = json!(["80", "--port"]),
            r#"containers[engine].args is ["80","--port"], would be ["--port","80"]"#,
        ),
        (
            |pod| pod["spec"]["containers"][1]["resources"]["limits"]["nvidia.com/gpu"] = json!("4"),
            "containers[engine].resources.limits.nvidia.com/gpu is 4, would be 8",
        ),
        (
            |pod| pod["spec"]["containers"][1]["ports"][0]["containerPort"] = json!(81),
            r#"containers[engine].ports[80] is missing, would be {"containerPort":80,"name":"http"}"#,
        ),
        (
            |pod| pod["spec"]["containers"][1]["volumeMounts"][1]["name"] = json!("other"),
            "containers[engine].volumeMounts[/models].name is other, would be models",
        ),
        (
            |pod| pod["spec"]["containers"][1]["env"][0]["value"] = json!("slow"),
            "containers[engine].env[MODE] is slow, would be fast",
        ),
        (
            |pod| pod["metadata"]["labels"]["index"] = json!("1"),
            "containers[engine].env[INDEX] is 1, would be 0",
        ),
        (
            |pod| pod["spec"]["volumes"][1]["hostPath"]["path"] = json!("/old"),
            "volumes[models].hostPath.path is /old, would be /models",
        ),
        (
            |pod| pod["spec"]["tolerations"][1]["key"] = json!("tpu"),
            r#"tolerations is missing, would be {"key":"gpu","operator":"Exists"}"#,
        ),
        (|pod| pod["spec"]["hostname"] = json!("other"), "hostname is other, would be llama-0"),
        (|pod| pod["spec"]["schedulerName"] = json!("default"), "schedulerName is default, would be volcano"),
    ];
    for (change, expected) in cases {
        let (differs, _) = compared(|_, running| change(running));
        assert_eq!(differs[0], expected);
    }
}

#[test]
fn what_a_container_did_without_it_never_needed() {
    let (differs, lacks) = compared(|_, running| {
        running["spec"]["containers"][1]["env"].as_array_mut().unwrap().truncate(2);
        running["spec"]["subdomain"] = Value::Null;
    });
    let expected = ["containers[engine].env[INDEX]", "containers[engine].env[ADDRESS]", "subdomain"];
    assert_eq!((differs, lacks), (vec![], expected.map(str::to_owned).to_vec()));
    let (differs, _) = compared(|built, _| {
        built["spec"]["containers"][0]["env"]
            .as_array_mut()
            .unwrap()
            .push(json!({"name": "NEW", "value": "1"}));
    });
    assert_eq!(differs, [r#"containers[engine].env[NEW] is missing, would be {"name":"NEW","value":"1"}"#]);
}
