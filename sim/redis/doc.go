// Package redis is a Redis machine.
package redis
