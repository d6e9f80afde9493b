//! A program that allocates: threads that make pages of text, and threads that index their words.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Some lines of text.
type Page = Vec<String>;

/// Indexes `pages` pages with `threads` pairs of threads, and returns the number of words.
pub(crate) fn work(threads: usize, pages: usize) -> usize {
    std::thread::scope(|scope| {
        let (done, indexes) = channel();
        for number in 0..threads {
            let (send, receive) = channel();
            let done = done.clone();
            // One thread allocates what another thread frees.
            scope.spawn(move || write(number as u64, pages, &send));
            scope.spawn(move || drop(done.send(index(&receive))));
        }
        drop(done);
        let mut all = BTreeMap::<String, usize>::new();
        for words in indexes {
            for (word, count) in words {
                *all.entry(word).or_default() += count;
            }
        }
        all.values().sum()
    })
}

fn write(seed: u64, pages: usize, send: &Sender<Page>) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut below = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    for _ in 0..pages {
        let mut page = Page::new();
        for _ in 0..20 {
            let mut line = String::new();
            for _ in 0..1 + below(12) {
                // Some words are frequent, most are rare.
                let rarity = 1 + below(5000);
                let word = below(rarity);
                line += &format!("word{word} ");
            }
            page.push(line);
        }
        if send.send(page).is_err() {
            return;
        }
    }
}

fn index(receive: &Receiver<Page>) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for page in receive {
        for word in page.iter().flat_map(|line| line.split_whitespace()) {
            *words.entry(word.to_string()).or_default() += 1;
        }
    }
    words
}
