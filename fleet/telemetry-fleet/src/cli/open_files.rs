//! The limit of open files.

/// Allows this process as many open files as the system does. A collector has one for each host. A
/// shipper has some for each program, and for each segment on the way.
pub(super) fn allow_many_files() -> Result<(), String> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit)
            .map_err(|error| format!("cannot allow more open files: {error}"))?;
    }
    Ok(())
}
