//! The job that runs a suite in CI; `docs/guides/ci.md` shows the same ones.

use std::path::{Component, Path};

use clap::ValueEnum;

/// The place of the suites in the texts of the jobs.
const SUITES: &str = "suites/";

/// A system that runs jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CiSystem {
    /// GitHub actions: `.github/workflows/mcprove.yml`.
    Github,
    /// GitLab: `.gitlab-ci.yml`.
    Gitlab,
    /// Azure Pipelines: `azure-pipelines.yml`.
    Azure,
    /// Jenkins: `Jenkinsfile`.
    Jenkins,
}

impl CiSystem {
    /// The file that the system reads, from the root of a repository.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Github => ".github/workflows/mcprove.yml",
            Self::Gitlab => ".gitlab-ci.yml",
            Self::Azure => "azure-pipelines.yml",
            Self::Jenkins => "Jenkinsfile",
        }
    }

    /// What its reader has to do before the job runs.
    pub(crate) fn left_to_do(self) -> &'static str {
        match self {
            Self::Github | Self::Azure => "add the steps that build your server",
            Self::Gitlab => "name an image that has what your server needs, and curl",
            Self::Jenkins => "its agent needs curl, and what your server needs",
        }
    }

    /// The job for a suite.
    pub(crate) fn job(self, suite: &PlainPath) -> String {
        let text = match self {
            Self::Github => include_str!("github.yml"),
            Self::Gitlab => include_str!("gitlab.yml"),
            Self::Azure => include_str!("azure.yml"),
            Self::Jenkins => include_str!("Jenkinsfile"),
        };
        text.replace(SUITES, &suite.0)
            .replace("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY"))
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
    }
}

/// A path below the current folder that means the same to YAML, to Groovy and to every shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlainPath(String);

impl PlainPath {
    /// The path, where it is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        let names = parts.map(|part| if let Component::Normal(name) = part { name.to_str() } else { None });
        let path = names.collect::<Option<Vec<&str>>>()?.join("/");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        (!path.starts_with('-') && !path.is_empty() && path.chars().all(is_plain)).then_some(Self(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::yaml_writer::read_value;

    #[test]
    fn paths_that_need_no_quotes_are_plain() {
        for (path, expected) in [
            ("users.yml", Some("users.yml")),
            ("./suites//users-2.yml", Some("suites/users-2.yml")),
            ("../users.yml", None),
            ("/srv/users.yml", None),
            ("my users.yml", None),
            ("$(id).yml", None),
            ("-users.yml", None),
            (".", None),
        ] {
            assert_eq!(PlainPath::of(Path::new(path)), expected.map(|path| PlainPath(path.to_owned())), "{path}");
        }
    }

    #[test]
    fn jobs_check_and_run_the_suite_and_keep_its_report() {
        let suite = PlainPath("tests/users.yml".to_owned());
        for system in CiSystem::value_variants() {
            let job = system.job(&suite);
            for part in ["mcprove check tests/users.yml", "mcprove run tests/users.yml", "junit=out/junit.xml"] {
                assert!(job.contains(part), "{system:?} without `{part}`:\n{job}");
            }
            assert!(!job.contains(SUITES) && !job.contains("@V"), "{job}");
            let installer = concat!("/releases/download/v", env!("CARGO_PKG_VERSION"), "/install.sh");
            assert!(job.contains(installer), "{system:?} installs no release:\n{job}");
            assert!(*system == CiSystem::Jenkins || read_value(&job).is_some_and(|job| job.is_object()), "{job}");
        }
        let read = |system: CiSystem| read_value(&system.job(&suite)).unwrap_or_default();
        assert_eq!(read(CiSystem::Gitlab)["mcp"]["artifacts"]["reports"]["junit"], "out/junit.xml");
        let steps = read(CiSystem::Azure)["jobs"][0]["steps"].clone();
        let publishes = |step: &serde_json::Value| step["inputs"]["testResultsFiles"] == "out/junit.xml";
        assert!(steps.as_array().is_some_and(|steps| steps.iter().any(publishes)), "{steps}");
    }
}
