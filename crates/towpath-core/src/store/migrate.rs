//! Versions of a schema.

/// The schema version that this binary writes and reads.
pub const SCHEMA_VERSION: u32 = 2;

/// The version that this binary states as the oldest that may still use a schema it has made.
pub const MIN_BINARY: u32 = 1;

/// What a stored schema says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// Its version.
    pub version: u32,
    /// The oldest binary that it serves.
    pub floor: u32,
}

impl SchemaState {
    /// Whether this binary may use it.
    pub fn serves_us(self) -> bool {
        self.floor <= SCHEMA_VERSION
    }
}

/// What a migration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The version before; 0 for an empty store.
    pub from: u32,
    /// The version now.
    pub to: u32,
}
