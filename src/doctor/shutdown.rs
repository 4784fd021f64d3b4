//! The end of a server's process by the end of its input.

use super::Examination;
use crate::source::{duration_text, visible_line};
use crate::transport::{FirstSignal, Shutdown, ShutdownStep};

const NAME: &str = "end of input";

/// Judges how the process of a server ended once its input had.
pub(crate) fn judge_shutdown(shutdown: &Shutdown) -> Examination {
    let took = duration_text(shutdown.took);
    let cure = "end the program when standard input ends; clients close it first, and a server that stays is left behind \
                by those that do no more";
    let judged = match shutdown.by {
        ShutdownStep::EndOfInput if !shutdown.left.is_empty() => {
            let left: Vec<String> = shutdown.left.iter().map(|name| format!("`{}`", visible_line(name))).collect();
            Examination::doubtful(
                NAME,
                format!("the server ended and left processes behind: {}", left.join(", ")),
                "end what the server started before it ends itself",
            )
        }
        ShutdownStep::EndOfInput => Examination::fine(NAME, format!("the server ended {took} after its input")),
        ShutdownStep::Sigterm => {
            Examination::doubtful(NAME, "the server stayed when its input ended; SIGTERM ended it", cure)
        }
        ShutdownStep::Sigkill => {
            let after = if FirstSignal::Sigterm.exists() { ", and after SIGTERM" } else { "" };
            Examination::doubtful(NAME, format!("the server stayed when its input ended{after}; it was killed"), cure)
        }
    };
    judged.with_figure("ended_ms", shutdown.took.as_millis())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::ExaminationVerdict;
    use super::*;

    #[test]
    fn ends_of_a_process() {
        for (by, left, verdict, words) in [
            (ShutdownStep::EndOfInput, vec![], ExaminationVerdict::Fine, "ended 5 ms after its input"),
            (
                ShutdownStep::EndOfInput,
                vec!["sleep".to_owned()],
                ExaminationVerdict::Doubtful,
                "left processes behind: `sleep`",
            ),
            (ShutdownStep::Sigterm, vec![], ExaminationVerdict::Doubtful, "SIGTERM ended it"),
            (ShutdownStep::Sigkill, vec![], ExaminationVerdict::Doubtful, "it was killed"),
        ] {
            let judged = judge_shutdown(&Shutdown { by, took: Duration::from_millis(5), left });
            assert_eq!(judged.verdict, verdict, "{by:?}");
            assert!(judged.sentence.contains(words), "{}", judged.sentence);
        }
    }
}
