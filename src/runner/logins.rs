//! Where a person logs in to the servers of a plan.

use std::collections::BTreeSet;

use super::Options;
use super::names::{self, GivenNames};
use super::{finding, resolve};
use crate::event::Finding;
use crate::plan::Plan;
use crate::transport::http::HttpAddress;

/// A server of a plan to which a person may log in.
pub struct LoginPlace {
    /// Its name in the suite.
    pub server: String,
    /// Its address, with the source of its tokens; `Err` says why nobody logs in.
    pub address: Result<HttpAddress, Finding>,
}

/// Every server of a plan once, for one of its users where one is named.
pub fn login_places(plan: &Plan, options: &Options, user: Option<&str>) -> Vec<LoginPlace> {
    let given = GivenNames::of(plan, options);
    let redactor = names::redactor(plan, options);
    let mut places = Vec::new();
    for planned in &plan.suites {
        let servers: BTreeSet<&String> = planned.targets.iter().map(|target| &target.server).collect();
        for name in servers {
            let written = &planned.suite.servers[name];
            let names = names::of_suite(&planned.suite, &given);
            let address = match names {
                Ok(names) => {
                    let names = names::of_server(written, &names);
                    resolve::login_address(written, user, &names, &options.environment, &redactor)
                }
                Err(unfilled) => Err(finding::at_template(&unfilled, &plan.sources)),
            };
            places.push(LoginPlace { server: name.clone(), address });
        }
    }
    places
}
