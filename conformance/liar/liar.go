// Package liar tests `terraform` and Tombolo with a plugin that sends invalid responses, in one place at a time. All
// code of the package is test code.
//
// A scene is a configuration, the steps applied before it, and the command during which the plugin lies
// (scenes_test.go). A lie is an invalid value in one field of one response (lies_test.go). Every lie that fits the
// field is used in every scene, over both versions of the plugin protocol, by a provider that claims the legacy type
// system and by one that does not. The verdict is the result: whether the command fails, and the content of the state
// afterwards.
//
// verdicts.json holds terraform's verdicts, so that the tests need no terraform. Where Tombolo's differ, reasons.json
// has the reason. VERDICTS.md is a readable table of what is refused, by call. By default a fixed part of the table is
// compared. TOMBOLO_LIAR=all compares all of it, and every reason must be needed then; =0-200 compares the first 200
// cases; =live runs the real program again and compares with the stored verdicts; =fill runs it for missing verdicts.
// Verdicts that are the same over both versions of the protocol are stored for version 6 and compared for both.
//
// In addition, random lies change one random place of a response, including identities, lists, actions and schemas
// (random_test.go). Their verdicts are those of a newer terraform, in random.json, and the reasons for others in
// random_reasons.json. Those of OpenTofu are in random_tofu.json, with random_tofu_reasons.json.
//
//	TOMBOLO_LIAR=all go test -count=1 -timeout 60m ./conformance/liar
//
// The steps before the lie run once for all lies of a scene, in a directory that is copied for each case.
package liar
