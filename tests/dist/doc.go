// Package dist tests the files of a release.
//
// It builds them twice, and both builds must be equal. It runs the image without a container
// daemon. It installs and removes the packages, and checks the systemd units and the Kubernetes
// manifests.
package dist
