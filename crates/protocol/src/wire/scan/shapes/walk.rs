//! The walk of a value along its shape.
//!
//! A value that fits costs no allocation. Where alternatives are told apart by a constant member (`type`, `mode`,
//! `method`), that member decides what the value was meant to be, so that what is reported is about the right one.

use serde_json::{Map, Value};

use super::super::look::MessageCheck;
use super::super::table::ScanRule;
use super::report::{PlaceStep, Position, any_of, demand, form_noun, quote};
use super::rules::MemberBreaches;
use super::table::{Definition, Member, MessageShape, Shapes, TextForm};
use crate::wire::Members;
use crate::wire::format::{is_base64, is_media_type, is_timestamp, is_uri, is_uri_template};

/// The number of kinds of mismatches that are reported of one message.
const MOST_KINDS: usize = 20;

/// The number of members that a definition may have.
pub(crate) const MOST_MEMBERS: usize = 64;

/// The subject of a walk.
#[derive(Clone, Copy)]
pub(crate) struct WalkStart {
    /// The part of the message, such as `result`.
    pub(crate) part: &'static str,
    /// The rule that every mismatch breaks, where there is one for the whole part.
    pub(crate) rule: Option<ScanRule>,
    /// A rule that is not judged here.
    pub(crate) exempt: Option<ScanRule>,
}

/// A value of the message, and what is said of it where it does not fit.
#[derive(Clone, Copy)]
struct WalkedValue<'p> {
    at: &'p Position<'p>,
    rules: MemberBreaches,
    /// The definition that demands it; empty for the whole.
    owner: &'static str,
}

/// Walks along the shapes of a revision.
pub(crate) struct Walk<'a, 'b> {
    shapes: &'static Shapes,
    check: &'a mut MessageCheck<'b>,
    start: WalkStart,
    reported: Vec<String>,
}

impl<'a, 'b> Walk<'a, 'b> {
    /// Judges a value by a shape.
    pub(crate) fn judge(
        check: &'a mut MessageCheck<'b>,
        shapes: &'static Shapes,
        shape: &MessageShape,
        value: &Value,
        start: WalkStart,
    ) {
        let mut walk = Self { shapes, check, start, reported: Vec::new() };
        walk.check.count(start.rule.unwrap_or(ScanRule::InvalidMessage));
        let at = &Position { before: None, step: PlaceStep::Start(start.part) };
        walk.follow(shape, value, WalkedValue { at, rules: MemberBreaches::COMMON, owner: "" });
    }

    fn follow(&mut self, shape: &MessageShape, value: &Value, place: WalkedValue<'_>) {
        match (shape, value) {
            (MessageShape::Any, _)
            | (MessageShape::Null, Value::Null)
            | (MessageShape::Boolean, Value::Bool(_))
            | (MessageShape::Object, Value::Object(_)) => {}
            (MessageShape::Text(form), Value::String(text)) => self.judge_form(*form, text, place),
            (MessageShape::List { items, most }, Value::Array(list)) => {
                if let Some(most) = most.filter(|most| list.len() > *most) {
                    let message = || format!("must have at most {most} items, it has {}", list.len());
                    self.report(place.rules.wrong, place, message);
                }
                for (index, item) in list.iter().enumerate() {
                    self.follow(items, item, WalkedValue { at: &place.at.then(PlaceStep::Item(index)), ..place });
                }
            }
            (MessageShape::Map(values), Value::Object(entries)) => {
                for (name, entry) in entries {
                    self.follow(values, entry, WalkedValue { at: &place.at.then(PlaceStep::Entry(name)), ..place });
                }
            }
            (MessageShape::Defined(index), value) => {
                let definition = &self.shapes.definitions[*index];
                match (&definition.alias, value) {
                    (Some(alias), value) => {
                        self.follow(alias, value, WalkedValue { owner: definition.published_name(), ..place });
                    }
                    (None, Value::Object(members)) => self.follow_members(definition, members, place.at),
                    (None, value) => self.report_type(shape, value, place),
                }
            }
            (MessageShape::OneOf(shapes), value) => self.choose(shapes, shape, value, place),
            (shape, value) if fits_plainly(shape, value) => {}
            (shape, value) => self.report_type(shape, value, place),
        }
    }

    fn follow_members(&mut self, definition: &'static Definition, members: &Map<String, Value>, at: &Position<'_>) {
        let owner = definition.published_name();
        let mut seen = [false; MOST_MEMBERS];
        for (name, value) in members {
            let known = definition.members.binary_search_by_key(&name.as_str(), |member| member.name);
            match (known, &definition.others) {
                (Ok(index), _) => {
                    seen[index] = true;
                    let member = &definition.members[index];
                    self.count(member);
                    let at = &at.then(PlaceStep::Member(member.name));
                    self.follow(&member.shape, value, WalkedValue { at, rules: member.rules, owner });
                }
                (Err(_), Some(others)) => {
                    self.follow(
                        others,
                        value,
                        WalkedValue { at: &at.then(PlaceStep::Entry(name)), rules: MemberBreaches::COMMON, owner },
                    );
                }
                (Err(_), None) => {}
            }
        }
        for (member, _) in definition.members.iter().zip(seen).filter(|(member, seen)| member.is_required && !seen) {
            self.count(member);
            let place = WalkedValue { at: &at.then(PlaceStep::Member(member.name)), rules: member.rules, owner };
            self.report(member.rules.missing, place, || "is missing".to_owned());
        }
    }

    /// Counts an occasion for the rules that a member has of its own.
    fn count(&mut self, member: &Member) {
        let MemberBreaches { missing, wrong, .. } = member.rules;
        for rule in [Some(missing), Some(wrong).filter(|rule| *rule != missing)].into_iter().flatten() {
            if rule != ScanRule::InvalidMessage {
                self.check.count(rule);
            }
        }
    }

    /// Follows the alternative that a value was meant to be.
    fn choose(&mut self, shapes: &[MessageShape], whole: &MessageShape, value: &Value, place: WalkedValue<'_>) {
        let mut candidates = shapes.iter().filter(|shape| self.may_be(shape, value));
        let Some(first) = candidates.next() else {
            return self.report_stranger(shapes, whole, value, place);
        };
        if candidates.next().is_none() {
            return self.follow(first, value, place);
        }
        let candidates = || shapes.iter().filter(|shape| self.may_be(shape, value));
        if let Some(chosen) = candidates().find(|shape| self.fits(shape, value)) {
            return self.follow(chosen, value, place);
        }
        let lacking = |shape: &MessageShape| self.missing(shape, value).count();
        let least = candidates().map(lacking).min().unwrap_or_default();
        let closest = || candidates().filter(|shape| lacking(shape) == least);
        let of_each: Vec<&Member> = closest().filter_map(|shape| self.missing(shape, value).next()).collect();
        let is_of_all = |member: &&Member| of_each.iter().all(|other| other.name == member.name);
        let Some(named) = of_each.first().filter(|member| least == 1 && !is_of_all(member)).copied() else {
            let chosen = closest().next().unwrap_or(first);
            return self.follow(chosen, value, place);
        };
        let wanted = any_of(of_each.iter().map(|member| format!("`{}`", member.name)).collect());
        self.count(named);
        self.report(named.rules.missing, place, || format!("must have {wanted}, it is {}", quote(value)));
    }

    /// A value may be meant to have a shape: its JSON type and the constants of the shape agree with it.
    fn may_be(&self, shape: &MessageShape, value: &Value) -> bool {
        match shape {
            MessageShape::Defined(index) => {
                let definition = &self.shapes.definitions[*index];
                match &definition.alias {
                    Some(alias) => self.may_be(alias, value),
                    None => value.is_object() && constants(definition).all(|member| agrees(member, value)),
                }
            }
            MessageShape::OneOf(shapes) => shapes.iter().any(|shape| self.may_be(shape, value)),
            MessageShape::List { .. } => value.is_array(),
            MessageShape::Map(_) => value.is_object(),
            MessageShape::Any
            | MessageShape::Null
            | MessageShape::Boolean
            | MessageShape::Object
            | MessageShape::Number { .. }
            | MessageShape::Text(_)
            | MessageShape::Words(_) => fits_plainly(shape, value),
        }
    }

    /// A value has a shape, but for the forms of its texts.
    fn fits(&self, shape: &MessageShape, value: &Value) -> bool {
        match (shape, value) {
            (MessageShape::List { items, most }, Value::Array(list)) => {
                most.is_none_or(|most| list.len() <= most) && list.iter().all(|item| self.fits(items, item))
            }
            (MessageShape::Map(values), Value::Object(entries)) => {
                entries.values().all(|entry| self.fits(values, entry))
            }
            (MessageShape::Defined(index), value) => {
                let definition = &self.shapes.definitions[*index];
                match &definition.alias {
                    Some(alias) => self.fits(alias, value),
                    None => {
                        value.is_object()
                            && definition.members.iter().all(|member| match value.member(member.name) {
                                Some(value) => self.fits(&member.shape, value),
                                None => !member.is_required,
                            })
                    }
                }
            }
            (MessageShape::OneOf(shapes), value) => shapes.iter().any(|shape| self.fits(shape, value)),
            (shape, value) => fits_plainly(shape, value),
        }
    }

    /// The required members of a definition that a value lacks.
    fn missing<'v>(&self, shape: &MessageShape, value: &'v Value) -> impl Iterator<Item = &'static Member> + use<'v> {
        let members = self.definition(shape).into_iter().flat_map(|definition| &definition.members);
        members.filter(|member| member.is_required && value.member(member.name).is_none())
    }

    /// Reports a value that none of the alternatives can be meant by.
    fn report_stranger(
        &mut self,
        shapes: &[MessageShape],
        whole: &MessageShape,
        value: &Value,
        place: WalkedValue<'_>,
    ) {
        let definitions = || shapes.iter().filter_map(|shape| self.definition(shape));
        let shared = definitions().next().and_then(|first| {
            constants(first)
                .find(|member| definitions().all(|one| constants(one).any(|other| other.name == member.name)))
        });
        let Some(shared) = shared.filter(|_| value.is_object()) else {
            return self.report_type(whole, value, place);
        };
        let place = WalkedValue { at: &place.at.then(PlaceStep::Member(shared.name)), ..place };
        let Some(found) = value.member(shared.name) else {
            return self.report(place.rules.missing, place, || "is missing".to_owned());
        };
        let words =
            definitions().filter_map(|one| one.member(shared.name)).map(|member| demand(&member.shape)).collect();
        self.report(place.rules.wrong, place, || format!("must be {}, it is {}", any_of(words), quote(found)));
    }

    fn definition(&self, shape: &MessageShape) -> Option<&'static Definition> {
        let MessageShape::Defined(index) = shape else { return None };
        self.shapes.definitions.get(*index)
    }

    fn judge_form(&mut self, form: Option<TextForm>, text: &str, place: WalkedValue<'_>) {
        let Some(form) = form else { return };
        if place.rules.form != place.rules.wrong {
            self.check.count(place.rules.form);
        }
        let is_right = match form {
            TextForm::Base64 => is_base64(text),
            TextForm::Uri => is_uri(text),
            TextForm::UriTemplate => is_uri_template(text),
            TextForm::MediaType => is_media_type(text),
            TextForm::Timestamp => is_timestamp(text),
        };
        if !is_right {
            let message = || {
                format!(
                    "must be {}, it is {}",
                    form_noun(form),
                    quote(&text.chars().take(100).collect::<String>().into())
                )
            };
            self.report(place.rules.form, place, message);
        }
    }

    fn report_type(&mut self, shape: &MessageShape, value: &Value, place: WalkedValue<'_>) {
        let shape = self.resolve(shape);
        self.report(place.rules.wrong, place, || format!("must be {}, it is {}", demand(shape), quote(value)));
    }

    /// The shape behind other names for it.
    fn resolve<'s>(&self, shape: &'s MessageShape) -> &'s MessageShape {
        match self.definition(shape).and_then(|definition| definition.alias.as_ref()) {
            Some(alias) => self.resolve(alias),
            None => shape,
        }
    }

    /// Reports a mismatch, the first of its kind in the message.
    fn report(&mut self, rule: ScanRule, place: WalkedValue<'_>, problem: impl FnOnce() -> String) {
        let rule = self.start.rule.unwrap_or(rule);
        if self.start.exempt == Some(rule) || self.reported.len() >= MOST_KINDS {
            return;
        }
        let WalkedValue { at, owner, .. } = place;
        let kind = at.kind();
        if self.reported.contains(&kind) {
            return;
        }
        let revision = self.shapes.revision;
        let source = if owner.is_empty() { String::new() } else { format!("`{owner}` in ") };
        let message = format!("`{}` {} ({source}the schema of {revision})", at.path(), problem());
        self.check.report_at(rule, message, &kind);
        self.reported.push(kind);
    }
}

/// The members of a definition that have a constant value.
fn constants(definition: &'static Definition) -> impl Iterator<Item = &'static Member> {
    definition.members.iter().filter(|member| matches!(&member.shape, MessageShape::Words(words) if words.len() == 1))
}

fn agrees(member: &Member, value: &Value) -> bool {
    match (value.member(member.name), &member.shape) {
        (Some(value), shape) => fits_plainly(shape, value),
        (None, _) => !member.is_required,
    }
}

/// A value has a shape without parts.
fn fits_plainly(shape: &MessageShape, value: &Value) -> bool {
    match (shape, value) {
        (MessageShape::Any, _)
        | (MessageShape::Null, Value::Null)
        | (MessageShape::Boolean, Value::Bool(_))
        | (MessageShape::Object, Value::Object(_))
        | (MessageShape::Text(_), Value::String(_)) => true,
        (MessageShape::Words(words), Value::String(text)) => words.contains(&text.as_str()),
        (MessageShape::Number { is_whole, least, most }, Value::Number(_)) => {
            let number = value.as_f64().unwrap_or_default();
            (!is_whole || number.fract() == 0.0)
                && least.is_none_or(|least| number >= least)
                && most.is_none_or(|most| number <= most)
        }
        _ => false,
    }
}
