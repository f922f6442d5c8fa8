// Pins all modules of the core program that capi.ts builds of the minor version before. To move to another version, change this
// one, then run `go list -mod=mod -deps` with that program.
module capi

go 1.26.0

require sigs.k8s.io/cluster-api v1.13.4
