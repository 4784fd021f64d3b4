//! The one prompt, `welcome_user`, and completions for its arguments.

use rmcp::model::{ArgumentInfo, CompletionInfo, ErrorData, GetPromptResult, JsonObject, PromptMessage, Role};

use super::resources::suggest;

const WELCOME: &str = "welcome_user";
const NAME: &str = "name";
const TONE: &str = "tone";

/// The tones a welcome can have; the first is meant when none is asked for.
const TONES: [&str; 3] = ["friendly", "formal", "playful"];

/// Is it the name of a prompt?
pub(crate) fn offers(prompt: &str) -> bool {
    prompt == WELCOME
}

/// The prompt called `prompt`, filled in.
pub(crate) fn get(prompt: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    check_prompt(prompt)?;
    if let Some(unknown) = arguments.keys().find(|argument| ![NAME, TONE].contains(&argument.as_str())) {
        return Err(no_argument(unknown));
    }
    let Some(name) = text(arguments, NAME)?.filter(|name| !name.is_empty()) else {
        return Err(invalid(format!("the argument `{NAME}` is missing; give the name of the user, such as `Ann`")));
    };
    let tone = text(arguments, TONE)?.unwrap_or(TONES[0]);
    if !TONES.contains(&tone) {
        return Err(invalid(format!("the argument `{TONE}` is `{tone}`; it must be one of {}", quote_names(&TONES))));
    }
    let message = format!("Write a short, {tone} welcome message to {name}, who has just joined.");
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, message)])
        .with_description(format!("A {tone} welcome to {name}")))
}

/// Values that fit an argument and begin with what is typed.
pub(crate) fn complete(prompt: &str, argument: &ArgumentInfo) -> Result<CompletionInfo, ErrorData> {
    check_prompt(prompt)?;
    match argument.name.as_str() {
        TONE => Ok(suggest(TONES.into_iter(), &argument.value)),
        NAME => Ok(suggest(std::iter::empty(), &argument.value)),
        unknown => Err(no_argument(unknown)),
    }
}

fn check_prompt(prompt: &str) -> Result<(), ErrorData> {
    if offers(prompt) {
        return Ok(());
    }
    Err(invalid(format!("the server offers no prompt `{prompt}`; the only one is `{WELCOME}`")))
}

fn text<'a>(arguments: &'a JsonObject, name: &str) -> Result<Option<&'a str>, ErrorData> {
    match arguments.get(name) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(invalid(format!("the argument `{name}` is `{value}`; it must be a string"))),
        },
    }
}

fn no_argument(name: &str) -> ErrorData {
    invalid(format!("the prompt `{WELCOME}` has no argument `{name}`; it takes {}", quote_names(&[NAME, TONE])))
}

fn quote_names(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn invalid(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}
