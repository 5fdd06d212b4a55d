package redis

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// bitTable is the library "bit": operations on 32 bits.
func bitTable(L *lua.LState) *lua.LTable {
	fold := func(combine func(a, b uint32) uint32) lua.LGFunction {
		return func(L *lua.LState) int {
			result := toBits(L, 1)
			for i := 2; i <= L.GetTop(); i++ {
				result = combine(result, toBits(L, i))
			}
			return pushBits(L, result)
		}
	}
	shift := func(move func(a uint32, n int) uint32) lua.LGFunction {
		return func(L *lua.LState) int { return pushBits(L, move(toBits(L, 1), int(toBits(L, 2)&31))) }
	}
	return L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"tobit":   func(L *lua.LState) int { return pushBits(L, toBits(L, 1)) },
		"bnot":    func(L *lua.LState) int { return pushBits(L, ^toBits(L, 1)) },
		"bswap":   func(L *lua.LState) int { return pushBits(L, bits.ReverseBytes32(toBits(L, 1))) },
		"band":    fold(func(a, b uint32) uint32 { return a & b }),
		"bor":     fold(func(a, b uint32) uint32 { return a | b }),
		"bxor":    fold(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shift(func(a uint32, n int) uint32 { return a << n }),
		"rshift":  shift(func(a uint32, n int) uint32 { return a >> n }),
		"arshift": shift(func(a uint32, n int) uint32 { return uint32(int32(a) >> n) }),
		"rol":     shift(bits.RotateLeft32),
		"ror":     shift(func(a uint32, n int) uint32 { return bits.RotateLeft32(a, -n) }),
		"tohex":   bitToHex,
	})
}

// toBits takes a number modulo 2^32, rounded to the nearest integer.
func toBits(L *lua.LState, i int) uint32 {
	n := math.RoundToEven(float64(L.CheckNumber(i)))
	return uint32(int64(math.Mod(n, 1<<32)))
}

func pushBits(L *lua.LState, n uint32) int {
	L.Push(lua.LNumber(int32(n)))
	return 1
}

func bitToHex(L *lua.LState) int {
	n := toBits(L, 1)
	digits := 8
	if L.GetTop() > 1 {
		digits = int(int32(toBits(L, 2)))
	}
	text := strconv.FormatUint(uint64(n), 16)
	text = strings.Repeat("0", 8-len(text)) + text
	if digits < 0 {
		text, digits = strings.ToUpper(text), -digits
	}
	L.Push(lua.LString(text[8-min(digits, 8):]))
	return 1
}
