package tablestore_test

import (
	"maps"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/oss/tablestore"
)

// A row that can be decoded survives encoding and decoding.
func FuzzDecodeRow(f *testing.F) {
	f.Add(tablestore.Row{Key: "LockID", ID: "a", Columns: map[string]string{"Info": "{}", "Digest": ""}}.Encode())
	f.Add(tablestore.Row{Key: "LockID", ID: "a"}.Encode())
	f.Add([]byte{0x75, 0, 0, 0, 1, 3, 4, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		row, err := tablestore.DecodeRow(data)
		if err != nil || row == nil {
			return
		}
		again, err := tablestore.DecodeRow(row.Encode())
		if err != nil || again.Key != row.Key || again.ID != row.ID || !maps.Equal(again.Columns, row.Columns) {
			t.Errorf("%q is the row %+v, and is read as %+v, %v", data, row, again, err)
		}
	})
}

// Decoding any response ends without a panic.
func FuzzAnswers(f *testing.F) {
	f.Add(tablestore.EncodeError("OTSConditionCheckFail", "no"))
	f.Add(tablestore.Get{Table: "t", Key: "k", ID: "i"}.Encode())
	f.Add(tablestore.Put{Table: "t", Row: tablestore.Row{Key: "k", ID: "i"},
		Condition: tablestore.Condition{Row: tablestore.There, Column: "c", Value: "v"}}.Encode())
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = tablestore.DecodeGot(data)
		_, _ = tablestore.DecodeError(data)
		_, _ = tablestore.DecodeCondition(data)
	})
}
