//! The run of a suite that nobody wrote down, for the commands that take a server.

use super::run::{RunArgs, run};
use crate::cli::environment::Environment;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::server::Mistake;
use crate::cli::suites::Given;

/// Runs the suite that was made of what was typed, or says what is wrong with it.
pub(super) fn run_given(
    given: Result<Given, Mistake>,
    args: &mut RunArgs,
    environment: &Environment,
    output: &Output,
) -> Exit {
    match given {
        Ok(given) => {
            args.suites.given = Some(given);
            run(args, environment, output)
        }
        Err((message, help)) => {
            output.error(&message, Some(&help));
            Exit::Usage
        }
    }
}
