//! Where the JSON Schemas of files are published.

/// The address of the schema of a kind of file, such as `suite`: its `$id`, and what editors download. It is that of the
/// newest release, whatever version this program has.
pub fn schema_address(kind: &str) -> String {
    format!("{}/releases/latest/download/{kind}.schema.json", env!("CARGO_PKG_REPOSITORY"))
}
