//! The `mcprove` program.

fn main() -> std::process::ExitCode {
    mcprove::cli::main()
}
