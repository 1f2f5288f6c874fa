//! What holds between fields, as the API server itself can check it, in the words of the validator.
//!
//! What CEL cannot say at a bearable price (roles that rules name, circles, names that are too long, whether a
//! rollout can finish) is said by the webhook. The price of a rule is multiplied by the longest list it may be
//! in, so those deep inside are kept to a few comparisons.

use serde_json::{Value, json};

/// One rule.
pub(crate) struct Rule {
    /// Where: a path through the schema.
    pub at: &'static str,
    /// What holds there.
    pub cel: &'static str,
    /// What is said otherwise. An expression could say more, but is priced as if it wrote a book.
    pub says: &'static str,
    /// The field that is to blame, if it is one below.
    pub field: Option<&'static str>,
}

const SET: &str = "";
const SPEC: &str = "/properties/spec";
const STRATEGY: &str = "/properties/spec/properties/updateStrategy";
const ROLE: &str = "/properties/spec/properties/roles/items";
const ROLE_STRATEGY: &str = "/properties/spec/properties/roles/items/properties/updateStrategy";
const RESTARTS: &str = "/properties/spec/properties/roles/items/properties/restartPolicy";
const MEMBER: &str = "/properties/spec/properties/roles/items/properties/members/items";
const RULE: &str = "/properties/spec/properties/coordination/items";
const STEP: &str = "/properties/spec/properties/coordination/items/properties/steps/items";

/// Lists whose items have names, each of them once.
const NAMED: [&str; 3] = [
    "/properties/spec/properties/roles",
    "/properties/spec/properties/roles/items/properties/members",
    "/properties/spec/properties/coordination",
];
/// Lists of names, each of them once.
const SETS: [&str; 3] = [
    "/properties/spec/properties/roles/items/properties/startsAfter",
    "/properties/spec/properties/roles/items/properties/members/items/properties/startsAfter",
    "/properties/spec/properties/coordination/items/properties/roles",
];
/// Lists that mean something only as a whole.
const ATOMIC: [&str; 1] = ["/properties/spec/properties/coordination/items/properties/steps"];

pub(super) fn of_lockstep_set() -> Vec<Rule> {
    let mut rules = of_the_whole();
    rules.extend(of_roles());
    rules.extend(of_coordination());
    rules
}

fn of_the_whole() -> Vec<Rule> {
    vec![
        Rule {
            at: SET,
            cel: "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            says: "must be lower case letters, digits and '-', starting and ending with a letter or digit",
            field: Some(".metadata.name"),
        },
        Rule {
            at: SET,
            cel: "size(self.metadata.name) <= 63",
            says: "has too many characters; up to 63 are accepted",
            field: Some(".metadata.name"),
        },
        Rule {
            at: SPEC,
            cel: "self.roles.all(role, role.minReadySeconds < self.progressDeadlineSeconds)",
            says: "must be more than the minReadySeconds of every role",
            field: Some(".progressDeadlineSeconds"),
        },
        nothing_could_move(STRATEGY),
    ]
}

fn nothing_could_move(at: &'static str) -> Rule {
    Rule {
        at,
        cel: "string(self.maxUnavailable) != '0' || string(self.maxSurge) != '0'",
        says: "nothing could move, as maxSurge is 0 too; use maxUnavailable: 1",
        field: Some(".maxUnavailable"),
    }
}

fn of_roles() -> Vec<Rule> {
    vec![
        Rule {
            at: ROLE,
            cel: "!has(self.template) || !has(self.members) || size(self.members) == 0",
            says: "has both template and members; keep one of them",
            field: None,
        },
        Rule {
            at: ROLE,
            cel: "has(self.template) || has(self.members) && size(self.members) > 0",
            says: "needs a template, or members for instances of several pods",
            field: None,
        },
        Rule {
            at: ROLE,
            cel: "!has(self.minAvailable) || type(self.minAvailable) != int || self.minAvailable <= self.replicas",
            says: "more than the role's replicas",
            field: Some(".minAvailable"),
        },
        Rule {
            at: ROLE,
            cel: "!has(self.startsAfter) || !(self.name in self.startsAfter)",
            says: "a role cannot start after itself",
            field: Some(".startsAfter"),
        },
        nothing_could_move(ROLE_STRATEGY),
        Rule {
            at: RESTARTS,
            cel: "self.baseDelaySeconds <= self.maxDelaySeconds",
            says: "must not be above maxDelaySeconds",
            field: Some(".baseDelaySeconds"),
        },
        Rule {
            at: MEMBER,
            cel: "!has(self.minAvailable) || self.minAvailable <= self.count",
            says: "more than the member's count",
            field: Some(".minAvailable"),
        },
    ]
}

fn of_coordination() -> Vec<Rule> {
    vec![
        Rule {
            at: RULE,
            cel: "has(self.rollingUpdate) || has(self.skew) || has(self.steps) || has(self.affinityScheduling) \
                  || has(self.affinity) || has(self.scaling)",
            says: "needs one or more of rollingUpdate, steps, affinityScheduling and scaling",
            field: None,
        },
        Rule {
            at: RULE,
            cel: "!has(self.rollingUpdate) || !has(self.skew)",
            says: "another spelling of rollingUpdate, which is given too",
            field: Some(".skew"),
        },
        Rule {
            at: RULE,
            cel: "!has(self.affinityScheduling) || !has(self.affinity)",
            says: "another spelling of affinityScheduling, which is given too",
            field: Some(".affinity"),
        },
        Rule {
            at: RULE,
            cel: "!has(self.rollingUpdate) && !has(self.skew) || has(self.roles) && size(self.roles) > 0",
            says: "rollingUpdate needs the roles it spans",
            field: Some(".roles"),
        },
        Rule {
            at: RULE,
            cel: "!has(self.scaling) || has(self.roles) && size(self.roles) > 0",
            says: "scaling needs the roles it spans",
            field: Some(".roles"),
        },
        Rule {
            at: STEP,
            cel: "has(self.role) == has(self.updateTo) && has(self.role) != has(self.pause)",
            says: "must have either role and updateTo, or pause: {}",
            field: None,
        },
    ]
}

pub(super) fn of_role_scale() -> Vec<Rule> {
    let stays = |at, field| Rule { at, cel: "self == oldSelf", says: field, field: None };
    vec![
        stays("/properties/spec/properties/set", "set cannot be changed"),
        stays("/properties/spec/properties/role", "role cannot be changed"),
    ]
}

/// Puts rules into a schema.
pub(crate) fn add(schema: &mut Value, rules: &[Rule]) {
    for rule in rules {
        let Some(Value::Object(place)) = schema.pointer_mut(rule.at) else { continue };
        let list = place.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(rule.to_json());
        }
    }
    let mut kind_of_list = |places: &[&str], kind: &str| {
        for place in places {
            let Some(list) = schema.pointer_mut(place) else { continue };
            list["x-kubernetes-list-type"] = json!(kind);
            if kind == "map" {
                list["x-kubernetes-list-map-keys"] = json!(["name"]);
            }
        }
    };
    kind_of_list(&NAMED, "map");
    kind_of_list(&SETS, "set");
    kind_of_list(&ATOMIC, "atomic");
}

impl Rule {
    fn to_json(&self) -> Value {
        let mut rule = json!({"rule": self.cel, "message": self.says});
        if let Some(field) = self.field {
            rule["fieldPath"] = json!(field);
        }
        rule
    }
}
