//! Words of suggested command lines: a shell must read them back unchanged, whatever the names and values of files contain.

/// Quotes the text as one word of a shell, if it needs quotes. A quote inside is put between double quotes, so that the command line of the
/// dashboard, which has no backslash escapes, reads the word too.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@".contains(c);
    // zsh replaces `=word` at the start.
    let needs_none = !text.is_empty() && text.chars().all(plain) && !text.starts_with('=');
    if needs_none {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Quotes the text, even if it needs no quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// The words as a real shell splits the line; `None` where there is no shell.
    fn split(line: &str) -> Option<Vec<u8>> {
        Command::new("sh")
            .args(["-c", &format!("printf '%s\\0' {line}")])
            .output()
            .ok()
            .map(|output| output.stdout)
    }

    #[test]
    fn words_without_need_have_no_quotes() {
        for (text, word) in [
            ("demo/a-1", "demo/a-1"),
            ("close=Price", "close=Price"),
            ("my data", "'my data'"),
            ("it's", "'it'\"'\"'s'"),
            ("", "''"),
            ("=ls", "'=ls'"),
            ("~/a", "'~/a'"),
            ("$(touch x)", "'$(touch x)'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_gives_words_back(
            texts in proptest::collection::vec(prop_oneof!["[^\0]{0,20}", "[ -~\n\t]{0,20}", "['\"`$()\\\\;&|<>*?!#~{}\\[\\] \n=-]{0,20}"], 1..8)
        ) {
            let line: Vec<String> = texts.iter().map(|text| shell_word(text)).collect();
            match split(&line.join(" ")) {
                Some(words) => prop_assert_eq!(words, texts.iter().flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect::<Vec<u8>>()),
                None => eprintln!("skipped: no shell is there"),
            }
        }
    }
}
