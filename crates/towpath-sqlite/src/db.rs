//! Statements of one connection, each looked up once for a batch and then run row by row.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};

use crate::error::Fault;
use crate::queries::Query;

/// A connection and the statements in use.
pub(crate) struct Db<'c> {
    pub(crate) conn: &'c Connection,
    held: Vec<Option<CachedStatement<'c>>>,
}

impl<'c> Db<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self { conn, held: (0..Query::COUNT).map(|_| None).collect() }
    }

    /// Runs a statement that answers nothing; how many rows it changed.
    pub(crate) fn run(&mut self, query: Query, params: impl Params) -> Result<usize, Fault> {
        Ok(self.statement(query)?.execute(params)?)
    }

    /// The only row of a query.
    pub(crate) fn one<T>(
        &mut self,
        query: Query,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.maybe(query, params, read)?.ok_or_else(|| Fault::corrupt(format!("{query:?} found no row")))
    }

    /// The row of a query that has one or none.
    pub(crate) fn maybe<T>(
        &mut self,
        query: Query,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let read = |row: &Row<'_>| Ok(read(row));
        self.statement(query)?.query_row(params, read).optional()?.transpose()
    }

    /// Every row of a query.
    pub(crate) fn all<T>(
        &mut self,
        query: Query,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut rows = self.statement(query)?.query(params)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(read(row)?);
        }
        Ok(all)
    }

    fn statement(&mut self, query: Query) -> Result<&mut CachedStatement<'c>, Fault> {
        let held = &mut self.held[query as usize];
        match held {
            Some(statement) => Ok(statement),
            None => Ok(held.insert(self.conn.prepare_cached(query.text())?)),
        }
    }
}
