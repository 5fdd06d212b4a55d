package redis

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// cjsonNull stands for JSON's null, which Lua's nil cannot be inside a table. It is one value for all machines and is
// never changed.
var cjsonNull = &lua.LUserData{Metatable: lua.LNil}

// maxJSONDepth bounds the nesting of values, as cjson does unless told otherwise.
const maxJSONDepth = 1000

// cjsonTable is the library "cjson": encode and decode. Its settings are missing: they would outlive the script.
func cjsonTable(L *lua.LState) *lua.LTable {
	table := L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"encode": func(L *lua.LState) int {
			var built strings.Builder
			if refusal := encodeJSON(&built, L.CheckAny(1), 0); refusal != "" {
				L.RaiseError("%s", refusal)
				return 0
			}
			L.Push(lua.LString(built.String()))
			return 1
		},
		"decode": func(L *lua.LState) int {
			value, refusal := decodeJSON(L, L.CheckString(1))
			if refusal != "" {
				L.RaiseError("%s", refusal)
				return 0
			}
			L.Push(value)
			return 1
		},
	})
	table.RawSetString("null", cjsonNull)
	table.RawSetString("_NAME", lua.LString("cjson"))
	table.RawSetString("_VERSION", lua.LString("2.1.0"))
	return table
}

func encodeJSON(built *strings.Builder, value lua.LValue, depth int) (refusal string) {
	switch v := value.(type) {
	case *lua.LNilType:
		built.WriteString("null")
	case lua.LBool:
		built.WriteString(strconv.FormatBool(bool(v)))
	case lua.LNumber:
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return "Cannot serialise number: must not be NaN or Inf"
		}
		built.WriteString(luaText(v))
	case lua.LString:
		encodeJSONString(built, string(v))
	case *lua.LTable:
		return encodeJSONTable(built, v, depth+1)
	case *lua.LUserData:
		if v != cjsonNull {
			return "Cannot serialise userdata: type not supported"
		}
		built.WriteString("null")
	default:
		return "Cannot serialise " + value.Type().String() + ": type not supported"
	}
	return ""
}

// jsonEscapes are the characters that cjson does not write as they are.
var jsonEscapes = map[byte]string{
	'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`, 127: `\u007f`,
}

func encodeJSONString(built *strings.Builder, s string) {
	built.WriteByte('"')
	for i := range len(s) {
		char := s[i]
		if escaped, ok := jsonEscapes[char]; ok {
			built.WriteString(escaped)
		} else if char < ' ' {
			built.WriteString(`\u00` + strconv.FormatUint(uint64(char>>4), 16) + strconv.FormatUint(uint64(char&15), 16))
		} else {
			built.WriteByte(char)
		}
	}
	built.WriteByte('"')
}

// listLength tells whether a table is a list, whose keys are positive integers with few holes, and how long it is.
func listLength(table *lua.LTable) (n int, isList bool, refusal string) {
	items := 0
	isList = true
	table.ForEach(func(key, _ lua.LValue) {
		items++
		index, ok := key.(lua.LNumber)
		if !ok || index < 1 || float64(index) != math.Floor(float64(index)) || index > math.MaxInt32 {
			isList = false
			return
		}
		n = max(n, int(index))
	})
	if items == 0 || !isList {
		return 0, false, ""
	}
	if n > 10 && n > 2*items {
		return 0, false, "Cannot serialise table: excessively sparse array"
	}
	return n, true, ""
}

func encodeJSONTable(built *strings.Builder, table *lua.LTable, depth int) (refusal string) {
	if depth > maxJSONDepth {
		return "Cannot serialise, excessive depth (" + strconv.Itoa(depth) + ")"
	}
	n, isList, refusal := listLength(table)
	if refusal != "" {
		return refusal
	}
	if isList {
		built.WriteByte('[')
		for i := 1; i <= n && refusal == ""; i++ {
			if i > 1 {
				built.WriteByte(',')
			}
			refusal = encodeJSON(built, table.RawGetInt(i), depth)
		}
		built.WriteByte(']')
		return refusal
	}
	built.WriteByte('{')
	first := true
	table.ForEach(func(key, value lua.LValue) {
		if refusal != "" {
			return
		}
		if !first {
			built.WriteByte(',')
		}
		first = false
		switch k := key.(type) {
		case lua.LString:
			encodeJSONString(built, string(k))
		case lua.LNumber:
			built.WriteString(`"` + luaText(k) + `"`)
		default:
			refusal = "Cannot serialise table: table key must be a number or string"
			return
		}
		built.WriteByte(':')
		refusal = encodeJSON(built, value, depth)
	})
	built.WriteByte('}')
	return refusal
}

func decodeJSON(L *lua.LState, text string) (value lua.LValue, refusal string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	value, err := decodeJSONValue(L, decoder, 0)
	if err == nil {
		if _, extra := decoder.Token(); extra != io.EOF {
			return nil, "Expected the end but found invalid token at character " +
				strconv.FormatInt(decoder.InputOffset()+1, 10)
		}
		return value, ""
	}
	return nil, "Expected value but found invalid token at character " +
		strconv.FormatInt(decoder.InputOffset()+1, 10)
}

// decodeJSONValue reads token by token, so that the keys of an object keep their order.
func decodeJSONValue(L *lua.LState, decoder *json.Decoder, depth int) (lua.LValue, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		return cjsonNull, nil
	case bool:
		return lua.LBool(t), nil
	case string:
		return lua.LString(t), nil
	case json.Number:
		f, err := strconv.ParseFloat(t.String(), 64)
		return lua.LNumber(f), err
	case json.Delim:
		if depth >= maxJSONDepth || t == ']' || t == '}' {
			return nil, io.ErrUnexpectedEOF
		}
		return decodeJSONTable(L, decoder, t, depth)
	}
	return nil, io.ErrUnexpectedEOF
}

func decodeJSONTable(L *lua.LState, decoder *json.Decoder, open json.Delim, depth int) (lua.LValue, error) {
	table := L.NewTable()
	for i := 1; decoder.More(); i++ {
		var key lua.LValue = lua.LNumber(i)
		if open == '{' {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			text, _ := name.(string)
			key = lua.LString(text)
		}
		value, err := decodeJSONValue(L, decoder, depth+1)
		if err != nil {
			return nil, err
		}
		table.RawSet(key, value)
	}
	_, err := decoder.Token() // the closing bracket
	return table, err
}
