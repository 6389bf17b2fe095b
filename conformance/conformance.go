// Package conformance holds one corpus of configurations that runs through both tombolo and the real terraform, and the
// harness that compares what the two did. It is black-box: two binaries, two temporary directories, the same steps, and
// after each step exit code, plan JSON, state files, outputs, diagnostics and the lines of text that scripts read have
// to be equal, once what must differ (ids, times, directories) has been given the same name on both sides.
//
// The corpus is testdata/<topic>/<case>.txtar; README.md describes its steps. All code of the package is test code:
//
//	case_test.go      one archive read into a Case
//	oracle_test.go    the programs that cases are compared with
//	run_test.go       a Case run with one binary, into a Record of everything it printed and left on disk
//	cache_test.go     Records of terraform kept between runs
//	view_test.go      a Record turned into a comparable Document
//	normal_test.go    the names that replace ids, lineages, times and directories
//	diff_test.go      two Documents compared, path by path
//	random_test.go    cases that package random writes, compared without being kept
//	intended_test.go  the list of differences that are meant, each with its reason
package conformance
