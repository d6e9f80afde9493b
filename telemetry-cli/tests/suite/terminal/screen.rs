//! The screen of a terminal, from the bytes that were written to it.

/// The lines of a terminal, without blanks at their ends, and the place of the cursor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    lines: Vec<Vec<char>>,
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// The usual screen, while the alternate one is shown.
    usual: Option<Box<Screen>>,
    pub(crate) hides_cursor: bool,
}

impl Screen {
    /// Interprets the complete sequences. An incomplete one at the end does not count yet.
    pub(crate) fn of(written: &[u8], columns: usize) -> Screen {
        let text = String::from_utf8_lossy(written);
        let mut screen = Screen::default();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '\r' => screen.column = 0,
                '\n' => screen.row += 1,
                '\x1b' => {
                    let Some((numbers, action)) = sequence(&mut chars) else { break };
                    screen.act(&numbers, action);
                }
                _ if char.is_control() => panic!("{char:?} in {text:?}"),
                _ => {
                    if screen.column == columns {
                        (screen.row, screen.column) = (screen.row + 1, 0);
                    }
                    let (row, column) = (screen.row, screen.column);
                    let line = screen.line(row);
                    line.resize(line.len().max(column + 1), ' ');
                    line[column] = char;
                    screen.column += 1;
                }
            }
        }
        screen
    }

    fn line(&mut self, row: usize) -> &mut Vec<char> {
        let len = self.lines.len().max(row + 1);
        self.lines.resize_with(len, Vec::new);
        &mut self.lines[row]
    }

    fn act(&mut self, numbers: &[usize], action: char) {
        let (row, column) = (self.row, self.column);
        match (action, numbers[0]) {
            ('H', to) => {
                self.row = to.max(1) - 1;
                self.column = numbers.get(1).map_or(0, |to| to.max(&1) - 1);
            }
            ('J', 2) => self.lines.clear(),
            ('h', 1049) => {
                let usual = std::mem::take(self);
                self.usual = Some(Box::new(usual));
            }
            ('l', 1049) => {
                let hides_cursor = self.hides_cursor;
                *self = *self.usual.take().expect("the alternate screen is shown");
                self.hides_cursor = hides_cursor;
            }
            ('h' | 'l', 25) => self.hides_cursor = action == 'l',
            ('A', up) => self.row -= up.max(1).min(row),
            ('B', down) => self.row += down.max(1),
            ('C', right) => self.column += right.max(1),
            ('D', left) => self.column -= left.max(1).min(column),
            ('K', 0) => self.line(row).truncate(column),
            ('K', 2) => self.line(row).clear(),
            ('J', 0) => {
                self.line(row).truncate(column);
                self.lines.truncate(row + 1);
            }
            // Colors, and the visibility of the cursor.
            ('m' | 'h' | 'l', _) => {}
            _ => panic!("a sequence that is not known: {numbers:?}{action}"),
        }
    }

    /// Returns true if the alternate screen is shown.
    pub(crate) fn is_alternate(&self) -> bool {
        self.usual.is_some()
    }

    /// Returns the visible text, without empty lines at the end.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| line.iter().collect()).collect();
        let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n").trim_end().to_string()
    }
}

/// Reads the numbers and the letter of a sequence, if it is complete.
fn sequence(chars: &mut std::str::Chars<'_>) -> Option<(Vec<usize>, char)> {
    assert_eq!(chars.next()?, '[', "a sequence that is not known");
    let mut numbers = vec![0];
    loop {
        match chars.next()? {
            '?' => {}
            ';' => numbers.push(0),
            char => match (char.to_digit(10), numbers.last_mut()) {
                (Some(digit), Some(last)) => *last = *last * 10 + digit as usize,
                _ => return Some((numbers, char)),
            },
        }
    }
}
