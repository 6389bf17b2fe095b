package view

// style writes with or without colour.
type style struct{ on bool }

const (
	reset     = "\x1b[0m"
	bold      = "\x1b[1m"
	underline = "\x1b[4m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	cyan      = "\x1b[36m"
	gray      = "\x1b[90m"
)

// in returns a text in a style.
func (s style) in(code, text string) string {
	if !s.on || text == "" || code == "" {
		return text
	}
	return code + text + reset
}

// symbol returns the sign of an op.
func (s style) symbol(o op) string {
	switch o {
	case create:
		return s.in(green, "+")
	case update:
		return s.in(yellow, "~")
	case remove:
		return s.in(red, "-")
	}
	return " "
}
