// Package visible renders texts of others, such as the names of locks and files, so that they are read and do nothing:
// no terminal is painted over, no table broken, and no log takes a line for a command to itself.
package visible
