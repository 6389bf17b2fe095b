package gcs

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// fileKeys are the keys in credentials that name files for the client library to read.
var fileKeys = []string{"file", "output_file", "certificate_config_location", "trust_chain_path"}

// within returns the values of some keys anywhere in a JSON document, because credentials can contain credentials.
func within(v any, keys ...string) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			all = append(all, within(e, keys...)...)
		}
	case map[string]any:
		for key, e := range v {
			if text, ok := e.(string); ok && slices.Contains(keys, key) {
				all = append(all, text)
			} else {
				all = append(all, within(e, keys...)...)
			}
		}
	}
	slices.Sort(all)
	return all
}

// judgeNamed refuses files named by credentials that would make the client library wait or read without end.
func judgeNamed(credentials []byte) error {
	var v any
	if json.Unmarshal(credentials, &v) != nil {
		return nil // reported where it is needed
	}
	for _, name := range within(v, fileKeys...) {
		if err := regular.CheckFile(name, regular.Note); err != nil {
			return fmt.Errorf("they name a file that cannot be used: %w", err)
		}
	}
	return nil
}

// sentToAddress returns the data that goes to an address of the block instead of Google's: a token of the user, unless
// the directory contains the credentials, and the key of the objects.
func sentToAddress(r reader, config cty.Value, o remote.Surroundings) (all []remote.Program) {
	argument, to := "storage_custom_endpoint", remote.Written(config, "storage_custom_endpoint")
	if to == "" && o.Getenv("GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT") == "" &&
		o.Getenv("GOOGLE_STORAGE_CUSTOM_ENDPOINT") == "" {
		if domain := remote.Written(config, "universe_domain"); domain != "" {
			argument, to = "universe_domain", "storage."+domain
		}
	}
	if !remote.Elsewhere(to, universe) {
		return nil
	}
	given := remote.Written(config, "credentials")
	brought := given != "" && (r.content("credentials", given) == given || o.FromProject(given))
	if remote.Written(config, "access_token") == "" && !brought {
		all = append(all, remote.Sent(argument, "your token for Google Cloud", to))
	}
	const key = "GOOGLE_ENCRYPTION_KEY"
	if remote.Written(config, "encryption_key") == "" && o.Getenv(key) != "" {
		all = append(all, remote.Sent(argument, "the value of "+key, to))
	}
	return all
}

// programs returns the programs that credentials of the working directory start, and the user's files that they send to
// a token service that they name themselves.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if config.IsNull() {
		return nil
	}
	r := reader{arguments.New(config, o)}
	all = sentToAddress(r, config, o)
	given := r.Text("credentials")
	text := r.content("credentials", given)
	var v any
	if text != given && !o.FromProject(given) || json.Unmarshal([]byte(text), &v) != nil {
		return all
	}
	add := func(line string, token bool) {
		all = append(all, remote.Program{Argument: "credentials", Line: line, Token: token})
	}
	for _, command := range within(v, "command") {
		add(command, false)
	}
	for _, name := range within(v, fileKeys...) {
		if o.Own(name) {
			add("the content of "+name, true)
		}
	}
	return all
}
