//! Finds the paths in a source file that begin with `crate`, `super` or one of its own modules.

/// A path in a source file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) line: usize,
    /// From the crate's root on.
    pub(crate) path: Vec<String>,
}

/// All references of a file that is this module.
pub(crate) fn references(text: &str, module: &[String]) -> Vec<Reference> {
    let tokens = without_quotes(without_tests(tokens(text)));
    // The modules that the file declares: a path may begin with them.
    let declared: Vec<String> = tokens
        .windows(3)
        .filter(|three| three[0].text == "mod" && three[2].text == ";")
        .map(|three| three[1].text.clone())
        .collect();
    let mut found = Vec::new();
    // The modules inside of the file that are open, each with the depth of its braces.
    let (mut inner, mut depth) = (Vec::<(String, usize)>::new(), 0);
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inner.pop_if(|(_, outside)| *outside == depth);
            }
            "mod" if tokens.get(index + 2).is_some_and(|third| third.text == "{") => {
                inner.push((tokens[index + 1].text.clone(), depth));
            }
            _ => {}
        }
        let before = index.checked_sub(1).map_or("", |before| tokens[before].text.as_str());
        let then = tokens.get(index + 1).map_or("", |then| then.text.as_str());
        if before == "::" || before == "$" || before == "." || then != "::" {
            continue;
        }
        let mut here = module.to_vec();
        here.extend(inner.iter().map(|(name, _)| name.clone()));
        let mut base = match token.text.as_str() {
            "crate" => Vec::new(),
            "super" => here[..here.len().saturating_sub(1)].to_vec(),
            "self" => here,
            name if declared.iter().any(|declared| declared == name) => {
                let mut base = module.to_vec();
                base.push(name.to_string());
                base
            }
            _ => continue,
        };
        let mut at = index + 2;
        while tokens.get(at).is_some_and(|token| token.text == "super") {
            base.pop();
            at += 2;
        }
        collect(&tokens, &mut at, base, &mut found);
    }
    found
}

/// The paths that go on at a token: one, or a group of them in braces.
fn collect(tokens: &[Token], at: &mut usize, mut base: Vec<String>, found: &mut Vec<Reference>) {
    loop {
        let Some(token) = tokens.get(*at) else { return };
        if token.text == "{" {
            *at += 1;
            while tokens.get(*at).is_some_and(|token| token.text != "}") {
                collect(tokens, at, base.clone(), found);
                while tokens.get(*at).is_some_and(|token| token.text == ",") {
                    *at += 1;
                }
            }
            *at += 1;
            return;
        }
        let line = token.line;
        if token.text != "self" && token.text != "*" {
            base.push(token.text.clone());
        }
        *at += 1;
        if tokens.get(*at).is_some_and(|token| token.text == "::") {
            *at += 1;
            continue;
        }
        // A new name.
        if tokens.get(*at).is_some_and(|token| token.text == "as") {
            *at += 2;
        }
        return found.push(Reference { line, path: base });
    }
}

#[derive(Debug, Clone)]
struct Token {
    line: usize,
    text: String,
}

/// Names, `::`, and single signs, without comments, strings and characters.
fn tokens(text: &str) -> Vec<Token> {
    let bytes: Vec<char> = text.chars().collect();
    let (mut at, mut line, mut found) = (0, 1, Vec::new());
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    while at < bytes.len() {
        let (sign, next) = (bytes[at], bytes.get(at + 1).copied().unwrap_or(' '));
        let start = at;
        match (sign, next) {
            ('/', '/') => at = end_of_line(&bytes, at),
            ('/', '*') => at = end_of_comment(&bytes, at),
            ('"', _) => at = end_of_string(&bytes, at + 1),
            ('r', '"' | '#') if raw_string(&bytes, at + 1).is_some() => {
                at = raw_string(&bytes, at + 1).unwrap_or(at + 1)
            }
            ('b' | 'c', '"') => at = end_of_string(&bytes, at + 2),
            ('b', 'r') | ('c', 'r') if raw_string(&bytes, at + 2).is_some() => {
                at = raw_string(&bytes, at + 2).unwrap_or(at + 1)
            }
            // A character, not a lifetime.
            ('\'', '\\') => {
                at = bytes[at + 2..]
                    .iter()
                    .skip(1)
                    .position(|sign| *sign == '\'')
                    .map_or(at + 1, |end| at + 4 + end)
            }
            ('\'', _) if bytes.get(at + 2) == Some(&'\'') => at += 3,
            (':', ':') => {
                found.push(Token { line, text: "::".into() });
                at += 2;
            }
            (sign, _) if is_name(sign) => {
                while bytes.get(at).is_some_and(|sign| is_name(*sign)) {
                    at += 1;
                }
                found.push(Token { line, text: bytes[start..at].iter().collect() });
            }
            (sign, _) => {
                if !sign.is_whitespace() {
                    found.push(Token { line, text: sign.into() });
                }
                at += 1;
            }
        }
        at = at.clamp(start + 1, bytes.len());
        line += bytes[start..at].iter().filter(|sign| **sign == '\n').count();
    }
    found
}

fn end_of_line(text: &[char], at: usize) -> usize {
    text[at..].iter().position(|sign| *sign == '\n').map_or(text.len(), |len| at + len)
}

fn end_of_comment(text: &[char], at: usize) -> usize {
    let (mut depth, mut at) = (0, at);
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) if depth == 1 => return at + 2,
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

/// Behind the quote that ends a string.
fn end_of_string(text: &[char], mut at: usize) -> usize {
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// Behind a raw string whose signs `#`, or quote, begin here.
fn raw_string(text: &[char], at: usize) -> Option<usize> {
    let signs = text[at..].iter().take_while(|sign| **sign == '#').count();
    if text.get(at + signs) != Some(&'"') {
        return None;
    }
    let body = at + signs + 1;
    let is_end = |&end: &usize| {
        text[end] == '"' && text[end + 1..].iter().take(signs).filter(|sign| **sign == '#').count() == signs
    };
    (body..text.len()).find(is_end).map(|end| end + 1 + signs)
}

/// Leaves out what stands behind `#[cfg(test)]`, and anything like it that a test alone has.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_test = texts[at..].starts_with(&["#", "[", "cfg", "(", "test", ")", "]"])
            || texts[at..].starts_with(&["#", "[", "cfg", "(", "all", "(", "test"]);
        if !is_test {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        // The item: up to its end, a semicolon or the brace that closes its first one.
        let mut depth = 0;
        while at < tokens.len() {
            match texts[at] {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 && matches!(texts[at - 1], ";" | "}") {
                break;
            }
        }
    }
    kept
}

/// Leaves out the content of `quote!`. Its paths belong to the generated code.
fn without_quotes(tokens: Vec<Token>) -> Vec<Token> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_quote = tokens[at].text == "quote" && tokens.get(at + 1).is_some_and(|next| next.text == "!");
        kept.push(tokens[at].clone());
        at += 1;
        if !is_quote {
            continue;
        }
        at += 1;
        let mut depth = 0;
        while let Some(token) = tokens.get(at) {
            match token.text.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
    }
    kept
}

#[test]
fn references_are_found_where_they_are() {
    let check = |text: &str, expected: &[(usize, &str)]| {
        let module = ["room".to_string(), "file".to_string()];
        let found = references(text, &module);
        let found: Vec<_> = found.iter().map(|found| (found.line, found.path.join("::"))).collect();
        let found: Vec<_> = found.iter().map(|(line, path)| (*line, path.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("use crate::a::B;\nuse crate::{c, d::{E, self}};", &[(1, "a::B"), (2, "c"), (2, "d::E"), (2, "d")]);
    check("fn f() { super::g(crate::x::y) }", &[(1, "room::g"), (1, "x::y")]);
    check(
        "// crate::a\n/* crate::b /* */ crate::c */ \"crate::d\"; r#\"crate::\"e\"# ; 'x'; 'a: crate::f::g",
        &[(2, "f::g")],
    );
    check(r#"b"a\"b { crate::a"; use crate::c::D; b"\"";"#, &[(1, "c::D")]);
    check("macro_rules! m { () => { $crate::a::b } }", &[]);
    check("#[cfg(test)]\nmod tests { use crate::a::B; }\nuse crate::c::D;", &[(3, "c::D")]);
    check(
        "mod inner;\npub use inner::{A, B as C};",
        &[(2, "room::file::inner::A"), (2, "room::file::inner::B")],
    );
    check("fn f() { quote! { crate::#at::g(super::h) }; crate::a::b() }", &[(1, "a::b")]);
    check("use super::super::x::Y;", &[(1, "x::Y")]);
    check("mod inner { fn f() { super::g() } }\nuse super::H;", &[(1, "room::file::g"), (2, "room::H")]);
}
