//! Values put in the place of one parameter after another.

use serde_json::{Value as Json, json};

use super::arguments::SafeArguments;
use super::case::Mistake;
use super::rounds::ValuesError;
use crate::schema::{References, below, put_at, satisfies};
use crate::source::template::{Names, holds};
use crate::source::{Located, Span, words};
use crate::wire::Tool;

/// The most parameters within others that values are put into, so that rounds stay few.
const MOST_WITHIN: usize = 12;

/// The depth to which they are looked for.
const DEEPEST: usize = 6;

/// The place that values are put into.
pub(crate) struct PutSite<'a> {
    pub(crate) tool: &'a Tool,
    /// Valid arguments, of which one is replaced.
    pub(crate) base: &'a Json,
    /// The name of the arguments in templates.
    pub(crate) name: &'a str,
    /// Picks parameters.
    pub(crate) into: Option<&'a Located<String>>,
    pub(crate) names: &'a Names,
}

/// The names of each round: every value in every parameter that is picked and may take it.
pub(crate) fn rounds(place: &PutSite<'_>, payloads: &Json, span: Span) -> Result<Vec<Names>, ValuesError> {
    let Some(payloads) = payloads.as_array() else {
        let message = format!("`put` must be a list, but is {payloads}");
        return Err(ValuesError::Wrong(Mistake { code: "wrong-type", message, help: None, span }));
    };
    let root = place.tool.input_schema();
    let mut rounds = Vec::new();
    let mut picked = 0;
    for parameter in parameters(root, place.base) {
        let described = parameter.describe();
        if !is_picked(place, &described) {
            continue;
        }
        picked += 1;
        for payload in payloads {
            let Some(args) = parameter.with(payload) else { continue };
            rounds.push(Names::from_iter([
                (place.name.to_owned(), args),
                ("payload".to_owned(), payload.clone()),
                ("parameter".to_owned(), described.clone()),
            ]));
        }
    }
    let tool = &place.tool.name;
    match (picked, rounds.is_empty()) {
        (0, _) => Err(ValuesError::NotApplicable(format!("`{tool}` has no parameter that this is about").into())),
        (_, true) => {
            Err(ValuesError::NotApplicable(format!("the schema of `{tool}` takes none of the values of `put`").into()))
        }
        (_, false) => Ok(rounds),
    }
}

/// A property of the arguments, or of an object within them.
pub(crate) struct Parameter<'a> {
    name: String,
    schema: &'a Json,
    /// The schema of all arguments.
    root: &'a Json,
    is_required: bool,
    /// The JSON pointer to it.
    at: String,
    /// Valid arguments in which the object stands that has it.
    base: Json,
}

impl Parameter<'_> {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its schema.
    pub(crate) fn schema(&self) -> &Json {
        self.schema
    }

    /// The text that it has in the valid arguments, alone or as the first item of a list.
    pub(crate) fn text(&self) -> Option<&str> {
        let value = self.base.pointer(&self.at)?;
        value.as_str().or_else(|| value.get(0)?.as_str())
    }

    /// Valid arguments with a value in its place, as the parameter takes it: alone, or as the only item of a list.
    pub(crate) fn with(&self, value: &Json) -> Option<Json> {
        self.arguments_with(self.fit(value)?)
    }

    /// Puts a value in its place in other arguments, as the parameter takes it; nothing where it does not.
    pub(crate) fn put_into(&self, arguments: &mut Json, value: &Json) {
        if let Some(value) = self.fit(value) {
            put_at(arguments, &self.at, value);
        }
    }

    fn fit(&self, value: &Json) -> Option<Json> {
        let schema = with_definitions(self.schema, self.root);
        let is_list = self.schema == &ANYTHING && self.base.pointer(&self.at).is_some_and(Json::is_array);
        let forms = if is_list { [json!([value]), value.clone()] } else { [value.clone(), json!([value])] };
        forms.into_iter().find(|value| satisfies(&schema, value))
    }

    /// Valid arguments with a value in its place, whatever its schema says.
    pub(crate) fn arguments_with(&self, value: Json) -> Option<Json> {
        let mut args = self.base.clone();
        put_at(&mut args, &self.at, value).then_some(args)
    }

    /// As expressions know it.
    fn describe(&self) -> Json {
        let Self { name, schema, is_required, .. } = self;
        json!({"name": name, "words": words(name), "schema": schema, "required": is_required})
    }
}

/// The schema of a parameter that none describes.
static ANYTHING: Json = Json::Bool(true);

/// The parameters of a tool, and those of the objects within them, alone or in lists; each with arguments that have a
/// place for it. Where the schema names none, they are those of the arguments.
pub(crate) fn parameters<'a>(root: &'a Json, base: &Json) -> Vec<Parameter<'a>> {
    let references = References::new(root);
    let mut found = of_object(root, &references, "", base);
    if found.is_empty() && takes_anything(root) {
        found.extend(base.as_object().into_iter().flatten().map(|(name, _)| Parameter {
            name: name.clone(),
            schema: &ANYTHING,
            root,
            is_required: false,
            at: below("", name),
            base: base.clone(),
        }));
    }
    let (mut at, outermost) = (0, found.len());
    while at < found.len() && found.len() < outermost + MOST_WITHIN {
        let within = within(&references, &found[at]);
        found.extend(within);
        at += 1;
    }
    found.truncate(outermost + MOST_WITHIN);
    found
}

/// A schema says nothing of its members.
fn takes_anything(schema: &Json) -> bool {
    let says = |key: &str| schema.get(key).is_some_and(|value| !value.is_null());
    !["$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| says(key)) && schema["additionalProperties"] != false
}

fn of_object<'a>(object: &'a Json, references: &References<'a>, owner: &str, base: &Json) -> Vec<Parameter<'a>> {
    let required = object["required"].as_array();
    let of = |(name, schema): (&'a String, &'a Json)| Parameter {
        name: name.clone(),
        schema: references.resolve(schema),
        root: references.document,
        is_required: required.is_some_and(|names| names.iter().any(|one| one == name)),
        at: below(owner, name),
        base: base.clone(),
    };
    object["properties"].as_object().into_iter().flatten().map(of).collect()
}

/// The parameters of the object that a parameter is, or of the first one in the list that it is.
fn within<'a>(references: &References<'a>, outer: &Parameter<'a>) -> Vec<Parameter<'a>> {
    let root = references.document;
    if outer.at.split('/').count() > DEEPEST {
        return Vec::new();
    }
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| outer.schema[*key].as_array()).flatten();
    let schemas = std::iter::once(outer.schema).chain(alternatives).map(|schema| references.resolve(schema));
    for schema in schemas {
        let items = references.resolve(&schema["items"]);
        let is_list = items["properties"].is_object();
        if !is_list && !schema["properties"].is_object() {
            continue;
        }
        let object = if is_list { items } else { schema };
        let owner = if is_list { below(&outer.at, "0") } else { outer.at.clone() };
        let mut base = outer.base.clone();
        if base.pointer(&owner).is_none_or(|there| !there.is_object()) {
            let Ok(safe_arguments) = SafeArguments::new(&with_definitions(object, root), None) else { continue };
            let made = safe_arguments.smallest().clone();
            let made = if is_list { json!([made]) } else { made };
            if !put_at(&mut base, &outer.at, made) || !satisfies(root, &base) {
                continue;
            }
        }
        return of_object(object, references, &owner, &base);
    }
    Vec::new()
}

fn is_picked(place: &PutSite<'_>, parameter: &Json) -> bool {
    let Some(into) = place.into else { return true };
    let mut names = place.names.clone();
    names.insert("parameter".to_owned(), parameter.clone());
    // An expression may use names that the schema leaves open.
    holds(&into.value, &names).unwrap_or(false)
}

fn with_definitions(schema: &Json, root: &Json) -> Json {
    let mut schema = schema.clone();
    for key in ["$defs", "definitions"] {
        if let (Some(fields), Some(definitions)) = (schema.as_object_mut(), root.get(key)) {
            fields.entry(key).or_insert_with(|| definitions.clone());
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(properties: &Json, base: &Json, expected: &[&str]) {
        let note = json!({"$anchor": "note", "type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]});
        let root = json!({"type": "object", "properties": properties, "$defs": {"Note": note}});
        let found: Vec<String> = parameters(&root, base)
            .into_iter()
            .map(|found| {
                let is_outermost = found.at.matches('/').count() == 1;
                assert!(is_outermost || satisfies(&root, &found.base), "{} in {}", found.name, found.base);
                found.at
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn parameters_are_found_in_objects_and_lists() {
        let text = json!({"type": "string"});
        let nothing = json!({});
        check(&json!({"path": text}), &nothing, &["/path"]);
        let note = json!({"$ref": "#/$defs/Note"});
        check(&json!({"note": note}), &nothing, &["/note", "/note/file_path"]);
        check(&json!({"note": {"$ref": "#note"}}), &nothing, &["/note", "/note/file_path"]);
        let notes = json!({"type": "array", "items": note, "minItems": 2});
        check(&json!({"notes": notes}), &nothing, &["/notes"]);
        let two = json!({"notes": [{"file_path": "a"}, {"file_path": "b"}]});
        check(&json!({"notes": notes}), &two, &["/notes", "/notes/0/file_path"]);
        let perhaps = json!({"anyOf": [{"type": "array", "items": note}, {"type": "null"}]});
        check(&json!({"notes": perhaps}), &nothing, &["/notes", "/notes/0/file_path"]);
        // A list of texts is a parameter itself.
        check(&json!({"paths": {"type": "array", "items": text}}), &nothing, &["/paths"]);
    }

    #[test]
    fn arguments_name_the_parameters_where_the_schema_does_not() {
        let base = json!({"path": "a", "paths": ["b"]});
        for (root, expected) in [
            (json!({"type": "object"}), &["path", "paths"][..]),
            (json!({"type": "object", "properties": {}}), &["path", "paths"]),
            (json!({"type": "object", "properties": {"id": {"type": "string"}}}), &["id"]),
            (json!({"type": "object", "additionalProperties": false}), &[]),
            (json!({"allOf": [{"type": "object"}]}), &[]),
        ] {
            let found = parameters(&root, &base);
            assert_eq!(found.iter().map(Parameter::name).collect::<Vec<_>>(), expected, "{root}");
        }
        let root = json!({"type": "object"});
        let with: Vec<Option<Json>> = parameters(&root, &base).iter().map(|one| one.with(&json!("c"))).collect();
        assert_eq!(with, [Some(json!({"path": "c", "paths": ["b"]})), Some(json!({"path": "a", "paths": ["c"]}))]);
    }

    #[test]
    fn values_are_put_as_parameters_take_them() {
        let text = json!({"type": "string"});
        let properties = json!({"path": text, "paths": {"type": "array", "items": text}, "count": {"type": "integer"}});
        let root = json!({"type": "object", "properties": properties});
        let base = json!({"path": "a", "paths": [], "count": 3});
        let mut all = base.clone();
        for parameter in parameters(&root, &base) {
            parameter.put_into(&mut all, &json!("b"));
        }
        assert_eq!(all, json!({"path": "b", "paths": ["b"], "count": 3}));
        let alone: Vec<Option<Json>> = parameters(&root, &base).iter().map(|one| one.with(&json!("b"))).collect();
        let [path, paths] =
            [json!({"path": "b", "paths": [], "count": 3}), json!({"path": "a", "paths": ["b"], "count": 3})];
        assert_eq!(alone, [Some(path), Some(paths), None]);
    }

    #[test]
    fn what_is_found_within_is_bounded() {
        let node = json!({"type": "object", "properties": {"left": {"$ref": "#/$defs/Node"}, "right": {"$ref": "#/$defs/Node"}}});
        let root = json!({"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}});
        assert_eq!(parameters(&root, &json!({})).len(), 1 + MOST_WITHIN);
    }
}
