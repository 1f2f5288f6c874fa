//! Who schedules the group's pods as one, if anybody is asked to.

use std::collections::BTreeMap;

use lockstep_api::{Gang, GangScheduler};

use super::names::PREFIX;
use super::read::Group;
use super::rules::Given;
use crate::{Findings, Served};

/// Why a gang that was asked for is none.
pub(crate) const NOBODY: &str = "the cluster knows no gangs";

/// What is said of a minimum that is larger than its role.
pub(crate) const FEWER: &str = "the role has ";

/// A gang, and what the pods of it carry.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    pub gang: Gang,
    /// Annotations of all pods.
    pub annotations: BTreeMap<String, String>,
    /// The priority of pods that name none.
    pub priority: Option<String>,
    /// The least the gang needs of each role, and where it is said; of others all.
    pub least: BTreeMap<String, (u32, String)>,
}

/// What the group asks for, as far as the cluster can do it.
pub(crate) fn wish(group: &Group, given: &[Given], served: Served, found: &mut Findings<'_>) -> Wish {
    let annotation = |name: &str| group.annotations.get(&format!("{PREFIX}{name}")).cloned();
    let policy = group.spec.pod_group_policy.as_ref();
    let volcano = policy.and_then(|policy| policy.volcano_scheduling.as_ref());
    let asked = annotation("group-gang-scheduling").as_deref() == Some("true");
    let rule = given.iter().find(|it| it.gang().is_some());
    let mut wish = Wish::default();
    let place = match (policy, asked, rule) {
        (Some(_), ..) => format!("{}.podGroupPolicy", group.at),
        (_, _, Some(rule)) => format!("{}.strategy.scheduling.gang", rule.at),
        (_, true, _) => format!("metadata.annotations[{PREFIX}group-gang-scheduling]"),
        _ => return wish,
    };
    if policy.is_some_and(|it| it.kube_scheduling.is_some() && it.volcano_scheduling.is_some()) {
        found.error(format!("{place}.volcanoScheduling"), "kubeScheduling is given too; keep one of them");
        return wish;
    }
    for it in given {
        let at = |role: &str| format!("{}.strategy.scheduling.gang.minReplicas[{role}]", it.at);
        let least = it.gang().unwrap_or_default().into_iter();
        wish.least.extend(least.map(|(role, least)| (role.clone(), (least, at(&role)))));
    }
    let timeout =
        policy.and_then(|it| it.kube_scheduling.as_ref()).and_then(|it| it.schedule_timeout_seconds);
    if timeout.is_some() {
        let at = format!("{place}.kubeScheduling.scheduleTimeoutSeconds");
        found.warn(at, "accepted without effect: a gang waits for as long as it takes");
    }
    let said = |text: Option<&String>| text.filter(|text| !text.is_empty()).cloned();
    let queue = said(volcano.and_then(|it| it.queue.as_ref()))
        .or_else(|| annotation("group-gang-scheduling-volcano-queue"));
    wish.priority = said(volcano.and_then(|it| it.priority_class_name.as_ref()))
        .or_else(|| annotation("group-gang-scheduling-volcano-priority"));
    let by_volcano = volcano.is_some() || queue.is_some() || named_volcano(group);
    if let Some(queue) = queue {
        wish.annotations.insert("scheduling.volcano.sh/queue-name".to_owned(), queue);
    }
    wish.gang.scheduler = match (by_volcano, served) {
        (true, Served { volcano: true, .. }) => GangScheduler::Volcano,
        (_, Served { pod_groups: true, .. }) => GangScheduler::PodGroup,
        (false, Served { volcano: true, .. }) if policy.is_none() => GangScheduler::Volcano,
        _ => {
            found.warn(place, format!("{NOBODY}: pods are scheduled one by one"));
            GangScheduler::None
        }
    };
    wish
}

/// Whether the pods go to Volcano anyway.
fn named_volcano(group: &Group) -> bool {
    let templates = group.spec.roles.iter().flat_map(|role| {
        let standalone = role.standalone_pattern.as_ref().and_then(|it| it.template.as_ref());
        let leader = role.leader_worker_pattern.as_ref().and_then(|it| it.template.as_ref());
        [role.template.as_ref(), standalone, leader]
    });
    let shared = group.spec.role_templates.iter().flatten().map(|it| Some(&it.template));
    templates.chain(shared).flatten().any(|it| it["spec"]["schedulerName"] == "volcano")
}
