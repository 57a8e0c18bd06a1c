//! From an address to a store.

use std::sync::Arc;

use towpath_core::Store;

use crate::error::Error;

/// Opens the store at an address and brings its schema up to date.
pub(crate) async fn open(url: &str) -> Result<Arc<dyn Store>, Error> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    match scheme {
        "sqlite" => open_sqlite(rest.strip_prefix("//").unwrap_or(rest)).await,
        "postgres" | "postgresql" => open_postgres(url).await,
        _ => Err(Error::Address { url: without_password(url), problem: problem(url) }),
    }
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(path: &str) -> Result<Arc<dyn Store>, Error> {
    if path.is_empty() {
        return Err(Error::Address { url: "sqlite:".into(), problem: "name the file, such as sqlite:app.db".into() });
    }
    let store = towpath_sqlite::SqliteStore::open(path, towpath_sqlite::SqliteOptions::default())?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "sqlite"))]
async fn open_sqlite(path: &str) -> Result<Arc<dyn Store>, Error> {
    Err(Error::Address {
        url: format!("sqlite:{path}"),
        problem: "this build lacks the feature `sqlite` of towpath: add it in Cargo.toml".into(),
    })
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str) -> Result<Arc<dyn Store>, Error> {
    let store = towpath_postgres::PostgresStore::connect(url, towpath_postgres::PostgresOptions::default())?;
    store.migrate().await?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(url: &str) -> Result<Arc<dyn Store>, Error> {
    Err(Error::Address {
        url: without_password(url),
        problem: "this build lacks the feature `postgres` of towpath: add it in Cargo.toml".into(),
    })
}

/// What an address should be, and what this one may have been meant for.
fn problem(url: &str) -> String {
    let meant = ["postgresql", "postgres", "sqlite"].into_iter().find_map(|scheme| {
        let rest = url.to_ascii_lowercase().starts_with(scheme).then(|| &url[scheme.len()..])?;
        let rest = rest.trim_start_matches([':', '/']);
        let colon = if scheme == "sqlite" { ":" } else { "://" };
        (!rest.is_empty()).then(|| format!("{scheme}{colon}{}", without_password(rest)))
    });
    let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    format!("use sqlite:PATH or postgres://USER@HOST/DATABASE{meant}")
}

/// An address that can be shown: what stands before an `@` is left out.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (None, Some((_, host))) => format!("…@{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_is_not_understood_names_those_that_are() {
        let refused = open("mysql://ann:secret@db/app").await.err().unwrap().to_string();
        assert_eq!(refused, "\"mysql://…@db/app\" is no store: use sqlite:PATH or postgres://USER@HOST/DATABASE");
        let refused = open("postgres//ann:secret@db/app").await.err().unwrap().to_string();
        assert!(refused.starts_with("\"…@db/app\" is no store: "), "{refused}");
        assert!(refused.ends_with("; did you mean postgres://…@db/app?"), "{refused}");
        assert!(open("Sqlite/app.db").await.err().unwrap().to_string().ends_with("; did you mean sqlite:app.db?"));
        assert!(open("sqlite:").await.err().unwrap().to_string().contains("name the file"));
        assert!(open("app.db").await.err().unwrap().to_string().contains("sqlite:PATH"));
    }
}
