//! Bearer tokens. A collector has their digests only.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use telemetry_format::Calendar;

use crate::segment::Host;

/// The tokens that a collector accepts, from a file.
#[derive(Debug, Default)]
pub struct Tokens(Vec<Token>);

#[derive(Debug)]
struct Token {
    host: Host,
    digest: Vec<u8>,
    /// Seconds since 1970 UTC at which it ends.
    until: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    host: String,
    sha256: String,
    until: toml::value::Datetime,
}

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// What is wrong with the file, and where.
    pub fn read(path: &Path) -> Result<Tokens, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let file: File = toml::from_str(&text).map_err(|error| wrong(&toml_problem(&error, &text)))?;
        let parse = |Entry { host, sha256, until }: Entry| {
            let digest = from_hex(&sha256).filter(|digest| digest.len() == 32);
            let digest = digest.ok_or("`sha256` is not 64 hexadecimal digits")?;
            let until = seconds(until)
                .ok_or("`until` is not a time with its offset, such as 2027-01-01T00:00:00Z")?;
            Ok(Token { host: host.parse()?, digest, until })
        };
        let tokens: Result<_, String> = file.token.into_iter().map(parse).collect();
        tokens.map(Tokens).map_err(|error| wrong(&error))
    }

    /// Checks the token of a host.
    ///
    /// # Errors
    /// Why it is not accepted.
    pub fn check(&self, host: &Host, token: &str) -> Result<(), String> {
        let own = digest(&SHA256, token.as_bytes());
        let mut found = None;
        // All are compared, each in constant time, so the time tells nothing about the digests.
        for token in &self.0 {
            let mut differing = 0;
            for (one, other) in token.digest.iter().zip(own.as_ref()) {
                differing |= one ^ other;
            }
            if std::hint::black_box(differing) == 0 {
                found = Some(token);
            }
        }
        let token = found.ok_or("its token is unknown or revoked")?;
        if token.host != *host {
            return Err(format!("its token is that of another host, `{}`", token.host));
        }
        if token.until <= now() {
            return Err(format!("its token has expired, at {}", text(token.until)));
        }
        Ok(())
    }
}

/// Says what is wrong with a file, and where. The error itself shows the line, which may be a
/// secret: the file of a token may be given in place of another one.
pub fn toml_problem(error: &toml::de::Error, text: &str) -> String {
    let line =
        error.span().map(|span| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count());
    let line = line.map_or_else(String::new, |line| format!("line {line}: "));
    format!("{line}{}", error.message())
}

/// Makes a token that ends after this time. Returns the token, and its entry for the file of the
/// collector.
///
/// # Errors
/// That the system has no random bytes.
pub fn new_token(host: &Host, lasts: Duration) -> Result<(String, String), String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the system has no random bytes")?;
    let token = hex(&bytes);
    let until = text(now().saturating_add(lasts.as_secs()));
    let sha256 = hex(digest(&SHA256, token.as_bytes()).as_ref());
    Ok((token, format!("[[token]]\nhost = \"{host}\"\nsha256 = \"{sha256}\"\nuntil = {until}\n")))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn text(seconds: u64) -> String {
    let Calendar { year, month, day, hour, minute, second, .. } = Calendar::from_seconds(seconds);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns the seconds since 1970 UTC of a time with its offset.
fn seconds(time: toml::value::Datetime) -> Option<u64> {
    let (date, clock) = (time.date?, time.time?);
    let minutes = match time.offset? {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes),
    };
    // Days of the civil calendar, counted from March so that a leap day is the last of its year.
    let (year, month) = (i64::from(date.year), i64::from(date.month));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + i64::from(date.day)
        - 1
        - 719_468;
    let seconds = i64::from(clock.second.unwrap_or(0)) + 60 * (i64::from(clock.minute) - minutes);
    u64::try_from(days * 86_400 + 3_600 * i64::from(clock.hour) + seconds).ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for at in [0, 951_782_400, 1_709_164_800, 1_700_000_000, 4_102_444_800] {
            assert_eq!(seconds(text(at).parse().unwrap()), Some(at), "{}", text(at));
        }
        assert_eq!(seconds("1970-01-01T02:00:00+02:00".parse().unwrap()), Some(0));
        assert_eq!(seconds("1970-01-01".parse().unwrap()), None);
    }
}
