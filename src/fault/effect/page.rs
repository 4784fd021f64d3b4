//! Wrong pages of a tool's own paging: too many items, items that are lost or repeated between pages, pages without end.

use serde_json::Value;

use super::EffectContext;
use super::edit;
use crate::fault::exchange::MessageExchange;
use crate::fault::paging::{is_same_list, later_page, limit, next_mut, page, page_mut};
use crate::fault::words::{PageFault, ValueEdit};
use crate::path::json_of_text;

/// Changes the page, wherever it stands in the answer.
pub(crate) fn change(fault: PageFault, work: &mut EffectContext<'_>) -> Result<(), String> {
    let message = work.message().cloned().unwrap_or_default();
    let own = items_of(&message).ok_or("the answer has no list that could be a page")?;
    let pages = Pages { work, own: &own };
    match fault {
        PageFault::Overfull => {
            let asked = limit(arguments(work.exchange));
            if asked != Some(own.len()) {
                return Err("no answer has as many items as the call asked for".to_owned());
            }
            let more = pages.another_item().ok_or("the page has no item")?;
            each_page(work, &mut |items| items.push(more.clone()));
        }
        PageFault::Skips => {
            let is_full = limit(arguments(work.exchange)).is_some_and(|limit| limit <= own.len());
            let next = pages.next();
            if next.is_none() && (is_full || has_next(message)) {
                return Err("the page after it was not recorded, so nobody knows which item moves up".to_owned());
            }
            let moved = next.and_then(|items| items.first().cloned());
            each_page(work, &mut |items| {
                if !items.is_empty() {
                    items.remove(0);
                    items.extend(moved.clone());
                }
            });
        }
        PageFault::Repeats => {
            let last = pages.previous().and_then(|items| items.last().cloned());
            let last = last.ok_or("the page before it was not recorded")?;
            let most = limit(arguments(work.exchange)).unwrap_or(usize::MAX);
            each_page(work, &mut |items| {
                items.insert(0, last.clone());
                items.truncate(most);
            });
        }
        PageFault::Stuck => {
            let (_, asked) = later_page(arguments(work.exchange)).ok_or("the call asks for no later page")?;
            let asked = asked.clone();
            each_data(work, &mut |data| {
                if let Some(next) = next_mut(data) {
                    next.clone_from(&asked);
                }
            });
        }
    }
    Ok(())
}

/// The page of an answer, and the pages beside it.
struct Pages<'a> {
    work: &'a EffectContext<'a>,
    own: &'a [Value],
}

impl Pages<'_> {
    /// An item that the page does not have: the one that follows in a longer answer, or else the last one, changed.
    fn another_item(&self) -> Option<Value> {
        let others: Vec<Vec<Value>> = self.others(false).filter_map(items).collect();
        let follows = others.iter().find(|other| other.starts_with(self.own) && other.len() > self.own.len());
        let followed = follows.map(|other| other[self.own.len()].clone());
        let any = || others.iter().flatten().find(|item| !self.own.contains(item)).cloned();
        followed.or_else(any).or_else(|| {
            let mut item = self.own.last()?.clone();
            edit::one(ValueEdit::Change, &mut item);
            Some(item)
        })
    }

    /// The page that was asked for next, with the same limit.
    fn next(&self) -> Option<Vec<Value>> {
        let after = self.work.at + 1..self.work.history.exchanges.len();
        let asks = |other: &&MessageExchange| later_page(arguments(other)) != later_page(arguments(self.work.exchange));
        let next = after.map(|at| &self.work.history.exchanges[at]).filter(|other| self.is_beside(other, true));
        next.filter(asks).find_map(items)
    }

    /// The page that was asked for before, with the same limit.
    fn previous(&self) -> Option<Vec<Value>> {
        let before = self.work.history.exchanges[..self.work.at].iter().rev();
        let asks = |other: &&MessageExchange| later_page(arguments(other)) != later_page(arguments(self.work.exchange));
        before.filter(|other| self.is_beside(other, true)).filter(asks).find_map(items)
    }

    /// Every other page of the list, those of other sizes too.
    fn others(&self, and_limit: bool) -> impl Iterator<Item = &MessageExchange> {
        self.work.history.exchanges.iter().filter(move |other| self.is_beside(other, and_limit))
    }

    /// It is a page of the same list, in the same session.
    fn is_beside(&self, other: &MessageExchange, and_limit: bool) -> bool {
        let this = self.work.exchange;
        !std::ptr::eq(this, other)
            && this.tool() == other.tool()
            && (&this.owner, this.session) == (&other.owner, other.session)
            && is_same_list(arguments(this), arguments(other), and_limit)
    }
}

fn arguments(exchange: &MessageExchange) -> &Value {
    &exchange.params()["arguments"]
}

/// The items of the page that an exchange got.
pub(crate) fn items(exchange: &MessageExchange) -> Option<Vec<Value>> {
    items_of(exchange.answer()?)
}

fn items_of(message: &Value) -> Option<Vec<Value>> {
    let result = &message["result"];
    if let Some(items) = page(&result["structuredContent"]) {
        return Some(items.clone());
    }
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    texts.filter_map(json_of_text).find_map(|data| page(&data).cloned())
}

/// The answer has a cursor of a next page.
fn has_next(mut message: Value) -> bool {
    let mut found = false;
    visit(&mut message, &mut |data| found |= next_mut(data).is_some());
    found
}

/// Changes the page in each of the data that an answer has.
fn each_page(work: &mut EffectContext<'_>, change: &mut dyn FnMut(&mut Vec<Value>)) {
    each_data(work, &mut |data| {
        if let Some(items) = page_mut(data) {
            change(items);
        }
    });
}

fn each_data(work: &mut EffectContext<'_>, change: &mut dyn FnMut(&mut Value)) {
    if let Some(message) = work.message() {
        visit(message, change);
    }
}

/// The data of an answer: its structured content, and the JSON of its texts.
fn visit(message: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) else { return };
    if let Some(structured) = result.get_mut("structuredContent") {
        change(structured);
    }
    for block in result.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(mut data) = block["text"].as_str().and_then(json_of_text) else { continue };
        let before = data.clone();
        change(&mut data);
        if data != before {
            block["text"] = data.to_string().into();
        }
    }
}
