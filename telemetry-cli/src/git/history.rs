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
    /// Time of the commit, in seconds since 1970.
    pub(crate) seconds: u64,
    /// First line of its message.
    pub(crate) subject: String,
    /// The path of the file from the root, in this revision.
    pub(crate) path: String,
    /// Id of its content; none if the revision removed it.
    blob: Option<String>,
}

/// The content of a file in a revision.
pub(crate) enum Content {
    Text(String),
    /// The revision removed it.
    Gone,
    /// The reason why it is not a registry.
    Unreadable(String),
}

/// The start of a revision in the output of `git log`.
const START: &str = "\u{1}";

impl GitFile {
    /// Returns the revisions that changed the file, oldest first, under any name that it had. It
    /// follows first parents, so that each revision was made from the one before. Changes that a
    /// merge brought belong to the merge.
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
        // With zeros between fields no field is quoted, and the user's settings have no effect.
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

    /// Returns the content, before a revision, of the file with another extension beside this one.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn sibling_before(
        &self,
        objects: &mut Objects,
        revision: &Revision,
        extension: &str,
    ) -> Result<Option<String>, Failure> {
        let sibling = std::path::Path::new(&revision.path).with_extension(extension);
        let name = format!("{}^:{}", revision.commit, sibling.display());
        // Each line is a request, so a name with a line end needs an id.
        let name = if name.contains('\n') { self.resolve(name.as_ref())? } else { Some(name) };
        let Some(name) = name else { return Ok(None) };
        Ok(objects.get(&name)?.text().unwrap_or_default())
    }
}

impl Objects {
    /// Passes the content of a file in some revisions to a function, by index.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn contents(
        &mut self,
        revisions: &[Revision],
        mut each: impl FnMut(usize, Content),
    ) -> Result<(), Failure> {
        for (index, revision) in revisions.iter().enumerate() {
            let content = match &revision.blob {
                None => Content::Gone,
                Some(id) => match self.get(id)?.text() {
                    Ok(Some(text)) => Content::Text(text),
                    Ok(None) => Content::Unreadable("no file in this clone".to_string()),
                    Err(why) => Content::Unreadable(why),
                },
            };
            each(index, content);
        }
        Ok(())
    }
}

/// Reads the output of `git log`: for each revision its head, the change of the file, and its path,
/// or both paths if it was renamed. Each field ends in a zero.
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
