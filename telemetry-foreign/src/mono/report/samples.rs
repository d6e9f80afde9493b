//! The code in which threads were sampled.

use hashbrown::HashMap;

use super::tally::Tally;
use crate::mono::text::Text;

/// The longest distance of a sample from the symbol of unmanaged code.
const LONGEST: u64 = 4096;

/// The percentage of hits that is worth a line.
const LEAST: f64 = 0.1;

/// The target of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Hit {
    Method(usize),
    Symbol(usize),
}

/// Appends the table of samples, if there are any.
pub(super) fn print(tally: &Tally, shows_all: bool, out: &mut Vec<u8>) {
    let all: u64 = tally.samples.all.iter().map(|(_, hits)| hits).sum();
    if all == 0 {
        return;
    }
    let mut code: Vec<(u64, u64, usize)> = Vec::new();
    for (index, method) in tally.methods.all.iter().enumerate() {
        let len = u64::try_from(method.len).unwrap_or_default();
        code.push((method.code, method.code.saturating_add(len), index));
    }
    code.sort_unstable();
    let mut symbols: Vec<(u64, usize)> =
        tally.symbols.iter().enumerate().map(|(index, (address, _))| (*address, index)).collect();
    symbols.sort_unstable();
    let mut index = HashMap::new();
    let mut hits: Vec<(Hit, u64)> = Vec::new();
    let (mut unmanaged, mut unresolved) = (0, 0);
    for (ip, count) in &tally.samples.all {
        let before = code[..code.partition_point(|(from, ..)| from <= ip)].last();
        let hit = match before.filter(|(_, end, _)| ip < end) {
            Some((.., method)) => Hit::Method(*method),
            None => {
                unmanaged += count;
                let before = symbols[..symbols.partition_point(|(from, _)| from <= ip)].last();
                let Some((_, symbol)) = before.filter(|(from, _)| ip - from < LONGEST) else {
                    unresolved += count;
                    continue;
                };
                Hit::Symbol(*symbol)
            }
        };
        let at = *index.entry(hit).or_insert(hits.len());
        match hits.get_mut(at) {
            Some((_, hits)) => *hits += count,
            None => hits.push((hit, *count)),
        }
    }
    // Of equal hits, methods come first.
    hits.sort_by_key(|(hit, hits)| (std::cmp::Reverse(*hits), matches!(hit, Hit::Symbol(_))));
    let percent = |hits: u64| 100.0 * hits as f64 / all as f64;
    out.text("\nStatistical samples summary\n\tSample type: cycles\n");
    for (what, hits) in
        [("Unmanaged hits:", unmanaged), ("Managed hits:", all - unmanaged), ("Unresolved hits:", unresolved)]
    {
        out.text(&format!("\t{what:<16} {hits:6} ({:4.1}%)\n", percent(hits)));
    }
    out.text(&format!("\t{:>6} {:>6} Method name\n", "Hits", "%"));
    for (hit, hits) in hits {
        let percent = percent(hits);
        if percent < LEAST && !shows_all {
            break;
        }
        out.text(&format!("\t{hits:6} {percent:6.2} "));
        match hit {
            Hit::Method(method) => out.bytes(tally.methods.all[method].name.as_deref().unwrap_or_default()),
            Hit::Symbol(symbol) => out.bytes(&tally.symbols[symbol].1),
        };
        out.text("\n");
    }
}
