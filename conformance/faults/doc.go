// Package faults proves the rules. Each of its tests puts one fault into a running Mandate: the rules that are about
// the fault fail, and no other rule does.
package faults
