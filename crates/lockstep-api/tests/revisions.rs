//! Revisions: what changes one, what does not, and two that never change again.

#![allow(clippy::unwrap_used)]

mod common;

use common::manifest;
use lockstep_api::{lower, parse};

/// The revision of the first role.
fn revision(spec: &str) -> String {
    lower(&parse(&manifest(spec)).unwrap().set).roles[0].revision.to_string()
}

#[test]
fn hashes_are_pinned_for_ever() {
    // If one of these changes, upgrading Lockstep rolls every pod of every user. Never update them.
    assert_eq!(revision("roles: [{name: prefill, template: $T}]"), "872d8cca27");
    let all = "identity: {podName: '{set}-{group}-{role}-{instance}-{member}-{pod}', labels: {size: '{size}'}}\n  \
               roles: [{name: prefill, members: [{name: leader, template: $T}, {name: worker, count: 3, template: $T}]}]";
    assert_eq!(revision(all), "eba9d9197c");
}

#[test]
fn the_short_form_is_one_member_of_the_roles_name() {
    let short = revision("roles: [{name: prefill, template: $T}]");
    for long in [
        "roles: [{name: prefill, members: [{name: prefill, template: $T}]}]",
        "roles: [{name: prefill, members: [{name: prefill, count: 1, minAvailable: 1, template: $T}]}]",
    ] {
        assert_eq!(revision(long), short, "{long}");
    }
}

#[test]
fn only_what_makes_a_pod_is_in_it() {
    let plain = revision("roles: [{name: a, template: $T}]");
    for same in [
        "replicas: 3\n  roles: [{name: a, template: $T}]",
        "roles: [{name: a, replicas: 7, minAvailable: 2, minReadySeconds: 5, template: $T}]",
        "roles: [{name: a, updateStrategy: {maxSurge: 1}, restartPolicy: {type: Group}, template: $T}]",
        "roles: [{name: a, template: $T}]\n  coordination: [{name: r, steps: [{role: a, updateTo: 1}]}]",
        "roles: [{name: a, template: {metadata: {}, spec: {containers: [{image: 'vllm:1', name: main, env: []}]}}}]",
        "identity: {}\n  roles: [{name: a, template: $T}]",
    ] {
        assert_eq!(revision(same), plain, "{same}");
    }
    for other in [
        "roles: [{name: a, template: {spec: {containers: [{name: main, image: 'vllm:2'}]}}}]",
        "roles: [{name: a, members: [{name: b, template: $T}]}]",
        "roles: [{name: a, members: [{name: a, count: 2, template: $T}]}]",
        "roles: [{name: a, template: {spec: {restartPolicy: Always, containers: [{name: main, image: 'vllm:1'}]}}}]",
        "identity: {env: {SIZE: '{size}'}}\n  roles: [{name: a, template: $T}]",
    ] {
        assert_ne!(revision(other), plain, "{other}");
    }
}
