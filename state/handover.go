package state

import "encoding/json"

// Handover describes the move of an object to another state. It is the planned value of the intents of ActionMove, in
// both states.
type Handover struct {
	// From and To are the addresses of the object, each in its state.
	From string `json:"from"`
	To   string `json:"to"`
	// Source and Target name the states: the same state always has the same name.
	Source string `json:"source"`
	Target string `json:"target"`
	// Dir is the working directory in which the command was run, and Args are the arguments that finish the move there.
	Dir  string   `json:"dir"`
	Args []string `json:"args"`
}

// Encode returns the form that intents store.
func (h Handover) Encode() json.RawMessage {
	text, err := json.Marshal(h)
	if err != nil {
		panic("state: texts that are no JSON: " + err.Error())
	}
	return text
}

// Handover returns the handover in the intent of a move, or false for other intents.
func (i Intent) Handover() (Handover, bool) {
	var h Handover
	if i.Action != ActionMove || json.Unmarshal(i.Planned, &h) != nil {
		return Handover{}, false
	}
	return h, true
}
