package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/state"
)

// Options holds the settings of a store. Only Driver is required.
type Options struct {
	Driver Driver
	// Rescue lists folders of this machine for the results of a run that can no longer reach the service. Nil means the
	// working directory and the folder for temporary files.
	Rescue []string
	// Journals is a folder of this machine for the journals of backends that cannot store them; "" means the first of
	// Rescue.
	Journals string
	// Answers is a folder of this machine for the stored results of programs; "" means that they are not stored.
	Answers string

	Files store.Files      // of this machine; nil means store.OS
	Now   func() time.Time // nil means time.Now
	NewID func() string    // nil means random UUIDs
	Who   string           // user@host, for locks
	// Cipher encrypts states and journals; nil leaves them unencrypted.
	Cipher *encryption.Cipher
	// Version is the version in lock information; "" means the version of the language.
	Version string
	// Commit is the commit of the working directory, for the history.
	Commit string

	// Beat is the interval between checks of the lock; 0 means ten seconds.
	Beat time.Duration
	// Timeout ends a call of the driver that makes no progress for this long; 0 means two minutes.
	Timeout time.Duration
	// Tries is how often a write with an unknown result is tried, with pauses that double; 0 means 6.
	Tries int
	// Pause is the first pause; 0 means one second.
	Pause time.Duration
}

// Store is a state.Store on a driver.
type Store struct{ o Options }

// New returns a store. It sends no requests.
func New(o Options) *Store {
	if o.Rescue == nil {
		o.Rescue = store.RescueFolders(".")
	}
	if o.Journals == "" && len(o.Rescue) > 0 {
		o.Journals = o.Rescue[0]
	}
	if o.Files == nil {
		o.Files = store.OS{}
	}
	orElse(&o.Who, store.UserAndHost())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	orElse(&o.Version, state.LanguageVersion)
	orElse(&o.Beat, 10*time.Second)
	orElse(&o.Timeout, 2*time.Minute)
	orElse(&o.Tries, 6)
	orElse(&o.Pause, time.Second)
	return &Store{o}
}

func orElse[T comparable](v *T, usual T) {
	var zero T
	if *v == zero {
		*v = usual
	}
}

// Workspaces implements state.Store.
func (s *Store) Workspaces(ctx context.Context) ([]string, error) {
	ctx, cancel := progress.Within(ctx, s.o.Timeout)
	defer cancel()
	names, err := s.o.Driver.Workspaces(ctx)
	if errors.Is(err, ErrNoWorkspaces) {
		return nil, ErrNoWorkspaces
	}
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == state.DefaultWorkspace })
	slices.Sort(names)
	if _, named := NoDefault(s); named {
		return slices.Compact(names), nil
	}
	return append([]string{state.DefaultWorkspace}, slices.Compact(names)...), nil
}

// NoDefault reports whether a store has no default workspace, and returns the name of its only workspace if there is
// just one.
func NoDefault(st state.Store) (only string, yes bool) {
	s, ok := st.(*Store)
	if !ok {
		return "", false
	}
	if d, ok := s.o.Driver.(Naming); ok {
		return d.Named()
	}
	return "", false
}

// Workspace implements state.Store.
func (s *Store) Workspace(name string) (state.Workspace, error) {
	if err := state.CheckWorkspaceName(name); err != nil {
		return nil, err
	}
	place, err := s.o.Driver.Place(name)
	if err != nil {
		return nil, err
	}
	return &workspace{name: name, o: &s.o, place: place}, nil
}

// DeleteWorkspace implements state.Store.
func (s *Store) DeleteWorkspace(ctx context.Context, name string) error {
	if name == state.DefaultWorkspace {
		return errors.New("the default workspace cannot be deleted")
	}
	names, err := s.Workspaces(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("delete workspace %s: no workspace has that name", name)
	}
	ws, err := s.Workspace(name)
	if err != nil {
		return err
	}
	locked, err := ws.Lock(ctx, state.LockRequest{Info: state.LockInfo{Operation: state.OperationDeleteWorkspace}})
	if err != nil {
		return err
	}
	return locked.(state.Deleter).Delete()
}

// Close closes the driver.
func (s *Store) Close() error { return s.o.Driver.Close() }
