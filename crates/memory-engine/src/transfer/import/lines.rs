//! Lines of any input, one at a time, none longer than a limit.

use std::io::{BufRead, Read, Result};

/// A line of a file may be this long, in bytes: a message of the greatest size with every character escaped fits.
pub(super) const LONGEST_LINE: usize = 32 << 20;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// It is in the buffer, without its end.
    Whole,
    /// It is longer than the limit and was passed over.
    TooLong,
}

/// Reads lines and counts them.
pub(super) struct Lines<R> {
    reader: R,
    longest: usize,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R, longest: usize) -> Self {
        Self { reader, longest, number: 0 }
    }

    /// The number of the line read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line into `buffer`; `None` at the end. A byte order mark at the start is left out.
    pub(super) fn next(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Line>> {
        buffer.clear();
        let most = u64::try_from(self.longest).unwrap_or(u64::MAX).saturating_add(1);
        if self.reader.by_ref().take(most).read_until(b'\n', buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let ended = buffer.last() == Some(&b'\n');
        if ended {
            buffer.pop();
            if buffer.last() == Some(&b'\r') {
                buffer.pop();
            }
        } else if buffer.len() > self.longest {
            self.reader.skip_until(b'\n')?;
            buffer.clear();
            return Ok(Some(Line::TooLong));
        }
        if self.number == 1 && buffer.starts_with(b"\xEF\xBB\xBF") {
            buffer.drain(..3);
        }
        Ok(Some(Line::Whole))
    }
}

/// How many lines there are, counted without keeping any.
pub(super) fn count(mut reader: impl BufRead) -> Result<u64> {
    let (mut lines, mut open) = (0, false);
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(lines + u64::from(open));
        }
        lines += buffer.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        open = buffer.last() != Some(&b'\n');
        let length = buffer.len();
        reader.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], longest: usize) -> Vec<(u64, Line, Vec<u8>)> {
        let mut lines = Lines::new(std::io::BufReader::with_capacity(3, input), longest);
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        while let Some(line) = lines.next(&mut buffer).unwrap() {
            found.push((lines.number(), line, buffer.clone()));
        }
        found
    }

    #[test]
    fn ends_of_every_kind_and_a_byte_order_mark() {
        let lines = all("\u{FEFF}一\r\n\n两\nlast".as_bytes(), 100);
        let texts: Vec<&str> = lines.iter().map(|(_, _, line)| std::str::from_utf8(line).unwrap()).collect();
        assert_eq!(texts, ["一", "", "两", "last"]);
        assert_eq!(lines.last().unwrap().0, 4);
    }

    #[test]
    fn an_overlong_line_is_passed_over_and_the_rest_is_read() {
        let lines = all(b"12345\n123456\n1234567890123\nab", 5);
        let kinds: Vec<Line> = lines.iter().map(|(_, line, _)| *line).collect();
        assert_eq!(kinds, [Line::Whole, Line::TooLong, Line::TooLong, Line::Whole]);
        assert_eq!(lines[3], (4, Line::Whole, b"ab".to_vec()));
        assert_eq!(all(b"1234567890", 5), [(1, Line::TooLong, Vec::new())]);
    }

    #[test]
    fn counting_agrees_with_reading() {
        for input in ["", "a", "a\n", "a\nb", "\n\n", "一\n二\n三"] {
            let counted = count(std::io::BufReader::with_capacity(2, input.as_bytes())).unwrap();
            assert_eq!(counted, all(input.as_bytes(), 100).len() as u64, "{input:?}");
        }
    }
}
