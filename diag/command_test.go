package diag

import "testing"

func TestAdviceNamesTheProgramThatWasCalled(t *testing.T) {
	list := List(nil).Errorf(nil, "Module not installed", "It is missing.").Advise("Run \"%s\".", Run("init"))
	list = list.Errorf(nil, "Two ways", "It may exist.").
		Advise("Run one of:\n  %s\n  %s", Run("recover", "a.b[0]", "--retry"), Run("recover", "a.b[0]", "--forget"))
	list = list.Errorf(nil, "Nothing but advice", "").Advise("Run \"%s\".", Run("init", "-upgrade"))
	want := []string{
		`It is missing. Run "terraform init".`,
		"It may exist.\n\nRun one of:\n  terraform recover 'a.b[0]' --retry\n  terraform recover 'a.b[0]' --forget",
		`Run "terraform init -upgrade".`,
	}
	for i, d := range list.For("terraform") {
		if d.Detail != want[i] || d.Advice != nil {
			t.Errorf("got %q, want %q", d.Detail, want[i])
		}
	}
	if got, want := list[0].Error(), `Module not installed; It is missing. Run "tombolo init".`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	other := List(nil).Errorf(nil, "Locked", "Wait.").Advise("Use %s or %s.", Means("-wait"), Run("unlock"))
	if got := other.For("terraform")[0].Detail; got != "Wait. Use -wait or terraform unlock." {
		t.Errorf("got %q", got)
	}
	library := Words{Command: func(c Command) string { return "Run." + c.String() },
		Means: func(m Means) string { return "Options" + string(m) }}
	if got := other.In(library)[0].Detail; got != "Wait. Use Options-wait or Run.unlock." {
		t.Errorf("in the words of a library: %q", got)
	}
	if list[0].Detail != "It is missing." {
		t.Errorf("For changed the list that it was called on: %q", list[0].Detail)
	}
}
