package drivertest

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/provider"
)

// Variable is an environment variable that replaces an argument; OBJECT.NAME is an attribute of an object. Without an
// argument, the test only checks that the variable has an effect.
type Variable struct {
	Name, Argument string
	Value          string            // differs from the default; with the prefix Content, a file's content
	With           map[string]string // arguments that it needs, in addition to those of Settings
}

// Content begins a value that stands for the name of a file with the rest as its content.
const Content = "content:"

// Pair returns a certificate and its private key in PEM.
func Pair(t *testing.T) (certificate, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// inFile returns a value, or the name of a new file with its content.
func inFile(t *testing.T, value string) string {
	t.Helper()
	text, ok := strings.CutPrefix(value, Content)
	if !ok {
		return value
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Settings describes the settings of a backend.
type Settings struct {
	Schema *provider.Block
	More   map[string]*provider.Attribute // arguments that Terraform does not have
	Base   map[string]string              // required arguments
	// Others are variables that replace no argument, or that have their own tests.
	Others []string
	// Read returns the settings of a block and an environment as a comparable value.
	Read func(config cty.Value, o remote.Surroundings) (any, diag.List)

	asked map[string]bool // variables that were read
}

// Say checks that each of the variables has the same effect as its argument and changes the settings, that an argument
// takes precedence over its variable, and that all other variables that are read are in Others.
func (s Settings) Say(t *testing.T, all []Variable) {
	t.Helper()
	s.asked = map[string]bool{}
	known := append([]string{"", "HOME"}, s.Others...)
	for _, v := range all {
		known = append(known, v.Name)
		t.Run(v.Name, func(t *testing.T) {
			arguments := map[string]string{}
			maps.Copy(arguments, s.Base)
			maps.Copy(arguments, v.With)
			for name, value := range arguments {
				arguments[name] = inFile(t, value)
			}
			v.Value = inFile(t, v.Value)
			delete(arguments, v.Argument)
			none, _ := s.read(t, arguments, nil)
			env := map[string]string{v.Name: v.Value}
			variable, diags := s.read(t, arguments, env)
			if diags.HasErrors() {
				t.Errorf("with the variable: %v", diags.Err())
			}
			if reflect.DeepEqual(variable, none) {
				t.Errorf("the variable has no effect")
			}
			if v.Argument == "" {
				return
			}
			arguments[v.Argument] = v.Value
			argument, diags := s.read(t, arguments, nil)
			if diags.HasErrors() || !reflect.DeepEqual(argument, variable) {
				t.Errorf("%s gives %+v, the argument %+v, %v", v.Name, variable, argument, diags.Err())
			}
			env[v.Name] = "7"
			if both, _ := s.read(t, arguments, env); !reflect.DeepEqual(both, argument) {
				t.Errorf("beside the argument the variable gives %+v, it was %+v", both, argument)
			}
		})
	}
	for name := range s.asked {
		if !slices.Contains(known, name) {
			t.Errorf("%s is read, and is not in the table", name)
		}
	}
}

// Default checks that each of the arguments, set to the default that other programs document, does not change the
// settings.
func (s Settings) Default(t *testing.T, defaults map[string]string) {
	t.Helper()
	s.asked = map[string]bool{}
	without, diags := s.read(t, s.Base, nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for name, value := range defaults {
		arguments := maps.Clone(s.Base)
		arguments[name] = value
		if with, diags := s.read(t, arguments, nil); diags.HasErrors() || !reflect.DeepEqual(with, without) {
			t.Errorf("%s = %q gives %+v, and without it they are %+v, %v", name, value, with, without, diags.Err())
		}
	}
}

// read reads the settings from arguments and an environment.
func (s Settings) read(t *testing.T, arguments, env map[string]string) (any, diag.List) {
	t.Helper()
	values, attributes := map[string]cty.Value{}, map[string]*provider.Attribute{}
	maps.Copy(attributes, s.Schema.Attributes)
	maps.Copy(attributes, s.More)
	for name, a := range attributes {
		values[name] = cty.NullVal(a.ImpliedType())
	}
	for name, text := range arguments {
		outer, inner, inside := strings.Cut(name, ".")
		a := attributes[outer]
		if a == nil {
			t.Fatalf("there is no argument %s", outer)
		}
		ty, value := a.ImpliedType(), cty.StringVal(text)
		if inside {
			object := ty
			if ty.IsCollectionType() {
				object = ty.ElementType()
			}
			members := map[string]cty.Value{}
			for member, ty := range object.AttributeTypes() {
				members[member] = cty.NullVal(ty)
			}
			members[inner] = cty.StringVal(text)
			value = cty.ObjectVal(members)
		}
		if ty.IsCollectionType() {
			value = cty.ListVal([]cty.Value{value})
		}
		value, err := convert.Convert(value, ty)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		values[outer] = value
	}
	return s.Read(cty.ObjectVal(values), remote.Surroundings{Getenv: func(name string) string {
		s.asked[name] = true
		return env[name]
	}})
}
