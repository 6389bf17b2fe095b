package funcs

import "github.com/zclconf/go-cty/cty/function"

// describe returns the function with its description for tools that list functions. The descriptions of its parameters
// are not changed.
func describe(name string, f function.Function) function.Function {
	var params []string
	for _, p := range f.Params() {
		params = append(params, p.Description)
	}
	if p := f.VarParam(); p != nil {
		params = append(params, p.Description)
	}
	return f.WithNewDescriptions(descriptions[name], params)
}

var descriptions = map[string]string{
	"abs":          "Returns the absolute value of a number.",
	"abspath":      "Converts a path to an absolute path, without resolving symbolic links.",
	"alltrue":      "Reports whether all elements of a list are true. The result for an empty list is true.",
	"anytrue":      "Reports whether at least one element of a list is true. The result for an empty list is false.",
	"base64decode": "Decodes base64 to a string. The decoded bytes must be valid UTF-8.",
	"base64encode": "Encodes the UTF-8 form of a string as base64.",
	"base64gunzip": "Decodes base64 and decompresses the result with gzip.",
	"base64gzip":   "Compresses a string with gzip and encodes the result as base64.",
	"base64sha256": "Returns the base64-encoded SHA-256 hash of a string.",
	"base64sha512": "Returns the base64-encoded SHA-512 hash of a string.",
	"basename":     "Returns the last component of a path.",
	"bcrypt": "Hashes a password with bcrypt. The default cost is 10. Every call returns a different " +
		"hash.",
	"can":          "Reports whether an expression can be evaluated without an error.",
	"ceil":         "Rounds a number up to the next whole number.",
	"chomp":        "Removes newline characters from the end of a string.",
	"chunklist":    "Splits a list into lists of a given length. The last list may be shorter.",
	"cidrcontains": "Reports whether a network contains an IP address or another network.",
	"cidrhost": "Returns the IP address with a given host number in a network. Negative numbers count " +
		"from the end.",
	"cidrnetmask": "Returns the network mask of an IPv4 prefix in dotted decimal notation.",
	"cidrsubnet":  "Returns subnet number netnum of a network. Its prefix is newbits longer.",
	"cidrsubnets": "Returns consecutive subnets of a network. Each argument is the number of bits by which the " +
		"prefix of its subnet is longer.",
	"coalesce":         "Returns the first argument that is neither null nor an empty string.",
	"coalescelist":     "Returns the first argument that is not an empty list.",
	"compact":          "Removes nulls and empty strings from a list of strings.",
	"concat":           "Joins several lists into one.",
	"contains":         "Reports whether a list, tuple or set contains a value.",
	"convert":          "Converts a value to a type. The type is written as in a variable block.",
	"csvdecode":        "Decodes CSV to a list of objects with string attributes. The first line names the columns.",
	"dirname":          "Returns a path without its last component.",
	"distinct":         "Removes duplicate elements from a list and keeps the first of each.",
	"element":          "Returns the element at an index of a list. An index past the end wraps around.",
	"endswith":         "Reports whether a string ends with a given suffix.",
	"ephemeralasnull":  "Returns a value with each of its ephemeral parts replaced by null.",
	"file":             "Returns the content of a file. The content must be valid UTF-8.",
	"filebase64":       "Returns the base64-encoded content of a file.",
	"filebase64sha256": "Returns the base64-encoded SHA-256 hash of the content of a file.",
	"filebase64sha512": "Returns the base64-encoded SHA-512 hash of the content of a file.",
	"fileexists":       "Reports whether a file exists at a path. It is an error if the path is a directory.",
	"filemd5":          "Returns the MD5 hash of the content of a file in hexadecimal.",
	"fileset": "Returns the paths of the regular files under a directory that match a pattern. The paths " +
		"are relative to the directory.",
	"filesha1":   "Returns the SHA-1 hash of the content of a file in hexadecimal.",
	"filesha256": "Returns the SHA-256 hash of the content of a file in hexadecimal.",
	"filesha512": "Returns the SHA-512 hash of the content of a file in hexadecimal.",
	"flatten":    "Replaces nested lists in a list with their elements, at every depth.",
	"floor":      "Rounds a number down to the next whole number.",
	"format":     "Replaces each verb in a format string, such as %s, %d or %#v, with a formatted value.",
	"formatdate": "Converts an RFC 3339 timestamp to another format.",
	"formatlist": "Formats once for each element of its list arguments and returns the list of results.",
	"indent":     "Adds spaces to the beginning of every line except the first.",
	"index": "Returns the index of the first element of a list that equals a value. It is an error if " +
		"there is none.",
	"issensitive": "Reports whether a value is marked as sensitive.",
	"join":        "Joins strings with a separator between them.",
	"jsondecode":  "Decodes a JSON document.",
	"jsonencode":  "Encodes a value as JSON.",
	"keys":        "Returns the keys of a map, or the attribute names of an object, in lexical order.",
	"length":      "Returns the number of elements in a collection or characters in a string.",
	"list":        "No longer available; use tolist.",
	"log":         "Returns the logarithm of a number in a given base.",
	"lookup":      "Returns the element of a map with a given key, or the default if the map has no such key.",
	"lower":       "Converts a string to lower case.",
	"map":         "No longer available; use tomap.",
	"matchkeys": "Returns the elements of a list whose key, at the same index of a second list, is in a " +
		"third list.",
	"max":           "Returns the greatest of its arguments.",
	"md5":           "Returns the MD5 hash of a string in hexadecimal.",
	"merge":         "Merges maps or objects. If several have the same key, the last value is used.",
	"min":           "Returns the least of its arguments.",
	"nonsensitive":  "Returns a value without its sensitive mark. Nested values keep their own marks.",
	"one":           "Returns the only element of a list, or null if the list is empty.",
	"parseint":      "Parses a whole number in a given base from 2 to 62.",
	"pathexpand":    "Replaces a leading ~ in a path with the path of the home directory.",
	"plantimestamp": "Returns the time at which the plan was made, in RFC 3339 format.",
	"pow":           "Raises a number to a power.",
	"range":         "Returns a list of numbers from a start value up to a limit, in steps. The limit is not included.",
	"regex": "Returns the first match of a regular expression. If the expression has capture groups, the " +
		"result is a list or an object of their matches.",
	"regexall":        "Returns all matches of a regular expression.",
	"replace":         "Replaces all occurrences of a substring. A substring between slashes is a regular expression.",
	"reverse":         "Reverses a list.",
	"rsadecrypt":      "Decrypts a base64-encoded ciphertext with an RSA private key and PKCS #1 v1.5 padding.",
	"sensitive":       "Marks a value as sensitive, so that output does not show it.",
	"setintersection": "Returns the elements that are in all of the sets.",
	"setproduct":      "Returns all combinations of one element from each set.",
	"setsubtract":     "Returns the elements of one set that are not in another.",
	"setunion":        "Returns the elements that are in any of the sets.",
	"sha1":            "Returns the SHA-1 hash of a string in hexadecimal.",
	"sha256":          "Returns the SHA-256 hash of a string in hexadecimal.",
	"sha512":          "Returns the SHA-512 hash of a string in hexadecimal.",
	"signum":          "Returns -1, 0 or 1, depending on the sign of a number.",
	"slice":           "Returns the elements of a list from a start index up to an end index, which is not included.",
	"sort":            "Sorts strings by their Unicode code points.",
	"split":           "Splits a string at each occurrence of a separator.",
	"startswith":      "Reports whether a string starts with a given prefix.",
	"strcontains":     "Reports whether a string contains a given substring.",
	"strrev":          "Reverses the characters of a string.",
	"substr": "Returns the part of a string from an offset, up to a maximum length. With the length -1 it " +
		"returns the rest of the string.",
	"sum":              "Returns the sum of a list or set of numbers.",
	"templatefile":     "Reads a template from a file and renders it.",
	"templatestring":   "Renders a template from a value, such as an attribute of a data source.",
	"textdecodebase64": "Decodes base64-encoded text that is in a given character encoding.",
	"textencodebase64": "Encodes a string in a given character encoding and encodes the result as base64.",
	"timeadd":          "Adds a duration to an RFC 3339 timestamp.",
	"timecmp": "Compares two RFC 3339 timestamps. The result is -1 if the first is earlier, 0 if both are " +
		"the same instant, and 1 if the first is later.",
	"timestamp": "Returns the current time in RFC 3339 format. The result is unknown during planning.",
	"title":     "Converts the first letter of every word to upper case.",
	"tobool":    "Converts a value to bool.",
	"tolist":    "Converts a value to a list. All elements are converted to one type.",
	"tomap":     "Converts a value to a map. All elements are converted to one type.",
	"tonumber":  "Converts a value to a number.",
	"toset": "Converts a value to a set, which has no order and no duplicates. All elements are " +
		"converted to one type.",
	"tostring":   "Converts a value to a string.",
	"transpose":  "Swaps the keys and elements of a map of lists.",
	"trim":       "Removes all characters of a given set from both ends of a string.",
	"trimprefix": "Removes a prefix from a string, if the string starts with it.",
	"trimspace":  "Removes white space from both ends of a string.",
	"trimsuffix": "Removes a suffix from a string, if the string ends with it.",
	"try":        "Returns the first of its expressions that can be evaluated without an error.",
	"type": "Returns the type of a value. It is only available in the console, as the outermost call of " +
		"an expression.",
	"upper":     "Converts a string to upper case.",
	"urldecode": "Decodes a URL-encoded string.",
	"urlencode": "Encodes a string for use in the query of a URL.",
	"uuid":      "Returns a random UUID. The result is unknown during planning.",
	"uuidv5": "Returns the version 5 UUID of a name in a namespace. The namespace is dns, url, oid, x500 " +
		"or a UUID.",
	"values":     "Returns the values of a map, or of the attributes of an object, in the order of their keys.",
	"yamldecode": "Decodes a YAML document.",
	"yamlencode": "Encodes a value as YAML, in block style.",
	"zipmap":     "Returns a map made from a list of keys and a list of values.",
}
