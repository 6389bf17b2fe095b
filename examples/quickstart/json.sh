# JSON functions for the programs of this example, which include this file with ". json.sh".
#
# Other languages have JSON libraries; in the shell, a page of awk is sufficient.

# member NAME prints the text of a member of the JSON object in $request: "id", or "arguments.path" for one within another. It prints
# nothing when there is none.
member() {
	printf '%s\n' "$request" | LC_ALL=C awk -v want="$1" '
		{ text = text (NR > 1 ? "\n" : "") $0 }
		END { at = 1; value("") }

		# value parses the value at the current position; name is its path in the document.
		function value(name,    c, key, got) {
			space()
			c = substr(text, at, 1)
			if (c == "{") {
				at++; space()
				while (at <= length(text) && substr(text, at, 1) != "}") {
					key = word(); space(); at++
					value(name == "" ? key : name "." key)
					space(); if (substr(text, at, 1) == ",") at++
					space()
				}
				at++
			} else if (c == "\"") {
				got = word()
				if (name == want) printf "%s", got
			} else {
				while (at <= length(text) && substr(text, at, 1) !~ /[,}\]]/) at++
			}
		}

		function space() { while (substr(text, at, 1) ~ /^[ \t\r\n]$/) at++ }

		# word parses a quoted string with escapes.
		function word(    c, out) {
			at++
			while (at <= length(text) && (c = substr(text, at, 1)) != "\"") {
				if (c == "\\") {
					at++
					c = substr(text, at, 1)
					if (c == "n") c = "\n"
					else if (c == "t") c = "\t"
					else if (c == "r") c = "\r"
					else if (c == "u") { c = point(hex(substr(text, at + 1, 4))); at += 4 }
				}
				out = out c
				at++
			}
			at++
			return out
		}

		function hex(digits,    i, n) {
			for (i = 1; i <= 4; i++) n = n * 16 + index("0123456789abcdef", tolower(substr(digits, i, 1))) - 1
			return n
		}

		# point returns a code point as UTF-8.
		function point(n) {
			if (n < 128) return sprintf("%c", n)
			if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
			return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
		}
	'
}

# quoted prints its argument as a JSON string.
quoted() {
	printf '%s\n' "$1" | LC_ALL=C awk '
		NR > 1 { out = out "\\n" }
		{
			for (i = 1; i <= length($0); i++) {
				c = substr($0, i, 1)
				if (c == "\\" || c == "\"") out = out "\\" c
				else if (c == "\t") out = out "\\t"
				else if (c == "\r") out = out "\\r"
				else out = out c
			}
		}
		END { printf "\"%s\"", out }
	'
}

# fail ends the program with a message; the engine shows its standard error.
fail() {
	echo "$*" >&2
	exit 1
}
