//! `trajectory:`, the calls that a run makes.

use super::call_pattern::{CALLS, CallPattern};
use super::{AMBIGUOUS, JudgedView, Judgement};
use crate::block::agents::run::{AgentCall, AgentRun};
use crate::event::Finding;
use crate::source::grammar::Shape;
use crate::source::settings::Setting;
use crate::source::{Diagnostic, Located, Node, Span, settings};

settings! {
    /// The calls that a run makes, in one or several of these senses.
    struct TrajectoryKeys as "a trajectory" {
        /// These calls in this order, and no others.
        exact: Option<Located<Vec<CallPattern>>> => alternative() shape(CALLS),
        /// These calls in this order; there may be others between them.
        order: Option<Located<Vec<CallPattern>>> => alternative() shape(CALLS),
        /// These calls, in any order; there may be others.
        any_order: Option<Located<Vec<CallPattern>>> => alternative() shape(CALLS),
        /// Every call is one of these, however often.
        subset: Option<Located<Vec<CallPattern>>> => alternative() shape(CALLS),
        /// No call of these tools.
        never: Option<Located<Vec<CallPattern>>> => alternative()
            shape(Shape::NonEmpty(&Shape::List(&Shape::Text))),
    }
}

/// The calls that a run must make.
#[derive(Debug, Clone)]
pub(crate) struct Trajectory {
    wanted: Vec<WantedCalls>,
}

#[derive(Debug, Clone)]
struct WantedCalls {
    sense: TrajectorySense,
    span: Span,
    calls: Vec<CallPattern>,
}

/// The way in which calls are compared with those that were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrajectorySense {
    Exact,
    Order,
    AnyOrder,
    Subset,
    Never,
}

impl Setting for Trajectory {
    const SHAPE: Shape = TrajectoryKeys::SHAPE;

    fn decode(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let keys = TrajectoryKeys::decode(node, found)?;
        let wanted = [
            (TrajectorySense::Exact, keys.exact),
            (TrajectorySense::Order, keys.order),
            (TrajectorySense::AnyOrder, keys.any_order),
            (TrajectorySense::Subset, keys.subset),
            (TrajectorySense::Never, keys.never),
        ];
        let wanted = wanted.into_iter().filter_map(|(sense, calls)| {
            let Located { value: calls, span } = calls?;
            Some(WantedCalls { sense, span, calls })
        });
        Some(Self { wanted: wanted.collect() })
    }
}

impl Judgement for Trajectory {
    fn variants(&self) -> Vec<&'static str> {
        vec![AMBIGUOUS]
    }

    fn servers(&self) -> Vec<&Located<String>> {
        self.wanted.iter().flat_map(|wanted| &wanted.calls).filter_map(|call| call.server.as_ref()).collect()
    }

    fn judge(&self, run: &AgentRun, view: &JudgedView<'_>) -> Vec<Finding> {
        let named = self.wanted.iter().flat_map(|wanted| &wanted.calls);
        let unknown: Vec<Finding> = named.filter_map(|call| view.unknown_tool(&call.tool.name, run)).collect();
        if !unknown.is_empty() {
            return unknown;
        }
        self.wanted.iter().filter_map(|wanted| wanted.judge(&run.calls, view)).collect()
    }
}

impl WantedCalls {
    fn judge(&self, made: &[AgentCall], view: &JudgedView<'_>) -> Option<Finding> {
        let (span, message) = match self.sense {
            TrajectorySense::Exact => self.exact(made, view)?,
            TrajectorySense::Order => self.in_order(made, view)?,
            TrajectorySense::AnyOrder => self.in_any_order(made, view)?,
            TrajectorySense::Subset => self.others(made, view)?,
            TrajectorySense::Never => self.forbidden(made, view)?,
        };
        let label = if span == self.span { "these calls" } else { "this call" };
        Some(view.finding("trajectory", message, span, label))
    }

    fn exact(&self, made: &[AgentCall], view: &JudgedView<'_>) -> Option<(Span, String)> {
        for (at, wanted) in self.calls.iter().enumerate() {
            let Some(call) = made.get(at) else {
                let message =
                    format!("call {} must be a call of `{}`, and the run ended before", at + 1, wanted.tool.name.value);
                return Some((wanted.span(), message));
            };
            if let Some(why) = wanted.mismatch(call, view) {
                let message = format!("call {} must be a call of `{}`: {why}", at + 1, wanted.tool.name.value);
                return Some((wanted.span(), message));
            }
        }
        let extra = made.get(self.calls.len())?;
        Some((self.span, format!("call {} of `{}` is one more than these", self.calls.len() + 1, extra.name)))
    }

    fn in_order(&self, made: &[AgentCall], view: &JudgedView<'_>) -> Option<(Span, String)> {
        let missing = missing_in_order(&self.calls, made, view)?;
        let wanted = &self.calls[missing.pattern];
        let after =
            missing.pattern.checked_sub(1).map(|before| format!(" after `{}`", self.calls[before].tool.name.value));
        let closest = closest(wanted, &made[missing.from..], view);
        let message = format!("no call of `{}`{} was made{closest}", wanted.tool.name.value, after.unwrap_or_default());
        Some((wanted.span(), message))
    }

    fn in_any_order(&self, made: &[AgentCall], view: &JudgedView<'_>) -> Option<(Span, String)> {
        let fitting = |pattern: &CallPattern| {
            let fits = made.iter().enumerate().filter(|(_, call)| pattern.is_met_by(call, view));
            fits.map(|(at, _)| at).collect::<Vec<_>>()
        };
        let fitting: Vec<Vec<usize>> = self.calls.iter().map(fitting).collect();
        let without = fitting.iter().position(Vec::is_empty).or_else(|| left_over(&fitting, made.len()))?;
        let wanted = &self.calls[without];
        let message = if fitting[without].is_empty() {
            format!("no call of `{}` was made{}", wanted.tool.name.value, closest(wanted, made, view))
        } else {
            format!("no further call of `{}` is left for it", wanted.tool.name.value)
        };
        Some((wanted.span(), message))
    }

    fn others(&self, made: &[AgentCall], view: &JudgedView<'_>) -> Option<(Span, String)> {
        let other = made.iter().position(|call| !self.calls.iter().any(|wanted| wanted.is_met_by(call, view)))?;
        Some((self.span, format!("call {} of `{}` is none of these", other + 1, made[other].name)))
    }

    fn forbidden(&self, made: &[AgentCall], view: &JudgedView<'_>) -> Option<(Span, String)> {
        self.calls.iter().find_map(|forbidden| {
            let at = made.iter().position(|call| forbidden.is_wanted_by(call, view))?;
            Some((forbidden.span(), format!("call {} is a call of `{}`", at + 1, forbidden.tool.name.value)))
        })
    }
}

/// The first pattern that has no call of its own, where as many have one as possible; holds the calls that fit each.
fn left_over(fitting: &[Vec<usize>], calls: usize) -> Option<usize> {
    let mut owners = vec![None; calls];
    (0..fitting.len()).find(|pattern| !claim(*pattern, fitting, &mut owners, &mut vec![false; calls]))
}

/// Gives a pattern a call, for which others may have to take another one.
fn claim(pattern: usize, fitting: &[Vec<usize>], owners: &mut [Option<usize>], tried: &mut [bool]) -> bool {
    for &call in &fitting[pattern] {
        if std::mem::replace(&mut tried[call], true) {
            continue;
        }
        if owners[call].is_none_or(|owner| claim(owner, fitting, owners, tried)) {
            owners[call] = Some(pattern);
            return true;
        }
    }
    false
}

/// The first pattern that no call after those of the patterns before it meets.
pub(crate) struct MissingCall {
    pub(crate) pattern: usize,
    /// The first call that could have met it.
    from: usize,
}

/// The first of these calls that is missing, in order.
pub(crate) fn missing_in_order(
    wanted: &[CallPattern],
    made: &[AgentCall],
    view: &JudgedView<'_>,
) -> Option<MissingCall> {
    let mut from = 0;
    for (pattern, call) in wanted.iter().enumerate() {
        match made[from..].iter().position(|made| call.is_met_by(made, view)) {
            Some(at) => from += at + 1,
            None => return Some(MissingCall { pattern, from }),
        }
    }
    None
}

/// Why the calls of the same tool are not the one that is meant.
fn closest(wanted: &CallPattern, made: &[AgentCall], view: &JudgedView<'_>) -> String {
    let same = made.iter().find(|call| {
        call.reached_tool().is_some_and(|(_, tool)| {
            tool == wanted.tool.name.value || view.equal.are_equal(tool, &wanted.tool.name.value)
        })
    });
    same.and_then(|call| wanted.mismatch(call, view)).map(|why| format!("; {why}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::agents::tests::{Scene, call, calls, decoy, malformed, messages, run_of, unknown};
    use serde_json::json;

    #[test]
    fn patterns_share_calls_as_well_as_they_can() {
        // Two patterns fit the first two calls, one the last two; each can have one.
        assert_eq!(left_over(&[vec![0, 1], vec![1, 2], vec![0, 1]], 3), None);
        assert_eq!(left_over(&[vec![0, 1], vec![0], vec![1]], 2), Some(2));
        assert_eq!(left_over(&[], 0), None);
    }

    #[test]
    fn a_trajectory_says_which_call_is_missing_or_too_many() {
        let made = |names: &[&str]| calls(names);
        for (settings, made, expected) in [
            ("exact: [search, get]", made(&["search", "get"]), ""),
            ("exact: [search, get]", made(&["search"]), "call 2 must be a call of `get`, and the run ended before"),
            ("exact: [search, get]", made(&["get", "search"]), "call 1 must be a call of `search`: `get` was called"),
            ("exact: [search]", made(&["search", "get"]), "call 2 of `get` is one more than these"),
            ("order: [search, get]", made(&["find", "search", "find", "get", "find"]), ""),
            ("order: [search, get]", made(&["get", "search"]), "no call of `get` after `search` was made"),
            ("order: [search, search]", made(&["search"]), "no call of `search` after `search` was made"),
            ("order: [search]", vec![], "no call of `search` was made"),
            ("any_order: [search, get]", made(&["get", "find", "search"]), ""),
            ("any_order: [search, search]", made(&["search", "get"]), "no further call of `search` is left for it"),
            ("any_order: [search]", made(&["get"]), "no call of `search` was made"),
            ("subset: [search, get]", made(&["get", "get"]), ""),
            ("subset: ['*e*']", made(&["search", "delete"]), ""),
            ("subset: [search]", made(&["search", "get"]), "call 2 of `get` is none of these"),
            // A tool that is not offered is none of the allowed ones.
            ("subset: ['*']", vec![unknown("shell")], "call 1 of `shell` is none of these"),
            ("never: [delete]", made(&["search"]), ""),
            ("never: ['del*']", made(&["search", "delete"]), "call 2 is a call of `del*`"),
            // The model wanted the call, although it could not be made.
            ("never: [delete]", vec![malformed("delete")], "call 1 is a call of `delete`"),
            ("never: [delete]", vec![decoy("delete")], ""),
            ("never: [serach]", made(&["search"]), "no server of the agent has a tool `serach`"),
        ] {
            let scene = Scene::new(&format!("{{ {settings} }}"));
            let trajectory: Trajectory = scene.read();
            let found = trajectory.judge(&run_of(made), &scene.view());
            assert_eq!(messages(&found).concat(), expected, "{settings}");
        }
    }

    #[test]
    fn the_closest_call_says_what_differs() {
        let scene = Scene::new("{ order: [{ call: get, args: { id: u1 } }] }");
        let trajectory: Trajectory = scene.read();
        let judge = |made| messages(&trajectory.judge(&run_of(made), &scene.view())).concat();
        assert_eq!(judge(vec![call("get", json!({ "id": "u1", "more": true }))]), "");
        let other = judge(vec![call("get", json!({ "id": "u2" }))]);
        assert!(other.starts_with("no call of `get` was made; the arguments {\"id\":\"u2\"}: "), "{other}");
    }

    #[test]
    fn tools_of_one_class_stand_for_each_other() {
        let mut scene = Scene::new("{ exact: [search] }");
        scene.equal = Scene::new("[[search, find]]").read();
        let trajectory: Trajectory = scene.read();
        assert!(trajectory.judge(&run_of(calls(&["find"])), &scene.view()).is_empty());
        assert_eq!(trajectory.judge(&run_of(calls(&["get"])), &scene.view()).len(), 1);
    }
}
