//! Sends HTTP hooks: a POST with the JSON that programs read.
//!
//! A header may use only variables that the handler lists and the caller provides. Never reads the process environment.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use lariat_guard::hooks::{Handler, HandlerResult, Invocation};
use lariat_model::http::{ClientConfig, HttpClient, Post, PostError, post};

/// Sends requests for hooks. Does not follow redirects.
#[derive(Clone, Default)]
pub(super) struct HttpHooks {
    client: Arc<HttpClient>,
    variables: Arc<BTreeMap<String, String>>,
}

impl HttpHooks {
    pub(super) fn with_variables(self, variables: BTreeMap<String, String>) -> Self {
        Self { variables: Arc::new(variables), ..self }
    }

    pub(super) fn with_client(self, config: ClientConfig) -> Self {
        Self { client: Arc::new(HttpClient::new(config)), ..self }
    }

    /// Sends one request. A 2xx response is exit code 0; everything else is a failure.
    pub(super) async fn send(&self, handler: &Handler, input: &str, limit: usize) -> HandlerResult {
        let Invocation::Post { url, headers, variables } = &handler.way else {
            return HandlerResult::Failed("not a URL".to_owned());
        };
        let value = |name: &str| {
            let allowed = variables.iter().any(|allowed| allowed == name);
            self.variables.get(name).filter(|_| allowed).map(String::as_str)
        };
        let header = |(name, text): &(String, String)| (name.clone(), expand_variables(text, value));
        let request = Post {
            url: url.clone(),
            headers: headers.iter().map(header).collect(),
            body: input.to_owned(),
            timeout: handler.timeout,
            limit,
        };
        match post(&*self.client, request).await {
            Ok(output) => HandlerResult::Exited { code: 0, output, errors: String::new() },
            Err(PostError::TimedOut(_)) => HandlerResult::TimedOut,
            Err(error) => HandlerResult::Failed(error.to_string()),
        }
    }
}

impl fmt::Debug for HttpHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits the values, which may be keys.
        f.debug_struct("HookPosts").field("variables", &self.variables.keys()).finish_non_exhaustive()
    }
}

/// Expands `$NAME` and `${NAME}`. A variable without a value becomes empty, so that its name is not sent.
fn expand_variables<'a>(text: &str, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut expand_variables = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expand_variables.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, left) = match braced {
            Some((name, left)) if !name.is_empty() && name.chars().all(is_name) => (name, left),
            _ => after.split_at(after.find(|letter| !is_name(letter)).unwrap_or(after.len())),
        };
        if name.is_empty() {
            expand_variables.push('$');
        } else {
            expand_variables.push_str(value(name).unwrap_or_default());
        }
        rest = left;
    }
    expand_variables.push_str(rest);
    expand_variables
}

#[cfg(test)]
#[path = "http_hooks_tests.rs"]
mod tests;
