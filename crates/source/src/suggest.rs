//! "Did you mean": the offered name that is nearest to what was typed.

/// The least likeness of a name that somebody may have meant, in percent.
const ALIKE: u8 = 70;

/// The name in `offered` that looks most like `typed`, unless none looks like it.
pub fn nearest<'a>(typed: &str, offered: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lowered = typed.to_lowercase();
    offered
        .into_iter()
        .map(|name| (likeness(&lowered, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= f64::from(ALIKE) / 100.0)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, name)| name)
}

/// A help sentence with the nearest name, or with all of them when none is near and they are few.
pub fn did_you_mean<'a>(typed: &str, offered: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let offered: Vec<&str> = offered.into_iter().collect();
    if let Some(name) = nearest(typed, offered.iter().copied()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let listed: Vec<String> = offered.iter().take(12).map(|name| format!("`{name}`")).collect();
    match offered.len() {
        0 => None,
        1 => Some(format!("expected {}", listed[0])),
        2..=12 => Some(format!("expected one of {}", listed.join(", "))),
        more => Some(format!("expected one of {more}, such as {}", listed.join(", "))),
    }
}

fn likeness(typed: &str, name: &str) -> f64 {
    let prefixed = typed.len() >= 3 && (name.starts_with(typed) || typed.starts_with(name) && name.len() >= 3);
    let (one, other) = (typed.chars().count(), name.chars().count());
    // What must be added or taken away is part of the distance: a text of megabytes is compared with no name.
    let may_be_alike = one.min(other) * 100 >= one.max(other) * usize::from(ALIKE);
    let distance = if may_be_alike { strsim::normalized_damerau_levenshtein(typed, name) } else { 0.0 };
    if prefixed { distance.max(0.75) } else { distance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_not_strangers() {
        assert_eq!(nearest("expct", ["expect", "steps"]), Some("expect"));
        assert_eq!(nearest("get_usr", ["get_user", "set_user"]), Some("get_user"));
        assert_eq!(nearest("zebra", ["expect", "steps"]), None);
        assert_eq!(nearest("expectation", ["expect", "steps"]), Some("expect"));
        assert_eq!(nearest(&"steps".repeat(1_000_000), ["pests"]), None);
        assert_eq!(did_you_mean("zebra", []), None);
    }
}
