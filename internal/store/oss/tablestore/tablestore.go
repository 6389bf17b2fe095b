// Package tablestore encodes and decodes the few messages of Alibaba Cloud's Tablestore that locks need: rows whose key
// and columns are text, requests that put, get and delete a row, and their conditions. The messages are Protocol
// Buffers; a row in them has its own encoding, with checksums.
//
//	body := tablestore.Put{Table: "locks", Row: row, Condition: tablestore.Condition{Row: tablestore.Missing}}.Encode()
package tablestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Row is a row with one key of type text and columns of type text.
type Row struct {
	Key, ID string // name and value of the key
	Columns map[string]string
}

// Marks in the encoding of a row, each before the element that it introduces.
const (
	markHead     = 0x75 // in four bytes
	markKey      = 1
	markData     = 2
	markCell     = 3
	markName     = 4
	markValue    = 5
	markType     = 6
	markTime     = 7
	markDeleted  = 8
	markRowSum   = 9
	markCellSum  = 10
	markExtended = 11

	typeText = 3 // of a value
)

// sum returns the checksum of the encoding: CRC-8 with the polynomial 7.
func sum(crc byte, data ...byte) byte {
	for _, b := range data {
		crc ^= b
		for range 8 {
			if crc&0x80 != 0 {
				crc = crc<<1 ^ 7
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// cell appends a cell to an encoding, and adds its checksum to that of the row.
func cell(b []byte, name, value string, row byte) ([]byte, byte) {
	text := append([]byte{typeText}, sized(nil, value)...)
	b = sized(append(b, markCell, markName), name)
	b = append(binary.LittleEndian.AppendUint32(append(b, markValue), uint32(len(text))), text...)
	check := sum(sum(0, []byte(name)...), text...)
	return append(b, markCellSum, check), sum(row, check)
}

func sized(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// Encode returns the encoding of the row.
func (r Row) Encode() []byte {
	b, check := append(binary.LittleEndian.AppendUint32(nil, markHead), markKey), byte(0)
	b, check = cell(b, r.Key, r.ID, check)
	if len(r.Columns) > 0 {
		b = append(b, markData)
		for _, name := range slices.Sorted(maps.Keys(r.Columns)) {
			b, check = cell(b, name, r.Columns[name], check)
		}
	}
	return append(b, markRowSum, sum(check, 0))
}

// errRow means that the encoding of a row is damaged.
var errRow = errors.New("it is not a row of strings")

// decoder decodes a row. After an error, all results are zero values.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) bytes(n uint32) []byte {
	if d.err != nil || uint64(n) > uint64(len(d.rest)) {
		d.err = errRow
		return make([]byte, min(n, 8))
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte   { return d.bytes(1)[0] }
func (d *decoder) size() uint32 { return binary.LittleEndian.Uint32(d.bytes(4)) }

// next reports whether the next byte is a mark, and skips it if so.
func (d *decoder) next(mark byte) bool {
	if d.err != nil || len(d.rest) == 0 || d.rest[0] != mark {
		return false
	}
	d.rest = d.rest[1:]
	return true
}

func (d *decoder) want(mark byte) {
	if !d.next(mark) {
		d.err = errRow
	}
}

// cells reads cells up to the next mark that does not belong to a cell, and adds their checksums to that of the row.
func (d *decoder) cells(row byte) (map[string]string, []string, byte) {
	all, names := map[string]string{}, []string{}
	for d.next(markCell) {
		d.want(markName)
		name := string(d.bytes(d.size()))
		d.want(markValue)
		d.size()
		kind := d.byte()
		value := d.bytes(d.size())
		if kind != typeText {
			d.err = errRow
		}
		check := sum(sum(sum(0, []byte(name)...), kind), sized(nil, string(value))...)
		if d.next(markType) {
			d.err = errRow // a change to a row instead of a row
		}
		if d.next(markTime) {
			check = sum(check, d.bytes(8)...)
		}
		d.want(markCellSum)
		if d.byte() != check {
			d.err = errRow
		}
		all[name], names, row = string(value), append(names, name), sum(row, check)
	}
	return all, names, row
}

// DecodeRow decodes a row. For empty data it returns nil.
func DecodeRow(data []byte) (*Row, error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := &decoder{rest: data}
	if d.size() != markHead {
		return nil, errRow
	}
	d.want(markKey)
	keys, names, check := d.cells(0)
	r := &Row{}
	if d.next(markData) {
		r.Columns, _, check = d.cells(check)
	}
	deleted := byte(0)
	if d.next(markDeleted) {
		deleted = 1
	}
	d.want(markRowSum)
	if d.byte() != sum(check, deleted) || len(names) != 1 || len(d.rest) > 0 {
		d.err = errRow
	}
	if d.err != nil {
		return nil, d.err
	}
	r.Key, r.ID = names[0], keys[names[0]]
	return r, nil
}

// Conditions on the existence of a row.
const (
	Any = iota
	There
	Missing
)

// Condition is the condition of a request.
type Condition struct {
	Row int // Any, There, Missing
	// If Column is not "", that column must have this value.
	Column, Value string
}

const (
	filterColumn = 1 // a filter on one column
	equal        = 1
)

// encode returns the message. A condition on a column does not hold if the row lacks it.
func (c Condition) encode() []byte {
	b := number(nil, 1, uint64(c.Row))
	if c.Column == "" {
		return b
	}
	f := number(nil, 1, equal)
	f = text(f, 2, c.Column)
	f = text(f, 3, string(append([]byte{typeText}, sized(nil, c.Value)...)))
	f = number(number(f, 4, 1), 5, 1)
	return text(b, 2, string(text(number(nil, 1, filterColumn), 2, string(f))))
}

// DecodeCondition decodes a condition.
func DecodeCondition(data []byte) (c Condition, err error) {
	m, err := Parse(data)
	if err != nil {
		return c, err
	}
	c.Row = int(m.Number(1))
	filter, err := Parse(m.Bytes(2))
	if err != nil || m.Bytes(2) == nil {
		return c, err
	}
	one, err := Parse(filter.Bytes(2))
	if err != nil {
		return c, err
	}
	if filter.Number(1) != filterColumn || one.Number(1) != equal {
		return c, errors.New("it is not a condition that a column has a value")
	}
	value := &decoder{rest: one.Bytes(3)}
	if value.byte() != typeText {
		return c, errRow
	}
	c.Column, c.Value = string(one.Bytes(2)), string(value.bytes(value.size()))
	return c, value.err
}

// Put is the request that writes a row, replacing an existing one.
type Put struct {
	Table string
	Row   Row
	Condition
}

// Encode returns the message.
func (p Put) Encode() []byte {
	return text(text(text(nil, 1, p.Table), 2, string(p.Row.Encode())), 3, string(p.encode()))
}

// Get is the request for the newest values of a row.
type Get struct {
	Table, Key, ID string
}

// Encode returns the message.
func (g Get) Encode() []byte {
	return number(text(text(nil, 1, g.Table), 2, string(Row{Key: g.Key, ID: g.ID}.Encode())), 5, 1)
}

// DecodeGot decodes the response to Get: the row, or nil if it does not exist.
func DecodeGot(data []byte) (*Row, error) {
	m, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return DecodeRow(m.Bytes(2))
}

// Delete is the request that deletes a row.
type Delete struct {
	Table, Key, ID string
	Condition
}

// Encode returns the message. The encoding of the key marks the row as deleted.
func (d Delete) Encode() []byte {
	b, check := append(binary.LittleEndian.AppendUint32(nil, markHead), markKey), byte(0)
	b, check = cell(b, d.Key, d.ID, check)
	b = append(b, markDeleted, markRowSum, sum(check, 1))
	return text(text(text(nil, 1, d.Table), 2, string(b)), 3, string(d.encode()))
}

// DecodeError decodes the message of an error: its code and a text.
func DecodeError(data []byte) (code, message string) {
	m, err := Parse(data)
	if err != nil {
		return "", ""
	}
	return string(m.Bytes(1)), string(m.Bytes(2))
}

// EncodeError returns the message of an error.
func EncodeError(code, message string) []byte { return text(text(nil, 1, code), 2, message) }

func number(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// Message is a decoded message: the last value of each field.
type Message struct {
	numbers map[protowire.Number]uint64
	bytes   map[protowire.Number][]byte
}

// Number returns a numeric field, or 0 if it is missing.
func (m Message) Number(field int) uint64 { return m.numbers[protowire.Number(field)] }

// Bytes returns a field of bytes, or nil if it is missing.
func (m Message) Bytes(field int) []byte { return m.bytes[protowire.Number(field)] }

// Parse reads a message.
func Parse(data []byte) (Message, error) {
	m := Message{map[protowire.Number]uint64{}, map[protowire.Number][]byte{}}
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return m, fmt.Errorf("it is not a message of Tablestore: %w", protowire.ParseError(n))
		}
		data = data[n:]
		switch kind {
		case protowire.VarintType:
			m.numbers[field], n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			m.bytes[field], n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(field, kind, data)
		}
		if n < 0 {
			return m, fmt.Errorf("it is not a message of Tablestore: %w", protowire.ParseError(n))
		}
		data = data[n:]
	}
	return m, nil
}
