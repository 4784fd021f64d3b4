//! `equal_function:`, classes of tools of which each is as good as the others.

use super::{AMBIGUOUS, JudgedView, Judgement};
use crate::block::agents::run::AgentRun;
use crate::event::Finding;

/// A tool of each class is called; which one is all the same, also to the other judgements.
#[derive(Debug)]
pub(crate) struct EqualFunction;

impl Judgement for EqualFunction {
    fn variants(&self) -> Vec<&'static str> {
        vec![AMBIGUOUS]
    }

    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        let unknown = view.equal.0.iter().flatten().filter_map(|tool| view.unknown_tool(tool, run));
        let is_called =
            |name: &str| run.calls.iter().filter_map(|call| call.reached_tool()).any(|(_, tool)| tool == name);
        let without_call = view.equal.0.iter().filter(|class| !class.iter().any(|tool| is_called(&tool.value)));
        let found = without_call.filter_map(|class| {
            let names: Vec<String> = class.iter().map(|tool| format!("`{}`", tool.value)).collect();
            let message = format!("none of {} was called", names.join(", "));
            Some(view.finding("equal-function", message, class.first()?.span, "one of these"))
        });
        unknown.chain(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::judge::EqualTools;
    use crate::block::agents::tests::{Scene, calls, messages, run_of, unknown};

    #[test]
    fn a_tool_of_each_class_is_called() {
        for (classes, made, expected) in [
            ("[[search, find]]", calls(&["find"]), &[][..]),
            ("[[search, find], [get]]", calls(&["get"]), &["none of `search`, `find` was called"]),
            ("[[search, find]]", vec![unknown("search")], &["none of `search`, `find` was called"]),
            ("[[search, fnd]]", calls(&["search"]), &["no server of the agent has a tool `fnd`"]),
        ] {
            let mut scene = Scene::new(classes);
            scene.equal = scene.read::<EqualTools>();
            assert_eq!(messages(&EqualFunction.judge(&run_of(made), &scene.view())), expected, "{classes}");
        }
    }
}
