// Package drivers tests Tombolo with programs that run `terraform`. All code of the package is test code.
//
// The library hashicorp/terraform-exec is used unmodified: every method and option is called in sessions
// (sessions_test.go) that run once with Tombolo under the name terraform, once under its own name, and once with the
// real terraform, if it is installed. The results of the library must be the same. A method or an option that no
// session calls fails the test, including new ones of later versions of the library.
//
// For programs that are not libraries (Terragrunt, Atlantis, old versions of terraform-exec) there are scripts in
// testdata with the commands that they run, and the expressions with which they parse the output.
// TestTheScriptsHoldForTerraform runs the same scripts with the real terraform, which verifies their expectations.
//
// Terratest, Atlantis and tf-summarize also run from their published sources (programs_test.go), each in a module of
// its own below this folder, if TOMBOLO_DRIVERS is "all" or the name of one. editor_test.go is a client of the language
// server terraform-ls, which is that on PATH or is compiled in the same way.
//
// The binary is the test binary itself under another name. Answers of the real terraform are stored in the user's cache
// directory; TOMBOLO_DRIVERS_CACHE=off disables that.
package drivers
