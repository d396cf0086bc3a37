package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// manifest is the objects of one file.
type manifest struct {
	file       string
	configMaps map[string]corev1.ConfigMap
	secrets    map[string]corev1.Secret
	services   map[string]corev1.Service
	workloads  []workload
}

// workload is what runs pods.
type workload struct {
	name, kind string
	selector   *metav1.LabelSelector // nil where Kubernetes makes it
	service    string                // that a StatefulSet names
	template   corev1.PodTemplateSpec
}

// container is the only container of the pods.
func (w workload) container() *corev1.Container { return &w.template.Spec.Containers[0] }

// applications are the files that run the application, and check.yaml runs beside each.
var applications = []string{"statefulset.yaml", "deployment.yaml", "deployment-etcd.yaml"}

// read decodes a file strictly: an unknown field is an error, and so is a field that is
// there twice.
func read(t *testing.T, file string) *manifest {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest{file: file, configMaps: map[string]corev1.ConfigMap{}, secrets: map[string]corev1.Secret{}, services: map[string]corev1.Service{}}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		m.add(t, document)
	}
	return m
}

func (m *manifest) add(t *testing.T, document []byte) {
	t.Helper()
	var of metav1.TypeMeta
	if err := yaml.Unmarshal(document, &of); err != nil {
		t.Fatalf("%s: %v", m.file, err)
	}
	decode := func(into any) {
		t.Helper()
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			t.Errorf("%s: %s: %v", m.file, of.Kind, err)
		}
	}
	switch of.APIVersion + " " + of.Kind {
	case "v1 ConfigMap":
		var o corev1.ConfigMap
		decode(&o)
		m.configMaps[o.Name] = o
	case "v1 Secret":
		var o corev1.Secret
		decode(&o)
		m.secrets[o.Name] = o
	case "v1 Service":
		var o corev1.Service
		decode(&o)
		m.services[o.Name] = o
	case "apps/v1 StatefulSet":
		var o appsv1.StatefulSet
		decode(&o)
		m.workloads = append(m.workloads, workload{o.Name, of.Kind, o.Spec.Selector, o.Spec.ServiceName, o.Spec.Template})
	case "apps/v1 Deployment":
		var o appsv1.Deployment
		decode(&o)
		m.workloads = append(m.workloads, workload{o.Name, of.Kind, o.Spec.Selector, "", o.Spec.Template})
	case "batch/v1 Job":
		var o batchv1.Job
		decode(&o)
		m.workloads = append(m.workloads, workload{o.Name, of.Kind, nil, "", o.Spec.Template})
	default:
		t.Errorf("%s: %s %s is nothing that this test knows", m.file, of.APIVersion, of.Kind)
	}
}

// TestStrict: the decoder sees what kubectl would refuse with --validate=strict.
func TestStrict(t *testing.T) {
	text, err := os.ReadFile("statefulset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte("apiVersion: apps/v1"))
	for what, replace := range map[string][2]string{
		"an unknown field": {"serviceName:", "serviceNames:"},
		"a field twice":    {"  replicas: 3\n", "  replicas: 3\n  replicas: 4\n"},
		"a wrong type":     {"replicas: 3", "replicas: three"},
	} {
		changed := strings.Replace(string(text[at:]), replace[0], replace[1], 1)
		var o appsv1.StatefulSet
		if err := yaml.UnmarshalStrict([]byte(changed), &o); err == nil || changed == string(text[at:]) {
			t.Errorf("%s is decoded", what)
		}
	}
}

// TestManifests: the objects of each file name one another rightly.
func TestManifests(t *testing.T) {
	for _, file := range applications {
		m := read(t, file)
		if len(m.workloads) != 1 || len(m.workloads[0].template.Spec.Containers) != 1 {
			t.Fatalf("%s has %d workloads, want one with one container", file, len(m.workloads))
		}
		w := m.workloads[0]
		m.checkReferences(t, w)
		labels := w.template.Labels
		if len(labels) == 0 || !equal(w.selector.MatchLabels, labels) {
			t.Errorf("%s: the selector %v does not match the pods, which are %v", file, w.selector.MatchLabels, labels)
		}
		if service, ok := m.services[w.service]; w.kind == "StatefulSet" && (!ok || service.Spec.ClusterIP != corev1.ClusterIPNone || !equal(service.Spec.Selector, labels)) {
			t.Errorf("%s: %q is no headless service of the pods", file, w.service)
		}
		if grace := w.template.Spec.TerminationGracePeriodSeconds; grace == nil || float64(*grace) < requestTime.Seconds()+10 {
			t.Errorf("%s: the pods have too little time to end: requests take %v, and the database has to be closed", file, requestTime)
		}
		check := read(t, "check.yaml")
		check.configMaps, check.secrets = m.configMaps, m.secrets
		check.checkReferences(t, check.workloads[0])
	}
}

func equal(a, b map[string]string) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return len(a) == len(b)
}

// checkReferences looks for the ConfigMaps, Secrets and ports that the pods name.
func (m *manifest) checkReferences(t *testing.T, w workload) {
	t.Helper()
	spec := w.template.Spec
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
		if _, ok := m.configMaps[v.ConfigMap.Name]; !ok {
			t.Errorf("%s: there is no ConfigMap %q", m.file, v.ConfigMap.Name)
		}
	}
	c := w.container()
	for _, v := range c.VolumeMounts {
		if !volumes[v.Name] {
			t.Errorf("%s: there is no volume %q", m.file, v.Name)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		ref := e.ValueFrom.SecretKeyRef
		if ref == nil || m.secrets[ref.Name].StringData[ref.Key] == "" {
			t.Errorf("%s: the value of %s is in no Secret", m.file, e.Name)
		}
	}
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p == nil {
			continue
		}
		if !slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.Name == p.HTTPGet.Port.StrVal }) {
			t.Errorf("%s: a probe asks the port %q, which the container does not have", m.file, p.HTTPGet.Port.StrVal)
		}
	}
	secured := c.SecurityContext != nil && c.SecurityContext.AllowPrivilegeEscalation != nil && !*c.SecurityContext.AllowPrivilegeEscalation &&
		c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem &&
		spec.SecurityContext != nil && spec.SecurityContext.RunAsNonRoot != nil && *spec.SecurityContext.RunAsNonRoot
	if !secured {
		t.Errorf("%s: the container has more rights than it needs", m.file)
	}
}
