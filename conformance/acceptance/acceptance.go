// Package acceptance runs acceptance tests of providers as their authors write them, with the published framework
// terraform-plugin-testing, unmodified. The framework runs the binary in TF_ACC_TERRAFORM_PATH as terraform. The tests
// in this package are of our provider `world`; suites.json lists third-party suites that `go test` runs from here, as
// dependencies of this module. The module is separate so that the main one has none of these dependencies. See the
// README of conformance.
package acceptance
