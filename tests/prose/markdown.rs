//! As much of Markdown as these checks need.

/// Prose that belongs together: a paragraph, or an item of a list.
#[derive(Clone)]
pub(crate) struct Paragraph {
    /// Lines with their numbers.
    pub(crate) lines: Vec<(usize, String)>,
}

impl Paragraph {
    /// Its sentences. A colon and a semicolon end one, too: what they join can stand alone.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let text: Vec<_> = self.lines.iter().map(|(_, line)| line.trim()).collect();
        let text = plain(&text.join(" "));
        let mut sentences = vec![String::new()];
        for word in text.split_whitespace() {
            let last = sentences.last_mut().expect("one");
            last.push_str(word);
            last.push(' ');
            if word.trim_end_matches([')', '"', '*', '_']).ends_with(['.', '?', '!', ':', ';']) {
                sentences.push(String::new());
            }
        }
        sentences
    }
}

/// All prose of a text: no headings, tables, or code.
pub(crate) fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut all: Vec<Paragraph> = Vec::new();
    let mut is_code = false;
    let mut continues = false;
    for (number, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") {
            is_code = !is_code;
            continues = false;
            continue;
        }
        if is_code || start.is_empty() || start.starts_with(['#', '|', '<']) {
            continues = false;
            continue;
        }
        let is_item = start.starts_with("- ")
            || start.starts_with("* ")
            || start.split_once(". ").is_some_and(|(n, _)| n.bytes().all(|byte| byte.is_ascii_digit()));
        let line = (number + 1, line.to_string());
        match all.last_mut() {
            Some(last) if continues && !is_item => last.lines.push(line),
            _ => all.push(Paragraph { lines: vec![line] }),
        }
        continues = true;
    }
    all
}

/// The comments of a Rust file that start with `sign`, each in its line: the other lines are
/// empty.
pub(crate) fn comments(text: &str, sign: &str) -> String {
    let comment = |line: &str| {
        let rest = line.trim_start().strip_prefix(sign)?;
        // `//` begins the other signs, too.
        (!rest.starts_with(['/', '!'])).then(|| format!("{rest}\n"))
    };
    text.lines().map(|line| comment(line).unwrap_or("\n".to_string())).collect()
}

/// The documentation strings of a Python file: those that are statements.
pub(crate) fn docstrings(text: &str) -> String {
    const QUOTES: &str = "\"\"\"";
    let mut is_inside = false;
    let line = |line: &str| {
        let line = line.trim_start();
        let begins = !is_inside && line.starts_with(QUOTES);
        let text = if is_inside || begins { line.replace(QUOTES, "") } else { String::new() };
        if is_inside || begins {
            is_inside ^= line.matches(QUOTES).count() % 2 == 1;
        }
        text + "\n"
    };
    text.lines().map(line).collect()
}

/// The values of `doc` in a registry, each a paragraph.
pub(crate) fn registry_docs(text: &str) -> Vec<Paragraph> {
    let line = |(number, line): (usize, &str)| {
        let docs = line.split("doc = \"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
        docs.map(|doc| Paragraph { lines: vec![(number + 1, doc.to_string())] }).collect::<Vec<_>>()
    };
    text.lines().enumerate().flat_map(line).collect()
}

/// The targets of links to files of the project, with the numbers of their lines.
pub(crate) fn links(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut is_code = false;
    for (number, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                all.push((number + 1, target.to_string()));
            }
        }
    }
    all
}

/// What a link to a heading says behind its `#`.
pub(crate) fn anchor(heading: &str) -> String {
    let text = plain(heading.trim_start_matches('#').trim()).to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Without code and the targets of links: a piece of code counts as one word.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for (number, piece) in text.split('`').enumerate() {
        match number % 2 {
            0 => plain.push_str(piece),
            _ => plain
                .push_str(&piece.replace(char::is_whitespace, "_").replace([';', ':', '.', '?', '!'], "")),
        }
    }
    let mut out = String::new();
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        out.push_str(before);
        out.push(']');
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out + rest
}
