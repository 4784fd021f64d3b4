//! Operators that take room: calls stand in the place of their instructions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use minijinja::machinery::{
    CodeGenerator, Instruction, Instructions, Token, eval, get_compiled_template, make_string_output, parse_expr,
    tokenize,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, Expression, Template};

use super::{MOST_MADE, SizeOf, shallow, texts};

/// Operators under names that no template can write, what computes them, and how much they make.
pub(crate) static OPERATORS: &[(&str, &str, SizeOf)] = &[
    (" ~", "a ~ b", texts),
    (" +", "a + b", |arguments| arguments.iter().map(shallow).sum()),
    (" *", "a * b", |arguments| {
        let times = arguments.iter().find_map(Value::as_usize).unwrap_or(0);
        arguments.iter().map(shallow).sum::<usize>().saturating_mul(times)
    }),
    (" [:]", "a[b:c:d]", |arguments| arguments.first().map_or(0, shallow)),
];

/// A factor that is one, and no constant.
pub(crate) const ONE: &str = "__one";

/// A text whose products of constants are not computed while it is compiled, when nothing bounds them.
pub(crate) fn without_constant_products(text: &str, is_expression: bool) -> Cow<'_, str> {
    if !text.contains('*') {
        return Cow::Borrowed(text);
    }
    let (mut own, mut done) = (String::new(), 0);
    for (token, span) in tokenize(text, is_expression, SyntaxConfig::default()).map_while(Result::ok) {
        if matches!(token, Token::Mul)
            && let Some(before) = text.get(done..span.end_offset as usize)
        {
            own.push_str(before);
            own.push_str(ONE);
            own.push('*');
            done = span.end_offset as usize;
        }
    }
    own.push_str(&text[done..]);
    Cow::Owned(own)
}

/// A template filled in.
pub(crate) fn render(
    environment: &Environment<'_>,
    template: &Template<'_, '_>,
    root: Value,
    usual_steps: u64,
) -> Result<String, Error> {
    let plain = &get_compiled_template(template).instructions;
    let own = with_limits(plain);
    let steps = steps(plain, usual_steps);
    if own.is_none() && steps.is_none() {
        return template.render(root);
    }
    let mut slower = environment.clone();
    slower.set_fuel(Some(steps.unwrap_or(usual_steps)));
    let mut text = String::new();
    let output = &mut make_string_output(&mut text);
    eval(&slower, own.as_ref().unwrap_or(plain), root, &BTreeMap::new(), output, AutoEscape::None)?;
    Ok(text)
}

/// The value of an expression with that text.
pub(crate) fn value(
    environment: &Environment<'_>,
    expression: &Expression<'_, '_>,
    text: &str,
    root: Value,
) -> Result<Value, Error> {
    if !text.contains(['~', '+', '*', ':']) {
        return expression.eval(root);
    }
    let mut generator = CodeGenerator::new("<expression>", text);
    generator.compile_expr(&parse_expr(text)?);
    let (plain, blocks) = generator.finish();
    let Some(own) = with_limits(&plain) else { return expression.eval(root) };
    let mut nothing = String::new();
    let output = &mut make_string_output(&mut nothing);
    let (value, _) = eval(environment, &own, root, &blocks, output, AutoEscape::None)?;
    Ok(value.unwrap_or_default())
}

/// Instructions whose operators take room before they compute; `None` where there are no such operators.
fn with_limits<'source>(plain: &Instructions<'source>) -> Option<Instructions<'source>> {
    let all = || (0..).map_while(|at| plain.get(at));
    if !all().any(|instruction| operator(instruction).is_some()) {
        return None;
    }
    let mut own = Instructions::new(plain.name(), plain.source());
    for instruction in all() {
        own.add(operator(instruction).unwrap_or_else(|| instruction.clone()));
    }
    Some(own)
}

/// The call that an operator becomes.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other instructions stay as they are")]
fn operator(instruction: &Instruction<'_>) -> Option<Instruction<'static>> {
    let (at, arguments) = match instruction {
        Instruction::StringConcat => (0, 2),
        Instruction::Add => (1, 2),
        Instruction::Mul => (2, 2),
        Instruction::Slice => (3, 4),
        _ => return None,
    };
    Some(Instruction::CallFunction(OPERATORS[at].0, Some(arguments)))
}

/// The number of steps of a template that repeats long texts; `None` where it is the usual one.
fn steps(plain: &Instructions<'_>, usual: u64) -> Option<u64> {
    let all = || (0..).map_while(|at| plain.get(at));
    let longest = all().map(|instruction| if let Instruction::EmitRaw(text) = instruction { text.len() } else { 0 });
    let longest = longest.max().unwrap_or(0);
    let repeats = || all().any(|instruction| matches!(instruction, Instruction::Iterate(_)));
    let steps = (all().count() + MOST_MADE / longest.max(1)) as u64;
    (steps < usual && repeats()).then_some(steps)
}
