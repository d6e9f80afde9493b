//! Reads the text of a condition.

use std::ops::Range;

use winnow::ascii::multispace0;
use winnow::combinator::{
    alt, cut_err, delimited, eof, fail, not, opt, preceded, repeat, separated, terminated,
};
use winnow::error::{ContextError, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::LocatingSlice;
use winnow::token::{any, take_while};

use super::error::Error;
use super::number::number;
use super::tree::{Comparison, Expr, Name, Number, Op, Operand};

/// The limits of a condition: bytes, and parentheses inside one another.
const MAX_LEN: usize = 4096;
const MAX_DEPTH: usize = 64;

const KEYWORDS: [&str; 6] = ["and", "or", "not", "in", "has", "contains"];

/// Reads a condition.
///
/// # Errors
/// If the text is not one.
pub(crate) fn parse(text: &str) -> Result<Expr, Error> {
    if text.len() > MAX_LEN {
        let message = format!("a condition of {} bytes, expected at most {MAX_LEN}", text.len());
        return Err(Error::new(text, MAX_LEN..MAX_LEN, message));
    }
    if let Some(at) = too_deep(text) {
        let message = format!("more than {MAX_DEPTH} parentheses inside one another");
        return Err(Error::new(text, at..at + 1, message));
    }
    let whole = terminated(or, (multispace0, cut_err(eof).context(expected("`and`, `or` or the end"))));
    let mut whole = preceded(multispace0, whole);
    whole.parse(LocatingSlice::new(text)).map_err(|error| {
        explained(text, "condition", error.offset(), error.inner()).help(help(text, error.offset()))
    })
}

/// Explains where a text is not what it should be.
pub(super) fn explained(text: &str, what: &str, at: usize, error: &ContextError) -> Error {
    let found = found_at(text, at);
    let expected = error.context().find_map(|context| match context {
        StrContext::Expected(value) => Some(value.to_string()),
        _ => None,
    });
    let expected = expected.map(|expected| format!(", expected {expected}")).unwrap_or_default();
    let message = match &text[found.clone()] {
        "" => format!("the {what} ends here{expected}"),
        word => format!("found `{word}`{expected}"),
    };
    Error::new(text, found, message)
}

pub(super) type Text<'t> = LocatingSlice<&'t str>;

pub(super) fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

/// Returns where parentheses are too deep inside one another.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().enumerate().find_map(|(at, byte)| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth > MAX_DEPTH).then_some(at)
    })
}

/// Returns the range of the word or the sign at a place, behind spaces.
fn found_at(text: &str, at: usize) -> Range<usize> {
    let rest = text[at..].trim_start();
    let start = text.len() - rest.len();
    let is_word = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.');
    let word = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
    let len = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
    start..start + len
}

/// Returns what was probably meant.
fn help(text: &str, at: usize) -> Option<String> {
    let rest = text[at..].trim_start();
    let help = match rest {
        _ if rest.starts_with("=") => "`==` compares",
        _ if rest.starts_with('&') => "write `and`",
        _ if rest.starts_with('|') => "write `or`",
        _ if rest.starts_with('!') => "write `not`",
        _ if rest.starts_with(['"', '\'']) => "a string ends with the quote that it begins with",
        _ => return None,
    };
    Some(help.to_string())
}

fn or(text: &mut Text<'_>) -> ModalResult<Expr> {
    let list: Vec<Expr> = separated(1.., and, keyword("or")).parse_next(text)?;
    Ok(one_or(list, Expr::Or))
}

fn and(text: &mut Text<'_>) -> ModalResult<Expr> {
    let list: Vec<Expr> = separated(1.., negated, keyword("and")).parse_next(text)?;
    Ok(one_or(list, Expr::And))
}

fn one_or(mut list: Vec<Expr>, many: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    match list.len() {
        1 => list.remove(0),
        _ => many(list),
    }
}

/// Any number of `not`, and what follows.
fn negated(text: &mut Text<'_>) -> ModalResult<Expr> {
    let nots: usize = repeat(0.., keyword("not")).parse_next(text)?;
    let inner = alt((in_parentheses, comparison)).parse_next(text)?;
    Ok(if nots.is_multiple_of(2) { inner } else { Expr::Not(Box::new(inner)) })
}

fn in_parentheses(text: &mut Text<'_>) -> ModalResult<Expr> {
    let close = cut_err(sign(")")).context(expected("`and`, `or` or `)`"));
    delimited(sign("("), cut_err(or), close).parse_next(text)
}

fn comparison(text: &mut Text<'_>) -> ModalResult<Expr> {
    let first = cut_err(operand).context(expected("a name")).parse_next(text)?;
    let after_first = *text;
    let Some((op, at)) = opt(preceded(multispace0, operator.with_span())).parse_next(text)? else {
        return match first {
            Operand::Name(subject) => {
                let at = subject.span.clone();
                Ok(Expr::Compare(Comparison { subject, op: Op::IsTrue, at, operands: Vec::new() }))
            }
            Operand::Text(..) | Operand::Number(_) => {
                cut_err(fail).context(expected("an operator")).parse_next(text)
            }
        };
    };
    let operands = match op {
        Op::In => delimited(
            cut_err(sign("(")).context(expected("`(` and a list")),
            separated(1.., cut_err(operand).context(expected("a value")), sign(",")),
            cut_err(sign(")")).context(expected("`,` or `)`")),
        )
        .parse_next(text)?,
        _ => vec![cut_err(operand).context(expected("a value")).parse_next(text)?],
    };
    match (first, &operands[..], op.exchanged()) {
        (Operand::Name(subject), ..) => Ok(Expr::Compare(Comparison { subject, op, at, operands })),
        (value, [Operand::Name(name)], Some(op)) => {
            let subject = name.clone();
            Ok(Expr::Compare(Comparison { subject, op, at, operands: vec![value] }))
        }
        _ => {
            *text = after_first;
            cut_err(fail).context(expected("a comparison with a name")).parse_next(text)
        }
    }
}

fn operator(text: &mut Text<'_>) -> ModalResult<Op> {
    let equal = alt((sign("==").value(Op::Equal), sign("!=").value(Op::Unequal)));
    let or_equal = alt((sign("<=").value(Op::AtMost), sign(">=").value(Op::AtLeast)));
    let other = alt((
        sign("<").value(Op::Less),
        sign(">").value(Op::Greater),
        sign("~").value(Op::Matches),
        keyword("contains").value(Op::Contains),
        keyword("has").value(Op::Has),
        keyword("in").value(Op::In),
    ));
    { alt((equal, or_equal, other)) }.parse_next(text)
}

/// A sign behind spaces.
pub(super) fn sign<'t>(
    sign: &'static str,
) -> impl Parser<Text<'t>, &'t str, winnow::error::ErrMode<ContextError>> {
    preceded(multispace0, sign)
}

/// A keyword behind spaces.
fn keyword<'t>(word: &'static str) -> impl Parser<Text<'t>, &'t str, winnow::error::ErrMode<ContextError>> {
    preceded(multispace0, terminated(word, not(take_while(1, is_in_name))))
}

pub(super) fn is_in_name(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn operand(text: &mut Text<'_>) -> ModalResult<Operand> {
    preceded(multispace0, alt((quoted, backquoted, a_number, a_name))).parse_next(text)
}

pub(super) fn a_name(text: &mut Text<'_>) -> ModalResult<Operand> {
    let word =
        || (take_while(1, |char: char| char.is_alphabetic() || char == '_'), take_while(0.., is_in_name));
    let name = (word(), opt((":", word()))).take().verify(|name: &str| !KEYWORDS.contains(&name));
    let name = name
        .with_span()
        .map(|(text, span): (&str, _)| Operand::Name(Name { text: text.to_string(), is_param: false, span }));
    { name }.parse_next(text)
}

fn backquoted(text: &mut Text<'_>) -> ModalResult<Operand> {
    let name = delimited("`", take_while(1.., |char| char != '`'), "`").with_span();
    let name = name
        .map(|(text, span): (&str, _)| Operand::Name(Name { text: text.to_string(), is_param: true, span }));
    { name }.parse_next(text)
}

fn a_number(text: &mut Text<'_>) -> ModalResult<Operand> {
    let digits = (
        take_while(1, |char: char| char.is_ascii_digit()),
        take_while(0.., |char: char| is_in_name(char) || char == '.'),
    );
    let sign = opt("-");
    let known = (sign, digits.take()).verify_map(|(sign, digits)| {
        let (digits, scale, is_time) = number(digits)?;
        Some((if sign.is_some() { -digits } else { digits }, scale, is_time))
    });
    let known = known
        .with_span()
        .map(|((digits, scale, is_time), span)| Operand::Number(Number { digits, scale, is_time, span }));
    { known }.parse_next(text)
}

fn quoted(text: &mut Text<'_>) -> ModalResult<Operand> {
    let string = alt((within('"'), within('\''))).with_span();
    { string }.map(|(text, span)| Operand::Text(text, span)).parse_next(text)
}

/// A string between quotes. `\` takes the meaning from quotes and itself.
fn within<'t>(quote: char) -> impl Parser<Text<'t>, String, winnow::error::ErrMode<ContextError>> {
    let escaped = preceded('\\', any).map(|char| match char {
        'n' => '\n',
        't' => '\t',
        char => char,
    });
    let plain = any.verify(move |char| *char != quote && *char != '\\');
    delimited(quote, repeat(0.., alt((escaped, plain))), quote)
}

#[cfg(test)]
mod tests {
    use super::{Error, parse};
    use crate::syntax::tree::{Expr, Op, Operand};

    fn sign(op: Op) -> &'static str {
        match op {
            Op::Equal => "==",
            Op::Unequal => "!=",
            Op::Less => "<",
            Op::AtMost => "<=",
            Op::Greater => ">",
            Op::AtLeast => ">=",
            Op::In => "in",
            Op::Has => "has",
            Op::Contains => "contains",
            Op::Matches => "~",
            Op::IsTrue => "",
        }
    }

    /// Prints a tree with all its parentheses.
    fn print(expr: &Expr) -> String {
        let list = |list: &[Expr], word: &str| {
            format!("({})", list.iter().map(print).collect::<Vec<_>>().join(word))
        };
        match expr {
            Expr::Or(all) => list(all, " or "),
            Expr::And(all) => list(all, " and "),
            Expr::Not(one) => format!("not {}", print(one)),
            Expr::Compare(one) => {
                let operands = one.operands.iter().map(|operand| match operand {
                    Operand::Name(name) => name.text.clone(),
                    Operand::Text(text, _) => format!("{text:?}"),
                    Operand::Number(number) => format!("{}e-{}", number.digits, number.scale),
                });
                let operands = operands.collect::<Vec<_>>().join(",");
                format!("{} {} {operands}", one.subject.text, sign(one.op)).trim_end().to_string()
            }
        }
    }

    #[test]
    fn trees() {
        let table = [
            ("size > 4096", "size > 4096e-0"),
            ("a or b and not c", "(a or (b and not c))"),
            ("not not a", "a"),
            ("(a or b) and c", "((a or b) and c)"),
            ("4096 < size", "size > 4096e-0"),
            ("-1.5 >= x", "x <= -15e-1"),
            ("why in (Full, 3,\"x\")", "why in Full,3e-0,\"x\""),
            ("thread == 'it\\'s'", "thread == \"it's\""),
            ("`and` == 1 and ordinal == 2 or notes", "((and == 1e-0 and ordinal == 2e-0) or notes)"),
            ("event == gc:TraceStart", "event == gc:TraceStart"),
            ("access has Write", "access has Write"),
            ("  a\n~ \"^x\"  ", "a ~ \"^x\""),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).map(|expr| print(&expr)).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn errors_name_their_place() {
        let table: &[(&str, &str, &str)] = &[
            ("", "", "the condition ends here, expected a name"),
            ("size >", "", "the condition ends here, expected a value"),
            ("size > > 4", ">", "found `>`, expected a value"),
            ("size = 4", "=", "found `=`, expected `and`, `or` or the end"),
            ("a && b", "&", "found `&`, expected `and`, `or` or the end"),
            ("a and", "", "the condition ends here, expected a name"),
            ("(a or b", "", "the condition ends here, expected `and`, `or` or `)`"),
            ("a in 5", "5", "found `5`, expected `(` and a list"),
            ("a in (5 6)", "6", "found `6`, expected `,` or `)`"),
            ("1 == 2", "=", "found `=`, expected a comparison with a name"),
            ("x == 5parsecs", "5parsecs", "found `5parsecs`, expected a value"),
            ("x == \"abc", "\"", "found `\"`, expected a value"),
            ("\"a\" contains x", "contains", "found `contains`, expected a comparison with a name"),
        ];
        for (text, place, message) in table {
            let Error { message: found, span, .. } = parse(text).unwrap_err();
            assert_eq!((&*found, &text[span]), (*message, *place), "{text:?}");
        }
    }

    #[test]
    fn long_and_deep_conditions_are_refused() {
        assert!(parse(&format!("{}a{}", "(".repeat(64), ")".repeat(64))).is_ok());
        assert!(parse(&format!("{}a{}", "(".repeat(65), ")".repeat(65))).is_err());
        assert!(parse(&format!("{}a", "not ".repeat(1000))).is_ok());
        assert!(parse(&format!("a == \"{}\"", "x".repeat(5000))).is_err());
    }
}
