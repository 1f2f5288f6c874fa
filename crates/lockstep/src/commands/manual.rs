//! `lockstep completion` and `lockstep man`: what shells and people look up.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::screen::Screen;

/// Writes the completion of a shell.
pub fn completion(shell: Shell, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    // Into memory first: the generator panics if a reader has gone.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lockstep", &mut text);
    screen.out.write_all(&text)?;
    Ok(Exit::Fine)
}

/// Writes the manual: the first page to the screen, or all pages into a folder.
pub fn man(dir: Option<&Path>, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let Some(dir) = dir else {
        clap_mangen::Man::new(Cli::command()).render(&mut screen.out)?;
        return Ok(Exit::Fine);
    };
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .with_context(|| format!("cannot write manual pages to {}", dir.display()))?;
    Ok(Exit::Fine)
}
