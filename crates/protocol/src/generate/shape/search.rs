//! Decides the alternatives of subschemas: which combinations of their members can stand together.

use std::collections::VecDeque;
use std::rc::Rc;

use indexmap::IndexMap;

use crate::schema::{SchemaId, SchemaRules};

use super::Graph;

/// The number of combinations of a node that are kept, unless one choice alone has more.
pub(crate) const COMBINATIONS: usize = 48;
const MOST_COMBINATIONS: usize = 300;

/// The number of steps of a search: those for one node, those for all, and those that every node has left.
const STEPS: usize = 3_000;
pub(crate) const ALL_STEPS: usize = 60_000;
const LAST_STEPS: usize = 100;

/// The number of subschemas that make a step count twice.
const HEAVY: usize = 32;

/// The number of counted steps that make a step of a search count once more.
const COSTLY: usize = 512;

/// One of several alternatives.
enum ShapeStep {
    /// The subschemas that it adds.
    Adds(Vec<SchemaId>),
    /// One member of a `oneOf`: what it adds is found out when it is tried, as it depends on all the others.
    Only(Rc<[SchemaId]>, usize),
}

/// Alternatives.
struct Choice {
    ways: Vec<ShapeStep>,
    /// One way is as good as another.
    whichever: bool,
}

#[derive(Clone, Default)]
struct Partial {
    flat: Vec<SchemaId>,
    open: VecDeque<Rc<Choice>>,
    /// Choices for later, of which one way is as good as another.
    late: VecDeque<Rc<Choice>>,
}

struct ShapeSearch {
    found: Vec<Vec<SchemaId>>,
    steps: usize,
    why: Option<String>,
}

impl ShapeSearch {
    fn pay(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }
}

impl Graph {
    /// The combinations that can stand together, or why there is none.
    pub(crate) fn combinations(&mut self, ids: &[SchemaId]) -> Result<Vec<Vec<SchemaId>>, Option<String>> {
        let mut start = Partial::default();
        self.absorb(&mut start, ids);
        let widest = start.open.iter().map(|choice| choice.ways.len()).max().unwrap_or(1);
        let steps = STEPS.min(self.steps).max(LAST_STEPS);
        let mut search = ShapeSearch { found: Vec::new(), steps, why: None };
        self.explore(start, widest.clamp(COMBINATIONS, MOST_COMBINATIONS), &mut search);
        self.steps = self.steps.saturating_sub(steps - search.steps);
        let ShapeSearch { mut found, why, steps } = search;
        found.dedup();
        if found.is_empty() {
            self.gave_up |= steps == 0;
            return Err(why);
        }
        Ok(found)
    }

    fn explore(&mut self, mut partial: Partial, budget: usize, search: &mut ShapeSearch) {
        if search.steps == 0 {
            return;
        }
        let before = self.schemas.count_steps();
        let conflict = self.schemas.conflict(&partial.flat);
        search.pay(1 + partial.flat.len() / HEAVY + (self.schemas.count_steps() - before) / COSTLY);
        if let Some(why) = conflict {
            search.why.get_or_insert(why);
            return;
        }
        let Some(choice) = partial.open.pop_front().or_else(|| partial.late.pop_front()) else {
            search.found.push(partial.flat);
            return;
        };
        let before = search.found.len();
        for (at, way) in choice.ways.iter().enumerate() {
            let used = search.found.len() - before;
            if used >= budget || (choice.whichever && used > 0) {
                break;
            }
            // Every way gets its share, so that early choices are varied as much as late ones.
            let share = if choice.whichever { budget } else { ((budget - used) / (choice.ways.len() - at)).max(1) };
            let spent = self.schemas.count_steps();
            let mut next = partial.clone();
            match way {
                ShapeStep::Adds(ids) => self.absorb(&mut next, ids),
                ShapeStep::Only(members, at) => {
                    let ids = self.only(members, *at);
                    self.absorb(&mut next, &ids);
                }
            }
            search.pay((self.schemas.count_steps() - spent) / COSTLY);
            self.explore(next, share, search);
        }
    }

    /// Adds subschemas with everything they include, and notes the choices they leave.
    fn absorb(&mut self, partial: &mut Partial, ids: &[SchemaId]) {
        let mut todo: Vec<SchemaId> = ids.iter().rev().copied().collect();
        while let Some(id) = todo.pop() {
            if partial.flat.contains(&id) {
                continue;
            }
            partial.flat.push(id);
            let rules = self.schemas.rules(id).clone();
            if let Some(not) = rules.not {
                todo.push(self.schemas.negate(not));
            }
            todo.extend(rules.all.iter().rev());
            self.note_choices(partial, &rules);
        }
    }

    fn note_choices(&mut self, partial: &mut Partial, rules: &SchemaRules) {
        let alone = |ids: &[SchemaId]| ids.iter().map(|id| ShapeStep::Adds(vec![*id])).collect::<Vec<_>>();
        if !rules.any.is_empty() {
            partial.open.push_back(Rc::new(Choice { ways: alone(&rules.any), whichever: false }));
        }
        if !rules.whichever.is_empty() {
            partial.late.push_back(Rc::new(Choice { ways: alone(&rules.whichever), whichever: true }));
        }
        if !rules.one.is_empty() {
            let members: Rc<[SchemaId]> = rules.one.clone().into();
            let ways = (0..members.len()).map(|at| ShapeStep::Only(Rc::clone(&members), at)).collect();
            partial.open.push_back(Rc::new(Choice { ways, whichever: false }));
        }
        if let Some(condition) = &rules.condition {
            let holds = [condition.when].into_iter().chain(condition.then).collect();
            let fails = [self.schemas.negate(condition.when)].into_iter().chain(condition.otherwise).collect();
            partial.open.push_back(Rc::new(Choice {
                ways: vec![ShapeStep::Adds(holds), ShapeStep::Adds(fails)],
                whichever: false,
            }));
        }
        for (name, schema) in &rules.dependent_schemas {
            let never = self.schemas.add(SchemaRules { never: true, at: rules.at.clone(), ..SchemaRules::default() });
            let property = |schema| IndexMap::from([(name.clone(), schema)]);
            let absent = SchemaRules { at: rules.at.clone(), properties: property(never), ..SchemaRules::default() };
            let present = SchemaRules { at: rules.at.clone(), required: vec![name.clone()], ..SchemaRules::default() };
            let (absent, present) = (self.schemas.add(absent), self.schemas.add(present));
            let ways = vec![ShapeStep::Adds(vec![absent]), ShapeStep::Adds(vec![present, *schema])];
            partial.open.push_back(Rc::new(Choice { ways, whichever: false }));
        }
    }

    /// One member of `oneOf`, and the opposite of those that could fit as well.
    fn only(&mut self, members: &[SchemaId], at: usize) -> Vec<SchemaId> {
        let mut way = vec![members[at]];
        for (other, member) in members.iter().enumerate() {
            if other != at && !self.schemas.exclude_each_other(members[at], *member) {
                way.push(self.schemas.negate(*member));
            }
        }
        way
    }
}
