//! Logs of the Memory Pool System's telemetry, `mpsio.log`.
