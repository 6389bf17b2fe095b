package diag_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/tombolo-iac/tombolo/diag"
)

// The Go error behind a problem is found in the error of its list, for every way to create a problem.
func TestErrorsOfListsWrapTheirCauses(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "main.tf", Err: fs.ErrNotExist}
	for how, list := range map[string]diag.List{
		"FromErr":        diag.FromErr(missing),
		"FromError":      diag.FromError("Cannot read", fmt.Errorf("load: %w", missing)),
		"Errorf":         diag.List{}.Errorf(nil, "Cannot read", "%s is missing: %s.", "main.tf", missing),
		"Because":        diag.List{}.Errorf(nil, "Cannot read", "It is missing.").Because(missing),
		"among others":   diag.Errorf("one").Extend(diag.FromErr(missing)).Extend(diag.Errorf("two")),
		"list in a list": diag.FromError("Cannot load", diag.FromErr(missing).Err()),
	} {
		err := fmt.Errorf("wrapped: %w", list.Err())
		var at *fs.PathError
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &at) || at.Path != "main.tf" {
			t.Errorf("%s: the cause is not found in %v", how, err)
		}
		if errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v is said to be canceled", how, err)
		}
	}
	if list := diag.FromError("Load", context.Canceled); !errors.Is(list.Err(), context.Canceled) ||
		list[0].Detail != "It was interrupted before it finished." {
		t.Errorf("got %v", list.Err())
	}
}
