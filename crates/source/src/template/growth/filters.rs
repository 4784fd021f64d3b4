//! Filters that take room, and for how much.

use std::borrow::Cow;

use minijinja::filters;
use minijinja::value::{Value, ValueKind};

use super::{Counter, ITEM, MOST_MADE, SizeOf, count, shallow, size_of_text, text_size, texts};

/// The greatest indentation of values, estimated.
const DEEPEST: usize = 128;

pub(crate) fn growing_filters() -> Vec<(&'static str, Value, SizeOf)> {
    macro_rules! filters {
        ($($name:literal $filter:ident $size:expr;)*) => {
            vec![$(($name, Value::from_function(filters::$filter), $size)),*]
        };
    }
    filters! {
        "batch" batch size_of_batches;
        "capitalize" capitalize texts;
        "chain" chain shallows;
        "dictsort" dictsort shallows;
        "e" escape |arguments| texts(arguments).saturating_mul(6);
        "escape" escape |arguments| texts(arguments).saturating_mul(6);
        "format" format size_of_format;
        "groupby" groupby shallows;
        "indent" indent size_of_indentation;
        "items" items shallows;
        "join" join size_of_join;
        "lines" lines |arguments| pieces(&text(arguments.first()), "\n");
        "list" list letters_or_items;
        "lower" lower texts;
        "map" map shallows;
        "pprint" pprint |arguments| arguments.iter().map(|value| size_of_text(format_args!("{value:#?}"))).sum();
        "reject" reject shallows;
        "rejectattr" rejectattr shallows;
        "replace" replace size_of_replacement;
        "reverse" reverse shallows;
        "safe" safe texts;
        "select" select shallows;
        "selectattr" selectattr shallows;
        "slice" slice size_of_batches;
        "sort" sort shallows;
        "split" split |arguments| {
            let separator = arguments.get(1).filter(|value| !value.is_none());
            pieces(&text(arguments.first()), &separator.map_or(Cow::Borrowed(" "), |value| text(Some(value))))
        };
        "string" string texts;
        "sum" sum size_of_sum;
        "title" title texts;
        "tojson" tojson size_of_json;
        "trim" trim texts;
        "unique" unique shallows;
        "upper" upper texts;
        "urlencode" urlencode |arguments| texts(arguments).saturating_mul(3);
        "zip" zip shallows;
    }
}

fn shallows(arguments: &[Value]) -> usize {
    arguments.iter().map(shallow).sum()
}

/// A list of the letters of a text, or a copy of a list.
fn letters_or_items(arguments: &[Value]) -> usize {
    arguments.first().map_or(0, |value| value.as_str().map_or_else(|| shallow(value), |text| text.len() * ITEM))
}

/// Lists in a list: the number of them, or of their items, is an argument.
fn size_of_batches(arguments: &[Value]) -> usize {
    let number = arguments.get(1).and_then(Value::as_usize).unwrap_or(0);
    let items = arguments.first().map_or(0, |value| value.as_str().map_or_else(|| count(value), str::len));
    items.saturating_add(number).saturating_mul(2 * ITEM)
}

fn pieces(text: &str, separator: &str) -> usize {
    text.len() + (text.matches(separator).count() + 1) * 2 * ITEM
}

fn size_of_replacement(arguments: &[Value]) -> usize {
    let [text, from, to] = [0, 1, 2].map(|at| text(arguments.get(at)));
    text.matches(&*from).count().saturating_mul(to.len()).saturating_add(text.len())
}

fn size_of_join(arguments: &[Value]) -> usize {
    let named = |name: &str| arguments.iter().rev().find_map(|value| member(value, name));
    let joiner = arguments.get(1).filter(|value| value.kind() != ValueKind::Map).cloned().or_else(|| named("d"));
    let attribute =
        arguments.get(2).filter(|value| value.kind() != ValueKind::Map).cloned().or_else(|| named("attribute"));
    let (count, texts) = item_texts(arguments.first(), attribute.as_ref().and_then(Value::as_str));
    joiner.as_ref().map_or(0, text_size).saturating_mul(count).saturating_add(texts)
}

/// The number of items of a list, and the size of their texts, or of those of an attribute of each, together.
fn item_texts(list: Option<&Value>, attribute: Option<&str>) -> (usize, usize) {
    let (mut count, mut size) = (0, 0);
    for item in list.and_then(|list| list.try_iter().ok()).into_iter().flatten() {
        let item = attribute.and_then(|name| member(&item, name)).unwrap_or(item);
        count += 1;
        size += text_size(&item);
        if size + count > MOST_MADE {
            break;
        }
    }
    (count, size)
}

/// A value that is no number is added to the sum before it, which is copied.
fn size_of_sum(arguments: &[Value]) -> usize {
    let items = arguments.first().and_then(|list| list.try_iter().ok()).into_iter().flatten();
    let (count, size) = items
        .filter(|item| !item.is_number())
        .fold((0_usize, 0_usize), |(count, size), item| (count + 1, size.saturating_add(shallow(&item))));
    count.saturating_mul(size)
}

fn size_of_indentation(arguments: &[Value]) -> usize {
    let text = text(arguments.first());
    let named = arguments.iter().find_map(|value| member(value, "width"));
    let width = arguments.get(1).and_then(Value::as_usize).or_else(|| named?.as_usize()).unwrap_or(4);
    (text.matches('\n').count() + 1).saturating_mul(width).saturating_add(text.len())
}

/// A text with what its marks stand for, each at most as long as the longest argument or the widest width.
fn size_of_format(arguments: &[Value]) -> usize {
    let format = text(arguments.first());
    let widths = format.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widest = widths.map(|digits| digits.parse().unwrap_or(usize::MAX)).max().unwrap_or(0);
    let given = arguments.iter().skip(1).filter_map(|value| i64::try_from(value.clone()).ok());
    let given = given.map(|number| usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX));
    let given = given.filter(|_| format.contains('*')).max().unwrap_or(0);
    let longest = arguments.iter().skip(1).map(text_size).max().unwrap_or(0);
    let each = widest.max(given).max(longest.saturating_add(400));
    format.matches('%').count().saturating_mul(each).saturating_add(format.len())
}

/// JSON, indented or not, in which some characters are escaped.
fn size_of_json(arguments: &[Value]) -> usize {
    let Some(value) = arguments.first() else { return 0 };
    let mut json = Counter::default();
    let _ = serde_json::to_writer(&mut json, value);
    let named = || arguments.iter().skip(1).find_map(|value| member(value, "indent"));
    let indent = arguments.get(1).filter(|value| value.kind() != ValueKind::Map).cloned().or_else(named);
    let indent = indent.map_or(0, |indent| indent.as_usize().unwrap_or(2));
    json.marks.saturating_mul(json.marks.min(DEEPEST)).saturating_mul(indent).saturating_add(json.size)
}

fn member(value: &Value, name: &str) -> Option<Value> {
    if value.kind() != ValueKind::Map {
        return None;
    }
    value.get_attr(name).ok().filter(|value| !value.is_undefined())
}

fn text(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        Some(value) if text_size(value) <= MOST_MADE => {
            value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
        }
        _ => Cow::Borrowed(""),
    }
}
