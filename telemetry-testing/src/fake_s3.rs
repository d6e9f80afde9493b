//! As much of S3 as shippers and committers use, with the faults that a real one has at times.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A server on a thread. It answers some requests wrongly: at random, or as a script says.
pub struct FakeS3 {
    /// Its address.
    pub endpoint: String,
    state: Arc<Mutex<State>>,
}

struct State {
    /// With the number of the write, which is the tag.
    objects: BTreeMap<String, (u64, Vec<u8>)>,
    writes: u64,
    random: u64,
    /// One in this number of requests fails; 0 is never.
    faults: u64,
    scripts: Vec<Script>,
    ignores_conditions: bool,
    /// How long each answer takes.
    delay: Duration,
    /// Requests that wait for their answers, and the most of them so far.
    waiting: usize,
    most_waiting: usize,
    /// Answers about objects with this in their names are held until this number of requests wait.
    /// [`UNTIL_RELEASED`] never do.
    held: (&'static str, usize),
    /// Told when they do.
    released: Arc<Condvar>,
}

/// The faults of the writes of one object.
struct Script {
    /// It is the first object that is written with this in its name.
    part: &'static str,
    name: Option<String>,
    /// Those of its next writes.
    faults: VecDeque<Fault>,
    /// Its requests since then, and the statuses of their answers.
    answers: Vec<String>,
}

/// What goes wrong with a request.
#[derive(Clone, Copy)]
pub enum Fault {
    /// Nothing.
    None,
    /// 503, not done.
    Slow,
    /// 409: another write of this name is in progress; not done.
    Conflict,
    /// 409: another write of the same bytes has just succeeded.
    Repeated,
    /// 412: another write of other bytes has just succeeded. They are made of those of this one.
    Taken(fn(&[u8]) -> Vec<u8>),
    /// Done, but the answer is lost.
    Lost,
    /// Done, and the answer is late.
    Late,
    /// Done, but there is no answer until the client gives up.
    Silent,
}

/// How long a late answer takes.
const LATE: Duration = Duration::from_millis(200);

/// How long answers are held in vain. It is less than the patience of a client, whose second try
/// would count as another request.
const HELD: Duration = Duration::from_secs(20);

/// More requests than wait at a time, and how long answers are held then.
const UNTIL_RELEASED: usize = usize::MAX;
const HELD_LONG: Duration = Duration::from_secs(300);

impl FakeS3 {
    /// Starts a server with the bucket `fleet`. One in `faults` requests fails; 0 is none.
    pub fn start(seed: u64, faults: u64) -> FakeS3 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            objects: BTreeMap::new(),
            writes: 0,
            random: seed | 1,
            faults,
            scripts: Vec::new(),
            ignores_conditions: false,
            delay: Duration::ZERO,
            waiting: 0,
            most_waiting: 0,
            held: ("", 0),
            released: Arc::default(),
        }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let state = shared.clone();
                std::thread::spawn(move || {
                    let _ = serve(connection, &state);
                });
            }
        });
        FakeS3 { endpoint, state }
    }

    /// Changes how often a request fails.
    pub fn set_faults(&self, faults: u64) {
        self.state.lock().unwrap().faults = faults;
    }

    /// Gives faults to the next writes of one object: the first that is written with `part` in its
    /// name.
    pub fn script(&self, part: &'static str, faults: &[Fault]) {
        let faults = faults.iter().copied().collect();
        let script = Script { part, name: None, faults, answers: Vec::new() };
        self.state.lock().unwrap().scripts.push(script);
    }

    /// Ends all scripts. Returns for each the name of its object, and the requests for that object
    /// with the statuses of their answers: `PUT 409, HEAD 404, PUT 200`.
    ///
    /// # Panics
    /// If a fault has not happened.
    pub fn scripted(&self) -> Vec<(String, String)> {
        let scripts = std::mem::take(&mut self.state.lock().unwrap().scripts);
        let ended = |Script { part, name, faults, answers }: Script| {
            let answers = answers.join(", ");
            assert!(faults.is_empty(), "{} faults of `{part}` have not happened: {answers}", faults.len());
            (name.unwrap_or_default(), answers)
        };
        scripts.into_iter().map(ended).collect()
    }

    /// Makes it overwrite objects although it is told not to.
    pub fn ignore_conditions(&self) {
        self.state.lock().unwrap().ignores_conditions = true;
    }

    /// Changes how long each answer takes.
    pub fn set_delay(&self, delay: Duration) {
        self.state.lock().unwrap().delay = delay;
    }

    /// Holds the answers about objects with `part` in their names, until `count` requests wait.
    pub fn hold(&self, part: &'static str, count: usize) {
        self.state.lock().unwrap().held = (part, count);
    }

    /// Holds the answers about objects with `part` in their names, until [`FakeS3::release`]. Give
    /// clients a patience of more than five minutes: they would try again.
    pub fn hold_all(&self, part: &'static str) {
        self.hold(part, UNTIL_RELEASED);
    }

    /// Gives the answers that are held.
    pub fn release(&self) {
        let mut state = self.state.lock().unwrap();
        state.held.1 = 0;
        state.released.notify_all();
    }

    /// Returns the number of requests that wait for their answers.
    pub fn waiting(&self) -> usize {
        self.state.lock().unwrap().waiting
    }

    /// Returns the most requests that waited for their answers at a time.
    pub fn most_waiting(&self) -> usize {
        self.state.lock().unwrap().most_waiting
    }

    /// Returns the names and bytes of all objects.
    pub fn objects(&self) -> Vec<(String, Vec<u8>)> {
        let objects = self.state.lock().unwrap().objects.clone();
        objects.into_iter().map(|(name, (_, bytes))| (name, bytes)).collect()
    }

    /// Stores an object, unless there is one of its name.
    pub fn put_if_absent(&self, name: &str, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        if !state.objects.contains_key(name) {
            state.put(name.to_owned(), bytes.to_vec());
        }
    }
}

impl State {
    fn put(&mut self, name: String, bytes: Vec<u8>) {
        self.writes += 1;
        self.objects.insert(name, (self.writes, bytes));
    }

    fn list(&self, prefix: &str) -> String {
        let of = |(name, (tag, bytes)): (&String, &(u64, Vec<u8>))| {
            let len = bytes.len();
            format!(
                "<Contents><Key>{name}</Key><LastModified>2025-01-01T00:00:00.000Z</LastModified>\
                 <ETag>\"{tag}\"</ETag><Size>{len}</Size></Contents>"
            )
        };
        let found: String =
            self.objects.iter().filter(|(name, _)| name.starts_with(prefix)).map(of).collect();
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>")
    }

    /// Notes an answer for the scripts.
    fn note(&mut self, method: &str, key: &str, status: &str) {
        for script in self.scripts.iter_mut().filter(|script| script.name.as_deref() == Some(key)) {
            script.answers.push(format!("{method} {}", &status[..3]));
        }
    }

    fn fault(&mut self, method: &str, key: &str) -> Fault {
        let is_next = |script: &&mut Script| {
            let is_name = |name: &String| name == key;
            !script.faults.is_empty() && script.name.as_ref().map_or(key.contains(script.part), is_name)
        };
        if method == "PUT"
            && let Some(script) = self.scripts.iter_mut().find(is_next)
            && let Some(fault) = script.faults.pop_front()
        {
            script.name = Some(key.to_owned());
            return fault;
        }
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let number = self.random >> 33;
        if self.faults == 0 || !number.is_multiple_of(self.faults) {
            return Fault::None;
        }
        let all = [Fault::Slow, Fault::Conflict, Fault::Lost, Fault::Late, Fault::Silent];
        all[(number / self.faults % all.len() as u64) as usize]
    }
}

/// Answers the requests of a connection.
fn serve(connection: TcpStream, shared: &Mutex<State>) -> io::Result<()> {
    let mut input = BufReader::new(connection.try_clone()?);
    let mut output = connection;
    loop {
        let mut request = String::new();
        if input.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let (mut len, mut is_conditional, mut tag, mut line) = (0, false, None, String::new());
        let mut wanted: Option<(usize, Option<usize>)> = None;
        while input.read_line(&mut line)? > 2 {
            let lower = line.to_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                len = value.trim().parse().unwrap();
            }
            if let Some(value) = lower.strip_prefix("if-match:") {
                tag = Some(value.trim().trim_matches('"').to_owned());
            }
            // A client asks so for the rest of an object whose bytes came too slowly.
            if let Some(value) = lower.strip_prefix("range: bytes=") {
                let parts = value.trim().split_once('-').map(|(first, last)| (first.parse(), last.parse()));
                wanted = parts.and_then(|(first, last)| Some((first.ok()?, last.ok())));
            }
            is_conditional |= lower.starts_with("if-none-match: *");
            line.clear();
        }
        let mut body = vec![0; len];
        input.read_exact(&mut body)?;
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let (key, query) = path.split_once('?').unwrap_or((path, ""));
        let key = key.trim_start_matches("/fleet/").replace("%3D", "=");
        let mut state = shared.lock().unwrap();
        state.waiting += 1;
        state.most_waiting = state.most_waiting.max(state.waiting);
        if state.ignores_conditions {
            (is_conditional, tag) = (false, None);
        }
        let (fault, mut range) = (state.fault(method, &key), String::new());
        if let Fault::Taken(other) = fault {
            state.put(key.clone(), other(&body));
        }
        let (status, answer) = match (method, fault) {
            (_, Fault::Slow) => ("503 Slow Down", Vec::new()),
            ("PUT", Fault::Conflict) => ("409 Conflict", Vec::new()),
            ("PUT", Fault::Repeated) => {
                state.put(key.clone(), body);
                ("409 Conflict", Vec::new())
            }
            ("PUT", _) if is_conditional && state.objects.contains_key(&key) => {
                ("412 Precondition Failed", Vec::new())
            }
            ("PUT", _) if tag.is_some() && tag != state.objects.get(&key).map(|(tag, _)| tag.to_string()) => {
                ("412 Precondition Failed", Vec::new())
            }
            ("PUT", _) => {
                state.put(key.clone(), body);
                ("200 OK", Vec::new())
            }
            ("GET", _) if query.contains("list-type=2") => {
                let prefix = query.split('&').find_map(|part| part.strip_prefix("prefix=")).unwrap_or("");
                ("200 OK", state.list(&prefix.replace("%2F", "/").replace("%3D", "=")).into())
            }
            // It names what to delete in its body.
            ("POST", _) => {
                let text = String::from_utf8(body).unwrap();
                let mut deleted = String::new();
                for key in text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()) {
                    state.objects.remove(key);
                    deleted += &format!("<Deleted><Key>{key}</Key></Deleted>");
                }
                let xmlns = "http://s3.amazonaws.com/doc/2006-03-01/";
                ("200 OK", format!("<DeleteResult xmlns=\"{xmlns}\">{deleted}</DeleteResult>").into())
            }
            (_, _) => match (state.objects.get(&key), wanted) {
                (Some((_, object)), None) => ("200 OK", object.clone()),
                (Some((_, object)), Some((first, last))) if first < object.len() => {
                    let end = last.map_or(object.len(), |last| object.len().min(last + 1));
                    range = format!("Content-Range: bytes {first}-{}/{}\r\n", end - 1, object.len());
                    ("206 Partial Content", object[first..end].to_vec())
                }
                (Some(_), Some(_)) => ("416 Range Not Satisfiable", Vec::new()),
                (None, _) => ("404 Not Found", Vec::new()),
            },
        };
        state.note(method, &key, status);
        let etag = state.objects.get(&key).map_or(0, |(tag, _)| *tag);
        if key.contains(state.held.0) {
            let released = state.released.clone();
            let are_few = |state: &mut State| state.waiting < state.held.1;
            let longest = if state.held.1 == UNTIL_RELEASED { HELD_LONG } else { HELD };
            state = released.wait_timeout_while(state, longest, are_few).unwrap().0;
            // All go on, also if one has waited in vain.
            state.held.1 = 0;
            released.notify_all();
        }
        let delay = state.delay;
        drop(state);
        std::thread::sleep(delay);
        // Before the answer: its client may send the next request at once.
        shared.lock().unwrap().waiting -= 1;
        match fault {
            Fault::Lost => return Ok(()),
            Fault::Late => std::thread::sleep(LATE),
            Fault::Silent => {
                let _ = input.fill_buf();
                return Ok(());
            }
            _ => {}
        }
        let len = answer.len();
        write!(
            output,
            "HTTP/1.1 {status}\r\nETag: \"{etag}\"\r\nLast-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\nContent-Length: {len}\r\n{range}\r\n"
        )?;
        if method != "HEAD" {
            output.write_all(&answer)?;
        }
        output.flush()?;
    }
}
