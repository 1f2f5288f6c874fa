//! Clients nobody here wrote, on a real cluster and on the embedded one: they must not notice a difference.

#![allow(clippy::expect_used, clippy::panic, missing_docs)]

mod bad_input;
mod normal;
mod pair;
mod python;
mod script;

use std::path::PathBuf;

use lockstep_testkit::say;

use self::pair::Pair;
use self::script::{Script, Shell};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_says_the_same() {
    let Some(pair) = Pair::start().await else { return };
    let mut kubectls = vec![(pair.kubectl.clone(), false)];
    // Another version, maybe. Whoever runs this many times a day need not wait for all of it.
    kubectls.extend(on_the_path("kubectl").map(|kubectl| (kubectl, !must_not_skip())));
    for (kubectl, hurry) in kubectls {
        let script = Script::read(include_str!("kubectl.txt"), hurry);
        say(&format!("the script is played with {}", kubectl.display()));
        let play = |kubeconfig: PathBuf, name: &str| {
            let shell = Shell::new(&pair.dir.join(name), &kubeconfig, &kubectl);
            let script = script.clone();
            tokio::task::spawn_blocking(move || script.play(&shell))
        };
        let (real, ours) = tokio::join!(
            play(pair.real.kubeconfig().to_owned(), "real"),
            play(pair.ours.kubeconfig().to_owned(), "ours"),
        );
        script::assert_equal(&real.expect("played"), &ours.expect("played"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_client_sees_the_same() {
    let Some(python) = python::ready() else { return };
    let Some(pair) = Pair::start().await else { return };
    let play = |kubeconfig: PathBuf| {
        let python = python.clone();
        tokio::task::spawn_blocking(move || python.play(&kubeconfig))
    };
    let (real, ours) =
        tokio::join!(play(pair.real.kubeconfig().to_owned()), play(pair.ours.kubeconfig().to_owned()));
    script::assert_equal(&real.expect("played"), &ours.expect("played"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_refused_in_the_same_words() {
    let Some(pair) = Pair::start().await else { return };
    let (real, ours) = tokio::join!(bad_input::play(pair.real.client()), bad_input::play(pair.ours.client()));
    script::assert_equal(&real, &ours);
}

/// Nothing may be left out.
fn must_not_skip() -> bool {
    ["LOCKSTEP_NEVER_SKIP", "CI"].into_iter().any(|name| std::env::var_os(name).is_some())
}

/// A program the user has.
fn on_the_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|program| program.is_file())
}
