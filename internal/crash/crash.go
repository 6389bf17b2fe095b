// Package crash is the crash harness: it kills the engine and checks that nothing is lost. It contains only tests.
//
// The test binary runs itself as the engine (TestMain in main_test.go decides by the environment), on a copy of a
// project whose objects live in a fake world (package world). The world's ledger records the objects that really exist,
// whatever happens to the engine:
//
//	calls_test.go     SIGKILL at every call of the store, of an apply that does everything, and again within the recovery
//	moments_test.go   SIGKILL from outside at random moments of a large apply
//	signals_test.go   interrupts, a lost terminal and a closed output, through the command line
//	disk_test.go      full disks; locks that others hold
//
// After each of them the same things hold (room_test.go): whatever exists is in the state or named as in flight;
// whatever was begun has its result in the state or is named as in flight; readers can read at any time; recovery done
// twice is recovery done once; the next apply, after the open operations are resolved as a person would, creates
// nothing a second time, and ends with state and world being the same; a destroy leaves both empty.
//
// The default is a sample that takes half a minute. TOMBOLO_CRASH_FULL=1 tries everything, TOMBOLO_CRASH_SEED=n repeats
// a failure, TOMBOLO_CRASH_KILLS=n asks for n kills at random moments.
package crash
