//! A database that a faulty server pastes its texts into: it evaluates the condition of one statement for one row.
//!
//! The condition knows texts in single quotes, the columns `name` and `email`, `=`, `LIKE` with `%` at both ends, `AND`,
//! `OR` and `--`.

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserRow<'a> {
    pub(crate) name: &'a str,
    pub(crate) email: &'a str,
}

/// The condition of the statement with a value pasted into it.
pub(crate) fn condition(value: &str) -> String {
    format!("name LIKE '%{value}%' OR email = '{value}'")
}

/// The condition holds for a row; `Err` is what the database says of a broken statement.
pub(crate) fn holds(condition: &str, row: UserRow<'_>) -> Result<bool, String> {
    let tokens = tokens(condition)?;
    let mut reader = ConditionReader { tokens: &tokens, row };
    let value = reader.any_of()?;
    match reader.tokens.first() {
        None => Ok(value),
        Some(token) => Err(token.complaint()),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Text(String),
    Word(String),
}

impl Token {
    fn complaint(&self) -> String {
        let (Self::Text(text) | Self::Word(text)) = self;
        format!("near \"{}\": syntax error", text.chars().take(20).collect::<String>())
    }

    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }
}

fn tokens(mut rest: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with("--") {
            return Ok(tokens);
        }
        if let Some(quoted) = rest.strip_prefix('\'') {
            let (text, after) = quoted_text(quoted).ok_or_else(|| format!("unrecognized token: \"'{quoted}\""))?;
            tokens.push(Token::Text(text));
            rest = after;
            continue;
        }
        let is_word = rest.starts_with(char::is_alphanumeric);
        let end = if is_word {
            rest.find(|c: char| !c.is_alphanumeric())
        } else {
            rest.char_indices().nth(1).map(|(at, _)| at)
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        tokens.push(Token::Word(word.to_owned()));
        rest = after;
    }
}

/// The text up to its closing quotation mark, of which two stand for one.
fn quoted_text(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut rest = quoted;
    loop {
        let (before, after) = rest.split_once('\'')?;
        text += before;
        match after.strip_prefix('\'') {
            Some(next) => {
                text.push('\'');
                rest = next;
            }
            None => return Some((text, after)),
        }
    }
}

struct ConditionReader<'a> {
    tokens: &'a [Token],
    row: UserRow<'a>,
}

impl ConditionReader<'_> {
    fn any_of(&mut self) -> Result<bool, String> {
        let mut value = self.all_of()?;
        while self.take("OR") {
            value |= self.all_of()?;
        }
        Ok(value)
    }

    fn all_of(&mut self) -> Result<bool, String> {
        let mut value = self.comparison()?;
        while self.take("AND") {
            value &= self.comparison()?;
        }
        Ok(value)
    }

    fn comparison(&mut self) -> Result<bool, String> {
        let left = self.operand()?;
        if self.take("LIKE") {
            let pattern = self.operand()?.to_lowercase();
            let (begins, ends) = (pattern.starts_with('%'), pattern.ends_with('%'));
            let (left, word) = (left.to_lowercase(), pattern.trim_matches('%'));
            return Ok(match (begins, ends) {
                (true, true) => left.contains(word),
                (true, false) => left.ends_with(word),
                (false, true) => left.starts_with(word),
                (false, false) => left == word,
            });
        }
        if self.take("=") {
            return Ok(left == self.operand()?);
        }
        // A text alone is no truth.
        Ok(false)
    }

    fn operand(&mut self) -> Result<String, String> {
        let Some((first, rest)) = self.tokens.split_first() else { return Err("incomplete input".to_owned()) };
        let value = match first {
            Token::Text(text) => text.clone(),
            Token::Word(word) if word == "name" => self.row.name.to_owned(),
            Token::Word(word) if word == "email" => self.row.email.to_owned(),
            Token::Word(word) if word.chars().all(|c| c.is_ascii_digit()) => word.clone(),
            Token::Word(_) => return Err(first.complaint()),
        };
        self.tokens = rest;
        Ok(value)
    }

    fn take(&mut self, word: &str) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if first.is(word) => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_part_of_the_statement() {
        let row = UserRow { name: "Ann", email: "ann@example.com" };
        for (value, expected) in [
            ("nn", Ok(true)),
            ("bob", Ok(false)),
            ("bob' OR '1'='1", Ok(true)),
            ("bob' OR '1'='2", Ok(false)),
            ("bob' or 1=1 --", Ok(true)),
            ("bob' AND 'a'='a", Ok(false)),
            ("O''Hara", Ok(false)),
            ("bob'", Err("near \"%\": syntax error".to_owned())),
            ("bob')", Err("near \")\": syntax error".to_owned())),
        ] {
            assert_eq!(holds(&condition(value), row), expected, "{value}");
        }
    }
}
