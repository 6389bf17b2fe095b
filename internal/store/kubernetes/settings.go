package kubernetes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// settings holds the settings from the block and the environment.
type settings struct {
	suffix, namespace string
	labels            map[string]string
	rest              *rest.Config

	secrets []string // hidden in messages
}

// reader reads values from a block or the environment and collects their problems.
type reader struct {
	arguments.Reader
	o remote.Surroundings
}

// texts returns the elements of a list.
func texts(v cty.Value) (all []string) {
	for it := v.ElementIterator(); it.Next(); {
		if _, e := it.Element(); !e.IsNull() {
			all = append(all, e.AsString())
		} else {
			all = append(all, "")
		}
	}
	return all
}

// pairs returns the elements of a map.
func pairs(v cty.Value) map[string]string {
	all := map[string]string{}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if all[k.AsString()] = ""; !e.IsNull() {
			all[k.AsString()] = e.AsString()
		}
	}
	return all
}

// numbered matches a suffix that could be that of a part of a state.
var numbered = regex.Lazy(`-[0-9]+$`)

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := reader{arguments.New(config, o), o}
	s := &settings{suffix: r.Given("secret_suffix"), namespace: r.Given("namespace", "KUBE_NAMESPACE")}
	if s.namespace == "" {
		s.namespace = "default"
	}
	switch {
	case s.suffix == "":
		r.Wrong("secret_suffix", "secret_suffix argument is required", "Set the argument secret_suffix of the backend "+
			"\"kubernetes\": the state is in the secret tfstate-WORKSPACE-SUFFIX.")
	case numbered().MatchString(s.suffix):
		r.Wrong("secret_suffix", "secret_suffix must not end with '-<number>'", "It is %q. The parts of large states "+
			"have such names.", s.suffix)
	case !secretName().MatchString(s.suffix) || len(s.suffix) > 63:
		r.Wrong("secret_suffix", "Invalid secret_suffix", "It is %q. Use only lower-case letters, digits and "+
			"hyphens, at most 63.", s.suffix)
	}
	if !secretName().MatchString(s.namespace) {
		r.Wrong("namespace", "Invalid namespace", "It is %q. Use only lower-case letters, digits and hyphens.",
			s.namespace)
	}
	if v, ok := r.Value("labels"); ok {
		s.labels = pairs(v)
	}
	r.connect(s)
	return s, r.Diags()
}

// connect determines how to reach the server. Arguments take precedence over kubectl configurations.
func (r reader) connect(s *settings) {
	var err error
	if r.Is("in_cluster_config", "KUBE_IN_CLUSTER_CONFIG") {
		s.rest, err = rest.InClusterConfig()
	} else {
		s.rest, err = r.files(s)
	}
	for _, name := range fileNames(s.rest) { // the client reads these files
		err = errors.Join(err, regular.CheckFile(name, regular.Note))
	}
	if err != nil {
		r.Wrong("", "The configuration of Kubernetes cannot be used", "%s. Set config_path, or "+
			"KUBE_CONFIG_PATH, to the configuration file of kubectl, or set host and token.", s.clean(err.Error()))
		return
	}
	c := s.rest
	c.UserAgent = "Tombolo/" + r.o.Version
	for to, from := range map[*string][2]string{&c.Host: {"host", "KUBE_HOST"}, &c.Username: {"username", "KUBE_USER"},
		&c.Password: {"password", "KUBE_PASSWORD"}, &c.BearerToken: {"token", "KUBE_TOKEN"}} {
		if v := r.Given(from[0], from[1]); v != "" {
			if *to = v; to == &c.BearerToken {
				c.BearerTokenFile = ""
			}
		}
	}
	for to, from := range map[*[]byte][2]string{&c.CAData: {"cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA"},
		&c.CertData: {"client_certificate", "KUBE_CLIENT_CERT_DATA"},
		&c.KeyData:  {"client_key", "KUBE_CLIENT_KEY_DATA"}} {
		if v := r.Given(from[0], from[1]); v != "" {
			*to = []byte(v)
		}
	}
	if r.Is("insecure", "KUBE_INSECURE") {
		c.Insecure, c.CAData, c.CAFile = true, nil, ""
	}
	s.hide()
}

// fileNames returns the files that a configuration names.
func fileNames(c *rest.Config) []string {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc([]string{c.CAFile, c.CertFile, c.KeyFile, c.BearerTokenFile},
		func(name string) bool { return name == "" })
}

// files reads the kubectl configurations.
func (r reader) files(s *settings) (*rest.Config, error) {
	var names []string
	if one := r.Given("config_path", "KUBE_CONFIG_PATH"); one != "" {
		names = []string{one}
	} else if v, ok := r.Value("config_paths"); ok {
		names = texts(v)
	} else if all := r.Getenv("KUBE_CONFIG_PATHS"); all != "" {
		names = filepath.SplitList(all)
	}
	for i, name := range names {
		name = r.Path(name)
		if err := judgeNamed(name); err != nil {
			return nil, err
		}
		names[i] = name
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: names}
	if len(names) == 1 {
		rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: names[0]}
	}
	rules.Warner = func(error) {}
	set := &clientcmd.ConfigOverrides{CurrentContext: r.Given("config_context", "KUBE_CTX")}
	set.Context.AuthInfo = r.Given("config_context_auth_info", "KUBE_CTX_AUTH_INFO")
	set.Context.Cluster = r.Given("config_context_cluster", "KUBE_CTX_CLUSTER")
	set.ClusterDefaults.ProxyURL = r.Given("proxy_url", "KUBE_PROXY_URL")
	if v, ok := r.Value("exec"); ok {
		set.AuthInfo.Exec = r.program(s, v)
	}
	if len(names) == 0 && r.Given("host", "KUBE_HOST") != "" {
		return direct(set)
	}
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, set).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("the address of the API server is not set")
	}
	return c, err
}

// judgeNamed refuses a kubectl configuration, and files that it names, if the client would wait for them or read them
// without end.
func judgeNamed(name string) error {
	if err := regular.CheckFile(name, regular.Record); err != nil {
		return err
	}
	text, err := regular.Read(name, regular.Record)
	if err != nil {
		return nil // reported where it is needed
	}
	file, err := clientcmd.Load(text)
	if err != nil {
		return nil
	}
	for _, inner := range namedIn(file) {
		if !filepath.IsAbs(inner) {
			inner = filepath.Join(filepath.Dir(name), inner)
		}
		if err := regular.CheckFile(inner, regular.Note); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// namedIn returns the files that a kubectl configuration names, for all its clusters and users.
func namedIn(file *clientcmdapi.Config) (names []string) {
	for _, key := range slices.Sorted(maps.Keys(file.Clusters)) {
		names = append(names, file.Clusters[key].CertificateAuthority)
	}
	for _, key := range slices.Sorted(maps.Keys(file.AuthInfos)) {
		who := file.AuthInfos[key]
		names = append(names, who.ClientCertificate, who.ClientKey, who.TokenFile)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// direct returns the configuration from the arguments alone, without files.
func direct(set *clientcmd.ConfigOverrides) (*rest.Config, error) {
	c := &rest.Config{ExecProvider: set.AuthInfo.Exec}
	if proxy := set.ClusterDefaults.ProxyURL; proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil || u.Host == "" {
			return nil, errors.New("proxy_url is not an address such as http://proxy.example.com:3128")
		}
		c.Proxy = http.ProxyURL(u)
	}
	return c, nil
}

// program returns the configuration of a program that gets credentials.
func (r reader) program(s *settings, v cty.Value) *clientcmdapi.ExecConfig {
	part := func(name string) cty.Value { return v.GetAttr(name) }
	e := &clientcmdapi.ExecConfig{APIVersion: part("api_version").AsString(), Command: part("command").AsString(),
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
	if a := part("args"); !a.IsNull() {
		e.Args = texts(a)
	}
	if a := part("env"); !a.IsNull() {
		for name, value := range pairs(a) {
			e.Env = append(e.Env, clientcmdapi.ExecEnvVar{Name: name, Value: value})
			s.secrets = append(s.secrets, value)
		}
	}
	return e
}

// hide collects the secrets that messages must not show.
func (s *settings) hide() {
	c := s.rest
	s.secrets = append(s.secrets, c.BearerToken, c.Password, url.QueryEscape(c.Password), string(c.KeyData),
		base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password)))
	for line := range strings.Lines(string(c.KeyData)) {
		s.secrets = append(s.secrets, strings.TrimSpace(line))
	}
	if u, err := url.Parse(c.Host); err == nil && u.User != nil {
		password, _ := u.User.Password()
		s.secrets = append(s.secrets, u.User.String(), password)
	}
}

// clean removes secrets from a text.
func (s *settings) clean(text string) string { return arguments.Hide(text, s.secrets) }
