//! Secrets that must not come into messages.

use std::borrow::Cow;

use url::Url;

/// Variables of the environment whose values are secret: those that clients of stores read.
const VARIABLES: [&str; 15] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_SERVER_SIDE_ENCRYPTION_CUSTOMER_KEY_BASE64",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_MASTER_KEY",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "GOOGLE_BEARER_TOKEN",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
];

/// What a secret follows: parameters of signed addresses, and what S3 repeats of a wrong token.
const BEFORE: [&str; 5] = ["sig=", "Signature=", "X-Amz-Security-Token=", "<Token-0>", "Bearer "];

const HIDDEN: &str = "[hidden]";

/// Says whether an address has a name of a user or a password.
pub(crate) fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns an address without what is before its host and after its path. It need not be valid.
pub(crate) fn without_credentials(address: &str) -> Cow<'_, str> {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => ("", address),
    };
    let has_key = rest.contains('@');
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    if !has_key && path.len() == rest.len() {
        return Cow::Borrowed(address);
    }
    let separator = if scheme.is_empty() { "" } else { "://" };
    let key = if has_key { "[hidden]@" } else { "" };
    let query = if path.len() < rest.len() { "?[hidden]" } else { "" };
    Cow::Owned(format!("{scheme}{separator}{key}{path}{query}"))
}

/// Returns a text without secrets: a store may repeat what it was sent.
pub(crate) fn hide(text: &str) -> String {
    hide_values(text, VARIABLES.iter().filter_map(|name| std::env::var(name).ok()))
}

fn hide_values(text: &str, values: impl IntoIterator<Item = String>) -> String {
    let mut text = text.to_owned();
    // Shorter values are words of messages rather than keys.
    for value in values.into_iter().filter(|value| value.len() >= 8) {
        text = text.replace(&value, HIDDEN);
    }
    for before in BEFORE {
        let is_end = |c: char| c.is_whitespace() || "&<>\"')".contains(c);
        text = hide_after(&text, before, |part| part.find(is_end).unwrap_or(part.len()));
    }
    // A user and a password before the host.
    hide_after(&text, "://", |part| {
        let end = part.find(|c: char| c.is_whitespace() || "/?#".contains(c)).unwrap_or(part.len());
        part[..end].rfind('@').unwrap_or(0)
    })
}

/// Hides as many bytes as `len` says after each occurrence of `before`.
fn hide_after(text: &str, before: &str, len: impl Fn(&str) -> usize) -> String {
    let mut parts = text.split(before);
    let mut hidden = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (secret, rest) = part.split_at(len(part));
        hidden.extend([before, if secret.is_empty() { "" } else { HIDDEN }, rest]);
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_keys() {
        for (address, shown) in [
            ("s3://fleet/prod", "s3://fleet/prod"),
            ("s3://KEY:a/b+c@fleet/prod", "s3://[hidden]@fleet/prod"),
            ("s3://fleet/prod?X-Amz-Signature=1", "s3://fleet/prod?[hidden]"),
            ("KEY:secret@fleet", "[hidden]@fleet"),
            ("file:///a b", "file:///a b"),
        ] {
            assert_eq!(without_credentials(address), shown);
        }
    }

    #[test]
    fn texts_lose_their_secrets() {
        let key = || ["a-long-secret".to_owned(), "abc".to_owned()];
        for (text, shown) in [
            ("abc: no answer", "abc: no answer"),
            ("is a-long-secret, a-long-secret", "is [hidden], [hidden]"),
            ("<Token-0>IQo+/=</Token-0>", "<Token-0>[hidden]</Token-0>"),
            ("(http://a/b?sv=1&sig=x%2Fy&se=2)", "(http://a/b?sv=1&sig=[hidden]&se=2)"),
            ("Bearer ya29.x, sig=", "Bearer [hidden] sig="),
            ("PUT http://u:p%40@h:1/a@b in 1 ms", "PUT http://[hidden]@h:1/a@b in 1 ms"),
        ] {
            assert_eq!(hide_values(text, key()), shown);
        }
    }
}
