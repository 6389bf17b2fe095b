package pg

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
)

// Limits on the data that a server sends: before the connection is ready, and in response to one statement. A value has
// at most 1 GB in PostgreSQL.
const (
	mostGreeting = 1 << 20
	mostAnswer   = 1200 << 20
	mostValue    = 1<<30 - 1
)

// metered is the connection below a session. It counts the bytes of each response, and closes the connection if they
// exceed the limit.
type metered struct {
	net.Conn

	mu   sync.Mutex // guards the fields below
	left int64
	end  error // why the connection was closed
}

// metering returns the settings of a metered connection, and a pointer to the last one that was opened. moved is called
// when data arrives or is sent.
func (o *options) metering(moved func(n int)) (*pgconn.Config, **metered) {
	config, last := o.config.Copy(), new(*metered)
	dial, most := config.DialFunc, o.most
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(int(min(most, mostGreeting))) // the client allocates the announced size of a message
		return f
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		*last = &metered{Conn: progress.Conn(conn, moved), left: min(mostGreeting, most)}
		return *last, nil
	}
	return config, last
}

// begin starts counting the response to a statement.
func (m *metered) begin(most int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = most
}

// why returns the reason why the limit closed the connection, or nil.
func (m *metered) why() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.end
}

// Read implements net.Conn.
func (m *metered) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left -= int64(n); m.left < 0 {
		if m.end == nil {
			m.end = &problem{text: "the answer of the PostgreSQL server is too long"}
		}
		return 0, m.end
	}
	return n, err
}
