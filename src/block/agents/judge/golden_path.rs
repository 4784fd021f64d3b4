//! `golden_path:`, the shortest ways to the goal.

use super::call_pattern::{CALLS, CallPattern};
use super::trajectory::missing_in_order;
use super::{AMBIGUOUS, JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::event::Finding;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, Value, settings};

/// Several paths.
const PATHS: Shape = Shape::NonEmpty(&Shape::List(&CALLS));

settings! {
    /// The shortest ways to the goal.
    struct PathKeys as "golden paths" {
        /// The ways, of which the run must take one: all of its calls, in order.
        paths: Vec<Vec<CallPattern>> => required() shape(PATHS),
        /// How many more calls a run may make.
        extra_calls: usize => default("0"),
    }
}

/// The shortest ways to the goal.
#[derive(Debug, Clone)]
pub(crate) struct GoldenPaths {
    span: Span,
    paths: Vec<Vec<CallPattern>>,
    extra_calls: usize,
}

impl Setting for GoldenPaths {
    const SHAPE: Shape = Shape::Either(&[PATHS, PathKeys::SHAPE]);

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let keys = if matches!(node.value, Value::List(_)) {
            PathKeys { paths: Vec::decode(node, found)?, extra_calls: 0 }
        } else {
            PathKeys::decode(node, found)?
        };
        Some(Self { span: node.span, paths: keys.paths, extra_calls: keys.extra_calls })
    }
}

impl GoldenPaths {
    /// The number of calls beside those of the path that was taken; `None` where none was.
    pub(crate) fn extra(&self, run: &AgentRun, view: &JudgedView<'_>) -> Option<usize> {
        let taken = self.paths.iter().filter(|path| missing_in_order(path, &run.calls, view).is_none());
        taken.map(|path| run.calls.len() - path.len()).min()
    }
}

impl Judgement for GoldenPaths {
    fn variants(&self) -> Vec<&'static str> {
        vec![AMBIGUOUS]
    }

    fn servers(&self) -> Vec<&Located<String>> {
        self.paths.iter().flatten().filter_map(|call| call.server.as_ref()).collect()
    }

    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        match self.extra(run, view) {
            Some(extra) if extra <= self.extra_calls => Vec::new(),
            Some(extra) => {
                let calls = if extra == 1 { "call" } else { "calls" };
                let message = format!(
                    "the run made {extra} {calls} beside those of the golden path, and {} may be made",
                    self.extra_calls
                );
                let found = view.finding("golden-path", message, self.span, "these paths");
                vec![Finding {
                    help: Some("allow some with `extra_calls`, or add the way as a path".to_owned()),
                    ..found
                }]
            }
            None => {
                let mut unknown =
                    self.paths.iter().flatten().filter_map(|call| view.unknown_tool(&call.tool.name, run));
                if let Some(unknown) = unknown.next() {
                    return vec![unknown];
                }
                let missing = self.paths.iter().filter_map(|path| {
                    let missing = missing_in_order(path, &run.calls, view)?;
                    Some((missing.pattern, path))
                });
                let furthest = missing.max_by_key(|(at, _)| *at);
                let (span, wanted) = furthest.map_or((self.span, String::new()), |(at, path)| {
                    (path[at].span(), format!(": `{}` is missing", path[at].tool.name.value))
                });
                let path =
                    if self.paths.len() == 1 { "the golden path was not taken" } else { "no golden path was taken" };
                vec![view.finding("golden-path", format!("{path}{wanted}"), span, "not called in this order")]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::tests::{Scene, calls, messages, run_of};

    #[test]
    fn a_run_takes_one_of_the_paths_with_few_calls_beside_it() {
        for (settings, made, expected) in [
            ("[[search, get]]", &["search", "get"][..], ""),
            ("[[search, get], [find]]", &["find"], ""),
            (
                "[[search, get]]",
                &["search", "find", "get"],
                "the run made 1 call beside those of the golden path, and 0 may be made",
            ),
            ("{ paths: [[search]], extra_calls: 1 }", &["search", "get"], ""),
            (
                "{ paths: [[search]], extra_calls: 1 }",
                &["search", "get", "get"],
                "the run made 2 calls beside those of the golden path, and 1 may be made",
            ),
            // The longest of several paths leaves the fewest calls beside it.
            ("[[search], [search, get]]", &["search", "get"], ""),
            ("[[search, get]]", &["get", "search"], "the golden path was not taken: `get` is missing"),
            // The path that came furthest is the one to mend.
            ("[[find], [search, get]]", &["search"], "no golden path was taken: `get` is missing"),
            ("[[serach]]", &["search"], "no server of the agent has a tool `serach`"),
        ] {
            let scene = Scene::new(settings);
            let golden: GoldenPaths = scene.read();
            let found = golden.judge(&run_of(calls(made)), &scene.view());
            assert_eq!(messages(&found).concat(), expected, "{settings} {made:?}");
        }
    }
}
