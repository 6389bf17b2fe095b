package process

// Watch does nothing on Windows: programs end with their job objects.
type Watch struct{}

// NewWatch returns a watch that does nothing.
func NewWatch() *Watch { return &Watch{} }

// Group does nothing.
func (*Watch) Group(int) {}

// File does nothing.
func (*Watch) File(string) {}

// End does nothing.
func (*Watch) End() {}
