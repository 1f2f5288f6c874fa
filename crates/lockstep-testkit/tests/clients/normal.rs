//! What two clusters say, without what no two clusters have in common.

use std::sync::LazyLock;

use regex::Regex;

/// What is replaced, in this order. Letters of a random name are those Kubernetes draws from.
const RULES: &[(&str, &str)] = &[
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", "TIME"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
    (r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(:(443|\d{4,5}))?\b", "IP"),
    (r#"(esource_?[vV]ersion["']?: ?["']?)\d+"#, "${1}N"),
    (r"datetime\.datetime\(.*?TzInfo\(\w+\)\)", "TIME"),
    (r"(Resource Version: +)\d+", "${1}N"),
    // Drawn as digits only, which may look like a hash.
    (r"\b(LIVE|MERGED)-\d+", "$1"),
    // A hash is a number of 32 bits, whose digits are written as these ten letters: one in five hundred has seven.
    (r"\b[bcdf456789]{6,10}\b", "HASH"),
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-RANDOM"),
    (r"\.[0-9a-f]{16}\b", ".RANDOM"),
    (r"\b(\d+d)?(\d+h)?(\d+m)?\d{1,2}(\.\d+)?(s|m|ms)\b", "AGE"),
    // In seconds up to two minutes: of what is older minutes are told, too.
    (r"\b1[01]\ds\b", "AGE"),
    (r"(stand-in://UID/\w+/\d+-\d+)-\d+", "$1-TIME"),
    (r"\(x\d+ over AGE\)", ""),
    // The place is compared, the words of the reader of YAML are not.
    (r#"yaml: line (\d+): [^"(]*"#, "yaml: line $1: WORDS "),
    // The order of fields in JSON means nothing.
    (r#"(Invalid value: \\"\{).*(\}\\": )"#, "${1}OBJECT$2"),
];

static COMPILED: LazyLock<Vec<(Regex, &str)>> =
    LazyLock::new(|| RULES.iter().map(|(find, put)| (Regex::new(find).expect(find), *put)).collect());

/// Two spaces or more stand for one column's end, since how wide a column is depends on what is replaced.
static GAP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\S) {2,}|\t+").expect("a gap"));

/// Of every namespace of a real cluster; nobody reads it where no container runs.
const AUTHORITY: &str = "kube-root-ca.crt";

/// The lines of a text.
pub fn normal(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.contains(AUTHORITY)).map(line).collect()
}

fn line(line: &str) -> String {
    let replaced =
        COMPILED.iter().fold(line.to_owned(), |line, (find, put)| find.replace_all(&line, *put).into_owned());
    GAP.replace_all(replaced.trim_end(), "$1  ").into_owned()
}

#[test]
fn only_what_differs_by_nature_is_replaced() {
    let cases = [
        ("web-6b7f8c9d5f-x2k4z   1/1     Running   0          12s", "web-HASH-RANDOM  1/1  Running  0  AGE"),
        (
            "NewReplicaSet:  web-5c48d79 (2/2 replicas created)",
            "NewReplicaSet:  web-HASH (2/2 replicas created)",
        ),
        ("    uid: 0d4e3a52-7d43-4b43-9f2a-0a4f4b0a7f11", "    uid: UID"),
        ("Node:  node-0/172.22.18.232", "Node:  node-0/IP"),
        ("node-0   Ready   <none>   116s   v1.37.0", "node-0  Ready  <none>  AGE  v1.37.0"),
        (
            "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
            "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
        ),
        (
            "Liveness: tcp-socket :80 delay=0s timeout=1s period=5s",
            "Liveness: tcp-socket :80 delay=AGE timeout=AGE period=AGE",
        ),
        ("--- /tmp/LIVE-1204857396/v1.ConfigMap", "--- /tmp/LIVE/v1.ConfigMap"),
        ("+++ /tmp/MERGED-754648599/v1.ConfigMap", "+++ /tmp/MERGED/v1.ConfigMap"),
        ("configmap/settings unchanged", "configmap/settings unchanged"),
        (r#"  resourceVersion: "4711""#, r#"  resourceVersion: "N""#),
        ("  cpu: 100m", "  cpu: 100m"),
    ];
    for (said, wanted) in cases {
        assert_eq!(normal(said), [wanted], "{said}");
    }
}
