package zookeeper

import (
	"encoding/binary"
	"unicode/utf8"
)

// maxFrame is the longest request that is read, the default of jute.maxbuffer. A length field inside of a request may
// claim up to twice as much before it counts as nonsense; such a claim fails for lack of bytes anyway.
const maxFrame = 0xfffff

// decoder reads the fields of a record in ZooKeeper's own encoding (jute): big-endian integers, and lengths of four
// bytes before strings, buffers and lists. After the first field that cannot be read, failed stays set and all that
// follows reads as zero.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) take(n int) []byte {
	if d.failed || n < 0 || n > len(d.rest) {
		d.failed, d.rest = true, nil
		return nil
	}
	p := d.rest[:n]
	d.rest = d.rest[n:]
	return p
}

func (d *decoder) int32() int32 {
	p := d.take(4)
	if p == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(p))
}

func (d *decoder) int64() int64 {
	p := d.take(8)
	if p == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(p))
}

func (d *decoder) bool() bool {
	p := d.take(1)
	return p != nil && p[0] != 0
}

// raw reads a length and as many bytes, which are the decoder's own. Length -1 stands for null.
func (d *decoder) raw() (p []byte, null bool) {
	n := d.int32()
	if n == -1 {
		return nil, true
	}
	return d.take(int(n)), false
}

// buffer reads bytes into memory of their own; null is nil.
func (d *decoder) buffer() []byte {
	p, null := d.raw()
	if null || d.failed {
		return nil
	}
	return append(make([]byte, 0, len(p)), p...)
}

// string reads a string. Null counts as unreadable, since no request that has it is answered with anything else.
func (d *decoder) string() string {
	p, null := d.raw()
	if null {
		d.failed = true
	}
	if d.failed {
		return ""
	}
	if !utf8.Valid(p) {
		return string([]rune(string(p)))
	}
	return string(p)
}

// count reads the length of a list. A list that is null or of negative length is empty.
func (d *decoder) count() int { return int(max(d.int32(), 0)) }

func (d *decoder) strings() []string {
	n := d.count()
	var list []string
	for range n {
		if d.failed {
			return nil
		}
		list = append(list, d.string())
	}
	return list
}

func (d *decoder) acl() []ACL {
	n := d.count()
	var list []ACL
	for range n {
		if d.failed {
			return nil
		}
		list = append(list, ACL{Perms: d.int32(), ID: ID{Scheme: d.scheme(), Name: d.name()}})
	}
	if len(list) == 1 && list[0] == openACL[0] {
		return openACL
	}
	return list
}

// scheme and name read the two strings that nearly all requests repeat, without an allocation.
func (d *decoder) scheme() string { return d.common("world") }
func (d *decoder) name() string   { return d.common("anyone") }

func (d *decoder) common(usual string) string {
	ahead := *d
	if p, null := ahead.raw(); !null && string(p) == usual {
		*d = ahead
		return usual
	}
	return d.string()
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendString(b []byte, s string) []byte { return append(appendInt32(b, int32(len(s))), s...) }

// appendBuffer writes bytes; nil is null.
func appendBuffer(b, p []byte) []byte {
	if p == nil {
		return appendInt32(b, -1)
	}
	return append(appendInt32(b, int32(len(p))), p...)
}

func appendStrings(b []byte, list []string) []byte {
	b = appendInt32(b, int32(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func appendACL(b []byte, list []ACL) []byte {
	b = appendInt32(b, int32(len(list)))
	for _, a := range list {
		b = appendInt32(b, a.Perms)
		b = appendString(b, a.Scheme)
		b = appendString(b, a.Name)
	}
	return b
}

func appendStat(b []byte, s *Stat) []byte {
	b = appendInt64(b, s.Czxid)
	b = appendInt64(b, s.Mzxid)
	b = appendInt64(b, s.Ctime)
	b = appendInt64(b, s.Mtime)
	b = appendInt32(b, s.Version)
	b = appendInt32(b, s.Cversion)
	b = appendInt32(b, s.Aversion)
	b = appendInt64(b, s.EphemeralOwner)
	b = appendInt32(b, s.DataLength)
	b = appendInt32(b, s.NumChildren)
	return appendInt64(b, s.Pzxid)
}

// beginFrame leaves room for the length of a frame and returns where the frame begins.
func beginFrame(b []byte) (frame []byte, start int) { return append(b, 0, 0, 0, 0), len(b) }

// endFrame fills in the length of the frame that began at start and ends with b.
func endFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
