//! The program of the provider NAME. The first argument is the action. It needs only the standard library; with Cargo,
//! use serde_json instead of the functions at the end.

use std::io::Read;

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("the request cannot be read");
    let action = std::env::args().nth(1).unwrap_or_default();
    match action.as_str() {
        "data" => {
            let text = text(member(member(&input, "config"), "text"));
            println!("{{\"state\": {{\"label\": {}, \"bytes\": {}}}}}", quoted(&label(&text)), text.len());
        }
        "call" => println!("{{\"result\": {}}}", quoted(&label(&text(first(member(&input, "args")))))),
        _ => {
            eprintln!("there is no action {action}"); // the message for the user
            std::process::exit(1);
        }
    }
}

/// Returns a text with only lower-case letters, digits and hyphens.
fn label(text: &str) -> String {
    let mut out = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out
}

/// Returns the length of the JSON value at the beginning of a text.
fn length(json: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (i, c) in json.char_indices() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            if !quoted && depth == 0 {
                return i + 1;
            }
            continue;
        }
        match c {
            '"' => quoted = true,
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 0 => return i,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => return i,
            _ => continue,
        }
        if depth == 0 && !quoted {
            return i + 1;
        }
    }
    json.len()
}

/// Returns a member of a JSON object, or "" if there is none.
fn member<'a>(json: &'a str, name: &str) -> &'a str {
    let mut rest = json.trim_start().strip_prefix('{').unwrap_or("").trim_start();
    while rest.starts_with('"') {
        let (key, after) = rest.split_at(length(rest));
        let value = after.trim_start().strip_prefix(':').unwrap_or("").trim_start();
        let end = length(value);
        if text(key) == name {
            return &value[..end];
        }
        rest = value[end..].trim_start().strip_prefix(',').unwrap_or("").trim_start();
    }
    ""
}

/// Returns the first element of a JSON array.
fn first(json: &str) -> &str {
    let rest = json.trim_start().strip_prefix('[').unwrap_or("").trim_start();
    &rest[..length(rest)]
}

/// Returns the text of a JSON string.
fn text(json: &str) -> String {
    let mut units: Vec<u16> = Vec::new(); // escapes are UTF-16
    let mut chars = json.trim().trim_start_matches('"').chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '"' => break,
            '\\' => match chars.next().unwrap_or_default() {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => {
                    let code: String = chars.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&code, 16).unwrap_or(0xfffd));
                    continue;
                }
                other => other,
            },
            other => other,
        };
        units.extend(c.encode_utf16(&mut [0; 2]).iter());
    }
    String::from_utf16_lossy(&units)
}

/// Returns a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
