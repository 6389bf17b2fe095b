// Package funcs has the function table of the language: the functions of Terraform 1.11, of later versions and of
// OpenTofu, and the functions of the built-in provider terraform.io/builtin/terraform.
//
// Table builds the table for one run; Options configures them (directories, times, whether results may be random). A
// table and its functions may be used by many goroutines concurrently. The evaluator resolves names of provider
// functions, and converts errors to diagnostics.
//
// Functions take and return marked values (internal/value). An error message never shows a marked argument: functions
// either omit the value from their text or, for texts of a library, the whole text (withheldErrors).
//
// conformance/testdata/console compares the results with those of Terraform. Known differences from Terraform 1.11.4 in
// calls with unknown arguments, all in cases in which Terraform is wrong, are in the table knownDifferences of the
// tests.
package funcs

import (
	"maps"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Options configures the functions. The zero value is usable: relative paths start at the process's working directory,
// and times and random results are real.
type Options struct {
	// BaseDir is the base of relative paths in filesystem functions. Empty means the working directory.
	BaseDir string
	// Home is the value of ~ in pathexpand and in paths of files. Empty means the user's home directory.
	Home string
	// PlanTime is the result of plantimestamp. The zero time makes it unknown, for validation.
	PlanTime time.Time
	// Pure makes the results of bcrypt, timestamp and uuid unknown, because they differ between planning and applying.
	Pure bool
	// Files, if set, records results of functions that read files, or compares them with the recorded ones.
	Files *FileRecord
	// Nonsensitive, if set, receives the results of the function nonsensitive.
	Nonsensitive func(cty.Value)
	// Work is the walk of the expressions that call the functions. It limits and can end them.
	Work *Work
	// Recursive lets templates render templates, even themselves.
	Recursive bool
	// ConsoleMode adds the function type, which only exists in the console, and removes plantimestamp.
	ConsoleMode bool
}

// Table returns all functions by name, each under its name and as core::NAME. The caller owns the map.
func Table(o Options) map[string]function.Function {
	plain := maps.Clone(fixedTable())
	for name, f := range ambientTable(o) {
		plain[name] = describe(name, f)
	}
	addTemplates(plain, o)

	table := make(map[string]function.Function, 2*len(plain))
	for name, f := range plain {
		table[name] = f
		table["core::"+name] = f
	}
	if o.Work != nil {
		table[workName] = o.Work.function()
	}
	return table
}

// ambientTable holds the functions that depend on Options, except those for templates, which need the table.
func ambientTable(o Options) map[string]function.Function {
	table := filesystemTable(o)
	table["bcrypt"] = bcryptFunc(o.Pure, o.Work)
	table["timestamp"] = timestampFunc(o.Pure, o.Work)
	table["uuid"] = uuidFunc(o.Pure, o.Work)
	table["nonsensitive"] = nonsensitiveFunc(o.Nonsensitive)
	if o.ConsoleMode {
		table["type"] = typeFunc
	} else {
		table["plantimestamp"] = planTimestampFunc(o.PlanTime)
	}
	return table
}

// fixedTable holds the functions that only depend on their arguments. It is built once in the process.
var fixedTable = sync.OnceValue(func() map[string]function.Function {
	table := map[string]function.Function{
		"abs":              writableNumbers(stdlib.AbsoluteFunc),
		"alltrue":          allTrueFunc,
		"anytrue":          anyTrueFunc,
		"base64decode":     base64DecodeFunc,
		"base64encode":     boundedText(base64EncodeFunc),
		"base64gunzip":     boundedText(base64GunzipFunc),
		"base64gzip":       base64GzipFunc,
		"base64sha256":     hashFunc(sha256Base64),
		"base64sha512":     hashFunc(sha512Base64),
		"can":              canFunc,
		"ceil":             writableNumbers(stdlib.CeilFunc),
		"chomp":            stdlib.ChompFunc,
		"chunklist":        stdlib.ChunklistFunc,
		"cidrcontains":     withheldErrors(cidrContainsFunc),
		"cidrhost":         writableArguments(withheldErrors(cidrHostFunc)),
		"cidrnetmask":      withheldErrors(cidrNetmaskFunc),
		"cidrsubnet":       writableArguments(withheldErrors(cidrSubnetFunc)),
		"cidrsubnets":      withheldErrors(cidrSubnetsFunc),
		"coalesce":         coalesceFunc,
		"coalescelist":     stdlib.CoalesceListFunc,
		"compact":          stdlib.CompactFunc,
		"concat":           stdlib.ConcatFunc,
		"contains":         containsFunc,
		"convert":          withheldErrors(convertFunc()),
		"csvdecode":        withheldErrors(csvDecodeFunc),
		"distinct":         distinctFunc,
		"element":          stdlib.ElementFunc,
		"endswith":         endsWithFunc,
		"ephemeralasnull":  ephemeralAsNullFunc,
		"flatten":          stdlib.FlattenFunc,
		"floor":            writableNumbers(stdlib.FloorFunc),
		"format":           boundedFormat(withheldErrors(stdlib.FormatFunc), false),
		"formatdate":       withheldErrors(stdlib.FormatDateFunc),
		"formatlist":       boundedFormat(withheldErrors(stdlib.FormatListFunc), true),
		"indent":           indentFunc,
		"index":            indexFunc,
		"issensitive":      isSensitiveFunc,
		"join":             joinFunc,
		"jsondecode":       writableNumbers(withheldErrors(jsonDecodeFunc)),
		"jsonencode":       boundedText(jsonEncodeFunc),
		"keys":             stdlib.KeysFunc,
		"length":           lengthFunc,
		"list":             retiredFunc("list", "tolist([ ... ])"),
		"log":              realNumber(stdlib.LogFunc),
		"lookup":           lookupFunc,
		"lower":            stdlib.LowerFunc,
		"map":              retiredFunc("map", "tomap({ ... })"),
		"matchkeys":        matchKeysFunc,
		"max":              writableNumbers(stdlib.MaxFunc),
		"md5":              hashFunc(md5Hex),
		"merge":            stdlib.MergeFunc,
		"min":              writableNumbers(stdlib.MinFunc),
		"one":              oneFunc,
		"parseint":         writableNumbers(withheldErrors(parseIntFunc)),
		"pow":              realNumber(stdlib.PowFunc),
		"range":            writableArguments(stdlib.RangeFunc),
		"regex":            withheldErrors(stdlib.RegexFunc),
		"regexall":         withheldErrors(regexAllFunc),
		"replace":          withheldErrors(replaceFunc),
		"reverse":          stdlib.ReverseListFunc,
		"rsadecrypt":       withheldErrors(rsaDecryptFunc),
		"sensitive":        sensitiveFunc,
		"setintersection":  setIntersectionFunc,
		"setproduct":       setProductFunc,
		"setsubtract":      setSubtractFunc,
		"setunion":         setUnionFunc,
		"sha1":             hashFunc(sha1Hex),
		"sha256":           hashFunc(sha256Hex),
		"sha512":           hashFunc(sha512Hex),
		"signum":           stdlib.SignumFunc,
		"slice":            stdlib.SliceFunc,
		"sort":             stdlib.SortFunc,
		"split":            splitFunc,
		"startswith":       startsWithFunc,
		"strcontains":      strContainsFunc,
		"strrev":           stdlib.ReverseFunc,
		"substr":           stdlib.SubstrFunc,
		"sum":              sumFunc,
		"textdecodebase64": withheldErrors(textDecodeBase64Func),
		"textencodebase64": withheldErrors(textEncodeBase64Func),
		"timeadd":          withheldErrors(stdlib.TimeAddFunc),
		"timecmp":          withheldErrors(timeCmpFunc),
		"title":            stdlib.TitleFunc,
		"tobool":           conversionFunc(cty.Bool),
		"tolist":           conversionFunc(cty.List(cty.DynamicPseudoType)),
		"tomap":            conversionFunc(cty.Map(cty.DynamicPseudoType)),
		"tonumber":         conversionFunc(cty.Number),
		"toset":            conversionFunc(cty.Set(cty.DynamicPseudoType)),
		"tostring":         conversionFunc(cty.String),
		"transpose":        transposeFunc,
		"trim":             stdlib.TrimFunc,
		"trimprefix":       stdlib.TrimPrefixFunc,
		"trimspace":        stdlib.TrimSpaceFunc,
		"trimsuffix":       stdlib.TrimSuffixFunc,
		"try":              tryFunc,
		"upper":            stdlib.UpperFunc,
		"urldecode":        boundedText(urlDecodeFunc),
		"urlencode":        boundedText(urlEncodeFunc),
		"uuidv5":           withheldErrors(uuidV5Func),
		"values":           stdlib.ValuesFunc,
		"yamldecode":       boundedText(writableNumbers(yamlDecodeFunc)),
		"yamlencode":       boundedText(yamlEncodeFunc),
		"zipmap":           stdlib.ZipmapFunc,
	}
	for name, f := range table {
		table[name] = describe(name, f)
	}
	return table
})

// param returns a parameter that accepts no nulls, unknown values or marks.
func param(name string, ty cty.Type) function.Parameter {
	return function.Parameter{Name: name, Type: ty}
}

// notNull refines the result of nearly all functions, so that the comparison of an unknown result with null is known.
func notNull(b *cty.RefinementBuilder) *cty.RefinementBuilder { return b.NotNull() }
