//! `telemetry scrub`: writes a stream without the values of sensitive parameters.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use telemetry_decode::scrub::{Method, Scrub, Scrubbed};

use crate::input::inputs::{InputArgs, cannot_read};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::message::note;
use crate::term::output::OutputArgs;
use crate::term::progress::Step;
use crate::text::count;
use crate::text::path::display;

const EXAMPLES: &str = "\
The registry says which parameters are personal or secret. Everything else stays: the events, their times and
threads, positions in lanes, and losses. docs/sensitive.md describes what becomes of each type.

hash        a keyed hash of the same type; equal values stay equal, in all streams with the same key
truncate    the first characters of texts, the highest bits of numbers, as many as --keep says
drop        0, or nothing

Examples:
  telemetry scrub run.tel -o public.tel                                    drop all sensitive values
  head -c 16 /dev/urandom | od -An -tx1 | tr -d ' ' > key
  telemetry scrub --personal hash --key-file key run.tel -o public.tel     users can still be told apart";

/// What becomes of values.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodArg {
    Hash,
    Truncate,
    Drop,
}

impl From<MethodArg> for Method {
    fn from(method: MethodArg) -> Method {
        match method {
            MethodArg::Hash => Method::Hash,
            MethodArg::Truncate => Method::Truncate,
            MethodArg::Drop => Method::Drop,
        }
    }
}

/// Write streams without the values of sensitive parameters
#[derive(clap::Args)]
// What it would show is replaced, so the help does not offer it.
#[command(after_help = EXAMPLES, mut_arg("show_sensitive", |arg| arg.hide(true)))]
pub(crate) struct Args {
    /// What becomes of values that are personal
    #[arg(long, value_enum, value_name = "METHOD", default_value = "drop")]
    personal: MethodArg,

    /// What becomes of values that are secret
    #[arg(long, value_enum, value_name = "METHOD", default_value = "drop")]
    secret: MethodArg,

    /// File with the key of hashes: 32 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Characters, bytes or bits that `truncate` keeps
    #[arg(long, value_name = "N", default_value_t = 4)]
    keep: u32,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        if self.input.sensitive.show_sensitive {
            return Err(Failure::new(
                "found `--show-sensitive`, but this command replaces sensitive values; help: `telemetry convert --to \
                 telemetry --show-sensitive` copies a stream with them",
            ));
        }
        let how = self.how()?;
        let inputs = self.input.inputs()?;
        let reader = inputs.reader()?;
        if reader.is_of_logs() {
            return Err(Failure::new(format!(
                "{} is a log of another system, and no parameter of it is sensitive",
                inputs.names()
            )));
        }
        let mut output = self.output.open_stream(&inputs.paths())?;
        output.expect_no_terminal()?;
        let step = Step::new("replacing values");
        let scrubbed = output.write_with(|out| reader.scrub(&how, out));
        drop(step);
        let scrubbed = scrubbed?.map_err(cannot_read)?;
        output.finish()?;
        self.report(&scrubbed, context);
        Ok(())
    }
}

impl Args {
    /// Returns what becomes of values.
    fn how(&self) -> Result<Scrub, Failure> {
        let hashes = [self.personal, self.secret].contains(&MethodArg::Hash);
        let mut how = Scrub::default();
        (how.personal, how.secret, how.keep) = (self.personal.into(), self.secret.into(), self.keep);
        how.key = match (&self.key_file, hashes) {
            (Some(path), _) => read_key(path)?,
            (None, false) => how.key,
            (None, true) => {
                return Err(Failure::new(
                    "hashes need a key; help: `--key-file FILE` names a file of 32 hexadecimal digits",
                ));
            }
        };
        Ok(how)
    }

    fn report(&self, scrubbed: &Scrubbed, context: &mut Context) {
        note(format!(
            "replaced {} of {}",
            count(scrubbed.replaced, "value"),
            count(scrubbed.events, "event")
        ));
        if scrubbed.left_out > 0 {
            context.problem(format!("left out {} that could not be read", count(scrubbed.left_out, "event")));
        }
        if scrubbed.bytes_left_out > 0 {
            let bytes = count(scrubbed.bytes_left_out, "byte");
            context.problem(format!("left out {bytes} that are not a whole block"));
        }
    }
}

/// Reads a key of 32 hexadecimal digits.
fn read_key(path: &Path) -> Result<[u8; 16], Failure> {
    let text = std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read the key file {}: {error}", display(path))))?;
    let digits = text.trim_ascii();
    let mut key = [0; 16];
    let wrong = || {
        Failure::new(format!(
            "the key file {} has {} bytes, expected 32 hexadecimal digits; help: \
             `head -c 16 /dev/urandom | od -An -tx1 | tr -d ' '` makes some",
            display(path),
            digits.len()
        ))
    };
    if digits.len() != 32 {
        return Err(wrong());
    }
    for (byte, pair) in key.iter_mut().zip(digits.as_chunks::<2>().0) {
        let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
        let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else { return Err(wrong()) };
        *byte = high << 4 | low;
    }
    Ok(key)
}
