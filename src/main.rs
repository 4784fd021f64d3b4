//! The `mcprove` program.

/// A quarter of a run, and two fifths of a proof, went into asking the system's allocator for memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    mcprove::cli::main()
}
