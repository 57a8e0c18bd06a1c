//! `towpath serve`: the dashboard and the HTTP API.

use std::net::{IpAddr, SocketAddr};

use clap::{Args, ValueEnum};
use tokio::net::TcpListener;
use towpath_web::{Colour, Hosts, WebOptions};

use super::{ActorArgs, StoreArgs};
use crate::error::CliError;
use crate::{exit, say};

/// Serve the dashboard and the HTTP API
///
/// On this machine only, if not told otherwise. The API is described at /api/openapi.json.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// Lets in only who brings this token, as a bearer token or as the password of the user `towpath`.
    #[arg(long, value_name = "TOKEN", env = "TOWPATH_WEB_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Lets in only this user with this password. Put it into the environment, where others do not see it.
    #[arg(long, value_name = "NAME:PASSWORD", env = "TOWPATH_WEB_LOGIN", hide_env_values = true)]
    login: Option<String>,
    /// Serves on an address that others reach without any login: what stands before it must know who comes.
    #[arg(long)]
    no_login: bool,
    /// Only shows; nothing can be changed.
    #[arg(long)]
    read_only: bool,
    /// The name of this instance, shown on every page.
    #[arg(long, value_name = "TEXT", default_value = "")]
    instance: String,
    /// The colour of this instance, so that nobody acts on the wrong one.
    #[arg(long, value_name = "COLOUR", default_value = "slate")]
    colour: ColourWord,
    #[command(flatten)]
    actor: ActorArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ColourWord {
    Slate,
    Red,
    Orange,
    Green,
    Blue,
    Violet,
}

impl Serve {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let options = self.options()?;
        let location = self.store.found()?;
        let client = location.open_to_read().await?;
        let listening = |e| CliError::failed(&format!("listen on {}", self.listen), e);
        let listener = TcpListener::bind(self.listen).await.map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        say::line(format_args!("{} at http://{address}/ (Ctrl-C stops it)", location.shown()));
        towpath_web::serve(listener, client, options, stopped()).await.map_err(|e| CliError::failed("serve", e))?;
        Ok(exit::SUCCEEDED)
    }

    fn options(&self) -> Result<WebOptions, CliError> {
        let mut options =
            WebOptions::default().instance(&self.instance).colour(self.colour.into()).anonymous(&self.actor.name());
        if self.read_only {
            options = options.read_only();
        }
        let has_login = self.token.is_some() || self.login.is_some();
        if let Some(token) = self.token.as_deref() {
            let help = "leave the option out, or draw a token, such as with `openssl rand -hex 16`";
            if token.is_empty() {
                return Err(CliError::usage("the token is empty", help));
            }
            options = options.token("towpath", token);
        }
        if let Some(login) = &self.login {
            let parts = login.split_once(':').filter(|(name, password)| !name.is_empty() && !password.is_empty());
            let Some((name, password)) = parts else {
                return Err(CliError::usage("the login is not NAME:PASSWORD", "say both, with a colon between them"));
            };
            options = options.password(name, password);
        }
        let is_here = is_loopback(self.listen.ip());
        if !has_login && !is_here && !self.no_login {
            let message = format!("{} is reached from elsewhere, and nobody would have to log in", self.listen);
            return Err(CliError::usage(
                message,
                "give it a --token or a --login, or say --no-login if something before it knows who comes",
            ));
        }
        Ok(if has_login || !is_here || self.no_login { options } else { options.hosts(Hosts::Loopback) })
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

impl From<ColourWord> for Colour {
    fn from(word: ColourWord) -> Self {
        match word {
            ColourWord::Slate => Self::Slate,
            ColourWord::Red => Self::Red,
            ColourWord::Orange => Self::Orange,
            ColourWord::Green => Self::Green,
            ColourWord::Blue => Self::Blue,
            ColourWord::Violet => Self::Violet,
        }
    }
}

/// Until the user or the system wants it to stop.
async fn stopped() {
    let interrupted = tokio::signal::ctrl_c();
    let Ok(mut terminated) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
        // Then only the interrupt is heard.
        let _ = interrupted.await;
        return;
    };
    tokio::select! {
        _ = interrupted => {}
        _ = terminated.recv() => {}
    }
}
