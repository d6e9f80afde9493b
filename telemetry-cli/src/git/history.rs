//! The revisions of a file.

use std::ffi::OsStr;

use super::command::{git, os_string};
use super::file::GitFile;
use super::objects::Objects;
use crate::term::ended::Failure;

/// A revision that changed a file.
pub(crate) struct Revision {
    /// The commit's id.
    pub(crate) commit: String,
    /// When it was committed, in seconds since 1970.
    pub(crate) seconds: u64,
    /// First line of its message.
    pub(crate) subject: String,
    /// The file's path from the root, then.
    pub(crate) path: String,
    /// Id of what it holds; none if the revision removed it.
    blob: Option<String>,
}

/// What a revision has of a file.
pub(crate) enum Content {
    Text(String),
    /// The revision removed it.
    Gone,
    /// Why it is not a registry.
    Unreadable(String),
}

/// How `git log` begins a revision.
const START: &str = "\u{1}";

impl GitFile {
    /// The revisions that changed the file, oldest first, under whichever name it had: those on the line of
    /// first parents, so that each was made from the one before. What a merge brought is the merge's.
    ///
    /// # Errors
    /// If the clone is shallow, if no revision has the file, or if git fails.
    pub(crate) fn revisions(&self) -> Result<Vec<Revision>, Failure> {
        if self.is_shallow {
            return Err(Failure::new(format!(
                "the clone is shallow, and lacks revisions of `{}`; help: git fetch --unshallow",
                self.named.display()
            )));
        }
        // With zeros between fields, so that no field is quoted, and without the user's settings.
        if self.resolve("HEAD".as_ref())?.is_none() {
            return Err(self.in_no_revision());
        }
        let format = format!("--format={START}%H %ct %s");
        let options = "-c log.showRoot=true log --follow --first-parent -m --raw -z --no-abbrev --no-color --no-ext-diff \
                       --no-relative --no-show-signature --encoding=UTF-8";
        let mut args: Vec<&OsStr> =
            options.split(' ').filter(|word| !word.is_empty()).map(OsStr::new).collect();
        args.extend([format.as_ref(), "HEAD".as_ref(), "--".as_ref(), self.name.as_os_str()]);
        let output = git(&self.dir, args)?;
        let mut revisions = read(&output);
        if revisions.is_empty() {
            return Err(self.in_no_revision());
        }
        revisions.reverse();
        Ok(revisions)
    }

    fn in_no_revision(&self) -> Failure {
        Failure::new(format!("no revision has `{}`; help: `git commit` makes one", self.named.display()))
    }

    /// What each of some revisions has of the file, by index.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn contents(
        &self,
        revisions: &[Revision],
        mut each: impl FnMut(usize, Content),
    ) -> Result<(), Failure> {
        let mut objects = Objects::open(&self.dir)?;
        for (index, revision) in revisions.iter().enumerate() {
            let content = match &revision.blob {
                None => Content::Gone,
                Some(id) => match objects.get(id)?.text() {
                    Ok(Some(text)) => Content::Text(text),
                    Ok(None) => Content::Unreadable("no file in this clone".to_string()),
                    Err(why) => Content::Unreadable(why),
                },
            };
            each(index, content);
        }
        Ok(())
    }

    /// What stood, before a revision, in the file whose path was that of this one then, with another extension.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn sibling_before(
        &self,
        revision: &Revision,
        extension: &str,
    ) -> Result<Option<String>, Failure> {
        let sibling = std::path::Path::new(&revision.path).with_extension(extension);
        let mut spec = std::ffi::OsString::from(format!("{}^:", revision.commit));
        spec.push(sibling);
        let Some(id) = self.resolve(&spec)? else { return Ok(None) };
        Ok(Objects::open(&self.dir)?.get(&id)?.text().unwrap_or_default())
    }
}

/// What `git log` prints: for each revision its head, the change of the file, and its path, or both paths if
/// it was renamed; each ends in a zero.
fn read(output: &[u8]) -> Vec<Revision> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut fields = output.split(|byte| *byte == 0).peekable();
    let mut revisions = Vec::new();
    while let Some(head) = fields.next() {
        let head = text(head);
        let Some(head) = head.strip_prefix(START) else { continue };
        let Some(change) = fields.next_if(|field| field.starts_with(b"\n:")) else { continue };
        let change = text(change);
        let words: Vec<&str> = change.split_whitespace().collect();
        let [_, _, _, blob, status] = words[..] else { continue };
        let mut path = fields.next().unwrap_or_default();
        if status.starts_with(['R', 'C']) {
            path = fields.next().unwrap_or_default();
        }
        let mut words = head.splitn(3, ' ');
        revisions.push(Revision {
            commit: words.next().unwrap_or_default().to_string(),
            seconds: words.next().and_then(|word| word.parse().ok()).unwrap_or_default(),
            subject: words.next().unwrap_or_default().to_string(),
            path: os_string(path).display().to_string(),
            blob: (status != "D").then(|| blob.to_string()),
        });
    }
    revisions
}
