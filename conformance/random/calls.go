package random

import (
	"slices"
	"strings"
)

var textMap, numberList, listOfLists = mapOf(textType), listOf(numberType), listOf(textList)

// functions are forms of calls whose results have the same type.
type functions struct {
	result *typ
	forms  string
}

// calls is the table of functions by the type of their results, one form per line: text in which {string},
// {list(string)} and so on are replaced by expressions of that type. {?string} may be null. Arguments that a function
// may refuse because of their value are constants. Functions that read files or clocks, or return random values, are
// not in the table.
var calls = []functions{
	{textType, `
		upper({string})
		lower({string})
		title({string})
		trimspace({string})
		chomp({string})
		strrev({string})
		indent(2, {string})
		trim({string}, "ax ")
		trimprefix({string}, {string})
		trimsuffix({string}, {string})
		replace({string}, "a", {string})
		replace({string}, "/[a-c]+/", "<$0>")
		substr({string}, 0, 2)
		substr({string}, -1, 1)
		join("-", {list(string)})
		join(",", {set(string)})
		format("%s/%03d/%t", {string}, 5, {bool})
		format("%v %#v %q", {number}, {list(string)}, {string})
		jsonencode({?any})
		jsonencode({?any})
		md5({string})
		sha1({string})
		sha256({string})
		sha512({string})
		base64sha256({string})
		base64encode({string})
		base64decode(base64encode({string}))
		urlencode({string})
		uuidv5("dns", {string})
		yamlencode({any})
		tostring({number})
		tostring({bool})
		try(regex("[a-z]+", {string}), "none")
		formatdate("YYYY-MM-DD", "2020-01-02T03:04:05Z")
		timeadd("2020-01-02T03:04:05Z", "10m")
		cidrhost("10.0.0.0/8", 5)
		cidrsubnet("10.0.0.0/8", 8, 3)
		cidrnetmask("10.0.0.0/12")
		basename({string})
		dirname({string})
		coalesce({?string}, "z")
		lookup({map(string)}, {string}, {string})
		element(["a", "b"], abs(floor({small})))
		coalesce(try(one({list(string)}), "many"), "none")
		nonsensitive({string})
		try(tostring({?any}), "no text")
		textdecodebase64(textencodebase64("é", "UTF-16LE"), "UTF-16LE")
	`},
	{numberType, `
		length({any-collection})
		length({string})
		abs({number})
		ceil({number})
		floor({number})
		max({number}, {number})
		min({number}, {number}, 3)
		max(concat({list(number)}, [0])...)
		pow(2, {small})
		signum({number})
		parseint("ff", 16)
		sum(concat({list(number)}, [0]))
		tonumber("1.5")
		try(index({list(string)}, "a"), -1)
		try(tonumber({string}), 0)
		log(8, 2)
		({number} % 3)
		({number} / 4)
	`},
	{boolType, `
		contains({list(string)}, {string})
		contains({set(string)}, {string})
		alltrue({list(bool)})
		anytrue({list(bool)})
		startswith({string}, {string})
		endswith({string}, {string})
		strcontains({string}, "a")
		tobool("true")
		issensitive({any})
		can(regex("^a", {string}))
		can(tonumber({?any}))
		({?any} == null)
		({?any} != null)
	`},
	{textList, `
		split(",", {string})
		sort({list(string)})
		sort({set(string)})
		keys({map(string)})
		values({map(string)})
		keys({any-object})
		distinct({list(string)})
		compact({list(string)})
		reverse({list(string)})
		slice(concat({list(string)}, ["y", "z"]), 0, 2)
		concat({list(string)}, {list(string)})
		flatten({list(list(string))})
		flatten([{string}, [{list(string)}]])
		tolist({set(string)})
		coalescelist({list(string)}, ["z"])
		formatlist("%s-%d", {list(string)}, 1)
		regexall("[a-z]", {string})
		try(matchkeys({list(string)}, {list(string)}, ["a"]), [])
		chunklist(concat({list(string)}, ["a"]), 2)[0]
		cidrsubnets("10.1.0.0/16", 4, 4)
		tolist(toset({list(string)}))
	`},
	{numberList, `
		range({small})
		range(3, 0)
		[for i, v in {list(string)} : i]
		({list(string)} == tolist([]) ? tolist([]) : tolist([1]))
	`},
	{listOfLists, `
		chunklist({list(string)}, 2)
		setproduct({list(string)}, ["a"])
	`},
	{textSet, `
		toset({list(string)})
		setunion({set(string)}, {set(string)})
		setintersection({set(string)}, ["a", "b"])
		setsubtract({set(string)}, {set(string)})
		toset(keys({map(string)}))
		toset({set(string)})
	`},
	{textMap, `
		merge({map(string)}, {map(string)})
		zipmap(["a", "b"], [{string}, {string}])
		tomap({ a = {string}, b = {string} })
		tomap({for k, v in {map(string)} : upper(k) => v})
		{for v in {set(string)} : v => v}
		{for i, v in {list(string)} : i => v}
		try(transpose({ a = {list(string)} })["a"], {})
		jsondecode("{\"a\":\"b\"}")
		merge({map(string)}, { c = {string} })
		yamldecode("a: b\nc: d\n")
		try(csvdecode("a,b\n1,2\n")[0], {})
		tomap(zipmap({list(string)}, {list(string)}))
	`},
}

// called returns a call of a function whose result has the type.
func (g *gen) called(sc scope, t *typ, may flags, depth int) *expr {
	i := slices.IndexFunc(calls, func(f functions) bool { return same(f.result, t) })
	if i < 0 {
		return nil
	}
	form := pick(g, strings.Split(strings.TrimSpace(calls[i].forms), "\n"))
	form = strings.TrimSpace(form)
	if !strings.HasPrefix(form, "jsonencode") {
		may &^= arbitrary
	}
	if strings.Contains(form, "zipmap({") { // of two lists, which may have different lengths
		return cat("try(", g.filled(sc, form, may, depth), ", {})")
	}
	return g.filled(sc, form, may, depth)
}

// holes are the types in forms of calls.
var holes = map[string]*typ{
	"string": textType, "number": numberType, "bool": boolType, "list(string)": textList, "set(string)": textSet,
	"map(string)":  textMap,
	"list(number)": numberList, "list(bool)": listOf(boolType), "list(list(string))": listOfLists,
}

// filled replaces the holes of a form by expressions. Other braces are kept.
func (g *gen) filled(sc scope, form string, may flags, depth int) *expr {
	e := cat()
	for form != "" {
		before, rest, open := strings.Cut(form, "{")
		name, after, closed := strings.Cut(rest, "}")
		var part *expr
		if open && closed {
			part = g.hole(sc, name, may, depth-1)
		}
		if part == nil {
			if open {
				before += "{"
			}
			e.parts = append(e.parts, before)
			form = rest
			continue
		}
		e.parts = append(e.parts, before, part)
		form = after
	}
	return e
}

func (g *gen) hole(sc scope, name string, may flags, depth int) *expr {
	bare := strings.TrimPrefix(name, "?")
	if bare == name {
		may &^= null
	}
	switch bare {
	case "any":
		return g.expr(sc, g.typ(2), may, depth)
	case "any-collection":
		return g.expr(sc, pick(g, []*typ{textList, {kind: set, elem: g.typ(1)}, mapOf(g.typ(1))}), may, depth)
	case "any-object":
		return g.expr(sc, &typ{kind: object, names: []string{"p", "q"}, parts: []*typ{g.typ(1), g.typ(1)}}, may, depth)
	case "small":
		return cat(pick(g, []string{"0", "1", "2", "3"}))
	}
	if t, ok := holes[bare]; ok {
		return g.expr(sc, t, may, depth)
	}
	return nil
}
