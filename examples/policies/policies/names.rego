# Names consist of lower-case letters. For Open Policy Agent.
package names

import rego.v1

verdict := {"deny": deny, "warn": warn}

deny contains {"address": change.address, "message": message} if {
	some change in input.resource_changes
	name := change.change.after.input.name
	not regex.match(`^[a-z]+$`, name)
	message := sprintf("%q is not a name of lower-case letters.", [name])
}

warn contains "Nothing has a name." if {
	not any_name
}

any_name if {
	some change in input.resource_changes
	change.change.after.input.name
}
