//! The command `telemetry-lake`: makes tables of the segments in a store.

use std::num::NonZeroU32;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use telemetry_lake::append;
use telemetry_lake::chosen::{Written, write_chosen};
use telemetry_lake::commit::{How, commit_next};
use telemetry_lake::complete::{Question, complete, time_text};
use telemetry_lake::convert::day_text;
use telemetry_lake::delete::{compact, delete, vacuum};
use telemetry_lake::hosts::hosts;
use telemetry_lake::lake::{Format, Lake, LakeError};
use telemetry_lake::lease::Lease;
use telemetry_lake::selector::Selector;

/// Make tables of the telemetry segments in an object store
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = STORE)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Returns the end of the help of a command.
fn help(text: &str, examples: &str) -> String {
    format!("{text}\n\nExamples:\n{examples}")
}

const STORE: &str = "\
The lake is the store that `telemetry-fleet` ships to: file:///DIR or s3://BUCKET/PREFIX. S3 takes its settings
from the environment: AWS_REGION, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and AWS_ALLOW_HTTP
for an endpoint without TLS. docs/lake.md has all tables.";

#[derive(Subcommand)]
enum Command {
    /// Make a lake in a store
    #[command(after_help = help(STORE, "  telemetry-lake init s3://telemetry/prod\n  telemetry-lake init s3://telemetry/prod --buckets 64"))]
    Init {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,

        /// Form of the tables
        #[arg(long, value_name = "FORMAT", default_value = "delta")]
        format: Format,

        /// Put the hosts into this many buckets, and partition by bucket instead of host
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
        buckets: Option<u32>,
    },
    /// Add the events of new segments to the tables
    #[command(after_help = help(STORE, "  telemetry-lake commit s3://telemetry/prod"))]
    Commit {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,

        /// Convert at most this many segments in a batch
        #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
        max_segments: u32,

        /// Use this many threads [default: all processors]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
        threads: Option<u16>,

        /// Write a checkpoint after this many versions of a Delta table
        #[arg(long, value_name = "N", default_value_t = append::CHECKPOINT, value_parser = clap::value_parser!(u64).range(1..))]
        checkpoint: u64,

        /// Keep the values of sensitive parameters, which the tables do not have otherwise
        #[arg(long)]
        show_sensitive: bool,

        /// Seconds for which no other process may commit, in S3; the process renews them
        #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=86_400))]
        lease: u64,
    },
    /// Show which events are missing, and up to when everything is there
    #[command(after_help = help(
        "Exit codes: 0 if nothing is missing; 1 if something is, if segments wait for a commit, or if there are no such \
         sessions; 2 for errors.",
        "  telemetry-lake complete s3://telemetry/prod\n  telemetry-lake complete s3://telemetry/prod --host h7"
    ))]
    Complete {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,

        #[command(flatten)]
        chosen: Chosen,

        /// Take sessions as ended whose last segment arrived more than this many hours ago
        #[arg(long, value_name = "HOURS")]
        gone_after: Option<u32>,

        /// Name hosts from which no segment has arrived for this many minutes
        #[arg(long, value_name = "MINUTES")]
        silent_after: Option<u32>,
    },
    /// Show up to when everything of each host is there, and when its last segment arrived
    #[command(after_help = help(STORE, "  telemetry-lake hosts s3://telemetry/prod"))]
    Hosts {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Write the segments of a host and a time to standard output, as one stream
    #[command(after_help = help(
        "Any command of `telemetry` reads the stream. `telemetry report URL` does both. Segments are written whole, so the \
         stream may begin earlier and end later.\n\n\
         Exit codes: 0 if all segments are there, 1 if some were deleted, 2 for errors.",
        "  telemetry-lake stream s3://telemetry/prod --host h7 --from 1795432800 | telemetry stats -"
    ))]
    Stream {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,

        #[command(flatten)]
        chosen: Chosen,
    },
    /// Delete rows: of a host, of a session, or of days long ago
    #[command(after_help = help(
        "All given conditions must hold. The segments of the rows are deleted, too. Objects are deleted at once, so \
         readers of older versions of a table fail.",
        "  telemetry-lake delete s3://telemetry/prod --host h7\n  \
         telemetry-lake delete s3://telemetry/prod --older-than 90"
    ))]
    Delete {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,

        /// Rows of this host
        #[arg(long, value_name = "NAME", required_unless_present_any = ["session", "older_than"])]
        host: Option<String>,

        /// Rows of this session, in hexadecimal
        #[arg(long, value_name = "ID", value_parser = session)]
        session: Option<u64>,

        /// Rows of days that ended more than this many days ago
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,

        /// Seconds for which no other process may commit, in S3; the process renews them
        #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=86_400))]
        lease: u64,
    },
    /// Join small files of the tables, in a lake with Delta
    #[command(after_help = help(STORE, "  telemetry-lake compact s3://telemetry/prod"))]
    Compact {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,

        /// Seconds for which no other process may commit, in S3; the process renews them
        #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=86_400))]
        lease: u64,
    },
    /// Delete old segments that the tables have, and files that the tables no longer use
    #[command(after_help = help(STORE, "  telemetry-lake vacuum s3://telemetry/prod --older-than 2"))]
    Vacuum {
        /// Store: file:///DIR or s3://BUCKET/PREFIX
        #[arg(value_name = "URL")]
        url: String,

        /// Keep the segments of this many days before today, and files that were unused since then
        #[arg(long, value_name = "DAYS")]
        older_than: u32,
    },
}

/// Which events of a lake a command is about.
#[derive(Args)]
struct Chosen {
    /// Only events of this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Only events from this time, in seconds since 1970
    #[arg(long, value_name = "SECONDS")]
    from: Option<u32>,

    /// Only events before this time, in seconds since 1970
    #[arg(long, value_name = "SECONDS")]
    until: Option<u32>,
}

impl Chosen {
    /// Returns the times in nanoseconds since 1970.
    fn times(&self) -> std::ops::Range<i64> {
        let ns = |seconds: u32| i64::from(seconds) * 1_000_000_000;
        self.from.map_or(i64::MIN, ns)..self.until.map_or(i64::MAX, ns)
    }
}

fn session(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|error| format!("{error}; expected up to 16 hexadecimal digits"))
}

/// Returns the nanoseconds since 1970.
fn now_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos().try_into().unwrap_or(i64::MAX)
}

/// Returns the day this many days before today in UTC, since 1970.
fn day_before(days: u32) -> i64 {
    now_ns() / 86_400_000_000_000 - i64::from(days)
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(command.run()),
        Err(error) => Err(LakeError::Other(format!("cannot wait for the network: {error}"))),
    };
    ended.unwrap_or_else(|error| {
        // In one write: several committers may have one log.
        let line = format!("error: {error}\n");
        eprint!("{line}");
        ExitCode::from(2)
    })
}

impl Command {
    async fn run(self) -> Result<ExitCode, LakeError> {
        match self {
            Command::Init { url, format, buckets } => {
                let lake = Lake::init(&url, format, buckets.and_then(NonZeroU32::new)).await?;
                println!("{url} is a lake of the form {}", lake.settings);
                Ok(ExitCode::SUCCESS)
            }
            Command::Commit { url, max_segments, threads, checkpoint, show_sensitive, lease } => {
                let threads = threads.map(usize::from);
                let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(usize::from));
                let (segments, threads) = (max_segments as usize, threads.unwrap_or(1));
                let how = How { segments, threads, checkpoint, shows_sensitive: show_sensitive };
                commit(&url, how, lease).await
            }
            Command::Delete { url, host, session, older_than, lease } => {
                let lake = Lake::open(&url).await?;
                let lease = Lease::take(&lake.store, lease).await?;
                let files = delete(
                    &lake,
                    &lease,
                    Selector { host, session, before: older_than.map(day_before).map(day_text) },
                )
                .await?;
                lease.give_back(&lake.store).await?;
                println!("deleted {files} files");
                Ok(ExitCode::SUCCESS)
            }
            Command::Vacuum { url, older_than } => {
                let lake = Lake::open(&url).await?;
                let (segments, files) = vacuum(&lake, day_before(older_than)).await?;
                println!("deleted {segments} segments and {files} files");
                Ok(ExitCode::SUCCESS)
            }
            Command::Compact { url, lease } => {
                let lake = Lake::open(&url).await?;
                let lease = Lease::take(&lake.store, lease).await?;
                let files = compact(&lake, &lease).await?;
                lease.give_back(&lake.store).await?;
                println!("{files} files are no longer needed");
                Ok(ExitCode::SUCCESS)
            }
            Command::Hosts { url } => {
                println!("host\tsessions\topen\tcomplete to\tlast arrival");
                for (host, of) in hosts(&Lake::open(&url).await?).await? {
                    let (sessions, open, until) = (of.sessions, of.open, time_text(of.until_ns));
                    let arrived = of.arrived_ns.map_or_else(|| "-".to_owned(), time_text);
                    println!("{host}\t{sessions}\t{open}\t{until}\t{arrived}");
                }
                Ok(ExitCode::SUCCESS)
            }
            Command::Stream { url, chosen } => {
                let lake = Lake::open(&url).await?;
                let mut to = std::io::BufWriter::new(std::io::stdout().lock());
                let written = write_chosen(&lake, chosen.host.as_deref(), chosen.times(), &mut to).await?;
                let flushed = std::io::Write::flush(&mut to);
                flushed.map_err(|error| LakeError::Other(format!("cannot write: {error}")))?;
                let Written { segments, gone, .. } = written;
                if gone > 0 {
                    eprintln!("warning: {gone} segments of this time are deleted; {segments} are there");
                } else if segments == 0 {
                    return Err(LakeError::Other(format!(
                        "{url}: no committed segment of these hosts and times; help: see `telemetry-lake complete`"
                    )));
                }
                Ok(ExitCode::from(u8::from(gone > 0)))
            }
            Command::Complete { url, chosen, gone_after, silent_after } => {
                let lake = Lake::open(&url).await?;
                let (host, times, now) = (chosen.host.as_deref(), chosen.times(), now_ns());
                let ns = |minutes: u32| i64::from(minutes).saturating_mul(60_000_000_000);
                let gone_before = gone_after.map(|hours| now.saturating_sub(ns(hours).saturating_mul(60)));
                let until = now.min(times.end);
                let silent_before = silent_after.map(|minutes| until.saturating_sub(ns(minutes)));
                let question = Question { host, times, gone_before, silent_before };
                let found = complete(&lake, question).await?;
                for (state, missing) in &found.missing {
                    let lane = missing.lane.map_or_else(|| "-".to_owned(), |lane| lane.to_string());
                    let events = missing.events.map_or_else(|| "?".to_owned(), |events| events.to_string());
                    let (from, until) = (time_text(missing.from_ns), time_text(missing.until_ns));
                    let (host, session) = (&state.host, state.session);
                    println!(
                        "{host}\t{session:016x}\t{lane}\t{from}\t{until}\t{events}\t{}",
                        missing.why.word()
                    );
                }
                for (host, ahead) in &found.ahead {
                    let seconds = *ahead as f64 / 1e9;
                    println!("the clock of {host} was at least {seconds:.1} s ahead of the store's");
                }
                println!("{}", found.verdict());
                Ok(ExitCode::from(u8::from(!found.is_complete())))
            }
        }
    }
}

async fn commit(url: &str, how: How, seconds: u64) -> Result<ExitCode, LakeError> {
    let lake = Lake::open(url).await?;
    let lease = Lease::take(&lake.store, seconds).await?;
    let (mut batches, mut has_unreadable) = (0, false);
    while let Some(done) = commit_next(&lake, &lease, how).await? {
        batches += 1;
        println!("batch {}: {} segments, {} rows", done.batch, done.segments, done.rows);
        for (name, why) in &done.unreadable {
            eprintln!("warning: `{name}`: {why}");
            has_unreadable = true;
        }
    }
    lease.give_back(&lake.store).await?;
    if batches == 0 {
        println!("no new segments");
    }
    Ok(ExitCode::from(u8::from(has_unreadable)))
}
