//! Stores at `az://` and `gs://`, which are features.

use crate::ship::Host;

#[test]
#[cfg(not(all(feature = "azure", feature = "gcs")))]
fn a_build_without_a_store_says_so() {
    let host = Host::new();
    for (is_built, address, store, feature) in [
        (cfg!(feature = "azure"), "az://fleet/prod", "Azure", "azure"),
        (cfg!(feature = "gcs"), "gs://fleet/prod", "Google Cloud Storage", "gcs"),
    ] {
        if is_built {
            continue;
        }
        let run = host.ship(address);
        let wanted = format!(
            "error: `{address}` is not a store: this build has no client of {store}; help: install it with \
             `--features {feature}`; expected file:///DIR"
        );
        assert_eq!(run.code, Some(2));
        assert!(run.stderr.starts_with(&wanted), "{}", run.stderr);
    }
}

#[cfg(all(feature = "azure", feature = "gcs"))]
mod built {
    use std::collections::BTreeMap;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};

    use std::process::Command;

    use super::*;
    use crate::ship::said;

    /// A key that asks no service for a token.
    const KEY_FILE: &str =
        r#"{"private_key": "", "private_key_id": "", "client_email": "", "disable_oauth": true}"#;

    /// A server with the objects of a bucket by path.
    struct Server {
        endpoint: String,
        objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    }

    impl Server {
        /// Starts one that heeds the conditions of writes, or ignores them.
        fn start(heeds: bool) -> Server {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            let objects = Arc::<Mutex<BTreeMap<_, _>>>::default();
            let of_all = objects.clone();
            std::thread::spawn(move || {
                for connection in listener.incoming().map_while(Result::ok) {
                    let objects = of_all.clone();
                    std::thread::spawn(move || answer(connection, &objects, heeds));
                }
            });
            Server { endpoint, objects }
        }

        /// A shipper to this server.
        fn shipper(&self, host: &Host, spool: &str, address: &str) -> Command {
            let mut command = host.command(spool, address);
            command.env("AZURE_STORAGE_ENDPOINT", &self.endpoint).env("AZURE_ALLOW_HTTP", "true");
            command.env("AZURE_STORAGE_ACCOUNT_NAME", "account").env("AZURE_STORAGE_ACCOUNT_KEY", "a2V5");
            command.env("GOOGLE_BASE_URL", &self.endpoint).env("GOOGLE_ALLOW_HTTP", "true");
            command.env("GOOGLE_SERVICE_ACCOUNT_KEY", KEY_FILE);
            command
        }
    }

    /// The answer to a batch of one deletion.
    const DELETED: &str = "--b\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\n\
        HTTP/1.1 202 Accepted\r\n\r\n--b--\r\n";

    /// Answers requests of a connection to its end.
    fn answer(
        mut output: TcpStream,
        objects: &Mutex<BTreeMap<String, Vec<u8>>>,
        heeds: bool,
    ) -> std::io::Result<()> {
        let mut input = BufReader::new(output.try_clone()?);
        loop {
            let mut head = String::new();
            while input.read_line(&mut head)? > 2 {}
            let Some((method, rest)) = head.split_once(' ') else { return Ok(()) };
            let (method, head) = (method.to_lowercase(), head.to_lowercase());
            let path = rest.split([' ', '?']).next().unwrap_or_default().to_owned();
            let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let len = header("content-length:").map_or(0, |len| len.parse().unwrap());
            let mut bytes = vec![0; len];
            input.read_exact(&mut bytes)?;
            let creates =
                header("if-none-match:") == Some("*") || header("x-goog-if-generation-match:") == Some("0");
            let mut objects = objects.lock().unwrap();
            let (status, body) = match &*method {
                "put" if heeds && creates && objects.contains_key(&path) => ("412 Precondition Failed", None),
                "put" => {
                    objects.insert(path, bytes);
                    ("201 Created", None)
                }
                // Azure's client deletes in batches, here of one object.
                "post" => {
                    let body = String::from_utf8_lossy(&bytes);
                    let line = body.lines().find_map(|line| line.strip_prefix("DELETE ")).unwrap();
                    objects.remove(line.split(' ').next().unwrap());
                    ("202 Accepted\r\nContent-Type: multipart/mixed; boundary=b", Some(DELETED.into()))
                }
                "delete" => (objects.remove(&path).map_or("404 Not Found", |_| "202 Accepted"), None),
                _ => match objects.get(&path) {
                    Some(bytes) => ("200 OK", Some(bytes.clone())),
                    None => ("404 Not Found", None),
                },
            };
            drop(objects);
            let body = body.unwrap_or_default();
            write!(
                output,
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nETag: \"1\"\r\nx-goog-generation: 1\r\n\
                 Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\n\r\n",
                body.len()
            )?;
            if method != "head" {
                output.write_all(&body)?;
            }
        }
    }

    #[test]
    fn a_bucket_has_every_event_once() {
        for address in ["az://fleet/prod", "gs://fleet/prod"] {
            let (host, server) = (Host::new(), Server::start(true));
            for _ in 0..2 {
                // Two at once, and then again.
                let two =
                    ["spool", "other"].map(|spool| server.shipper(&host, spool, address).spawn().unwrap());
                for child in two {
                    let run = said(&child.wait_with_output().unwrap());
                    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{address}");
                }
                let objects = server.objects.lock().unwrap();
                for key in objects.keys() {
                    assert!(key.replace("%2F", "/").contains("fleet/prod/segments/day"), "{key}");
                }
                host.check(&objects.values().cloned().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_store_that_ignores_conditions_is_refused() {
        for address in ["az://fleet/prod", "gs://fleet/prod"] {
            let (host, server) = (Host::new(), Server::start(false));
            let run = said(&server.shipper(&host, "spool", address).output().unwrap());
            assert_eq!(run.code, Some(2));
            let wanted = format!("error: {address}: the store overwrites objects although it is told not to");
            assert!(run.stderr.starts_with(&wanted), "{}", run.stderr);
        }
    }
}
