//! Rows by column, as `unnest` takes them: one array a column, however many rows there are.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// One column. Nulls at its end are not sent: `unnest` puts them back.
#[derive(Debug)]
pub(crate) struct Column<T>(Vec<Option<T>>);

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Column<T> {
    pub(crate) fn push(&mut self, value: impl Cell<Value = T>) {
        self.0.push(value.into_cell());
    }
}

impl<T: ToSql> ToSql for Column<T> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let filled = self.0.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        (&self.0[..filled]).to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <Vec<Option<T>> as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

/// What a row has in a column: a value, or one that may be missing.
pub(crate) trait Cell {
    type Value;

    fn into_cell(self) -> Option<Self::Value>;
}

impl<T> Cell for Option<T> {
    type Value = T;

    fn into_cell(self) -> Option<T> {
        self
    }
}

macro_rules! cells {
    ($($kind:ty),*) => {
        $(impl Cell for $kind {
            type Value = Self;

            fn into_cell(self) -> Option<Self> {
                Some(self)
            }
        })*
    };
}

cells!(bool, i16, i32, i64, Uuid, String, Vec<u8>, &str, &[u8]);

/// A type of rows, and one of their columns, for a statement whose parameters are scalars first and then these columns in
/// this order.
macro_rules! columns {
    ($columns:ident of $row:ident $(<$life:lifetime>)? { $($field:ident: $kind:ty,)* }) => {
        pub(crate) struct $row$(<$life>)? {
            $(pub(crate) $field: $kind,)*
        }

        #[derive(Default)]
        pub(crate) struct $columns$(<$life>)? {
            rows: usize,
            $($field: crate::columns::Column<<$kind as crate::columns::Cell>::Value>,)*
        }

        impl$(<$life>)? $columns$(<$life>)? {
            pub(crate) fn push(&mut self, row: $row$(<$life>)?) {
                self.rows += 1;
                $(self.$field.push(row.$field);)*
            }

            /// Its columns, for a statement that has others besides.
            pub(crate) fn columns(&self) -> Vec<&(dyn tokio_postgres::types::ToSql + Sync)> {
                vec![$(&self.$field),*]
            }

            /// Runs the statement for all rows. Without any it is not sent.
            #[allow(dead_code, reason = "a statement of two kinds of rows is given the columns of both")]
            pub(crate) async fn run(
                &self,
                session: &crate::session::Session,
                query: crate::queries::Query,
                scalars: crate::session::Params<'_>,
            ) -> Result<Vec<tokio_postgres::Row>, crate::error::Fault> {
                if self.rows == 0 {
                    return Ok(Vec::new());
                }
                let mut params = scalars.to_vec();
                params.extend(self.columns());
                session.run(query, &params).await
            }
        }
    };
}

pub(crate) use columns;
