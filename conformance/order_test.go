package conformance

import (
	"fmt"
	"strings"
)

// disorder returns the violations of rules for the order of operations in an event stream. Each rule is "ACTION ADDRESS
// < ACTION ADDRESS": the first must end before the second begins.
func disorder(rules []string, res Result) (wrong []string) {
	run, _ := res.run("step")
	begins, ends := moments(run.Stdout)
	for _, rule := range rules {
		first, second, _ := strings.Cut(rule, " < ")
		end, ended := ends[first]
		begin, begun := begins[second]
		switch {
		case !ended || !begun:
			wrong = append(wrong, fmt.Sprintf("%s: the first has ended: %t, the second has begun: %t", rule, ended,
				begun))
		case end > begin:
			wrong = append(wrong, rule+" does not hold")
		}
	}
	return wrong
}

// moments returns the line numbers in an event stream at which each operation begins and ends.
func moments(stream string) (begins, ends map[string]int) {
	begins, ends = map[string]int{}, map[string]int{}
	for i, line := range strings.Split(stream, "\n") {
		event, ok := decode(line).(map[string]any)
		if !ok {
			continue
		}
		hook, _ := event["hook"].(map[string]any)
		resource, _ := hook["resource"].(map[string]any)
		op := fmt.Sprintf("%v %v", hook["action"], resource["addr"])
		switch event["type"] {
		case "apply_start":
			begins[op] = i
		case "apply_complete":
			ends[op] = i
		}
	}
	return begins, ends
}
