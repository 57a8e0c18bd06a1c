//! What the owner of a dashboard decides: who may do what, what is shown, and which instance this is.

use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq;
use towpath::Kind;

/// Something that a person or a program may be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// See lists, states, names, counts, shapes of graphs.
    View,
    /// See inputs, outputs, errors, logs, signals and what journals hold.
    SeePayloads,
    /// Put ended or blocked work back.
    Retry,
    /// Ask work to stop.
    Cancel,
    /// End work at once, whatever it does.
    Terminate,
    /// Send a signal to a run.
    Signal,
    /// Change what waits: its priority, its due, its input.
    Edit,
    /// Pause queues, schedules and runs, and resume them.
    Pause,
    /// Ask workers to be quiet, to drain, to resume.
    Workers,
    /// Run a schedule's job now.
    Trigger,
    /// Whatever else changes the store.
    Admin,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 11] = [
        Self::View,
        Self::SeePayloads,
        Self::Retry,
        Self::Cancel,
        Self::Terminate,
        Self::Signal,
        Self::Edit,
        Self::Pause,
        Self::Workers,
        Self::Trigger,
        Self::Admin,
    ];

    /// The word for it in answers and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::SeePayloads => "see payloads",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Terminate => "terminate",
            Self::Signal => "signal",
            Self::Edit => "edit",
            Self::Pause => "pause",
            Self::Workers => "steer workers",
            Self::Trigger => "trigger schedules",
            Self::Admin => "administer",
        }
    }

    /// Whether it changes anything.
    pub const fn is_write(self) -> bool {
        !matches!(self, Self::View | Self::SeePayloads)
    }
}

/// Who asks. An application that knows its users puts one into the request's extensions before it comes to the router;
/// the name is what the audit records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name that is recorded.
    pub name: String,
}

impl User {
    /// A user of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

/// Decides who may do what. Asked at every request, and for every button that is shown.
pub trait Access: Send + Sync + 'static {
    /// Whether a user may do this.
    fn may(&self, user: &User, action: Action) -> bool;
}

impl<F: Fn(&User, Action) -> bool + Send + Sync + 'static> Access for F {
    fn may(&self, user: &User, action: Action) -> bool {
        self(user, action)
    }
}

/// A part of a job that may hold what not everybody should read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// An input.
    Input,
    /// An output.
    Output,
    /// The text of an error, or why a job is blocked.
    Error,
    /// What an attempt logged.
    Log,
    /// What a signal carries.
    Signal,
    /// What a line of a journal holds.
    Journal,
    /// What a run has published, answered to an update, or written into a stream.
    Published,
}

/// Replaces what is to be shown of a job of this kind; what it answers is shown instead. JSON is expected to stay JSON;
/// what is not is shown as a text.
pub type Redact = dyn Fn(&Kind, Part, String) -> String + Send + Sync;

/// A colour by which people tell instances apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The quiet default.
    #[default]
    Slate,
    /// Red, as for production.
    Red,
    /// Orange.
    Orange,
    /// Green.
    Green,
    /// Blue.
    Blue,
    /// Violet.
    Violet,
}

impl Colour {
    /// Every colour.
    pub const ALL: [Self; 6] = [Self::Slate, Self::Red, Self::Orange, Self::Green, Self::Blue, Self::Violet];

    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Slate => "slate",
            Self::Red => "red",
            Self::Orange => "orange",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Violet => "violet",
        }
    }
}

/// Under which host names the router answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// Under any: for what stands behind a login.
    #[default]
    Any,
    /// Only under `localhost` and loopback addresses: without it, a page elsewhere whose name is made to point here could
    /// read what no login protects.
    Loopback,
}

#[derive(Clone)]
pub(crate) enum Secret {
    Token { user: String, token: String },
    Password { user: String, password: String },
}

/// How a router behaves. Built by its methods; the default shows everything to everybody who reaches it, and lets them act.
#[derive(Clone)]
pub struct WebOptions {
    pub(crate) instance: String,
    pub(crate) colour: Colour,
    pub(crate) read_only: bool,
    pub(crate) hosts: Hosts,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) anonymous: User,
    pub(crate) access: Arc<dyn Access>,
    pub(crate) redact: Option<Arc<Redact>>,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self {
            instance: String::new(),
            colour: Colour::default(),
            read_only: false,
            hosts: Hosts::default(),
            secrets: Vec::new(),
            anonymous: User::new("dashboard"),
            access: Arc::new(|_: &User, _: Action| true),
            redact: None,
        }
    }
}

impl fmt::Debug for WebOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebOptions")
            .field("instance", &self.instance)
            .field("colour", &self.colour)
            .field("read_only", &self.read_only)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

impl WebOptions {
    /// The name of this instance, shown on every page.
    pub fn instance(mut self, name: &str) -> Self {
        self.instance = name.to_owned();
        self
    }

    /// The colour of this instance.
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// Refuses every write, whoever asks.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Answers only under these host names.
    pub fn hosts(mut self, hosts: Hosts) -> Self {
        self.hosts = hosts;
        self
    }

    /// Lets in who brings this token, as `Authorization: Bearer`, or as the password of this user where a browser asks.
    /// From then on nobody comes in without.
    pub fn token(mut self, user: &str, token: &str) -> Self {
        self.secrets.push(Secret::Token { user: user.to_owned(), token: token.to_owned() });
        self
    }

    /// Lets in a user with a password, by basic authentication. From then on nobody comes in without.
    pub fn password(mut self, user: &str, password: &str) -> Self {
        self.secrets.push(Secret::Password { user: user.to_owned(), password: password.to_owned() });
        self
    }

    /// The name under which those act who came without a login; `dashboard` if not said.
    pub fn anonymous(mut self, name: &str) -> Self {
        self.anonymous = User::new(name);
        self
    }

    /// Decides who may do what; everybody everything, if not said.
    pub fn access(mut self, access: impl Access) -> Self {
        self.access = Arc::new(access);
        self
    }

    /// Replaces what is shown of inputs, outputs, errors, logs, signals and journals.
    pub fn redact(mut self, redact: impl Fn(&Kind, Part, String) -> String + Send + Sync + 'static) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    pub(crate) fn asks_for_login(&self) -> bool {
        !self.secrets.is_empty()
    }

    pub(crate) fn by_token(&self, given: &str) -> Option<User> {
        self.secrets.iter().find_map(|secret| match secret {
            Secret::Token { user, token } if same(token, given) => Some(User::new(user)),
            _ => None,
        })
    }

    pub(crate) fn by_password(&self, name: &str, given: &str) -> Option<User> {
        self.secrets.iter().find_map(|secret| match secret {
            Secret::Password { user, password: secret } | Secret::Token { user, token: secret }
                if same(user, name) & same(secret, given) =>
            {
                Some(User::new(user))
            }
            _ => None,
        })
    }
}

/// Compares without telling by time where the texts differ. An empty secret lets nobody in.
fn same(secret: &str, given: &str) -> bool {
    !secret.is_empty() && bool::from(secret.as_bytes().ct_eq(given.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_compared_whole_and_an_empty_one_opens_nothing() {
        let options = WebOptions::default().token("robot", "abc").password("ann", "pw").token("none", "");
        assert_eq!(options.by_token("abc"), Some(User::new("robot")));
        assert_eq!(options.by_token("ab"), None);
        assert_eq!(options.by_token("pw"), None, "a password is no token");
        assert_eq!(options.by_token(""), None);
        assert_eq!(options.by_password("ann", "pw"), Some(User::new("ann")));
        assert_eq!(options.by_password("robot", "abc"), Some(User::new("robot")));
        assert_eq!(options.by_password("ann", "abc"), None);
    }
}
