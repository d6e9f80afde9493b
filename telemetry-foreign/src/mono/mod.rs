//! Logs of the Mono log profiler, `.mlpd`.
