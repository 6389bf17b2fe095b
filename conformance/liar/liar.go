// Package liar holds tests in which a plugin answers wrongly, in one place at a time, to `terraform` and to Tombolo.
// All code of the package is test code.
//
// A scene is a configuration, what is applied to it first, and the command under which the plugin lies
// (scenes_test.go). A lie is what it puts into one field of one answer (lies_test.go). Every lie that fits the field is
// told in every scene, over both versions of the plugin protocol, by a provider that claims the legacy type system and
// by one that does not. The verdict is what comes of it: whether the command fails, and what the state holds then.
//
// verdicts.json holds terraform's verdicts, so that the tests need no terraform. Where Tombolo's differ, reasons.json
// says why. VERDICTS.md is the table for people: what is refused, call by call. By default a part of the table is
// compared, always the same. TOMBOLO_LIAR=all compares all of it, and every reason must be needed then; =0-200 compares
// the first 200 cases; =live asks the real program again, which has to say what is stored; =fill asks it about what is
// not stored yet. What is the same over both versions of the protocol is stored for version 6 and compared for both.
//
// Beside these, random lies put something wrong into one random place of an answer, identities, lists, actions and
// schemas included (random_test.go). Their verdicts are those of a newer terraform, in random.json, and the reasons for
// others in random_reasons.json. Those of OpenTofu are in random_tofu.json, with random_tofu_reasons.json.
//
//	TOMBOLO_LIAR=all go test -count=1 -timeout 60m ./conformance/liar
//
// What happens before the lie happens once for all lies of a scene, in a folder of which each case has a copy.
package liar
