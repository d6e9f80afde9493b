//! Logs of GHC's eventlog.
