//! Docs of a registry as comments.

/// Columns of a comment.
const WIDTH: usize = 100;

/// Returns a comment of paragraphs. Each begins with its own indentation, which its further lines
/// have too, and two columns more if they belong to a list.
pub(crate) fn block(paragraphs: &[String]) -> String {
    let mut lines = Vec::new();
    for paragraph in paragraphs {
        let words = paragraph.trim_start();
        let indent = paragraph.len() - words.len();
        let hanging = if indent > 0 { indent + 2 } else { 0 };
        let mut line = " ".repeat(indent);
        for word in safe(words).split_whitespace() {
            if line.len() > hanging && line.trim_start().len() + indent + word.len() + 4 > WIDTH {
                lines.push(line);
                line = " ".repeat(hanging);
            }
            if !line.trim_start().is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    let joined: Vec<String> = lines.iter().map(|line| line.trim_end().to_string()).collect();
    format!("/* {} */\n", joined.join("\n * ").replace("\n * \n", "\n *\n"))
}

/// Returns a doc as one line that a comment can have: nothing ends or begins a comment in it, and
/// nothing is a trigraph.
pub(crate) fn safe(doc: &str) -> String {
    let doc = doc.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?");
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a doc as a sentence of its own.
pub(crate) fn sentence(doc: &str) -> String {
    let doc = doc.trim();
    if doc.is_empty() || doc.ends_with(['.', '!', '?']) { doc.to_owned() } else { format!("{doc}.") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn docs_cannot_leave_their_comment() {
        let check = |doc: &str, expected: &str| {
            assert_eq!(super::block(&[doc.to_owned()]), format!("/* {expected} */\n"));
        };
        check("a */ int x; /* b", "a * / int x; / * b");
        check("see https://example.org\n and more", "see https://example.org and more");
        check("what??/", "what? ?/");
        check("", "");
    }
}
