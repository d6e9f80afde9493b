//! Signals that stop and reload.

use tokio::sync::mpsc;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Stop,
    Reload,
}

/// Returns what signals ask for, from now on.
pub(crate) fn signals() -> Result<mpsc::Receiver<Asked>, String> {
    let (to, from) = mpsc::channel(4);
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for (kind, asked) in [
            (SignalKind::terminate(), Asked::Stop),
            (SignalKind::interrupt(), Asked::Stop),
            (SignalKind::hangup(), Asked::Reload),
        ] {
            let to = to.clone();
            let mut signal = signal(kind).map_err(|error| format!("cannot wait for signals: {error}"))?;
            tokio::spawn(
                async move { while signal.recv().await.is_some() && to.send(asked).await.is_ok() {} },
            );
        }
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && to.send(Asked::Stop).await.is_ok() {}
    });
    Ok(from)
}
