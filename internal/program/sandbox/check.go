//go:build !without_modules

package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits of what a module may declare. Except for the table, they are those of browsers.
const (
	maxParams   = 1000
	maxLocals   = 50_000
	maxFunction = 7_654_321 // bytes
	maxTable    = 1 << 20   // elements
)

var header = []byte("\x00asm\x01\x00\x00\x00")

// Sections whose content is checked.
const (
	customSection   = 0
	typeSection     = 1
	importSection   = 2
	tableSection    = 4
	exportSection   = 7
	startSection    = 8
	elementSection  = 9
	codeSection     = 10
	dataSection     = 11
	dataCountNumber = 12
)

var errCut = errors.New("it ends in the middle of a section")

// checked returns a module without its custom sections, which are names for debuggers. It returns an error if the
// module declares numbers of things that it cannot contain: wazero allocates memory for them before it reads them, and
// a process cannot survive that. Everything else is checked by wazero. Data that is written at the start is joined.
func checked(module []byte) ([]byte, error) {
	if !bytes.HasPrefix(module, header) {
		return nil, errors.New("it does not begin like one")
	}
	out, refersToData := bytes.Clone(header), false
	p := &parser{rest: module[len(header):]}
	for len(p.rest) > 0 {
		whole := p.rest
		id := p.byte()
		content := p.take(p.count(1))
		if p.err != nil {
			return nil, p.err
		}
		if id == customSection {
			continue
		}
		inner := &parser{rest: content}
		inner.section(id)
		if inner.err != nil {
			return nil, fmt.Errorf("section %d: %w", id, inner.err)
		}
		if refersToData = refersToData || id == dataCountNumber; id == dataSection && !refersToData {
			content = joined(content)
			out = append(binary.AppendUvarint(append(out, id), uint64(len(content))), content...)
			continue
		}
		out = append(out, whole[:len(whole)-len(p.rest)]...)
	}
	return out, nil
}

// parser reads a part of a module. After an error it returns zeros.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.rest = nil
}

func (p *parser) byte() byte {
	if len(p.rest) == 0 {
		p.fail(errCut)
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

// number reads an encoded number, with or without a sign, of at most 64 bits; only those of 32 bits keep their value.
func (p *parser) number() uint64 {
	var n uint64
	for shift := 0; shift < 70; shift += 7 {
		b := p.byte()
		if shift < 63 {
			n |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return n
		}
	}
	p.fail(errors.New("a number is too long"))
	return 0
}

// count reads the number of things that follow, each of which has at least a size in bytes.
func (p *parser) count(size int) int {
	n := p.number()
	if n > uint64(len(p.rest)/size) {
		p.fail(fmt.Errorf("it declares %d things, and ends before", n))
		return 0
	}
	return int(n)
}

func (p *parser) take(n int) []byte {
	if n > len(p.rest) {
		p.fail(errCut)
		return nil
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

// each calls a function for each of the things that follow.
func (p *parser) each(size int, read func()) {
	for n := p.count(size); n > 0 && p.err == nil; n-- {
		read()
	}
}

func (p *parser) section(id byte) {
	switch id {
	case typeSection:
		p.each(3, p.function)
	case importSection:
		p.each(4, p.imported)
	case tableSection:
		p.each(3, p.table)
	case exportSection:
		p.each(3, func() { p.take(p.count(1)); p.byte(); p.number() })
	case elementSection:
		p.each(3, p.elements)
	case codeSection:
		p.each(2, p.code)
	case dataSection:
		p.each(2, p.data)
	case startSection, dataCountNumber:
	default:
		p.count(1)
	}
}

// function reads a type of functions.
func (p *parser) function() {
	if p.byte() != 0x60 && p.err == nil {
		p.fail(errors.New("it has a type that is not of functions"))
	}
	for range 2 {
		n := p.count(1)
		if n > maxParams {
			p.fail(fmt.Errorf("a function has %d parameters or results, more than %d", n, maxParams))
		}
		p.take(n)
	}
}

func (p *parser) imported() {
	p.take(p.count(1))
	p.take(p.count(1))
	if p.byte() != 0 && p.err == nil {
		p.fail(errors.New("it imports something that is not a function"))
	}
	p.number()
}

func (p *parser) table() {
	p.byte()
	bounded := p.byte()&1 == 1
	if n := p.number(); n > maxTable {
		p.fail(fmt.Errorf("its table has %d elements, more than %d", n, maxTable))
	}
	if bounded {
		p.number()
	}
}

// constant reads an expression that initializes something.
func (p *parser) constant() {
	for p.err == nil {
		switch op := p.byte(); op {
		case 0x0b: // end
			return
		case 0x41, 0x42, 0x23, 0xd2: // i32.const, i64.const, global.get, ref.func
			p.number()
		case 0x43: // f32.const
			p.take(4)
		case 0x44: // f64.const
			p.take(8)
		case 0xd0: // ref.null
			p.byte()
		default:
			p.fail(fmt.Errorf("an expression has the instruction 0x%x", op))
		}
	}
}

func (p *parser) elements() {
	kind := p.number()
	if kind&1 == 0 {
		if kind&2 != 0 {
			p.number()
		}
		p.constant()
	}
	if kind&3 != 0 {
		p.byte()
	}
	switch {
	case kind > 7:
		p.fail(fmt.Errorf("elements have the kind %d", kind))
	case kind&4 != 0:
		p.each(1, p.constant)
	default:
		p.each(1, func() { p.number() })
	}
}

func (p *parser) code() {
	body := &parser{rest: p.take(p.count(1))}
	if len(body.rest) > maxFunction {
		p.fail(fmt.Errorf("a function has %d bytes, more than %d", len(body.rest), maxFunction))
	}
	var locals uint64
	body.each(2, func() {
		if locals += body.number(); locals > maxLocals {
			body.fail(fmt.Errorf("a function has more than %d variables", maxLocals))
		}
		body.byte()
	})
	if body.err != nil {
		p.fail(body.err)
	}
}

func (p *parser) data() {
	kind := p.number()
	if kind == 2 {
		p.number()
	}
	if kind != 1 {
		p.constant()
	}
	p.take(p.count(1))
}
