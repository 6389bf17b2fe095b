// Package acceptance runs acceptance tests of providers as their authors write them: with the published framework
// terraform-plugin-testing, unmodified, which drives a binary that it takes for terraform. Which one says
// TF_ACC_TERRAFORM_PATH. The tests in this package are of our provider `world`; suites.json lists suites of other
// people that `go test` runs from here, as this module requires them. It is its own module so that the main one
// has none of these dependencies. See the README of conformance.
package acceptance
