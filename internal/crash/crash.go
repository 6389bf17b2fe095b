// Package crash is the crash harness: it kills the engine and checks that nothing is lost. It contains only tests.
//
// The test binary runs itself as the engine (TestMain in main_test.go decides by the environment), on a copy of a
// project whose objects live in a fake world (package world). The world's ledger records the objects that really exist,
// whatever happens to the engine:
//
//	calls_test.go     SIGKILL at every call of the store, of an apply with all kinds of changes, and of recovery
//	moments_test.go   SIGKILL from outside at random moments of a large apply
//	signals_test.go   interrupts, a lost terminal and a closed output, through the command line
//	disk_test.go      full disks; locks of other processes
//
// After each of them the same invariants are checked (project_test.go): every existing object is in the state or
// reported as in flight; every operation that was begun has its result in the state or is reported as in flight; the
// state can be read at any time; recovery is idempotent; the next apply, after a person has resolved the open
// operations, creates nothing a second time and ends with equal state and world; a destroy leaves both empty.
//
// By default a sample runs for half a minute. TOMBOLO_CRASH_FULL=1 tries everything, TOMBOLO_CRASH_SEED=n repeats a
// failure, and TOMBOLO_CRASH_KILLS=n sets the number of kills at random moments.
package crash
