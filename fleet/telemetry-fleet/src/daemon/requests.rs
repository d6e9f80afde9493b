//! Does what a collector asks of programs of this host, if it is allowed.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::daemon::allow::check;
use crate::daemon::live::Live;
use crate::daemon::settings::Settings;
use crate::daemon::watch::cut;
use crate::log;
use crate::remote::Asked;
use crate::wire::{Ask, Request};

/// How long a program may take.
const PROGRAM: Duration = Duration::from_secs(60);

/// How often a connection is tried if there is none: without one, no request comes.
const CONNECT: Duration = Duration::from_secs(5);

/// Does one request after the other, until the shipper stops.
pub(crate) async fn answer(
    live: Arc<Live>,
    settings: Arc<Mutex<Settings>>,
    mut requests: mpsc::Receiver<Asked>,
    mut stop: watch::Receiver<Option<Instant>>,
) {
    let now = || settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut problem = None;
    loop {
        let settings = now();
        if !settings.allow.is_empty() {
            let found = settings.to.probe().await.err().map(|error| error.to_string());
            if let Some(error) = found.as_ref().filter(|_| found != problem) {
                log::line(format_args!("warning: {error}; no requests come"));
            }
            problem = found;
        }
        let asked = tokio::select! {
            Some(asked) = requests.recv() => asked,
            _ = stop.wait_for(Option::is_some) => return,
            () = tokio::time::sleep(CONNECT) => continue,
        };
        let settings = now();
        let Request { ask, program, words, .. } = &asked.request;
        let what = format!("{} {words} of `{program}`", ask.word());
        let outcome = match check(&settings.allow, &asked.request) {
            Ok(()) => request(&live, &settings, &asked.request).await,
            Err(why) => Err(why),
        };
        let how = outcome.as_ref().map_or_else(|why| format!("not done: {why}"), |_| "done".to_owned());
        log::line(format_args!("the collector asked for {what}: {how}"));
        asked.reply(outcome).await;
    }
}

async fn request(live: &Arc<Live>, settings: &Settings, request: &Request) -> Result<String, String> {
    let Request { ask, program, words, .. } = request;
    let file = live.queue.spool.asked_dir().join("request.tel");
    let mut command = Command::new(&settings.command);
    command.arg("control");
    match ask {
        Ask::Set => &mut command,
        Ask::Reset => command.arg("--reset"),
        Ask::Flush => command.arg("--flush"),
        Ask::Snapshot => command.arg("--snapshot").arg(&file),
    };
    command.arg(program).args(words.split_whitespace());
    let said = run(command).await;
    if *ask != Ask::Snapshot {
        return said;
    }
    let (live, max_len) = (live.clone(), settings.max_len);
    let cut = tokio::task::spawn_blocking(move || {
        let sent =
            said.and_then(|_| send(&file, &live, max_len).map_err(|error| format!("the spool: {error}")));
        // There is none if the program did not answer.
        let _ = std::fs::remove_file(file);
        sent
    });
    cut.await.unwrap_or_else(|error| Err(error.to_string()))
}

/// Puts a snapshot into the spool.
fn send(file: &Path, live: &Live, max_len: u64) -> io::Result<String> {
    let (mut segments, mut events) = (0, 0);
    cut(file, live, live.queue.spool.asked_dir(), max_len, |segment| {
        (segments, events) = (segments + 1, events + segment.events);
        live.queue.add(segment)
    })?;
    Ok(format!("{segments} segments with {events} events are on the way"))
}

/// Runs a command. Returns what it says.
async fn run(mut command: Command) -> Result<String, String> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let output = match tokio::time::timeout(PROGRAM, command.output()).await {
        Ok(output) => output.map_err(|error| format!("cannot run `{program}`: {error}"))?,
        Err(_) => return Err(format!("the program did not answer for {} s", PROGRAM.as_secs())),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr).trim_start_matches("error: ").to_owned()),
    }
}
