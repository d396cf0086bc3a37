// Package rollout proves what processes of one application do that begin and end while
// others run, as the pods of Kubernetes do: no two of them have one worker's number, and
// what a rolling restart costs is measured for docs/kubernetes.md.
package rollout
