//! A file in a git repository, and its content in revisions.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::command::{self, git, os_string};
use super::objects::{Object, Objects};
use crate::term::ended::Failure;

/// A file in a git repository, whether or not a revision has it.
pub(crate) struct GitFile {
    /// The path by which it was named.
    pub(super) named: PathBuf,
    /// Its directory, where git runs. So the repository is the innermost around it, such as a
    /// submodule.
    pub(super) dir: PathBuf,
    /// Its name in that directory.
    pub(super) name: OsString,
    /// Its path from the root of the repository.
    path: OsString,
    /// The clone has only the last revisions.
    pub(super) is_shallow: bool,
}

/// The content of a file in a revision.
pub(crate) struct Blob {
    /// Its name in git: `REV:PATH`.
    pub(crate) name: String,
    /// What the file holds.
    pub(crate) text: String,
}

impl GitFile {
    /// Finds the file of a path. The file may be missing now, but its directory must exist.
    ///
    /// # Errors
    /// If it is not in a repository, or git cannot be asked.
    pub(crate) fn find(named: &Path) -> Result<GitFile, Failure> {
        let file = on_disk(named)
            .map_err(|error| Failure::new(format!("cannot find `{}`: {error}", named.display())))?;
        let (Some(dir), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(Failure::new(format!("`{}` is not a file", named.display())));
        };
        // The prefix comes last, since it may contain a line end.
        let output = git(dir, ["rev-parse", "--is-shallow-repository", "--show-prefix"])?;
        let mut lines = output.splitn(2, |byte| *byte == b'\n');
        let is_shallow = lines.next() == Some(b"true");
        let prefix = lines.next().unwrap_or_default();
        let mut path = os_string(prefix.strip_suffix(b"\n").unwrap_or(prefix));
        path.push(name);
        let (named, dir, name) = (named.to_path_buf(), dir.to_path_buf(), name.to_os_string());
        Ok(GitFile { named, dir, name, path, is_shallow })
    }

    /// Returns the content of the file in a revision, or of another file if the text names one, as
    /// `REV:PATH` does.
    ///
    /// # Errors
    /// If the revision does not exist, or does not have the file.
    pub(crate) fn at(&self, revision: &str) -> Result<Blob, Failure> {
        let id = self.resolve(revision.as_ref())?.ok_or_else(|| self.no_revision(revision))?;
        let mut objects = self.objects()?;
        match objects.get(&id)? {
            Object::NoFile => {}
            // git accepts any complete id, even if there is no such object.
            Object::Missing => return Err(self.no_revision(revision)),
            file => return blob(revision.to_string(), file),
        }
        if self.resolve(format!("{id}^{{commit}}").as_ref())?.is_none() {
            let message =
                format!("`{revision}` is not a file in git; help: --against REV, or --against REV:PATH");
            return Err(Failure::new(message));
        }
        let mut spec = OsString::from(format!("{id}:"));
        spec.push(&self.path);
        let file = self.resolve(&spec)?.ok_or_else(|| self.not_there(revision, &id))?;
        blob(format!("{revision}:{}", self.path.display()), objects.get(&file)?)
    }

    /// Starts to read objects of the repository.
    ///
    /// # Errors
    /// If git cannot be run.
    pub(crate) fn objects(&self) -> Result<Objects, Failure> {
        Objects::open(&self.dir)
    }

    /// Returns the id of the object that a text names.
    pub(super) fn resolve(&self, spec: &OsStr) -> Result<Option<String>, Failure> {
        // After this argument, git accepts no options.
        if spec.as_encoded_bytes().first().is_none_or(|byte| *byte == b'-') {
            return Ok(None);
        }
        let args = [OsStr::new("rev-parse"), OsStr::new("--verify"), OsStr::new("--quiet"), spec];
        let output = match command::try_git(&self.dir, args)? {
            Ok(output) => output,
            // The message of git helps only those who know what was looked for.
            Err(_) => return Ok(None),
        };
        let id = String::from_utf8_lossy(&output).trim().to_string();
        Ok((!id.is_empty()).then_some(id))
    }

    /// Explains that git has nothing of a name.
    fn no_revision(&self, revision: &str) -> Failure {
        let file = self.named.display();
        if let Some((commit, path)) = revision.split_once(':')
            && matches!(self.resolve(commit.as_ref()), Ok(Some(_)))
        {
            return Failure::new(format!(
                "no file `{path}` in revision `{commit}`; help: paths are from the root of the repository"
            ));
        }
        let help = if self.is_shallow {
            "the clone is shallow: `git fetch --unshallow --tags` gets the other revisions".to_string()
        } else if let Some(outer) = self.outer() {
            format!("the file is in a submodule of `{outer}`, which has revisions of its own")
        } else {
            "`git fetch --tags` gets what others have".to_string()
        };
        Failure::new(format!(
            "`{revision}` is not a file, or a revision of the repository of `{file}`; help: {help}"
        ))
    }

    /// Explains that a revision does not have the file.
    fn not_there(&self, revision: &str, id: &str) -> Failure {
        let path = self.path.display();
        let help = match self.earlier_path(id) {
            Some(old) => format!("it was called `{old}` then: --against {revision}:{old}"),
            None => format!("name the one to compare with: --against {revision}:PATH"),
        };
        Failure::new(format!("no file `{path}` in revision `{revision}`; help: {help}"))
    }

    /// Returns the path of the file in a revision, if git knows it.
    fn earlier_path(&self, id: &str) -> Option<String> {
        let args = ["diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", id, "HEAD"];
        let output = command::try_git(&self.dir, args).ok()?.ok()?;
        let words: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
        let renamed = words.chunks_exact(3).find(|words| words[2] == self.path.as_encoded_bytes())?;
        Some(os_string(renamed[1]).display().to_string())
    }

    /// Returns the repository around this one, if this one is its submodule.
    fn outer(&self) -> Option<String> {
        let args = ["rev-parse", "--show-superproject-working-tree"];
        let output = command::try_git(&self.dir, args).ok()?.ok()?;
        let path = String::from_utf8_lossy(&output).trim().to_string();
        (!path.is_empty()).then_some(path)
    }
}

fn blob(name: String, object: Object) -> Result<Blob, Failure> {
    match object.text() {
        Ok(Some(text)) => Ok(Blob { name, text }),
        Ok(None) => Err(Failure::new(format!("`{name}` is not a file, expected a registry file"))),
        Err(why) => Err(Failure::new(format!("`{name}` is {why}, expected a registry file"))),
    }
}

/// Resolves links in the path of a file, since git stores a link and not the file that it leads to.
fn on_disk(named: &Path) -> std::io::Result<PathBuf> {
    match std::fs::canonicalize(named) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let dir = named.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let name = named.file_name().ok_or(error)?;
            Ok(std::fs::canonicalize(dir)?.join(name))
        }
        found => found,
    }
}
