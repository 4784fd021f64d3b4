//! The real program from outside: one binary, one module per kind of test; those of which there are hundreds are in
//! `tests/each`.
//!
//! `harness` runs mcprove in a fresh folder and shows what a user sees; `diagnostics` feeds it files and compares with
//! snapshots; `written` looks at what runs write; `interrupted` stops it half-way; `full_disk` leaves it no room; `stores` looks at what is left of copies; `leaks`
//! looks at what many runs leave.
//! `hostile_files` has every command read what somebody else wrote.
//! `serve_mcp` is a client of the server for coding agents that cancels calls and leaves; `editors` is an editor.
//! `watching` changes suites and servers while `mcprove run --watch` looks on.
//! `fuzz` calls servers with generated arguments; `findings` and `replaying` see again what was found;
//! `security` attacks servers, also those of others; `safe_arguments` looks at what is sent where nobody wrote the arguments; `over_http` makes ports and certificates
//! for servers.
//! `login` is a person with a browser.
//! `auditing` looks for bugs of many kinds with one command.
//! `agents` puts models behind HTTP in the place of those of providers.
//! `page` opens the HTML report in a browser, and `site` the documentation.
//! `monitor` watches servers that come and go, and `monitor_otlp` what OpenTelemetry is told of them.
//! `progress` looks at what logs are told while a run lasts.
//! `real` drives servers that nobody here wrote, and `conformance` has our server judged by the protocol's own suite;
//! `prove` looks at what is proven of suites, and holds it against faulty servers; `testing` runs suites on servers in
//! this process, as the tests of others do.
//! `bounds` sets servers at it that want all memory; `budgets` counts what common commands cost; `generate` holds made values against the validator; `architecture`, `generated` and `robustness` look at the sources,
//! at written files, and at the loader; `packaging` installs what is shipped, `action` runs the steps of the GitHub action, `runners` the plugins for other test runners, and `repository` looks at what contributors meet; `manual` makes the pages of the reference; `readme`, `documents`, `ci` and `examples` at what the documentation shows.
//!
//! The scripts and signals of these tests are those of Unix; what differs elsewhere is tested beside its code.
#![cfg(unix)]

mod action;
mod agents;
mod agreement;
mod architecture;
mod auditing;
mod authorization;
mod bounds;
mod budgets;
mod ci;
mod conformance;
mod diagnostics;
mod documents;
mod editors;
mod examples;
mod findings;
mod full_disk;
mod fuzz;
mod generate;
mod generated;
mod grow;
mod growth;
#[expect(dead_code, unused_imports, reason = "`tests/each` uses the rest of it")]
#[path = "../harness/mod.rs"]
mod harness;
mod holdout;
mod hostile_files;
mod interrupted;
mod leaks;
mod links;
mod login;
mod manual;
mod monitor;
mod monitor_otlp;
mod over_http;
mod packaging;
mod page;
mod progress;
mod prove;
mod readme;
mod real;
mod relay;
mod replaying;
mod repository;
mod robustness;
mod runners;
mod safe_arguments;
mod scale;
mod security;
mod serve_mcp;
mod shards;
mod site;
mod starts;
mod stores;
mod strays;
mod testing;
mod timeouts;
mod torture;
mod watching;
mod written;
