//! From a document to rules: every subschema once, references resolved, drafts evened out.

use std::collections::BTreeMap;

use jsonschema::Draft;
use serde_json::{Map, Number, Value};

use super::described;
use super::{
    ConditionRule, ContainsRule, Keyword, NumberLimit, References, SchemaId, SchemaRules, Schemas, TypeSet, below, same,
};

/// Reads a whole document into an arena.
pub(crate) fn read_document(document: &Value, schemas: Schemas) -> Schemas {
    let draft = Draft::default().detect(document);
    let references = References::new(document);
    let mut reader = SchemaReader { document, references, draft, schemas, known: BTreeMap::new(), todo: Vec::new() };
    reader.schemas.root = reader.schema("");
    while let Some((id, at)) = reader.todo.pop() {
        reader.read_schema(id, at);
    }
    reader.schemas
}

/// The value of a keyword; `None` where it is absent, or means nothing in the draft.
fn keyword<'a>(draft: Draft, members: &'a Map<String, Value>, keyword: &str) -> Option<&'a Value> {
    let value = members.get(keyword)?;
    let is_known = Keyword::find(keyword).and_then(|keyword| keyword.since).is_none_or(|since| draft >= since);
    let is_past = keyword == "$recursiveRef" && draft > Draft::Draft201909;
    (is_known && !is_past).then_some(value)
}

struct SchemaReader<'a> {
    document: &'a Value,
    references: References<'a>,
    draft: Draft,
    schemas: Schemas,
    known: BTreeMap<String, SchemaId>,
    /// Subschemas that were met and are still to be read.
    todo: Vec<(SchemaId, String)>,
}

impl SchemaReader<'_> {
    /// The line of the subschema at a pointer.
    fn schema(&mut self, at: &str) -> SchemaId {
        if let Some(known) = self.known.get(at) {
            return *known;
        }
        let id = self.schemas.add(SchemaRules { at: at.to_owned(), ..SchemaRules::default() });
        self.known.insert(at.to_owned(), id);
        self.todo.push((id, at.to_owned()));
        id
    }

    fn read_schema(&mut self, id: SchemaId, at: String) {
        let document = self.document;
        match document.pointer(&at) {
            Some(Value::Object(members)) => {
                let rules = self.rules(&at, members);
                self.schemas.replace(id, rules);
            }
            Some(Value::Bool(false)) => {
                self.schemas.replace(id, SchemaRules { at, never: true, ..SchemaRules::default() });
            }
            Some(Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_)) | None => {}
        }
    }

    fn rules(&mut self, at: &str, members: &Map<String, Value>) -> SchemaRules {
        let mut rules = SchemaRules { at: at.to_owned(), ..SchemaRules::default() };
        self.references_of(at, members, &mut rules);
        // Before 2019-09 a reference hides its siblings.
        if self.draft < Draft::Draft201909 && members.contains_key("$ref") {
            return rules;
        }
        values(self.draft, members, &mut rules);
        numbers(members, &mut rules);
        texts(members, &mut rules);
        self.arrays(at, members, &mut rules);
        self.objects(at, members, &mut rules);
        self.dependencies(at, members, &mut rules);
        self.combinations(at, members, &mut rules);
        rules
    }

    fn references_of(&mut self, at: &str, members: &Map<String, Value>, rules: &mut SchemaRules) {
        let text = |key: &str| keyword(self.draft, members, key).and_then(Value::as_str);
        let plain = text("$ref").and_then(|reference| self.references.target(at, reference));
        let dynamic = text("$dynamicRef").and_then(|reference| self.references.dynamic_target(at, reference));
        let recursive = text("$recursiveRef").and_then(|reference| self.references.target(at, reference));
        for target in [plain, dynamic, recursive].into_iter().flatten() {
            let target = self.schema(&target);
            rules.all.push(target);
        }
    }

    fn member(&mut self, at: &str, members: &Map<String, Value>, key: &str) -> Option<SchemaId> {
        keyword(self.draft, members, key)
            .filter(|value| value.is_object() || value.is_boolean())
            .map(|_| self.schema(&below(at, key)))
    }

    fn list(&mut self, at: &str, members: &Map<String, Value>, key: &str) -> Vec<SchemaId> {
        let count = keyword(self.draft, members, key).and_then(Value::as_array).map_or(0, Vec::len);
        (0..count).map(|index| self.schema(&format!("{at}/{key}/{index}"))).collect()
    }

    fn read_named(&mut self, at: &str, members: &Map<String, Value>, key: &str) -> Vec<(String, SchemaId)> {
        let at = below(at, key);
        let named = keyword(self.draft, members, key).and_then(Value::as_object).into_iter().flatten();
        let schemas = named.filter(|(_, value)| value.is_object() || value.is_boolean());
        schemas.map(|(name, _)| (name.clone(), self.schema(&below(&at, name)))).collect()
    }

    fn arrays(&mut self, at: &str, members: &Map<String, Value>, rules: &mut SchemaRules) {
        rules.prefix = self.list(at, members, "prefixItems");
        rules.items = self.member(at, members, "items");
        if members.get("items").is_some_and(Value::is_array) {
            rules.prefix = self.list(at, members, "items");
            rules.items = self.member(at, members, "additionalItems");
        }
        if let Some(schema) = self.member(at, members, "contains") {
            let bound = |key: &str| keyword(self.draft, members, key).and_then(|_| count(members, key));
            rules.contains =
                Some(ContainsRule { schema, min: bound("minContains").unwrap_or(1), max: bound("maxContains") });
        }
        rules.min_items = count(members, "minItems");
        rules.max_items = count(members, "maxItems");
        rules.unique = members.get("uniqueItems") == Some(&Value::Bool(true));
        rules.unevaluated_items = self.member(at, members, "unevaluatedItems");
    }

    fn objects(&mut self, at: &str, members: &Map<String, Value>, rules: &mut SchemaRules) {
        rules.properties = self.read_named(at, members, "properties").into_iter().collect();
        rules.lists_properties = members.contains_key("properties");
        rules.pattern_properties = self.read_named(at, members, "patternProperties");
        rules.additional = self.member(at, members, "additionalProperties");
        rules.names = self.member(at, members, "propertyNames");
        rules.min_properties = count(members, "minProperties");
        rules.max_properties = count(members, "maxProperties");
        rules.required = members.get("required").map(names).unwrap_or_default();
        rules.unevaluated_properties = self.member(at, members, "unevaluatedProperties");
    }

    fn dependencies(&mut self, at: &str, members: &Map<String, Value>, rules: &mut SchemaRules) {
        for key in ["dependentRequired", "dependencies"] {
            let lists = keyword(self.draft, members, key).and_then(Value::as_object).into_iter().flatten();
            let lists = lists.filter(|(_, value)| value.is_array());
            rules.dependent.extend(lists.map(|(name, list)| (name.clone(), names(list))));
        }
        rules.dependent_schemas = self.read_named(at, members, "dependentSchemas");
        rules.dependent_schemas.extend(self.read_named(at, members, "dependencies"));
    }

    fn combinations(&mut self, at: &str, members: &Map<String, Value>, rules: &mut SchemaRules) {
        rules.all.extend(self.list(at, members, "allOf"));
        rules.any = self.list(at, members, "anyOf");
        rules.one = self.list(at, members, "oneOf");
        rules.not = self.member(at, members, "not");
        let when = self.member(at, members, "if");
        let then = self.member(at, members, "then");
        let otherwise = self.member(at, members, "else");
        rules.condition =
            when.filter(|_| then.is_some() || otherwise.is_some()).map(|when| ConditionRule { when, then, otherwise });
    }
}

fn values(draft: Draft, members: &Map<String, Value>, rules: &mut SchemaRules) {
    rules.named = match members.get("type") {
        Some(Value::String(name)) => vec![TypeSet::from_name(name)],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(TypeSet::from_name).collect(),
        _ => Vec::new(),
    };
    rules.kinds = rules.named.iter().copied().reduce(TypeSet::or);
    rules.values = members.get("enum").and_then(Value::as_array).cloned();
    if let Some(constant) = keyword(draft, members, "const") {
        let listed = rules.values.as_ref().is_none_or(|values| values.iter().any(|value| same(value, constant)));
        rules.values = Some(if listed { vec![constant.clone()] } else { Vec::new() });
        rules.constant = true;
    }
    rules.shown.extend(members.get("examples").and_then(Value::as_array).into_iter().flatten().cloned());
    rules.shown.extend(members.get("default").cloned());
    if rules.shown.is_empty() && rules.values.is_none() && rules.named == [TypeSet::TEXT] {
        let description = members.get("description").and_then(Value::as_str);
        rules.shown.extend(description.map(described::examples).unwrap_or_default());
    }
}

fn numbers(members: &Map<String, Value>, rules: &mut SchemaRules) {
    let bound = |key: &str, exclusive: bool| {
        members.get(key).and_then(Value::as_number).map(|number| NumberLimit { number: number.clone(), exclusive })
    };
    let flag = |key: &str| members.get(key) == Some(&Value::Bool(true));
    rules.low.extend(bound("minimum", flag("exclusiveMinimum")));
    rules.low.extend(bound("exclusiveMinimum", true));
    rules.high.extend(bound("maximum", flag("exclusiveMaximum")));
    rules.high.extend(bound("exclusiveMaximum", true));
    let positive = |step: &Number| step.as_f64().is_some_and(|step| step > 0.0);
    rules.step = members.get("multipleOf").and_then(Value::as_number).filter(|step| positive(step)).cloned();
}

fn texts(members: &Map<String, Value>, rules: &mut SchemaRules) {
    let text = |key: &str| members.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    rules.min_length = count(members, "minLength");
    rules.max_length = count(members, "maxLength");
    rules.pattern = text("pattern");
    rules.format = text("format");
}

/// A count, which JSON may write as `3.0`.
fn count(members: &Map<String, Value>, key: &str) -> Option<usize> {
    let value = members.get(key)?;
    let whole = value.as_u64().or_else(|| format!("{:.0}", value.as_f64()?).parse().ok());
    whole.and_then(|count| usize::try_from(count).ok())
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
