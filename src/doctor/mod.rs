//! A checkup of one server: everything that has to be right before a client can use it, in the order in which it can go
//! wrong.
//!
//! Facts are collected by the tries in [`open`], by [`program`] and by [`address`]; each judgement is a function from facts to
//! an [`Examination`]. Calls no tool. Start reading in [`examine`].

mod address;
mod authorization;
mod card;
mod certificate;
mod environment;
mod era;
mod http_answer;
mod lists;
mod open;
mod program;
mod shutdown;
mod start;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub(crate) use self::certificate::read_certificate;
pub(crate) use self::open::{ServerAccess, ServerUnderExamination, examine};

/// The judgement of one examination, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExaminationVerdict {
    /// As it should be.
    Fine,
    /// It works, and some clients or users will have trouble with it.
    Doubtful,
    /// Clients cannot use the server, or not all of it.
    Wrong,
}

impl ExaminationVerdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Doubtful => "doubtful",
            Self::Wrong => "wrong",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Examination {
    /// Its subject, in a word or two.
    pub(crate) name: &'static str,
    pub(crate) verdict: ExaminationVerdict,
    /// One sentence without a final period.
    pub(crate) sentence: String,
    /// The thing to do; `None` where nothing is to be done.
    pub(crate) cure: Option<String>,
    /// Lines of the server's that show it.
    pub(crate) evidence: Vec<String>,
    /// Its figures, by names that end with their unit.
    pub(crate) figures: BTreeMap<&'static str, u64>,
}

impl Examination {
    fn fine(name: &'static str, sentence: impl Into<String>) -> Self {
        let (cure, evidence, figures) = (None, Vec::new(), BTreeMap::new());
        Self { name, verdict: ExaminationVerdict::Fine, sentence: sentence.into(), cure, evidence, figures }
    }

    fn doubtful(name: &'static str, sentence: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { verdict: ExaminationVerdict::Doubtful, cure: Some(cure.into()), ..Self::fine(name, sentence) }
    }

    fn wrong(name: &'static str, sentence: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { verdict: ExaminationVerdict::Wrong, cure: Some(cure.into()), ..Self::fine(name, sentence) }
    }

    fn with_evidence(self, evidence: Vec<String>) -> Self {
        Self { evidence, ..self }
    }

    fn with_figure(mut self, name: &'static str, figure: impl TryInto<u64>) -> Self {
        self.figures.insert(name, figure.try_into().unwrap_or(u64::MAX));
        self
    }
}

/// All examinations of one server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Checkup {
    /// The name of the server in its suite.
    pub(crate) server: String,
    pub(crate) examinations: Vec<Examination>,
    /// The examinations that an earlier one made impossible.
    pub(crate) not_reached: Vec<&'static str>,
}

impl Checkup {
    /// The worst verdict.
    pub(crate) fn verdict(&self) -> ExaminationVerdict {
        self.examinations.iter().map(|examination| examination.verdict).max().unwrap_or(ExaminationVerdict::Fine)
    }

    /// The first examination that went worst, unless all is fine.
    pub(crate) fn first_trouble(&self) -> Option<&Examination> {
        let worst = self.verdict();
        self.examinations.iter().find(|examination| examination.verdict == worst && worst != ExaminationVerdict::Fine)
    }

    /// The conclusion, as a sentence.
    pub(crate) fn conclusion(&self) -> String {
        let verdict = self.verdict();
        let as_bad = self.examinations.iter().filter(|examination| examination.verdict == verdict).count();
        match (self.first_trouble(), verdict) {
            (Some(first), ExaminationVerdict::Wrong) => format!("this server is not ready: {}", first.sentence),
            (Some(first), _) if as_bad == 1 => format!("this server is ready, and `{}` is worth a look", first.name),
            (Some(first), _) => {
                format!("this server is ready; {as_bad} examinations are worth a look, `{}` first", first.name)
            }
            (None, _) => "this server is ready".to_owned(),
        }
    }

    /// The one thing to do next, where the server is not ready.
    pub(crate) fn next_step(&self) -> Option<&str> {
        let first = self.first_trouble().filter(|first| first.verdict == ExaminationVerdict::Wrong)?;
        first.cure.as_deref()?.split("; ").next()
    }

    /// The same with another wording of every text, for those who take out secrets.
    pub(crate) fn map_texts(mut self, change: &dyn Fn(&str) -> String) -> Self {
        for examination in &mut self.examinations {
            examination.sentence = change(&examination.sentence);
            examination.cure = examination.cure.as_deref().map(change);
            examination.evidence = examination.evidence.iter().map(|line| change(line)).collect();
        }
        self
    }

    /// As JSON.
    pub(crate) fn to_json(&self) -> Value {
        let examination = |examination: &Examination| {
            json!({
                "name": examination.name,
                "verdict": examination.verdict.as_str(),
                "sentence": examination.sentence,
                "cure": examination.cure,
                "evidence": examination.evidence,
                "figures": examination.figures,
            })
        };
        json!({
            "name": self.server,
            "verdict": self.verdict().as_str(),
            "conclusion": self.conclusion(),
            "next": self.next_step(),
            "examinations": self.examinations.iter().map(examination).collect::<Vec<_>>(),
            "not_reached": self.not_reached,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_names_what_to_mend_first() {
        let fine = || Examination::fine("start", "it stays");
        let doubtful = |name| Examination::doubtful(name, "it takes long", "be quick");
        let wrong = |name, sentence| Examination::wrong(name, sentence, "mend it; it is broken");
        let mend = Some("mend it");
        for (examinations, expected, next) in [
            (vec![fine()], "this server is ready", None),
            (vec![fine(), doubtful("lists")], "this server is ready, and `lists` is worth a look", None),
            (
                vec![doubtful("lists"), doubtful("end of input")],
                "this server is ready; 2 examinations are worth a look, `lists` first",
                None,
            ),
            (vec![doubtful("lists"), wrong("start", "it ended")], "this server is not ready: it ended", mend),
            (vec![wrong("output", "it chats"), wrong("lists", "none")], "this server is not ready: it chats", mend),
        ] {
            let checkup = Checkup { server: "s".to_owned(), examinations, not_reached: Vec::new() };
            assert_eq!((checkup.conclusion().as_str(), checkup.next_step()), (expected, next));
        }
    }
}
