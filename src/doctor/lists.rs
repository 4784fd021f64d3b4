//! The lists of a server and their sizes.

use super::Examination;
use crate::source::{shorten, visible_line};
use crate::wire::Catalog;

const NAME: &str = "lists";

/// The size of the list of tools above which it is worth a look, in bytes: clients send it to the model with every
/// question.
const MANY_BYTES: usize = 60_000;

/// The bytes of English and JSON that make up a token, roughly.
const BYTES_PER_TOKEN: usize = 4;

/// The sizes of lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ListSizes {
    pub tools: usize,
    pub resources: usize,
    pub templates: usize,
    pub prompts: usize,
    /// The bytes of all tools, as JSON.
    pub tool_bytes: usize,
    /// The name of the largest tool, and its bytes.
    pub largest: Option<(String, usize)>,
}

impl ListSizes {
    pub(crate) fn of(catalog: &Catalog) -> Self {
        let sizes = catalog.tools.iter().map(|tool| (tool.name.clone(), tool.raw.to_string().len()));
        let sizes: Vec<(String, usize)> = sizes.collect();
        Self {
            tools: catalog.tools.len(),
            resources: catalog.resources.len(),
            templates: catalog.resource_templates.len(),
            prompts: catalog.prompts.len(),
            tool_bytes: sizes.iter().map(|(_, bytes)| bytes).sum(),
            largest: sizes.into_iter().max_by_key(|(_, bytes)| *bytes),
        }
    }

    fn counts(&self) -> String {
        let counted = [
            (self.tools, "tool"),
            (self.resources, "resource"),
            (self.templates, "template"),
            (self.prompts, "prompt"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let counted: Vec<String> =
            counted.map(|(count, noun)| format!("{count} {noun}{}", if count == 1 { "" } else { "s" })).collect();
        counted.join(", ")
    }
}

/// Judges the lists of a server.
pub(crate) fn judge_lists(sizes: &ListSizes) -> Examination {
    let counts = sizes.counts();
    if counts.is_empty() {
        let cure = "see whether it declares its capabilities, and whether it registers its tools before it connects";
        return Examination::doubtful(NAME, "it offers no tool, no resource and no prompt", cure);
    }
    let tokens = sizes.tool_bytes / BYTES_PER_TOKEN;
    let weight = format!("{counts}; the tools have {} bytes, about {tokens} tokens", sizes.tool_bytes);
    let judged = match &sizes.largest {
        None => Examination::fine(NAME, counts),
        Some((name, bytes)) if sizes.tool_bytes > MANY_BYTES => Examination::doubtful(
            NAME,
            format!("{weight}, which clients send to the model with every question"),
            format!(
                "shorten descriptions and schemas, or offer fewer tools at a time; the largest is `{}` with {bytes} bytes",
                shorten(&visible_line(name), 60)
            ),
        ),
        Some(_) => Examination::fine(NAME, weight),
    };
    judged
        .with_figure("tools", sizes.tools)
        .with_figure("resources", sizes.resources)
        .with_figure("templates", sizes.templates)
        .with_figure("prompts", sizes.prompts)
        .with_figure("tool_bytes", sizes.tool_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::ExaminationVerdict;
    use super::*;

    #[test]
    fn sizes_of_lists() {
        let tools = |tools: usize, tool_bytes: usize| ListSizes {
            tools,
            tool_bytes,
            largest: (tools > 0).then(|| ("search".to_owned(), tool_bytes / tools)),
            ..ListSizes::default()
        };
        for (sizes, verdict, words) in [
            (tools(0, 0), ExaminationVerdict::Doubtful, "no tool, no resource and no prompt"),
            (ListSizes { prompts: 1, ..tools(0, 0) }, ExaminationVerdict::Fine, "1 prompt"),
            (tools(2, 800), ExaminationVerdict::Fine, "2 tools; the tools have 800 bytes, about 200 tokens"),
            (tools(90, 90_000), ExaminationVerdict::Doubtful, "with every question"),
        ] {
            let judged = judge_lists(&sizes);
            assert_eq!(judged.verdict, verdict, "{sizes:?}");
            assert!(judged.sentence.contains(words), "{}", judged.sentence);
        }
    }
}
