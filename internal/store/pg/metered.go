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

// Limits on what a server sends: until a connection is there, and as the answer to one statement. A value has at most
// 1 GB in PostgreSQL.
const (
	mostGreeting = 1 << 20
	mostAnswer   = 1200 << 20
	mostValue    = 1<<30 - 1
)

// metered is the connection below a session. It counts what the server sends as the answer to a statement, and ends it
// when that is too much.
type metered struct {
	net.Conn

	mu   sync.Mutex // guards what follows
	left int64
	end  error // why the connection was ended
}

// metering returns the settings of a connection that is metered, and where the last one that was made will stand. moved
// is called when data comes or goes.
func (o *options) metering(moved func(n int)) (*pgconn.Config, **metered) {
	config, last := o.config.Copy(), new(*metered)
	dial, most := config.DialFunc, o.most
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(int(min(most, mostGreeting))) // it makes room for a message that was only announced
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

// begin begins to count the answer to a statement.
func (m *metered) begin(most int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = most
}

// why returns why the connection was ended; nil if it was not, or by others.
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
