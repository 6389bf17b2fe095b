package kubernetes

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// sentCredentials returns the user's credentials that are sent to a server that the block names.
func sentCredentials(r reader, config cty.Value) (all []remote.Program) {
	to := remote.Written(config, "host")
	if !remote.Elsewhere(to) {
		return nil
	}
	for _, argument := range []string{"token", "password"} {
		if remote.Written(config, argument) == "" {
			all = append(all, r.o.SentTo("host", to, "KUBE_"+strings.ToUpper(argument))...)
		}
	}
	if r.Is("in_cluster_config", "KUBE_IN_CLUSTER_CONFIG") {
		return append(all, remote.Sent("host", "the token of this pod", to))
	}
	file := r.Given("config_path", "KUBE_CONFIG_PATH")
	if file == "" {
		file = r.o.Getenv("KUBE_CONFIG_PATHS")
	}
	if v, ok := r.Value("config_paths"); ok && file == "" {
		file = strings.Join(slices.DeleteFunc(texts(v), r.o.FromProject), ", ")
	}
	if file != "" && !r.o.FromProject(file) {
		all = append(all, remote.Sent("host", "the login of "+file, to))
	}
	return all
}

// programs returns the programs that the block, or a kubectl configuration in the working directory, starts to get
// credentials. It also returns the user's files that such a configuration sends to the server that it names. All users
// of the configuration count, whichever is selected.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if config.IsNull() {
		return nil
	}
	r := reader{arguments.New(config, o), o}
	add := func(argument string, e *clientcmdapi.ExecConfig) {
		if e != nil {
			all = append(all, remote.Program{Argument: argument,
				Line: strings.Join(append([]string{e.Command}, e.Args...), " ")})
		}
	}
	if v, ok := r.Value("exec"); ok {
		add("exec", r.program(&settings{}, v))
	}
	all = append(all, sentCredentials(r, config)...)
	names := map[string][]string{}
	if v, ok := r.Value("config_path"); ok {
		names["config_path"] = []string{v.AsString()}
	}
	if v, ok := r.Value("config_paths"); ok {
		names["config_paths"] = texts(v)
	}
	for _, argument := range slices.Sorted(maps.Keys(names)) {
		for _, name := range names[argument] {
			if !o.FromProject(name) {
				continue
			}
			text, err := regular.Read(o.Path(name), regular.Record)
			if err != nil {
				continue // reported where it is needed
			}
			file, err := clientcmd.Load(text)
			if err != nil {
				continue
			}
			for _, user := range slices.Sorted(maps.Keys(file.AuthInfos)) {
				who := file.AuthInfos[user]
				add(argument, who.Exec)
				token := who.TokenFile
				if token != "" && !filepath.IsAbs(token) {
					token = filepath.Join(filepath.Dir(o.Path(name)), token)
				}
				if token != "" && o.Own(token) {
					all = append(all, remote.Program{Argument: argument, Line: "tokenFile: " + who.TokenFile,
						Token: true})
				}
			}
		}
	}
	return all
}
