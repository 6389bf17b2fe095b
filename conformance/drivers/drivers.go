// Package drivers holds tests in which programs that drive `terraform` drive Tombolo. All code of the package is test
// code.
//
// The library hashicorp/terraform-exec is used as it is: every method and every option that it has is called, in
// sessions (sessions_test.go) that run once with Tombolo under the name terraform, once under its own name, and once
// with the real terraform, if there is one. What the library makes of the answers has to be the same. A method or an
// option that no session calls fails the test, also one that a later version of the library brings.
//
// Of programs that are not libraries (Terragrunt, Atlantis, old versions of terraform-exec) there are scripts in
// testdata: the commands that they run, and the expressions with which they read what is printed.
// TestTheScriptsHoldForTerraform runs the same scripts with the real terraform, so that what they expect is known to be
// what it does.
//
// The binary is the test binary itself under another name. Answers of the real terraform are kept in the user's cache
// directory; TOMBOLO_DRIVERS_CACHE=off asks it again.
package drivers
