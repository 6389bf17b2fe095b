package wire

import (
	"fmt"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

func TestEveryMethodExistsInTheProtocol(t *testing.T) {
	services := map[int]string{5: string(plugin5.File_plugin5_tombolo_plugin5_proto.Services().Get(0).FullName()),
		6: string(plugin6.File_plugin6_tombolo_plugin6_proto.Services().Get(0).FullName())}
	if want := (map[int]string{5: "tombolo.plugin5.Provider", 6: "tombolo.plugin6.Provider"}); fmt.Sprint(
		services) != fmt.Sprint(want) {
		t.Errorf("the proto services are %v, want %v", services, want)
	}
	for _, number := range Versions() {
		v := versions[number]
		methods := plugin6.File_plugin6_tombolo_plugin6_proto.Services().Get(0).Methods()
		if number == 5 {
			methods = plugin5.File_plugin5_tombolo_plugin5_proto.Services().Get(0).Methods()
		}
		known := map[string]bool{}
		for i := range methods.Len() {
			known[string(methods.Get(i).Name())] = true
		}
		for m := range serverMethods {
			if name := v.method(m); !known[name] {
				t.Errorf("version %d has no method %s", number, name)
			}
		}
		for name := range v.renamed {
			if known[name] {
				t.Errorf("version %d has a method %s, which is said to be called otherwise", number, name)
			}
		}
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	for _, v := range []int{0, 4, 7} {
		if _, err := NewClient(nil, v, Options{}); err == nil {
			t.Errorf("a client of version %d was made", v)
		}
		if _, err := NewServer(nil, v); err == nil {
			t.Errorf("a server of version %d was made", v)
		}
	}
}
