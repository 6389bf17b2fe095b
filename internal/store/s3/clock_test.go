package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
)

// ahead is a service whose clock differs from that of its client: like AWS, it refuses requests that are signed with
// another time than its own.
type ahead struct {
	by      time.Duration
	refuse  func(http.ResponseWriter)
	service http.Handler
}

const signing = "20060102T150405Z"

// ServeHTTP implements http.Handler.
func (a ahead) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now().Add(a.by)
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	signed, err := time.Parse(signing, r.Header.Get("X-Amz-Date"))
	if err != nil || now.Sub(signed).Abs() > 15*time.Minute {
		a.refuse(w)
		return
	}
	r.Header.Set("X-Amz-Date", time.Now().UTC().Format(signing)) // the server behind it has its own clock
	answer := httptest.NewRecorder()
	a.service.ServeHTTP(answer, r)
	answer.Header().Set("Date", w.Header().Get("Date"))
	copyTo(w, answer)
}

// Two machines whose clocks differ by hours, from each other and from the service, share a state.
func TestDriverOnMachinesWithWrongClocks(t *testing.T) {
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		objects, items := serve(t), &dynamo{items: map[string]map[string]string{}}
		machine := func(by time.Duration) remote.Driver {
			bucket := httptest.NewServer(ahead{by, func(w http.ResponseWriter) {
				fail(w, http.StatusForbidden, "RequestTimeTooSkewed")
			}, objects})
			t.Cleanup(bucket.Close)
			table := httptest.NewServer(ahead{by, func(w http.ResponseWriter) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"expired"}`)
			}, items})
			t.Cleanup(table.Close)
			d, err := s3.Hasty(t.Context(), cty.ObjectVal(withTable(bucket.URL, table.URL, true)))
			must(t, err)
			return d
		}
		return machine(7 * time.Hour), machine(-300 * time.Hour)
	})
}
